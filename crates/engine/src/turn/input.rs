//! What the machine is told.

use std::collections::HashMap;
use std::time::Duration;

use tiller_core::event::{
    AllowedBy, CompactionReason, Decider, Decision, Denial, DenialCause, EventKind, QueueItem, QueueKind,
    ToolOutcome,
};
use tiller_core::id::{CallId, QueueId};
use tiller_core::message::{
    Access, AssistantMessage, BashExecutionMessage, Image, ToolCall, ToolResultMessage,
};
use tiller_session::entry::Compaction;

use super::{OpenEvents, TurnNumber};
use crate::queue::{Queue, QueueEdit};

/// What the machine is told.
#[derive(Clone, Debug)]
pub enum Input {
    /// The user says something.
    Prompt(TurnPrompt),
    /// What is in flight stops, and everything that steers goes in at once.
    SteerNow {
        /// What the user says now, behind what waits already.
        prompt: Option<TurnPrompt>,
        /// What there is of what it stops.
        so_far: PartialOutput,
    },
    /// A waiting message that was held is to go in after all.
    Release {
        /// The message.
        id: QueueId,
    },
    /// A waiting message isn't to go in until it is released.
    Hold {
        /// The message.
        id: QueueId,
    },
    /// The request's answer is complete.
    Answered {
        /// The request.
        turn: TurnNumber,
        /// The answer.
        answer: AssistantMessage,
    },
    /// The request failed.
    Failed {
        /// The request.
        turn: TurnNumber,
        /// What there is of the answer, with `stop_reason` error.
        answer: AssistantMessage,
        /// What is to be done about it.
        then: AfterFailure,
    },
    /// The wait before another try is over.
    Awake {
        /// The request that failed.
        turn: TurnNumber,
    },
    /// The user doesn't want another try.
    CancelRetry,
    /// What is to become of the calls of an answer.
    Planned {
        /// The request whose answer made them.
        turn: TurnNumber,
        /// Its calls in order.
        plan: Vec<PlannedCall>,
    },
    /// A call has its result.
    ToolEnded {
        /// The request whose answer made the call.
        turn: TurnNumber,
        /// The result.
        result: ToolResultMessage,
    },
    /// Somebody's word on the call that asks.
    Decided {
        /// The call.
        call: CallId,
        /// The word.
        decision: Decision,
        /// Whose.
        by: Decider,
    },
    /// The call that was to ask needs no asking any more.
    Cleared {
        /// The call.
        call: CallId,
        /// Who allowed it, and the rule by which, where it wasn't the mode.
        grant: Option<(Decider, Option<String>)>,
    },
    /// The call that was to ask may not run any more.
    Refused {
        /// The call.
        call: CallId,
        /// Why not.
        denied: DeniedCall,
    },
    /// A summary of the older part of the context is there.
    Compacted {
        /// What made it necessary.
        reason: CompactionReason,
        /// The entry to be written.
        compaction: Compaction,
    },
    /// There will be no summary.
    NotCompacted {
        /// What made it necessary.
        reason: CompactionReason,
        /// Why not.
        why: NotCompacted,
    },
    /// Everything stops.
    Abort {
        /// What there is of what it stops.
        so_far: PartialOutput,
        /// What becomes of the messages that wait.
        queue: QueueFate,
    },
    /// The user takes these out of the queue.
    Unqueue(Vec<QueueId>),
    /// The user changes a waiting message.
    EditQueued {
        /// The message.
        id: QueueId,
        /// The change.
        edit: QueueEdit,
    },
    /// The user wants a message that was taken out to wait again.
    PutBack {
        /// The message.
        item: QueueItem,
        /// How many are to stand before it; more than there are means last.
        place: usize,
    },
    /// A `!` command is over.
    BashEnded(BashExecutionMessage),
    /// An entry could not be written; the effects after it were not performed.
    StoreFailed(StoreFailed),
}

