//! What happens next: a pure machine from inputs to effects.
//!
//! Three levels. *Session*: while follow-ups wait, the next begins again. *Turn*: while the model asks for tools or steering
//! waits, another request. *Step*: one call or one group of reading calls, then the steering gap. The driver performs the
//! effects in their order: persist, then act, then tell. No clock, no I/O; time and ids come with the inputs.

mod step;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::event::{Decision, EventKind, QueueKind, RunOutcome};
use crate::id::{CallId, QueueId};
use crate::message::{
    Access, AssistantMessage, BashExecutionMessage, Message, StopReason, ToolCall, ToolResultMessage,
    UserMessage,
};
use crate::provider::ToolChoice;
use crate::session::EntryBody;
use crate::session::entry::{MessageEntry, Receipt};
use crate::unit::UnixMs;

use super::queue::{self, DeliveryMode, Queue};
use step::Working;

/// Most reading calls that run side by side.
pub const LARGEST_GROUP: usize = 8;

/// How the machine is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnOptions {
    /// When steering is delivered.
    pub steering_point: SteeringPoint,
    /// How much of it at once.
    pub steering_mode: DeliveryMode,
    /// How many follow-ups at once.
    pub follow_up_mode: DeliveryMode,
    /// Whether reading calls run side by side.
    pub groups: Groups,
    /// Most requests of one run, before a last one without tools; `None` for no limit.
    pub max_turns: Option<u64>,
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

/// What the machine is told.
#[derive(Clone, Debug)]
pub enum Input {
    /// The user says something.
    Prompt(Prompt),
    /// The request's stream is over.
    Answered {
        /// The request.
        turn: TurnNumber,
        /// The answer, or what there is of it with `stop_reason` error.
        answer: AssistantMessage,
        /// Its calls in order, and what is to become of each.
        plan: Vec<Planned>,
    },
    /// A call has its result.
    ToolEnded {
        /// The request whose answer made the call.
        turn: TurnNumber,
        /// The result.
        result: ToolResultMessage,
    },
    /// Somebody's word on the call that asks.
    Decided {
        /// The call.
        call: CallId,
        /// The word.
        decision: Decision,
    },
    /// The call that was to ask needs no asking any more.
    Cleared {
        /// The call.
        call: CallId,
    },
    /// The user stops everything.
    Abort {
        /// What the answer in flight has so far.
        partial: Option<AssistantMessage>,
    },
    /// The user takes these out of the queue.
    Unqueue(Vec<QueueId>),
    /// A `!` command is over.
    BashEnded(BashExecutionMessage),
    /// An entry could not be written; the effects after it were not performed.
    StoreFailed {
        /// Why.
        reason: String,
        /// What to do about it.
        hint: Option<String>,
        /// Messages that front ends were told of since a run began whose end they were not told of, if there is such a run. The
        /// machine may think it over: its last effects are among those that were not performed.
        run: Option<Vec<Arc<Message>>>,
        /// What waits according to the log.
        queue: Queue,
        /// Records of `!` commands among what was not written.
        records: Vec<BashExecutionMessage>,
    },
}

/// Something the user says.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// What.
    pub text: String,
    /// When it is delivered if the agent is at work.
    pub kind: QueueKind,
    /// Its name, if it has to wait.
    pub id: QueueId,
    /// Calls that an earlier process left without a result; they are answered before the prompt.
    pub unanswered: Vec<ToolCall>,
}

/// A call of an answer and what is to become of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The call.
    pub call: ToolCall,
    /// What is to become of it.
    pub fate: Fate,
}

/// What is to become of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It may run.
    Run(Access),
    /// Somebody is asked first.
    Ask {
        /// Why.
        reason: String,
        /// What "always" would allow.
        rule: String,
    },
    /// It doesn't run; the model reads why: unknown tool, invalid arguments, denied.
    Refuse(String),
}

