//! Effects of the compaction machine: planning, jobs, replies, and submission to the turn machine.
//!
//! The machine in [`compaction`](crate::compaction) decides; `summarize_job` sends the requests.

use tiller_core::event::{CompactionChoice, CompactionResult, EventKind};
use tiller_core::id::EntryId;
use tiller_core::message::ModelRef;
use tiller_session::{EntryBody, NavigationTarget};
use tokio::time::Instant;

use super::Driver;
use super::clock::now;
use super::commands::send_reply;
use super::summarize_job::SummaryJob;
use super::summary_state::SummaryReply;
use crate::compaction::machine::{
    BranchTarget, CallerId, CompactionPoint, ConversationFacts, PlanRequest, StopOrigin, SummaryCost,
    SummaryEffect, SummaryError, SummaryEvent, SummaryInput,
};
use crate::compaction::{BranchPlan, CompactionInput, CompactionPlan, first_message};
use crate::handle::{AgentError, Reply, SessionSwitched};
use crate::turn::Input;

/// Applies an input to the turn machine: [`Driver::apply`], or [`Driver::step_next`] while effects are being
/// performed.
type ApplyToTurn = fn(&mut Driver, Input);

impl From<SummaryError> for AgentError {
    fn from(error: SummaryError) -> Self {
        match error {
            SummaryError::InProgress => Self::Summarizing,
            SummaryError::Failed(error) => error.into(),
            SummaryError::Store(reason) => Self::Store(reason),
        }
    }
}

impl Driver {
    /// Applies an input from a command or a job to the compaction machine.
    pub(super) fn apply_summary(&mut self, input: SummaryInput) {
        let effects = self.summaries.machine.step(input);
        self.perform_summary(effects, Self::apply);
    }

    /// Applies an input to the compaction machine while effects of the turn machine are being performed.
    pub(super) fn step_summary(&mut self, input: SummaryInput) {
        let effects = self.summaries.machine.step(input);
        self.perform_summary(effects, Self::step_next);
    }

    pub(super) fn check_context(&mut self, point: CompactionPoint) {
        let facts = self.conversation_facts();
        self.step_summary(SummaryInput::CheckContext { point, facts });
    }

    pub(super) fn compact(&mut self, instructions: Option<String>, reply: Reply<CompactionResult>) {
        let caller = self.summaries.add_caller(SummaryReply::Compaction(reply));
        self.apply_summary(SummaryInput::Compact { instructions, caller });
    }

    pub(super) fn truncate(&mut self, reply: Reply<CompactionResult>) {
        let caller = self.summaries.add_caller(SummaryReply::Compaction(reply));
        self.apply_summary(SummaryInput::Truncate { caller });
    }

    /// Applies the user's choice after a failed summary.
    pub(super) fn resolve_compaction(&mut self, choice: CompactionChoice) -> Result<(), AgentError> {
        if !self.summaries.machine.is_awaiting_decision() {
            return Err(AgentError::NotFound("failed summary to decide on"));
        }
        let facts = self.conversation_facts();
        self.apply_summary(SummaryInput::Decide { choice, facts });
        Ok(())
    }

    /// Stops the summary in progress and everything that waits for it.
    pub(super) fn stop_summary(&mut self) {
        self.apply_summary(SummaryInput::Stop(StopOrigin::Command));
    }

    pub(super) fn summary_event(&mut self, number: u64, event: SummaryEvent) {
        let facts = self.conversation_facts();
        self.apply_summary(SummaryInput::Job { number, event, facts });
    }

    /// Summarizes the abandoned branch, then moves to the entry. Moves immediately if the branch has nothing
    /// to summarize.
    pub(super) fn leave_branch(
        &mut self,
        entry: EntryId,
        instructions: Option<String>,
        reply: Reply<SessionSwitched>,
    ) {
        match self.ensure_idle().and_then(|()| self.plan_switch(entry)) {
            Err(error) => send_reply(reply, Err(error)),
            Ok((BranchTarget { entry, editor }, None)) => {
                send_reply(reply, self.move_to(entry.as_ref(), editor, None));
            }
            Ok((target, Some(plan))) => {
                let caller = self.summaries.add_caller(SummaryReply::Switch(reply));
                let facts = self.conversation_facts();
                self.apply_summary(SummaryInput::LeaveBranch { plan, target, instructions, caller, facts });
            }
        }
    }

