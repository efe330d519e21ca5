//! The queue panel: the selected message, the one being edited, and removed ones.
//!
//! The engine owns the queue; the panel sends actions and applies the engine's updates. A message may be
//! delivered or removed elsewhere at any time; the panel then reports that and keeps the typed text. `keys`
//! handles keys, `perform` calls the agent.

mod keys;
pub(super) mod perform;

use crossterm::event::{KeyCode, KeyEvent};
use tiller_core::event::{QueueItem, QueueKind};
use tiller_core::id::QueueId;
use tiller_core::unit::UnixMs;

use super::editor::EditorDraft;
use crate::action::UserText;
use crate::app::App;
use crate::message::TaskResult;

/// Time for which typing keys are ignored after the panel closed by itself, in milliseconds: enough to notice
/// it and stop typing.
const IGNORE_MS: u64 = 1_000;

/// An action on queued messages.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum QueueAction {
    /// Holds a message back while it is edited.
    Hold(QueueId),
    /// Replaces a message's text.
    Edit(QueueId, String, AfterQueueEdit),
    /// Moves a message to this position.
    Move(QueueId, usize),
    /// Changes the kind of a message.
    SetKind(QueueId, QueueKind),
    /// Releases a held message.
    Release(QueueId),
    /// Removes the message at this position.
    Remove(QueueId, usize),
    /// Removes all messages.
    Clear,
    /// Restores removed messages.
    Restore(Vec<RemovedMessage>),
}

/// The state of a message after an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterQueueEdit {
    /// Stays held or not held, as before.
    Keep,
    /// Is released: it was held only for the edit.
    Release,
}

/// A removed message and its former position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RemovedMessage {
    pub(super) item: QueueItem,
    pub(super) place: usize,
}

/// The result of a queue action.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum QueueOutcome {
    /// These messages were removed.
    Removed(Vec<RemovedMessage>),
    /// The message was delivered or removed before; its new text, if it was edited.
    Gone(Option<String>),
}

/// The owner of the keys.
#[derive(Debug, Default)]
enum QueueFocus {
    /// The editor.
    #[default]
    Editor,
    /// The panel; no selection if the queue is empty.
    Panel(Option<QueueSelection>),
    /// The editor, for a queued message; `draft` is the editor's previous content.
    Message { chosen: QueueSelection, shown: String, draft: Box<EditorDraft>, then: AfterQueueEdit },
}

/// The selected message and its row, which stays selected when the message is gone.
#[derive(Clone, Debug, PartialEq)]
struct QueueSelection {
    id: QueueId,
    row: usize,
}

/// The panel of queued messages.
#[derive(Debug, Default)]
pub(super) struct QueuePanel {
    focus: QueueFocus,
    /// Messages removed from this session's queue, one batch per removal.
    removed: Vec<Vec<RemovedMessage>>,
    /// Messages just edited, released or removed here: no flash when they leave the queue.
    released: Vec<QueueId>,
    /// Returns the keys to the panel when the last message is removed, so that it can be restored.
    expects_removal: bool,
    /// Time when the panel closed by itself: keys for it may still arrive.
    closed_at: Option<UnixMs>,
}

impl QueuePanel {
    /// Reports whether the panel has the keys.
    pub(super) fn has_keys(&self) -> bool {
        matches!(self.focus, QueueFocus::Panel(_))
    }

    /// Clears the removed messages, which belong to the previous session.
    pub(super) fn forget_removed(&mut self) {
        self.removed.clear();
    }

    /// Reports whether the editor holds a queued message.
    pub(super) fn is_editing(&self) -> bool {
        matches!(self.focus, QueueFocus::Message { .. })
    }

    /// Reports whether this message is held only because it is being edited.
    pub(super) fn holds(&self, id: &QueueId) -> bool {
        matches!(&self.focus, QueueFocus::Message { chosen, then: AfterQueueEdit::Release, .. } if chosen.id == *id)
    }

    /// Reports whether removed messages can be restored.
    pub(super) fn can_restore(&self) -> bool {
        !self.removed.is_empty()
    }

    /// The selected or edited message.
    pub(super) fn selected(&self) -> Option<&QueueId> {
        match &self.focus {
            QueueFocus::Panel(Some(chosen)) | QueueFocus::Message { chosen, .. } => Some(&chosen.id),
            QueueFocus::Panel(None) | QueueFocus::Editor => None,
        }
    }
}

/// The messages in the order of delivery: steering messages first.
pub(super) fn in_order(queue: &[QueueItem]) -> Vec<&QueueItem> {
    let of = |kind: QueueKind| queue.iter().filter(move |item| item.kind == kind);
    of(QueueKind::Steer).chain(of(QueueKind::FollowUp)).collect()
}

/// A message's text as typed.
pub(super) fn typed(item: &QueueItem) -> String {
    item.as_typed()
}

impl App {
    /// Follows a change of the engine's queue.
    pub(super) fn queue_changed(&mut self) {
        let Some(id) = self.queue.selected().cloned() else {
            if let QueueFocus::Panel(None) = self.queue.focus {
                self.select_queue_row(usize::MAX);
                self.record_closing();
            }
            return;
        };
        match in_order(&self.model.activity.queue).iter().position(|item| item.id == id) {
            Some(now) => {
                if let QueueFocus::Panel(Some(chosen)) | QueueFocus::Message { chosen, .. } =
                    &mut self.queue.focus
                {
                    chosen.row = now;
                }
            }
            None => self.selection_gone(),
        }
    }

