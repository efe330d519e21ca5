//! The choice of a theme, and changes of the known themes.

use std::sync::Arc;

use tiller_core::setting;
use tiller_render::theme::{ColorDepth, ThemeRegistry};

use crate::action::{Action, BackgroundJob};
use crate::app::App;
use crate::block::notice_level::NoticeLevel;
use crate::text::one_line;
use crate::theme::ThemeProblems;
use crate::theme::check::ThemeCheck;

impl App {
    /// Replaces the known themes, updates the list of themes, and reports problems in theme files.
    pub(super) fn themes_changed(&mut self, library: Arc<ThemeRegistry>) -> Vec<Action> {
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
        self.compositor.themes_changed(&self.ui.theme);
        Vec::new()
    }

    /// Sets a theme by name or file, and saves the choice.
    pub(crate) fn apply_theme(&mut self, name: &str) -> Vec<Action> {
        let problem = match self.ui.check_theme(&setting::THEME, name) {
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
        let name = self.ui.resolve_theme(name);
        self.ui.theme.set_theme(&setting::THEME, &name);
        if self.ui.theme.depth == ColorDepth::None {
            self.flash(format!("Theme {name}: saved, but this terminal shows no colors."));
        }
        vec![Action::Background(BackgroundJob::SaveSetting { setting: &setting::THEME, value: name })]
    }
}
