//! `/theme`: a picker that previews the selected theme, and the choice of a theme.

use std::path::Path;
use std::sync::Arc;

use tiller_core::setting::{self, Setting};
use tiller_files::search_path::{ResourceOrigin, ResourceProblem};
use tiller_render::theme::{ColorDepth, RegisteredTheme, ThemeRegistry, is_path, resolve_theme};
use tiller_render::{Line, Role, Span, diff};

use super::super::block::NoticeLevel;
use super::super::overlay::Overlay;
use super::super::picker::{Picker, PickerChoice, PickerItem};
use super::super::tool_call::one_line;
use super::{ThemeProblems, ThemeState};
use crate::action::{Action, BackgroundJob, ListKind};
use crate::app::App;

/// The value of the setting that follows the terminal's background.
const AUTO: &str = "auto";

/// Width of the sample diff in columns: the preview's width on a narrow screen.
const DIFF_WIDTH: usize = 44;

const DIFF: &str = "@@ -41,3 +41,3 @@\n fn newline(&mut self) {\n-    self.line += 1;\n+    self.line += self.breaks();\n }\n";

const CONVERSATION: &[&[(&str, Role)]] = &[
    &[("▌ ", Role::Accent), ("count the breaks, not the bytes", Role::User)],
    &[],
    &[("Perhaps the lexer skips one.", Role::Thinking)],
    &[
        ("It counts them in ", Role::Text),
        ("newline", Role::Code),
        (", see ", Role::Text),
        ("lexer.rs", Role::Link),
    ],
    &[("✓ ", Role::Success), ("read_file", Role::Text), ("  src/lexer.rs  212 lines", Role::Muted)],
    &[("✗ ", Role::Error), ("bash     ", Role::Text), ("  cargo test  exit code 101", Role::Error)],
    &[("? ", Role::Warning), ("edit_file", Role::Text), ("  needs approval", Role::Warning)],
    &[],
    &[("What changes", Role::Heading)],
];

const CODE: &[&[(&str, Role)]] = &[
    &[("/// Line breaks of one token.", Role::Comment)],
    &[
        ("fn ", Role::Keyword),
        ("breaks", Role::Function),
        ("(&", Role::Operator),
        ("self", Role::Keyword),
        (") -> ", Role::Operator),
        ("usize", Role::Type),
        (" {", Role::Operator),
    ],
    &[
        ("    self", Role::Keyword),
        (".rest.", Role::Text),
        ("starts_with", Role::Function),
        ("(", Role::Operator),
        ("\"\\r\\n\"", Role::String),
        (") as ", Role::Keyword),
        ("usize", Role::Type),
        (" + ", Role::Operator),
        ("1", Role::Constant),
    ],
    &[("}", Role::Operator)],
];

impl App {
    /// Opens the theme picker; the selected theme is previewed.
    pub(crate) fn pick_theme(&mut self) -> Vec<Action> {
        let (items, selected) = picker_items(&self.ui.theme);
        let mut picker = Picker::waiting_for("themes", ListKind::Themes).with_preview();
        picker.fill(items, selected);
        self.overlays.push(Overlay::Picker(Box::new(picker)));
        Vec::new()
    }

    /// Replaces the known themes, updates open pickers, and reports problems in theme files.
    pub(crate) fn themes_changed(&mut self, library: Arc<ThemeRegistry>) -> Vec<Action> {
        let ThemeProblems { new, gone, fixed } = self.ui.theme.set_library(library);
        for problem in gone {
            self.transcript.mark_outdated(&format!("theme {problem}"));
        }
        for problem in new {
            let hint = "the previous version of the theme is used until the file is fixed";
            self.add_notice(NoticeLevel::Error, format!("theme {problem}"), Some(hint.to_owned()));
        }
        if let Some(file) = fixed.iter().find_map(|path| path.file_name()) {
            self.flash(format!("{} is valid again.", one_line(&file.to_string_lossy())));
        }
        let (items, selected) = picker_items(&self.ui.theme);
        for popup in self.overlays.iter_mut().filter(|popup| popup.is_session_lists()) {
            if let Some(picker) = popup.as_picker() {
                picker.fill(items.clone(), selected);
            }
        }
        Vec::new()
    }

    /// Ends the preview when no theme picker is open.
    pub(crate) fn end_stale_preview(&mut self) {
        if self.ui.theme.previewed.is_some() && !self.overlays.iter().any(Overlay::is_session_lists) {
            self.ui.theme.preview(None);
        }
    }

    /// Previews the selected theme; without a selection the chosen theme is shown.
    pub(crate) fn preview_theme(&mut self, choice: Option<&PickerChoice>) {
        match choice {
            Some(PickerChoice::Theme(name)) => self.ui.theme.preview(Some(name)),
            _ => self.ui.theme.preview(None),
        }
    }

    /// Sets a theme by name or file, and saves the choice.
    pub(crate) fn apply_theme(&mut self, name: &str) -> Vec<Action> {
        let problem = match self.theme_fit(&setting::THEME, name) {
            ThemeCheck::Known => None,
            ThemeCheck::NotLoaded => {
                let name = one_line(name);
                Some(format!("theme `{name}` is not loaded; start with `tiller --theme FILE` to load it"))
            }
            ThemeCheck::Invalid(problem) => Some(problem),
        };
        if let Some(problem) = problem {
            self.composer.editor.set_text(&format!("/theme {name}"));
            self.flash(problem);
            return Vec::new();
        }
        let name = self.theme_placed(name);
        self.ui.theme.set_theme(&setting::THEME, &name);
        if self.ui.theme.depth == ColorDepth::None {
            self.flash(format!("Theme {name}: saved, but this terminal shows no colors."));
        }
        vec![Action::Background(BackgroundJob::SaveSetting { setting: &setting::THEME, value: name })]
    }
}

