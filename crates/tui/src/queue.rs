//! The messages that wait, while the keys are theirs: which is chosen, which is edited, what was taken out.
//!
//! The engine owns the queue; this only says what is to be done with it, and takes what it is told. A message may be delivered
//! or taken out elsewhere at any moment: then it says so, and nothing that was typed is lost. `keys` says what keys do, `perform`
//! asks the agent.

mod keys;
pub(super) mod perform;

use std::borrow::Borrow;

use crossterm::event::{KeyCode, KeyEvent};
use tiller_core::event::{QueueItem, QueueKind};
use tiller_core::id::QueueId;
use tiller_core::unit::UnixMs;

use super::app::{App, TaskResult, UserText};
use super::editor::EditorDraft;

/// Milliseconds for which typing keys are swallowed after the panel closed by itself: as long as it takes to see that it is
/// gone and to stop.
const CLOSED_MS: u64 = 1_000;

/// What is to be done with messages that wait.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum QueueAction {
    /// Isn't delivered while it is edited.
    Hold(QueueId),
    /// Says something else from now on.
    Edit(QueueId, String, AfterQueueEdit),
    /// So many stand before it from now on.
    Place(QueueId, usize),
    /// Is delivered at another time from now on.
    Turn(QueueId, QueueKind),
    /// Goes in after all.
    Release(QueueId),
    /// Waits no longer; it had so many before it.
    Remove(QueueId, usize),
    /// None waits any longer.
    Clear,
    /// These wait again.
    PutBack(Vec<RemovedMessages>),
}

/// What becomes of a message when its words were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterQueueEdit {
    /// It is held or not, as before.
    Stays,
    /// It was held for the editing alone.
    Goes,
}

/// A message that was taken out, and how many had stood before it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RemovedMessages {
    pub(super) item: QueueItem,
    pub(super) place: usize,
}

/// What came of an order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum QueueOutcome {
    /// These were taken out.
    Removed(Vec<RemovedMessages>),
    /// It was delivered or taken out before; this is what it was to say.
    Gone(Option<String>),
}

/// Whose the keys are.
#[derive(Debug, Default)]
enum QueueFocus {
    /// The editor's.
    #[default]
    Away,
    /// The panel's. Nothing is chosen when nothing waits.
    Choosing(Option<QueueSelection>),
    /// The editor's, for a message that waits; what was in it before stands aside.
    Editing { chosen: QueueSelection, shown: String, draft: Box<EditorDraft>, then: AfterQueueEdit },
}

/// A message and its row, which is where one goes on when it is gone.
#[derive(Clone, Debug, PartialEq)]
struct QueueSelection {
    id: QueueId,
    row: usize,
}

/// The panel of messages that wait.
#[derive(Debug, Default)]
pub(super) struct QueuePanel {
    focus: QueueFocus,
    /// What was taken out of this session's queue, a batch for each time.
    removed: Vec<Vec<RemovedMessages>>,
    /// The message that was edited or released last, or all that were taken out at once: that it waits no longer is what was wanted.
    let_go: Vec<QueueId>,
    /// Whether the keys are to come back when the last message is gone, for then it can be put back.
    expects_removal: bool,
}

impl QueuePanel {
    /// Whether keys go to the panel.
    pub(super) fn has_keys(&self) -> bool {
        matches!(self.focus, QueueFocus::Choosing(_))
    }

    /// Another session is here: what was taken out belongs to the one before.
    pub(super) fn forget_removed(&mut self) {
        self.removed.clear();
    }

    /// Whether the editor holds a message that waits.
    pub(super) fn is_editing(&self) -> bool {
        matches!(self.focus, QueueFocus::Editing { .. })
    }

    /// Whether this message is held for nothing but its being edited.
    pub(super) fn holds(&self, id: &QueueId) -> bool {
        matches!(&self.focus, QueueFocus::Editing { chosen, then: AfterQueueEdit::Goes, .. } if chosen.id == *id)
    }

    /// Whether something that was taken out can be put back.
    pub(super) fn can_put_back(&self) -> bool {
        !self.removed.is_empty()
    }

    /// The message that is chosen or edited.
    pub(super) fn chosen(&self) -> Option<&QueueId> {
        match &self.focus {
            QueueFocus::Choosing(Some(chosen)) | QueueFocus::Editing { chosen, .. } => Some(&chosen.id),
            QueueFocus::Choosing(None) | QueueFocus::Away => None,
        }
    }
}

/// The messages in the order of their delivery: what steers first.
pub(super) fn in_order(queue: &[QueueItem]) -> Vec<&QueueItem> {
    let of = |kind: QueueKind| queue.iter().filter(move |item| item.kind == kind);
    of(QueueKind::Steer).chain(of(QueueKind::FollowUp)).collect()
}

/// What a message says, as it was typed.
pub(super) fn typed(item: &QueueItem) -> String {
    item.as_typed()
}

