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
    /// Plans a compaction. The plan arrives as [`Planned`](super::SummaryInput::Planned) before any other
    /// input.
    Plan(PlanRequest),
    /// Starts a job that sends the requests.
    StartJob {
        /// The job's number.
        number: JobNumber,
        requests: Vec<SummaryRequest>,
        instructions: Option<String>,
    },
    /// Aborts the job in progress.
    AbortJob,
    /// Appends the cost of an unused summary. If that fails, the driver emits a warning.
    AppendCost {
        /// The kind of the usage entry.
        kind: &'static str,
        cost: SummaryCost,
    },
    /// Appends a compaction immediately. If that fails, the driver drops the following effects and reports
    /// [`StoreFailed`](super::SummaryInput::StoreFailed).
    Append(Compaction),
    /// Submits a compaction to the turn machine, which appends it at the next gap between turns. The driver
    /// then reports [`Appended`](super::SummaryInput::Appended).
    Submit {
        /// The reason for the compaction.
        reason: CompactionReason,
        /// The entry.
        compaction: Compaction,
    },
    /// Reports a compaction without an entry to the turn machine, which emits its end.
    NotCompacted {
        /// The reason for the compaction.
        reason: CompactionReason,
        /// The reason for the missing entry.
        cause: NoCompactionReason,
    },
    /// Replies to a caller.
    Reply {
        caller: CallerId,
        /// The compaction in the log, or the error.
        outcome: Result<CompactionResult, SummaryError>,
    },
    /// Moves the leaf, emits the end of the branch summary, with the error if there is one, and replies to
    /// the caller.
    SwitchBranch {
        caller: CallerId,
        target: BranchTarget,
        /// The summary of the abandoned branch.
        summary: BranchSummaryText,
    },
    Emit(EventKind),
    /// Emits and logs a warning.
    Warn(String),
    /// Emits the end of a run and replies to the callers that wait for it.
    Settle,
}

/// Cost of a summary so far.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SummaryCost {
    /// The model that creates the summary.
    pub model: ModelRef,
    /// Usage of the summary's requests.
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

/// The reason for an error reply to a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SummaryError {
    /// Another summary is in progress.
    InProgress,
    Failed(CompactionError),
    /// The log could not be written.
    Store(String),
}