    fn selection_gone(&mut self) {
        match std::mem::take(&mut self.queue.focus) {
            QueueFocus::Panel(Some(chosen)) => {
                self.select_queue_row(chosen.row);
                self.record_closing();
                if !self.queue.released.contains(&chosen.id) {
                    self.flash("That message is no longer queued: it was delivered or removed.");
                }
            }
            QueueFocus::Message { chosen, shown, draft, .. } => {
                let text = self.composer.editor.expanded();
                self.composer.editor.restore(*draft);
                self.select_queue_row(chosen.row);
                self.queue.focus = QueueFocus::Editor;
                self.message_gone(Some(text).filter(|text| *text != shown));
            }
            focus => self.queue.focus = focus,
        }
    }

    /// Records the time if the panel closed by itself.
    fn record_closing(&mut self) {
        if let QueueFocus::Editor = self.queue.focus {
            self.queue.closed_at = Some(self.now);
        }
    }

    /// Ignores a key that types or sends for a moment after the panel closed by itself.
    pub(super) fn ignore_queue_key(&mut self, key: KeyEvent) -> bool {
        let is_recent = |since: &UnixMs| self.now.since_ms(*since) < IGNORE_MS;
        self.queue.closed_at = self.queue.closed_at.filter(is_recent);
        let types = keys::types_text(key) || key.code == KeyCode::Enter;
        let is_closed = matches!(self.queue.focus, QueueFocus::Editor) && self.compositor.is_empty();
        if self.queue.closed_at.is_none() || !types || !is_closed {
            return false;
        }
        self.flash("Ignored: the queue is empty. Keys go to the editor again.");
        true
    }

    /// Reports that a message left the queue. Its edited text becomes a draft that Enter doesn't send at
    /// once.
    fn message_gone(&mut self, text: Option<String>) {
        match text {
            Some(text) => {
                self.composer.editor.put_before(&[text]);
                self.composer.repurposed_at = Some(self.now);
                self.flash("Already delivered unedited; your edit is kept as a draft.");
            }
            None => self.flash("That message is no longer queued: it was delivered or removed."),
        }
    }

    /// Selects a row, or the last one; closes the panel if there is nothing to select or restore.
    fn select_queue_row(&mut self, row: usize) {
        let rows = in_order(&self.model.activity.queue);
        let row = row.min(rows.len().saturating_sub(1));
        let chosen = rows.get(row).map(|item| QueueSelection { id: item.id.clone(), row });
        self.queue.focus = match chosen {
            None if !self.queue.can_restore() => QueueFocus::Editor,
            chosen => QueueFocus::Panel(chosen),
        };
    }

    /// Applies the result of a queue action.
    pub(super) fn apply_queue_outcome(&mut self, outcome: QueueOutcome) {
        match outcome {
            QueueOutcome::Removed(items) if items.is_empty() => {}
            QueueOutcome::Removed(items) => {
                let (what, them) = match items.len() {
                    1 => ("Removed".to_owned(), "it"),
                    count => (format!("Removed {count}"), "them"),
                };
                self.queue.removed.push(items);
                let key = self.ui.keymap.key_of(super::keymap::KeyCommand::QueueUndo);
                if std::mem::take(&mut self.queue.expects_removal)
                    && let QueueFocus::Editor = self.queue.focus
                {
                    self.queue.focus = QueueFocus::Panel(None);
                    self.select_queue_row(usize::MAX);
                }
                match self.queue.has_keys() {
                    true => self.flash(format!("{what}; {key} restores {them}.")),
                    false => self.flash(format!("{what}; {}.", self.restore_hint())),
                }
            }
            QueueOutcome::Gone(text) => self.message_gone(text),
        }
    }

    /// Puts text with its images before the draft; while a queued message is in the editor, that is the
    /// editor's previous content.
    pub(super) fn put_before_draft(&mut self, typed: &UserText) {
        let QueueFocus::Message { draft, .. } = &mut self.queue.focus else {
            self.restore_input(typed);
            return;
        };
        let edited = self.composer.editor.stash();
        self.composer.editor.restore(std::mem::replace(&mut **draft, edited));
        let text = self.composer.editor.restore_images(&typed.text, &typed.images);
        self.composer.editor.put_before(&[text]);
        let draft_now = self.composer.editor.stash();
        self.composer.editor.restore(std::mem::replace(&mut **draft, draft_now));
    }

    /// The text to save as the draft; while a queued message is in the editor, that is the editor's previous
    /// content.
    pub(super) fn unsent_text(&self) -> String {
        match &self.queue.focus {
            QueueFocus::Message { draft, .. } => draft.text_without_images(),
            QueueFocus::Editor | QueueFocus::Panel(_) => self.composer.editor.text_without_images(),
        }
    }
}

impl From<QueueOutcome> for TaskResult {
    fn from(outcome: QueueOutcome) -> Self {
        Self::QueueOutcome(outcome)
    }
}
