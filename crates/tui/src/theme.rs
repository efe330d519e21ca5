//! The current theme: ratatui styles for roles, and the theme being previewed.

pub(crate) mod check;

use std::path::PathBuf;
use std::sync::Arc;

use ratatui::style::{Color, Modifier, Style};
use tiller_core::setting::{self, Setting};
use tiller_files::search_path::ResourceProblem;
use tiller_render::theme::{
    self, Background, ColorDepth, ROLES, Rgb, ThemeChoice, ThemeColor, ThemeRegistry, ThemeStyle,
};
use tiller_render::{self as render, AnsiColor, Emphasis};
use tokio::sync::watch;

use crate::block::notice_level::NoticeLevel;
use crate::effect::Effect;
use crate::text::one_line;

/// The known themes, the chosen theme, and the terminal's capabilities.
#[derive(Clone, Debug, Default)]
pub struct ThemeOptions {
    /// The themes known at the start.
    pub library: Arc<ThemeRegistry>,
    /// The chosen theme.
    pub choice: ThemeChoice,
    /// The number of colors that the terminal shows.
    pub depth: ColorDepth,
    /// The terminal's background, if it can be guessed.
    pub background: Background,
    /// The decision to query the terminal for its background, if it determines the theme.
    pub query: ThemeQuery,
    /// Updates after theme files changed; `None` for no updates.
    pub updates: Option<watch::Receiver<Arc<ThemeRegistry>>>,
}

impl ThemeOptions {
    /// The currently known themes.
    pub(super) fn library_now(&self) -> Arc<ThemeRegistry> {
        self.updates.as_ref().map_or_else(|| Arc::clone(&self.library), |news| Arc::clone(&news.borrow()))
    }
}

/// The decision to query the terminal's background color (OSC 11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThemeQuery {
    /// No query, for terminals that would display it, and if there is no terminal.
    #[default]
    Never,
    /// Query after the first frame; the reply may arrive at any time.
    AfterFirstFrame,
}

/// The current theme and its styles.
#[derive(Clone, Debug)]
pub(super) struct ThemeState {
    pub(super) library: Arc<ThemeRegistry>,
    pub(super) choice: ThemeChoice,
    /// The theme being previewed.
    pub(super) previewed: Option<String>,
    background: Background,
    pub(super) depth: ColorDepth,
    current: Arc<theme::Theme>,
    /// Styles by role.
    styles: [Style; ROLES.len()],
}

/// Changes to the problems of theme files.
#[derive(Debug)]
pub(super) struct ThemeProblems {
    pub(super) new: Vec<ResourceProblem>,
    pub(super) gone: Vec<ResourceProblem>,
    /// Files that are valid again.
    pub(super) fixed: Vec<PathBuf>,
}

impl ThemeProblems {
    /// Returns the effects of the changes: notices about new and resolved problems, and a flash about a
    /// corrected file.
    pub(super) fn effects(self) -> Vec<Effect> {
        let hint = "the previous version of the theme is used until the file is fixed";
        let notice = |problem| Effect::Notice {
            level: NoticeLevel::Error,
            text: format!("theme {problem}"),
            hint: Some(hint.to_owned()),
        };
        let outdated = self.gone.iter().map(|problem| Effect::MarkOutdated(format!("theme {problem}")));
        let mut effects: Vec<Effect> = outdated.collect();
        effects.extend(self.new.iter().map(notice));
        if let Some(file) = self.fixed.iter().find_map(|path| path.file_name()) {
            effects.push(Effect::flash(format!("{} is valid again.", one_line(&file.to_string_lossy()))));
        }
        effects
    }
}

impl ThemeState {
    pub(super) fn new(options: &ThemeOptions) -> Self {
        let ThemeOptions { library, choice, depth, background, .. } = options;
        let current = Arc::clone(library.choose(choice, *background, *depth));
        let looks = role_styles(&current, *depth);
        let (library, choice) = (Arc::clone(library), choice.clone());
        Self {
            library,
            choice,
            previewed: None,
            background: *background,
            depth: *depth,
            current,
            styles: looks,
        }
    }

    /// The ratatui style of a text style.
    pub(super) fn style(&self, style: render::Style) -> Style {
        let mut look = self.styles[style.role as usize].add_modifier(modifiers(style.emphasis));
        if let Some(ground) = style.background_role {
            look.bg = self.styles[ground as usize].bg;
        }
        let ansi_color = |ansi: Option<AnsiColor>| {
            ansi.and_then(|ansi| self.current.ansi_color(ansi, self.depth)).map(color)
        };
        Style { fg: ansi_color(style.fg).or(look.fg), bg: ansi_color(style.bg).or(look.bg), ..look }
    }

    /// Sets the background that the terminal reported.
    pub(super) fn set_background(&mut self, ground: Rgb) {
        self.background = Background::from_color(ground);
        self.refresh();
    }

    /// Replaces the known themes; returns the new and the resolved problems.
    pub(super) fn set_library(&mut self, library: Arc<ThemeRegistry>) -> ThemeProblems {
        let before = std::mem::replace(&mut self.library, library);
        self.refresh();
        let without = |these: &ThemeRegistry, those: &ThemeRegistry| -> Vec<ResourceProblem> {
            these.problems().iter().filter(|problem| !those.problems().contains(problem)).cloned().collect()
        };
        let gone = without(&before, &self.library);
        let is_right = |problem: &&ResourceProblem| {
            let is_wrong = self.library.problems().iter().any(|other| other.path == problem.path);
            !is_wrong && self.library.known().any(|known| known.path.as_ref() == Some(&problem.path))
        };
        let mended = gone.iter().filter(is_right).map(|problem| problem.path.clone()).collect();
        ThemeProblems { new: without(&self.library, &before), gone, fixed: mended }
    }

