//! The triggers, the plan, and the start of a compaction.

use super::*;

fn check_with(facts: ConversationFacts) -> SummaryInput {
    SummaryInput::CheckContext { point: CompactionPoint::Request, facts }
}

fn sized(tokens: u64, messages: usize) -> ConversationFacts {
    ConversationFacts { size: ContextSize { tokens: Tokens(tokens), messages }, ..facts() }
}

const NOTHING: CompactionError =
    CompactionError::Nothing { strategy: CompactionStrategy::Summarize, kept: Tokens(20_000) };

#[test]
fn check_full_context_is_planned_and_summarized() {
    let mut machine = machine();
    assert_eq!(step(&mut machine, check(CompactionPoint::Request)), ["plan threshold Summarize"]);
    let lines = step_planned(&mut machine, check(CompactionPoint::Request), Ok(plan()));
    assert_eq!(lines, ["emit compaction_start threshold", "start job 1: e0 e1"]);
    let expected = SummaryInProgress {
        of: SummarySubject::Context(CompactionReason::Threshold),
        since: NOW,
        retry: None,
        failed: None,
    };
    assert_eq!(machine.status(UnixMs(9)), Some(expected));
    assert!(machine.is_compacting());
}

#[test]
fn check_context_within_the_threshold_does_nothing() {
    let mut machine = machine();
    assert!(step(&mut machine, check_with(sized(83_616, 4))).is_empty());
    assert_eq!(step(&mut machine, check_with(sized(83_617, 4))), ["plan threshold Summarize"]);
}

#[test]
fn check_fraction_of_the_window_is_planned() {
    let options = CompactionOptions { threshold: Some(0.5), ..CompactionOptions::default() };
    let mut machine = CompactionMachine::new(options);
    assert!(step(&mut machine, check_with(sized(50_000, 4))).is_empty());
    assert_eq!(step(&mut machine, check_with(sized(50_001, 4))), ["plan threshold Summarize"]);
}

#[test]
fn check_more_messages_than_allowed_is_planned() {
    let options = CompactionOptions { max_messages: Some(9), ..CompactionOptions::default() };
    let mut machine = CompactionMachine::new(options);
    assert!(step(&mut machine, check_with(sized(1, 9))).is_empty());
    assert_eq!(step(&mut machine, check_with(sized(1, 10))), ["plan threshold Summarize"]);
}

#[test]
fn check_at_the_end_of_a_run_needs_an_approver() {
    let mut machine = machine();
    assert_eq!(step(&mut machine, check(CompactionPoint::End)), ["plan threshold Summarize"]);
    let alone = SummaryInput::CheckContext { point: CompactionPoint::End, facts: without_approver() };
    assert!(step(&mut machine, alone).is_empty());
    assert_eq!(step(&mut machine, check_with(without_approver())), ["plan threshold Summarize"]);
}

#[test]
fn check_truncates_only_before_a_request() {
    let mut machine = machine_with(CompactionStrategy::Truncate);
    assert!(step(&mut machine, check(CompactionPoint::End)).is_empty());
    assert_eq!(step(&mut machine, check(CompactionPoint::Request)), ["plan threshold Truncate"]);
}

#[test]
fn check_unloaded_context_is_left_to_the_overflow() {
    let unloaded = ConversationFacts { is_loaded: false, ..facts() };
    assert!(step(&mut machine(), check_with(unloaded.clone())).is_empty());
    let mut truncating = machine_with(CompactionStrategy::Truncate);
    assert_eq!(step(&mut truncating, check_with(unloaded)), ["plan threshold Truncate"]);
}

#[test]
fn check_automatic_off_does_nothing() {
    let mut machine = machine();
    machine.set_automatic(Switch::Off);
    assert!(step(&mut machine, check(CompactionPoint::Request)).is_empty());
    let mut off = machine_with(CompactionStrategy::Off);
    assert!(step(&mut off, check(CompactionPoint::Request)).is_empty());
}

#[test]
fn check_during_a_summary_does_nothing() {
    assert!(step(&mut summarizing(), check(CompactionPoint::Request)).is_empty());
    let mut asking = asking(summarizing(), "threshold");
    assert!(step(&mut asking, check(CompactionPoint::Request)).is_empty());
    let mut ready = summarizing();
    step(&mut ready, job(1, answered("S")));
    assert!(step(&mut ready, check(CompactionPoint::Request)).is_empty());
}

#[test]
fn check_without_a_plan_does_nothing() {
    let mut machine = machine();
    assert!(step_planned(&mut machine, check(CompactionPoint::Request), Err(NOTHING)).is_empty());
    assert!(!machine.is_compacting());
}

#[test]
fn check_truncation_is_appended_before_the_request() {
    let mut machine = machine_with(CompactionStrategy::Truncate);
    let lines = step_planned(&mut machine, check(CompactionPoint::Request), Ok(plan()));
    let expected = [
        "emit compaction_start threshold".to_owned(),
        format!("append {OMITTED} before e2"),
        format!("emit compaction_end threshold {OMITTED}"),
    ];
    assert_eq!(lines, expected);
    assert!(!machine.is_compacting());
}

#[test]
fn check_truncation_that_saves_nothing_fails() {
    let mut machine = machine_with(CompactionStrategy::Truncate);
    let lines = step_planned(&mut machine, check(CompactionPoint::Request), Ok(plan_of(1)));
    let failed =
        "failed threshold: the summary would not make the context smaller: 2 tokens before, 34 after";
    assert_eq!(lines, ["emit compaction_start threshold", failed]);
}

