//! The questions of servers that wait for the user; `elicitations` changes them.

use tiller_core::elicitation::{ElicitationAnswer, ElicitationRequest};
use tiller_core::id::ElicitationId;
use tokio::sync::oneshot;

/// The pending questions, in the order in which they came.
#[derive(Default)]
pub(super) struct Elicitations {
    pub(super) pending: Vec<PendingElicitation>,
    /// Number of the last question of this process.
    pub(super) last: u64,
}

/// A question, and the way to its answer.
pub(super) struct PendingElicitation {
    pub(super) request: ElicitationRequest,
    /// Hands the answer to the task that watches the question.
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
