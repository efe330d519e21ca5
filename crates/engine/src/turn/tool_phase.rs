//! An answer whose calls are being executed, and the texts for calls that don't run.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;
use tiller_core::event::Decider;
use tiller_core::id::CallId;
use tiller_core::message::{Message, StopReason, ToolCall};
use tiller_core::setting::Switch;
use tiller_core::tool_spec::Access;
use tiller_session::entry::DeliveryReceipt;

use super::input::{CallDecision, PlannedCall};

/// Maximum number of read-only calls that run in parallel.
pub(crate) const MAX_GROUP: usize = 8;

/// Result of a call that was skipped for a steering message.
pub(super) const SKIPPED: &str = "skipped: the user steered";

/// Result of calls in an answer that was cut off.
pub(super) const CUT_OFF: &str =
    "not run: the answer was cut off at the output limit, so the call may be incomplete";

/// Result of calls in the last answer of a run with a turn limit.
pub(super) const NO_TURN_LEFT: &str = "not run: the turn limit was reached";

/// Result of calls in the last answer of a run that was stopped because the model repeated a call.
pub(super) const LOOPING: &str = "not run: the run ended because the same call was repeated";

/// Texts for the calls of an interrupted turn.
#[derive(Debug)]
pub(super) struct TurnInterruption {
    /// Error of the partial answer in the log, and of the canceled retry for front ends.
    pub(super) reason: &'static str,
    /// Result of a running call, for the model.
    pub(super) running: &'static str,
    /// Result of a call that hadn't started, for the model.
    pub(super) not_started: &'static str,
    /// Denial of the pending approval request, for front ends.
    pub(super) denied: &'static str,
    /// The decider, for the log.
    pub(super) decider: Decider,
}

/// The user aborts the run.
pub(super) const ABORT: TurnInterruption = TurnInterruption {
    reason: "stopped by the user",
    running: "aborted: the user stopped it; it may have had effects",
    not_started: "not run: the user stopped the agent",
    denied: "the user stopped the agent",
    decider: Decider::User,
};

/// The agent's task ends while its run goes on.
pub(super) const TASK_END: TurnInterruption = TurnInterruption {
    reason: "the task ended",
    running: "aborted: the task ended; it may have had effects",
    not_started: "not run: the task ended",
    denied: "the task ended",
    decider: Decider::Nobody,
};

/// The user steers immediately.
pub(super) const STEER_NOW: TurnInterruption = TurnInterruption {
    reason: "the user steered",
    running: "aborted: the user steered; it may have had effects",
    not_started: SKIPPED,
    denied: "the user steered",
    decider: Decider::Steering,
};

/// An answer whose calls are being executed.
#[derive(Debug)]
pub(super) struct ToolPhase {
    pub(super) answer: Arc<Message>,
    pub(super) planned_calls: VecDeque<PlannedCall>,
    pub(super) pending_approval: Option<ApprovalStep>,
    pub(super) running: Vec<ToolCall>,
    pub(super) results: Vec<Arc<Message>>,
    pub(super) skipped_count: usize,
    /// Number of calls that were stopped while running.
    pub(super) stopped_count: usize,
}

/// A call that waits for approval.
#[derive(Debug)]
pub(super) struct ApprovalStep {
    pub(super) call: ToolCall,
    /// The session rule that the request offers.
    pub(super) rule: String,
}

impl ToolPhase {
    /// Creates the phase of an answer whose calls aren't planned yet.
    pub(super) fn new(answer: Arc<Message>, calls: Vec<ToolCall>) -> Self {
        let decision = || CallDecision::Refuse { reason: ABORT.not_started.to_owned(), details: None };
        let planned_calls =
            calls.into_iter().map(|call| PlannedCall { call, decision: decision() }).collect();
        let (running, results) = (Vec::new(), Vec::new());
        Self {
            answer,
            planned_calls,
            pending_approval: None,
            running,
            results,
            skipped_count: 0,
            stopped_count: 0,
        }
    }

    /// Returns the calls that haven't started.
    pub(super) fn calls(&self) -> Vec<ToolCall> {
        self.planned_calls.iter().map(|planned| planned.call.clone()).collect()
    }

    /// Returns whether the answer made calls; valid once all of them have results.
    pub(super) fn had_calls(&self) -> bool {
        !self.results.is_empty()
    }

    /// Returns whether this call waits for approval.
    pub(super) fn asks(&self, call: &CallId, arguments: &Value) -> bool {
        let is_match =
            |approval: &ApprovalStep| approval.call.id == *call && approval.call.arguments == *arguments;
        self.pending_approval.as_ref().is_some_and(is_match)
    }

    /// Returns the calls that will need approval.
    pub(super) fn calls_awaiting_approval(&self) -> impl Iterator<Item = &ToolCall> {
        let approval =
            self.planned_calls.iter().filter(|planned| matches!(planned.decision, CallDecision::Ask { .. }));
        approval.map(|planned| &planned.call)
    }

    pub(super) fn is_running(&self, call: &CallId) -> bool {
        self.running.iter().any(|running| running.id == *call)
    }

    pub(super) fn receipt(&self) -> DeliveryReceipt {
        DeliveryReceipt {
            after_calls: self.results.len() - self.skipped_count,
            skipped_calls: self.skipped_count,
            stopped_calls: self.stopped_count,
            cut_off: matches!(&*self.answer, Message::Assistant(answer) if answer.stop_reason == StopReason::Aborted),
            ..DeliveryReceipt::default()
        }
    }

    pub(super) fn into_parts(self) -> (Arc<Message>, Vec<Arc<Message>>) {
        (self.answer, self.results)
    }

    /// Removes the next calls that start together: several read-only calls, or one other call.
    pub(super) fn next_group(&mut self, parallel_tools: Switch) -> Vec<ToolCall> {
        let reads = |planned: &PlannedCall| planned.decision == CallDecision::Run(Access::Reads);
        let first = self.planned_calls.pop_front().into_iter();
        let mut group: Vec<PlannedCall> = first.collect();
        while parallel_tools == Switch::On
            && group.len() < MAX_GROUP
            && group.iter().all(reads)
            && self.planned_calls.front().is_some_and(reads)
        {
            group.extend(self.planned_calls.pop_front());
        }
        group.into_iter().map(|planned| planned.call).collect()
    }
}