/// What the driver does.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Writes an entry; if that fails, drops what follows and reports [`Input::StoreFailed`].
    Append(EntryBody),
    /// Syncs the log; what follows waits for it.
    Sync,
    /// Asks the model.
    Request {
        /// The request's number.
        turn: TurnNumber,
        /// Whether it may call tools.
        tool_choice: ToolChoice,
    },
    /// Runs calls side by side.
    Run {
        /// The request whose answer made them.
        turn: TurnNumber,
        /// The calls.
        calls: Vec<ToolCall>,
    },
    /// Asks whoever is there about a call; the answer comes as [`Input::Decided`].
    Ask {
        /// The call.
        call: ToolCall,
        /// Why.
        reason: String,
        /// What "always" would allow.
        rule: String,
    },
    /// Drops the stream.
    StopStream,
    /// Stops every call at work.
    StopTools,
    /// Tells the front ends.
    Emit(EventKind),
}

/// The machine.
#[derive(Debug, Default)]
pub struct Turn {
    options: TurnOptions,
    phase: Phase,
    queue: Queue,
    turn: TurnNumber,
    /// Requests since the last prompt or follow-up went in.
    requests: u64,
    /// Messages this run has added, for its end.
    said: Vec<Arc<Message>>,
    /// Records of `!` commands that wait for the turn's end.
    deferred: Vec<BashExecutionMessage>,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    /// A request is out.
    Streaming(ToolChoice),
    /// The answer's calls are being worked off.
    Working(Box<Working>),
}

/// Effects in the making, with the moment they are made at.
struct Out {
    effects: Vec<Effect>,
    now: UnixMs,
}

impl Out {
    fn append(&mut self, body: EntryBody) {
        self.effects.push(Effect::Append(body));
    }

    fn emit(&mut self, event: EventKind) {
        self.effects.push(Effect::Emit(event));
    }
}

