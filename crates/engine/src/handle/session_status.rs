//! The status and statistics of a session, and the end of a run.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use tiller_core::event::{QueueItem, RunOutcome};
use tiller_core::id::EntryId;
use tiller_core::message::Message;
use tiller_core::setting::{DeliveryMode, SteeringPoint, Switch};
use tiller_session::Totals;

use super::snapshot::{ContextUse, SessionState};
use crate::budget::BudgetStatus;

/// The state of a session without the operations in progress. Cheap to get at any time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Names, model, thinking level, context use, approval mode.
    pub state: SessionState,
    /// Current activities.
    pub activity: Activity,
    /// Queued messages and their delivery modes.
    pub queue: QueueStatus,
    /// Retry of failed requests.
    pub auto_retry: Switch,
    /// Automatic compaction.
    pub auto_compaction: Switch,
    /// The parent of the next entry.
    pub leaf: Option<EntryId>,
    /// Number of messages that the model would get, excluding system messages, which other programs write.
    pub messages: usize,
}

/// Activities of a session. All three can be in progress at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// A run is in progress.
    pub is_running: bool,
    /// A compaction is in progress.
    pub is_compacting: bool,
    /// A failed request is waiting for its retry.
    pub is_retrying: bool,
}

/// Queued messages and their delivery modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueStatus {
    /// The messages, in the order of delivery within each kind.
    #[serde(with = "crate::sent_item::list")]
    pub items: Vec<QueueItem>,
    /// Point of delivery of steering messages.
    pub steering_point: SteeringPoint,
    /// Number of steering messages that are delivered together.
    pub steering_mode: DeliveryMode,
    /// Number of follow-ups that are delivered together.
    pub follow_up_mode: DeliveryMode,
}

/// Statistics of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionStats {
    /// The entire log, all branches.
    pub session: Totals,
    /// The current branch.
    pub branch: Totals,
    /// Context window usage.
    pub context: ContextUse,
    /// The budgets that are set.
    pub budgets: Vec<BudgetStatus>,
}

/// The outcome of a run, with its messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// The outcome.
    pub outcome: RunOutcome,
    /// The messages that the run added, in order.
    pub messages: Vec<Arc<Message>>,
}
