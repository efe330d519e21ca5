//! The state of the summary in progress: its purpose, its cost so far, and how it is stopped.
//!
//! At most one summary is made at a time. `driver/compaction` plans and uses the summary of a context,
//! `branch_summary` that of a branch; `summarize_job` sends the requests.

use tiller_core::event::{CompactionReason, CompactionResult, EventKind};
use tiller_core::id::EntryId;
use tiller_core::message::{ModelRef, Usage};
use tiller_core::setting::Switch;
use tiller_core::unit::{Tokens, UnixMs};
use tiller_session::EntryBody;
use tokio::task::AbortHandle;

use super::summarize_job::{SummaryEvent, SummaryJob};
use super::{Driver, now};
use crate::compaction::{BranchPlan, CompactionError, CompactionOptions, CompactionPlan, SummaryRequest};
use crate::handle::{Reply, SessionSwitched, Summarizing, SummaryOf};
use crate::turn::{AnnouncedRetry, Input};

/// Options and state of summaries.
pub(super) struct SummaryState {
    pub(super) options: CompactionOptions,
    pub(super) phase: SummaryPhase,
    /// Number of the current job; events of earlier jobs are dropped.
    pub(super) job: u64,
    /// Tokens and messages of a context that could not be made smaller.
    pub(super) futile_size: Option<(Tokens, usize)>,
    /// The run is over, but `agent_settled` waits for a summary in progress.
    pub(super) is_settle_deferred: bool,
}

pub(super) enum SummaryPhase {
    Idle,
    /// The model is working on it.
    Running(Box<RunningSummary>),
    /// The summary failed; the user is asked what to do.
    AwaitingChoice(Box<PendingCompaction>, CompactionError),
    /// The machine appends it between two turns.
    Submitted(Option<Reply<CompactionResult>>),
}

pub(super) struct RunningSummary {
    pub(super) task: AbortHandle,
    pub(super) since: UnixMs,
    /// The latest retry of a failed request.
    retry: Option<AnnouncedRetry>,
    pub(super) purpose: Purpose,
}

pub(super) enum Purpose {
    Compaction(Box<PendingCompaction>),
    Branch(Box<PendingSwitch>),
}

/// A compaction in progress.
pub(super) struct PendingCompaction {
    pub(super) reason: CompactionReason,
    pub(super) plan: CompactionPlan,
    pub(super) instructions: Option<String>,
    /// The newest compaction on the path when this one began.
    pub(super) after: Option<EntryId>,
    pub(super) cost: SummaryCost,
    /// The caller that requested it.
    pub(super) reply: Option<Reply<CompactionResult>>,
}

/// A switch to another branch that waits for the summary.
pub(super) struct PendingSwitch {
    pub(super) to: Option<EntryId>,
    pub(super) editor: Option<String>,
    pub(super) plan: BranchPlan,
    pub(super) cost: SummaryCost,
    pub(super) reply: Reply<SessionSwitched>,
}

/// Cost of a summary so far.
pub(super) struct SummaryCost {
    pub(super) model: ModelRef,
    pub(super) usage: Usage,
}

impl SummaryCost {
    pub(super) fn zero(model: ModelRef) -> Self {
        Self { model, usage: Usage::default() }
    }

    pub(super) fn nonzero(&self) -> Option<Usage> {
        (self.usage.total() > Tokens(0)).then(|| self.usage.clone())
    }
}

impl SummaryState {
    pub(super) fn new(options: CompactionOptions) -> Self {
        Self { options, phase: SummaryPhase::Idle, job: 0, futile_size: None, is_settle_deferred: false }
    }

    pub(super) fn options(&self) -> &CompactionOptions {
        &self.options
    }

    pub(super) fn set_automatic(&mut self, automatic: Switch) {
        self.options.automatic = automatic;
        self.futile_size = None;
    }

    /// Returns whether a branch is being summarized in order to be left.
    pub(super) fn is_summarizing_branch(&self) -> bool {
        matches!(&self.phase, SummaryPhase::Running(running) if matches!(running.purpose, Purpose::Branch(_)))
    }

    /// Returns whether a compaction is in progress.
    pub(super) fn is_compacting(&self) -> bool {
        !matches!(self.phase, SummaryPhase::Idle) && !self.is_summarizing_branch()
    }

    /// Returns the state for front ends.
    pub(super) fn status(&self) -> Option<Summarizing> {
        let retry = match &self.phase {
            SummaryPhase::Running(running) => running.retry.clone(),
            SummaryPhase::Idle | SummaryPhase::AwaitingChoice(..) | SummaryPhase::Submitted(_) => None,
        };
        let (subject, since, failed) = match &self.phase {
            SummaryPhase::Idle | SummaryPhase::Submitted(_) => return None,
            SummaryPhase::Running(running) => match &running.purpose {
                Purpose::Compaction(pending) => (SummaryOf::Context(pending.reason), running.since, None),
                Purpose::Branch(_) => (SummaryOf::Branch, running.since, None),
            },
            SummaryPhase::AwaitingChoice(pending, error) => {
                (SummaryOf::Context(pending.reason), now(), Some(error.to_string()))
            }
        };
        Some(Summarizing { of: subject, since, retry, failed })
    }
}