impl App {
    /// Applies the new value of one of the theme settings.
    pub(crate) fn theme_setting_changed(&mut self, setting: &Setting, name: &str) {
        self.ui.theme.set_theme(setting, name);
    }

    /// Checks a value for a theme setting.
    pub(crate) fn theme_fit(&self, setting: &Setting, name: &str) -> ThemeCheck {
        check(&self.ui.theme.library, setting, &self.theme_placed(name))
    }

    fn theme_placed(&self, name: &str) -> String {
        resolve_theme(name, &self.ui.cwd, self.ui.home.as_deref())
    }
}

/// The result of checking a value for a theme setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ThemeCheck {
    /// It can be applied.
    Known,
    /// It is a file that isn't loaded.
    NotLoaded,
    /// It can't be applied; the reason.
    Invalid(String),
}

/// Checks a theme name or path, already [`placed`], for a setting.
pub(crate) fn check(library: &ThemeRegistry, setting: &Setting, name: &str) -> ThemeCheck {
    if library.find(name).is_some() || name == AUTO && *setting == setting::THEME {
        return ThemeCheck::Known;
    }
    if let Some(problem) = problem_of(library, name) {
        return ThemeCheck::Invalid(format!("theme {}", one_line(&problem.to_string())));
    }
    if is_path(name) {
        return ThemeCheck::NotLoaded;
    }
    let instead = match library.nearest(name) {
        Some(name) => format!("did you mean {name}?"),
        None => "/theme lists them".to_owned(),
    };
    ThemeCheck::Invalid(format!("unknown theme `{}`; {instead}", one_line(name)))
}

/// The problem of the theme file with this name or path.
fn problem_of<'a>(library: &'a ThemeRegistry, name: &str) -> Option<&'a ResourceProblem> {
    let is_it = |problem: &&ResourceProblem| {
        problem.path == Path::new(name) || problem.path.file_stem().is_some_and(|stem| stem == name)
    };
    library.problems().iter().find(is_it)
}

/// The setting if it is one of those that name a theme.
pub(crate) fn setting_of(setting: &Setting) -> Option<&'static Setting> {
    [&setting::THEME, &setting::THEME_DARK, &setting::THEME_LIGHT].into_iter().find(|one| *one == setting)
}

/// The picker's items and the index of the chosen theme.
fn picker_items(theme: &ThemeState) -> (Vec<PickerItem>, usize) {
    let mut items = vec![auto(theme)];
    items.extend(theme.library.known().map(|known| item(theme, known)));
    let worn = PickerChoice::Theme(theme.choice.theme.clone());
    let selected = items.iter().position(|item| item.choice == worn).unwrap_or(0);
    (items, selected)
}

/// The items for completion, without the samples, which are slow to build.
pub(crate) fn names(theme: &ThemeState) -> Vec<PickerItem> {
    let auto = PickerItem::new(AUTO, PickerChoice::Theme(AUTO.to_owned()))
        .with_note("follows the terminal's background");
    let named = |known: &RegisteredTheme| {
        let name = &known.theme.name;
        PickerItem::new(name, PickerChoice::Theme(name.clone())).with_note(note(theme, known))
    };
    [auto].into_iter().chain(theme.library.known().map(named)).collect()
}

fn auto(theme: &ThemeState) -> PickerItem {
    let description = "follows the terminal's background";
    PickerItem::new(AUTO, PickerChoice::Theme(AUTO.to_owned()))
        .with_note(format!("{}{} · {}", chosen_mark(theme, AUTO), theme.choice.dark, theme.choice.light))
        .with_detail(sample(description))
}

fn item(theme: &ThemeState, known: &RegisteredTheme) -> PickerItem {
    let name = &known.theme.name;
    let about = match &known.path {
        Some(path) => path.display().to_string(),
        None => "tiller's own".to_owned(),
    };
    PickerItem::new(name, PickerChoice::Theme(name.clone()))
        .with_note(note(theme, known))
        .with_detail(sample(&about))
}

/// The note of a theme: chosen or not, origin, background.
fn note(theme: &ThemeState, known: &RegisteredTheme) -> String {
    let origin = match known.origin {
        ResourceOrigin::BuiltIn => String::new(),
        origin => format!("{origin} · "),
    };
    format!("{}{origin}{}", chosen_mark(theme, &known.theme.name), known.theme.kind.name())
}

/// Marks the chosen theme.
fn chosen_mark(theme: &ThemeState, name: &str) -> &'static str {
    if theme.choice.theme == name { "now · " } else { "" }
}

/// The preview of a theme: samples in its roles. The code is highlighted by hand, because loading a grammar
/// would delay the key.
fn sample(about: &str) -> Vec<Line> {
    let mut lines = vec![line(&[(about, Role::Muted)]), Line::default()];
    lines.extend(CONVERSATION.iter().map(|spans| line(spans)));
    lines.extend(diff(DIFF, "", DIFF_WIDTH));
    lines.push(Line::default());
    lines.extend(CODE.iter().map(|spans| line(spans)));
    lines
}

fn line(spans: &[(&str, Role)]) -> Line {
    spans.iter().map(|(text, role)| Span::new(*text, *role)).collect::<Vec<_>>().into()
}
