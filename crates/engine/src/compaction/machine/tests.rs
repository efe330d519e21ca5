//! Tests of the compaction machine that compare whole effect vectors, written as lines: `plan threshold
//! Summarize`, `start job 1: e0 e1`, `emit compaction_start manual`.

mod branch;
mod decision;
mod random;
mod settle;
mod trigger;

use std::sync::Arc;
use std::time::Duration;

use tiller_core::event::CompactionChoice;
use tiller_core::message::{AssistantBlock, AssistantMessage, Message, ModelRef, Usage, UserMessage};
use tiller_core::unit::Tokens;
use tiller_session::context::project;
use tiller_session::entry::Compaction;
use tiller_session::{Entry, EntryBody};

use super::*;
use crate::compaction::{CompactionInput, RetentionLimits};
use crate::turn::NoCompactionReason;

const NOW: UnixMs = UnixMs(5);
const WINDOW: Tokens = Tokens(100_000);

/// Above the threshold of [`WINDOW`], by default 83,616 tokens.
const FULL: ContextSize = ContextSize { tokens: Tokens(90_000), messages: 4 };

const OMITTED: &str = "[The messages that followed were omitted to save space and are not summarized; what comes \
                       next is the newest part of the conversation.]";

fn machine() -> CompactionMachine {
    CompactionMachine::new(CompactionOptions::default())
}

fn machine_with(strategy: CompactionStrategy) -> CompactionMachine {
    CompactionMachine::new(CompactionOptions { strategy, ..CompactionOptions::default() })
}

/// Returns the facts of a full context in a session with an approver.
fn facts() -> ConversationFacts {
    ConversationFacts {
        now: NOW,
        size: FULL,
        is_loaded: true,
        model: model("m"),
        window: WINDOW,
        approver: Approver::Present,
        compaction: None,
        is_first_kept_on_path: true,
    }
}

fn without_approver() -> ConversationFacts {
    ConversationFacts { approver: Approver::Absent, ..facts() }
}

/// Returns the facts after a switch to a branch without the first kept entry.
fn on_another_branch() -> ConversationFacts {
    ConversationFacts { is_first_kept_on_path: false, ..facts() }
}

fn model(id: &str) -> ModelRef {
    ModelRef { provider: "p".into(), id: id.into() }
}

/// Returns four messages, e0 to e3, of this many tokens each; the first two are to be replaced.
fn input(tokens: usize) -> CompactionInput {
    let text = "x".repeat(tokens * 4);
    let user = || Message::User(UserMessage::text(text.clone(), NOW));
    let answer = || {
        let content = vec![AssistantBlock::text(text.clone())];
        Message::Assistant(AssistantMessage { content, ..AssistantMessage::default() })
    };
    let entry = |(at, message)| Entry {
        id: format!("e{at}").as_str().into(),
        parent: None,
        timestamp: NOW,
        body: EntryBody::message(Arc::new(message)),
    };
    let path: Vec<Entry> = [user(), answer(), user(), answer()].into_iter().enumerate().map(entry).collect();
    CompactionInput { projection: project(&path), ..CompactionInput::default() }
}

/// Returns the plan that replaces e0 and e1.
fn plan_of(tokens: usize) -> Box<CompactionPlan> {
    let keep = RetentionLimits { tokens: Tokens(u64::MAX), messages: Some(2) };
    Box::new(CompactionPlan::new(&input(tokens), keep, &CompactionOptions::default()).unwrap())
}

fn plan() -> Box<CompactionPlan> {
    plan_of(1_000)
}

fn check(point: CompactionPoint) -> SummaryInput {
    SummaryInput::CheckContext { point, facts: facts() }
}

fn compact(caller: u64) -> SummaryInput {
    SummaryInput::Compact { instructions: None, caller: CallerId(caller) }
}

fn stop() -> SummaryInput {
    SummaryInput::Stop(StopOrigin::Command)
}

fn job(number: JobNumber, event: SummaryEvent) -> SummaryInput {
    SummaryInput::Job { number, event, facts: facts() }
}

fn usage(tokens: u64) -> SummaryEvent {
    SummaryEvent::Usage(Usage { input: Tokens(tokens), total_tokens: Tokens(tokens), ..Usage::default() })
}

fn answered(text: &str) -> SummaryEvent {
    SummaryEvent::Ended(Ok(vec![text.into()]))
}

fn broken() -> SummaryEvent {
    SummaryEvent::Ended(Err(CompactionError::Provider("no luck".into())))
}

fn result() -> CompactionResult {
    CompactionResult {
        summary: "S".into(),
        first_kept_entry_id: "e2".into(),
        tokens_before: Tokens(4_000),
        details: None,
    }
}

fn step(machine: &mut CompactionMachine, input: SummaryInput) -> Vec<String> {
    machine.step(input).iter().map(line).collect()
}

/// Applies an input whose last effect requests a plan, then the plan.
fn step_planned(
    machine: &mut CompactionMachine,
    input: SummaryInput,
    plan: Result<Box<CompactionPlan>, CompactionError>,
) -> Vec<String> {
    let mut effects = machine.step(input);
    let last = effects.pop();
    let Some(SummaryEffect::Plan(request)) = last else { panic!("no plan: {last:?}") };
    let mut lines: Vec<String> = effects.iter().map(line).collect();
    lines.extend(step(machine, SummaryInput::Planned { request, plan, facts: facts() }));
    lines
}

