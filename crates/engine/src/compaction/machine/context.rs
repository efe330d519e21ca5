//! Compactions of the context: the trigger, the plan, and the use of the summary.

use tiller_core::event::{CompactionChoice, CompactionReason, EventKind};
use tiller_core::setting::CompactionStrategy;
use tiller_core::unit::Tokens;
use tiller_session::entry::Compaction;

use super::{
    CallerId, CompactionMachine, CompactionPoint, ConversationFacts, PendingCompaction, PlanRequest,
    StopOrigin, SummaryCost, SummaryEffect, SummaryError, SummaryPhase, SummaryPurpose, append_cost,
    end_without_entry, overflow_error, without_blank,
};
use crate::approvals::Approver;
use crate::compaction::{CompactionError, CompactionOptions, CompactionPlan, to_result};
use crate::turn::NoCompactionReason;

/// Number of messages by which a context must grow before a failed compaction is retried.
const MORE_MESSAGES: usize = 8;

/// The same growth in tokens, as a divisor of the window.
const MORE_OF_WINDOW: u64 = 16;

impl CompactionMachine {
    /// Plans a compaction if the context has reached its limit.
    pub(super) fn check_context(
        &mut self,
        point: CompactionPoint,
        facts: &ConversationFacts,
        out: &mut Vec<SummaryEffect>,
    ) {
        let truncates = self.options.strategy == CompactionStrategy::Truncate;
        // Truncation is immediate, so it is done directly before a request.
        let is_due_point =
            point == CompactionPoint::Request || (!truncates && facts.approver == Approver::Present);
        // A context that can't be sent is compacted first, like one that the provider rejected.
        let is_sendable = truncates || facts.is_loaded;
        if is_due_point
            && is_sendable
            && matches!(self.phase, SummaryPhase::Idle)
            && self.options.is_due(facts.size, facts.window)
            && !self.is_futile(facts)
        {
            self.plan(CompactionReason::Threshold, self.options, out);
        }
    }

    /// Compacts the context because a request was longer than the window; the run waits.
    pub(super) fn overflow(&mut self, out: &mut Vec<SummaryEffect>) {
        const REASON: CompactionReason = CompactionReason::Overflow;
        match self.take_phase() {
            // A summary in progress can be used.
            SummaryPhase::Summarizing(mut running) => {
                if let SummaryPurpose::Compaction(pending) = &mut running.purpose {
                    pending.reason = REASON;
                }
                self.phase = SummaryPhase::Summarizing(running);
            }
            SummaryPhase::AwaitingDecision(mut pending, error) => {
                pending.reason = REASON;
                self.ask(pending, error, out);
            }
            phase @ (SummaryPhase::Idle | SummaryPhase::Ready(_)) => {
                self.phase = phase;
                // The turn machine appends a submitted compaction before it waits for another one.
                self.end_ready(Err(SummaryError::Failed(CompactionError::Outdated)), out);
                self.plan(REASON, self.options, out);
            }
        }
    }

    /// Compacts the context on the user's request. Replaces an automatic compaction in progress, whose
    /// summary doesn't follow the user's instructions.
    pub(super) fn request(
        &mut self,
        options: CompactionOptions,
        instructions: Option<String>,
        caller: CallerId,
        out: &mut Vec<SummaryEffect>,
    ) {
        match &self.phase {
            SummaryPhase::Idle => {}
            SummaryPhase::Summarizing(running) if is_threshold(&running.purpose) => {
                self.stop(StopOrigin::Command, out);
            }
            SummaryPhase::Summarizing(_) | SummaryPhase::AwaitingDecision(..) | SummaryPhase::Ready(_) => {
                return out.push(SummaryEffect::Reply { caller, outcome: Err(SummaryError::InProgress) });
            }
        }
        let instructions = without_blank(instructions);
        let (reason, caller) = (CompactionReason::Manual, Some(caller));
        out.push(SummaryEffect::Plan(PlanRequest { reason, options, instructions, caller }));
    }

    fn plan(&self, reason: CompactionReason, options: CompactionOptions, out: &mut Vec<SummaryEffect>) {
        out.push(SummaryEffect::Plan(PlanRequest { reason, options, instructions: None, caller: None }));
    }

