//! Random tests of the turn machine in every phase. The test performs effects like the driver: syncs delay the
//! following effects, appends fail, events come late. Invariants are checked at every effect and after every input.

use std::collections::{BTreeSet, VecDeque};
use tiller_core::setting::{DeliveryMode, SteeringPoint, Switch};

use proptest::prelude::*;
use tiller_session::entry::Entry;

use super::*;

/// A random action.
#[derive(Clone, Debug)]
enum Act {
    Prompt(QueueKind),
    SteerNow,
    Hurry,
    Hold(usize),
    Release(usize),
    Answer(StopReason, Vec<char>),
    Fail(AfterFailure),
    Awake,
    CancelRetry,
    ToolEnd(usize),
    Decide(Decision),
    Compacted(CompactionReason),
    NotCompacted(NotCompacted),
    Abort(QueueHandling),
    Unqueue(usize),
    Edit(usize, Option<QueueKind>, Option<usize>),
    Bash,
    /// A late event of the previous request.
    Late,
    /// A sync finishes.
    Synced,
    /// The next append fails.
    Full,
}

fn act() -> impl Strategy<Value = Act> {
    let kind = || prop_oneof![Just(QueueKind::Steer), Just(QueueKind::FollowUp)];
    let stop = prop_oneof![5 => Just(StopReason::ToolUse), 2 => Just(StopReason::Stop), 1 => Just(StopReason::Length)];
    let calls = prop::collection::vec(prop::sample::select(vec!['r', 'w', '?', '!']), 0..4);
    let fate =
        prop_oneof![3 => Just(retry()), 2 => Just(AfterFailure::Compact), 1 => Just(AfterFailure::GiveUp)];
    let decision = prop_oneof![
        Just(Decision::Once),
        Just(Decision::Session),
        Just(Decision::Deny { reason: "no".into() })
    ];
    let why = prop_oneof![Just(NotCompacted::Stopped), Just(NotCompacted::Failed("no".into()))];
    let reason = prop_oneof![
        1 => Just(CompactionReason::Manual),
        1 => Just(CompactionReason::Threshold),
        3 => Just(CompactionReason::Overflow)
    ];
    prop_oneof![
        6 => kind().prop_map(Act::Prompt),
        2 => Just(Act::SteerNow),
        1 => Just(Act::Hurry),
        1 => (0..3_usize).prop_map(Act::Hold),
        2 => (0..3_usize).prop_map(Act::Release),
        8 => (stop, calls).prop_map(|(stop, calls)| Act::Answer(stop, calls)),
        4 => fate.prop_map(Act::Fail),
        4 => Just(Act::Awake),
        1 => Just(Act::CancelRetry),
        6 => (0..8_usize).prop_map(Act::ToolEnd),
        3 => decision.prop_map(Act::Decide),
        3 => reason.prop_map(Act::Compacted),
        1 => why.prop_map(Act::NotCompacted),
        1 => prop_oneof![Just(QueueHandling::Return), Just(QueueHandling::Hold)].prop_map(Act::Abort),
        1 => (0..3_usize).prop_map(Act::Unqueue),
        2 => (0..3_usize, prop::option::of(kind()), prop::option::of(0..4_usize))
            .prop_map(|(at, kind, place)| Act::Edit(at, kind, place)),
        3 => Just(Act::Bash),
        1 => Just(Act::Late),
        12 => Just(Act::Synced),
        1 => Just(Act::Full),
    ]
}

/// Unfinished operations as front ends see them.
#[derive(Debug, Default)]
struct Heard {
    run: bool,
    /// A run that was announced to continue: it has ended and isn't settled.
    paused: bool,
    turn: bool,
    retry: bool,
    calls: BTreeSet<String>,
    asked: BTreeSet<String>,
    /// Messages since the run's start that no end event has included.
    messages: usize,
}

/// Jobs in progress.
#[derive(Debug, Default)]
struct Begun {
    stream: Option<TurnNumber>,
    sleep: Option<TurnNumber>,
    compaction: bool,
    calls: Vec<String>,
    asking: Option<String>,
}

