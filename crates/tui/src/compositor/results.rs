//! Results of jobs for lists and the tree.

use std::path::PathBuf;

use tiller_engine::KeyChangeOutcome;

use crate::action::{Action, ListAction, UserText};
use crate::component::Context;
use crate::compositor::Compositor;
use crate::effect::Effect;
use crate::keymap::table::KeyCommand;
use crate::list_kind::ListKind;
use crate::login::LoginResult;
use crate::message::{ListResult, TaskOrigin};
use crate::overlay::Overlay;
use crate::picker::item::PickerItem;
use crate::picker::line_prompt::StatusText;
use crate::picker::settings::setting_items;
use crate::picker::themes::theme_items;
use crate::theme::ThemeState;
use crate::tree::keys::hide_dialog;

impl Compositor {
    /// Applies a result for a list or the tree.
    pub(crate) fn apply_result(&mut self, result: ListResult, cx: &mut Context<'_>) {
        match result {
            ListResult::Items { list, items, selected } => self.fill_list(list, items, selected),
            ListResult::Narrowed(done) => self.pickers().for_each(|picker| picker.apply_narrowed(&done)),
            ListResult::Preview { of, lines } => {
                self.pickers().for_each(|picker| picker.show_preview(&of, lines.clone()));
            }
            ListResult::Settings(settings) => self.fill_list(ListKind::Settings, setting_items(&settings), 0),
            ListResult::Status(status) => {
                // A pending session switch has failed; the text typed ahead stays in the list.
                _ = self.overlays.iter_mut().filter_map(Overlay::cancel_navigation).next();
                self.show_status(status, cx);
            }
            ListResult::SessionsChanged { word, trashed } => self.sessions_changed(word, trashed, cx),
            ListResult::RenameFailed { path, name, reason } => {
                self.top_picker().into_iter().for_each(|picker| picker.ask_for_name_again(&path, &name));
                self.show_status(reason, cx);
            }
            ListResult::RestoreFailed { path, reason } => {
                self.restore_failed(path);
                self.show_status(reason, cx);
            }
            ListResult::Sessions { look, scope, what } => {
                self.pickers().for_each(|picker| picker.browsed(look, scope, &what));
            }
            ListResult::RulesSaved(call) => {
                self.overlays.retain(|overlay| overlay.edited_call() != Some(&call));
            }
            ListResult::AskToHide { entry, count } => {
                self.open_dialog(hide_dialog(entry, count, &cx.ui.keymap), cx);
            }
            ListResult::Tree { session, news } => {
                if let Some(tree) = self.tree() {
                    tree.take(&session, news);
                }
            }
            ListResult::ForkCreated(session) => {
                self.overlays.clear();
                let short = session.short();
                let hint =
                    format!("open it with tiller --session {short}; the chosen prompt is in its editor");
                cx.note(format!("forked into session {short}"), Some(hint));
            }
        }
    }

    fn fill_list(&mut self, list: ListKind, items: Vec<PickerItem>, selected: usize) {
        if let Some(picker) = self.pickers().rfind(|picker| picker.kind() == Some(list)) {
            picker.fill(items, selected);
        }
    }

    /// Shows a status in the list on top, or as a flash if there is none.
    pub(crate) fn show_status(&mut self, status: StatusText, cx: &mut Context<'_>) {
        if !self.show_in_list(&status) {
            cx.flash(status.text);
        }
    }

    /// Shows a status in the list on top; false if there is none.
    pub(crate) fn show_in_list(&mut self, status: &StatusText) -> bool {
        self.top_picker().map(|picker| picker.set_status(Some(status.clone()))).is_some()
    }

    /// Refreshes the list of themes.
    pub(crate) fn themes_changed(&mut self, theme: &ThemeState) {
        if self.overlays.iter().any(|overlay| overlay.is_list(ListKind::Themes)) {
            let (items, selected) = theme_items(theme);
            self.fill_list(ListKind::Themes, items, selected);
        }
    }

    /// Searches again after a session was renamed, trashed or restored.
    fn sessions_changed(&mut self, status: StatusText, trashed: Option<PathBuf>, cx: &mut Context<'_>) {
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

    /// Puts a session that could not be restored at the front, so that it doesn't block the others.
    pub(crate) fn restore_failed(&mut self, path: PathBuf) {
        self.sessions.trashed.insert(0, path);
    }

    /// Rejects input that failed during execution. A choice stays selected in its list, which shows the error; typed
    /// text becomes a draft again, even under a list opened since.
    pub(crate) fn reject_executed(
        &mut self,
        typed: UserText,
        reason: String,
        origin: TaskOrigin,
        cx: &mut Context<'_>,
    ) {
        let is_chosen = match origin {
            TaskOrigin::List(list) => self.overlays.last().is_some_and(|overlay| overlay.is_list(list)),
            TaskOrigin::Editor => false,
        };
        self.show_in_list(&StatusText::error(reason.as_str()));
        if !is_chosen {
            cx.push(Effect::RejectInput { typed, reason });
        }
    }

    /// Reports a stored or removed API key, and closes the lists of providers. If a model is being chosen beneath,
    /// choosing continues.
    pub(crate) fn key_changed(&mut self, result: LoginResult, cx: &mut Context<'_>) {
        let LoginResult { message, hint, outcome } = result;
        let key = cx.key_of(KeyCommand::PickModel);
        let hint = match outcome {
            KeyChangeOutcome::ActiveProvider | KeyChangeOutcome::Unchanged => hint,
            KeyChangeOutcome::OtherProvider => hint.or_else(|| Some(format!("{key} chooses a model"))),
            KeyChangeOutcome::SwitchedToProvider(model) => {
                let chosen = format!("{model} takes over with the next request; {key} chooses another");
                Some(hint.map_or(chosen.clone(), |hint| format!("{chosen}; {hint}")))
            }
            KeyChangeOutcome::NoModel => {
                Some(format!("the next prompt needs another model: {key} chooses one"))
            }
            KeyChangeOutcome::SwitchedToFallback(model) => {
                Some(format!("{model} is the only model left; /login adds a key"))
            }
        };
        cx.note(message, hint);
        let is_done =
            |overlay: &Overlay| overlay.is_list(ListKind::Logins) || overlay.is_list(ListKind::Logouts);
        self.overlays.retain(|overlay| !is_done(overlay));
        if self.overlays.iter().any(|overlay| overlay.is_list(ListKind::Models)) {
            cx.push(Action::List(ListAction::LoadItems(ListKind::Models)));
        }
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
}