/// What there is of what is in flight, to be kept when it is stopped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartialOutput {
    /// The answer; `None` before it was asked for.
    pub answer: Option<AssistantMessage>,
    /// The results of calls at work that have anything to show.
    pub calls: HashMap<CallId, ToolOutcome>,
}

/// What becomes of waiting messages when everything stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueFate {
    /// Whoever stopped it gets them back; held ones stay.
    HandBack,
    /// They are held.
    Hold,
}

/// What was not written, and what is so all the same.
#[derive(Clone, Debug)]
pub struct StoreFailed {
    /// Why.
    pub reason: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// What front ends were told begins and not told ends. The machine may think it over: its last effects are among those that
    /// were not performed.
    pub told: OpenEvents,
    /// What waits according to the log.
    pub queue: Queue,
    /// Records of `!` commands among what was not written.
    pub records: Vec<BashExecutionMessage>,
}

/// Something the user says.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnPrompt {
    /// What, in full.
    pub text: String,
    /// What was typed, where a template made the text of it.
    pub typed: Option<String>,
    /// What is shown with it.
    pub images: Vec<Image>,
    /// When it is delivered if the agent is at work.
    pub kind: QueueKind,
    /// Its name, if it has to wait.
    pub id: QueueId,
}

/// What is to be done about a failed request.
#[derive(Clone, Debug, PartialEq)]
pub enum AfterFailure {
    /// It goes out again after a while.
    Retry {
        /// How long to wait.
        delay: Duration,
        /// Most tries after the first.
        most: u32,
    },
    /// The context has to shrink, then it goes out again.
    Compact,
    /// Nothing: the run has failed.
    GiveUp,
}

/// Why there is no summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotCompacted {
    /// Somebody stopped it.
    Stopped,
    /// It failed, for this reason.
    Failed(String),
}

/// A call of an answer and what is to become of it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedCall {
    /// The call, as it is to run.
    pub call: ToolCall,
    /// What is to become of it.
    pub fate: CallDecision,
}

/// What is to become of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallDecision {
    /// It may run.
    Run(Access),
    /// It may run, because what would have been asked was answered beforehand.
    Granted {
        /// The decider.
        by: Decider,
        /// The rule that did.
        rule: Option<String>,
    },
    /// Somebody is asked first.
    Ask {
        /// Why.
        reason: String,
        /// What "always" would allow.
        rule: String,
    },
    /// It can't run; the model reads why: unknown tool, invalid arguments.
    Refuse(String),
    /// It may not run, without a question.
    Deny(DeniedCall),
}

/// The reason for which a call may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedCall {
    /// The kind of reason.
    pub cause: DenialCause,
    /// The reason.
    pub reason: String,
    /// The least that would have allowed the call, where a flag can.
    pub allowed_by: Option<AllowedBy>,
}

impl DeniedCall {
    /// The text for the model.
    #[must_use]
    pub fn told(&self) -> String {
        let advice = match (self.cause, self.allowed_by) {
            (DenialCause::NoApprover, Some(_)) => {
                ", and nobody is there to allow it; run tiller with --yes to allow every call"
            }
            (DenialCause::NoApprover, None) => ", and nobody is there to allow it",
            (DenialCause::Policy | DenialCause::Extension, _) => "",
        };
        format!("denied: {}{advice}", self.reason)
    }

    /// Returns the decider.
    #[must_use]
    pub const fn decider(&self) -> Decider {
        match self.cause {
            DenialCause::NoApprover => Decider::Nobody,
            DenialCause::Policy => Decider::Rule,
            DenialCause::Extension => Decider::Extension,
        }
    }

    /// The event that tells of it.
    #[must_use]
    pub fn event(self, call: &ToolCall) -> EventKind {
        EventKind::ToolCallDenied(Denial {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            cause: self.cause,
            reason: self.reason,
            allowed_by: self.allowed_by,
        })
    }
}
