//! Results of jobs. They go to the overlay that requested them; some affect the stack.

use std::path::PathBuf;

use tiller_engine::KeyChangeOutcome;

use crate::action::{Action, ListAction, UserText};
use crate::address::{Address, OverlayId};
use crate::component::{Component, Context};
use crate::compositor::Compositor;
use crate::effect::Effect;
use crate::keymap::table::KeyCommand;
use crate::list_kind::ListKind;
use crate::login::LoginResult;
use crate::message::{ListResult, TaskResult};
use crate::overlay::Overlay;
use crate::picker::Picker;
use crate::picker::line_prompt::StatusText;
use crate::picker::themes::theme_items;
use crate::theme::ThemeState;
use crate::tree::keys::hide_dialog;

impl Compositor {
    /// Offers a result to the overlay that requested it; returns a result that no overlay accepts. A dialog
    /// shares the id of the overlay beneath, which comes first.
    pub(crate) fn take(
        &mut self,
        to: OverlayId,
        result: TaskResult,
        cx: &mut Context<'_>,
    ) -> Option<TaskResult> {
        let mut asked = self.overlays.iter_mut().filter(|overlay| overlay.id() == Some(to));
        asked.try_fold(result, |result, overlay| overlay.take(result, cx))
    }

    /// Offers a rejected action to the overlay that requested it; returns an action that no overlay accepts.
    pub(crate) fn rejected(
        &mut self,
        from: OverlayId,
        action: Action,
        cx: &mut Context<'_>,
    ) -> Option<Action> {
        let mut asked = self.overlays.iter_mut().filter(|overlay| overlay.id() == Some(from));
        asked.try_fold(action, |action, overlay| overlay.rejected(action, cx))
    }

    /// Applies a result that affects the stack, or whose list is closed.
    pub(crate) fn apply_result(&mut self, to: Address, result: ListResult, cx: &mut Context<'_>) {
        match result {
            // The list is closed.
            ListResult::Items { .. }
            | ListResult::Narrowed(_)
            | ListResult::Preview { .. }
            | ListResult::Settings(_)
            | ListResult::Sessions { .. }
            | ListResult::Tree { .. } => {}
            ListResult::Status(status) | ListResult::RenameFailed { reason: status, .. } => {
                self.show_status(to, status, cx);
            }
            ListResult::SessionsChanged { word, trashed } => self.sessions_changed(to, word, trashed, cx),
            ListResult::RestoreFailed { path, reason } => {
                self.restore_failed(path);
                self.show_status(to, reason, cx);
            }
            ListResult::RulesSaved(call) => {
                self.overlays.retain(|overlay| overlay.edited_call() != Some(&call));
            }
            ListResult::AskToHide { entry, count } => {
                self.open_dialog(hide_dialog(entry, count, &cx.ui.keymap), cx);
            }
            ListResult::ForkCreated(session) => {
                self.overlays.clear();
                let short = session.short();
                let hint = format!(
                    "open it with `tiller --session {short}`; the chosen prompt is held in its queue"
                );
                cx.note(format!("forked into session {short}"), Some(hint));
            }
        }
    }

    /// Shows a status in the list that requested it, or as a flash if that list is closed. A status that no
    /// list requested is shown in the list on top, which would cover a flash.
    pub(crate) fn show_status(&mut self, to: Address, status: StatusText, cx: &mut Context<'_>) {
        let list = match to {
            Address::Overlay(id) => self.pickers().find(|picker| picker.id == id),
            Address::Screen | Address::Transcript | Address::Composer | Address::Queue => self.top_picker(),
        };
        match list {
            Some(list) => list.set_status(Some(status)),
            None => cx.flash(status.text),
        }
    }

    /// Shows a status in the list on top, if there is one.
    pub(crate) fn show_in_list(&mut self, status: &StatusText) {
        self.top_picker().into_iter().for_each(|picker| picker.set_status(Some(status.clone())));
    }

    /// Refreshes the list of themes.
    pub(crate) fn themes_changed(&mut self, theme: &ThemeState) {
        if let Some(list) = self.pickers().rfind(|picker| picker.kind() == Some(ListKind::Themes)) {
            let (items, selected) = theme_items(theme);
            list.fill(items, selected);
        }
    }

    /// Searches again after a session was renamed, trashed or restored.
    fn sessions_changed(
        &mut self,
        to: Address,
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
        let search_again = |picker: &mut Picker| {
            picker.search_again(query).map(|request| (Address::Overlay(picker.id), request))
        };
        let search = self.pickers().find_map(search_again);
        self.show_status(to, status, cx);
        if let Some((list, request)) = search {
            cx.push(Action::EndSessionSearch);
            cx.push_for(list, Action::SearchSessions(request));
        }
    }

    /// Puts a session that could not be restored first, so that it doesn't block the others.
    pub(crate) fn restore_failed(&mut self, path: PathBuf) {
        self.sessions.trashed.insert(0, path);
    }

    /// Rejects input that failed during execution and wasn't chosen in an open list. Typed text becomes a
    /// draft again, even under a list opened since, which shows the reason.
    pub(crate) fn reject_executed(&mut self, typed: UserText, reason: String, cx: &mut Context<'_>) {
        self.show_in_list(&StatusText::error(reason.as_str()));
        cx.push(Effect::RejectInput { typed, reason });
    }

    /// Reports a stored or removed API key, and closes the lists of providers. If a model list is open
    /// beneath, it stays open.
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
        if let Some(models) = self.overlays.iter().find(|overlay| overlay.is_list(ListKind::Models)) {
            cx.push_for(models.address(), Action::List(ListAction::LoadItems(ListKind::Models)));
        }
    }

    /// Closes lists and the tree, which would cover an error. The dialog about a failed summary blocks the
    /// agent, so it stays open.
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
