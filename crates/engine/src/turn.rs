//! What happens next: a pure machine from inputs to effects.
//!
//! Three levels. *Session*: while follow-ups wait, the next begins again. *Turn*: while the model asks for tools or steering
//! waits, another request. *Step*: one call or one group of reading calls, then the steering gap. The driver performs the
//! effects in their order: persist, then act, then tell. No clock, no I/O; time and ids come with the inputs.
//!
//! A run is always in one phase: a request is out, its calls are being planned, they are being worked off, a failed request waits for
//! its next try, or the context has to shrink before it. [`input`] and [`effect`] are the two vocabularies; `step` works off calls,
//! `again` tries again, `waiting` is the queue, `stop` is everything that ends a run before its time.

mod delivery;
pub mod effect;
pub mod input;
mod interrupt;
mod open_events;
mod retry;
#[cfg(test)]
mod tests;
mod tool_calls;

use std::sync::Arc;

use serde_json::Value;
use tiller_core::event::{CompactionReason, EventKind, QueueKind, RunOutcome};
use tiller_core::id::CallId;
use tiller_core::message::{
    AssistantMessage, BashExecutionMessage, Message, StopReason, ToolCall, UserMessage,
};
use tiller_core::unit::UnixMs;
use tiller_provider::ToolChoice;
use tiller_session::EntryBody;
use tiller_session::entry::{Compaction, MessageEntry};

use super::queue::{DeliveryMode, Queue};
use effect::Effects;
use retry::RetryState;
use tool_calls::ToolPhase;

pub use effect::Effect;
pub use input::{
    AfterFailure, CallDecision, DeniedCall, Input, NotCompacted, PartialOutput, PlannedCall, QueueFate,
    StoreFailed, TurnPrompt,
};
pub use open_events::{AnnouncedRetry, OpenEvents};

/// Most reading calls that run side by side.
pub const LARGEST_GROUP: usize = 8;

/// How the machine is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnOptions {
    /// When steering is delivered.
    pub steering_point: SteeringPoint,
    /// Messages delivered at once. Default: all, because messages sent in a row belong together.
    pub steering_mode: DeliveryMode,
    /// Follow-ups delivered at once. Default: one, because each is a task of its own.
    pub follow_up_mode: DeliveryMode,
    /// Whether reading calls run side by side.
    pub groups: Groups,
    /// Most requests of one run, before a last one without tools; `None` for no limit.
    pub max_turns: Option<u64>,
}

impl Default for TurnOptions {
    fn default() -> Self {
        Self {
            steering_point: SteeringPoint::default(),
            steering_mode: DeliveryMode::All,
            follow_up_mode: DeliveryMode::OneAtATime,
            groups: Groups::default(),
            max_turns: None,
        }
    }
}

/// When steering is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SteeringPoint {
    /// Between two steps; what has not begun is skipped.
    #[default]
    BetweenTools,
    /// After the last call of the answer.
    AfterAnswer,
}

/// Whether reading calls run side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Groups {
    /// Up to [`LARGEST_GROUP`].
    #[default]
    On,
    /// One after the other.
    Off,
}

/// Counts requests; jobs carry the number of theirs, so a late report is dropped.
pub type TurnNumber = u64;

/// The machine.
#[derive(Debug, Default)]
pub struct Turn {
    options: TurnOptions,
    phase: Phase,
    queue: Queue,
    turn: TurnNumber,
    /// Requests since the last prompt or follow-up went in.
    requests: u64,
    again: RetryState,
    /// Whether the run's end was told with the promise that it goes on.
    is_paused: bool,
    /// Messages this run has added, for its end.
    said: Vec<Arc<Message>>,
    /// What waits for the turn's end.
    deferred: Deferred,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    /// A request is out.
    Streaming(ToolChoice),
    /// The answer is there, and what is to become of its calls isn't known yet.
    Planning(Box<ToolPhase>),
    /// The answer's calls are being worked off.
    Working(Box<ToolPhase>),
    /// A request failed and goes out again after a while.
    Sleeping,
    /// A request was longer than the model's window and goes out again when the context is smaller.
    Compacting,
}

/// Entries that are written between turns only.
#[derive(Debug, Default)]
struct Deferred {
    records: Vec<BashExecutionMessage>,
    compaction: Option<(CompactionReason, Compaction)>,
}

impl Turn {
    /// A machine at rest, with what an earlier process left waiting.
    #[must_use]
    pub fn new(options: TurnOptions, queue: Queue) -> Self {
        Self { options, queue, ..Self::default() }
    }

    /// The machine in the place of an earlier one: what is reported late of that one's turns is not taken for this one's.
    #[must_use]
    pub fn after(self, earlier: &Self) -> Self {
        Self { turn: earlier.turn, ..self }
    }