    /// Previews a theme; `None` returns to the chosen theme.
    pub(super) fn preview(&mut self, name: Option<&str>) {
        self.previewed = name.map(str::to_owned);
        self.refresh();
    }

    pub(super) fn set_theme(&mut self, setting: &Setting, name: &str) {
        let wished = if *setting == setting::THEME_DARK {
            &mut self.choice.dark
        } else if *setting == setting::THEME_LIGHT {
            &mut self.choice.light
        } else {
            &mut self.choice.theme
        };
        name.clone_into(wished);
        self.previewed = None;
        self.refresh();
    }

    fn refresh(&mut self) {
        let choice = self.previewed.as_deref().map(|name| self.choice.with_theme(name));
        let choice = choice.as_ref().unwrap_or(&self.choice);
        self.current = Arc::clone(self.library.choose(choice, self.background, self.depth));
        self.styles = role_styles(&self.current, self.depth);
    }
}

fn role_styles(theme: &theme::Theme, depth: ColorDepth) -> [Style; ROLES.len()] {
    ROLES.map(|role| style_of(theme.style(role, depth)))
}

fn style_of(look: ThemeStyle) -> Style {
    let style = Style { fg: look.fg.map(color), bg: look.bg.map(color), ..Style::new() };
    style.add_modifier(modifiers(look.emphasis))
}

const fn color(color: ThemeColor) -> Color {
    match color {
        ThemeColor::Rgb(Rgb(red, green, blue)) => Color::Rgb(red, green, blue),
        ThemeColor::Indexed(index) => Color::Indexed(index),
    }
}

fn modifiers(emphasis: Emphasis) -> Modifier {
    let all = [
        (Emphasis::BOLD, Modifier::BOLD),
        (Emphasis::ITALIC, Modifier::ITALIC),
        (Emphasis::UNDERLINE, Modifier::UNDERLINED),
        (Emphasis::STRIKE, Modifier::CROSSED_OUT),
        (Emphasis::REVERSED, Modifier::REVERSED),
        (Emphasis::DIM, Modifier::DIM),
    ];
    let present = all.into_iter().filter(|(emphasis_bit, _)| emphasis.has(*emphasis_bit));
    present.fold(Modifier::empty(), |sum, (_, modifier)| sum | modifier)
}

#[cfg(test)]
mod tests {
    use tiller_render::Role;

    use super::*;

    fn theme_state(depth: ColorDepth, background: Background) -> ThemeState {
        ThemeState::new(&ThemeOptions { depth, background, ..ThemeOptions::default() })
    }

    #[test]
    fn theme_colors_match_the_color_depth() {
        let accent = |depth| theme_state(depth, Background::Dark).style(Role::Accent.into()).fg;
        assert_eq!(accent(ColorDepth::Millions), Some(Color::Rgb(0x6c, 0xcf, 0xcf)));
        assert_eq!(accent(ColorDepth::TwoHundredFiftySix), Some(Color::Indexed(80)));
        assert_eq!(accent(ColorDepth::Sixteen), Some(Color::Indexed(6)));
        assert_eq!(accent(ColorDepth::None), None);
    }

    #[test]
    fn theme_style_adds_the_emphasis_of_text_and_role() {
        let theme = theme_state(ColorDepth::None, Background::Dark);
        let style = theme.style(render::Style::from(Role::Link).with(Emphasis::BOLD));
        assert_eq!(style.add_modifier, Modifier::BOLD | Modifier::UNDERLINED);
    }

    #[test]
    fn theme_style_keeps_ansi_colors_of_commands() {
        let style = render::Style {
            fg: Some(AnsiColor::Basic(1)),
            bg: Some(AnsiColor::Rgb(1, 2, 3)),
            ..Role::Muted.into()
        };
        let painted = |depth| theme_state(depth, Background::Dark).style(style);
        let look = painted(ColorDepth::Millions);
        assert_eq!((look.fg, look.bg), (Some(Color::Indexed(1)), Some(Color::Rgb(1, 2, 3))));
        assert_eq!(painted(ColorDepth::Sixteen).bg, Some(Color::Indexed(0)));
        assert_eq!((painted(ColorDepth::None).fg, painted(ColorDepth::None).bg), (None, None));
    }

    #[test]
    fn theme_reported_background_changes_only_auto() {
        let mut theme = theme_state(ColorDepth::Millions, Background::Dark);
        assert_eq!(theme.current.name, "dark");
        theme.set_background(Rgb::WHITE);
        assert_eq!(theme.current.name, "light");
        theme.set_theme(&setting::THEME, "gruvbox");
        theme.set_background(Rgb::WHITE);
        assert_eq!(theme.current.name, "gruvbox");
    }

    #[test]
    fn theme_preview_is_temporary() {
        let mut theme = theme_state(ColorDepth::Millions, Background::Dark);
        theme.preview(Some("catppuccin"));
        theme.set_background(Rgb::BLACK);
        assert_eq!(theme.current.name, "catppuccin");
        theme.preview(None);
        assert_eq!(theme.current.name, "dark");
    }

    #[test]
    fn theme_problem_is_reported_once() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x.json"), "{").unwrap();
        let place = tiller_files::search_path::SearchPath {
            path: dir.path().to_owned(),
            origin: tiller_files::search_path::ResourceOrigin::User,
            bounds: None,
        };
        let broken = Arc::new(ThemeRegistry::load(&[place], &ThemeRegistry::built_in()));
        let mut theme = theme_state(ColorDepth::Millions, Background::Dark);
        assert_eq!(theme.set_library(Arc::clone(&broken)).new.len(), 1);
        assert_eq!(theme.set_library(broken).new, []);
    }
}
