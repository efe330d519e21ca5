//! Dialogs and pages that open by themselves, and keys that were typed before they appeared.
//!
//! No key opened such a dialog, so the next key may have been pressed before it could be read. For a moment
//! no key answers it. Over the transcript, the dialog closes at a key and opens again once the user isn't
//! typing; over a list it stays, but Enter is ignored. A page that had to be loaded first closes only for
//! text, since other keys do no harm. While the user is typing or another overlay is open, neither opens.
//! Approvals are shown above the editor and have their own rules (`approval`), with the same delay.
//!
//! In turn, the key that answered is consumed: its repeats don't reach what appears beneath.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::id::CallId;
use tiller_core::unit::UnixMs;

use super::composer::ComposePurpose;
use super::keymap::{Chord, Context, KeyCommand};
use super::overlay::Overlay;
use super::pager::Pager;
use super::picker::{Picker, PickerChoice, PickerItem};
use super::shown_since::ShownSince;
use crate::action::Action;
use crate::app::App;

/// A key that answered something, and the time since when the next receiver of the key has been visible.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConsumedKey {
    key: (KeyCode, KeyModifiers),
    since: ShownSince,
}

/// The owner of the next key that answers something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FocusOwner {
    /// A dialog that opened by itself, with the number of open overlays. Any key that closes it is consumed.
    Dialog(usize),
    /// A list over another overlay, with the number of open overlays. The same key steps back through several
    /// lists, so only the key that accepts is consumed.
    List(usize),
    Call(CallId),
}

/// A question with its answers that opens by itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dialog {
    pub(super) title: String,
    pub(super) items: Vec<PickerItem>,
}

/// An overlay that opens over the transcript once the user isn't typing.
#[derive(Clone, Debug)]
pub(super) enum DeferredOverlay {
    Dialog(Dialog),
    Page(Box<Pager>),
    /// The session picker at the start.
    Sessions,
}

/// The kind of a key that the user may have pressed before seeing a new overlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyIntent {
    /// Types or sends text.
    Text,
    /// Stops, leaves or moves.
    Other,
}

impl KeyIntent {
    pub(super) fn from_key(key: KeyEvent) -> Self {
        if key.code == KeyCode::Enter || Chord::from_event(key).is_text() { Self::Text } else { Self::Other }
    }
}

impl DeferredOverlay {
    /// Checks for the dialog about a failed summary.
    fn is_of_failure(&self) -> bool {
        matches!(self, Self::Dialog(question) if question.is_of_failure())
    }
}

impl Dialog {
    /// Checks for the dialog about a failed summary.
    fn is_of_failure(&self) -> bool {
        self.items.iter().any(|item| matches!(item.choice, PickerChoice::AfterFailure(_)))
    }
}

impl App {
    /// Opens a dialog at once if it follows from an action in a list, otherwise once the user isn't typing.
    pub(super) fn open_dialog(&mut self, question: Dialog) {
        if question.is_of_failure() || self.overlays.is_empty() {
            self.model.activity.deferred.push(DeferredOverlay::Dialog(question));
        } else {
            self.show_dialog(question);
        }
    }

    /// Opens a page that had to be loaded first, once the user isn't typing.
    pub(super) fn defer_page(&mut self, page: Pager) {
        if self.is_typing() || !self.overlays.is_empty() {
            self.flash_page_deferred(&page.title);
        }
        self.model.activity.deferred.push(DeferredOverlay::Page(Box::new(page)));
    }

    /// Opens the next deferred overlay unless the user is typing.
    pub(super) fn open_deferred(&mut self) -> Vec<Action> {
        if self.is_typing() || !self.overlays.is_empty() || self.model.activity.deferred.is_empty() {
            return Vec::new();
        }
        let appeared = ShownSince::at(self.now);
        match self.model.activity.deferred.remove(0) {
            DeferredOverlay::Dialog(question) => self.show_dialog(question),
            DeferredOverlay::Page(page) => self.overlays.push(Overlay::Pager(page.with_appeared(appeared))),
            DeferredOverlay::Sessions => return self.browse_deferred(appeared),
        }
        Vec::new()
    }

    /// Opens the session picker at the start. If the user has typed already, the editor keeps the keys.
    pub(super) fn offer_sessions(&mut self, now: UnixMs) -> Vec<Action> {
        self.now = now;
        self.model.activity.deferred.push(DeferredOverlay::Sessions);
        if self.is_typing() {
            self.flash_sessions_deferred();
        }
        self.open_deferred()
    }