struct Rig {
    turn: Turn,
    work: VecDeque<Effect>,
    syncs: bool,
    syncing: bool,
    full: bool,
    log: Vec<Entry>,
    /// Calls without a result.
    open: BTreeSet<String>,
    told: Heard,
    begun: Begun,
    names: usize,
    summaries: usize,
    summaries_told: usize,
    records: Vec<String>,
    /// The driver's unfinished operations for a run that a failed append ends.
    kept: OpenEvents,
    history: Vec<String>,
}

impl Rig {
    fn new(options: TurnOptions, syncs: bool) -> Self {
        Self {
            turn: machine(options),
            work: VecDeque::new(),
            syncs,
            syncing: false,
            full: false,
            log: Vec::new(),
            open: BTreeSet::new(),
            told: Heard::default(),
            begun: Begun::default(),
            names: 0,
            summaries: 0,
            summaries_told: 0,
            records: Vec::new(),
            kept: OpenEvents::default(),
            history: Vec::new(),
        }
    }

    fn name(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    fn said(&mut self, kind: QueueKind) -> TurnPrompt {
        let text = self.name("m");
        let Input::Prompt(prompt) = said(&text, kind) else { unreachable!() };
        prompt
    }

    fn waiting(&self, at: usize) -> Option<QueueId> {
        self.turn.queue().items().get(at).map(|item| item.id.clone())
    }

    fn partial(&self) -> Option<AssistantMessage> {
        self.begun.stream.map(|_| AssistantMessage::default())
    }

    fn so_far(&self) -> PartialOutput {
        of_answer(self.partial())
    }

    fn answer(&mut self, stop: StopReason, letters: &[char]) -> Option<Input> {
        let turn = self.begun.stream.take()?;
        let names: Vec<String> = letters.iter().map(|letter| self.name(&letter.to_string())).collect();
        let content = names.iter().map(|id| AssistantBlock::ToolCall(call(id))).collect();
        Some(answered(turn, stop, content))
    }

    /// A failure with a call in it, which must never run. A request is compacted for once.
    fn failure(&mut self, then: AfterFailure) -> Option<Input> {
        let then = match then {
            AfterFailure::Compact if self.turn.has_compacted() => AfterFailure::GiveUp,
            AfterFailure::Compact | AfterFailure::GiveUp | AfterFailure::Retry { .. } => then,
        };
        let mut input = failed(self.begun.stream.take()?, then);
        if let Input::Failed { answer, .. } = &mut input {
            answer.content = vec![AssistantBlock::ToolCall(call("never"))];
        }
        Some(input)
    }

    /// Converts an action into an input that is possible now.
    fn input(&mut self, act: Act) -> Option<Input> {
        Some(match act {
            Act::Prompt(kind) => Input::Prompt(self.said(kind)),
            Act::SteerNow => {
                let prompt = Some(self.said(QueueKind::Steer));
                Input::SteerNow { prompt, so_far: self.so_far() }
            }
            Act::Hurry => Input::SteerNow { prompt: None, so_far: self.so_far() },
            Act::Hold(at) => Input::Hold { id: self.waiting(at)? },
            Act::Release(at) => Input::Release { id: self.waiting(at)? },
            Act::Answer(stop, letters) => self.answer(stop, &letters)?,
            Act::Fail(then) => self.failure(then)?,
            Act::Awake => Input::RetryDue { turn: self.begun.sleep.take()? },
            Act::CancelRetry => Input::CancelRetry,
            Act::ToolEnd(at) => {
                let at = at.checked_rem(self.begun.calls.len())?;
                ended(self.turn.turn, &self.begun.calls.remove(at))
            }
            Act::Decide(decision) => {
                Input::Decided { call: CallId::new(self.begun.asking.take()?), decision, by: Decider::User }
            }
            Act::Compacted(reason) => {
                if reason == CompactionReason::Overflow && !std::mem::take(&mut self.begun.compaction) {
                    return None;
                }
                // A compaction with another cause ends the wait too; the one in progress is not needed any more.
                if self.turn.is_compacting() {
                    self.begun.compaction = false;
                }
                self.summaries += 1;
                compacted(reason)
            }
            Act::NotCompacted(why) => {
                if !std::mem::take(&mut self.begun.compaction) {
                    return None;
                }
                Input::NotCompacted { reason: CompactionReason::Overflow, why }
            }
            Act::Abort(queue) => Input::Abort { so_far: self.so_far(), queue },
            Act::Unqueue(at) => Input::Unqueue(vec![self.waiting(at)?]),
            Act::Edit(at, kind, place) => Input::EditQueued {
                id: self.waiting(at)?,
                edit: QueueEdit { kind, place, ..QueueEdit::default() },
            },
            Act::Bash => {
                let command = self.name("b");
                self.records.push(command.clone());
                Input::BashEnded(BashExecutionMessage { command, ..BashExecutionMessage::default() })
            }
            Act::Late => {
                let turn = self.turn.turn.checked_sub(1)?;
                answered(turn, StopReason::ToolUse, vec![AssistantBlock::ToolCall(call("late"))])
            }
            Act::Synced | Act::Full => return None,
        })
    }

    fn act(&mut self, act: Act) {
        self.history.push(format!("# {act:?}"));
        match act {
            Act::Synced => self.syncing = false,
            Act::Full => self.full = true,
            other => {
                if let Some(input) = self.input(other) {
                    let effects = self.turn.step(input, NOW);
                    self.work.extend(effects);
                }
            }
        }
        self.perform();
        if self.work.is_empty() {
            self.check_at_rest();
        }
    }

    fn perform(&mut self) {
        while !self.syncing {
            let Some(effect) = self.work.pop_front() else { return };
            self.history.push(line(&effect));
            match effect {
                Effect::Append(body) => self.append(vec![body]),
                Effect::AppendAll(bodies) => self.append(bodies),
                Effect::RepairDanglingCalls => self.mend(),
                Effect::Sync => self.syncing = self.syncs,
                Effect::Request { turn, .. } => {
                    if self.turn.streaming() == Some(turn) {
                        self.hear(&EventKind::TurnStart);
                        self.begin_stream(turn);
                    }
                }
                Effect::Sleep { turn, .. } => {
                    self.nothing_begun();
                    self.begun.sleep = Some(turn);
                }
                Effect::Compact => {
                    if self.turn.is_compacting() {
                        self.nothing_begun();
                        self.begun.compaction = true;
                        self.hear(&EventKind::CompactionStart { reason: CompactionReason::Overflow });
                    }
                }
                Effect::Plan { turn, calls: made } => self.plan(turn, &made),
                Effect::Run { calls, .. } => {
                    let begun = calls.iter().filter(|call| self.turn.awaits(&call.id));
                    self.begun.calls.extend(begun.map(|call| call.id.to_string()));
                }
                Effect::Ask { call, .. } => {
                    self.told.asked.insert(call.id.to_string());
                    self.begun.asking = Some(call.id.to_string());
                }
                Effect::StopStream => (self.begun.stream, self.begun.sleep) = (None, None),
                Effect::StopTools => self.begun.calls.clear(),
                Effect::StopCompaction => self.begun.compaction = false,
                Effect::Emit(event) => self.hear(&event),
            }
        }
    }

    fn plan(&mut self, turn: TurnNumber, made: &[ToolCall]) {
        let names: Vec<&str> = made.iter().map(|call| call.id.as_str()).collect();
        let [_, planned] = calls(turn, &names);
        for effect in self.turn.step(planned, NOW).into_iter().rev() {
            self.work.push_front(effect);
        }
    }

    fn nothing_begun(&self) {
        let Begun { stream, sleep, compaction, calls, asking } = &self.begun;
        let idle = stream.is_none() && sleep.is_none() && !compaction && calls.is_empty() && asking.is_none();
        assert!(idle, "something is at work already: {:?}\n{}", self.begun, self.story());
        assert!(self.open.is_empty(), "calls without a result: {:?}\n{}", self.open, self.story());
    }

    fn begin_stream(&mut self, turn: TurnNumber) {
        self.nothing_begun();
        assert!(self.told.run && self.told.turn, "a request outside of a turn\n{}", self.story());
        self.begun.stream = Some(turn);
    }

    fn append(&mut self, bodies: Vec<EntryBody>) {
        if std::mem::take(&mut self.full) {
            return self.fail(bodies);
        }
        for body in bodies {
            if let Some(message) = body.as_message() {
                self.logged(&Arc::clone(message));
            }
            self.log.push(Entry { id: "e".into(), parent: None, timestamp: NOW, body });
        }
    }

    /// Completes calls whose results a failed append kept out of the log.
    fn mend(&mut self) {
        self.open.clear();
    }

    fn logged(&mut self, message: &Message) {
        match message {
            Message::Assistant(answer) => {
                assert!(self.open.is_empty(), "an answer before results\n{}", self.story());
                if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
                    self.open.extend(answer.tool_calls().map(|call| call.id.to_string()));
                }
            }
            Message::ToolResult(result) => {
                assert!(self.open.remove(result.tool_call_id.as_str()), "a second result\n{}", self.story());
            }
            Message::User(_) => assert!(self.open.is_empty(), "user before results\n{}", self.story()),
            Message::BashExecution(record) => {
                let at = self.records.iter().position(|command| *command == record.command);
                self.records.remove(at.unwrap_or_else(|| panic!("a record twice\n{}", self.story())));
            }
            Message::System(_) => {}
        }
    }

