//! Random tests of the turn machine in every phase. The test performs effects like the driver: syncs delay
//! the following effects, appends fail, events arrive late. Every effect and every input is checked against
//! the invariants.

use std::collections::{BTreeSet, VecDeque};
use tiller_core::setting::{DeliveryMode, SteeringPoint, Switch};

use proptest::prelude::*;
use tiller_session::entry::Entry;

use super::*;

/// A random action.
#[derive(Clone, Debug)]
enum Action {
    Prompt(QueueKind),
    SteerNow,
    DeliverSteering,
    Hold(usize),
    Release(usize),
    Answer(StopReason, Vec<char>),
    Fail(AfterFailure),
    RetryDue,
    CancelRetry,
    ToolEnd(usize),
    Decide(Decision),
    Compacted(CompactionReason),
    NotCompacted(NoCompactionReason),
    /// A review of the run's end, which may continue the run.
    EndReview(bool),
    Abort(QueueHandling),
    Unqueue(usize),
    Edit(usize, Option<QueueKind>, Option<usize>),
    Bash,
    /// A late event of the previous request.
    Late,
    /// A sync finishes.
    Synced,
    /// The next append fails.
    AppendFails,
}

fn action() -> impl Strategy<Value = Action> {
    let kind = || prop_oneof![Just(QueueKind::Steer), Just(QueueKind::FollowUp)];
    let stop = prop_oneof![5 => Just(StopReason::ToolUse), 2 => Just(StopReason::Stop), 1 => Just(StopReason::Length)];
    let calls = prop::collection::vec(prop::sample::select(vec!['r', 'w', '?', '!']), 0..4);
    let failure = prop_oneof![3 => Just(retry()), 2 => Just(AfterFailure::Compact), 1 => Just(AfterFailure::GiveUp), 2 => Just(switch_model("a", &["b", "c"]))];
    let decision = prop_oneof![
        Just(Decision::Once),
        Just(Decision::Session),
        Just(Decision::Deny { reason: "no".into() })
    ];
    let cause = prop_oneof![Just(NoCompactionReason::Stopped), Just(NoCompactionReason::Failed("no".into()))];
    let reason = prop_oneof![
        1 => Just(CompactionReason::Manual),
        1 => Just(CompactionReason::Threshold),
        3 => Just(CompactionReason::Overflow)
    ];
    prop_oneof![
        6 => kind().prop_map(Action::Prompt),
        2 => Just(Action::SteerNow),
        1 => Just(Action::DeliverSteering),
        1 => (0..3_usize).prop_map(Action::Hold),
        2 => (0..3_usize).prop_map(Action::Release),
        8 => (stop, calls).prop_map(|(stop, calls)| Action::Answer(stop, calls)),
        4 => failure.prop_map(Action::Fail),
        4 => Just(Action::RetryDue),
        1 => Just(Action::CancelRetry),
        6 => (0..8_usize).prop_map(Action::ToolEnd),
        3 => decision.prop_map(Action::Decide),
        3 => reason.prop_map(Action::Compacted),
        1 => cause.prop_map(Action::NotCompacted),
        4 => any::<bool>().prop_map(Action::EndReview),
        1 => prop_oneof![Just(QueueHandling::Return), Just(QueueHandling::Hold)].prop_map(Action::Abort),
        1 => (0..3_usize).prop_map(Action::Unqueue),
        2 => (0..3_usize, prop::option::of(kind()), prop::option::of(0..4_usize))
            .prop_map(|(at, kind, place)| Action::Edit(at, kind, place)),
        3 => Just(Action::Bash),
        1 => Just(Action::Late),
        12 => Just(Action::Synced),
        1 => Just(Action::AppendFails),
    ]
}

/// Unfinished operations, as seen by front ends.
#[derive(Debug, Default)]
struct OpenOperations {
    run: bool,
    /// A run that was announced to continue: it has ended and hasn't settled.
    paused: bool,
    turn: bool,
    retry: bool,
    calls: BTreeSet<String>,
    approvals: BTreeSet<String>,
    /// Messages since the run's start that no end event has included.
    messages: usize,
}

