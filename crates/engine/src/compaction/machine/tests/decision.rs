//! A job's end, failed summaries, the user's decision, and stops.

use super::*;

fn decide(choice: CompactionChoice) -> SummaryInput {
    SummaryInput::Decide { choice, facts: facts() }
}

fn job_alone(event: SummaryEvent) -> SummaryInput {
    SummaryInput::Job { number: 1, event, facts: without_approver() }
}

/// Returns a machine whose first job creates the summary for a request that was too long.
fn summarizing_for_overflow() -> CompactionMachine {
    let mut machine = machine();
    step_planned(&mut machine, SummaryInput::Overflow, Ok(plan()));
    machine
}

#[test]
fn job_summary_is_submitted_with_its_cost() {
    let mut machine = summarizing_for_caller();
    assert!(step(&mut machine, job(1, usage(200))).is_empty());
    assert!(step(&mut machine, job(1, usage(100))).is_empty());
    assert_eq!(step(&mut machine, job(1, answered("S"))), ["submit manual S before e2, 300 by m"]);
    assert!(machine.is_compacting(), "until it is appended");
    assert_eq!(machine.status(NOW), None);
    assert_eq!(step(&mut machine, SummaryInput::Appended(result())), ["reply 1: S"]);
    assert!(!machine.is_compacting());
}

#[test]
fn job_retry_is_emitted_and_part_of_the_status() {
    let mut machine = summarizing();
    let reason = "busy".to_owned();
    let retry = SummaryEvent::Retry { attempt: 1, max_attempts: 5, delay: Duration::from_secs(2), reason };
    assert_eq!(step(&mut machine, job(1, retry)), ["emit summary_retry 1 of 5 in 2000: busy"]);
    let announced = RetryAnnouncement::new((1, 5), NOW, 2_000, "busy");
    assert_eq!(machine.status(NOW).unwrap().retry, Some(announced));
}

#[test]
fn job_event_of_an_aborted_job_is_dropped() {
    let mut machine = summarizing();
    step_planned(&mut machine, compact(1), Ok(plan()));
    for event in [usage(300), answered("old"), broken()] {
        assert!(step(&mut machine, job(1, event)).is_empty());
    }
    assert_eq!(step(&mut machine, job(2, answered("S"))), ["submit manual S before e2"]);
    assert!(step(&mut machine, job(2, answered("S"))).is_empty(), "it has ended");
}

#[test]
fn job_summary_for_another_branch_is_dropped_but_costs() {
    let mut machine = summarizing_for_caller();
    step(&mut machine, job(1, usage(300)));
    let ended = SummaryInput::Job { number: 1, event: answered("S"), facts: on_another_branch() };
    let expected = [
        "append cost compaction m 300",
        "reply 1: Failed(Outdated)",
        "failed manual: the summary was discarded: the conversation changed in the meantime",
    ];
    assert_eq!(step(&mut machine, ended), expected);
    assert_eq!(step(&mut machine, check(CompactionPoint::Request)), ["plan threshold Summarize"]);
}

#[test]
fn job_summary_after_another_compaction_is_dropped() {
    let mut machine = summarizing();
    let compacted = ConversationFacts { compaction: Some("c".into()), ..facts() };
    let ended = SummaryInput::Job { number: 1, event: answered("S"), facts: compacted };
    let failed = "failed threshold: the summary was discarded: the conversation changed in the meantime";
    assert_eq!(step(&mut machine, ended), [failed]);
}

#[test]
fn job_summary_that_saves_nothing_fails_without_a_question() {
    let mut machine = summarizing();
    let lines = step(&mut machine, job(1, answered(&"x".repeat(8_000))));
    let failed =
        "failed threshold: the summary would not make the context smaller: 2.0k tokens before, 2.0k after";
    assert_eq!(lines, [failed]);
    assert!(step(&mut machine, check(CompactionPoint::Request)).is_empty(), "it is futile");
}

#[test]
fn job_failure_asks_the_user() {
    let machine = asking(summarizing(), "threshold");
    assert!(machine.is_awaiting_decision() && machine.is_compacting());
    let of = SummarySubject::Context(CompactionReason::Threshold);
    let failed = Some("no luck".into());
    let expected = SummaryInProgress { of, since: UnixMs(9), retry: None, failed };
    assert_eq!(machine.status(UnixMs(9)), Some(expected));
}

#[test]
fn job_failure_without_an_approver_truncates() {
    let mut machine = summarizing();
    step(&mut machine, job(1, usage(300)));
    let warning = "warn the summary failed (no luck); the older part of the conversation is dropped instead";
    let submitted = format!("submit threshold {OMITTED} before e2, 300 by m");
    assert_eq!(step(&mut machine, job_alone(broken())), [warning.to_owned(), submitted]);
}

#[test]
fn job_failure_of_a_request_without_an_approver_is_replied_to() {
    let mut machine = summarizing_for_caller();
    let lines = step(&mut machine, job_alone(broken()));
    assert_eq!(lines, ["reply 1: Failed(Provider(\"no luck\"))", "failed manual: no luck"]);
    assert!(!machine.is_compacting());
}

#[test]
fn job_empty_answer_asks_the_user() {
    let lines = step(&mut summarizing(), job(1, answered(" ")));
    assert_eq!(lines, ["emit compaction_failed threshold: the summary is empty"]);
}