#[test]
fn check_after_a_failure_waits_for_a_larger_context() {
    let mut machine = asking(summarizing(), "threshold");
    let go_on = SummaryInput::Decide { choice: CompactionChoice::GoOn, facts: facts() };
    assert_eq!(step(&mut machine, go_on), ["failed threshold: no luck"]);
    assert!(step(&mut machine, check(CompactionPoint::Request)).is_empty());
    assert!(step(&mut machine, check_with(sized(96_250, 11))).is_empty());
    assert_eq!(step(&mut machine, check_with(sized(96_251, 4))), ["plan threshold Summarize"]);
    assert_eq!(step(&mut machine, check_with(sized(90_000, 12))), ["plan threshold Summarize"]);
    machine.forget_failure();
    assert_eq!(step(&mut machine, check(CompactionPoint::Request)), ["plan threshold Summarize"]);
}

#[test]
fn overflow_is_planned_whatever_the_size() {
    let mut machine = machine();
    let lines = step_planned(&mut machine, SummaryInput::Overflow, Ok(plan()));
    assert_eq!(lines, ["emit compaction_start overflow", "start job 1: e0 e1"]);
}

#[test]
fn overflow_truncation_is_submitted() {
    let mut machine = machine_with(CompactionStrategy::Truncate);
    let lines = step_planned(&mut machine, SummaryInput::Overflow, Ok(plan()));
    let submitted = format!("submit overflow {OMITTED} before e2");
    assert_eq!(lines, ["emit compaction_start overflow".to_owned(), submitted]);
}

#[test]
fn overflow_without_a_plan_fails_with_the_next_step() {
    let lines = step_planned(&mut machine(), SummaryInput::Overflow, Err(NOTHING));
    let help = crate::retry::TOO_LONG_HELP;
    let failed = format!(
        "failed overflow: the conversation is longer than the model's window and can't be shortened; {help}"
    );
    assert_eq!(lines, ["emit compaction_start overflow".to_owned(), failed]);
    let too_long = CompactionError::TooLong { kept: Tokens(3_000), window: Tokens(2_000) };
    let lines = step_planned(&mut machine(), SummaryInput::Overflow, Err(too_long.clone()));
    let failed =
        format!("failed overflow: the conversation is longer than the model's window: {too_long}; {help}");
    assert_eq!(lines[1], failed);
}

#[test]
fn overflow_during_a_summary_uses_it() {
    let mut machine = summarizing();
    assert!(step(&mut machine, SummaryInput::Overflow).is_empty());
    assert_eq!(step(&mut machine, job(1, answered("S"))), ["submit overflow S before e2"]);
}

#[test]
fn overflow_during_a_requested_summary_still_replies() {
    let mut machine = summarizing_for_caller();
    assert!(step(&mut machine, SummaryInput::Overflow).is_empty());
    assert_eq!(step(&mut machine, job(1, answered("S"))), ["submit overflow S before e2"]);
    assert_eq!(step(&mut machine, SummaryInput::Appended(result())), ["reply 1: S"]);
}

#[test]
fn overflow_while_the_user_is_asked_asks_again() {
    let mut machine = asking(summarizing(), "threshold");
    let lines = step(&mut machine, SummaryInput::Overflow);
    assert_eq!(lines, ["emit compaction_failed overflow: no luck"]);
}

#[test]
fn request_uses_the_configured_strategy_and_instructions() {
    let request = |instructions: &str| SummaryInput::Compact {
        instructions: Some(instructions.into()),
        caller: CallerId(1),
    };
    assert_eq!(step(&mut machine(), request("the lexer")), ["plan manual Summarize for 1 on the lexer"]);
    assert_eq!(step(&mut machine(), request(" ")), ["plan manual Summarize for 1"]);
    let mut truncating = machine_with(CompactionStrategy::Truncate);
    assert_eq!(step(&mut truncating, request("x")), ["plan manual Truncate for 1 on x"]);
    let lines = step_planned(&mut machine(), request("the lexer"), Ok(plan()));
    assert_eq!(lines, ["emit compaction_start manual", "start job 1: e0 e1 on the lexer"]);
}

#[test]
fn request_to_truncate_is_submitted_then_replied_to() {
    let mut machine = machine();
    let truncate = SummaryInput::Truncate { caller: CallerId(1) };
    let lines = step_planned(&mut machine, truncate, Ok(plan()));
    let submitted = format!("submit manual {OMITTED} before e2");
    assert_eq!(lines, ["emit compaction_start manual".to_owned(), submitted]);
    assert_eq!(step(&mut machine, SummaryInput::Appended(result())), ["reply 1: S"]);
    assert!(!machine.is_compacting());
}

#[test]
fn request_without_a_plan_is_replied_to_without_events() {
    let lines = step_planned(&mut machine(), compact(1), Err(CompactionError::Off));
    assert_eq!(lines, ["reply 1: Failed(Off)"]);
}

#[test]
fn request_replaces_an_automatic_summary() {
    let mut machine = summarizing();
    step(&mut machine, job(1, usage(300)));
    let lines = step_planned(&mut machine, compact(1), Ok(plan()));
    let expected = [
        "abort job",
        "append cost compaction m 300",
        "stopped threshold",
        "emit compaction_start manual",
        "start job 2: e0 e1",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn request_during_a_request_is_rejected() {
    let rejected = ["reply 2: InProgress"];
    let mut machine = summarizing_for_caller();
    assert_eq!(step(&mut machine, compact(2)), rejected);
    step(&mut machine, job(1, answered("S")));
    assert_eq!(step(&mut machine, compact(2)), rejected, "the compaction is submitted");
    assert_eq!(step(&mut asking(summarizing(), "threshold"), compact(2)), rejected);
}