    /// Starts a planned compaction.
    pub(super) fn planned(
        &mut self,
        request: PlanRequest,
        plan: Result<Box<CompactionPlan>, CompactionError>,
        facts: &ConversationFacts,
        out: &mut Vec<SummaryEffect>,
    ) {
        let PlanRequest { reason, options, instructions, caller } = request;
        let start = SummaryEffect::Emit(EventKind::CompactionStart { reason });
        let plan = match (plan, reason) {
            (Ok(plan), _) => plan,
            (Err(_), CompactionReason::Threshold) => return,
            (Err(error), CompactionReason::Manual) => {
                let reply =
                    |caller| SummaryEffect::Reply { caller, outcome: Err(SummaryError::Failed(error)) };
                return out.extend(caller.map(reply));
            }
            (Err(error), CompactionReason::Overflow) => {
                // The run's error is in the end of the compaction only.
                let cause = NoCompactionReason::Failed(overflow_error(&error));
                return out.extend([start, SummaryEffect::NotCompacted { reason, cause }]);
            }
        };
        out.push(start);
        let (after, cost) = (facts.compaction.clone(), SummaryCost::zero(facts.model.clone()));
        let pending = Box::new(PendingCompaction { reason, plan, instructions, caller, after, cost });
        match (options.strategy, reason) {
            (CompactionStrategy::Truncate, CompactionReason::Threshold) => {
                self.truncate_before_request(pending, facts, out);
            }
            (CompactionStrategy::Truncate, CompactionReason::Manual | CompactionReason::Overflow) => {
                self.truncate(pending, facts, out);
            }
            (CompactionStrategy::Summarize | CompactionStrategy::Off, _) => {
                self.summarize(pending, facts, out);
            }
        }
    }

    /// Truncates immediately, because the next request must have the smaller context; the turn machine's next
    /// gap would be too late.
    fn truncate_before_request(
        &mut self,
        pending: Box<PendingCompaction>,
        facts: &ConversationFacts,
        out: &mut Vec<SummaryEffect>,
    ) {
        match pending.plan.truncation_entry() {
            Ok(entry) => {
                let end = EventKind::CompactionEnd {
                    reason: pending.reason,
                    result: Some(Box::new(to_result(&entry))),
                    aborted: false,
                    will_retry: false,
                    error_message: None,
                };
                out.extend([SummaryEffect::Append(entry), SummaryEffect::Emit(end)]);
            }
            Err(error) => self.fail(*pending, error, facts, out),
        }
    }

    /// Starts the job. The cost of an earlier attempt by another model is appended separately.
    fn summarize(
        &mut self,
        mut pending: Box<PendingCompaction>,
        facts: &ConversationFacts,
        out: &mut Vec<SummaryEffect>,
    ) {
        if pending.cost.model != facts.model {
            append_cost("compaction", &pending.cost, out);
            pending.cost = SummaryCost::zero(facts.model.clone());
        }
        let (requests, instructions) = (pending.plan.requests(), pending.instructions.clone());
        self.start_job(requests, instructions, (SummaryPurpose::Compaction(pending), facts.now), out);
    }

    /// Truncates without a request.
    fn truncate(
        &mut self,
        pending: Box<PendingCompaction>,
        facts: &ConversationFacts,
        out: &mut Vec<SummaryEffect>,
    ) {
        match pending.plan.truncation_entry() {
            Ok(entry) => self.submit(pending, entry, facts, out),
            Err(error) => self.fail(*pending, error, facts, out),
        }
    }

    /// Uses a finished summary. After a failure the user is asked; without an approver the context is
    /// truncated, so that the run continues.
    pub(super) fn summarized(
        &mut self,
        pending: Box<PendingCompaction>,
        answers: Result<Vec<String>, CompactionError>,
        facts: &ConversationFacts,
        out: &mut Vec<SummaryEffect>,
    ) {
        let error = match answers.and_then(|answers| pending.plan.summary_entry(&answers)) {
            Ok(entry) => return self.submit(pending, entry, facts, out),
            Err(error) => error,
        };
        if !error.is_summary_failure() {
            return self.fail(*pending, error, facts, out);
        }
        match (facts.approver, pending.reason) {
            (Approver::Present, _) => self.ask(pending, error, out),
            (Approver::Absent, CompactionReason::Manual) => self.fail(*pending, error, facts, out),
            (Approver::Absent, CompactionReason::Threshold | CompactionReason::Overflow) => {
                out.push(SummaryEffect::Warn(format!(
                    "the summary failed ({error}); the older part of the conversation is dropped instead"
                )));
                self.truncate(pending, facts, out);
            }
        }
    }