    /// Simulates the driver after a failed append.
    fn fail(&mut self, bodies: Vec<EntryBody>) {
        let dropped = std::iter::once(Effect::AppendAll(bodies)).chain(std::mem::take(&mut self.work));
        let bodies = dropped.flat_map(|effect| match effect {
            Effect::Append(body) => vec![body],
            Effect::AppendAll(bodies) => bodies,
            _ => Vec::new(),
        });
        let record = |body: EntryBody| match body.as_message().map(|message| &**message) {
            Some(Message::BashExecution(record)) => Some(record.clone()),
            _ => None,
        };
        let records = bodies.filter_map(record).collect();
        // A result that could not be written is missing: the next run begins with it.
        self.open.clear();
        // Front ends see the end of the run as the end of everything in it.
        (self.told.turn, self.told.calls, self.told.asked) = (false, BTreeSet::new(), BTreeSet::new());
        self.begun.asking = None;
        // A finished summary is dropped silently.
        self.summaries = self.summaries_told;
        let queue = Queue::restore(&self.log);
        let reason = "full".to_owned();
        let failed = StoreFailed { reason, hint: None, open_events: self.kept.clone(), queue, records };
        let effects = self.turn.step(Input::StoreFailed(failed), NOW);
        self.work.extend(effects);
    }