    /// Whether a run is going on.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !matches!(self.phase, Phase::Idle)
    }

    /// The messages that wait.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// How it is set.
    #[must_use]
    pub fn options(&self) -> TurnOptions {
        self.options
    }

    /// Sets it anew; what is in flight goes on as it was begun.
    pub fn set_options(&mut self, options: TurnOptions) {
        self.options = options;
    }

    /// The request whose stream is awaited, if one is.
    #[must_use]
    pub fn streaming(&self) -> Option<TurnNumber> {
        matches!(self.phase, Phase::Streaming(_)).then_some(self.turn)
    }

    /// The request the fates of whose calls are awaited, if they are.
    #[must_use]
    pub fn planning(&self) -> Option<TurnNumber> {
        matches!(self.phase, Phase::Planning(_)).then_some(self.turn)
    }

    /// Whether the run waits for a smaller context.
    #[must_use]
    pub fn is_compacting(&self) -> bool {
        matches!(self.phase, Phase::Compacting)
    }

    /// Whether a turn is going on, so that entries of other kinds have to wait for its end.
    fn is_in_turn(&self) -> bool {
        match self.phase {
            Phase::Streaming(_) | Phase::Planning(_) | Phase::Working(_) => true,
            Phase::Idle | Phase::Sleeping | Phase::Compacting => false,
        }
    }

    /// Whether a failed request waits for its next try.
    #[must_use]
    pub fn is_retrying(&self) -> bool {
        matches!(self.phase, Phase::Sleeping)
    }

    /// Whether a call was begun and has no result yet.
    #[must_use]
    pub fn awaits(&self, call: &CallId) -> bool {
        match &self.phase {
            Phase::Working(working) => working.is_running(call),
            Phase::Idle | Phase::Streaming(_) | Phase::Planning(_) | Phase::Sleeping | Phase::Compacting => {
                false
            }
        }
    }

    /// Whether a call waits for somebody's word, with these very arguments: a model may use an id again.
    #[must_use]
    pub fn asks(&self, call: &CallId, arguments: &Value) -> bool {
        matches!(&self.phase, Phase::Working(working) if working.asks(call, arguments))
    }

    /// Calls of the answer at work that are going to ask and haven't yet.
    pub fn will_ask(&self) -> impl Iterator<Item = &ToolCall> {
        let working = match &self.phase {
            Phase::Working(working) => Some(working),
            _ => None,
        };
        working.into_iter().flat_map(|working| working.will_ask())
    }

    /// Takes an input and says what is to be done about it.
    pub fn step(&mut self, input: Input, now: UnixMs) -> Vec<Effect> {
        let mut out = Effects { effects: Vec::new(), now };
        let to = &mut out;
        match input {
            Input::Prompt(prompt) if self.is_running() => self.enqueue(prompt, to),
            Input::Prompt(prompt) => self.begin_run(prompt, to),
            Input::SteerNow { prompt, so_far } => self.steer_now(prompt, so_far, to),
            Input::Hold { id } => self.hold(&id, to),
            Input::Release { id } => self.release(&id, to),
            Input::Answered { turn, answer } if self.streaming() == Some(turn) => self.answered(answer, to),
            Input::Failed { turn, answer, then } if self.streaming() == Some(turn) => {
                self.failed(answer, then, to);
            }
            Input::Awake { turn } if turn == self.turn => self.awake(to),
            Input::CancelRetry => self.cancel_retry(to),
            Input::Planned { turn, plan } if turn == self.turn => self.planned(plan, to),
            Input::ToolEnded { turn, result } if turn == self.turn => self.tool_ended(result, to),
            // Of a turn that is over.
            Input::Answered { .. }
            | Input::Failed { .. }
            | Input::Awake { .. }
            | Input::Planned { .. }
            | Input::ToolEnded { .. } => {}
            Input::Decided { call, decision, by } => self.decided(&call, decision, by, to),
            Input::Cleared { call, grant } => self.cleared(&call, grant, to),
            Input::Refused { call, denied } => self.refused(&call, &denied, to),
            Input::Compacted { reason, compaction } => self.compacted(reason, compaction, to),
            Input::NotCompacted { reason, why } => self.not_compacted(reason, why, to),
            Input::Abort { so_far, queue } => self.abort(so_far, queue, to),
            Input::Unqueue(ids) => self.unqueue(&ids, to),
            Input::EditQueued { id, edit } => self.edit_queued(&id, edit, to),
            Input::PutBack { item, place } => self.put_back(item, place, to),
            Input::BashEnded(record) if self.is_in_turn() => self.deferred.records.push(record),
            Input::BashEnded(record) => to.append_message(Message::BashExecution(record)),
            Input::StoreFailed(failed) => self.stop_for_store(failed, to),
        }
        out.effects
    }

    fn begin_run(&mut self, prompt: TurnPrompt, out: &mut Effects) {
        let said = UserMessage::with_images(prompt.text, &prompt.images, out.now).typed_as(prompt.typed);
        let message = Arc::new(Message::User(said));
        let entry = MessageEntry { message, tiller_queue_id: None, tiller_receipt: None };
        self.begin(entry, out);
    }

    /// Begins a run with something that the user says.
    fn begin(&mut self, said: MessageEntry, out: &mut Effects) {
        out.emit(EventKind::AgentStart);
        out.effects.push(Effect::Mend);
        self.requests = 0;
        self.again = RetryState::default();
        self.say(said, out);
        self.request(out);
    }

    /// Appends a message, then tells of it.
    fn say(&mut self, entry: MessageEntry, out: &mut Effects) {
        let message = Arc::clone(&entry.message);
        out.append(EntryBody::Message(entry));
        if !matches!(*message, Message::Assistant(_)) {
            out.emit(EventKind::MessageStart { message: Arc::clone(&message) });
        }
        out.emit(EventKind::MessageEnd { message: Arc::clone(&message) });
        self.said.push(message);
    }

    /// Appends an answer. Its calls wait to be planned; those of a failed or stopped one never run, and sending leaves them out.
    fn say_answer(&mut self, answer: AssistantMessage, out: &mut Effects) -> Box<ToolPhase> {
        let calls = match answer.stop_reason {
            StopReason::Error | StopReason::Aborted => Vec::new(),
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => {
                answer.tool_calls().cloned().collect()
            }
        };
        let message = Arc::new(Message::Assistant(answer));
        let entry =
            MessageEntry { message: Arc::clone(&message), tiller_queue_id: None, tiller_receipt: None };
        self.say(entry, out);
        Box::new(ToolPhase::new(message, calls))
    }

    fn request(&mut self, out: &mut Effects) {
        let over = self.options.max_turns.is_some_and(|most| self.requests >= most);
        let tool_choice = if over { ToolChoice::None } else { ToolChoice::Auto };
        // Another try is no other request.
        if over && self.again == RetryState::default() {
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

    fn answered(&mut self, answer: AssistantMessage, out: &mut Effects) {
        let last = matches!(self.phase, Phase::Streaming(ToolChoice::None));
        let is_cut_off = answer.stop_reason == StopReason::Length;
        let mut working = self.say_answer(answer, out);
        let calls = working.calls();
        self.tried_with_success(out);
        if calls.is_empty() {
            if last { self.end_run(working, RunOutcome::MaxTurns, out) } else { self.work(working, out) }
        } else if last || is_cut_off {
            let reason = if is_cut_off { tool_calls::CUT_OFF } else { tool_calls::NO_TURN_LEFT };
            self.refuse_rest(&mut working, reason, out);
            if last { self.end_run(working, RunOutcome::MaxTurns, out) } else { self.work(working, out) }
        } else {
            self.phase = Phase::Planning(working);
            out.effects.push(Effect::Plan { turn: self.turn, calls });
        }
    }

    /// All calls are done: the turn is over, and something follows or nothing does.
    fn end_turn(&mut self, working: Box<ToolPhase>, out: &mut Effects) {
        let had_calls = working.had_calls();
        let receipt = working.receipt();
        self.close_turn(working, out);
        if self.queue.waits(QueueKind::Steer) {
            self.deliver(QueueKind::Steer, self.options.steering_mode, &receipt, out);
            self.request(out);
        } else if had_calls {
            self.request(out);
        } else if self.queue.waits(QueueKind::FollowUp) {
            self.requests = 0;
            self.deliver(QueueKind::FollowUp, self.options.follow_up_mode, &receipt, out);
            self.request(out);
        } else {
            self.settle(RunOutcome::Completed, out);
        }
    }

    fn close_turn(&mut self, working: Box<ToolPhase>, out: &mut Effects) {
        self.flush_records(out);
        let (message, tool_results) = working.into_parts();
        out.emit(EventKind::TurnEnd { message, tool_results });
        self.flush_compaction(false, out);
    }

    fn flush_records(&mut self, out: &mut Effects) {
        for record in self.deferred.records.drain(..) {
            out.append_message(Message::BashExecution(record));
        }
    }

    /// The run ends here, whatever waits; what waits is held.
    fn end_run(&mut self, working: Box<ToolPhase>, outcome: RunOutcome, out: &mut Effects) {
        self.close_turn(working, out);
        self.settle(outcome, out);
    }

    fn settle(&mut self, outcome: RunOutcome, out: &mut Effects) {
        self.phase = Phase::Idle;
        self.flush_records(out);
        self.flush_compaction(false, out);
        if !self.queue.items().is_empty() {
            self.queue.hold_all();
            out.emit(self.queue.update());
        }
        out.effects.push(Effect::Sync);
        if std::mem::take(&mut self.is_paused) {
            // Its end was told already: it goes on for nothing but its true one.
            out.emit(EventKind::AgentStart);
        }
        let messages = std::mem::take(&mut self.said);
        out.emit(EventKind::AgentEnd { messages, will_retry: false, outcome });
        out.emit(EventKind::AgentSettled);
    }
}