    fn perform_summary(&mut self, effects: Vec<SummaryEffect>, apply: ApplyToTurn) {
        for effect in effects {
            match effect {
                SummaryEffect::Plan(request) => {
                    let effects = self.plan_compaction(request);
                    self.perform_summary(effects, apply);
                }
                SummaryEffect::StartJob { number, requests, instructions } => {
                    let (model, retry) = (self.active.model.clone(), self.retry);
                    let job = SummaryJob { model, retry, requests, instructions };
                    self.summaries.job = Some(self.jobs.summarize(number, job));
                }
                SummaryEffect::AbortJob => {
                    self.summaries.job.take().into_iter().for_each(|job| job.abort());
                }
                SummaryEffect::AppendCost { kind, cost } => self.append_cost(kind, cost),
                SummaryEffect::Append(compaction) => {
                    if let Err(error) = self.append(EntryBody::Compaction(compaction)) {
                        return self.handle_store_failure(&error, None);
                    }
                }
                SummaryEffect::Submit { reason, compaction } => {
                    apply(self, Input::Compacted { reason, compaction });
                }
                SummaryEffect::NotCompacted { reason, cause } => {
                    apply(self, Input::NotCompacted { reason, cause });
                }
                SummaryEffect::Reply { caller, outcome } => self.reply_to_caller(caller, outcome),
                SummaryEffect::SwitchBranch { caller, target, summary } => {
                    let switched = self.move_to(target.entry.as_ref(), target.editor, Some(summary));
                    let error_message = switched.as_ref().err().map(ToString::to_string);
                    self.bus.emit(EventKind::BranchSummaryEnd { aborted: false, error_message });
                    if let Some(SummaryReply::Switch(reply)) = self.summaries.callers.remove(&caller) {
                        send_reply(reply, switched);
                    }
                }
                SummaryEffect::Emit(event) => self.bus.emit(event),
                SummaryEffect::Warn(message) => self.bus.warn(message),
                SummaryEffect::Settle => self.settle(),
            }
        }
    }

    fn plan_compaction(&mut self, request: PlanRequest) -> Vec<SummaryEffect> {
        let (input, window) = (self.compaction_input(), self.active.model.facts.window);
        let plan = CompactionPlan::for_window(&input, request.reason, &request.options, window);
        let (plan, facts) = (plan.map(Box::new), self.conversation_facts());
        self.summaries.machine.step(SummaryInput::Planned { request, plan, facts })
    }

    /// Collects the input of a compaction. Omits unreadable parts: a summary without them is better than
    /// none.
    fn compaction_input(&self) -> CompactionInput {
        let reader = self.active.reader();
        let (projection, tools) = (self.active.projection.clone(), self.services.tool_catalog.clone());
        let Some(leaf) = reader.leaf() else {
            return CompactionInput { projection, tools, ..CompactionInput::default() };
        };
        let first = reader.first_user_message(&leaf).ok().flatten();
        CompactionInput {
            projection,
            first_message: first.as_deref().and_then(first_message),
            branch_details: reader.branch_details(&leaf).unwrap_or_default(),
            tools,
        }
    }

    /// Returns the conversation's state for the compaction machine. The path is read only while a compaction
    /// is in progress.
    pub(super) fn conversation_facts(&self) -> ConversationFacts {
        let is_on_path = |entry: &EntryId| {
            let reader = self.active.reader();
            let path = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok()).unwrap_or_default();
            path.contains(entry)
        };
        ConversationFacts {
            now: now(),
            size: (&self.active.projection).into(),
            is_loaded: self.active.projection.unloaded.is_none(),
            model: self.active.model.reference(),
            window: self.active.model.facts.window,
            approver: self.approvals.approver(),
            compaction: self.active.compaction(),
            is_first_kept_on_path: self.summaries.machine.first_kept().is_none_or(is_on_path),
        }
    }

    fn append_cost(&mut self, kind: &str, SummaryCost { model, usage }: SummaryCost) {
        let ModelRef { provider, id: model } = model;
        if let Err(error) = self.append(EntryBody::Usage { kind: kind.to_owned(), provider, model, usage }) {
            self.bus.warn(error.to_string());
        }
    }

    fn reply_to_caller(&mut self, caller: CallerId, outcome: Result<CompactionResult, SummaryError>) {
        match (self.summaries.callers.remove(&caller), outcome) {
            (Some(SummaryReply::Compaction(reply)), outcome) => {
                send_reply(reply, outcome.map_err(AgentError::from));
            }
            (Some(SummaryReply::Switch(reply)), Err(error)) => send_reply(reply, Err(error.into())),
            (Some(SummaryReply::Switch(_)), Ok(_)) | (None, _) => {}
        }
    }

    fn plan_switch(&self, entry: EntryId) -> Result<(BranchTarget, Option<BranchPlan>), AgentError> {
        let reader = self.active.reader();
        let NavigationTarget { entry, text: editor } = reader.navigation_target(&entry)?;
        let leaf = reader.leaf();
        let abandoned =
            leaf.map(|leaf| reader.abandoned_by(&leaf, entry.as_ref())).transpose()?.unwrap_or_default();
        let plan = BranchPlan::new(abandoned, &self.services.tool_catalog);
        Ok((BranchTarget { entry, editor }, plan))
    }

    /// Emits the end of a run and replies to the callers that wait for it.
    fn settle(&mut self) {
        // The next run may have started.
        if !self.turn.is_running() {
            self.services.runner.end_standby();
        }
        self.reply_settled();
        self.agents.leave_run(Instant::now());
        self.append_notes_if_idle();
        self.bus.settle_waiters.record(&EventKind::AgentSettled);
        self.bus.emit(EventKind::AgentSettled);
    }
}
