//! The compaction machine: a pure state machine from inputs to effects, next to the turn machine.
//!
//! It decides when to compact a context and how to use the summary. At most one summary is in progress at a
//! time, of the older part of the context or of an abandoned branch. A finished compaction is submitted to
//! the turn machine, which appends it between two turns. The driver performs the effects in order. The
//! machine has no clock and does no I/O: time and the conversation come with the inputs; replies to callers
//! are effects with an id.
//!
//! [`input`] and [`effect`] define inputs and effects. `context` decides on compactions; this file handles
//! the job, branch summaries and the end of a run.

mod context;
pub(crate) mod effect;
pub(crate) mod input;
#[cfg(test)]
mod tests;

use tiller_core::event::{CompactionReason, CompactionResult, EventKind};
use tiller_core::id::EntryId;
use tiller_core::setting::{CompactionStrategy, Switch};
use tiller_core::unit::UnixMs;
use tiller_session::BranchSummaryText;

use super::{BranchPlan, CompactionError, CompactionOptions, CompactionPlan, ContextSize, SummaryRequest};
use crate::approvals::Approver;
use crate::handle::{SummaryInProgress, SummarySubject};
use crate::retry::TOO_LONG_HELP;
use crate::turn::{NoCompactionReason, RetryAnnouncement};

pub(crate) use effect::{SummaryCost, SummaryEffect, SummaryError};
pub(crate) use input::{
    BranchTarget, CallerId, CompactionPoint, ConversationFacts, JobNumber, PlanRequest, StopOrigin,
    SummaryEvent, SummaryInput,
};

#[derive(Debug)]
pub(crate) struct CompactionMachine {
    options: CompactionOptions,
    phase: SummaryPhase,
    /// Number of the newest job.
    job: JobNumber,
    /// Size of a context that compaction failed to reduce.
    futile_size: Option<ContextSize>,
    /// True if a run has ended and its last event is delayed until a compaction ends.
    is_settle_deferred: bool,
}

#[derive(Debug)]
enum SummaryPhase {
    Idle,
    /// A job is creating a summary.
    Summarizing(Box<RunningSummary>),
    /// The summary failed; the user is asked for a decision.
    AwaitingDecision(Box<PendingCompaction>, CompactionError),
    /// The turn machine has the entry; the caller waits until it is appended.
    Ready(Option<CallerId>),
}

#[derive(Debug)]
struct RunningSummary {
    since: UnixMs,
    /// The latest retry of a failed request.
    retry: Option<RetryAnnouncement>,
    purpose: SummaryPurpose,
}

#[derive(Debug)]
enum SummaryPurpose {
    Compaction(Box<PendingCompaction>),
    Branch(Box<PendingSwitch>),
}

/// A compaction in progress.
#[derive(Debug)]
struct PendingCompaction {
    reason: CompactionReason,
    plan: Box<CompactionPlan>,
    instructions: Option<String>,
    caller: Option<CallerId>,
    /// The newest compaction on the path when this one started.
    after: Option<EntryId>,
    cost: SummaryCost,
}

/// A switch to another branch that waits for the summary.
#[derive(Debug)]
struct PendingSwitch {
    target: BranchTarget,
    plan: BranchPlan,
    caller: CallerId,
    cost: SummaryCost,
}

impl CompactionMachine {
    #[must_use]
    pub(crate) fn new(options: CompactionOptions) -> Self {
        Self { options, phase: SummaryPhase::Idle, job: 0, futile_size: None, is_settle_deferred: false }
    }

    #[must_use]
    pub(crate) fn options(&self) -> &CompactionOptions {
        &self.options
    }

    /// Turns automatic compaction on or off.
    pub(crate) fn set_automatic(&mut self, automatic: Switch) {
        self.options.automatic = automatic;
        self.forget_failure();
    }

    /// Clears the record of a failed reduction, because the context or the model's window has changed.
    pub(crate) fn forget_failure(&mut self) {
        self.futile_size = None;
    }