impl App {
    /// Other messages wait than before, or in another order.
    pub(super) fn queue_changed(&mut self, items: &[impl Borrow<QueueItem>]) {
        self.work.queue = items.iter().map(|item| item.borrow().clone()).collect();
        let Some(id) = self.queue.chosen().cloned() else {
            if let QueueFocus::Choosing(None) = self.queue.focus {
                self.choose_row(usize::MAX);
                self.note_closing();
            }
            return;
        };
        match in_order(&self.work.queue).iter().position(|item| item.id == id) {
            Some(now) => {
                if let QueueFocus::Choosing(Some(chosen)) | QueueFocus::Editing { chosen, .. } =
                    &mut self.queue.focus
                {
                    chosen.row = now;
                }
            }
            None => self.chosen_is_gone(),
        }
    }

    fn chosen_is_gone(&mut self) {
        match std::mem::take(&mut self.queue.focus) {
            QueueFocus::Choosing(Some(chosen)) => {
                self.choose_row(chosen.row);
                self.note_closing();
                if !self.queue.let_go.contains(&chosen.id) {
                    self.flash("that message waits no longer: it was delivered, or taken out");
                }
            }
            QueueFocus::Editing { chosen, shown, draft, .. } => {
                let words = self.editor.expanded();
                self.editor.take_up(*draft);
                self.choose_row(chosen.row);
                self.queue.focus = QueueFocus::Away;
                self.message_is_gone(Some(words).filter(|words| *words != shown));
            }
            focus => self.queue.focus = focus,
        }
    }

    /// Notes that the panel closed by itself, if it did.
    fn note_closing(&mut self) {
        if let QueueFocus::Away = self.queue.focus {
            self.notes.queue_closed = Some(self.now);
        }
    }

    /// Swallows a key that types or sends, for a moment after the panel closed by itself: it was meant for the panel.
    pub(super) fn swallow_queue_key(&mut self, key: KeyEvent) -> bool {
        let is_recent = |since: &UnixMs| self.now.since_ms(*since) < CLOSED_MS;
        self.notes.queue_closed = self.notes.queue_closed.filter(is_recent);
        let types = keys::types(key) || key.code == KeyCode::Enter;
        let is_closed = matches!(self.queue.focus, QueueFocus::Away) && self.popups.is_empty();
        if self.notes.queue_closed.is_none() || !types || !is_closed {
            return false;
        }
        self.flash("ignored: no message waits any more; the keys are the editor's again");
        true
    }

    /// A message can't be changed any more. What it was to say is a draft now, and not sent by a key meant for something else.
    fn message_is_gone(&mut self, words: Option<String>) {
        match words {
            Some(words) => {
                self.editor.put_before(&[words]);
                self.notes.shifted = Some(self.now);
                self.flash("it was delivered meanwhile, as it was; what you wrote is a draft now");
            }
            None => self.flash("that message waits no longer: it was delivered, or taken out"),
        }
    }

    /// Chooses a row, or the last one; nothing where nothing waits.
    fn choose_row(&mut self, row: usize) {
        let rows = in_order(&self.work.queue);
        let row = row.min(rows.len().saturating_sub(1));
        let chosen = rows.get(row).map(|item| QueueSelection { id: item.id.clone(), row });
        self.queue.focus = match chosen {
            None if !self.queue.can_put_back() => QueueFocus::Away,
            chosen => QueueFocus::Choosing(chosen),
        };
    }

    /// Takes what came of an order.
    pub(super) fn queue_outcome(&mut self, outcome: QueueOutcome) {
        match outcome {
            QueueOutcome::Removed(items) if items.is_empty() => {}
            QueueOutcome::Removed(items) => {
                let (what, them) = match items.len() {
                    1 => ("removed".to_owned(), "it"),
                    count => (format!("removed {count}"), "them"),
                };
                self.queue.removed.push(items);
                let key = self.place.keymap.key_of(super::keymap::KeyCommand::QueueUndo);
                if std::mem::take(&mut self.queue.expects_removal)
                    && let QueueFocus::Away = self.queue.focus
                {
                    self.queue.focus = QueueFocus::Choosing(None);
                    self.choose_row(usize::MAX);
                }
                match self.queue.has_keys() {
                    true => self.flash(format!("{what}; {key} brings {them} back")),
                    false => self.flash(format!("{what}; {}", self.way_back())),
                }
            }
            QueueOutcome::Gone(words) => self.message_is_gone(words),
        }
    }

    /// Puts what was typed before the draft, with its pictures; while a message that waits is in the editor, before what stands aside.
    pub(super) fn put_before_draft(&mut self, typed: &UserText) {
        let QueueFocus::Editing { draft, .. } = &mut self.queue.focus else {
            self.give_back(typed);
            return;
        };
        let edited = self.editor.put_aside();
        self.editor.take_up(std::mem::replace(&mut **draft, edited));
        let text = self.editor.adopt(&typed.text, &typed.images);
        self.editor.put_before(&[text]);
        let draft_now = self.editor.put_aside();
        self.editor.take_up(std::mem::replace(&mut **draft, draft_now));
    }

    /// What is to be kept of the editor for the next time: while a message that waits is in it, what stands aside.
    pub(super) fn unsent(&self) -> String {
        match &self.queue.focus {
            QueueFocus::Editing { draft, .. } => draft.lasting(),
            QueueFocus::Away | QueueFocus::Choosing(_) => self.editor.lasting(),
        }
    }
}

impl From<QueueOutcome> for TaskResult {
    fn from(outcome: QueueOutcome) -> Self {
        Self::Waiting(outcome)
    }
}
