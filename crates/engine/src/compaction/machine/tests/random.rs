//! Random tests of the compaction machine in every phase. The test performs effects like the driver and the
//! turn machine: plans arrive immediately, submitted compactions are appended later, or lost. Every effect is
//! checked against the invariants.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tiller_core::tool_catalog::ToolCatalog;

use super::*;

/// A random action.
#[derive(Clone, Debug)]
enum Action {
    Check(CompactionPoint),
    Overflow,
    Compact,
    Truncate,
    LeaveBranch,
    Usage(u64),
    Retry,
    Ended(Answer),
    /// An event of an earlier job.
    Late(Answer),
    Decide(CompactionChoice),
    ApproverLeft,
    Stop(StopOrigin),
    /// The turn machine reaches a gap.
    Append,
    StoreFails,
    RunSettled,
    RunStarted,
    Drained,
    /// The model, the leaf or the approver changes.
    Change(Change),
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    Summary,
    TooLong,
    Failure,
    Empty,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Model,
    Leaf,
    Approver,
    PlanFails,
    Grows,
}

fn action() -> impl Strategy<Value = Action> {
    let point = prop_oneof![Just(CompactionPoint::Request), Just(CompactionPoint::End)];
    let answer = || {
        prop_oneof![
            3 => Just(Answer::Summary),
            1 => Just(Answer::TooLong),
            3 => Just(Answer::Failure),
            1 => Just(Answer::Empty)
        ]
    };
    let choice = prop::sample::select(CompactionChoice::ALL.to_vec());
    let origin = prop_oneof![Just(StopOrigin::Command), Just(StopOrigin::TurnMachine)];
    let change = prop_oneof![
        Just(Change::Model),
        Just(Change::Leaf),
        Just(Change::Approver),
        Just(Change::PlanFails),
        Just(Change::Grows),
    ];
    prop_oneof![
        6 => point.prop_map(Action::Check),
        3 => Just(Action::Overflow),
        4 => Just(Action::Compact),
        2 => Just(Action::Truncate),
        2 => Just(Action::LeaveBranch),
        4 => (0..3_u64).prop_map(Action::Usage),
        1 => Just(Action::Retry),
        8 => answer().prop_map(Action::Ended),
        2 => answer().prop_map(Action::Late),
        4 => choice.prop_map(Action::Decide),
        1 => Just(Action::ApproverLeft),
        2 => origin.prop_map(Action::Stop),
        6 => Just(Action::Append),
        1 => Just(Action::StoreFails),
        2 => Just(Action::RunSettled),
        1 => Just(Action::RunStarted),
        4 => Just(Action::Drained),
        2 => change.prop_map(Action::Change),
    ]
}

/// An announced compaction, as seen by front ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Announced {
    #[default]
    None,
    Started,
    /// The user is asked for a decision.
    Failed,
}

struct Harness {
    machine: CompactionMachine,
    facts: ConversationFacts,
    plan: Box<CompactionPlan>,
    has_plan: bool,
    callers: u64,
    /// Callers without a reply.
    waiting: BTreeSet<u64>,
    job: Option<JobNumber>,
    announced: Announced,
    /// True while an announced branch summary has no end.
    is_branch_announced: bool,
    /// A compaction submitted to the turn machine.
    submitted: Option<CompactionReason>,
    /// True if a run has ended and its last event is missing.
    is_settling: bool,
    /// Tokens spent by jobs, and the tokens accounted for.
    spent: u64,
    counted: u64,
    history: Vec<String>,
}

impl Harness {
    fn new(strategy: CompactionStrategy) -> Self {
        Self {
            machine: machine_with(strategy),
            facts: facts(),
            plan: plan(),
            has_plan: true,
            callers: 0,
            waiting: BTreeSet::new(),
            job: None,
            announced: Announced::None,
            is_branch_announced: false,
            submitted: None,
            is_settling: false,
            spent: 0,
            counted: 0,
            history: Vec::new(),
        }
    }

    fn caller(&mut self) -> CallerId {
        self.callers += 1;
        self.waiting.insert(self.callers);
        CallerId(self.callers)
    }

    fn job_event(&self, number: JobNumber, event: SummaryEvent) -> SummaryInput {
        SummaryInput::Job { number, event, facts: self.facts.clone() }
    }

    fn ended(answer: Answer) -> SummaryEvent {
        match answer {
            Answer::Summary => answered("S"),
            Answer::TooLong => answered(&"x".repeat(20_000)),
            Answer::Failure => broken(),
            Answer::Empty => answered(""),
        }
    }

