//! Making the context smaller: when it is begun, what is told of it, and what becomes of the summary.
//!
//! The summary is made beside the run and handed to the machine, which has it written between two turns. What is summed up is
//! decided in [`compaction`](crate::compaction).

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

/// How many messages a context has to grow by before a summary is tried again that came to nothing.
const MORE_MESSAGES: usize = 8;

/// The same as a part of the window.
const MORE_OF_WINDOW: u64 = 16;

impl Driver {
    /// Looks whether the context has come close to the model's window, and has a summary made beside the run if so.
    pub(super) fn compact_if_due(&mut self, moment: Moment) {
        let (projection, window) = (&self.current.projection, self.current.model.facts.window);
        let options = self.summaries.options;
        let truncates = options.strategy == Strategy::Truncate;
        // What is left out at once is left out directly before a request.
        let is_moment = moment == Moment::Request || (!truncates && self.has_audience());
        let is_free = matches!(self.summaries.state, Summing::Nothing);
        // What can't be sent at all is compacted first, like what a provider refused; see `refuse`.
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

    /// The request that comes next is to be of the smaller context already, so the machine's next gap would be too late.
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

    /// The request was longer than the window: the run waits for a smaller context.
    pub(super) fn compact_for_overflow(&mut self) {
        const REASON: CompactionReason = CompactionReason::Overflow;
        let state = std::mem::replace(&mut self.summaries.state, Summing::Nothing);
        // One that is being made already will do.
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
        // Told also of one that comes to nothing, for only its end says why the run is over.
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

    /// The user wants a smaller context, made in this way.
    pub(super) fn compact(
        &mut self,
        strategy: Strategy,
        instructions: Option<String>,
        reply: Reply<CompactionResult>,
    ) {
        const REASON: CompactionReason = CompactionReason::Manual;
        match &self.summaries.state {
            Summing::Nothing => {}
            // The user's own words make another summary than tiller's.
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

    /// Somebody's word on a summary that failed.
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

    /// Nobody is there any more to say what is to become of a summary that failed: it goes on as if nobody had been.
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

    /// What is to be summed up, by the conversation as it is now.
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
        // What stays would not fit, however short a summary of the rest is.
        if plan.kept() > window {
            return Err(CompactionError::TooLong { kept: plan.kept(), window });
        }
        let cost = Spent::nothing(self.current.model.reference());
        let after = self.current.compaction();
        Ok(Compacting { reason, plan, instructions, after, cost, reply: None })
    }

    /// The conversation and what the log knows beside it. What can't be read is left out: a summary is better than none.
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

    /// Begins as the strategy says; answers with what the machine is to be told if that is known at once.
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

    /// Gives the entry to the machine, unless the conversation it was made for is gone.
    pub(super) fn hand_over(&mut self, compacting: Compacting, mut entry: Compaction) -> Input {
        let reader = self.current.reader();
        let path = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok()).unwrap_or_default();
        let is_of_this_path =
            path.contains(&entry.first_kept_entry_id) && compacting.after == self.current.compaction();
        if !is_of_this_path {
            return self.not_compacted(compacting, CompactionError::Overtaken);
        }
        entry.usage = compacting.cost.if_any();
        // What was left out without asking anybody is nobody's.
        entry.made_by = entry.usage.as_ref().map(|_| compacting.cost.model.clone().into());
        self.summaries.state = Summing::Ready(compacting.reply);
        Input::Compacted { reason: compacting.reason, compaction: entry }
    }

    /// Asks what to do where somebody is there; where nobody is, something is left out rather than everything stopped.
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

    /// The context stays as it is; what was spent counts all the same.
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

    /// A compaction is in the log, and that was told.
    pub(super) fn compacted(&mut self, result: CompactionResult) {
        self.summaries.futile = None;
        if let Summing::Ready(reply) = &mut self.summaries.state {
            let reply = reply.take();
            self.summaries.state = Summing::Nothing;
            reply.into_iter().for_each(|reply| answer(reply, Ok(result.clone())));
        }
    }

    /// What the machine was given will not be written.
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

/// When the context is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// A request is about to be sent.
    Request,
    /// A run is over.
    End,
}

/// Why a run can't go on whose context doesn't fit and didn't get smaller, and what would.
fn stuck(error: &CompactionError) -> String {
    let why = match error {
        CompactionError::Nothing { .. } => ", and nothing of it can be left out".to_owned(),
        error => format!(": {error}"),
    };
    format!("the conversation is longer than the model's window{why}; {TOO_LONG_HELP}")
}

/// What front ends are told of a compaction.
fn told(entry: &Compaction) -> CompactionResult {
    CompactionResult {
        summary: entry.summary.clone(),
        first_kept_entry_id: entry.first_kept_entry_id.clone(),
        tokens_before: entry.tokens_before,
        details: entry.details.clone(),
    }
}
