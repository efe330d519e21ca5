//! Execution of the calls of one answer: steps, the gaps between them, approvals.

use std::collections::HashMap;
use std::sync::Arc;
use tiller_core::setting::SteeringPoint;

use tiller_core::event::{Decider, Decision, DenialCause, EventKind, QueueKind, ToolOutcome};
use tiller_core::id::CallId;
use tiller_core::message::{Message, ToolCall, ToolResultMessage, UserBlock};
use tiller_session::EntryBody;
use tiller_session::entry::TillerEntry;

use super::effect::Effects;
use super::tool_phase::{ApprovalStep, SKIPPED, ToolPhase, TurnInterruption};
use super::{CallDecision, DeniedCall, Effect, Phase, PlannedCall, Turn};

impl Turn {
    /// Starts the next step, or ends the turn if no step is left. Every call of this function is a steering
    /// gap.
    pub(super) fn next_step(&mut self, mut phase: Box<ToolPhase>, out: &mut Effects) {
        loop {
            let steered = self.options.steering_point == SteeringPoint::BetweenTools
                && self.queue.has_waiting(QueueKind::Steer);
            if steered {
                self.skip_rest(&mut phase, out);
            }
            match phase.planned_calls.front().map(|planned| planned.decision.clone()) {
                None => return self.end_turn(phase, out),
                Some(CallDecision::Refuse { reason, details }) => {
                    let call = phase.planned_calls.pop_front().expect("a front was just seen").call;
                    out.emit(start_event(&call));
                    let result = ToolResultMessage { details, ..refusal(&call, &reason, out) };
                    self.answer(&mut phase, result, out);
                }
                Some(CallDecision::Deny(denied)) => {
                    let call = phase.planned_calls.pop_front().expect("a front was just seen").call;
                    self.deny(&mut phase, &call, denied, out);
                }
                Some(CallDecision::Granted { decider, rule }) => {
                    let call = phase.planned_calls.pop_front().expect("a front was just seen").call;
                    out.append(approval_entry(&call.id, &Decision::Once, rule, decider));
                    self.run(&mut phase, vec![call], out);
                    break;
                }
                Some(CallDecision::Ask { reason, rule }) => {
                    let call = phase.planned_calls.pop_front().expect("a front was just seen").call;
                    phase.pending_approval = Some(ApprovalStep { call: call.clone(), rule: rule.clone() });
                    out.effects.push(Effect::Ask { call, reason, rule });
                    break;
                }
                Some(CallDecision::Run(_)) => {
                    let calls = phase.next_group(self.options.parallel_tools);
                    for call in &calls {
                        out.append(approval_entry(&call.id, &Decision::Once, None, Decider::Mode));
                    }
                    self.run(&mut phase, calls, out);
                    break;
                }
            }
        }
        self.phase = Phase::RunningTools(phase);
    }

    /// Applies the decisions on the calls and starts the first step.
    pub(super) fn run_plan(&mut self, plan: Vec<PlannedCall>, out: &mut Effects) {
        match std::mem::take(&mut self.phase) {
            Phase::Planning(mut phase) => {
                self.is_looping |= plan.iter().any(PlannedCall::is_denied_loop);
                phase.planned_calls = plan.into();
                self.next_step(phase, out);
            }
            other => self.phase = other,
        }
    }

    pub(super) fn store_result(&mut self, result: ToolResultMessage, out: &mut Effects) {
        let mut phase = match std::mem::take(&mut self.phase) {
            Phase::RunningTools(phase) => phase,
            other => {
                self.phase = other;
                return;
            }
        };
        let started_before = phase.running.len();
        phase.running.retain(|call| call.id != result.tool_call_id);
        if phase.running.len() < started_before {
            self.answer(&mut phase, result, out);
        }
        if phase.running.is_empty() && phase.pending_approval.is_none() {
            self.next_step(phase, out);
        } else {
            self.phase = Phase::RunningTools(phase);
        }
    }

