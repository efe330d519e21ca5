//! What outlives a list of sessions: which look through them is the newest, and what went to the trash from one.

use std::path::PathBuf;

use tiller_session::SessionScope;

use super::{Picker, PickerChoice, StatusText};
use crate::app::{Action, App, ListAction, SessionsResult};
use crate::dialog::ShownSince;
use crate::keymap::KeyCommand;
use crate::overlay::{Overlay, pickers};

/// A look through the sessions, by its number. Whoever looks for an older one may still be telling what it finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThemeItem(pub(crate) u64);

/// What outlives a list of sessions.
#[derive(Debug, Default)]
pub(crate) struct ThemeList {
    newest: ThemeItem,
    /// Whether sessions were looked through when the last input came.
    is_open: bool,
    /// Sessions that went to the trash in this run, the last one last.
    trashed: Vec<PathBuf>,
}

impl ThemeList {
    /// The number of another look.
    pub(super) fn begin(&mut self) -> ThemeItem {
        self.newest.0 += 1;
        self.newest
    }
}

impl App {
    /// Looks through the sessions, beginning with these words.
    pub(crate) fn browse(&mut self, words: &str) -> Vec<Action> {
        let picker = Picker::browser(words, self.moving.looks.begin());
        let ask = picker.ask().map(Action::Browse);
        self.popups.push(Overlay::Pick(Box::new(picker)));
        ask.into_iter().collect()
    }

    /// The same when no key asks for it; perhaps not for the first time, and what an earlier look told is gone with its list.
    pub(crate) fn browse_late(&mut self, appeared: ShownSince) -> Vec<Action> {
        let mut actions = vec![Action::EndBrowse];
        actions.extend(self.browse(""));
        if let Some(Overlay::Pick(picker)) = self.popups.pop() {
            self.popups.push(Overlay::Pick(Box::new(picker.appearing(appeared))));
        }
        actions
    }

    /// Takes what a look through the sessions found.
    pub(crate) fn browsed(&mut self, look: ThemeItem, scope: SessionScope, what: &SessionsResult) {
        pickers(&mut self.popups).for_each(|picker| picker.browsed(look, scope, what));
    }

    /// Looks through the sessions anew, after one was named, went to the trash or came back.
    pub(crate) fn sessions_changed(&mut self, word: StatusText, trashed: Option<PathBuf>) -> Vec<Action> {
        let undo = self.place.keymap.key_of(KeyCommand::Untrash);
        let word = match &trashed {
            Some(_) => StatusText { text: format!("{}; {undo} brings it back", word.text), ..word },
            None => word,
        };
        self.moving.looks.trashed.extend(trashed);
        let ask = pickers(&mut self.popups).find_map(|picker| {
            picker.browser.as_mut()?.look = self.moving.looks.begin();
            picker.ask()
        });
        self.say_in_list(word);
        ask.map(|ask| vec![Action::EndBrowse, Action::Browse(ask)]).unwrap_or_default()
    }

    /// Brings back what went to the trash last.
    pub(super) fn restore_last(&mut self) -> Vec<Action> {
        let Some(path) = self.moving.looks.trashed.pop() else { return Vec::new() };
        if let Some(browser) = pickers(&mut self.popups).find_map(|picker| picker.browser.as_mut()) {
            browser.awaited = Some(PickerChoice::Open(path.clone()));
        }
        vec![Action::InList(ListAction::RestoreSession(path))]
    }

    /// A session could not be brought back. It is the last to be tried again: it must not keep the others from coming back.
    pub(crate) fn not_restored(&mut self, path: PathBuf) {
        self.moving.looks.trashed.insert(0, path);
    }

    /// Lets a list of sessions know what there is to bring back; ends the look when there is none.
    pub(crate) fn mind_looks(&mut self) -> Option<Action> {
        let can_undo = !self.moving.looks.trashed.is_empty();
        let browsers = pickers(&mut self.popups).filter_map(|picker| picker.browser.as_mut());
        let is_open = browsers.map(|browser| browser.can_undo = can_undo).count() > 0;
        let was_open = std::mem::replace(&mut self.moving.looks.is_open, is_open);
        (was_open && !is_open).then_some(Action::EndBrowse)
    }
}
