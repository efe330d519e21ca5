//! Compaction of the context: the trigger, the events, and the use of the summary.
//!
//! The summary is made in the background and handed to the turn machine, which appends it between two turns. The
//! planning is in [`compaction`](crate::compaction).

use tiller_core::event::{CompactionChoice, CompactionReason, CompactionResult, EventKind};
use tiller_core::setting::CompactionStrategy;
use tiller_core::unit::Tokens;
use tiller_session::EntryBody;
use tiller_session::entry::Compaction;

use super::Driver;
use super::commands::send_reply;
use super::compaction_state::{PendingCompaction, Purpose, SummaryCost, SummaryPhase};
use crate::approvals::Approver;
use crate::compaction::{
    CompactionError, CompactionInput, CompactionOptions, CompactionPlan, due, first_message, to_result,
};
use crate::handle::{AgentError, Reply};
use crate::retry::TOO_LONG_HELP;
use crate::turn::{Input, NotCompacted};

/// Number of messages by which a context must grow before a failed compaction is tried again.
const MORE_MESSAGES: usize = 8;

/// The same as a divisor of the window.
const MORE_OF_WINDOW: u64 = 16;

impl Driver {
    /// Starts a background summary if the context is close to the model's window.
    pub(super) fn compact_if_due(&mut self, point: CompactionPoint) {
        let (projection, window) = (&self.active.projection, self.active.model.facts.window);
        let options = self.summaries.options;
        let truncates = options.strategy == CompactionStrategy::Truncate;
        // Truncation happens at once, so it is done directly before a request.
        let is_due_point = point == CompactionPoint::Request || (!truncates && self.has_approver());
        let is_free = matches!(self.summaries.phase, SummaryPhase::Idle);
        // A context that can't be sent is compacted first, like one that the provider rejected; see `refuse`.
        let is_sendable = truncates || projection.unloaded.is_none();
        if !is_due_point || !is_free || !is_sendable || !due(projection, window, &options) || self.is_futile()
        {
            return;
        }
        let Ok(pending) = self.plan_compaction(CompactionReason::Threshold, &options, None) else {
            return;
        };
        self.bus.emit(EventKind::CompactionStart { reason: CompactionReason::Threshold });
        if truncates {
            self.truncate_before_request(pending);
        } else {
            self.summarize(pending);
        }
    }

    /// Truncates at once, because the next request must have the smaller context; the machine's next gap would be
    /// too late.
    fn truncate_before_request(&mut self, pending: PendingCompaction) {
        let reason = pending.reason;
        match pending.plan.truncation_entry() {
            Ok(entry) => {
                let result = to_result(&entry);
                match self.append(EntryBody::Compaction(entry)) {
                    Ok(()) => self.bus.emit(EventKind::CompactionEnd {
                        reason,
                        result: Some(Box::new(result)),
                        aborted: false,
                        will_retry: false,
                        error_message: None,
                    }),
                    Err(error) => self.handle_store_failure(&error, None),
                }
            }
            Err(error) => {
                let input = self.fail_compaction(pending, error);
                self.step_next(input);
            }
        }
    }

    /// Compacts after a request was longer than the window; the run waits.
    pub(super) fn compact_for_overflow(&mut self) {
        const REASON: CompactionReason = CompactionReason::Overflow;
        let state = std::mem::replace(&mut self.summaries.phase, SummaryPhase::Idle);
        // A summary in progress serves as well.
        if let SummaryPhase::Running(mut making) = state {
            if let Purpose::Compaction(pending) = &mut making.purpose {
                pending.reason = REASON;
            }
            self.summaries.phase = SummaryPhase::Running(making);
            return;
        }
        let pending = match state {
            SummaryPhase::AwaitingChoice(mut pending, error) => {
                pending.reason = REASON;
                self.ask_user(pending, error);
                return;
            }
            _ => self.plan_compaction(REASON, &self.summaries.options, None),
        };
        // Emitted even if the compaction fails, because only its end says why the run is over.
        self.bus.emit(EventKind::CompactionStart { reason: REASON });
        match pending {
            Ok(pending) => {
                if let Some(input) = self.begin_compaction(self.summaries.options.strategy, pending) {
                    self.step_next(input);
                }
            }
            Err(error) => {
                let failure = NotCompacted::Failed(overflow_error(&error));
                self.step_next(Input::NotCompacted { reason: REASON, cause: failure });
            }
        }
    }