impl Turn {
    /// A machine at rest, with what an earlier process left waiting.
    #[must_use]
    pub fn new(options: TurnOptions, queue: Queue) -> Self {
        Self { options, queue, ..Self::default() }
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

    /// The request whose stream is awaited, if one is.
    #[must_use]
    pub fn streaming(&self) -> Option<TurnNumber> {
        matches!(self.phase, Phase::Streaming(_)).then_some(self.turn)
    }

    /// Whether a call was begun and has no result yet.
    #[must_use]
    pub fn awaits(&self, call: &CallId) -> bool {
        match &self.phase {
            Phase::Working(working) => working.is_running(call),
            Phase::Idle | Phase::Streaming(_) => false,
        }
    }

    /// Takes an input and says what is to be done about it.
    pub fn step(&mut self, input: Input, now: UnixMs) -> Vec<Effect> {
        let mut out = Out { effects: Vec::new(), now };
        match input {
            Input::Prompt(prompt) if self.is_running() => self.enqueue(prompt, &mut out),
            Input::Prompt(prompt) => self.begin_run(prompt, &mut out),
            Input::Answered { turn, answer, plan } => {
                if self.streaming() == Some(turn) {
                    self.answered(answer, plan, &mut out);
                }
            }
            Input::ToolEnded { turn, result } => {
                if turn == self.turn {
                    self.tool_ended(result, &mut out);
                }
            }
            Input::Decided { call, decision } => self.decided(&call, decision, &mut out),
            Input::Cleared { call } => self.cleared(&call, &mut out),
            Input::Abort { partial } => self.abort(partial, &mut out),
            Input::Unqueue(ids) => self.unqueue(&ids, &mut out),
            Input::BashEnded(record) if self.is_running() => self.deferred.push(record),
            Input::BashEnded(record) => {
                out.append(EntryBody::message(Arc::new(Message::BashExecution(record))));
            }
            Input::StoreFailed { reason, hint, run, queue, records } => {
                self.deferred.splice(0..0, records);
                self.queue = queue;
                out.effects.extend([Effect::StopStream, Effect::StopTools]);
                out.emit(EventKind::Warning { message: reason, hint });
                self.stop_for_store(run, &mut out);
            }
        }
        out.effects
    }

    fn begin_run(&mut self, prompt: Prompt, out: &mut Out) {
        out.emit(EventKind::AgentStart);
        for call in &prompt.unanswered {
            let result = crate::session::context::interrupted(call, out.now);
            out.append(EntryBody::message(Arc::new(Message::ToolResult(result))));
        }
        self.requests = 0;
        let message = Arc::new(Message::User(UserMessage::text(prompt.text, out.now)));
        self.say(MessageEntry { message, tiller_queue_id: None, tiller_receipt: None }, out);
        self.request(out);
    }

    fn enqueue(&mut self, prompt: Prompt, out: &mut Out) {
        out.append(queue::added(&prompt.id, prompt.kind, &prompt.text));
        self.queue.add(prompt.id, prompt.kind, prompt.text);
        out.emit(self.queue.update());
        if prompt.kind == QueueKind::Steer && self.options.steering_point == SteeringPoint::BetweenTools {
            self.steered_while_asking(out);
        }
    }

    fn unqueue(&mut self, ids: &[QueueId], out: &mut Out) {
        for id in ids {
            if self.queue.remove(id).is_some() {
                out.append(queue::removed(id));
            }
        }
        out.emit(self.queue.update());
    }

    /// Puts the next waiting messages of a kind into the conversation. Delivery is one write: the message itself.
    fn deliver(&mut self, kind: QueueKind, receipt: &Receipt, out: &mut Out) {
        let mode = match kind {
            QueueKind::Steer => self.options.steering_mode,
            QueueKind::FollowUp => self.options.follow_up_mode,
        };
        for item in self.queue.take(kind, mode) {
            let message = Arc::new(Message::User(UserMessage::text(item.text, out.now)));
            let tiller_receipt = (kind == QueueKind::Steer).then(|| receipt.clone());
            self.say(MessageEntry { message, tiller_queue_id: Some(item.id), tiller_receipt }, out);
        }
        out.emit(self.queue.update());
    }

    /// Appends a message, then tells of it.
    fn say(&mut self, entry: MessageEntry, out: &mut Out) {
        let message = Arc::clone(&entry.message);
        out.append(EntryBody::Message(entry));
        if !matches!(*message, Message::Assistant(_)) {
            out.emit(EventKind::MessageStart { message: Arc::clone(&message) });
        }
        out.emit(EventKind::MessageEnd { message: Arc::clone(&message) });
        self.said.push(message);
    }

    fn request(&mut self, out: &mut Out) {
        let over = self.options.max_turns.is_some_and(|most| self.requests >= most);
        let tool_choice = if over { ToolChoice::None } else { ToolChoice::Auto };
        if over {
            out.emit(EventKind::Warning {
                message: format!(
                    "max_turns reached after {} requests: asking for a final answer",
                    self.requests
                ),
                hint: Some("--max-turns or the setting max_turns raises the limit".into()),
            });
        }
        self.requests += 1;
        self.turn += 1;
        self.phase = Phase::Streaming(tool_choice);
        out.effects.push(Effect::Sync);
        out.emit(EventKind::TurnStart);
        out.effects.push(Effect::Request { turn: self.turn, tool_choice });
    }

    fn answered(&mut self, answer: AssistantMessage, plan: Vec<Planned>, out: &mut Out) {
        let last = matches!(self.phase, Phase::Streaming(ToolChoice::None));
        let stop = answer.stop_reason;
        let message = Arc::new(Message::Assistant(answer));
        self.say(
            MessageEntry { message: Arc::clone(&message), tiller_queue_id: None, tiller_receipt: None },
            out,
        );
        let mut working = Box::new(Working::new(message, plan));
        match stop {
            StopReason::Error | StopReason::Aborted => return self.end_run(working, RunOutcome::Failed, out),
            StopReason::Length => {
                self.refuse_rest(
                    &mut working,
                    "not run: the answer was cut off at the output limit, so the call may be incomplete",
                    out,
                );
            }
            StopReason::Stop | StopReason::ToolUse => {}
        }
        if last {
            self.refuse_rest(&mut working, "not run: the limit of turns is reached", out);
            return self.end_run(working, RunOutcome::MaxTurns, out);
        }
        self.work(working, out);
    }

    /// All calls are done: the turn is over, and something follows or nothing does.
    fn end_turn(&mut self, working: Box<Working>, out: &mut Out) {
        let had_calls = working.had_calls();
        let receipt = working.receipt();
        self.close_turn(working, out);
        if self.queue.waits(QueueKind::Steer) {
            self.deliver(QueueKind::Steer, &receipt, out);
            self.request(out);
        } else if had_calls {
            self.request(out);
        } else if self.queue.waits(QueueKind::FollowUp) {
            self.requests = 0;
            self.deliver(QueueKind::FollowUp, &receipt, out);
            self.request(out);
        } else {
            self.settle(RunOutcome::Completed, out);
        }
    }

    fn close_turn(&mut self, working: Box<Working>, out: &mut Out) {
        self.flush_deferred(out);
        let (message, tool_results) = working.into_parts();
        out.emit(EventKind::TurnEnd { message, tool_results });
    }

    fn flush_deferred(&mut self, out: &mut Out) {
        for record in self.deferred.drain(..) {
            out.append(EntryBody::message(Arc::new(Message::BashExecution(record))));
        }
    }

    /// The run ends here, whatever waits; what waits is held.
    fn end_run(&mut self, working: Box<Working>, outcome: RunOutcome, out: &mut Out) {
        self.close_turn(working, out);
        self.settle(outcome, out);
    }

    fn settle(&mut self, outcome: RunOutcome, out: &mut Out) {
        self.phase = Phase::Idle;
        if !self.queue.items().is_empty() {
            self.queue.hold_all();
            out.emit(self.queue.update());
        }
        out.effects.push(Effect::Sync);
        let messages = std::mem::take(&mut self.said);
        out.emit(EventKind::AgentEnd { messages, will_retry: false, outcome });
        out.emit(EventKind::AgentSettled);
    }

    fn abort(&mut self, partial: Option<AssistantMessage>, out: &mut Out) {
        let waiting: Vec<QueueId> = self.queue.items().iter().map(|item| item.id.clone()).collect();
        match std::mem::take(&mut self.phase) {
            Phase::Idle => {}
            Phase::Streaming(_) => {
                out.effects.push(Effect::StopStream);
                let Some(partial) = partial else {
                    // It was not asked yet: there is no answer to keep.
                    self.flush_deferred(out);
                    self.unqueue_all(&waiting, out);
                    return self.settle(RunOutcome::Aborted, out);
                };
                let message = Arc::new(Message::Assistant(aborted(partial, out.now)));
                let entry = MessageEntry {
                    message: Arc::clone(&message),
                    tiller_queue_id: None,
                    tiller_receipt: None,
                };
                self.say(entry, out);
                self.unqueue_all(&waiting, out);
                self.end_run(Box::new(Working::new(message, Vec::new())), RunOutcome::Aborted, out);
            }
            Phase::Working(mut working) => {
                out.effects.push(Effect::StopTools);
                self.abort_calls(&mut working, out);
                self.unqueue_all(&waiting, out);
                self.end_run(working, RunOutcome::Aborted, out);
            }
        }
    }

    fn unqueue_all(&mut self, waiting: &[QueueId], out: &mut Out) {
        if !waiting.is_empty() {
            self.unqueue(waiting, out);
        }
    }

    fn stop_for_store(&mut self, run: Option<Vec<Arc<Message>>>, out: &mut Out) {
        self.phase = Phase::Idle;
        self.turn += 1;
        self.said.clear();
        self.queue.hold_all();
        out.emit(self.queue.update());
        if let Some(messages) = run {
            out.emit(EventKind::AgentEnd { messages, will_retry: false, outcome: RunOutcome::Failed });
            out.emit(EventKind::AgentSettled);
        }
    }
}

fn aborted(mut partial: AssistantMessage, now: UnixMs) -> AssistantMessage {
    partial.stop_reason = StopReason::Aborted;
    partial.error_message = Some("stopped by the user".into());
    if partial.timestamp == UnixMs(0) {
        partial.timestamp = now;
    }
    partial
}
