//! What happens after a failed request: another try, a smaller context, or the end of the run. Also compactions, which belong to the
//! gap between two turns whoever wanted them.

use tiller_core::event::{CompactionReason, CompactionResult, EventKind, QueueKind, RunOutcome};
use tiller_core::message::AssistantMessage;
use tiller_session::EntryBody;
use tiller_session::entry::{Compaction, DeliveryReceipt};

use super::effect::Effects;
use super::{AfterFailure, Effect, NotCompacted, Phase, Turn};
use crate::queue::DeliveryMode;

/// What was tried for the request at hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RetryState {
    /// Tries after the first.
    tries: u32,
    /// Whether the context was made smaller for it.
    has_compacted: bool,
}

impl Turn {
    /// How often the request at hand was tried again.
    #[must_use]
    pub fn tries(&self) -> u32 {
        self.again.tries
    }

    /// Whether a smaller context was tried for the request at hand.
    #[must_use]
    pub fn has_compacted(&self) -> bool {
        self.again.has_compacted
    }

    /// Keeps a failed answer, and does what is to be done about it. Sending leaves it out.
    pub(super) fn failed(&mut self, answer: AssistantMessage, then: AfterFailure, out: &mut Effects) {
        let error = answer.error_message.clone().unwrap_or_default();
        // It was made while the request was on its way, so the next one is smaller without another.
        let has_shrunk = self.deferred.compaction.is_some();
        let working = self.say_answer(answer, out);
        if then == AfterFailure::GiveUp {
            self.end_tries(Some(error), out);
            return self.end_run(working, RunOutcome::Failed, out);
        }
        self.close_turn(working, out);
        // The next try is the same turn.
        self.requests = self.requests.saturating_sub(1);
        self.pause(out);
        match then {
            AfterFailure::GiveUp => {}
            AfterFailure::Retry { delay, most } => {
                self.again.tries += 1;
                out.emit(EventKind::AutoRetryStart {
                    attempt: self.again.tries,
                    max_attempts: most,
                    delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                    error_message: error,
                });
                self.phase = Phase::Sleeping;
                out.effects.push(Effect::Sync);
                out.effects.push(Effect::Sleep { turn: self.turn, delay });
            }
            AfterFailure::Compact if has_shrunk => {
                self.again.has_compacted = true;
                self.resume(self.options.steering_mode, out);
            }
            AfterFailure::Compact => {
                self.again.has_compacted = true;
                self.phase = Phase::Compacting;
                out.effects.extend([Effect::Sync, Effect::Compact]);
            }
        }
    }

    /// The wait is over.
    pub(super) fn awake(&mut self, out: &mut Effects) {
        if matches!(self.phase, Phase::Sleeping) {
            self.resume(self.options.steering_mode, out);
        }
    }

    /// The run ends as the failure would have ended it.
    pub(super) fn cancel_retry(&mut self, out: &mut Effects) {
        if matches!(self.phase, Phase::Sleeping) {
            out.effects.push(Effect::StopStream);
            self.end_tries(Some("the next try was called off".to_owned()), out);
            self.settle(RunOutcome::Failed, out);
        }
    }

    /// There is an answer.
    pub(super) fn tried_with_success(&mut self, out: &mut Effects) {
        self.end_tries(None, out);
        self.again = RetryState::default();
    }

    /// Tells that nothing more is tried, if something was.
    pub(super) fn end_tries(&mut self, final_error: Option<String>, out: &mut Effects) {
        let attempt = std::mem::take(&mut self.again.tries);
        if attempt > 0 {
            let success = final_error.is_none();
            out.emit(EventKind::AutoRetryEnd { success, attempt, final_error });
        }
    }

    /// A run that will be gone on with.
    fn pause(&mut self, out: &mut Effects) {
        self.is_paused = true;
        let messages = std::mem::take(&mut self.said);
        out.emit(EventKind::AgentEnd { messages, will_retry: true, outcome: RunOutcome::Failed });
    }

    /// Goes on with a paused run: another request, with what steers meanwhile.
    pub(super) fn resume(&mut self, mode: DeliveryMode, out: &mut Effects) {
        self.is_paused = false;
        out.emit(EventKind::AgentStart);
        if self.queue.waits(QueueKind::Steer) {
            self.deliver(QueueKind::Steer, mode, &DeliveryReceipt::default(), out);
        }
        self.request(out);
    }

    /// A summary is there: it goes in at the next gap between turns, which may be now.
    pub(super) fn compacted(&mut self, reason: CompactionReason, compaction: Compaction, out: &mut Effects) {
        if let Some((reason, _)) = self.deferred.compaction.replace((reason, compaction)) {
            tell_not_compacted(reason, NotCompacted::Failed("another one came first".to_owned()), out);
        }
        // Whatever it was made for, the context is smaller now.
        let ends_the_wait = matches!(self.phase, Phase::Compacting);
        // The failed turn is over, the next one hasn't begun: a gap as well.
        if !self.is_in_turn() {
            self.flush_compaction(ends_the_wait, out);
        }
        if ends_the_wait {
            self.resume(self.options.steering_mode, out);
        }
    }

    /// The context stays as it is; a run that waited for a smaller one has failed, unless it was stopped already.
    pub(super) fn not_compacted(&mut self, reason: CompactionReason, why: NotCompacted, out: &mut Effects) {
        let (outcome, error) = match &why {
            NotCompacted::Stopped => (RunOutcome::Aborted, "the context was not made smaller".to_owned()),
            NotCompacted::Failed(error) => (RunOutcome::Failed, error.clone()),
        };
        tell_not_compacted(reason, why, out);
        if reason == CompactionReason::Overflow && matches!(self.phase, Phase::Compacting) {
            self.end_tries(Some(error), out);
            self.settle(outcome, out);
        }
    }

    /// Writes a summary that is ready, then tells of it.
    pub(super) fn flush_compaction(&mut self, will_retry: bool, out: &mut Effects) {
        let Some((reason, compaction)) = self.deferred.compaction.take() else { return };
        let result = CompactionResult {
            summary: compaction.summary.clone(),
            first_kept_entry_id: compaction.first_kept_entry_id.clone(),
            tokens_before: compaction.tokens_before,
            details: compaction.details.clone(),
        };
        out.append(EntryBody::Compaction(compaction));
        out.emit(EventKind::CompactionEnd {
            reason,
            result: Some(Box::new(result)),
            aborted: false,
            will_retry,
            error_message: None,
        });
    }
}

/// Tells that the context stays as it is.
pub(super) fn tell_not_compacted(reason: CompactionReason, why: NotCompacted, out: &mut Effects) {
    let (aborted, error_message) = match why {
        NotCompacted::Stopped => (true, None),
        NotCompacted::Failed(error) => (false, Some(error)),
    };
    out.emit(EventKind::CompactionEnd { reason, result: None, aborted, will_retry: false, error_message });
}