/// Jobs in progress.
#[derive(Debug, Default)]
struct Jobs {
    stream: Option<TurnNumber>,
    sleep: Option<TurnNumber>,
    compaction: bool,
    calls: Vec<String>,
    approval: Option<String>,
    review: Option<TurnNumber>,
}

struct Harness {
    turn: Turn,
    work: VecDeque<Effect>,
    /// The current model; `a` is the user's.
    model: &'static str,
    syncs: bool,
    syncing: bool,
    fails_append: bool,
    log: Vec<Entry>,
    /// Calls without a result.
    open: BTreeSet<String>,
    observed: OpenOperations,
    jobs: Jobs,
    names: usize,
    summaries: usize,
    summaries_observed: usize,
    records: Vec<String>,
    /// The driver's unfinished operations for a run that a failed append ends.
    open_events: OpenEvents,
    history: Vec<String>,
}

impl Harness {
    fn new(turn: Turn, syncs: bool) -> Self {
        Self {
            turn,
            work: VecDeque::new(),
            model: "a",
            syncs,
            syncing: false,
            fails_append: false,
            log: Vec::new(),
            open: BTreeSet::new(),
            observed: OpenOperations::default(),
            jobs: Jobs::default(),
            names: 0,
            summaries: 0,
            summaries_observed: 0,
            records: Vec::new(),
            open_events: OpenEvents::default(),
            history: Vec::new(),
        }
    }

