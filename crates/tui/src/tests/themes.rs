//! Themes: preview in the list, choice, reload of changed files.

use std::fs;
use std::sync::Arc;

use crossterm::event::KeyCode;
use ratatui::style::Color;
use tiller_core::setting;
use tiller_files::search_path::{ResourceOrigin, SearchPath};
use tiller_render::Role;
use tiller_render::theme::{ColorDepth, Rgb, ThemeRegistry};

use super::harness::Harness;
use crate::action::{Action, BackgroundJob, ListAction};
use crate::message::{Msg, TaskResult};
use crate::theme::{ThemeOptions, ThemeState};

/// The accent colors of the themes in these tests.
const DARK: Color = Color::Rgb(0x6c, 0xcf, 0xcf);
const LIGHT: Color = Color::Rgb(0x00, 0x6a, 0x75);
const GRUVBOX: Color = Color::Rgb(0xfa, 0xbd, 0x2f);

fn with_colors(width: u16, height: u16) -> Harness {
    let mut harness = Harness::new(width, height);
    harness.app.ui.theme =
        ThemeState::new(&ThemeOptions { depth: ColorDepth::Millions, ..ThemeOptions::default() });
    harness
}

fn accent(harness: &Harness) -> Color {
    harness.app.ui.theme.style(Role::Accent.into()).fg.unwrap()
}

/// Returns the actions of a command, except for storing it in the history.
fn command(harness: &mut Harness, line: &str) -> Vec<Action> {
    harness.type_text(line);
    let mut actions = harness.key(KeyCode::Enter);
    actions.retain(|action| !matches!(action, Action::Background(BackgroundJob::AppendHistory(_))));
    actions
}

fn save_theme(theme: &str) -> Action {
    Action::Background(BackgroundJob::SaveSetting { setting: &setting::THEME, value: theme.to_owned() })
}

#[test]
fn theme_preview_ends_on_leaving() {
    let mut harness = with_colors(120, 40);
    assert_eq!(command(&mut harness, "/theme"), []);
    harness.type_text("gruv");
    assert_eq!(accent(&harness), GRUVBOX);
    harness.key(KeyCode::Backspace);
    harness.key(KeyCode::Esc);
    harness.key(KeyCode::Esc);
    assert!(harness.app.compositor.overlays.is_empty());
    assert_eq!(accent(&harness), DARK);
    // However the list is closed, a theme that was only previewed isn't kept.
    command(&mut harness, "/theme gone");
    harness.app.composer.editor.clear();
    command(&mut harness, "/theme");
    harness.type_text("gruv");
    harness.control('c');
    assert_eq!(accent(&harness), DARK);
}

#[test]
fn theme_choice_is_applied_and_stored() {
    let mut harness = with_colors(120, 40);
    command(&mut harness, "/theme");
    harness.type_text("gruv");
    assert_eq!(harness.key(KeyCode::Enter), [save_theme("gruvbox")]);
    assert_eq!(accent(&harness), GRUVBOX);
    assert_eq!(command(&mut harness, "/theme light"), [save_theme("light")]);
    assert_eq!(accent(&harness), LIGHT);
    assert_eq!(command(&mut harness, "/theme auto"), [save_theme("auto")]);
    assert_eq!(accent(&harness), DARK);
}

#[test]
fn theme_setting_applies_valid_names_only() {
    let mut harness = with_colors(120, 40);
    let set = |name: &str| [Action::List(ListAction::Set(&setting::THEME, name.into()))];
    let is_now = |name: &str| Msg::TaskResult(TaskResult::ThemeSetting(&setting::THEME, name.into()).into());
    assert_eq!(command(&mut harness, "/settings theme gruvbox"), set("gruvbox"));
    harness.input(is_now("gruvbox"));
    assert_eq!(accent(&harness), GRUVBOX);
    assert_eq!(command(&mut harness, "/settings theme auto"), set("auto"));
    harness.input(is_now("auto"));
    assert_eq!(accent(&harness), DARK);
    assert_eq!(command(&mut harness, "/settings theme gruvboxx"), []);
    assert!(harness.screen().contains("unknown theme `gruvboxx`; did you mean gruvbox?"));
    assert_eq!(harness.app.composer.editor.text(), "/settings theme gruvboxx", "it can be mended");
    harness.control('u');
    let path = "~/themes/mine.json";
    let set = Action::List(ListAction::Set(&setting::THEME, path.into()));
    assert_eq!(
        command(&mut harness, &format!("/settings theme {path}")),
        [set],
        "whoever starts next reads it"
    );
}

