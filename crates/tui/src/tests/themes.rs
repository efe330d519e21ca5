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
use crate::app::{Action, BackgroundJob, ListAction, ListResult, Msg, TaskResult};
use crate::theme::{ThemeOptions, ThemeState};

/// The accent colors of the themes used here.
const DARK: Color = Color::Rgb(0x6c, 0xcf, 0xcf);
const LIGHT: Color = Color::Rgb(0x00, 0x6a, 0x75);
const GRUVBOX: Color = Color::Rgb(0xfa, 0xbd, 0x2f);

fn painted(width: u16, height: u16) -> Harness {
    let mut stage = Harness::new(width, height);
    stage.app.ui.theme =
        ThemeState::new(&ThemeOptions { depth: ColorDepth::Millions, ..ThemeOptions::default() });
    stage
}

fn accent(stage: &Harness) -> Color {
    stage.app.ui.theme.style(Role::Accent.into()).fg.unwrap()
}

/// The actions of a command, except for storing it in the history.
fn command(stage: &mut Harness, line: &str) -> Vec<Action> {
    stage.type_text(line);
    let mut actions = stage.key(KeyCode::Enter);
    actions.retain(|action| !matches!(action, Action::Background(BackgroundJob::AppendHistory(_))));
    actions
}

fn kept(theme: &str) -> Action {
    Action::Background(BackgroundJob::SaveSetting { setting: &setting::THEME, value: theme.to_owned() })
}

#[test]
fn theme_list_previews_all_roles() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = painted(width, height);
        command(&mut stage, "/theme");
        stage.key(KeyCode::Down);
        insta::assert_snapshot!(format!("themes_{width}x{height}"), stage.screen());
    }
}

#[test]
fn theme_preview_ends_on_leaving() {
    let mut stage = painted(120, 40);
    assert_eq!(command(&mut stage, "/theme"), []);
    stage.type_text("gruv");
    assert_eq!(accent(&stage), GRUVBOX);
    stage.key(KeyCode::Backspace);
    stage.key(KeyCode::Esc);
    stage.key(KeyCode::Esc);
    assert!(stage.app.overlays.is_empty());
    assert_eq!(accent(&stage), DARK);
    // However the list goes, nothing that was only tried on stays.
    command(&mut stage, "/theme gone");
    stage.app.editor.clear();
    command(&mut stage, "/theme");
    stage.type_text("gruv");
    stage.control('c');
    assert_eq!(accent(&stage), DARK);
}

#[test]
fn theme_choice_is_applied_and_stored() {
    let mut stage = painted(120, 40);
    command(&mut stage, "/theme");
    stage.type_text("gruv");
    assert_eq!(stage.key(KeyCode::Enter), [kept("gruvbox")]);
    assert_eq!(accent(&stage), GRUVBOX);
    assert_eq!(command(&mut stage, "/theme light"), [kept("light")]);
    assert_eq!(accent(&stage), LIGHT);
    assert_eq!(command(&mut stage, "/theme auto"), [kept("auto")]);
    assert_eq!(accent(&stage), DARK);
}

#[test]
fn theme_setting_applies_valid_names_only() {
    let mut stage = painted(120, 40);
    let set = |name: &str| [Action::List(ListAction::Set(&setting::THEME, name.into()))];
    let is_now =
        |name: &str| Msg::TaskResult(TaskResult::List(ListResult::Theme(&setting::THEME, name.into())));
    assert_eq!(command(&mut stage, "/settings theme gruvbox"), set("gruvbox"));
    stage.input(is_now("gruvbox"));
    assert_eq!(accent(&stage), GRUVBOX);
    assert_eq!(command(&mut stage, "/settings theme auto"), set("auto"));
    stage.input(is_now("auto"));
    assert_eq!(accent(&stage), DARK);
    assert_eq!(command(&mut stage, "/settings theme gruvboxx"), []);
    assert!(stage.screen().contains("unknown theme gruvboxx; did you mean gruvbox?"));
    assert_eq!(stage.app.editor.text(), "/settings theme gruvboxx", "it can be mended");
    stage.control('u');
    let path = "~/themes/mine.json";
    let set = Action::List(ListAction::Set(&setting::THEME, path.into()));
    assert_eq!(
        command(&mut stage, &format!("/settings theme {path}")),
        [set],
        "whoever starts next reads it"
    );
}

