//! The turn machine: a pure state machine from inputs to effects.
//!
//! Three levels. *Session*: while follow-ups are queued, the next one starts another turn. *Turn*: while the
//! model calls tools or steering messages are queued, another request is sent. *Step*: one call or one group
//! of read-only calls, then the steering gap. The driver performs the effects in order: persist, act, then
//! emit events. The machine has no clock and does no I/O; time and ids come with the inputs.
//!
//! A run is always in one phase: a request is streaming, its calls are being planned or executed, a failed
//! request waits for its retry, or a compaction must precede the retry. [`input`] and [`effect`] define
//! inputs and effects; `tool_calls` executes calls, `failure` handles failed requests, `delivery` the queue,
//! and `interrupt` everything that ends a run early.

mod delivery;
pub(crate) mod effect;
mod failure;
pub(crate) mod input;
mod interrupt;
mod open_events;
mod retry_state;
#[cfg(test)]
mod tests;
mod tool_calls;
mod tool_phase;

use std::sync::Arc;
use tiller_core::setting::{DeliveryMode, Settings, SteeringPoint, Switch};

use serde_json::Value;
use tiller_core::event::{CompactionReason, EventKind, QueueKind, RunOutcome};
use tiller_core::id::CallId;
use tiller_core::message::{
    AssistantMessage, BashExecutionMessage, Content, Message, ModelRef, StopReason, ToolCall, UserMessage,
};
use tiller_core::unit::UnixMs;
use tiller_provider::ToolChoice;
use tiller_session::EntryBody;
use tiller_session::entry::{Compaction, DeliveryReceipt, MessageEntry};

use super::queue::Queue;
use effect::Effects;
use retry_state::RetryState;
use tool_phase::ToolPhase;

pub(crate) use effect::Effect;
pub(crate) use input::{
    AbortCause, AfterFailure, AppendFailure, CallDecision, DeniedCall, EndVerdict, Input, ModelSwitch,
    NoCompactionReason, PartialOutput, PlannedCall, QueueHandling, TurnNumber, TurnPrompt,
};
pub(crate) use open_events::OpenEvents;
pub use open_events::RetryAnnouncement;

/// Type of the log entry with a reviewer's instruction at the end of a run.
const END_REVIEW_TYPE: &str = "tiller.run_end";

/// Options of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnOptions {
    /// The point of delivery of steering messages.
    pub steering_point: SteeringPoint,
    /// Number of steering messages delivered together. Default: all, because messages sent in a row belong
    /// together.
    pub steering_mode: DeliveryMode,
    /// Number of follow-ups delivered together. Default: one, because each is a separate task.
    pub follow_up_mode: DeliveryMode,
    /// Parallel read-only calls on or off.
    pub parallel_tools: Switch,
    /// Maximum number of requests of one run, before a last request without tools; `None` for no limit.
    pub max_turns: Option<u64>,
}

impl Default for TurnOptions {
    /// Returns the defaults of the settings.
    fn default() -> Self {
        Self::from(&Settings::default())
    }
}

impl From<&Settings> for TurnOptions {
    fn from(settings: &Settings) -> Self {
        Self {
            steering_point: settings.steering_point(),
            steering_mode: settings.steering_mode(),
            follow_up_mode: settings.follow_up_mode(),
            parallel_tools: settings.parallel_tools(),
            max_turns: settings.max_turns(),
        }
    }
}

/// The turn machine.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    options: TurnOptions,
    phase: Phase,
    queue: Queue,
    turn: TurnNumber,
    /// Number of requests since the last prompt or follow-up was delivered.
    requests: u64,
    /// True if the model repeated a call and there was no approver; the next request is the last.
    is_looping: bool,
    retry: RetryState,
    /// Models that failed in this run and were replaced.
    failed_models: Vec<ModelRef>,
    /// True if the run's end was emitted with the announcement of a retry.
    is_paused: bool,
    /// Messages that this run has added, for the event of its end.
    run_messages: Vec<Arc<Message>>,
    /// Entries that are written at the end of the turn.
    deferred: DeferredEntries,
    /// The review of the run's end.
    end_review: RunEndReview,
}