    pub(super) fn decide_approval(
        &mut self,
        call: &CallId,
        decision: (Decision, Decider, Option<String>),
        out: &mut Effects,
    ) {
        match std::mem::take(&mut self.phase) {
            Phase::RunningTools(mut phase)
                if phase.pending_approval.as_ref().is_some_and(|approval| approval.call.id == *call) =>
            {
                let approval = phase.pending_approval.take().expect("the guard saw it");
                self.resolve(&mut phase, approval, decision, out);
                if phase.running.is_empty() {
                    self.next_step(phase, out);
                } else {
                    self.phase = Phase::RunningTools(phase);
                }
            }
            phase => self.phase = phase,
        }
    }

    /// Runs a call that was about to request approval and is already allowed. The log records the decider.
    pub(super) fn waive_approval(
        &mut self,
        call: &CallId,
        grant: Option<(Decider, Option<String>)>,
        out: &mut Effects,
    ) {
        match std::mem::take(&mut self.phase) {
            Phase::RunningTools(mut phase) => {
                if let Some(approval) = phase.pending_approval.take_if(|approval| approval.call.id == *call) {
                    let (decider, rule) = grant.unwrap_or((Decider::Mode, None));
                    out.append(approval_entry(&approval.call.id, &Decision::Once, rule, decider));
                    self.run(&mut phase, vec![approval.call], out);
                }
                self.phase = Phase::RunningTools(phase);
            }
            phase => self.phase = phase,
        }
    }

    /// Denies a call that was about to request approval.
    pub(super) fn deny_approval(&mut self, call: &CallId, denied: &DeniedCall, out: &mut Effects) {
        match std::mem::take(&mut self.phase) {
            Phase::RunningTools(mut phase)
                if phase.pending_approval.as_ref().is_some_and(|approval| approval.call.id == *call) =>
            {
                let call = phase.pending_approval.take().expect("the guard saw it").call;
                self.is_looping |= denied.cause == DenialCause::Loop;
                self.deny(&mut phase, &call, denied.clone(), out);
                self.next_step(phase, out);
            }
            phase => self.phase = phase,
        }
    }

    fn deny(&mut self, phase: &mut ToolPhase, call: &ToolCall, denied: DeniedCall, out: &mut Effects) {
        let (result, decider) = (denied.result_text(), denied.decider());
        let decision = Decision::Deny { reason: result.clone() };
        out.append(approval_entry(&call.id, &decision, denied.rule.clone(), decider));
        out.emit(denied.event(call));
        self.answer_unrun(phase, call, &result, out);
    }

    fn resolve(
        &mut self,
        phase: &mut ToolPhase,
        approval: ApprovalStep,
        (decision, decider, rule): (Decision, Decider, Option<String>),
        out: &mut Effects,
    ) {
        let ApprovalStep { call, rule: offered } = approval;
        let rule = rule.or_else(|| (decision == Decision::Session).then_some(offered));
        out.append(approval_entry(&call.id, &decision, rule, decider));
        out.emit(EventKind::ApprovalResolved { tool_call_id: call.id.clone(), decision: decision.clone() });
        match decision {
            Decision::Once | Decision::Session => self.run(phase, vec![call], out),
            Decision::Deny { reason } => self.answer_unrun(phase, &call, &format!("denied: {reason}"), out),
        }
    }

    /// Denies the pending call because of a steering message.
    pub(super) fn deny_for_steering(&mut self, out: &mut Effects) {
        match std::mem::take(&mut self.phase) {
            Phase::RunningTools(mut phase) if phase.pending_approval.is_some() => {
                let call = phase.pending_approval.take().expect("the guard saw it").call;
                let decision = Decision::Deny { reason: "the user steered".to_owned() };
                out.append(approval_entry(&call.id, &decision, None, Decider::Steering));
                out.emit(EventKind::ApprovalResolved { tool_call_id: call.id.clone(), decision });
                phase.skipped_count += 1;
                self.answer_unrun(&mut phase, &call, SKIPPED, out);
                self.next_step(phase, out);
            }
            other => self.phase = other,
        }
    }