#[test]
fn theme_for_background_applies_with_auto() {
    let mut stage = painted(120, 40);
    let is_now =
        |setting, name: &str| Msg::TaskResult(TaskResult::List(ListResult::Theme(setting, name.into())));
    let set = [Action::List(ListAction::Set(&setting::THEME_DARK, "gruvbox".into()))];
    assert_eq!(command(&mut stage, "/settings theme_dark gruvbox"), set);
    stage.input(is_now(&setting::THEME_LIGHT, "gruvbox"));
    assert_eq!(accent(&stage), DARK, "the ground is dark");
    stage.input(is_now(&setting::THEME_DARK, "gruvbox"));
    assert_eq!(accent(&stage), GRUVBOX);
    assert_eq!(command(&mut stage, "/settings theme_dark auto"), [], "that isn't a theme");
}

#[test]
fn theme_unknown_name_suggests() {
    let mut stage = painted(120, 40);
    assert_eq!(command(&mut stage, "/theme gruvboxx"), []);
    assert!(stage.screen().contains("unknown theme gruvboxx; did you mean gruvbox?"));
    assert_eq!(stage.app.editor.text(), "/theme gruvboxx", "it can be mended");
    stage.control('u');
    assert_eq!(command(&mut stage, "/theme ./mine.json"), []);
    assert!(stage.screen().contains("tiller --theme"), "{}", stage.screen());
    assert_eq!(accent(&stage), DARK);
}

#[test]
fn theme_background_only_decides_auto() {
    let mut stage = painted(120, 40);
    stage.input(Msg::Background(Rgb::WHITE));
    assert_eq!(accent(&stage), LIGHT);
    command(&mut stage, "/theme gruvbox");
    stage.input(Msg::Background(Rgb::BLACK));
    assert_eq!(accent(&stage), GRUVBOX);
}

#[test]
fn theme_broken_file_is_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    let place = SearchPath { path: folder.path().to_owned(), origin: ResourceOrigin::User, bounds: None };
    let mut library = Arc::new(ThemeRegistry::built_in());
    let mut stage = painted(120, 40);
    let mut save = |stage: &mut Harness, accent: &str| {
        fs::write(&file, format!(r#"{{"name": "mine", "roles": {{"accent": "{accent}"}}}}"#)).unwrap();
        library = Arc::new(ThemeRegistry::load(std::slice::from_ref(&place), &library));
        stage.input(Msg::Themes(Arc::clone(&library)));
    };
    save(&mut stage, "#010203");
    command(&mut stage, "/theme mine");
    assert_eq!(accent(&stage), Color::Rgb(1, 2, 3));
    save(&mut stage, "#01020");
    save(&mut stage, "#01020");
    assert_eq!(accent(&stage), Color::Rgb(1, 2, 3));
    let screen = stage.screen();
    assert_eq!(
        screen.matches("mine.json: at roles.accent: `#01020` is neither a color").count(),
        1,
        "{screen}"
    );
    save(&mut stage, "#0102");
    let screen = stage.screen();
    assert!(screen.contains("· theme ") && screen.contains("→ outdated"), "{screen}");
    assert_eq!(screen.matches("✗ theme ").count(), 1, "{screen}");
    save(&mut stage, "#040506");
    assert_eq!(accent(&stage), Color::Rgb(4, 5, 6));
    let screen = stage.screen();
    assert!(!screen.contains("✗ theme "), "{screen}");
    assert!(screen.contains("mine.json is valid again."), "{screen}");
}

#[test]
fn theme_new_file_joins_open_list() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.json"), r#"{"name": "mine", "roles": {}}"#).unwrap();
    let place = SearchPath { path: folder.path().to_owned(), origin: ResourceOrigin::User, bounds: None };
    let mut stage = painted(120, 40);
    command(&mut stage, "/theme");
    assert!(!stage.screen().contains("mine"));
    stage.input(Msg::Themes(Arc::new(ThemeRegistry::load(&[place], &ThemeRegistry::built_in()))));
    assert!(stage.screen().contains("mine"), "{}", stage.screen());
}
