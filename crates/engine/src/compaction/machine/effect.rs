//! Effects of the compaction machine.

use tiller_core::event::{CompactionReason, CompactionResult, EventKind};
use tiller_core::message::{ModelRef, Usage};
use tiller_core::unit::Tokens;
use tiller_session::BranchSummaryText;
use tiller_session::entry::Compaction;

use super::input::{BranchTarget, CallerId, JobNumber, PlanRequest};
use crate::compaction::{CompactionError, SummaryRequest};
use crate::turn::NoCompactionReason;

/// An effect for the driver to perform.
#[derive(Clone, Debug)]
pub(crate) enum SummaryEffect {
    /// Plans a compaction; the plan comes as [`Planned`](super::SummaryInput::Planned) before any other input.
    Plan(PlanRequest),
    /// Starts a job that sends the requests.
    StartJob {
        /// Number of the job.
        number: JobNumber,
        /// The requests, in order.
        requests: Vec<SummaryRequest>,
        /// The user's instructions.
        instructions: Option<String>,
    },
    /// Aborts the job in progress.
    AbortJob,
    /// Appends the cost of a summary that isn't used. If that fails, the driver emits a warning.
    AppendCost {
        /// The kind of the usage entry.
        kind: &'static str,
        /// The cost.
        cost: SummaryCost,
    },
    /// Appends a compaction immediately. If that fails, the driver drops the following effects and reports
    /// [`AppendFailure`](super::SummaryInput::StoreFailed).
    Append(Compaction),
    /// Hands a compaction to the turn machine, which appends it at the next gap between turns. The driver reports
    /// [`AppendedEntry`](super::SummaryInput::Appended).
    Submit {
        /// Its cause.
        reason: CompactionReason,
        /// The entry.
        compaction: Compaction,
    },
    /// Reports a compaction without an entry to the turn machine, which emits its end.
    NotCompacted {
        /// Its cause.
        reason: CompactionReason,
        /// The reason why there is no entry.
        cause: NoCompactionReason,
    },
    /// Replies to a caller.
    Reply {
        /// The caller.
        caller: CallerId,
        /// The compaction in the log, or the error.
        outcome: Result<CompactionResult, SummaryError>,
    },
    /// Moves the leaf, emits the end of the branch summary with the error if there is one, and replies to the caller.
    SwitchBranch {
        /// The caller.
        caller: CallerId,
        /// The new leaf.
        target: BranchTarget,
        /// The summary of the branch that is left.
        summary: BranchSummaryText,
    },
    /// Emits an event.
    Emit(EventKind),
    /// Emits a warning, and logs it.
    Warn(String),
    /// Emits the end of a run, and replies to the callers that wait for it.
    Settle,
}

/// Cost of a summary so far.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SummaryCost {
    /// The model that makes the summary.
    pub model: ModelRef,
    /// Usage of its requests.
    pub usage: Usage,
}

impl SummaryCost {
    pub(super) fn zero(model: ModelRef) -> Self {
        Self { model, usage: Usage::default() }
    }

    pub(super) fn nonzero(&self) -> Option<Usage> {
        (self.usage.total() > Tokens(0)).then(|| self.usage.clone())
    }
}

/// The reason a caller gets no summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SummaryError {
    /// Another summary is in progress.
    InProgress,
    /// The summary failed.
    Failed(CompactionError),
    /// The log could not be written.
    Store(String),
}