    /// Returns true while a branch is being summarized before it is left.
    #[must_use]
    pub(crate) fn is_summarizing_branch(&self) -> bool {
        matches!(&self.phase, SummaryPhase::Summarizing(running) if matches!(running.purpose, SummaryPurpose::Branch(_)))
    }

    #[must_use]
    pub(crate) fn is_compacting(&self) -> bool {
        !matches!(self.phase, SummaryPhase::Idle) && !self.is_summarizing_branch()
    }

    /// Returns true while the user is asked about a failed summary.
    #[must_use]
    pub(crate) fn is_awaiting_decision(&self) -> bool {
        matches!(self.phase, SummaryPhase::AwaitingDecision(..))
    }

    /// Returns the first entry that the compaction in progress keeps.
    #[must_use]
    pub(crate) fn first_kept(&self) -> Option<&EntryId> {
        match &self.phase {
            SummaryPhase::Idle | SummaryPhase::Ready(_) => None,
            SummaryPhase::AwaitingDecision(pending, _) => Some(pending.plan.first_kept()),
            SummaryPhase::Summarizing(running) => match &running.purpose {
                SummaryPurpose::Compaction(pending) => Some(pending.plan.first_kept()),
                SummaryPurpose::Branch(_) => None,
            },
        }
    }

    /// Returns the progress for front ends.
    #[must_use]
    pub(crate) fn status(&self, now: UnixMs) -> Option<SummaryInProgress> {
        match &self.phase {
            SummaryPhase::Idle | SummaryPhase::Ready(_) => None,
            SummaryPhase::Summarizing(running) => {
                let of = match &running.purpose {
                    SummaryPurpose::Compaction(pending) => SummarySubject::Context(pending.reason),
                    SummaryPurpose::Branch(_) => SummarySubject::Branch,
                };
                let (since, retry) = (running.since, running.retry.clone());
                Some(SummaryInProgress { of, since, retry, failed: None })
            }
            SummaryPhase::AwaitingDecision(pending, error) => {
                let (of, failed) = (SummarySubject::Context(pending.reason), Some(error.to_string()));
                Some(SummaryInProgress { of, since: now, retry: None, failed })
            }
        }
    }

    /// Applies an input and returns its effects.
    pub(crate) fn step(&mut self, input: SummaryInput) -> Vec<SummaryEffect> {
        let mut effects = Vec::new();
        let out = &mut effects;
        match input {
            SummaryInput::CheckContext { point, facts } => self.check_context(point, &facts, out),
            SummaryInput::Overflow => self.overflow(out),
            SummaryInput::Compact { instructions, caller } => {
                self.request(self.options, instructions, caller, out);
            }
            SummaryInput::Truncate { caller } => {
                let strategy = CompactionStrategy::Truncate;
                self.request(CompactionOptions { strategy, ..self.options }, None, caller, out);
            }
            SummaryInput::Planned { request, plan, facts } => self.planned(request, plan, &facts, out),
            SummaryInput::LeaveBranch { plan, target, instructions, caller, facts } => {
                let cost = SummaryCost::zero(facts.model);
                self.leave_branch(PendingSwitch { target, plan, caller, cost }, instructions, facts.now, out);
            }
            SummaryInput::Job { number, event, facts } if number == self.job => {
                self.job_event(event, &facts, out);
            }
            // From an aborted job.
            SummaryInput::Job { .. } => {}
            SummaryInput::Decide { choice, facts } => self.decide(choice, &facts, out),
            SummaryInput::ApproverLeft { facts } => self.decide_alone(&facts, out),
            SummaryInput::Stop(origin) => self.stop(origin, out),
            SummaryInput::Appended(result) => self.appended(result, out),
            SummaryInput::StoreFailed { reason } => {
                self.is_settle_deferred = false;
                self.end_ready(Err(SummaryError::Store(reason)), out);
            }
            SummaryInput::RunSettled { approver: Approver::Absent } if self.is_compacting() => {
                // The process ends with the run, and the cost of the summary would be lost.
                self.is_settle_deferred = true;
            }
            SummaryInput::RunSettled { .. } => out.push(SummaryEffect::Settle),
            SummaryInput::Drained if self.is_compacting() => {}
            SummaryInput::Drained | SummaryInput::RunStarted => {
                out.extend(std::mem::take(&mut self.is_settle_deferred).then_some(SummaryEffect::Settle));
            }
        }
        effects
    }

