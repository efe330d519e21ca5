//! The authors of prompts and answers, which tell whether a branch ends with a prompt that has no answer.

use tiller_core::id::EntryId;
use tiller_core::message::Message;

use super::entry::Entry;

/// Marks a prompt after which neither an answer nor another prompt follows, unless a run is in progress.
pub const UNANSWERED: &str = "not answered: tiller stopped first; a partial answer is lost";

/// The author of a prompt or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The user, with the prompt's entry.
    User(EntryId),
    /// The model.
    Model,
}

impl Speaker {
    /// Returns the author of an entry; `None` if it is neither a prompt nor an answer.
    #[must_use]
    pub fn of(entry: &Entry) -> Option<Self> {
        match &**entry.body.as_message()? {
            Message::User(_) => Some(Self::User(entry.id.clone())),
            Message::Assistant(_) => Some(Self::Model),
            Message::ToolResult(_) | Message::BashExecution(_) | Message::System(_) => None,
        }
    }
}
