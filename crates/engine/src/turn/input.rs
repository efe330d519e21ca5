//! Inputs of the turn machine.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use tiller_core::event::{
    AllowedBy, CompactionReason, Decider, Decision, Denial, DenialCause, EventKind, QueueItem, QueueKind,
    ToolOutcome,
};
use tiller_core::id::{CallId, QueueId};
use tiller_core::message::{
    AssistantMessage, BashExecutionMessage, Image, ModelRef, ToolCall, ToolResultMessage,
};
use tiller_core::tool_spec::Access;
use tiller_session::entry::Compaction;

use super::open_events::OpenEvents;
use crate::fallback::FallbackModel;
use crate::queue::{Queue, QueueEdit};

/// Number of a request. Jobs carry the number of their request, so that late events can be dropped.
pub(crate) type TurnNumber = u64;

/// An input of the turn machine.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// A user message.
    Prompt(TurnPrompt),
    /// Stops the current operations and delivers all steering messages.
    SteerNow {
        /// A new message, queued after the others.
        prompt: Option<TurnPrompt>,
        /// Partial output of the stopped operations.
        partial_output: PartialOutput,
    },
    /// Releases a held message.
    Release { id: QueueId },
    /// Holds a queued message.
    Hold { id: QueueId },
    /// The answer to a request is complete.
    Answered {
        /// Number of the request.
        turn: TurnNumber,
        answer: AssistantMessage,
    },
    /// A request failed.
    Failed {
        /// Number of the request.
        turn: TurnNumber,
        /// The partial answer, with `stop_reason` error.
        answer: AssistantMessage,
        /// The reaction to the failure.
        action: AfterFailure,
    },
    /// The wait before a retry is over.
    RetryDue {
        /// Number of the failed request.
        turn: TurnNumber,
    },
    /// Cancels the pending retry.
    CancelRetry,
    /// Decisions on the calls of an answer.
    Planned {
        /// Number of the request whose answer made the calls.
        turn: TurnNumber,
        /// The calls in order.
        plan: Vec<PlannedCall>,
    },
    /// A call's result.
    ToolEnded {
        /// Number of the request whose answer made the call.
        turn: TurnNumber,
        result: ToolResultMessage,
    },
    /// The end of the run was reviewed.
    EndReviewed {
        /// Number of the last request.
        turn: TurnNumber,
        verdict: EndVerdict,
    },
    /// The decision on a pending approval request.
    Decided {
        call: CallId,
        decision: Decision,
        decider: Decider,
        /// The rule that made the decision.
        rule: Option<String>,
    },
    /// A call that was about to request approval is already allowed.
    ApprovalWaived {
        call: CallId,
        /// The decider and the rule; `None` if the mode allows the call.
        grant: Option<(Decider, Option<String>)>,
    },
    /// A call that was about to request approval is already denied.
    ApprovalDenied { call: CallId, denied: DeniedCall },
    /// A compaction is ready.
    Compacted {
        reason: CompactionReason,
        /// The entry to append.
        compaction: Compaction,
    },
    /// A compaction failed or was stopped.
    NotCompacted { reason: CompactionReason, cause: NoCompactionReason },
    /// Stops everything.
    Abort {
        /// Partial output of the stopped operations.
        partial_output: PartialOutput,
        queue: QueueHandling,
        cause: AbortCause,
    },
    /// Removes messages from the queue.
    Unqueue(Vec<QueueId>),
    /// Changes a queued message.
    EditQueued { id: QueueId, edit: QueueEdit },
    /// Queues a removed message again.
    PutBack {
        item: QueueItem,
        /// Number of messages before it; larger numbers mean last.
        position: usize,
    },
    /// A `!` command has ended.
    BashEnded(BashExecutionMessage),
    /// An append failed; the effects after it were not performed.
    StoreFailed(AppendFailure),
}

/// The outcome of the review of a run's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EndVerdict {
    /// The run may end.
    End,
    /// A hook continues the run with this instruction.
    Instruct(String),
    /// Background tasks have ended, and the next request informs the model about them.
    TellNotes,
}

/// Partial output of the operations in progress, stored when they are stopped.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PartialOutput {
    /// The partial answer; `None` before the request was sent.
    pub answer: Option<AssistantMessage>,
    /// Partial results of running calls that have one.
    pub calls: HashMap<CallId, ToolOutcome>,
}

/// The treatment of queued messages when everything stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum QueueHandling {
    /// Returns them to the caller, except held messages.
    Return,
    /// Holds them.
    Hold,
}