    /// Starts a job in the next phase.
    fn start_job(
        &mut self,
        requests: Vec<SummaryRequest>,
        instructions: Option<String>,
        (purpose, since): (SummaryPurpose, UnixMs),
        out: &mut Vec<SummaryEffect>,
    ) {
        self.job += 1;
        self.phase = SummaryPhase::Summarizing(Box::new(RunningSummary { since, retry: None, purpose }));
        out.push(SummaryEffect::StartJob { number: self.job, requests, instructions });
    }

    /// Applies an event of the current job.
    fn job_event(&mut self, event: SummaryEvent, facts: &ConversationFacts, out: &mut Vec<SummaryEffect>) {
        let SummaryPhase::Summarizing(running) = &mut self.phase else { return };
        match event {
            SummaryEvent::Usage(usage) => running.cost().usage.add(&usage),
            SummaryEvent::Retry { attempt, max_attempts, delay, reason: error_message } => {
                let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
                let retry =
                    RetryAnnouncement::new((attempt, max_attempts), facts.now, delay_ms, &error_message);
                running.retry = Some(retry);
                let event = EventKind::SummaryRetry { attempt, max_attempts, delay_ms, error_message };
                out.push(SummaryEffect::Emit(event));
            }
            SummaryEvent::Ended(answers) => {
                if let SummaryPhase::Summarizing(running) = self.take_phase() {
                    match running.purpose {
                        SummaryPurpose::Compaction(pending) => self.summarized(pending, answers, facts, out),
                        SummaryPurpose::Branch(switch) => switch_branch(*switch, answers, out),
                    }
                }
            }
        }
    }

    /// Starts summarizing the abandoned branch. Stops a summary of its context, which would be useless.
    fn leave_branch(
        &mut self,
        switch: PendingSwitch,
        instructions: Option<String>,
        now: UnixMs,
        out: &mut Vec<SummaryEffect>,
    ) {
        self.stop(StopOrigin::Command, out);
        self.end_ready(Err(SummaryError::Failed(CompactionError::Outdated)), out);
        out.push(SummaryEffect::Emit(EventKind::BranchSummaryStart));
        let (prompt, messages) = switch.plan.prompt();
        let requests = vec![SummaryRequest { prompt, messages: messages.to_vec(), unloaded: 0 }];
        self.start_job(
            requests,
            without_blank(instructions),
            (SummaryPurpose::Branch(Box::new(switch)), now),
            out,
        );
    }

    /// Stops the summary in progress and everything that waits for it. A submitted compaction is kept.
    fn stop(&mut self, origin: StopOrigin, out: &mut Vec<SummaryEffect>) {
        let pending = match self.take_phase() {
            SummaryPhase::Idle => return,
            ready @ SummaryPhase::Ready(_) => {
                self.phase = ready;
                return;
            }
            SummaryPhase::AwaitingDecision(pending, _) => pending,
            SummaryPhase::Summarizing(running) => {
                out.push(SummaryEffect::AbortJob);
                match running.purpose {
                    SummaryPurpose::Compaction(pending) => pending,
                    SummaryPurpose::Branch(switch) => {
                        return fail_branch_summary(&switch, CompactionError::Stopped, out);
                    }
                }
            }
        };
        let is_end_emitted =
            origin == StopOrigin::TurnMachine && pending.reason == CompactionReason::Overflow;
        let end = end_without_entry(*pending, CompactionError::Stopped, out);
        out.extend((!is_end_emitted).then_some(end));
    }