/// Returns a machine whose first job creates the summary of an automatic compaction.
fn summarizing() -> CompactionMachine {
    let mut machine = machine();
    let lines = step_planned(&mut machine, check(CompactionPoint::Request), Ok(plan()));
    assert_eq!(lines, ["emit compaction_start threshold", "start job 1: e0 e1"]);
    machine
}

/// Returns a machine whose first job creates the summary that caller 1 requested.
fn summarizing_for_caller() -> CompactionMachine {
    let mut machine = machine();
    let lines = step_planned(&mut machine, compact(1), Ok(plan()));
    assert_eq!(lines, ["emit compaction_start manual", "start job 1: e0 e1"]);
    machine
}

/// Returns the machine after its summary failed and the user was asked.
fn asking(mut machine: CompactionMachine, reason: &str) -> CompactionMachine {
    let lines = step(&mut machine, job(1, broken()));
    assert_eq!(lines, [format!("emit compaction_failed {reason}: no luck")]);
    machine
}

fn line(effect: &SummaryEffect) -> String {
    match effect {
        SummaryEffect::Plan(PlanRequest { reason, options, instructions, caller }) => {
            let caller = caller.map(|caller| format!(" for {}", caller.0)).unwrap_or_default();
            let focus = instructions.as_ref().map(|focus| format!(" on {focus}")).unwrap_or_default();
            format!("plan {} {:?}{caller}{focus}", reason_name(*reason), options.strategy)
        }
        SummaryEffect::StartJob { number, requests, instructions } => {
            let messages = requests.iter().flat_map(|request| &request.messages);
            let messages: Vec<&str> = messages.map(|message| message.entry.as_str()).collect();
            let focus = instructions.as_ref().map(|focus| format!(" on {focus}")).unwrap_or_default();
            format!("start job {number}: {}{focus}", messages.join(" "))
        }
        SummaryEffect::AbortJob => "abort job".into(),
        SummaryEffect::AppendCost { kind, cost: SummaryCost { model, usage } } => {
            format!("append cost {kind} {} {}", model.id, usage.total().0)
        }
        SummaryEffect::Append(compaction) => format!("append {}", compaction_line(compaction)),
        SummaryEffect::Submit { reason, compaction } => {
            format!("submit {} {}", reason_name(*reason), compaction_line(compaction))
        }
        SummaryEffect::NotCompacted { reason, cause: NoCompactionReason::Stopped } => {
            format!("stopped {}", reason_name(*reason))
        }
        SummaryEffect::NotCompacted { reason, cause: NoCompactionReason::Failed(error) } => {
            format!("failed {}: {error}", reason_name(*reason))
        }
        SummaryEffect::Reply { caller, outcome: Ok(result) } => {
            format!("reply {}: {}", caller.0, result.summary)
        }
        SummaryEffect::Reply { caller, outcome: Err(error) } => format!("reply {}: {error:?}", caller.0),
        SummaryEffect::SwitchBranch { caller, target: BranchTarget { entry, editor }, summary } => {
            let usage = summary.usage.as_ref().map(|usage| usage.total().0);
            let model = summary.made_by.as_ref().map(|by| by.model.as_str()).unwrap_or_default();
            format!("switch {} to {entry:?} {editor:?}: {} {usage:?} {model}", caller.0, summary.summary)
        }
        SummaryEffect::Emit(event) => format!("emit {}", event_line(event)),
        SummaryEffect::Warn(message) => format!("warn {message}"),
        SummaryEffect::Settle => "settle".into(),
    }
}

fn compaction_line(compaction: &Compaction) -> String {
    let Compaction { summary, first_kept_entry_id, usage, made_by, .. } = compaction;
    let cost = match (usage, made_by) {
        (Some(usage), Some(made_by)) => format!(", {} by {}", usage.total().0, made_by.model),
        (None, None) => String::new(),
        other => panic!("a cost without a model, or a model without a cost: {other:?}"),
    };
    format!("{summary} before {first_kept_entry_id}{cost}")
}

fn event_line(event: &EventKind) -> String {
    match event {
        EventKind::CompactionStart { reason } => format!("compaction_start {}", reason_name(*reason)),
        EventKind::CompactionFailed { reason, error_message, choices } => {
            assert_eq!(choices[..], CompactionChoice::ALL);
            format!("compaction_failed {}: {error_message}", reason_name(*reason))
        }
        EventKind::CompactionEnd { reason, result: Some(result), .. } => {
            format!("compaction_end {} {}", reason_name(*reason), result.summary)
        }
        EventKind::SummaryRetry { attempt, max_attempts, delay_ms, error_message } => {
            format!("summary_retry {attempt} of {max_attempts} in {delay_ms}: {error_message}")
        }
        EventKind::BranchSummaryStart => "branch_summary_start".into(),
        EventKind::BranchSummaryEnd { aborted, error_message } => {
            format!("branch_summary_end {aborted} {error_message:?}")
        }
        other => panic!("not an event of this machine: {other:?}"),
    }
}

fn reason_name(reason: CompactionReason) -> &'static str {
    match reason {
        CompactionReason::Manual => "manual",
        CompactionReason::Threshold => "threshold",
        CompactionReason::Overflow => "overflow",
    }
}