    /// Compacts on the user's request.
    pub(super) fn compact(
        &mut self,
        strategy: CompactionStrategy,
        instructions: Option<String>,
        reply: Reply<CompactionResult>,
    ) {
        const REASON: CompactionReason = CompactionReason::Manual;
        match &self.summaries.phase {
            SummaryPhase::Idle => {}
            // The user's instructions lead to another summary.
            SummaryPhase::Running(making) if making.is_threshold() => self.stop_summary(),
            SummaryPhase::Running(_) | SummaryPhase::AwaitingChoice(..) | SummaryPhase::Submitted(_) => {
                return send_reply(reply, Err(AgentError::Summarizing));
            }
        }
        let instructions = instructions.filter(|words| !words.trim().is_empty());
        let options = CompactionOptions { strategy, ..self.summaries.options };
        let mut pending = match self.plan_compaction(REASON, &options, instructions) {
            Ok(pending) => pending,
            Err(error) => return send_reply(reply, Err(error.into())),
        };
        pending.reply = Some(reply);
        self.bus.emit(EventKind::CompactionStart { reason: REASON });
        if let Some(input) = self.begin_compaction(strategy, pending) {
            self.apply(input);
        }
    }

    /// Applies the user's choice after a failed summary.
    pub(super) fn resolve_compaction(&mut self, choice: CompactionChoice) -> Result<(), AgentError> {
        let (pending, error) = match std::mem::replace(&mut self.summaries.phase, SummaryPhase::Idle) {
            SummaryPhase::AwaitingChoice(pending, error) => (*pending, error),
            other => {
                self.summaries.phase = other;
                return Err(AgentError::NotFound("failed summary to decide on"));
            }
        };
        let input = match choice {
            CompactionChoice::Retry => {
                self.bus.emit(EventKind::CompactionStart { reason: pending.reason });
                self.summarize(pending);
                return Ok(());
            }
            CompactionChoice::Truncate => self.truncate(pending),
            CompactionChoice::GoOn => self.fail_compaction(pending, error),
        };
        self.apply(input);
        Ok(())
    }

    /// Decides about a failed summary because the approver has left.
    pub(super) fn decide_compaction_alone(&mut self) -> Result<(), AgentError> {
        let choice = match &self.summaries.phase {
            SummaryPhase::AwaitingChoice(pending, _) if pending.reason == CompactionReason::Manual => {
                CompactionChoice::GoOn
            }
            SummaryPhase::AwaitingChoice(..) => CompactionChoice::Truncate,
            _ => return Ok(()),
        };
        self.resolve_compaction(choice)
    }

    /// Plans a compaction of the current conversation.
    fn plan_compaction(
        &self,
        reason: CompactionReason,
        options: &CompactionOptions,
        instructions: Option<String>,
    ) -> Result<PendingCompaction, CompactionError> {
        let window = self.active.model.facts.window;
        let plan = CompactionPlan::for_window(&self.compaction_input(), reason, options, window)?;
        let cost = SummaryCost::zero(self.active.model.reference());
        let after = self.active.compaction();
        Ok(PendingCompaction { reason, plan, instructions, after, cost, reply: None })
    }

    /// Collects the input of a compaction. Unreadable parts are left out: a summary without them is better than
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

    /// Starts a compaction by this strategy; returns the machine's input if the result is known at once.
    fn begin_compaction(
        &mut self,
        strategy: CompactionStrategy,
        pending: PendingCompaction,
    ) -> Option<Input> {
        if strategy == CompactionStrategy::Truncate {
            return Some(self.truncate(pending));
        }
        self.summarize(pending);
        None
    }

    fn summarize(&mut self, mut pending: PendingCompaction) {
        let model = self.active.model.reference();
        if pending.cost.model != model {
            self.record_cost(&pending.cost, "compaction");
            pending.cost = SummaryCost::zero(model);
        }
        let requests = pending.plan.requests();
        let instructions = pending.instructions.clone();
        self.make_summary(requests, instructions, Purpose::Compaction(Box::new(pending)));
    }

    fn truncate(&mut self, pending: PendingCompaction) -> Input {
        match pending.plan.truncation_entry() {
            Ok(entry) => self.submit_compaction(pending, entry),
            Err(error) => self.fail_compaction(pending, error),
        }
    }