    fn hear(&mut self, event: &EventKind) {
        self.kept.update(event, NOW);
        let right = match event {
            EventKind::AgentStart => {
                self.told.paused = false;
                self.told.messages = 0;
                !std::mem::replace(&mut self.told.run, true)
            }
            EventKind::AgentEnd { will_retry, messages, .. } => {
                let same = std::mem::take(&mut self.told.messages) == messages.len();
                let was = std::mem::replace(&mut self.told.run, false);
                let paused = std::mem::replace(&mut self.told.paused, *will_retry);
                was && !paused && same && !self.told.turn && self.told.calls.is_empty()
            }
            EventKind::AgentSettled => !self.told.run && !self.told.paused && !self.told.retry,
            EventKind::TurnStart => self.told.run && !std::mem::replace(&mut self.told.turn, true),
            EventKind::TurnEnd { .. } => self.told.calls.is_empty() && std::mem::take(&mut self.told.turn),
            EventKind::ToolExecutionStart { tool_call_id, .. } => {
                self.told.calls.insert(tool_call_id.to_string())
            }
            EventKind::ToolExecutionEnd { tool_call_id, .. } => self.told.calls.remove(tool_call_id.as_str()),
            EventKind::ApprovalResolved { tool_call_id, .. } => {
                self.begun.asking = None;
                self.told.asked.remove(tool_call_id.as_str())
            }
            EventKind::AutoRetryStart { .. } => {
                self.told.retry = true;
                self.told.paused
            }
            EventKind::AutoRetryEnd { .. } => std::mem::take(&mut self.told.retry),
            EventKind::CompactionEnd { result, error_message, .. } => {
                // One that was overtaken was announced, too.
                let overtaken = error_message.as_ref().is_some_and(|error| error.starts_with("another"));
                self.summaries_told += usize::from(result.is_some() || overtaken);
                true
            }
            EventKind::MessageEnd { .. } => {
                self.told.messages += 1;
                self.told.run
            }
            _ => true,
        };
        assert!(right, "told out of order: {}\n{:?}\n{}", event_line(event), self.told, self.story());
    }