    fn name(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    fn prompt(&mut self, kind: QueueKind) -> TurnPrompt {
        let text = self.name("m");
        let Input::Prompt(prompt) = prompt_of(&text, kind) else { unreachable!() };
        prompt
    }

    fn waiting(&self, at: usize) -> Option<QueueId> {
        self.turn.queue().items().get(at).map(|item| item.id.clone())
    }

    fn partial(&self) -> Option<AssistantMessage> {
        self.jobs.stream.map(|_| AssistantMessage::default())
    }

    fn partial_output(&self) -> PartialOutput {
        partial_output(self.partial())
    }

    fn abort(&self, queue: QueueHandling) -> Input {
        Input::Abort { partial_output: self.partial_output(), queue, cause: AbortCause::User }
    }

    fn answer(&mut self, stop: StopReason, letters: &[char]) -> Option<Input> {
        let turn = self.jobs.stream.take()?;
        let names: Vec<String> = letters.iter().map(|letter| self.name(&letter.to_string())).collect();
        let content = names.iter().map(|id| AssistantBlock::ToolCall(call(id))).collect();
        Some(end_answer(turn, stop, content))
    }

    /// Returns a failure whose answer has a call, which must never run. Each request is compacted for at most
    /// once.
    fn failure(&mut self, action: AfterFailure) -> Option<Input> {
        let action = match action {
            AfterFailure::Compact if self.turn.has_compacted() => AfterFailure::GiveUp,
            AfterFailure::SwitchModel(_) => switch_model(self.model, &["a", "b", "c"]),
            AfterFailure::Compact | AfterFailure::GiveUp | AfterFailure::Retry { .. } => action,
        };
        let mut input = failure(self.jobs.stream.take()?, action);
        if let Input::Failed { answer, .. } = &mut input {
            answer.content = vec![AssistantBlock::ToolCall(call("never"))];
        }
        Some(input)
    }

    fn end_review(&mut self, goes_on: bool) -> Option<Input> {
        let turn = self.jobs.review.take()?;
        Some(Input::EndReviewed {
            turn,
            verdict: if goes_on { EndVerdict::Instruct("go on".to_owned()) } else { EndVerdict::End },
        })
    }

    /// Converts an action into an input that is valid in the current state.
    fn input(&mut self, action: Action) -> Option<Input> {
        Some(match action {
            Action::Prompt(kind) => Input::Prompt(self.prompt(kind)),
            Action::SteerNow => {
                let prompt = Some(self.prompt(QueueKind::Steer));
                Input::SteerNow { prompt, partial_output: self.partial_output() }
            }
            Action::DeliverSteering => {
                Input::SteerNow { prompt: None, partial_output: self.partial_output() }
            }
            Action::Hold(at) => Input::Hold { id: self.waiting(at)? },
            Action::Release(at) => Input::Release { id: self.waiting(at)? },
            Action::Answer(stop, letters) => self.answer(stop, &letters)?,
            Action::Fail(action) => self.failure(action)?,
            Action::RetryDue => Input::RetryDue { turn: self.jobs.sleep.take()? },
            Action::CancelRetry => Input::CancelRetry,
            Action::ToolEnd(at) => {
                let at = at.checked_rem(self.jobs.calls.len())?;
                tool_ended(self.turn.turn, &self.jobs.calls.remove(at))
            }
            Action::Decide(decision) => Input::Decided {
                call: CallId::new(self.jobs.approval.take()?),
                decision,
                decider: Decider::User,
                rule: None,
            },
            Action::Compacted(reason) => {
                if reason == CompactionReason::Overflow && !std::mem::take(&mut self.jobs.compaction) {
                    return None;
                }
                // A compaction for another reason ends the wait too; the one in progress is no longer needed.
                if self.turn.is_compacting() {
                    self.jobs.compaction = false;
                }
                self.summaries += 1;
                compacted(reason)
            }
            Action::NotCompacted(cause) => {
                if !std::mem::take(&mut self.jobs.compaction) {
                    return None;
                }
                Input::NotCompacted { reason: CompactionReason::Overflow, cause }
            }
            Action::EndReview(goes_on) => self.end_review(goes_on)?,
            Action::Abort(queue) => self.abort(queue),
            Action::Unqueue(at) => Input::Unqueue(vec![self.waiting(at)?]),
            Action::Edit(at, kind, place) => Input::EditQueued {
                id: self.waiting(at)?,
                edit: QueueEdit { kind, place, ..QueueEdit::default() },
            },
            Action::Bash => {
                let command = self.name("b");
                self.records.push(command.clone());
                Input::BashEnded(BashExecutionMessage { command, ..BashExecutionMessage::default() })
            }
            Action::Late => {
                let turn = self.turn.turn.checked_sub(1)?;
                end_answer(turn, StopReason::ToolUse, vec![AssistantBlock::ToolCall(call("late"))])
            }
            Action::Synced | Action::AppendFails => return None,
        })
    }

    fn apply(&mut self, action: Action) {
        self.history.push(format!("# {action:?}"));
        match action {
            Action::Synced => self.syncing = false,
            Action::AppendFails => self.fails_append = true,
            action => {
                if let Some(input) = self.input(action) {
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
                Effect::RepairDanglingCalls => self.repair(),
                Effect::Sync => self.syncing = self.syncs,
                Effect::Request { turn, .. } => {
                    if self.turn.streaming() == Some(turn) {
                        self.observe(&EventKind::TurnStart);
                        self.begin_stream(turn);
                    }
                }
                Effect::Sleep { turn, .. } => {
                    self.assert_no_job();
                    self.jobs.sleep = Some(turn);
                }
                Effect::Compact => {
                    if self.turn.is_compacting() {
                        self.assert_no_job();
                        self.jobs.compaction = true;
                        self.observe(&EventKind::CompactionStart { reason: CompactionReason::Overflow });
                    }
                }
                Effect::SwitchModel { to, .. } => {
                    self.assert_no_job();
                    self.model = if to.model == model("b") { "b" } else { "c" };
                }
                Effect::RestoreModel => {
                    assert_ne!(self.model, "a");
                    self.model = "a";
                }
                Effect::Plan { turn, calls: tool_calls } => self.plan(turn, &tool_calls),
                Effect::Run { calls, .. } => {
                    let jobs = calls.iter().filter(|call| self.turn.awaits(&call.id));
                    self.jobs.calls.extend(jobs.map(|call| call.id.to_string()));
                }
                Effect::Ask { call, .. } => {
                    self.observed.approvals.insert(call.id.to_string());
                    self.jobs.approval = Some(call.id.to_string());
                }
                Effect::ReviewEnd { turn, .. } => {
                    if self.turn.ending() == Some(turn) {
                        self.assert_no_job();
                        self.jobs.review = Some(turn);
                    }
                }
                Effect::StopStream => {
                    (self.jobs.stream, self.jobs.sleep, self.jobs.review) = (None, None, None);
                }
                Effect::StopTools => self.jobs.calls.clear(),
                Effect::StopCompaction => self.jobs.compaction = false,
                Effect::Emit(event) => self.observe(&event),
            }
        }
    }

    fn plan(&mut self, turn: TurnNumber, tool_calls: &[ToolCall]) {
        let names: Vec<&str> = tool_calls.iter().map(|call| call.id.as_str()).collect();
        let [_, planned] = calls(turn, &names);
        for effect in self.turn.step(planned, NOW).into_iter().rev() {
            self.work.push_front(effect);
        }
    }

    fn assert_no_job(&self) {
        let Jobs { stream, sleep, compaction, calls, approval, review } = &self.jobs;
        let idle = stream.is_none()
            && sleep.is_none()
            && !compaction
            && calls.is_empty()
            && approval.is_none()
            && review.is_none();
        assert!(idle, "something is at work already: {:?}\n{}", self.jobs, self.trace());
        assert!(self.open.is_empty(), "calls without a result: {:?}\n{}", self.open, self.trace());
    }

    fn begin_stream(&mut self, turn: TurnNumber) {
        self.assert_no_job();
        assert!(self.observed.run && self.observed.turn, "a request outside of a turn\n{}", self.trace());
        self.jobs.stream = Some(turn);
    }

    fn append(&mut self, bodies: Vec<EntryBody>) {
        if std::mem::take(&mut self.fails_append) {
            return self.fail(bodies);
        }
        for body in bodies {
            if let Some(message) = body.as_message() {
                self.logged(&Arc::clone(message));
            }
            self.log.push(Entry { id: "e".into(), parent: None, timestamp: NOW, body });
        }
    }

    /// Completes calls whose results are missing in the log because of a failed append.
    fn repair(&mut self) {
        self.open.clear();
    }

    fn logged(&mut self, message: &Message) {
        match message {
            Message::Assistant(answer) => {
                assert!(self.open.is_empty(), "an answer before results\n{}", self.trace());
                if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
                    self.open.extend(answer.tool_calls().map(|call| call.id.to_string()));
                }
            }
            Message::ToolResult(result) => {
                assert!(self.open.remove(result.tool_call_id.as_str()), "a second result\n{}", self.trace());
            }
            Message::User(_) => assert!(self.open.is_empty(), "user before results\n{}", self.trace()),
            Message::BashExecution(record) => {
                let at = self.records.iter().position(|command| *command == record.command);
                self.records.remove(at.unwrap_or_else(|| panic!("a record twice\n{}", self.trace())));
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
        // A result that could not be written is missing: the next run starts with it.
        self.open.clear();
        // For front ends, the end of the run ends everything in it.
        (self.observed.turn, self.observed.calls, self.observed.approvals) =
            (false, BTreeSet::new(), BTreeSet::new());
        self.jobs.approval = None;
        // A finished summary is dropped silently.
        self.summaries = self.summaries_observed;
        let queue = Queue::restore(&self.log);
        let reason = "full".to_owned();
        let failed =
            AppendFailure { reason, hint: None, open_events: self.open_events.clone(), queue, records };
        let effects = self.turn.step(Input::StoreFailed(failed), NOW);
        self.work.extend(effects);
    }

    fn observe(&mut self, event: &EventKind) {
        self.open_events.update(event, NOW);
        let is_in_order = match event {
            EventKind::AgentStart => {
                self.observed.paused = false;
                self.observed.messages = 0;
                !std::mem::replace(&mut self.observed.run, true)
            }
            EventKind::AgentEnd { will_retry, messages, .. } => {
                let has_same_count = std::mem::take(&mut self.observed.messages) == messages.len();
                let was_running = std::mem::replace(&mut self.observed.run, false);
                let paused = std::mem::replace(&mut self.observed.paused, *will_retry);
                was_running
                    && !paused
                    && has_same_count
                    && !self.observed.turn
                    && self.observed.calls.is_empty()
            }
            EventKind::AgentSettled => !self.observed.run && !self.observed.paused && !self.observed.retry,
            EventKind::TurnStart => self.observed.run && !std::mem::replace(&mut self.observed.turn, true),
            EventKind::TurnEnd { .. } => {
                self.observed.calls.is_empty() && std::mem::take(&mut self.observed.turn)
            }
            EventKind::ToolExecutionStart { tool_call_id, .. } => {
                self.observed.calls.insert(tool_call_id.to_string())
            }
            EventKind::ToolExecutionEnd { tool_call_id, .. } => {
                self.observed.calls.remove(tool_call_id.as_str())
            }
            EventKind::ApprovalResolved { tool_call_id, .. } => {
                self.jobs.approval = None;
                self.observed.approvals.remove(tool_call_id.as_str())
            }
            EventKind::AutoRetryStart { .. } => {
                self.observed.retry = true;
                self.observed.paused
            }
            EventKind::AutoRetryEnd { .. } => std::mem::take(&mut self.observed.retry),
            EventKind::CompactionEnd { result, error_message, .. } => {
                // An overtaken compaction was announced, too.
                let overtaken = error_message.as_ref().is_some_and(|error| error.starts_with("another"));
                self.summaries_observed += usize::from(result.is_some() || overtaken);
                true
            }
            EventKind::MessageEnd { .. } => {
                self.observed.messages += 1;
                self.observed.run
            }
            _ => true,
        };
        assert!(
            is_in_order,
            "emitted out of order: {}\n{:?}\n{}",
            event_line(event),
            self.observed,
            self.trace()
        );
    }

    /// Checks an idle state: every decision must be in the log, and a running machine must be waiting for
    /// something.
    fn check_at_rest(&self) {
        let mut memory = self.turn.queue().clone();
        memory.hold_all();
        assert_eq!(Queue::restore(&self.log), memory, "the queue\n{}", self.trace());
        let Jobs { stream, sleep, compaction, calls, approval, review } = &self.jobs;
        let request = [stream.is_some(), sleep.is_some(), review.is_some()];
        let calls = [!calls.is_empty(), approval.is_some()];
        let awaited = request.into_iter().chain(calls).chain([*compaction]);
        let awaited = awaited.filter(|awaits| *awaits).count();
        assert_eq!(awaited, usize::from(self.turn.is_running()), "{:?}\n{}", self.jobs, self.trace());
        if !self.turn.is_running() {
            let OpenOperations { run, paused, turn, retry, .. } = self.observed;
            assert!(!run && !paused && !turn && !retry, "{:?}\n{}", self.observed, self.trace());
            assert!(self.open.is_empty(), "{:?}\n{}", self.open, self.trace());
            assert!(self.turn.deferred.compaction.is_none(), "a summary is kept back\n{}", self.trace());
            assert_eq!(self.summaries, self.summaries_observed, "a summary is lost\n{}", self.trace());
        }
    }

    /// Checks that, when no job is running, all records are in the log, except those of failed appends.
    fn check_records(&self) {
        if !self.turn.is_running() {
            assert!(self.records.is_empty(), "records not written: {:?}\n{}", self.records, self.trace());
        }
    }

    fn trace(&self) -> String {
        self.history.join("\n")
    }
}

fn options() -> impl Strategy<Value = TurnOptions> {
    let mode = || prop_oneof![Just(DeliveryMode::OneAtATime), Just(DeliveryMode::All)];
    let point = prop_oneof![Just(SteeringPoint::BetweenTools), Just(SteeringPoint::AfterAnswer)];
    let parallel_tools = prop_oneof![Just(Switch::On), Just(Switch::Off)];
    (point, mode(), mode(), parallel_tools, prop::option::of(0..4_u64)).prop_map(
        |(steering_point, steering_mode, follow_up_mode, parallel_tools, max_turns)| TurnOptions {
            steering_point,
            steering_mode,
            follow_up_mode,
            parallel_tools,
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
        reviews_end in any::<bool>(),
        actions in prop::collection::vec(action(), 1..40),
    ) {
        let turn = if reviews_end { machine(options).with_end_review() } else { machine(options) };
        let mut harness = Harness::new(turn, syncs);
        let has_failed_append = actions.iter().any(|action| matches!(action, Action::AppendFails));
        for action in actions {
            harness.apply(action);
            if !has_failed_append && harness.work.is_empty() {
                harness.check_records();
            }
        }
        harness.fails_append = false;
        harness.apply(Action::Abort(QueueHandling::Hold));
        while !harness.work.is_empty() {
            harness.apply(Action::Synced);
        }
        prop_assert!(!harness.turn.is_running());
        harness.check_at_rest();
    }
}