    fn ask(&mut self, pending: Box<PendingCompaction>, error: CompactionError, out: &mut Vec<SummaryEffect>) {
        out.push(SummaryEffect::Emit(EventKind::CompactionFailed {
            reason: pending.reason,
            error_message: error.to_string(),
            choices: CompactionChoice::ALL.to_vec(),
        }));
        self.phase = SummaryPhase::AwaitingDecision(pending, error);
    }

    /// Applies the user's decision on a failed summary.
    pub(super) fn decide(
        &mut self,
        choice: CompactionChoice,
        facts: &ConversationFacts,
        out: &mut Vec<SummaryEffect>,
    ) {
        let (pending, error) = match self.take_phase() {
            SummaryPhase::AwaitingDecision(pending, error) => (pending, error),
            phase @ (SummaryPhase::Idle | SummaryPhase::Summarizing(_) | SummaryPhase::Ready(_)) => {
                self.phase = phase;
                return;
            }
        };
        match choice {
            CompactionChoice::Retry => {
                out.push(SummaryEffect::Emit(EventKind::CompactionStart { reason: pending.reason }));
                self.summarize(pending, facts, out);
            }
            CompactionChoice::Truncate => self.truncate(pending, facts, out),
            CompactionChoice::GoOn => self.fail(*pending, error, facts, out),
        }
    }

    /// Decides on a failed summary without an approver.
    pub(super) fn decide_alone(&mut self, facts: &ConversationFacts, out: &mut Vec<SummaryEffect>) {
        if let SummaryPhase::AwaitingDecision(pending, _) = &self.phase {
            let choice = match pending.reason {
                CompactionReason::Manual => CompactionChoice::GoOn,
                CompactionReason::Threshold | CompactionReason::Overflow => CompactionChoice::Truncate,
            };
            self.decide(choice, facts, out);
        }
    }

    /// Submits the entry to the turn machine, unless the conversation has changed since.
    fn submit(
        &mut self,
        pending: Box<PendingCompaction>,
        mut entry: Compaction,
        facts: &ConversationFacts,
        out: &mut Vec<SummaryEffect>,
    ) {
        if !facts.is_first_kept_on_path || pending.after != facts.compaction {
            return self.fail(*pending, CompactionError::Outdated, facts, out);
        }
        let PendingCompaction { reason, caller, cost, .. } = *pending;
        entry.usage = cost.nonzero();
        // A truncation without a request has no author.
        entry.made_by = entry.usage.as_ref().map(|_| cost.model.into());
        self.phase = SummaryPhase::Ready(caller);
        out.push(SummaryEffect::Submit { reason, compaction: entry });
    }

    /// Ends a failed compaction.
    fn fail(
        &mut self,
        pending: PendingCompaction,
        error: CompactionError,
        facts: &ConversationFacts,
        out: &mut Vec<SummaryEffect>,
    ) {
        if error != CompactionError::Outdated && error != CompactionError::Stopped {
            self.futile_size = Some(facts.size);
        }
        let end = end_without_entry(pending, error, out);
        out.push(end);
    }

    /// Returns true if the context has grown little since it could not be reduced.
    fn is_futile(&self, facts: &ConversationFacts) -> bool {
        self.futile_size.is_some_and(|futile| {
            facts.size.tokens <= futile.tokens + Tokens(facts.window.0 / MORE_OF_WINDOW)
                && facts.size.messages < futile.messages + MORE_MESSAGES
        })
    }
}

fn is_threshold(purpose: &SummaryPurpose) -> bool {
    matches!(purpose, SummaryPurpose::Compaction(pending) if pending.reason == CompactionReason::Threshold)
}
