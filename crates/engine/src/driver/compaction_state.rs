//! The state of the summary in progress: its purpose, its cost so far, and how it is stopped.
//!
//! At most one summary is made at a time. `driver/compaction` plans and uses the summary of a context,
//! `branch_summary` that of a branch; `summarize_job` sends the requests.

use tiller_core::event::{CompactionReason, CompactionResult, EventKind};
use tiller_core::id::EntryId;
use tiller_core::message::{ModelRef, Usage};
use tiller_core::unit::{Tokens, UnixMs};
use tiller_session::EntryBody;
use tokio::task::AbortHandle;

use super::summarize_job::{Maker, SummaryNews};
use super::{Driver, now};
use crate::compaction::{Automatic, BranchPlan, CompactionError, CompactionOptions, Plan, SummaryRequest};
use crate::handle::{Reply, SessionSwitched, Summarizing, SummaryOf};
use crate::turn::{AnnouncedRetry, Input};

/// Options and state of summaries.
pub(super) struct Summaries {
    pub(super) options: CompactionOptions,
    pub(super) state: Summing,
    /// Number of the current job; events of earlier jobs are dropped.
    pub(super) number: u64,
    /// Tokens and messages of a context that could not be made smaller.
    pub(super) futile: Option<(Tokens, usize)>,
    /// The run is over, but `agent_settled` waits for a summary in progress.
    pub(super) owes_settled: bool,
}

pub(super) enum Summing {
    Nothing,
    /// The model is working on it.
    Making(Box<Making>),
    /// The summary failed; the user is asked what to do.
    Asking(Box<Compacting>, CompactionError),
    /// The machine appends it between two turns.
    Ready(Option<Reply<CompactionResult>>),
}

pub(super) struct Making {
    pub(super) task: AbortHandle,
    pub(super) since: UnixMs,
    /// The latest retry of a failed request.
    retry: Option<AnnouncedRetry>,
    pub(super) purpose: Purpose,
}

pub(super) enum Purpose {
    Compaction(Box<Compacting>),
    Branch(Box<Leaving>),
}

/// A compaction in progress.
pub(super) struct Compacting {
    pub(super) reason: CompactionReason,
    pub(super) plan: Plan,
    pub(super) instructions: Option<String>,
    /// The newest compaction on the path when this one began.
    pub(super) after: Option<EntryId>,
    pub(super) cost: Spent,
    /// The caller that requested it.
    pub(super) reply: Option<Reply<CompactionResult>>,
}

/// A switch to another branch that waits for the summary.
pub(super) struct Leaving {
    pub(super) to: Option<EntryId>,
    pub(super) editor: Option<String>,
    pub(super) plan: BranchPlan,
    pub(super) cost: Spent,
    pub(super) reply: Reply<SessionSwitched>,
}

/// Cost of a summary so far.
pub(super) struct Spent {
    pub(super) model: ModelRef,
    pub(super) usage: Usage,
}

impl Spent {
    pub(super) fn nothing(model: ModelRef) -> Self {
        Self { model, usage: Usage::default() }
    }

    pub(super) fn if_any(&self) -> Option<Usage> {
        (self.usage.total() > Tokens(0)).then(|| self.usage.clone())
    }
}

impl Summaries {
    pub(super) fn new(options: CompactionOptions) -> Self {
        Self { options, state: Summing::Nothing, number: 0, futile: None, owes_settled: false }
    }

    pub(super) fn options(&self) -> &CompactionOptions {
        &self.options
    }

    pub(super) fn set_automatic(&mut self, automatic: Automatic) {
        self.options.automatic = automatic;
        self.futile = None;
    }

    /// Returns whether a branch is being summarized in order to be left.
    pub(super) fn is_leaving(&self) -> bool {
        matches!(&self.state, Summing::Making(making) if matches!(making.purpose, Purpose::Branch(_)))
    }

    /// Returns whether a compaction is in progress.
    pub(super) fn is_compacting(&self) -> bool {
        !matches!(self.state, Summing::Nothing) && !self.is_leaving()
    }

