//! The check of a value for a theme setting.

use std::path::Path;

use tiller_core::setting;
use tiller_core::setting::Setting;
use tiller_files::search_path::ResourceProblem;
use tiller_render::theme::{ThemeRegistry, is_path};

use crate::text::one_line;

/// The value of the setting that follows the terminal's background.
pub(crate) const AUTO: &str = "auto";

/// The result of checking a value for a theme setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ThemeCheck {
    /// The theme can be applied.
    Known,
    /// The theme is a file that isn't loaded.
    NotLoaded,
    /// The theme can't be applied, for this reason.
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
        None => "/theme lists the themes".to_owned(),
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

/// Returns the setting if it is one of the theme settings.
pub(crate) fn setting_of(setting: &Setting) -> Option<&'static Setting> {
    [&setting::THEME, &setting::THEME_DARK, &setting::THEME_LIGHT].into_iter().find(|one| *one == setting)
}