    fn flash_sessions_deferred(&mut self) {
        self.flash("Clear the prompt to see your sessions.");
    }

    /// Reports whether the user is entering text: a message, a search, an edit in the queue, or a reason.
    pub(super) fn is_typing(&self) -> bool {
        let is_asked = self.queue.is_editing() || self.composer.purpose != ComposePurpose::Message;
        !self.composer.editor.is_empty()
            || is_asked
            || self.navigation.search.is_some()
            || self.queue.has_keys()
    }

    /// Closes the dialog about a failed summary, open or deferred.
    pub(super) fn close_failure_dialog(&mut self) {
        self.overlays.retain(|popup| !popup.is_failure_dialog());
        self.model.activity.deferred.retain(|deferred| !deferred.is_of_failure());
    }

    /// Defers the overlay over the transcript if it is too recent to have been read.
    pub(super) fn defer_unread(&mut self, touch: KeyIntent) {
        let deferred = match self.overlays.as_slice() {
            [Overlay::Picker(picker)] if !picker.is_noticed(self.now) => match picker.session_browser() {
                Some(_) => DeferredOverlay::Sessions,
                None => DeferredOverlay::Dialog(picker.as_dialog()),
            },
            [Overlay::Pager(page)] if touch == KeyIntent::Text && !page.is_noticed(self.now) => {
                DeferredOverlay::Page(Box::new(page.clone()))
            }
            _ => return,
        };
        match &deferred {
            DeferredOverlay::Page(page) => self.flash_page_deferred(&page.title),
            DeferredOverlay::Sessions if touch == KeyIntent::Text => self.flash_sessions_deferred(),
            DeferredOverlay::Sessions | DeferredOverlay::Dialog(_) => {}
        }
        self.model.activity.deferred.insert(0, deferred);
        self.overlays.clear();
    }

    /// Shows a flash that a page is ready but deferred.
    fn flash_page_deferred(&mut self, title: &str) {
        self.flash(format!("{title}: ready. Clear the prompt and close other views to see it."));
    }

    /// The owner of the next key.
    pub(super) fn focus_owner(&self) -> Option<FocusOwner> {
        let height = self.overlays.len();
        match self.overlays.last() {
            Some(Overlay::Picker(picker)) if picker.is_deferred() => Some(FocusOwner::Dialog(height)),
            Some(Overlay::Picker(_)) if height > 1 => Some(FocusOwner::List(height)),
            Some(_) if !self.focus_state().is_on_call_page => None,
            Some(_) | None => self
                .model
                .activity
                .approvals
                .first()
                .map(|pending| FocusOwner::Call(pending.request.tool_call_id.clone())),
        }
    }

    /// Records a key as consumed if it ended the owner's question.
    pub(super) fn record_consumed(&mut self, key: KeyEvent, owner: Option<FocusOwner>) {
        let accepts = self.ui.keymap.command(Context::Popup, key) == Some(KeyCommand::Accept);
        let is_over = match owner {
            None => false,
            Some(FocusOwner::Dialog(height)) => self.overlays.len() < height,
            Some(FocusOwner::List(height)) => accepts && self.overlays.len() < height,
            Some(FocusOwner::Call(call)) => self
                .model
                .activity
                .approvals
                .first()
                .is_none_or(|pending| pending.request.tool_call_id != call),
        };
        if is_over {
            self.consumed_key =
                Some(ConsumedKey { key: (key.code, key.modifiers), since: ShownSince::at(self.now) });
        }
    }

    /// Reports whether a key repeats the one that has just answered something; such repeats are ignored.
    pub(super) fn is_consumed(&mut self, key: KeyEvent) -> bool {
        let is_repeat = |spent: &ConsumedKey| {
            spent.key == (key.code, key.modifiers) && !spent.since.is_long_enough(self.now)
        };
        self.consumed_key = self.consumed_key.take().filter(is_repeat);
        if let Some(spent) = &mut self.consumed_key {
            spent.since = ShownSince::at(self.now);
        }
        self.consumed_key.is_some()
    }

    fn show_dialog(&mut self, Dialog { title, items }: Dialog) {
        self.cancel_switch();
        let picker = Picker::with_items(&title, items).with_appeared(ShownSince::at(self.now));
        self.overlays.push(Overlay::Picker(Box::new(picker)));
    }
}