impl RunningSummary {
    pub(super) fn is_threshold(&self) -> bool {
        matches!(&self.purpose, Purpose::Compaction(one) if one.reason == CompactionReason::Threshold)
    }
}

impl Purpose {
    fn cost(&mut self) -> &mut SummaryCost {
        match self {
            Self::Compaction(pending) => &mut pending.cost,
            Self::Branch(switch) => &mut switch.cost,
        }
    }
}

impl Driver {
    /// Starts a job that makes a summary.
    pub(super) fn make_summary(
        &mut self,
        requests: Vec<SummaryRequest>,
        instructions: Option<String>,
        purpose: Purpose,
    ) {
        let (model, retry) = (self.active.model.clone(), self.retry);
        self.summaries.job += 1;
        let maker = SummaryJob { model, retry, requests, instructions };
        let task = self.jobs.summarize(self.summaries.job, maker);
        self.summaries.phase =
            SummaryPhase::Running(Box::new(RunningSummary { task, since: now(), retry: None, purpose }));
    }

    /// Stops the summary in progress and everything that waits for it.
    pub(super) fn stop_summary(&mut self) {
        if let Some(input) = self.take_summary() {
            self.apply(input);
        }
    }

    /// Stops a summary that the machine no longer waits for; the machine has emitted the end of an overflow
    /// compaction itself.
    pub(super) fn drop_summary(&mut self) {
        match self.take_summary() {
            None | Some(Input::NotCompacted { reason: CompactionReason::Overflow, .. }) => {}
            Some(input) => self.step_next(input),
        }
    }

    /// Ends the summary in progress; returns the machine's input.
    fn take_summary(&mut self) -> Option<Input> {
        let pending = match std::mem::replace(&mut self.summaries.phase, SummaryPhase::Idle) {
            SummaryPhase::Idle => return None,
            ready @ SummaryPhase::Submitted(_) => {
                self.summaries.phase = ready;
                return None;
            }
            SummaryPhase::AwaitingChoice(pending, _) => pending,
            SummaryPhase::Running(running) => {
                running.task.abort();
                match running.purpose {
                    Purpose::Compaction(pending) => pending,
                    Purpose::Branch(switch) => {
                        self.fail_branch_summary(*switch, CompactionError::Stopped);
                        return None;
                    }
                }
            }
        };
        Some(self.fail_compaction(*pending, CompactionError::Stopped))
    }

    /// Handles an event of the summary job.
    pub(super) fn summary_event(&mut self, number: u64, event: SummaryEvent) {
        if number != self.summaries.job {
            return;
        }
        let mut running = match std::mem::replace(&mut self.summaries.phase, SummaryPhase::Idle) {
            SummaryPhase::Running(running) => running,
            other => {
                self.summaries.phase = other;
                return;
            }
        };
        match event {
            SummaryEvent::Usage(usage) => {
                running.purpose.cost().usage.add(&usage);
                self.summaries.phase = SummaryPhase::Running(running);
            }
            SummaryEvent::Retry { attempt, max_attempts, delay, reason } => {
                let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
                running.retry = Some(AnnouncedRetry::new((attempt, max_attempts), now(), delay_ms, &reason));
                self.summaries.phase = SummaryPhase::Running(running);
                let (max_attempts, error_message) = (max_attempts, reason);
                self.bus.emit(EventKind::SummaryRetry { attempt, max_attempts, delay_ms, error_message });
            }
            SummaryEvent::Ended(answers) => match running.purpose {
                Purpose::Branch(switch) => self.finish_branch_summary(*switch, answers),
                Purpose::Compaction(pending) => {
                    let entry = answers.and_then(|answers| pending.plan.summary_entry(&answers));
                    let input = match entry {
                        Ok(entry) => Some(self.submit_compaction(*pending, entry)),
                        Err(error) => self.summary_failed(pending, error),
                    };
                    input.into_iter().for_each(|input| self.apply(input));
                }
            },
        }
    }

    /// Appends the cost of a failed summary.
    pub(super) fn record_cost(&mut self, cost: &SummaryCost, kind: &str) {
        let Some(usage) = cost.nonzero() else { return };
        let ModelRef { provider, id: model } = cost.model.clone();
        if let Err(error) = self.append(EntryBody::Usage { kind: kind.to_owned(), provider, model, usage }) {
            self.bus.warn(error.to_string());
        }
    }
}
