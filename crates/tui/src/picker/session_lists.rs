//! State of session lists that outlives them: the newest search, and the trashed sessions.

use std::path::PathBuf;

use tiller_session::SessionScope;

use super::{Picker, PickerChoice, StatusText};
use crate::action::{Action, ListAction};
use crate::app::App;
use crate::keymap::KeyCommand;
use crate::message::SessionsResult;
use crate::overlay::{Overlay, pickers};
use crate::shown_since::ShownSince;

/// The number of a session search. Results of an older search are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionQueryId(pub(crate) u64);

/// State of session lists that outlives them.
#[derive(Debug, Default)]
pub(crate) struct SessionListState {
    newest: SessionQueryId,
    /// True if a session list was open at the last input.
    is_open: bool,
    /// Sessions trashed in this run, the last one last.
    trashed: Vec<PathBuf>,
}

impl SessionListState {
    /// Starts another search and returns its number.
    pub(super) fn begin(&mut self) -> SessionQueryId {
        self.newest.0 += 1;
        self.newest
    }
}

impl App {
    /// Opens a session list with a filter.
    pub(crate) fn browse(&mut self, words: &str) -> Vec<Action> {
        let picker = Picker::browser(words, self.navigation.session_lists.begin());
        let request = picker.search_request().map(Action::SearchSessions);
        self.overlays.push(Overlay::Picker(Box::new(picker)));
        request.into_iter().collect()
    }

    /// Opens a session list without a key, and drops the results of an earlier one.
    pub(crate) fn browse_deferred(&mut self, appeared: ShownSince) -> Vec<Action> {
        let mut actions = vec![Action::EndSessionSearch];
        actions.extend(self.browse(""));
        if let Some(Overlay::Picker(picker)) = self.overlays.pop() {
            self.overlays.push(Overlay::Picker(Box::new(picker.with_appeared(appeared))));
        }
        actions
    }

    /// Passes search results to the session list.
    pub(crate) fn show_browse_result(
        &mut self,
        look: SessionQueryId,
        scope: SessionScope,
        what: &SessionsResult,
    ) {
        pickers(&mut self.overlays).for_each(|picker| picker.browsed(look, scope, what));
    }

    /// Searches again after a session was renamed, trashed or restored.
    pub(crate) fn sessions_changed(&mut self, status: StatusText, trashed: Option<PathBuf>) -> Vec<Action> {
        let undo = self.ui.keymap.key_of(KeyCommand::Untrash);
        let status = match &trashed {
            Some(_) => StatusText { text: format!("{}; restore with {undo}", status.text), ..status },
            None => status,
        };
        self.navigation.session_lists.trashed.extend(trashed);
        let request = pickers(&mut self.overlays).find_map(|picker| {
            picker.browser.as_mut()?.look = self.navigation.session_lists.begin();
            picker.search_request()
        });
        self.show_list_status(status);
        request
            .map(|request| vec![Action::EndSessionSearch, Action::SearchSessions(request)])
            .unwrap_or_default()
    }

    /// Restores the session trashed last.
    pub(super) fn restore_last(&mut self) -> Vec<Action> {
        let Some(path) = self.navigation.session_lists.trashed.pop() else { return Vec::new() };
        if let Some(browser) = pickers(&mut self.overlays).find_map(|picker| picker.browser.as_mut()) {
            browser.awaited = Some(PickerChoice::Open(path.clone()));
        }
        vec![Action::List(ListAction::RestoreSession(path))]
    }

    /// Puts a session that could not be restored at the front, so that it doesn't block the others.
    pub(crate) fn restore_failed(&mut self, path: PathBuf) {
        self.navigation.session_lists.trashed.insert(0, path);
    }

    /// Tells session lists whether a session can be restored; ends the search when no list is open.
    pub(crate) fn update_session_lists(&mut self) -> Option<Action> {
        let can_undo = !self.navigation.session_lists.trashed.is_empty();
        let browsers = pickers(&mut self.overlays).filter_map(|picker| picker.browser.as_mut());
        let is_open = browsers.map(|browser| browser.can_undo = can_undo).count() > 0;
        let was_open = std::mem::replace(&mut self.navigation.session_lists.is_open, is_open);
        (was_open && !is_open).then_some(Action::EndSessionSearch)
    }
}
