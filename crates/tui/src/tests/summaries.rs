//! Compaction and branch summaries: requests, retries, failures.

use crossterm::event::KeyCode;
use tiller_core::event::{CompactionChoice, CompactionReason, EventKind};
use tiller_engine::BranchSummary;

use crate::action::{Action, SessionEdit};
use crate::dialog::Dialog;
use crate::message::TaskResult;
use crate::navigate::Navigate;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::tests::harness::Harness;

pub(super) fn compaction_fails(harness: &mut Harness) {
    harness.event(EventKind::CompactionFailed {
        reason: CompactionReason::Threshold,
        error_message: "anthropic: overloaded".into(),
        choices: CompactionChoice::ALL.to_vec(),
    });
}

#[test]
fn summary_failed_dialog_esc_keeps_all() {
    let mut harness = Harness::new(80, 24);
    harness.event(EventKind::CompactionStart { reason: CompactionReason::Threshold });
    assert!(harness.screen().contains("compacting 68k tokens… 0.0s · esc stops"), "{}", harness.screen());
    compaction_fails(&mut harness);
    assert!(harness.screen().contains("summary failed: anthropic: overloaded"), "{}", harness.screen());
    harness.wait(400);
    assert_eq!(
        harness.key(KeyCode::Enter),
        [Action::Edit(SessionEdit::ResolveCompaction(CompactionChoice::Retry))]
    );
    compaction_fails(&mut harness);
    harness.wait(400);
    assert_eq!(
        harness.key(KeyCode::Esc),
        [Action::Edit(SessionEdit::ResolveCompaction(CompactionChoice::GoOn))]
    );
    compaction_fails(&mut harness);
    harness.event(EventKind::CompactionEnd {
        reason: CompactionReason::Threshold,
        result: None,
        aborted: false,
        will_retry: false,
        error_message: Some("anthropic: overloaded".into()),
    });
    let screen = harness.screen();
    assert!(!screen.contains("try again") && !screen.contains("compacting"), "{screen}");
    assert!(screen.contains("compaction failed: anthropic: overloaded"), "{screen}");
}

#[test]
fn summary_dialog_survives_other_failures() {
    let mut harness = Harness::new(80, 24);
    compaction_fails(&mut harness);
    let failed = TaskResult::Failed { message: "no room".into(), hint: None, text: None };
    harness.report_result(failed);
    harness.wait(400);
    assert_eq!(
        harness.key(KeyCode::Enter),
        [Action::Edit(SessionEdit::ResolveCompaction(CompactionChoice::Retry))]
    );
}

#[test]
fn summary_dialog_waits_for_typing() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("and al");
    compaction_fails(&mut harness);
    harness.type_text("so");
    let screen = harness.screen();
    assert!(screen.contains("❯ and also") && !screen.contains("try again"), "{screen}");
    harness.key(KeyCode::Enter);
    assert!(harness.screen().contains("try again"), "{}", harness.screen());
}

#[test]
fn compact_takes_focus_and_esc_stops() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("/compact mind the lexer");
    let actions = harness.key(KeyCode::Enter);
    assert!(actions.contains(&Action::Compact(Some("mind the lexer".into()))), "{actions:?}");
    harness.event(EventKind::CompactionStart { reason: CompactionReason::Manual });
    assert_eq!(harness.key(KeyCode::Esc), [Action::Abort]);
}

#[test]
fn summary_instructions_are_typed_in_editor() {
    let mut harness = Harness::new(80, 24);
    let choose = |harness: &mut Harness| {
        let item = PickerItem::new("say what matters", PickerChoice::Instruct("e1".into()));
        harness.report_result(TaskResult::Dialog(Dialog { title: "t".into(), items: vec![item] }));
        harness.wait(400);
        assert_eq!(harness.key(KeyCode::Enter), []);
    };
    choose(&mut harness);
    assert!(harness.screen().contains("what should the branch summary focus on"), "{}", harness.screen());
    harness.wait(400);
    assert_eq!(harness.key(KeyCode::Esc), []);
    choose(&mut harness);
    harness.type_text("the errors");
    let summary_choice = BranchSummary::Made { instructions: Some("the errors".into()) };
    assert_eq!(
        harness.key(KeyCode::Enter),
        [Action::Navigate(Navigate::ToEntry("e1".into(), summary_choice))]
    );
    harness.key(KeyCode::Up);
    assert_eq!(harness.app.composer.editor.text(), "the errors", "the summary may fail");
}