    /// Converts an action into an input that is valid in the current state.
    fn input(&mut self, action: Action) -> Option<SummaryInput> {
        let facts = self.facts.clone();
        // The turn machine appends a compaction before it waits for another one, no run continues while a
        // branch is being left, and the driver allows leaving a branch only when everything is idle.
        let is_busy = self.submitted.is_some() || self.is_branch_announced;
        Some(match action {
            Action::Check(point) => SummaryInput::CheckContext { point, facts },
            Action::Overflow | Action::LeaveBranch if is_busy => return None,
            Action::Overflow => SummaryInput::Overflow,
            Action::LeaveBranch => SummaryInput::LeaveBranch {
                plan: BranchPlan::new(input(1_000).projection, &ToolCatalog::default()).unwrap(),
                target: BranchTarget { entry: None, editor: None },
                instructions: None,
                caller: self.caller(),
                facts,
            },
            Action::Compact => SummaryInput::Compact { instructions: None, caller: self.caller() },
            Action::Truncate => SummaryInput::Truncate { caller: self.caller() },
            Action::Decide(choice) => SummaryInput::Decide { choice, facts },
            Action::ApproverLeft => {
                self.facts.approver = Approver::Absent;
                SummaryInput::ApproverLeft { facts: self.facts.clone() }
            }
            Action::Stop(origin) => {
                let is_overflow = self.pending_reason() == Some(CompactionReason::Overflow);
                if origin == StopOrigin::TurnMachine && is_overflow {
                    self.end();
                }
                SummaryInput::Stop(origin)
            }
            Action::Usage(_) | Action::Retry | Action::Ended(_) | Action::Late(_) => {
                return self.job_input(action);
            }
            Action::Append
            | Action::StoreFails
            | Action::RunSettled
            | Action::RunStarted
            | Action::Drained => {
                return self.turn_input(action);
            }
            Action::Change(change) => {
                self.change(change);
                return None;
            }
        })
    }

    fn job_input(&mut self, action: Action) -> Option<SummaryInput> {
        if let Action::Late(answer) = action {
            let late = self.machine.job.checked_sub(u64::from(self.job.is_some()))?;
            let input = self.job_event(late, Self::ended(answer));
            let effects = step(&mut self.machine, input);
            assert!(effects.is_empty(), "effects of a late event: {effects:?}\n{}", self.trace());
            return None;
        }
        let number = self.job?;
        let event = match action {
            Action::Usage(tokens) => {
                self.spent += tokens;
                usage(tokens)
            }
            Action::Ended(answer) => {
                self.job = None;
                Self::ended(answer)
            }
            _ => {
                let (delay, reason) = (Duration::from_secs(1), "busy".to_owned());
                SummaryEvent::Retry { attempt: 1, max_attempts: 5, delay, reason }
            }
        };
        Some(self.job_event(number, event))
    }

