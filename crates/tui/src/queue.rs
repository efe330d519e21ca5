//! Actions on queued messages, and their results.

use tiller_core::event::{QueueItem, QueueKind};
use tiller_core::id::QueueId;

/// An action on queued messages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum QueueAction {
    /// Holds a message during its edit.
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
    Restore(Vec<RemovedMessage>),
}

/// The state of a message after an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterQueueEdit {
    /// Doesn't change: held messages stay held.
    Keep,
    /// Is released, because it was held only for the edit.
    Release,
}

/// A removed message and its former position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RemovedMessage {
    pub(crate) item: QueueItem,
    pub(crate) place: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum QueueOutcome {
    /// These messages were removed.
    Removed(Vec<RemovedMessage>),
    /// The message has already been delivered or removed, with its new text if it was edited.
    Gone(Option<String>),
}

/// The messages in the order of delivery: steering messages first.
pub(crate) fn in_order(queue: &[QueueItem]) -> Vec<&QueueItem> {
    let of = |kind: QueueKind| queue.iter().filter(move |item| item.kind == kind);
    of(QueueKind::Steer).chain(of(QueueKind::FollowUp)).collect()
}

/// The message about a selected or edited message that left the queue.
pub(crate) const MESSAGE_GONE: &str = "That message is no longer queued: it was delivered or removed.";