    fn run(&mut self, phase: &mut ToolPhase, calls: Vec<ToolCall>, out: &mut Effects) {
        for call in &calls {
            out.emit(start_event(call));
        }
        phase.running.clone_from(&calls);
        out.effects.push(Effect::Run { turn: self.turn, calls });
    }

    fn skip_rest(&mut self, phase: &mut ToolPhase, out: &mut Effects) {
        phase.skipped_count += phase.planned_calls.len();
        self.refuse_rest(phase, SKIPPED, out);
    }

    pub(super) fn refuse_rest(&mut self, phase: &mut ToolPhase, reason: &str, out: &mut Effects) {
        while let Some(planned) = phase.planned_calls.pop_front() {
            self.answer_unrun(phase, &planned.call, reason, out);
        }
    }

    /// Adds a result to every call without one: the call was stopped, and its partial output follows.
    pub(super) fn stop_calls(
        &mut self,
        phase: &mut ToolPhase,
        stop: &TurnInterruption,
        mut partial_results: HashMap<CallId, ToolOutcome>,
        out: &mut Effects,
    ) {
        phase.stopped_count += phase.running.len();
        for call in std::mem::take(&mut phase.running) {
            let mut result = refusal(&call, stop.running, out);
            if let Some(ToolOutcome { content, details }) = partial_results.remove(&call.id) {
                result.content.extend(content);
                result.details = details;
            }
            self.answer(phase, result, out);
        }
        if let Some(ApprovalStep { call, .. }) = phase.pending_approval.take() {
            let decision = Decision::Deny { reason: stop.denied.to_owned() };
            out.append(approval_entry(&call.id, &decision, None, stop.decider));
            out.emit(EventKind::ApprovalResolved { tool_call_id: call.id.clone(), decision });
            phase.skipped_count += 1;
            self.answer_unrun(phase, &call, stop.not_started, out);
        }
        phase.skipped_count += phase.planned_calls.len();
        self.refuse_rest(phase, stop.not_started, out);
    }

    /// Adds the result of a call that never ran. Front ends still get its start and end.
    fn answer_unrun(&mut self, phase: &mut ToolPhase, call: &ToolCall, reason: &str, out: &mut Effects) {
        out.emit(start_event(call));
        self.answer(phase, refusal(call, reason, out), out);
    }

    fn answer(&mut self, phase: &mut ToolPhase, result: ToolResultMessage, out: &mut Effects) {
        let event = EventKind::ToolExecutionEnd {
            tool_call_id: result.tool_call_id.clone(),
            tool_name: result.tool_name.clone(),
            result: ToolOutcome::from(&result),
            is_error: result.is_error,
        };
        let message = Arc::new(Message::ToolResult(result));
        out.append(EntryBody::message(Arc::clone(&message)));
        out.emit(event);
        out.emit(EventKind::MessageStart { message: Arc::clone(&message) });
        out.emit(EventKind::MessageEnd { message: Arc::clone(&message) });
        self.run_messages.push(Arc::clone(&message));
        phase.results.push(message);
    }
}

fn approval_entry(call: &CallId, decision: &Decision, rule: Option<String>, decider: Decider) -> EntryBody {
    EntryBody::from_tiller(&TillerEntry::Approval {
        tool_call_id: call.clone(),
        decision: decision.name().to_owned(),
        rule,
        by: decider.name().to_owned(),
    })
}

fn start_event(call: &ToolCall) -> EventKind {
    EventKind::ToolExecutionStart {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        args: call.arguments.clone(),
    }
}

fn refusal(call: &ToolCall, reason: &str, out: &Effects) -> ToolResultMessage {
    ToolResultMessage {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content: vec![UserBlock::Text { text: reason.to_owned() }],
        details: None,
        is_error: true,
        timestamp: out.now,
    }
}