/// State of the end-of-run review.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RunEndReview {
    /// Runs end without a review.
    #[default]
    Off,
    /// The run's end will be reviewed.
    Due,
    /// The run has continued once because of its review.
    Continued,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    /// A request is streaming.
    Streaming(ToolChoice),
    /// The answer is complete; the decisions on its calls are pending.
    Planning(Box<ToolPhase>),
    /// The answer's calls are being executed.
    RunningTools(Box<ToolPhase>),
    /// A failed request waits for its retry.
    AwaitingRetry,
    /// A request longer than the model's window waits for a compaction.
    Compacting,
    /// Nothing is left to do, and the run's end is being reviewed.
    Ending,
}

/// Entries that are written only between turns.
#[derive(Debug, Default)]
struct DeferredEntries {
    records: Vec<BashExecutionMessage>,
    compaction: Option<(CompactionReason, Compaction)>,
}

impl Turn {
    /// Creates an idle machine with the queue that an earlier process left behind.
    #[must_use]
    pub(crate) fn new(options: TurnOptions, queue: Queue) -> Self {
        Self { options, queue, ..Self::default() }
    }

    /// Enables the review of runs' ends.
    #[must_use]
    pub(crate) fn with_end_review(self) -> Self {
        Self { end_review: RunEndReview::Due, ..self }
    }

    /// Continues an earlier machine's turn numbers, so that late events of its turns are dropped.
    #[must_use]
    pub(crate) fn after(self, earlier: &Self) -> Self {
        Self { turn: earlier.turn, end_review: earlier.end_review, ..self }
    }

    /// Returns whether a run is in progress.
    #[must_use]
    pub(crate) fn is_running(&self) -> bool {
        !matches!(self.phase, Phase::Idle)
    }

    /// Returns the queued messages.
    #[must_use]
    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    #[must_use]
    pub(crate) fn options(&self) -> TurnOptions {
        self.options
    }

    /// Sets the options; operations in progress aren't affected.
    pub(crate) fn set_options(&mut self, options: TurnOptions) {
        self.options = options;
    }

    /// Returns the number of the streaming request.
    #[must_use]
    pub(crate) fn streaming(&self) -> Option<TurnNumber> {
        matches!(self.phase, Phase::Streaming(_)).then_some(self.turn)
    }

    /// Returns the number of the request whose calls are being planned.
    #[must_use]
    pub(crate) fn planning(&self) -> Option<TurnNumber> {
        matches!(self.phase, Phase::Planning(_)).then_some(self.turn)
    }

    /// Returns the number of the last request of a run whose end is being reviewed.
    #[must_use]
    pub(crate) fn ending(&self) -> Option<TurnNumber> {
        matches!(self.phase, Phase::Ending).then_some(self.turn)
    }

    /// Returns whether the run waits for a compaction.
    #[must_use]
    pub(crate) fn is_compacting(&self) -> bool {
        matches!(self.phase, Phase::Compacting)
    }

    /// Returns true during a turn, when other entries must wait for its end.
    fn is_in_turn(&self) -> bool {
        match self.phase {
            Phase::Streaming(_) | Phase::Planning(_) | Phase::RunningTools(_) => true,
            Phase::Idle | Phase::AwaitingRetry | Phase::Compacting | Phase::Ending => false,
        }
    }

    /// Returns whether a failed request waits for its retry.
    #[must_use]
    pub(crate) fn is_retrying(&self) -> bool {
        matches!(self.phase, Phase::AwaitingRetry)
    }

    /// Returns true while a call is running.
    #[must_use]
    pub(crate) fn awaits(&self, call: &CallId) -> bool {
        match &self.phase {
            Phase::RunningTools(phase) => phase.is_running(call),
            Phase::Idle
            | Phase::Streaming(_)
            | Phase::Planning(_)
            | Phase::AwaitingRetry
            | Phase::Compacting
            | Phase::Ending => false,
        }
    }