    /// Hands the entry to the machine, unless the conversation has changed since.
    pub(super) fn submit_compaction(&mut self, pending: PendingCompaction, mut entry: Compaction) -> Input {
        let reader = self.active.reader();
        let path = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok()).unwrap_or_default();
        let is_of_this_path =
            path.contains(&entry.first_kept_entry_id) && pending.after == self.active.compaction();
        if !is_of_this_path {
            return self.fail_compaction(pending, CompactionError::Outdated);
        }
        entry.usage = pending.cost.nonzero();
        // A truncation made without a request has no author.
        entry.made_by = entry.usage.as_ref().map(|_| pending.cost.model.clone().into());
        self.summaries.phase = SummaryPhase::Submitted(pending.reply);
        Input::Compacted { reason: pending.reason, compaction: entry }
    }

    /// Asks the user what to do after a failed summary. Without an approver the older part is left out, so that the
    /// run continues.
    pub(super) fn summary_failed(
        &mut self,
        pending: Box<PendingCompaction>,
        error: CompactionError,
    ) -> Option<Input> {
        if !error.is_summary_failure() {
            return Some(self.fail_compaction(*pending, error));
        }
        if self.has_approver() {
            self.ask_user(pending, error);
            return None;
        }
        if pending.reason == CompactionReason::Manual {
            return Some(self.fail_compaction(*pending, error));
        }
        self.bus.warn(format!(
            "the summary failed ({error}); the older part of the conversation is left out instead"
        ));
        Some(self.truncate(*pending))
    }

    fn ask_user(&mut self, pending: Box<PendingCompaction>, error: CompactionError) {
        self.bus.emit(EventKind::CompactionFailed {
            reason: pending.reason,
            error_message: error.to_string(),
            choices: CompactionChoice::ALL.to_vec(),
        });
        self.summaries.phase = SummaryPhase::AwaitingChoice(pending, error);
    }

    /// Ends a compaction without an entry; its cost still counts.
    pub(super) fn fail_compaction(&mut self, pending: PendingCompaction, error: CompactionError) -> Input {
        if !matches!(error, CompactionError::Stopped | CompactionError::Outdated) {
            let projection = &self.active.projection;
            self.summaries.futile_size = Some((projection.tokens(), projection.message_count()));
        }
        self.record_cost(&pending.cost, "compaction");
        let outcome = match &error {
            CompactionError::Stopped => NotCompacted::Stopped,
            error if pending.reason == CompactionReason::Overflow => {
                NotCompacted::Failed(overflow_error(error))
            }
            error => NotCompacted::Failed(error.to_string()),
        };
        if let Some(reply) = pending.reply {
            send_reply(reply, Err(error.into()));
        }
        Input::NotCompacted { reason: pending.reason, cause: outcome }
    }

    /// Replies after a compaction was appended and emitted.
    pub(super) fn finish_compaction(&mut self, result: CompactionResult) {
        self.summaries.futile_size = None;
        if let SummaryPhase::Submitted(reply) = &mut self.summaries.phase {
            let reply = reply.take();
            self.summaries.phase = SummaryPhase::Idle;
            reply.into_iter().for_each(|reply| send_reply(reply, Ok(result.clone())));
        }
    }

    /// Replies after the write of a compaction failed.
    pub(super) fn compaction_lost(&mut self, reason: &str) {
        if let SummaryPhase::Submitted(reply) = &mut self.summaries.phase {
            reply
                .take()
                .into_iter()
                .for_each(|reply| send_reply(reply, Err(AgentError::Store(reason.to_owned()))));
            self.summaries.phase = SummaryPhase::Idle;
        }
    }

    fn is_futile(&self) -> bool {
        let (projection, window) = (&self.active.projection, self.active.model.facts.window);
        self.summaries.futile_size.is_some_and(|(tokens, messages)| {
            projection.tokens() <= tokens + Tokens(window.0 / MORE_OF_WINDOW)
                && projection.message_count() < messages + MORE_MESSAGES
        })
    }

    pub(super) fn has_approver(&self) -> bool {
        self.approvals.approver() == Approver::Present
    }
}

/// The point in a run at which the context is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompactionPoint {
    /// Before a request is sent.
    Request,
    /// At the end of a run.
    End,
}

/// Returns the error of a run whose context doesn't fit and could not be made smaller, with the next step.
fn overflow_error(error: &CompactionError) -> String {
    let reason = match error {
        CompactionError::Nothing { .. } => " and can't be shortened".to_owned(),
        error => format!(": {error}"),
    };
    format!("the conversation is longer than the model's window{reason}; {TOO_LONG_HELP}")
}