    /// Simulates the turn machine, and the driver's reports about it.
    fn turn_input(&mut self, action: Action) -> Option<SummaryInput> {
        match action {
            Action::Append => {
                self.submitted.take()?;
                self.end();
                Some(SummaryInput::Appended(result()))
            }
            Action::StoreFails => {
                self.is_settling = false;
                if self.submitted.take().is_some() {
                    self.end();
                }
                Some(SummaryInput::StoreFailed { reason: "full".into() })
            }
            Action::RunSettled => {
                let was_settling = std::mem::replace(&mut self.is_settling, true);
                (!was_settling).then_some(SummaryInput::RunSettled { approver: self.facts.approver })
            }
            Action::RunStarted => Some(SummaryInput::RunStarted),
            _ => Some(SummaryInput::Drained),
        }
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Model => {
                let other = if self.facts.model.id == "m" { "n" } else { "m" };
                self.facts.model = model(other);
            }
            Change::Leaf => self.facts.is_first_kept_on_path = !self.facts.is_first_kept_on_path,
            Change::Approver => {
                self.facts.approver = match self.facts.approver {
                    Approver::Present => Approver::Absent,
                    Approver::Absent => Approver::Present,
                }
            }
            Change::PlanFails => self.has_plan = !self.has_plan,
            Change::Grows => self.facts.size.messages += 12,
        }
    }

    fn pending_reason(&self) -> Option<CompactionReason> {
        match self.machine.status(NOW)?.of {
            SummarySubject::Context(reason) => Some(reason),
            SummarySubject::Branch => None,
        }
    }

    fn apply(&mut self, action: Action) {
        self.history.push(format!("{action:?}"));
        let was_asked_again = matches!(action, Action::Overflow);
        if let Some(input) = self.input(action) {
            self.perform(input, was_asked_again);
        }
    }

    fn perform(&mut self, input: SummaryInput, may_ask_again: bool) {
        for effect in self.machine.step(input) {
            self.history.push(format!("    {}", line(&effect)));
            match effect {
                SummaryEffect::Plan(request) => {
                    // A fresh plan always belongs to the current path.
                    let facts = ConversationFacts { is_first_kept_on_path: true, ..self.facts.clone() };
                    let plan = match self.has_plan {
                        true => Ok(self.plan.clone()),
                        false => Err(CompactionError::Off),
                    };
                    self.perform(SummaryInput::Planned { request, plan, facts }, false);
                }
                SummaryEffect::StartJob { number, .. } => {
                    assert_eq!(self.job.replace(number), None, "two jobs\n{}", self.trace());
                }
                SummaryEffect::AbortJob => {
                    assert!(self.job.take().is_some(), "no job to abort\n{}", self.trace());
                }
                SummaryEffect::AppendCost { cost, .. } => self.counted += cost.usage.total().0,
                SummaryEffect::Append(_) => {}
                SummaryEffect::Submit { reason, compaction } => {
                    self.count(compaction.usage.as_ref());
                    assert_eq!(self.submitted.replace(reason), None, "submitted twice\n{}", self.trace());
                }
                SummaryEffect::NotCompacted { .. } => self.end(),
                SummaryEffect::Reply { caller, .. } => self.replied(caller),
                SummaryEffect::SwitchBranch { caller, summary, .. } => {
                    self.count(summary.usage.as_ref());
                    self.replied(caller);
                    assert!(std::mem::take(&mut self.is_branch_announced), "{}", self.trace());
                }
                SummaryEffect::Emit(event) => self.observe(&event, may_ask_again),
                SummaryEffect::Warn(_) => {}
                SummaryEffect::Settle => {
                    assert!(std::mem::take(&mut self.is_settling), "settled twice\n{}", self.trace());
                }
            }
        }
    }

    fn observe(&mut self, event: &EventKind, may_ask_again: bool) {
        let is_in_order = match event {
            EventKind::CompactionStart { .. } => {
                std::mem::replace(&mut self.announced, Announced::Started) != Announced::Started
                    && self.submitted.is_none()
            }
            EventKind::CompactionFailed { .. } => {
                let before = std::mem::replace(&mut self.announced, Announced::Failed);
                before == Announced::Started || may_ask_again && before == Announced::Failed
            }
            EventKind::CompactionEnd { .. } => {
                std::mem::take(&mut self.announced) == Announced::Started && self.submitted.is_none()
            }
            EventKind::SummaryRetry { .. } => self.job.is_some(),
            EventKind::BranchSummaryStart => !std::mem::replace(&mut self.is_branch_announced, true),
            EventKind::BranchSummaryEnd { .. } => std::mem::take(&mut self.is_branch_announced),
            _ => false,
        };
        assert!(is_in_order, "emitted out of order: {}\n{}", event_line(event), self.trace());
    }

    /// Simulates the turn machine's end of the announced compaction.
    fn end(&mut self) {
        let announced = std::mem::take(&mut self.announced);
        assert_ne!(announced, Announced::None, "an end without a start\n{}", self.trace());
    }

    fn replied(&mut self, caller: CallerId) {
        assert!(self.waiting.remove(&caller.0), "a second reply to {}\n{}", caller.0, self.trace());
    }

    fn count(&mut self, usage: Option<&Usage>) {
        self.counted += usage.map_or(0, |usage| usage.total().0);
    }

    /// Checks that an idle machine has nothing left open.
    fn check_at_rest(&self) {
        assert!(self.waiting.is_empty(), "no reply to {:?}\n{}", self.waiting, self.trace());
        assert_eq!(self.announced, Announced::None, "no end\n{}", self.trace());
        assert!(!self.is_branch_announced && !self.is_settling, "no end\n{}", self.trace());
        assert_eq!((self.job, self.submitted), (None, None), "{}", self.trace());
        assert_eq!(self.counted, self.spent, "a cost is lost\n{}", self.trace());
    }

    fn trace(&self) -> String {
        self.history.join("\n")
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn machine_random_inputs_keep_the_invariants(
        truncates in any::<bool>(),
        actions in prop::collection::vec(action(), 1..40),
    ) {
        let strategy = if truncates { CompactionStrategy::Truncate } else { CompactionStrategy::Summarize };
        let mut harness = Harness::new(strategy);
        for action in actions {
            harness.apply(action);
        }
        harness.apply(Action::Stop(StopOrigin::Command));
        harness.apply(Action::Append);
        harness.apply(Action::Drained);
        harness.check_at_rest();
    }
}
