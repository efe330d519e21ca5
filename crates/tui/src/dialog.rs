//! Questions and pages that come by themselves, and keys that were on their way to something else when they came.
//!
//! Nobody's key has just opened such a question, so the next one may have been pressed before it could be read. For a moment no key
//! answers: what came over the transcript steps back for it, and is asked again as soon as nobody is typing; what came over a list
//! stays, and isn't taken by Enter yet. A page that had to be read first steps back only for what types, for its other keys do no
//! harm; while somebody is typing already, or something else is open, neither comes at all. Calls that ask stand above the editor and
//! have rules of their own (`approval`), with the same moment.
//!
//! The other way round, the key that answered is spent: pressed again at once it doesn't reach what comes to light beneath.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::id::CallId;
use tiller_core::unit::UnixMs;

use super::app::{Action, App};
use super::approval::PendingApproval;
use super::keymap::{Chord, Context, KeyCommand};
use super::overlay::Overlay;
use super::pager::Pager;
use super::picker::{Picker, PickerChoice, PickerItem};

/// How long a question is on the screen before keys answer it, in milliseconds: longer than a key already on its way.
const NOTICED_MS: u64 = 400;

/// When something that asks came on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShownSince(UnixMs);

impl ShownSince {
    pub(super) fn at(now: UnixMs) -> Self {
        Self(now)
    }

    /// Whether whoever presses a key by now can mean it.
    pub(super) fn is_noticed(self, now: UnixMs) -> bool {
        now.since_ms(self.0) >= NOTICED_MS
    }
}

/// A key that answered something, and since when what it could reach next is on the screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConsumedKey {
    key: (KeyCode, KeyModifiers),
    since: ShownSince,
}

/// Who asks something that a key can answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FocusOwner {
    /// A question that came by itself, so many popups high: whichever key ends it is its last.
    Question(usize),
    /// A list that lies over something else, so many popups high: from one to the next one goes back by the same key, so that only the
    /// one that chooses is its last.
    List(usize),
    Call(CallId),
}

/// A question that comes by itself, with its answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dialog {
    pub(super) title: String,
    pub(super) items: Vec<PickerItem>,
}

/// Something that comes over the transcript when nobody is typing.
#[derive(Clone, Debug)]
pub(super) enum Deferred {
    Ask(Dialog),
    Read(Box<Pager>),
    /// The sessions, to pick one of them to begin with.
    Sessions,
}

/// What somebody does who may not have seen yet what has just come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyIntent {
    /// Types, or sends what was typed.
    Types,
    /// Stops, leaves or moves something.
    Moves,
}

impl KeyIntent {
    pub(super) fn of(key: KeyEvent) -> Self {
        if key.code == KeyCode::Enter || Chord::of(key).is_text() { Self::Types } else { Self::Moves }
    }
}

impl Deferred {
    /// Whether it is what to do after a summary could not be made.
    fn is_of_failure(&self) -> bool {
        matches!(self, Self::Ask(question) if question.is_of_failure())
    }
}

impl Dialog {
    /// Whether it is what to do after a summary could not be made.
    fn is_of_failure(&self) -> bool {
        self.items.iter().any(|item| matches!(item.choice, PickerChoice::AfterFailure(_)))
    }
}

impl App {
    /// Asks at once what follows from something that the user did in a list, and anything else as soon as nobody is typing.
    pub(super) fn ask(&mut self, question: Dialog) {
        if question.is_of_failure() || self.popups.is_empty() {
            self.work.unasked.push(Deferred::Ask(question));
        } else {
            self.show_question(question);
        }
    }

    /// Opens a page that had to be read first, as soon as nobody is typing.
    pub(super) fn open_late(&mut self, page: Pager) {
        if self.is_typing() || !self.popups.is_empty() {
            self.say_later(&page.title);
        }
        self.work.unasked.push(Deferred::Read(Box::new(page)));
    }

    /// Shows what waited until nobody was typing.
    pub(super) fn ask_waiting(&mut self) -> Vec<Action> {
        if self.is_typing() || !self.popups.is_empty() || self.work.unasked.is_empty() {
            return Vec::new();
        }
        let appeared = ShownSince::at(self.now);
        match self.work.unasked.remove(0) {
            Deferred::Ask(question) => self.show_question(question),
            Deferred::Read(page) => self.popups.push(Overlay::Read(page.appearing(appeared))),
            Deferred::Sessions => return self.browse_late(appeared),
        }
        Vec::new()
    }