/// The reason everything stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AbortCause {
    /// The user stops the run.
    User,
    /// The agent's task ends, for instance at its time limit.
    TaskEnd,
}

/// State after a failed append.
#[derive(Clone, Debug)]
pub(crate) struct AppendFailure {
    /// The reason.
    pub reason: String,
    /// The next step for the user.
    pub hint: Option<String>,
    /// Unfinished operations, as seen by front ends. The machine's own state may differ, because its last
    /// effects may be among those that weren't performed.
    pub open_events: OpenEvents,
    /// The queue according to the log.
    pub queue: Queue,
    /// Records of `!` commands that were not written.
    pub records: Vec<BashExecutionMessage>,
}

/// A user message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TurnPrompt {
    /// The full text.
    pub text: String,
    /// The text as typed, if a template expanded it.
    pub typed: Option<String>,
    /// Attached images.
    pub images: Vec<Image>,
    /// The message's kind if it is queued during a run.
    pub kind: QueueKind,
    /// The id in the queue.
    pub id: QueueId,
}

/// Reaction to a failed request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AfterFailure {
    /// Retry after a delay.
    Retry {
        delay: Duration,
        /// Maximum number of retries.
        max_attempts: u32,
    },
    /// Compact the context, then retry.
    Compact,
    /// Switch to another model; the run fails if there is none.
    SwitchModel(ModelSwitch),
    /// Give up: the run has failed.
    GiveUp,
}

/// A switch to the first candidate that hasn't failed in this run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelSwitch {
    /// The model that failed.
    pub failed: ModelRef,
    /// The reason, shown to the user.
    pub cause: String,
    /// Models that may answer instead.
    pub candidates: Vec<FallbackModel>,
}

/// The reason there is no compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoCompactionReason {
    /// Stopped on request.
    Stopped,
    /// Failed for this reason.
    Failed(String),
}

/// A call of an answer with the decision on it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedCall {
    /// The call with its final arguments.
    pub call: ToolCall,
    /// The decision.
    pub decision: CallDecision,
}

impl PlannedCall {
    /// Returns true for a call that is denied as a repetition.
    pub(crate) fn is_denied_loop(&self) -> bool {
        matches!(&self.decision, CallDecision::Deny(denied) if denied.cause == DenialCause::Loop)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallDecision {
    /// May run. Calls that only read run in parallel.
    Run(Access),
    /// May run, because a rule or flag grants approval.
    Granted { decider: Decider, rule: Option<String> },
    /// Needs approval.
    Ask {
        reason: String,
        /// The session rule that the request offers.
        rule: String,
    },
    /// Can't run, because the tool is unknown or the arguments are invalid.
    Refuse {
        /// The reason, for the model.
        reason: String,
        /// The `details` of the result: the problems of the arguments.
        details: Option<Value>,
    },
    /// Is denied without an approval request.
    Deny(DeniedCall),
}

impl CallDecision {
    /// Returns the decision for a call that doesn't run in parallel with others.
    pub(crate) fn alone(self) -> Self {
        match self {
            Self::Run(_) => Self::Run(Access::Executes),
            other => other,
        }
    }
}

/// The reason a call may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeniedCall {
    /// The kind of reason.
    pub cause: DenialCause,
    /// The reason.
    pub reason: String,
    /// The least permissive option that would have allowed the call, if there is one.
    pub allowed_by: Option<AllowedBy>,
    /// The settings rule that denies the call.
    pub rule: Option<String>,
}

impl DeniedCall {
    /// Returns the text for the model.
    #[must_use]
    pub(crate) fn result_text(&self) -> String {
        let advice = match (self.cause, self.allowed_by) {
            (DenialCause::NoApprover, Some(_)) => ", and no one can approve it; --yes would allow it",
            (DenialCause::NoApprover, None) => ", and no one can approve it",
            (DenialCause::Policy | DenialCause::Extension | DenialCause::Loop, _) => "",
        };
        format!("denied: {}{advice}", self.reason)
    }

    #[must_use]
    pub(crate) const fn decider(&self) -> Decider {
        match self.cause {
            DenialCause::NoApprover | DenialCause::Loop => Decider::Nobody,
            DenialCause::Policy if self.rule.is_some() => Decider::Rule,
            DenialCause::Policy => Decider::Mode,
            DenialCause::Extension => Decider::Extension,
        }
    }

    /// Returns the event of the denial.
    #[must_use]
    pub(crate) fn event(self, call: &ToolCall) -> EventKind {
        EventKind::ToolCallDenied(Denial {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            cause: self.cause,
            reason: self.reason,
            allowed_by: self.allowed_by,
        })
    }
}