#[test]
fn theme_for_background_applies_with_auto() {
    let mut harness = with_colors(120, 40);
    let is_now = |setting, name: &str| Msg::TaskResult(TaskResult::ThemeSetting(setting, name.into()).into());
    let set = [Action::List(ListAction::Set(&setting::THEME_DARK, "gruvbox".into()))];
    assert_eq!(command(&mut harness, "/settings theme_dark gruvbox"), set);
    harness.input(is_now(&setting::THEME_LIGHT, "gruvbox"));
    assert_eq!(accent(&harness), DARK, "the ground is dark");
    harness.input(is_now(&setting::THEME_DARK, "gruvbox"));
    assert_eq!(accent(&harness), GRUVBOX);
    assert_eq!(command(&mut harness, "/settings theme_dark auto"), [], "that isn't a theme");
}

#[test]
fn theme_unknown_name_suggests() {
    let mut harness = with_colors(120, 40);
    assert_eq!(command(&mut harness, "/theme gruvboxx"), []);
    assert!(harness.screen().contains("unknown theme `gruvboxx`; did you mean gruvbox?"));
    assert_eq!(harness.app.composer.editor.text(), "/theme gruvboxx", "it can be mended");
    harness.control('u');
    assert_eq!(command(&mut harness, "/theme ./mine.json"), []);
    assert!(harness.screen().contains("tiller --theme"), "{}", harness.screen());
    assert_eq!(accent(&harness), DARK);
}

#[test]
fn theme_background_only_decides_auto() {
    let mut harness = with_colors(120, 40);
    harness.input(Msg::Background(Rgb::WHITE));
    assert_eq!(accent(&harness), LIGHT);
    command(&mut harness, "/theme gruvbox");
    harness.input(Msg::Background(Rgb::BLACK));
    assert_eq!(accent(&harness), GRUVBOX);
}

#[test]
fn theme_broken_file_is_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.json");
    let place = SearchPath { path: dir.path().to_owned(), origin: ResourceOrigin::User, bounds: None };
    let mut library = Arc::new(ThemeRegistry::built_in());
    let mut harness = with_colors(120, 40);
    let mut save = |harness: &mut Harness, accent: &str| {
        fs::write(&file, format!(r#"{{"name": "mine", "roles": {{"accent": "{accent}"}}}}"#)).unwrap();
        library = Arc::new(ThemeRegistry::load(std::slice::from_ref(&place), &library));
        harness.input(Msg::Themes(Arc::clone(&library)));
    };
    save(&mut harness, "#010203");
    command(&mut harness, "/theme mine");
    assert_eq!(accent(&harness), Color::Rgb(1, 2, 3));
    save(&mut harness, "#01020");
    save(&mut harness, "#01020");
    assert_eq!(accent(&harness), Color::Rgb(1, 2, 3));
    let screen = harness.screen();
    assert_eq!(
        screen.matches("mine.json: at roles.accent: `#01020` is neither a color").count(),
        1,
        "{screen}"
    );
    save(&mut harness, "#0102");
    let screen = harness.screen();
    assert!(screen.contains("· theme ") && screen.contains("→ outdated"), "{screen}");
    assert_eq!(screen.matches("✗ theme ").count(), 1, "{screen}");
    save(&mut harness, "#040506");
    assert_eq!(accent(&harness), Color::Rgb(4, 5, 6));
    let screen = harness.screen();
    assert!(!screen.contains("✗ theme "), "{screen}");
    assert!(screen.contains("mine.json is valid again."), "{screen}");
}

#[test]
fn theme_new_file_joins_open_list() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("mine.json"), r#"{"name": "mine", "roles": {}}"#).unwrap();
    let place = SearchPath { path: dir.path().to_owned(), origin: ResourceOrigin::User, bounds: None };
    let mut harness = with_colors(120, 40);
    command(&mut harness, "/theme");
    assert!(!harness.screen().contains("mine"));
    harness.input(Msg::Themes(Arc::new(ThemeRegistry::load(&[place], &ThemeRegistry::built_in()))));
    assert!(harness.screen().contains("mine"), "{}", harness.screen());
}
