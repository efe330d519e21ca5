//! Inputs of the compaction machine.

use std::time::Duration;

use tiller_core::event::{CompactionChoice, CompactionReason, CompactionResult};
use tiller_core::id::EntryId;
use tiller_core::message::{ModelRef, Usage};
use tiller_core::unit::{Tokens, UnixMs};

use crate::approvals::Approver;
use crate::compaction::{BranchPlan, CompactionError, CompactionOptions, CompactionPlan, ContextSize};

/// Number of a summary job. Events carry it, so that late ones can be dropped.
pub(crate) type JobNumber = u64;

/// Id of a caller that waits for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CallerId(pub(crate) u64);

/// A compaction to plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlanRequest {
    /// The reason for the compaction.
    pub reason: CompactionReason,
    /// Limits and strategy.
    pub options: CompactionOptions,
    /// The user's instructions.
    pub instructions: Option<String>,
    /// The caller that requested the compaction.
    pub caller: Option<CallerId>,
}

/// An input of the compaction machine.
#[derive(Clone, Debug)]
pub(crate) enum SummaryInput {
    /// The context may have grown.
    CheckContext {
        /// The point in the run.
        point: CompactionPoint,
        facts: ConversationFacts,
    },
    /// A request was longer than the model's window; the run waits for a compaction.
    Overflow,
    /// Compacts on the user's request with the configured strategy.
    Compact { instructions: Option<String>, caller: CallerId },
    /// Truncates on the user's request.
    Truncate { caller: CallerId },
    /// The plan of a requested compaction.
    Planned {
        request: PlanRequest,
        /// The plan, or the reason there is none.
        plan: Result<Box<CompactionPlan>, CompactionError>,
        facts: ConversationFacts,
    },
    /// Summarizes a branch, then leaves it.
    LeaveBranch {
        plan: BranchPlan,
        target: BranchTarget,
        instructions: Option<String>,
        caller: CallerId,
        facts: ConversationFacts,
    },
    /// An event of a summary job.
    Job { number: JobNumber, event: SummaryEvent, facts: ConversationFacts },
    /// The user's decision on a failed summary.
    Decide { choice: CompactionChoice, facts: ConversationFacts },
    /// The approver has left, so nobody can decide on a failed summary.
    ApproverLeft { facts: ConversationFacts },
    /// Stops the summary in progress.
    Stop(StopOrigin),
    /// The submitted compaction is in the log, and its end was emitted.
    Appended(CompactionResult),
    /// An append failed; the submitted compaction is lost.
    StoreFailed { reason: String },
    /// A run has started.
    RunStarted,
    /// A run has ended; its last event is due.
    RunSettled { approver: Approver },
    /// The turn machine has no pending effects.
    Drained,
}

/// The point in a run at which the context is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompactionPoint {
    /// Before a request is sent.
    Request,
    /// At the end of a run.
    End,
}

/// The origin of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopOrigin {
    /// A command.
    Command,
    /// The turn machine, which has already emitted the end of the compaction that it waited for.
    TurnMachine,
}

/// The state of the conversation at the time of an input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConversationFacts {
    /// The time.
    pub now: UnixMs,
    /// Size of the context.
    pub size: ContextSize,
    /// True if the whole context is loaded and can be sent.
    pub is_loaded: bool,
    /// The model.
    pub model: ModelRef,
    /// The model's window.
    pub window: Tokens,
    /// Tells whether an approver is present.
    pub approver: Approver,
    /// The newest compaction on the path to the leaf.
    pub compaction: Option<EntryId>,
    /// True if the path to the leaf contains [`first_kept`](super::CompactionMachine::first_kept), or if
    /// there is no such entry.
    pub is_first_kept_on_path: bool,
}

/// The leaf after a switch to another branch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BranchTarget {
    /// The new leaf; `None` for the root.
    pub entry: Option<EntryId>,
    /// Text for the editor.
    pub editor: Option<String>,
}

/// An event of a summary job.
#[derive(Clone, Debug)]
pub(crate) enum SummaryEvent {
    /// Usage of a completed request.
    Usage(Usage),
    /// A request failed and is retried after a delay.
    Retry { attempt: u32, max_attempts: u32, delay: Duration, reason: String },
    /// The answers in the order of the requests, or the error.
    Ended(Result<Vec<String>, CompactionError>),
}