    /// Returns true if a call with this id and these arguments waits for approval. A model may reuse an id.
    #[must_use]
    pub(crate) fn asks(&self, call: &CallId, arguments: &Value) -> bool {
        matches!(&self.phase, Phase::RunningTools(phase) if phase.asks(call, arguments))
    }

    /// Returns the calls of the current answer that will need approval later.
    pub(crate) fn calls_awaiting_approval(&self) -> impl Iterator<Item = &ToolCall> {
        let phase = match &self.phase {
            Phase::RunningTools(phase) => Some(phase),
            _ => None,
        };
        phase.into_iter().flat_map(|phase| phase.calls_awaiting_approval())
    }

    /// Applies an input and returns its effects.
    pub(crate) fn step(&mut self, input: Input, now: UnixMs) -> Vec<Effect> {
        let mut out = Effects { effects: Vec::new(), now };
        let to = &mut out;
        match input {
            Input::Prompt(prompt) if self.is_running() => self.enqueue(prompt, to),
            Input::Prompt(prompt) => self.begin_run(prompt, to),
            Input::SteerNow { prompt, partial_output } => self.steer_now(prompt, partial_output, to),
            Input::Hold { id } => self.hold(&id, to),
            Input::Release { id } => self.release(&id, to),
            Input::Answered { turn, answer } if self.streaming() == Some(turn) => {
                self.handle_answer(answer, to)
            }
            Input::Failed { turn, answer, action } if self.streaming() == Some(turn) => {
                self.handle_failure(answer, action, to);
            }
            Input::RetryDue { turn } if turn == self.turn => self.retry_due(to),
            Input::CancelRetry => self.cancel_retry(to),
            Input::Planned { turn, plan } if turn == self.turn => self.run_plan(plan, to),
            Input::ToolEnded { turn, result } if turn == self.turn => self.store_result(result, to),
            Input::EndReviewed { turn, verdict } if turn == self.turn => {
                self.apply_end_review(verdict, to);
            }
            // From an earlier turn.
            Input::Answered { .. }
            | Input::Failed { .. }
            | Input::RetryDue { .. }
            | Input::Planned { .. }
            | Input::ToolEnded { .. }
            | Input::EndReviewed { .. } => {}
            Input::Decided { call, decision, decider, rule } => {
                self.decide_approval(&call, (decision, decider, rule), to)
            }
            Input::ApprovalWaived { call, grant } => self.waive_approval(&call, grant, to),
            Input::ApprovalDenied { call, denied } => self.deny_approval(&call, &denied, to),
            Input::Compacted { reason, compaction } => self.append_compaction(reason, compaction, to),
            Input::NotCompacted { reason, cause } => self.handle_compaction_failure(reason, cause, to),
            Input::Abort { partial_output, queue, cause } => self.abort(partial_output, queue, cause, to),
            Input::Unqueue(ids) => self.unqueue(&ids, to),
            Input::EditQueued { id, edit } => self.edit_queued(&id, edit, to),
            Input::PutBack { item, position } => self.put_back(item, position, to),
            Input::BashEnded(record) if self.is_in_turn() => self.deferred.records.push(record),
            Input::BashEnded(record) => to.append_message(Message::BashExecution(record)),
            Input::StoreFailed(failed) => self.handle_store_failure(failed, to),
        }
        out.effects
    }

    fn begin_run(&mut self, prompt: TurnPrompt, out: &mut Effects) {
        let user_message =
            UserMessage::with_images(prompt.text, &prompt.images, out.now).typed_as(prompt.typed);
        let message = Arc::new(Message::User(user_message));
        let entry = MessageEntry { message, tiller_queue_id: None, tiller_receipt: None };
        self.begin_with(entry, out);
    }

    /// Starts a run with a user's message.
    fn begin_with(&mut self, entry: MessageEntry, out: &mut Effects) {
        out.emit(EventKind::AgentStart);
        out.effects.push(Effect::RepairDanglingCalls);
        self.begin_task();
        self.retry = RetryState::default();
        self.append_message(entry, out);
        self.request(out);
    }