    /// Offers the sessions to begin with one of them. Whoever has typed since the start saw the editor, so that is where it goes.
    pub(super) fn offer_sessions(&mut self, now: UnixMs) -> Vec<Action> {
        self.now = now;
        self.work.unasked.push(Deferred::Sessions);
        if self.is_typing() {
            self.say_sessions_later();
        }
        self.ask_waiting()
    }

    fn say_sessions_later(&mut self) {
        self.flash("your sessions are listed as soon as nothing is typed here");
    }

    /// Whether somebody is in the midst of something that keys go to: a message, a search, the messages that wait, the word on a call.
    pub(super) fn is_typing(&self) -> bool {
        let gives_reason = self.work.approvals.first().is_some_and(PendingApproval::is_reasoning);
        let is_asked = gives_reason || self.queue.is_editing() || self.notes.leaving.is_some();
        !self.editor.is_empty() || is_asked || self.moving.search.is_some() || self.queue.has_keys()
    }

    /// What to do about a summary that could not be made is no longer asked.
    pub(super) fn forget_failure(&mut self) {
        self.popups.retain(|popup| !popup.is_of_failure());
        self.work.unasked.retain(|late| !late.is_of_failure());
    }

    /// Something is done: what lies over the transcript and nobody can have read yet steps back for it.
    pub(super) fn put_off(&mut self, touch: KeyIntent) {
        let late = match self.popups.as_slice() {
            [Overlay::Pick(picker)] if !picker.is_noticed(self.now) => match picker.browsing() {
                Some(_) => Deferred::Sessions,
                None => Deferred::Ask(picker.question()),
            },
            [Overlay::Read(page)] if touch == KeyIntent::Types && !page.is_noticed(self.now) => {
                Deferred::Read(Box::new(page.clone()))
            }
            _ => return,
        };
        match &late {
            Deferred::Read(page) => self.say_later(&page.title),
            Deferred::Sessions if touch == KeyIntent::Types => self.say_sessions_later(),
            Deferred::Sessions | Deferred::Ask(_) => {}
        }
        self.work.unasked.insert(0, late);
        self.popups.clear();
    }

    /// Says of a page that it is there, and why it isn't shown.
    fn say_later(&mut self, title: &str) {
        self.flash(format!("{title} is read; it opens when nothing else is open and nothing typed"));
    }

    /// Who would be answered by a key now.
    pub(super) fn asker(&self) -> Option<FocusOwner> {
        let height = self.popups.len();
        match self.popups.last() {
            Some(Overlay::Pick(picker)) if picker.came_by_itself() => Some(FocusOwner::Question(height)),
            Some(Overlay::Pick(_)) if height > 1 => Some(FocusOwner::List(height)),
            Some(_) if self.asked_on_page().is_none() => None,
            Some(_) | None => {
                self.work.approvals.first().map(|asked| FocusOwner::Call(asked.request.tool_call_id.clone()))
            }
        }
    }

    /// Notes that a key was the last of somebody who asked before it was pressed, if it was.
    pub(super) fn note_spent(&mut self, key: KeyEvent, asker: Option<FocusOwner>) {
        let accepts = self.place.keymap.command(Context::Popup, key) == Some(KeyCommand::Accept);
        let is_over = match asker {
            None => false,
            Some(FocusOwner::Question(height)) => self.popups.len() < height,
            Some(FocusOwner::List(height)) => accepts && self.popups.len() < height,
            Some(FocusOwner::Call(call)) => {
                self.work.approvals.first().is_none_or(|asked| asked.request.tool_call_id != call)
            }
        };
        if is_over {
            self.notes.spent =
                Some(ConsumedKey { key: (key.code, key.modifiers), since: ShownSince::at(self.now) });
        }
    }

    /// Whether a key is the one that has just answered something; then it means nothing as long as it goes on being pressed.
    pub(super) fn is_spent(&mut self, key: KeyEvent) -> bool {
        let again =
            |spent: &ConsumedKey| spent.key == (key.code, key.modifiers) && !spent.since.is_noticed(self.now);
        self.notes.spent = self.notes.spent.take().filter(again);
        if let Some(spent) = &mut self.notes.spent {
            spent.since = ShownSince::at(self.now);
        }
        self.notes.spent.is_some()
    }

    fn show_question(&mut self, Dialog { title, items }: Dialog) {
        self.stay();
        let picker = Picker::of(&title, items).appearing(ShownSince::at(self.now));
        self.popups.push(Overlay::Pick(Box::new(picker)));
    }
}
