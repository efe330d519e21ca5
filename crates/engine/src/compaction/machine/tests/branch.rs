//! Summaries of abandoned branches.

use tiller_core::tool_catalog::ToolCatalog;

use super::*;

fn leave(instructions: Option<&str>) -> SummaryInput {
    SummaryInput::LeaveBranch {
        plan: BranchPlan::new(input(1_000).projection, &ToolCatalog::default()).unwrap(),
        target: BranchTarget { entry: Some("e0".into()), editor: Some("again".into()) },
        instructions: instructions.map(str::to_owned),
        caller: CallerId(7),
        facts: facts(),
    }
}

fn leaving() -> CompactionMachine {
    let mut machine = machine();
    let lines = step(&mut machine, leave(None));
    assert_eq!(lines, ["emit branch_summary_start", "start job 1: e0 e1 e2 e3"]);
    machine
}

#[test]
fn branch_is_left_with_its_summary() {
    let mut machine = leaving();
    assert!(machine.is_summarizing_branch() && !machine.is_compacting());
    assert_eq!(machine.status(NOW).unwrap().of, SummarySubject::Branch);
    step(&mut machine, job(1, usage(300)));
    let lines = step(&mut machine, job(1, answered("It failed.")));
    assert_eq!(lines, ["switch 7 to Some(\"e0\") Some(\"again\"): It failed. Some(300) m"]);
    assert!(!machine.is_summarizing_branch());
}

#[test]
fn branch_instructions_reach_the_job_unless_blank() {
    let lines = step(&mut machine(), leave(Some("the lexer")));
    assert_eq!(lines, ["emit branch_summary_start", "start job 1: e0 e1 e2 e3 on the lexer"]);
    let lines = step(&mut machine(), leave(Some("  ")));
    assert_eq!(lines, ["emit branch_summary_start", "start job 1: e0 e1 e2 e3"]);
}

#[test]
fn branch_summary_ends_a_compaction_of_the_context() {
    let mut machine = summarizing_for_caller();
    step(&mut machine, job(1, usage(300)));
    let expected = [
        "abort job",
        "append cost compaction m 300",
        "reply 1: Failed(Stopped)",
        "stopped manual",
        "emit branch_summary_start",
        "start job 2: e0 e1 e2 e3",
    ];
    assert_eq!(step(&mut machine, leave(None)), expected);
}

#[test]
fn branch_failed_summary_is_reported_and_costs() {
    let mut machine = leaving();
    step(&mut machine, job(1, usage(300)));
    let expected = [
        "append cost branch_summary m 300",
        "emit branch_summary_end false Some(\"no luck\")",
        "reply 7: Failed(Provider(\"no luck\"))",
    ];
    assert_eq!(step(&mut machine, job(1, broken())), expected);
    let mut empty = leaving();
    let expected = ["emit branch_summary_end false Some(\"the summary is empty\")", "reply 7: Failed(Empty)"];
    assert_eq!(step(&mut empty, job(1, answered(" "))), expected);
}

#[test]
fn branch_stopped_summary_is_aborted() {
    let expected = ["abort job", "emit branch_summary_end true None", "reply 7: Failed(Stopped)"];
    assert_eq!(step(&mut leaving(), stop()), expected);
}

#[test]
fn branch_summary_rejects_a_compaction() {
    let mut machine = leaving();
    assert_eq!(step(&mut machine, compact(1)), ["reply 1: InProgress"]);
    assert!(step(&mut machine, check(CompactionPoint::Request)).is_empty());
}
