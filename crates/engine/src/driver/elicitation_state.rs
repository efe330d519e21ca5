//! Pending questions from MCP servers to the user; `elicitations` changes them.

use tiller_core::elicitation::{ElicitationAnswer, ElicitationRequest};
use tiller_core::id::ElicitationId;
use tokio::sync::oneshot;

/// The pending questions, in the order they arrived.
#[derive(Default)]
pub(super) struct Elicitations {
    pub(super) pending: Vec<PendingElicitation>,
    /// Number of this process's last question.
    pub(super) last: u64,
}

/// A question and the channel for its answer.
pub(super) struct PendingElicitation {
    pub(super) request: ElicitationRequest,
    /// Sends the answer to the task that waits for it.
    pub(super) answer: oneshot::Sender<ElicitationAnswer>,
}

impl Elicitations {
    pub(super) fn requests(&self) -> Vec<ElicitationRequest> {
        self.pending.iter().map(|pending| pending.request.clone()).collect()
    }

    pub(super) fn position(&self, id: &ElicitationId) -> Option<usize> {
        self.pending.iter().position(|pending| pending.request.elicitation_id == *id)
    }
}
