//! An item of the output queue.

use super::id::Id;
use super::response::ResponseBody;
use crate::agent::SubscriptionItem;

/// A change to the way events are written.
#[derive(Debug)]
pub(super) enum SendMode {
    /// Sends or skips the deltas of an answer.
    Deltas(bool),
    /// Assigns a client's id to the next user command with this line.
    Bash { line: String, id: Option<Id> },
    /// Reports that the user command with this id was refused or has ended.
    BashEnded { id: Option<Id> },
}

/// An item for the writer.
#[derive(Debug)]
pub(super) enum OutboxItem {
    Event(SubscriptionItem),
    Response(ResponseBody),
    SetMode(SendMode),
}
