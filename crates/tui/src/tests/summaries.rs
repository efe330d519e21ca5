//! Compaction and branch summaries: requests, retries, failures.

use crossterm::event::KeyCode;
use tiller_core::event::{CompactionChoice, CompactionReason, EventKind};
use tiller_engine::BranchSummary;

use super::harness::Harness;
use crate::app::{Action, Msg, Navigate, SessionEdit, TaskResult};
use crate::dialog::Dialog;
use crate::picker::{PickerChoice, PickerItem};

pub(super) fn compaction_fails(stage: &mut Harness) {
    stage.event(EventKind::CompactionFailed {
        reason: CompactionReason::Threshold,
        error_message: "anthropic: overloaded".into(),
        choices: CompactionChoice::ALL.to_vec(),
    });
}

#[test]
fn summary_failed_dialog_esc_keeps_all() {
    let mut stage = Harness::new(80, 24);
    stage.event(EventKind::CompactionStart { reason: CompactionReason::Threshold });
    assert!(stage.screen().contains("compacting 68k tokens… 0.0s · esc stops"), "{}", stage.screen());
    compaction_fails(&mut stage);
    assert!(stage.screen().contains("summary failed: anthropic: overloaded"), "{}", stage.screen());
    stage.wait(400);
    assert_eq!(
        stage.key(KeyCode::Enter),
        [Action::Edit(SessionEdit::ResolveCompaction(CompactionChoice::Retry))]
    );
    compaction_fails(&mut stage);
    stage.wait(400);
    assert_eq!(
        stage.key(KeyCode::Esc),
        [Action::Edit(SessionEdit::ResolveCompaction(CompactionChoice::GoOn))]
    );
    compaction_fails(&mut stage);
    stage.event(EventKind::CompactionEnd {
        reason: CompactionReason::Threshold,
        result: None,
        aborted: false,
        will_retry: false,
        error_message: Some("anthropic: overloaded".into()),
    });
    let screen = stage.screen();
    assert!(!screen.contains("try again") && !screen.contains("compacting"), "{screen}");
    assert!(screen.contains("compaction failed: anthropic: overloaded"), "{screen}");
}

#[test]
fn summary_dialog_survives_other_failures() {
    let mut stage = Harness::new(80, 24);
    compaction_fails(&mut stage);
    let failed = TaskResult::Failed { what: "no room".into(), hint: None, text: None };
    stage.input(Msg::TaskResult(failed));
    stage.wait(400);
    assert_eq!(
        stage.key(KeyCode::Enter),
        [Action::Edit(SessionEdit::ResolveCompaction(CompactionChoice::Retry))]
    );
}

#[test]
fn summary_dialog_waits_for_typing() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("and al");
    compaction_fails(&mut stage);
    stage.type_text("so");
    let screen = stage.screen();
    assert!(screen.contains("❯ and also") && !screen.contains("try again"), "{screen}");
    stage.key(KeyCode::Enter);
    assert!(stage.screen().contains("try again"), "{}", stage.screen());
}

#[test]
fn compact_takes_focus_and_esc_stops() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("/compact mind the lexer");
    let actions = stage.key(KeyCode::Enter);
    assert!(actions.contains(&Action::Compact(Some("mind the lexer".into()))), "{actions:?}");
    stage.event(EventKind::CompactionStart { reason: CompactionReason::Manual });
    assert_eq!(stage.key(KeyCode::Esc), [Action::Abort]);
}

#[test]
fn summary_instructions_are_typed_in_editor() {
    let mut stage = Harness::new(80, 24);
    let choose = |stage: &mut Harness| {
        let item = PickerItem::new("say what matters", PickerChoice::Instruct("e1".into()));
        stage.input(Msg::TaskResult(TaskResult::Dialog(Dialog { title: "t".into(), items: vec![item] })));
        stage.wait(400);
        assert_eq!(stage.key(KeyCode::Enter), []);
    };
    choose(&mut stage);
    assert!(stage.screen().contains("what matters in the summary"), "{}", stage.screen());
    stage.wait(400);
    assert_eq!(stage.key(KeyCode::Esc), []);
    choose(&mut stage);
    stage.type_text("the errors");
    let made = BranchSummary::Made { instructions: Some("the errors".into()) };
    assert_eq!(stage.key(KeyCode::Enter), [Action::Navigate(Navigate::ToEntry("e1".into(), made))]);
    stage.key(KeyCode::Up);
    assert_eq!(stage.app.editor.text(), "the errors", "the summary may fail");
}

#[test]
fn summary_retry_counts_down() {
    let retry = || EventKind::SummaryRetry {
        attempt: 1,
        max_attempts: 5,
        delay_ms: 4_000,
        error_message: "busy".into(),
    };
    let mut stage = Harness::new(120, 24);
    stage.event(EventKind::CompactionStart { reason: CompactionReason::Manual });
    stage.event(retry());
    let waits = "summary failed, retrying in 4s (1 of 5)";
    assert!(stage.screen().contains(&format!("{waits} · ")), "{}", stage.screen());
    stage.wait(4_000);
    assert!(stage.screen().contains("compacting 68k tokens… 4.0s"), "{}", stage.screen());
    let mut stage = Harness::new(120, 24);
    stage.event(EventKind::AgentStart);
    stage.event(EventKind::CompactionStart { reason: CompactionReason::Threshold });
    stage.event(retry());
    assert!(stage.screen().contains(&format!("waiting for the model… 0.0s · {waits}")), "{}", stage.screen());
}

#[test]
fn context_overflow_names_remedies() {
    let mut stage = Harness::new(120, 24);
    stage.event(EventKind::CompactionEnd {
        reason: CompactionReason::Overflow,
        result: None,
        aborted: false,
        will_retry: false,
        error_message: Some("too long".into()),
    });
    let screen = stage.screen();
    assert!(
        screen.contains("✗ too long") && screen.contains("→ use /model, /tree or /new to continue"),
        "{screen}"
    );
}