#[test]
fn decide_retry_starts_another_job_and_adds_its_cost() {
    let mut machine = summarizing_for_caller();
    step(&mut machine, job(1, usage(200)));
    step(&mut machine, job(1, broken()));
    let lines = step(&mut machine, decide(CompactionChoice::Retry));
    assert_eq!(lines, ["emit compaction_start manual", "start job 2: e0 e1"]);
    step(&mut machine, job(2, usage(100)));
    assert_eq!(step(&mut machine, job(2, answered("S"))), ["submit manual S before e2, 300 by m"]);
}

#[test]
fn decide_retry_with_another_model_splits_the_cost() {
    let mut machine = summarizing();
    step(&mut machine, job(1, usage(200)));
    step(&mut machine, job(1, broken()));
    let other = ConversationFacts { model: model("n"), ..facts() };
    let lines = step(&mut machine, SummaryInput::Decide { choice: CompactionChoice::Retry, facts: other });
    let expected = ["emit compaction_start threshold", "append cost compaction m 200", "start job 2: e0 e1"];
    assert_eq!(lines, expected);
    step(&mut machine, job(2, usage(100)));
    assert_eq!(step(&mut machine, job(2, answered("S"))), ["submit threshold S before e2, 100 by n"]);
}

#[test]
fn decide_truncate_submits() {
    let mut machine = asking(summarizing_for_caller(), "manual");
    let submitted = format!("submit manual {OMITTED} before e2");
    assert_eq!(step(&mut machine, decide(CompactionChoice::Truncate)), [submitted]);
    assert_eq!(step(&mut machine, SummaryInput::Appended(result())), ["reply 1: S"]);
}

#[test]
fn decide_truncate_on_another_branch_is_outdated() {
    let mut machine = asking(summarizing(), "threshold");
    let choice = CompactionChoice::Truncate;
    let lines = step(&mut machine, SummaryInput::Decide { choice, facts: on_another_branch() });
    let failed = "failed threshold: the summary was discarded: the conversation changed in the meantime";
    assert_eq!(lines, [failed]);
}

#[test]
fn decide_go_on_fails_with_the_error() {
    let mut machine = asking(summarizing_for_caller(), "manual");
    let lines = step(&mut machine, decide(CompactionChoice::GoOn));
    assert_eq!(lines, ["reply 1: Failed(Provider(\"no luck\"))", "failed manual: no luck"]);
    assert!(step(&mut machine, decide(CompactionChoice::GoOn)).is_empty(), "the question is answered");
}

#[test]
fn approver_left_truncates_unless_the_user_requested() {
    let left = || SummaryInput::ApproverLeft { facts: without_approver() };
    let submitted = format!("submit threshold {OMITTED} before e2");
    assert_eq!(step(&mut asking(summarizing(), "threshold"), left()), [submitted]);
    let lines = step(&mut asking(summarizing_for_caller(), "manual"), left());
    assert_eq!(lines, ["reply 1: Failed(Provider(\"no luck\"))", "failed manual: no luck"]);
    assert!(step(&mut summarizing(), left()).is_empty(), "no question is open");
}

#[test]
fn stop_ends_a_summary_and_replies() {
    let mut machine = summarizing_for_caller();
    step(&mut machine, job(1, usage(300)));
    let expected =
        ["abort job", "append cost compaction m 300", "reply 1: Failed(Stopped)", "stopped manual"];
    assert_eq!(step(&mut machine, stop()), expected);
    assert!(step(&mut machine, stop()).is_empty());
    assert_eq!(step(&mut machine, check(CompactionPoint::Request)), ["plan threshold Summarize"]);
}

#[test]
fn stop_dismisses_the_question() {
    let mut machine = asking(summarizing(), "threshold");
    assert_eq!(step(&mut machine, stop()), ["stopped threshold"]);
    assert!(!machine.is_awaiting_decision());
}

#[test]
fn stop_leaves_a_submitted_compaction() {
    let mut machine = summarizing_for_caller();
    step(&mut machine, job(1, answered("S")));
    assert!(step(&mut machine, stop()).is_empty());
    assert_eq!(step(&mut machine, SummaryInput::Appended(result())), ["reply 1: S"]);
}

#[test]
fn stop_by_the_turn_machine_does_not_end_an_overflow_twice() {
    let by_turn = || SummaryInput::Stop(StopOrigin::TurnMachine);
    assert_eq!(step(&mut summarizing_for_overflow(), by_turn()), ["abort job"]);
    assert_eq!(step(&mut summarizing_for_overflow(), stop()), ["abort job", "stopped overflow"]);
    assert_eq!(step(&mut summarizing(), by_turn()), ["abort job", "stopped threshold"]);
}

#[test]
fn store_failure_is_replied_to_once() {
    let mut machine = summarizing_for_caller();
    step(&mut machine, job(1, answered("S")));
    let lost = || SummaryInput::StoreFailed { reason: "full".into() };
    assert_eq!(step(&mut machine, lost()), ["reply 1: Store(\"full\")"]);
    assert!(step(&mut machine, lost()).is_empty());
    assert!(step(&mut summarizing(), lost()).is_empty(), "the turn machine stops a summary itself");
}

#[test]
fn appended_compaction_of_no_caller_is_not_replied_to() {
    let mut machine = summarizing();
    step(&mut machine, job(1, answered("S")));
    assert!(step(&mut machine, SummaryInput::Appended(result())).is_empty());
    assert!(!machine.is_compacting());
}