    /// Returns the state for front ends.
    pub(super) fn shown(&self) -> Option<Summarizing> {
        let retry = match &self.state {
            Summing::Making(making) => making.retry.clone(),
            Summing::Nothing | Summing::Asking(..) | Summing::Ready(_) => None,
        };
        let (of, since, failed) = match &self.state {
            Summing::Nothing | Summing::Ready(_) => return None,
            Summing::Making(making) => match &making.purpose {
                Purpose::Compaction(compacting) => {
                    (SummaryOf::Context(compacting.reason), making.since, None)
                }
                Purpose::Branch(_) => (SummaryOf::Branch, making.since, None),
            },
            Summing::Asking(compacting, error) => {
                (SummaryOf::Context(compacting.reason), now(), Some(error.to_string()))
            }
        };
        Some(Summarizing { of, since, retry, failed })
    }
}

impl Making {
    pub(super) fn is_threshold(&self) -> bool {
        matches!(&self.purpose, Purpose::Compaction(one) if one.reason == CompactionReason::Threshold)
    }
}

impl Purpose {
    fn cost(&mut self) -> &mut Spent {
        match self {
            Self::Compaction(compacting) => &mut compacting.cost,
            Self::Branch(leaving) => &mut leaving.cost,
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
        let (model, retry) = (self.current.model.clone(), self.retry);
        self.summaries.number += 1;
        let maker = Maker { model, retry, requests, instructions };
        let task = self.jobs.summarize(self.summaries.number, maker);
        self.summaries.state = Summing::Making(Box::new(Making { task, since: now(), retry: None, purpose }));
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
        let compacting = match std::mem::replace(&mut self.summaries.state, Summing::Nothing) {
            Summing::Nothing => return None,
            ready @ Summing::Ready(_) => {
                self.summaries.state = ready;
                return None;
            }
            Summing::Asking(compacting, _) => compacting,
            Summing::Making(making) => {
                making.task.abort();
                match making.purpose {
                    Purpose::Compaction(compacting) => compacting,
                    Purpose::Branch(leaving) => {
                        self.not_left(*leaving, CompactionError::Stopped);
                        return None;
                    }
                }
            }
        };
        Some(self.not_compacted(*compacting, CompactionError::Stopped))
    }

    /// Handles an event of the summary job.
    pub(super) fn summary(&mut self, number: u64, news: SummaryNews) {
        if number != self.summaries.number {
            return;
        }
        let mut making = match std::mem::replace(&mut self.summaries.state, Summing::Nothing) {
            Summing::Making(making) => making,
            other => {
                self.summaries.state = other;
                return;
            }
        };
        match news {
            SummaryNews::Spent(usage) => {
                making.purpose.cost().usage.add(&usage);
                self.summaries.state = Summing::Making(making);
            }
            SummaryNews::Waits { attempt, most, delay, why } => {
                let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
                making.retry = Some(AnnouncedRetry::told((attempt, most), now(), delay_ms, &why));
                self.summaries.state = Summing::Making(making);
                let (max_attempts, error_message) = (most, why);
                self.teller.tell(EventKind::SummaryRetry { attempt, max_attempts, delay_ms, error_message });
            }
            SummaryNews::Ended(made) => match making.purpose {
                Purpose::Branch(leaving) => self.branch_summed_up(*leaving, made),
                Purpose::Compaction(compacting) => {
                    let entry = made.and_then(|answers| compacting.plan.summarized(&answers));
                    let input = match entry {
                        Ok(entry) => Some(self.hand_over(*compacting, entry)),
                        Err(error) => self.summary_failed(compacting, error),
                    };
                    input.into_iter().for_each(|input| self.apply(input));
                }
            },
        }
    }

    /// Appends the cost of a failed summary.
    pub(super) fn keep_cost(&mut self, spent: &Spent, kind: &str) {
        let Some(usage) = spent.if_any() else { return };
        let ModelRef { provider, id: model } = spent.model.clone();
        if let Err(error) = self.append(EntryBody::Usage { kind: kind.to_owned(), provider, model, usage }) {
            self.teller.warn(error.to_string());
        }
    }
}
