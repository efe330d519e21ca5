//! The purpose of the text in the editor.

use tiller_core::id::{CallId, EntryId};

use crate::effect::QueueEditRequest;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ComposePurpose {
    /// A message to the model, or a command.
    #[default]
    Message,
    /// The reason for denying a call.
    DenialReason(CallId),
    /// The new text of a queued message.
    QueuedMessage(QueueEditRequest),
    /// An instruction for the summary of the branch that is abandoned for this entry.
    SummaryInstruction(EntryId),
}
