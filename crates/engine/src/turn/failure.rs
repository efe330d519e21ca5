//! Reactions to a failed request: retry, compaction, another model, or the end of the run. Compactions for
//! other reasons are here too, because all compactions are appended between two turns.

use tiller_core::event::{CompactionReason, EventKind, QueueKind, RunOutcome};
use tiller_core::message::AssistantMessage;
use tiller_core::setting::DeliveryMode;
use tiller_session::EntryBody;
use tiller_session::entry::{Compaction, DeliveryReceipt};

use super::effect::Effects;
use super::retry_state::RetryState;
use super::tool_phase::ToolPhase;
use super::{AfterFailure, Effect, ModelSwitch, NoCompactionReason, Phase, Turn};
use crate::compaction::to_result;
use crate::fallback::FallbackModel;

impl Turn {
    /// Returns the number of retries of the current request.
    #[must_use]
    pub(crate) fn retries(&self) -> u32 {
        self.retry.retries
    }

    /// Returns true if the context was compacted for the current request.
    #[must_use]
    pub(crate) fn has_compacted(&self) -> bool {
        self.retry.has_compacted
    }

    /// Stores a failed answer and reacts to the failure. Later requests omit the answer.
    pub(super) fn handle_failure(
        &mut self,
        answer: AssistantMessage,
        action: AfterFailure,
        out: &mut Effects,
    ) {
        let error = answer.error_message.clone().unwrap_or_default();
        // A compaction finished during the request, so the next request is smaller anyway.
        let has_shrunk = self.deferred.compaction.is_some();
        let phase = self.append_answer(answer, out);
        match action {
            AfterFailure::GiveUp => self.fail_run(phase, error, out),
            AfterFailure::SwitchModel(switch) => self.switch_model(phase, switch, error, out),
            AfterFailure::Retry { delay, max_attempts } => {
                self.pause(phase, out);
                self.retry.retries += 1;
                out.emit(EventKind::AutoRetryStart {
                    attempt: self.retry.retries,
                    max_attempts,
                    delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                    error_message: error,
                });
                self.phase = Phase::AwaitingRetry;
                out.effects.push(Effect::Sync);
                out.effects.push(Effect::Sleep { turn: self.turn, delay });
            }
            AfterFailure::Compact => {
                self.pause(phase, out);
                self.retry.has_compacted = true;
                if has_shrunk {
                    return self.resume(self.options.steering_mode, out);
                }
                self.phase = Phase::Compacting;
                out.effects.extend([Effect::Sync, Effect::Compact]);
            }
        }
    }

    fn fail_run(&mut self, phase: Box<ToolPhase>, error: String, out: &mut Effects) {
        self.end_retries(Some(error), out);
        self.end_run(phase, RunOutcome::Failed, out);
    }

    /// Sends the request to the first candidate that hasn't failed in this run.
    fn switch_model(&mut self, phase: Box<ToolPhase>, switch: ModelSwitch, error: String, out: &mut Effects) {
        let ModelSwitch { failed, cause, candidates } = switch;
        let is_untried = |candidate: &FallbackModel| {
            candidate.model != failed && !self.failed_models.contains(&candidate.model)
        };
        let Some(to) = candidates.into_iter().find(is_untried) else {
            return self.fail_run(phase, error, out);
        };
        self.end_retries(Some(error), out);
        self.pause(phase, out);
        self.failed_models.push(failed);
        self.retry = RetryState { is_other_model: true, ..RetryState::default() };
        out.effects.push(Effect::SwitchModel { to, cause });
        self.resume(self.options.steering_mode, out);
    }

    /// Resends the request after the delay.
    pub(super) fn retry_due(&mut self, out: &mut Effects) {
        if matches!(self.phase, Phase::AwaitingRetry) {
            self.resume(self.options.steering_mode, out);
        }
    }

