//! Results of jobs for lists and the tree.

use std::path::{Path, PathBuf};

use tiller_core::id::SessionId;
use tiller_core::setting::Settings;
use tiller_render::Line;
use tiller_session::SessionScope;

use crate::action::Action;
use crate::component::Context;
use crate::compositor::Compositor;
use crate::keymap::KeyCommand;
use crate::list_kind::ListKind;
use crate::message::SessionsResult;
use crate::overlay::Overlay;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::line_prompt::StatusText;
use crate::picker::narrowing::NarrowedList;
use crate::picker::session_query::SessionQueryId;
use crate::picker::settings::setting_items;
use crate::picker::themes::theme_items;
use crate::theme::ThemeState;
use crate::tree::request::TreeResult;

impl Compositor {
    pub(crate) fn fill_list(&mut self, list: ListKind, items: Vec<PickerItem>, selected: usize) {
        if let Some(picker) = self.pickers().rfind(|picker| picker.kind() == Some(list)) {
            picker.fill(items, selected);
        }
    }

    pub(crate) fn apply_narrowed(&mut self, done: &NarrowedList) {
        self.pickers().for_each(|picker| picker.apply_narrowed(done));
    }

    pub(crate) fn show_preview(&mut self, of: &PickerChoice, lines: &[Line]) {
        self.pickers().for_each(|picker| picker.show_preview(of, lines.to_vec()));
    }

    /// Shows a status in the list on top, or as a flash if there is none.
    pub(crate) fn show_status(&mut self, status: StatusText, cx: &mut Context<'_>) {
        match self.top_picker() {
            Some(picker) => picker.set_status(Some(status)),
            None => cx.flash(status.text),
        }
    }

    /// Refreshes the settings list after settings have changed.
    pub(crate) fn settings_changed(&mut self, changed: &Settings) {
        self.fill_list(ListKind::Settings, setting_items(changed), 0);
    }

    /// Refreshes the list of themes.
    pub(crate) fn themes_changed(&mut self, theme: &ThemeState) {
        if self.overlays.iter().any(|overlay| overlay.is_list(ListKind::Themes)) {
            let (items, selected) = theme_items(theme);
            self.fill_list(ListKind::Themes, items, selected);
        }
    }

    /// Shows the results of a session search.
    pub(crate) fn show_sessions(
        &mut self,
        query: SessionQueryId,
        scope: SessionScope,
        what: &SessionsResult,
    ) {
        self.pickers().for_each(|picker| picker.browsed(query, scope, what));
    }

    /// Searches again after a session was renamed, trashed or restored.
    pub(crate) fn sessions_changed(
        &mut self,
        status: StatusText,
        trashed: Option<PathBuf>,
        cx: &mut Context<'_>,
    ) {
        let status = match &trashed {
            Some(_) => {
                let undo = cx.key_of(KeyCommand::Untrash);
                StatusText { text: format!("{}; restore with {undo}", status.text), ..status }
            }
            None => status,
        };
        self.sessions.trashed.extend(trashed);
        let query = self.sessions.begin();
        let request = self.pickers().find_map(|picker| picker.search_again(query));
        self.show_status(status, cx);
        if let Some(request) = request {
            cx.push(Action::EndSessionSearch);
            cx.push(Action::SearchSessions(request));
        }
    }

    /// Asks for a session's name again after renaming it failed.
    pub(crate) fn rename_failed(
        &mut self,
        path: &Path,
        name: &str,
        reason: StatusText,
        cx: &mut Context<'_>,
    ) {
        self.top_picker().into_iter().for_each(|picker| picker.ask_for_name_again(path, name));
        self.show_status(reason, cx);
    }

    /// Puts a session that could not be restored at the front, so that it doesn't block the others.
    pub(crate) fn restore_failed(&mut self, path: PathBuf) {
        self.sessions.trashed.insert(0, path);
    }

    /// Shows an error about input in the list where it was chosen; returns false if that isn't on top.
    pub(crate) fn show_input_error(&mut self, list: Option<ListKind>, error: &str) -> bool {
        let is_chosen = |list| self.overlays.last().is_some_and(|overlay| overlay.is_list(list));
        let is_shown = list.is_some_and(is_chosen);
        self.top_picker().into_iter().for_each(|picker| picker.set_status(Some(StatusText::error(error))));
        is_shown
    }

    /// Closes the lists of providers after a key has changed; returns true if models are being chosen beneath.
    pub(crate) fn key_changed(&mut self) -> bool {
        let is_done =
            |overlay: &Overlay| overlay.is_list(ListKind::Logins) || overlay.is_list(ListKind::Logouts);
        self.overlays.retain(|overlay| !is_done(overlay));
        self.overlays.iter().any(|overlay| overlay.is_list(ListKind::Models))
    }

    /// Closes lists and the tree, which would cover an error; the dialog about a failed summary blocks the agent, so it
    /// stays.
    pub(crate) fn uncover_error(&mut self, cx: &mut Context<'_>) {
        if matches!(self.overlays.last(), Some(Overlay::Picker(_) | Overlay::Tree(_))) {
            self.cancel_switch(cx);
            self.overlays.retain(Overlay::is_failure_dialog);
        }
    }

    /// Marks the tree as stale after the session's entries have changed.
    pub(crate) fn outdate_tree(&mut self) {
        if let Some(tree) = self.tree() {
            tree.mark_stale();
        }
    }

    pub(crate) fn apply_tree_result(&mut self, session: &SessionId, result: TreeResult) {
        if let Some(tree) = self.tree() {
            tree.take(session, result);
        }
    }
}