    /// Appends a message, then emits it.
    fn append_message(&mut self, entry: MessageEntry, out: &mut Effects) {
        let message = Arc::clone(&entry.message);
        out.append(EntryBody::Message(entry));
        if !matches!(*message, Message::Assistant(_)) {
            out.emit(EventKind::MessageStart { message: Arc::clone(&message) });
        }
        out.emit(EventKind::MessageEnd { message: Arc::clone(&message) });
        self.run_messages.push(message);
    }

    /// Appends an answer. Its calls wait for their plan; the calls of a failed or aborted answer never run,
    /// and requests omit them.
    fn append_answer(&mut self, answer: AssistantMessage, out: &mut Effects) -> Box<ToolPhase> {
        let calls = match answer.stop_reason {
            StopReason::Error | StopReason::Aborted => Vec::new(),
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => {
                answer.tool_calls().cloned().collect()
            }
        };
        let message = Arc::new(Message::Assistant(answer));
        let entry =
            MessageEntry { message: Arc::clone(&message), tiller_queue_id: None, tiller_receipt: None };
        self.append_message(entry, out);
        Box::new(ToolPhase::new(message, calls))
    }

    fn request(&mut self, out: &mut Effects) {
        let is_over_limit = self.options.max_turns.is_some_and(|max_turns| self.requests >= max_turns);
        let is_last = is_over_limit || self.is_looping;
        let tool_choice = if is_last { ToolChoice::None } else { ToolChoice::Auto };
        // A retry doesn't count as another request.
        if self.is_looping && self.retry == RetryState::default() {
            let message = "the model repeats the same call: asking for a final answer".to_owned();
            out.emit(EventKind::Warning { message, hint: None });
        } else if is_over_limit && self.retry == RetryState::default() {
            out.emit(EventKind::Warning {
                message: match self.requests {
                    1 => "max_turns reached after 1 request: asking for a final answer".to_owned(),
                    many => format!("max_turns reached after {many} requests: asking for a final answer"),
                },
                hint: Some("--max-turns or the setting max_turns raises the limit".into()),
            });
        }
        self.requests += 1;
        self.turn += 1;
        self.phase = Phase::Streaming(tool_choice);
        out.effects.push(Effect::Sync);
        out.effects.push(Effect::Request { turn: self.turn, tool_choice });
    }

    fn handle_answer(&mut self, answer: AssistantMessage, out: &mut Effects) {
        let last = matches!(self.phase, Phase::Streaming(ToolChoice::None));
        let is_cut_off = answer.stop_reason == StopReason::Length;
        let mut phase = self.append_answer(answer, out);
        let calls = phase.calls();
        self.retries_succeeded(out);
        if calls.is_empty() {
            if last { self.end_run(phase, RunOutcome::MaxTurns, out) } else { self.next_step(phase, out) }
        } else if last || is_cut_off {
            let reason = match (is_cut_off, self.is_looping) {
                (true, _) => tool_phase::CUT_OFF,
                (false, true) => tool_phase::LOOPING,
                (false, false) => tool_phase::NO_TURN_LEFT,
            };
            self.refuse_rest(&mut phase, reason, out);
            if last { self.end_run(phase, RunOutcome::MaxTurns, out) } else { self.next_step(phase, out) }
        } else {
            self.phase = Phase::Planning(phase);
            out.effects.push(Effect::Plan { turn: self.turn, calls });
        }
    }

    /// Ends a turn whose calls are complete, and continues with steering messages or follow-ups if there are
    /// any.
    fn end_turn(&mut self, phase: Box<ToolPhase>, out: &mut Effects) {
        let had_calls = phase.had_calls();
        let receipt = phase.receipt();
        self.close_turn(phase, out);
        if !self.deliver_steering(&receipt, out) {
            if had_calls {
                self.request(out);
            } else if !self.deliver_follow_up(&receipt, out) {
                self.review_end(out);
            }
        }
    }

    /// Continues with the steering messages; returns false if there are none.
    fn deliver_steering(&mut self, receipt: &DeliveryReceipt, out: &mut Effects) -> bool {
        let is_waiting = self.queue.has_waiting(QueueKind::Steer);
        if is_waiting {
            self.deliver(QueueKind::Steer, self.options.steering_mode, receipt, out);
            self.request(out);
        }
        is_waiting
    }

