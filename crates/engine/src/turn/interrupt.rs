//! Inputs that end operations early: abort, immediate steering, and failed appends.

use tiller_core::event::{CompactionReason, EventKind, QueueKind, RunOutcome};
use tiller_core::id::QueueId;
use tiller_core::message::{AssistantMessage, StopReason};
use tiller_core::setting::DeliveryMode;
use tiller_core::unit::UnixMs;
use tiller_session::entry::DeliveryReceipt;

use super::effect::Effects;
use super::failure::emit_not_compacted;
use super::tool_phase::{ABORT, STEER_NOW, TASK_END, ToolPhase, TurnInterruption};
use super::{
    AbortCause, AppendFailure, Effect, NoCompactionReason, PartialOutput, Phase, QueueHandling,
    RetryAnnouncement, RetryState, Turn, TurnPrompt,
};

impl Turn {
    pub(super) fn abort(
        &mut self,
        partial_output: PartialOutput,
        queue: QueueHandling,
        cause: AbortCause,
        out: &mut Effects,
    ) {
        if !self.is_running() {
            return;
        }
        if matches!(self.phase, Phase::Compacting) {
            out.effects.push(Effect::StopCompaction);
            emit_not_compacted(CompactionReason::Overflow, NoCompactionReason::Stopped, out);
        }
        let texts = match cause {
            AbortCause::User => &ABORT,
            AbortCause::TaskEnd => &TASK_END,
        };
        let phase = self.stop_turn(partial_output, texts, out);
        self.end_retries(Some(texts.reason.to_owned()), out);
        let waiting = self.queue.items().iter().filter(|item| !item.held).map(|item| item.id.clone());
        let waiting: Vec<QueueId> = waiting.collect();
        if queue == QueueHandling::Return && !waiting.is_empty() {
            self.unqueue(&waiting, out);
        }
        match phase {
            Some(phase) => self.end_run(phase, RunOutcome::Aborted, out),
            None => self.settle(RunOutcome::Aborted, out),
        }
    }

    /// Stops the current operations, stores their partial output, and continues with all steering messages.
    pub(super) fn steer_now(
        &mut self,
        prompt: Option<TurnPrompt>,
        partial_output: PartialOutput,
        out: &mut Effects,
    ) {
        if !self.is_running() {
            if let Some(prompt) = prompt {
                self.begin_run(prompt, out);
            }
            return;
        }
        if let Some(prompt) = prompt {
            self.add_to_queue(prompt, out);
        }
        // A pending compaction can't be skipped.
        if !self.queue.has_waiting(QueueKind::Steer) || matches!(self.phase, Phase::Compacting) {
            return;
        }
        let was_paused = matches!(self.phase, Phase::AwaitingRetry);
        let phase = self.stop_turn(partial_output, &STEER_NOW, out);
        self.end_retries(Some(STEER_NOW.reason.to_owned()), out);
        self.retry = RetryState::default();
        if was_paused {
            return self.resume(DeliveryMode::All, out);
        }
        let receipt = phase.as_ref().map_or_else(DeliveryReceipt::default, |phase| phase.receipt());
        match phase {
            Some(phase) => self.close_turn(phase, out),
            None => self.flush_records(out),
        }
        self.deliver(QueueKind::Steer, DeliveryMode::All, &receipt, out);
        self.request(out);
    }

    /// Stops the current turn: stores the partial answer and gives every call a result. Returns `None` if
    /// there is no answer.
    fn stop_turn(
        &mut self,
        partial_output: PartialOutput,
        stop: &TurnInterruption,
        out: &mut Effects,
    ) -> Option<Box<ToolPhase>> {
        match std::mem::take(&mut self.phase) {
            Phase::Idle | Phase::Compacting => None,
            Phase::AwaitingRetry | Phase::Ending => {
                out.effects.push(Effect::StopStream);
                None
            }
            Phase::Streaming(_) => {
                out.effects.push(Effect::StopStream);
                // Without a partial answer, the request wasn't sent and there is nothing to store.
                partial_output
                    .answer
                    .map(|partial| self.append_answer(aborted(partial, stop.reason, out.now), out))
            }
            Phase::Planning(mut phase) | Phase::RunningTools(mut phase) => {
                out.effects.push(Effect::StopTools);
                self.stop_calls(&mut phase, stop, partial_output.calls, out);
                Some(phase)
            }
        }
    }

    pub(super) fn handle_store_failure(&mut self, failed: AppendFailure, out: &mut Effects) {
        let AppendFailure { reason, hint, open_events, queue, records } = failed;
        self.deferred.records.splice(0..0, records);
        self.deferred.compaction = None;
        self.queue = queue;
        self.retry = RetryState::default();
        self.failed_models.clear();
        self.is_paused = false;
        out.effects.extend([Effect::StopStream, Effect::StopTools, Effect::StopCompaction]);
        if let Some(cause) = open_events.compaction {
            emit_not_compacted(cause, NoCompactionReason::Failed(reason.clone()), out);
        }
        if let Some(RetryAnnouncement { attempt, .. }) = open_events.retry {
            let final_error = Some(reason.clone());
            out.emit(EventKind::AutoRetryEnd { success: false, attempt, final_error });
        }
        out.emit(EventKind::Warning { message: reason, hint });
        self.phase = Phase::Idle;
        self.turn += 1;
        self.run_messages.clear();
        self.queue.hold_all();
        out.emit(self.queue.update());
        if open_events.since.is_none() {
            return;
        }
        if open_events.is_paused {
            out.emit(EventKind::AgentStart);
        }
        if !open_events.has_ended {
            let messages = open_events.messages;
            out.emit(EventKind::AgentEnd { messages, will_retry: false, outcome: RunOutcome::Failed });
        }
        out.emit(EventKind::AgentSettled);
    }
}

fn aborted(mut partial: AssistantMessage, reason: &str, now: UnixMs) -> AssistantMessage {
    partial.stop_reason = StopReason::Aborted;
    partial.error_message = Some(reason.to_owned());
    if partial.timestamp == UnixMs(0) {
        partial.timestamp = now;
    }
    partial
}
