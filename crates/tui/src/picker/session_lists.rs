//! State of session lists that outlives them: the newest search, and the trashed sessions.

use std::path::PathBuf;

use tiller_session::SessionScope;

use super::{Picker, PickerChoice, StatusText};
use crate::app::{Action, App, ListAction, SessionsResult};
use crate::dialog::ShownSince;
use crate::keymap::KeyCommand;
use crate::overlay::{Overlay, pickers};

/// The number of a session search. Results of an older search are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThemeItem(pub(crate) u64);

/// State of session lists that outlives them.
#[derive(Debug, Default)]
pub(crate) struct ThemeList {
    newest: ThemeItem,
    /// Whether a session list was open at the last input.
    is_open: bool,
    /// Sessions trashed in this run, the last one last.
    trashed: Vec<PathBuf>,
}

impl ThemeList {
    /// Starts another search and returns its number.
    pub(super) fn begin(&mut self) -> ThemeItem {
        self.newest.0 += 1;
        self.newest
    }
}

impl App {
    /// Opens a session list with a filter.
    pub(crate) fn browse(&mut self, words: &str) -> Vec<Action> {
        let picker = Picker::browser(words, self.moving.looks.begin());
        let request = picker.ask().map(Action::Browse);
        self.popups.push(Overlay::Pick(Box::new(picker)));
        request.into_iter().collect()
    }

    /// Opens a session list without a key, and drops the results of an earlier one.
    pub(crate) fn browse_late(&mut self, appeared: ShownSince) -> Vec<Action> {
        let mut actions = vec![Action::EndBrowse];
        actions.extend(self.browse(""));
        if let Some(Overlay::Pick(picker)) = self.popups.pop() {
            self.popups.push(Overlay::Pick(Box::new(picker.appearing(appeared))));
        }
        actions
    }

    /// Passes search results to the session list.
    pub(crate) fn browsed(&mut self, look: ThemeItem, scope: SessionScope, what: &SessionsResult) {
        pickers(&mut self.popups).for_each(|picker| picker.browsed(look, scope, what));
    }

    /// Searches again after a session was renamed, trashed or restored.
    pub(crate) fn sessions_changed(&mut self, status: StatusText, trashed: Option<PathBuf>) -> Vec<Action> {
        let undo = self.place.keymap.key_of(KeyCommand::Untrash);
        let status = match &trashed {
            Some(_) => StatusText { text: format!("{}; restore with {undo}", status.text), ..status },
            None => status,
        };
        self.moving.looks.trashed.extend(trashed);
        let request = pickers(&mut self.popups).find_map(|picker| {
            picker.browser.as_mut()?.look = self.moving.looks.begin();
            picker.ask()
        });
        self.say_in_list(status);
        request.map(|request| vec![Action::EndBrowse, Action::Browse(request)]).unwrap_or_default()
    }

    /// Restores the session trashed last.
    pub(super) fn restore_last(&mut self) -> Vec<Action> {
        let Some(path) = self.moving.looks.trashed.pop() else { return Vec::new() };
        if let Some(browser) = pickers(&mut self.popups).find_map(|picker| picker.browser.as_mut()) {
            browser.awaited = Some(PickerChoice::Open(path.clone()));
        }
        vec![Action::InList(ListAction::RestoreSession(path))]
    }

    /// Puts a session that could not be restored at the front, so that it doesn't block the others.
    pub(crate) fn not_restored(&mut self, path: PathBuf) {
        self.moving.looks.trashed.insert(0, path);
    }

    /// Tells session lists whether a session can be restored; ends the search when no list is open.
    pub(crate) fn mind_looks(&mut self) -> Option<Action> {
        let can_undo = !self.moving.looks.trashed.is_empty();
        let browsers = pickers(&mut self.popups).filter_map(|picker| picker.browser.as_mut());
        let is_open = browsers.map(|browser| browser.can_undo = can_undo).count() > 0;
        let was_open = std::mem::replace(&mut self.moving.looks.is_open, is_open);
        (was_open && !is_open).then_some(Action::EndBrowse)
    }
}