    /// Continues with the follow-ups; returns false if there are none.
    fn deliver_follow_up(&mut self, receipt: &DeliveryReceipt, out: &mut Effects) -> bool {
        let is_waiting = self.queue.has_waiting(QueueKind::FollowUp);
        if is_waiting {
            self.begin_task();
            self.deliver(QueueKind::FollowUp, self.options.follow_up_mode, receipt, out);
            self.request(out);
        }
        is_waiting
    }

    /// Resets the counters of a task, which is the prompt of a run or a follow-up.
    fn begin_task(&mut self) {
        self.requests = 0;
        self.is_looping = false;
        if self.end_review == RunEndReview::Continued {
            self.end_review = RunEndReview::Due;
        }
    }

    /// Ends a run with nothing left to do, after its review if there is one.
    fn review_end(&mut self, out: &mut Effects) {
        if self.end_review == RunEndReview::Off {
            return self.settle(RunOutcome::Completed, out);
        }
        self.phase = Phase::Ending;
        let is_continued = self.end_review == RunEndReview::Continued;
        out.effects.push(Effect::ReviewEnd { turn: self.turn, is_continued });
    }

    /// Ends the run, unless messages have arrived in the meantime or the review continues it for the first
    /// time.
    fn apply_end_review(&mut self, verdict: EndVerdict, out: &mut Effects) {
        if !matches!(self.phase, Phase::Ending) {
            return;
        }
        let receipt = DeliveryReceipt::default();
        if self.deliver_steering(&receipt, out) {
            return;
        }
        match verdict {
            EndVerdict::Instruct(_) if self.end_review == RunEndReview::Continued => {
                let message = "a hook asked to continue the run again; a run continues only once".to_owned();
                out.emit(EventKind::Warning { message, hint: None });
            }
            EndVerdict::Instruct(instruction) => {
                self.end_review = RunEndReview::Continued;
                let (custom_type, content) = (END_REVIEW_TYPE.to_owned(), Content::Text(instruction));
                out.append(EntryBody::CustomMessage { custom_type, content, display: true });
                return self.request(out);
            }
            EndVerdict::TellNotes => return self.request(out),
            EndVerdict::End => {}
        }
        if !self.deliver_follow_up(&receipt, out) {
            self.settle(RunOutcome::Completed, out);
        }
    }

    fn close_turn(&mut self, phase: Box<ToolPhase>, out: &mut Effects) {
        self.flush_records(out);
        let (message, tool_results) = phase.into_parts();
        out.emit(EventKind::TurnEnd { message, tool_results });
        self.flush_compaction(false, out);
    }

    fn flush_records(&mut self, out: &mut Effects) {
        for record in self.deferred.records.drain(..) {
            out.append_message(Message::BashExecution(record));
        }
    }

    /// Ends the run regardless of the queue; queued messages are held.
    fn end_run(&mut self, phase: Box<ToolPhase>, outcome: RunOutcome, out: &mut Effects) {
        self.close_turn(phase, out);
        self.settle(outcome, out);
    }

    fn settle(&mut self, outcome: RunOutcome, out: &mut Effects) {
        self.phase = Phase::Idle;
        self.flush_records(out);
        self.flush_compaction(false, out);
        if !std::mem::take(&mut self.failed_models).is_empty() {
            out.effects.push(Effect::RestoreModel);
        }
        if !self.queue.items().is_empty() {
            self.queue.hold_all();
            out.emit(self.queue.update());
        }
        out.effects.push(Effect::Sync);
        if std::mem::take(&mut self.is_paused) {
            // The end was already emitted: the run continues only to emit its final end.
            out.emit(EventKind::AgentStart);
        }
        let messages = std::mem::take(&mut self.run_messages);
        out.emit(EventKind::AgentEnd { messages, will_retry: false, outcome });
        out.emit(EventKind::AgentSettled);
    }
}
