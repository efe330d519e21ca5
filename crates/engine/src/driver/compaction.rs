//! Compaction of the context: the trigger, the events, and the use of the summary.
//!
//! The summary is made in the background and handed to the turn machine, which appends it between two turns. The
//! planning is in [`compaction`](crate::compaction).

use tiller_core::event::{CompactionChoice, CompactionReason, CompactionResult, EventKind};
use tiller_core::unit::Tokens;
use tiller_session::EntryBody;
use tiller_session::entry::Compaction;

use super::Driver;
use super::commands::answer;
use super::compaction_state::{Compacting, Purpose, Spent, Summing};
use crate::approvals::Approver;
use crate::compaction::{
    CompactionError, CompactionOptions, Material, Plan, Strategy, due, first_message, keep_after_overflow,
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
    pub(super) fn compact_if_due(&mut self, moment: Moment) {
        let (projection, window) = (&self.current.projection, self.current.model.facts.window);
        let options = self.summaries.options;
        let truncates = options.strategy == Strategy::Truncate;
        // Truncation happens at once, so it is done directly before a request.
        let is_moment = moment == Moment::Request || (!truncates && self.has_audience());
        let is_free = matches!(self.summaries.state, Summing::Nothing);
        // A context that can't be sent is compacted first, like one that the provider rejected; see `refuse`.
        let is_sendable = truncates || projection.unloaded.is_none();
        if !is_moment || !is_free || !is_sendable || !due(projection, window, &options) || self.is_futile() {
            return;
        }
        let Ok(compacting) = self.plan_compaction(CompactionReason::Threshold, &options, None) else {
            return;
        };
        self.teller.tell(EventKind::CompactionStart { reason: CompactionReason::Threshold });
        if truncates {
            self.truncate_before_request(compacting);
        } else {
            self.make(compacting);
        }
    }

    /// Truncates at once, because the next request must have the smaller context; the machine's next gap would be
    /// too late.
    fn truncate_before_request(&mut self, compacting: Compacting) {
        let reason = compacting.reason;
        match compacting.plan.truncated() {
            Ok(entry) => {
                let result = told(&entry);
                match self.append(EntryBody::Compaction(entry)) {
                    Ok(()) => self.teller.tell(EventKind::CompactionEnd {
                        reason,
                        result: Some(Box::new(result)),
                        aborted: false,
                        will_retry: false,
                        error_message: None,
                    }),
                    Err(error) => self.store_failed(&error, None),
                }
            }
            Err(error) => {
                let input = self.not_compacted(compacting, error);
                self.step_next(input);
            }
        }
    }

    /// Compacts after a request was longer than the window; the run waits.
    pub(super) fn compact_for_overflow(&mut self) {
        const REASON: CompactionReason = CompactionReason::Overflow;
        let state = std::mem::replace(&mut self.summaries.state, Summing::Nothing);
        // A summary in progress serves as well.
        if let Summing::Making(mut making) = state {
            if let Purpose::Compaction(compacting) = &mut making.purpose {
                compacting.reason = REASON;
            }
            self.summaries.state = Summing::Making(making);
            return;
        }
        let begun = match state {
            Summing::Asking(mut compacting, error) => {
                compacting.reason = REASON;
                self.ask_what_to_do(compacting, error);
                return;
            }
            _ => self.plan_compaction(REASON, &self.summaries.options, None),
        };
        // Emitted even if the compaction fails, because only its end says why the run is over.
        self.teller.tell(EventKind::CompactionStart { reason: REASON });
        match begun {
            Ok(compacting) => {
                if let Some(input) = self.begin_compaction(self.summaries.options.strategy, compacting) {
                    self.step_next(input);
                }
            }
            Err(error) => {
                let why = NotCompacted::Failed(stuck(&error));
                self.step_next(Input::NotCompacted { reason: REASON, why });
            }
        }
    }

    /// Compacts on the user's request.
    pub(super) fn compact(
        &mut self,
        strategy: Strategy,
        instructions: Option<String>,
        reply: Reply<CompactionResult>,
    ) {
        const REASON: CompactionReason = CompactionReason::Manual;
        match &self.summaries.state {
            Summing::Nothing => {}
            // The user's instructions lead to another summary.
            Summing::Making(making) if making.is_threshold() => self.stop_summary(),
            Summing::Making(_) | Summing::Asking(..) | Summing::Ready(_) => {
                return answer(reply, Err(AgentError::Summarizing));
            }
        }
        let instructions = instructions.filter(|words| !words.trim().is_empty());
        let options = CompactionOptions { strategy, ..self.summaries.options };
        let mut compacting = match self.plan_compaction(REASON, &options, instructions) {
            Ok(compacting) => compacting,
            Err(error) => return answer(reply, Err(error.into())),
        };
        compacting.reply = Some(reply);
        self.teller.tell(EventKind::CompactionStart { reason: REASON });
        if let Some(input) = self.begin_compaction(strategy, compacting) {
            self.apply(input);
        }
    }

    /// Applies the user's choice after a failed summary.
    pub(super) fn resolve_compaction(&mut self, choice: CompactionChoice) -> Result<(), AgentError> {
        let (compacting, error) = match std::mem::replace(&mut self.summaries.state, Summing::Nothing) {
            Summing::Asking(compacting, error) => (*compacting, error),
            other => {
                self.summaries.state = other;
                return Err(AgentError::Gone("summary"));
            }
        };
        let input = match choice {
            CompactionChoice::Retry => {
                self.teller.tell(EventKind::CompactionStart { reason: compacting.reason });
                self.make(compacting);
                return Ok(());
            }
            CompactionChoice::Truncate => self.truncate(compacting),
            CompactionChoice::GoOn => self.not_compacted(compacting, error),
        };
        self.apply(input);
        Ok(())
    }

    /// Decides about a failed summary because the approver has left.
    pub(super) fn decide_compaction_alone(&mut self) -> Result<(), AgentError> {
        let choice = match &self.summaries.state {
            Summing::Asking(compacting, _) if compacting.reason == CompactionReason::Manual => {
                CompactionChoice::GoOn
            }
            Summing::Asking(..) => CompactionChoice::Truncate,
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
    ) -> Result<Compacting, CompactionError> {
        let window = self.current.model.facts.window;
        let keep = options.keep(window);
        let keep = match reason {
            CompactionReason::Overflow => keep_after_overflow(&self.current.projection, keep),
            CompactionReason::Manual | CompactionReason::Threshold => keep,
        };
        let plan = Plan::new(&self.material(), keep, options)?;
        // The kept part would not fit, however short the summary is.
        if plan.kept() > window {
            return Err(CompactionError::TooLong { kept: plan.kept(), window });
        }
        let cost = Spent::nothing(self.current.model.reference());
        let after = self.current.compaction();
        Ok(Compacting { reason, plan, instructions, after, cost, reply: None })
    }

    /// Collects the input of a compaction. Unreadable parts are left out: a summary without them is better than
    /// none.
    fn material(&self) -> Material {
        let reader = self.current.reader();
        let projection = self.current.projection.clone();
        let Some(leaf) = reader.leaf() else { return Material { projection, ..Material::default() } };
        let first = reader.first_said(&leaf).ok().flatten();
        Material {
            projection,
            first_message: first.as_deref().and_then(first_message),
            noted: reader.branch_details(&leaf).unwrap_or_default(),
        }
    }

    /// Starts a compaction by this strategy; returns the machine's input if the result is known at once.
    fn begin_compaction(&mut self, strategy: Strategy, compacting: Compacting) -> Option<Input> {
        if strategy == Strategy::Truncate {
            return Some(self.truncate(compacting));
        }
        self.make(compacting);
        None
    }

    fn make(&mut self, mut compacting: Compacting) {
        let model = self.current.model.reference();
        if compacting.cost.model != model {
            self.keep_cost(&compacting.cost, "compaction");
            compacting.cost = Spent::nothing(model);
        }
        let requests = compacting.plan.requests();
        let instructions = compacting.instructions.clone();
        self.make_summary(requests, instructions, Purpose::Compaction(Box::new(compacting)));
    }

    fn truncate(&mut self, compacting: Compacting) -> Input {
        match compacting.plan.truncated() {
            Ok(entry) => self.hand_over(compacting, entry),
            Err(error) => self.not_compacted(compacting, error),
        }
    }

    /// Hands the entry to the machine, unless the conversation has changed since.
    pub(super) fn hand_over(&mut self, compacting: Compacting, mut entry: Compaction) -> Input {
        let reader = self.current.reader();
        let path = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok()).unwrap_or_default();
        let is_of_this_path =
            path.contains(&entry.first_kept_entry_id) && compacting.after == self.current.compaction();
        if !is_of_this_path {
            return self.not_compacted(compacting, CompactionError::Overtaken);
        }
        entry.usage = compacting.cost.if_any();
        // A truncation made without a request has no author.
        entry.made_by = entry.usage.as_ref().map(|_| compacting.cost.model.clone().into());
        self.summaries.state = Summing::Ready(compacting.reply);
        Input::Compacted { reason: compacting.reason, compaction: entry }
    }

    /// Asks the user what to do after a failed summary. Without an approver the older part is left out, so that the
    /// run continues.
    pub(super) fn summary_failed(
        &mut self,
        compacting: Box<Compacting>,
        error: CompactionError,
    ) -> Option<Input> {
        if !error.is_of_the_model() {
            return Some(self.not_compacted(*compacting, error));
        }
        if self.has_audience() {
            self.ask_what_to_do(compacting, error);
            return None;
        }
        if compacting.reason == CompactionReason::Manual {
            return Some(self.not_compacted(*compacting, error));
        }
        self.teller.warn(format!(
            "no summary could be made ({error}); the older part of the conversation is left out instead"
        ));
        Some(self.truncate(*compacting))
    }

    fn ask_what_to_do(&mut self, compacting: Box<Compacting>, error: CompactionError) {
        self.teller.tell(EventKind::CompactionFailed {
            reason: compacting.reason,
            error_message: error.to_string(),
            choices: CompactionChoice::ALL.to_vec(),
        });
        self.summaries.state = Summing::Asking(compacting, error);
    }

    /// Ends a compaction without an entry; its cost still counts.
    pub(super) fn not_compacted(&mut self, compacting: Compacting, error: CompactionError) -> Input {
        if !matches!(error, CompactionError::Stopped | CompactionError::Overtaken) {
            let projection = &self.current.projection;
            self.summaries.futile = Some((projection.tokens(), projection.message_count()));
        }
        self.keep_cost(&compacting.cost, "compaction");
        let why = match &error {
            CompactionError::Stopped => NotCompacted::Stopped,
            error if compacting.reason == CompactionReason::Overflow => NotCompacted::Failed(stuck(error)),
            error => NotCompacted::Failed(error.to_string()),
        };
        if let Some(reply) = compacting.reply {
            answer(reply, Err(error.into()));
        }
        Input::NotCompacted { reason: compacting.reason, why }
    }

    /// Replies after a compaction was appended and emitted.
    pub(super) fn compacted(&mut self, result: CompactionResult) {
        self.summaries.futile = None;
        if let Summing::Ready(reply) = &mut self.summaries.state {
            let reply = reply.take();
            self.summaries.state = Summing::Nothing;
            reply.into_iter().for_each(|reply| answer(reply, Ok(result.clone())));
        }
    }

    /// Replies after the write of a compaction failed.
    pub(super) fn compaction_lost(&mut self, reason: &str) {
        if let Summing::Ready(reply) = &mut self.summaries.state {
            reply
                .take()
                .into_iter()
                .for_each(|reply| answer(reply, Err(AgentError::Store(reason.to_owned()))));
            self.summaries.state = Summing::Nothing;
        }
    }

    fn is_futile(&self) -> bool {
        let (projection, window) = (&self.current.projection, self.current.model.facts.window);
        self.summaries.futile.is_some_and(|(tokens, messages)| {
            projection.tokens() <= tokens + Tokens(window.0 / MORE_OF_WINDOW)
                && projection.message_count() < messages + MORE_MESSAGES
        })
    }

    pub(super) fn has_audience(&self) -> bool {
        self.approvals.audience() == Approver::Present
    }
}

/// The point in a run at which the context is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Before a request is sent.
    Request,
    /// At the end of a run.
    End,
}

/// Returns the error of a run whose context doesn't fit and could not be made smaller, with the next step.
fn stuck(error: &CompactionError) -> String {
    let why = match error {
        CompactionError::Nothing { .. } => ", and nothing of it can be left out".to_owned(),
        error => format!(": {error}"),
    };
    format!("the conversation is longer than the model's window{why}; {TOO_LONG_HELP}")
}

/// Converts a compaction entry for events.
fn told(entry: &Compaction) -> CompactionResult {
    CompactionResult {
        summary: entry.summary.clone(),
        first_kept_entry_id: entry.first_kept_entry_id.clone(),
        tokens_before: entry.tokens_before,
        details: entry.details.clone(),
    }
}