    fn appended(&mut self, result: CompactionResult, out: &mut Vec<SummaryEffect>) {
        self.forget_failure();
        self.end_ready(Ok(result), out);
    }

    /// Replies to the caller of a submitted compaction.
    fn end_ready(&mut self, outcome: Result<CompactionResult, SummaryError>, out: &mut Vec<SummaryEffect>) {
        if let SummaryPhase::Ready(caller) = self.phase {
            self.phase = SummaryPhase::Idle;
            out.extend(caller.map(|caller| SummaryEffect::Reply { caller, outcome }));
        }
    }

    fn take_phase(&mut self) -> SummaryPhase {
        std::mem::replace(&mut self.phase, SummaryPhase::Idle)
    }
}

impl RunningSummary {
    fn cost(&mut self) -> &mut SummaryCost {
        match &mut self.purpose {
            SummaryPurpose::Compaction(pending) => &mut pending.cost,
            SummaryPurpose::Branch(switch) => &mut switch.cost,
        }
    }
}

/// Moves the leaf when the summary is complete, or reports its failure.
fn switch_branch(
    switch: PendingSwitch,
    answers: Result<Vec<String>, CompactionError>,
    out: &mut Vec<SummaryEffect>,
) {
    match answers.and_then(|answers| switch.plan.build_summary(&answers.concat())) {
        Ok((summary, details)) => {
            let (usage, made_by) = (switch.cost.nonzero(), Some(switch.cost.model.into()));
            let summary = BranchSummaryText { summary, details: Some(details), usage, made_by };
            let PendingSwitch { caller, target, .. } = switch;
            out.push(SummaryEffect::SwitchBranch { caller, target, summary });
        }
        Err(error) => fail_branch_summary(&switch, error, out),
    }
}

/// Reports the failure of a branch summary; the leaf doesn't move.
fn fail_branch_summary(switch: &PendingSwitch, error: CompactionError, out: &mut Vec<SummaryEffect>) {
    append_cost("branch_summary", &switch.cost, out);
    let aborted = error == CompactionError::Stopped;
    let error_message = (!aborted).then(|| error.to_string());
    out.push(SummaryEffect::Emit(EventKind::BranchSummaryEnd { aborted, error_message }));
    out.push(SummaryEffect::Reply { caller: switch.caller, outcome: Err(SummaryError::Failed(error)) });
}

/// Appends the cost of an unused summary, if it has any.
fn append_cost(kind: &'static str, cost: &SummaryCost, out: &mut Vec<SummaryEffect>) {
    if cost.nonzero().is_some() {
        out.push(SummaryEffect::AppendCost { kind, cost: cost.clone() });
    }
}

/// Ends a compaction without an entry: appends its cost, replies to its caller, and returns the effect that
/// reports it to the turn machine.
fn end_without_entry(
    pending: PendingCompaction,
    error: CompactionError,
    out: &mut Vec<SummaryEffect>,
) -> SummaryEffect {
    append_cost("compaction", &pending.cost, out);
    let reason = pending.reason;
    let cause = match &error {
        CompactionError::Stopped => NoCompactionReason::Stopped,
        error if reason == CompactionReason::Overflow => NoCompactionReason::Failed(overflow_error(error)),
        error => NoCompactionReason::Failed(error.to_string()),
    };
    let reply = |caller| SummaryEffect::Reply { caller, outcome: Err(SummaryError::Failed(error)) };
    out.extend(pending.caller.map(reply));
    SummaryEffect::NotCompacted { reason, cause }
}

/// Returns the error of a run whose context doesn't fit and can't be reduced, with the next step.
fn overflow_error(error: &CompactionError) -> String {
    let reason = match error {
        CompactionError::Nothing { .. } => " and can't be shortened".to_owned(),
        error => format!(": {error}"),
    };
    format!("the conversation is longer than the model's window{reason}; {TOO_LONG_HELP}")
}

fn without_blank(instructions: Option<String>) -> Option<String> {
    instructions.filter(|text| !text.trim().is_empty())
}
