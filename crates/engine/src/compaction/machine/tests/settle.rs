//! The end of a run that waits for its compaction.

use tiller_core::tool_catalog::ToolCatalog;

use super::*;

fn settled(approver: Approver) -> SummaryInput {
    SummaryInput::RunSettled { approver }
}

#[test]
fn settle_idle_is_immediate() {
    assert_eq!(step(&mut machine(), settled(Approver::Absent)), ["settle"]);
    assert!(step(&mut machine(), SummaryInput::Drained).is_empty());
}

#[test]
fn settle_with_an_approver_does_not_wait() {
    assert_eq!(step(&mut summarizing(), settled(Approver::Present)), ["settle"]);
}

#[test]
fn settle_without_an_approver_waits_until_appended() {
    let mut machine = summarizing();
    assert!(step(&mut machine, settled(Approver::Absent)).is_empty());
    assert!(step(&mut machine, SummaryInput::Drained).is_empty());
    step(&mut machine, job(1, answered("S")));
    assert!(step(&mut machine, SummaryInput::Drained).is_empty(), "it isn't in the log yet");
    step(&mut machine, SummaryInput::Appended(result()));
    assert_eq!(step(&mut machine, SummaryInput::Drained), ["settle"]);
    assert!(step(&mut machine, SummaryInput::Drained).is_empty());
}

#[test]
fn settle_deferred_comes_before_the_next_run() {
    let mut machine = summarizing();
    step(&mut machine, settled(Approver::Absent));
    assert_eq!(step(&mut machine, SummaryInput::RunStarted), ["settle"]);
    assert!(step(&mut machine, SummaryInput::RunStarted).is_empty());
}

#[test]
fn settle_deferred_is_left_to_the_turn_machine_after_a_failure() {
    let mut machine = summarizing();
    step(&mut machine, settled(Approver::Absent));
    step(&mut machine, SummaryInput::StoreFailed { reason: "full".into() });
    step(&mut machine, SummaryInput::Stop(StopOrigin::TurnMachine));
    assert!(step(&mut machine, SummaryInput::Drained).is_empty());
}

#[test]
fn settle_does_not_wait_for_a_branch_summary() {
    let mut machine = machine();
    machine.step(SummaryInput::LeaveBranch {
        plan: BranchPlan::new(input(1_000).projection, &ToolCatalog::default()).unwrap(),
        target: BranchTarget { entry: None, editor: None },
        instructions: None,
        caller: CallerId(1),
        facts: facts(),
    });
    assert_eq!(step(&mut machine, settled(Approver::Absent)), ["settle"]);
}