    /// Checks an idle state: everything decided must be in the log, and a running machine must wait for something.
    fn check_at_rest(&self) {
        let mut memory = self.turn.queue().clone();
        memory.hold_all();
        assert_eq!(Queue::restore(&self.log), memory, "the queue\n{}", self.story());
        let Begun { stream, sleep, compaction, calls, asking } = &self.begun;
        let awaited = [stream.is_some(), sleep.is_some(), *compaction, !calls.is_empty(), asking.is_some()];
        let awaited = awaited.into_iter().filter(|is| *is).count();
        assert_eq!(awaited, usize::from(self.turn.is_running()), "{:?}\n{}", self.begun, self.story());
        if !self.turn.is_running() {
            let Heard { run, paused, turn, retry, .. } = self.told;
            assert!(!run && !paused && !turn && !retry, "{:?}\n{}", self.told, self.story());
            assert!(self.open.is_empty(), "{:?}\n{}", self.open, self.story());
            assert!(self.turn.deferred.compaction.is_none(), "a summary is kept back\n{}", self.story());
            assert_eq!(self.summaries, self.summaries_told, "a summary is lost\n{}", self.story());
        }
    }

    /// Checks that all records that no failed append kept back are in the log when no job runs.
    fn check_records(&self) {
        if !self.turn.is_running() {
            assert!(self.records.is_empty(), "records not written: {:?}\n{}", self.records, self.story());
        }
    }

    fn story(&self) -> String {
        self.history.join("\n")
    }
}

fn options() -> impl Strategy<Value = TurnOptions> {
    let mode = || prop_oneof![Just(DeliveryMode::OneAtATime), Just(DeliveryMode::All)];
    let point = prop_oneof![Just(SteeringPoint::BetweenTools), Just(SteeringPoint::AfterAnswer)];
    let groups = prop_oneof![Just(Switch::On), Just(Switch::Off)];
    (point, mode(), mode(), groups, prop::option::of(0..4_u64)).prop_map(
        |(steering_point, steering_mode, follow_up_mode, groups, max_turns)| TurnOptions {
            steering_point,
            steering_mode,
            follow_up_mode,
            groups,
            max_turns,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn turn_random_inputs_keep_the_invariants(
        options in options(),
        syncs in any::<bool>(),
        acts in prop::collection::vec(act(), 1..40),
    ) {
        let mut rig = Rig::new(options, syncs);
        let is_full = acts.iter().any(|act| matches!(act, Act::Full));
        for act in acts {
            rig.act(act);
            if !is_full && rig.work.is_empty() {
                rig.check_records();
            }
        }
        rig.full = false;
        rig.act(Act::Abort(QueueHandling::Hold));
        while !rig.work.is_empty() {
            rig.act(Act::Synced);
        }
        prop_assert!(!rig.turn.is_running());
        rig.check_at_rest();
    }
}