    /// Cancels the retry; the run ends with the failure.
    pub(super) fn cancel_retry(&mut self, out: &mut Effects) {
        if matches!(self.phase, Phase::AwaitingRetry) {
            out.effects.push(Effect::StopStream);
            self.end_retries(Some("the retry was canceled".to_owned()), out);
            self.settle(RunOutcome::Failed, out);
        }
    }

    /// Ends the retries after a successful answer.
    pub(super) fn retries_succeeded(&mut self, out: &mut Effects) {
        self.end_retries(None, out);
        self.retry = RetryState::default();
    }

    /// Emits the end of the retries, if there were any.
    pub(super) fn end_retries(&mut self, final_error: Option<String>, out: &mut Effects) {
        let attempt = std::mem::take(&mut self.retry.retries);
        if attempt > 0 {
            let success = final_error.is_none();
            out.emit(EventKind::AutoRetryEnd { success, attempt, final_error });
        }
    }

    /// Ends a failed turn and pauses the run, which will continue with the same turn.
    fn pause(&mut self, phase: Box<ToolPhase>, out: &mut Effects) {
        self.close_turn(phase, out);
        self.requests = self.requests.saturating_sub(1);
        self.is_paused = true;
        let messages = std::mem::take(&mut self.run_messages);
        out.emit(EventKind::AgentEnd { messages, will_retry: true, outcome: RunOutcome::Failed });
    }

    /// Continues a paused run with another request, including the steering messages queued in the meantime.
    pub(super) fn resume(&mut self, mode: DeliveryMode, out: &mut Effects) {
        self.is_paused = false;
        out.emit(EventKind::AgentStart);
        if self.queue.has_waiting(QueueKind::Steer) {
            self.deliver(QueueKind::Steer, mode, &DeliveryReceipt::default(), out);
        }
        self.request(out);
    }

    /// Accepts a finished compaction and appends it at the next gap between turns, which may be now.
    pub(super) fn append_compaction(
        &mut self,
        reason: CompactionReason,
        compaction: Compaction,
        out: &mut Effects,
    ) {
        if let Some((reason, _)) = self.deferred.compaction.replace((reason, compaction)) {
            emit_not_compacted(
                reason,
                NoCompactionReason::Failed("another compaction came first".to_owned()),
                out,
            );
        }
        // A compaction for any reason makes the context smaller.
        let ends_the_wait = matches!(self.phase, Phase::Compacting);
        // There is also a gap between the failed turn and the next one.
        if !self.is_in_turn() {
            self.flush_compaction(ends_the_wait, out);
        }
        if ends_the_wait {
            self.resume(self.options.steering_mode, out);
        }
    }

    /// Ends a compaction without a result. A run that waited for it fails, unless it was already stopped.
    pub(super) fn handle_compaction_failure(
        &mut self,
        reason: CompactionReason,
        failure: NoCompactionReason,
        out: &mut Effects,
    ) {
        let (outcome, error) = match &failure {
            NoCompactionReason::Stopped => (RunOutcome::Aborted, "the compaction was stopped".to_owned()),
            NoCompactionReason::Failed(error) => (RunOutcome::Failed, error.clone()),
        };
        emit_not_compacted(reason, failure, out);
        if reason == CompactionReason::Overflow && matches!(self.phase, Phase::Compacting) {
            self.end_retries(Some(error), out);
            self.settle(outcome, out);
        }
    }

    /// Appends a finished compaction, then emits it.
    pub(super) fn flush_compaction(&mut self, will_retry: bool, out: &mut Effects) {
        let Some((reason, compaction)) = self.deferred.compaction.take() else { return };
        let result = to_result(&compaction);
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

/// Emits the end of a compaction without a result.
pub(super) fn emit_not_compacted(reason: CompactionReason, failure: NoCompactionReason, out: &mut Effects) {
    let (aborted, error_message) = match failure {
        NoCompactionReason::Stopped => (true, None),
        NoCompactionReason::Failed(error) => (false, Some(error)),
    };
    out.emit(EventKind::CompactionEnd { reason, result: None, aborted, will_retry: false, error_message });
}
