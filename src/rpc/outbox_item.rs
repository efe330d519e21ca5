//! An item of the output queue.

use super::id::Id;
use super::response::ResponseBody;
use crate::agent::SubscriptionItem;

/// A change of how events are written.
#[derive(Debug)]
pub(super) enum SendMode {
    /// Sends or skips the deltas of an answer.
    Deltas(bool),
    /// The next user command with this line has this client id.
    Bash { line: String, id: Option<Id> },
    /// That command was refused, or has ended.
    BashOver { id: Option<Id> },
}

/// An item for the writer.
#[derive(Debug)]
pub(super) enum OutboxItem {
    Event(SubscriptionItem),
    Response(ResponseBody),
    SetMode(SendMode),
}
