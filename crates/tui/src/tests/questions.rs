//! Dialogs that open without a key, and keys pressed before they were visible.

use crossterm::event::{KeyCode, KeyModifiers, MouseEvent, MouseEventKind};
use tiller_core::event::{CompactionChoice, EventKind, SessionChange};
use tiller_engine::{InFlight, Snapshot};
use tiller_render::{Line, Role};

use super::harness::{Harness, at_work, state};
use super::summaries::compaction_fails;
use crate::app::{Action, ListKind, LoadedSession, Msg, Navigate, SessionEdit, Submit, TaskResult};
use crate::dialog::Dialog;
use crate::picker::{PickerChoice, PickerItem};
use crate::transcript::LoadedPath;

/// A question that just came.
fn asked(stage: &mut Harness) {
    let fork = PickerItem::new("continue in a fork", PickerChoice::ForkOf("/s/1.jsonl".into()));
    stage.input(Msg::TaskResult(TaskResult::Dialog(Dialog { title: "late".into(), items: vec![fork] })));
}

fn forks(actions: &[Action]) -> bool {
    actions.contains(&Action::Navigate(Navigate::ForkOf("/s/1.jsonl".into())))
}

#[test]
fn dialog_early_enter_is_ignored() {
    let mut stage = Harness::new(80, 24);
    stage.control('l');
    asked(&mut stage);
    stage.wait(399);
    assert_eq!(stage.key(KeyCode::Enter), [], "over a list");
    assert!(stage.screen().contains("── late"), "{}", stage.screen());
    stage.wait(1);
    assert!(forks(&stage.key(KeyCode::Enter)));
    assert!(stage.app.overlays.iter().any(|popup| popup.is_list(ListKind::Models)));
}

#[test]
fn dialog_typing_defers_it() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    compaction_fails(&mut stage);
    assert!(stage.screen().contains("try again"), "{}", stage.screen());
    stage.wait(100);
    stage.type_text("and");
    stage.wait(1_000);
    stage.type_text(" also");
    assert!(stage.screen().contains("❯ and also"), "{}", stage.screen());
    assert_eq!(stage.key(KeyCode::Enter).last(), Some(&Action::Submit(Submit::Steer("and also".into()))));
    assert!(stage.screen().contains("try again"), "{}", stage.screen());
    stage.wait(399);
    assert_eq!(stage.key(KeyCode::Enter), [], "it has only just come again");
    stage.wait(400);
    assert_eq!(
        stage.key(KeyCode::Enter),
        [Action::Edit(SessionEdit::ResolveCompaction(CompactionChoice::Retry))]
    );
}

#[test]
fn dialog_waits_for_search() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    stage.control('f');
    compaction_fails(&mut stage);
    stage.wait(1_000);
    stage.type_text("lexer");
    assert!(!stage.screen().contains("try again"), "{}", stage.screen());
    assert_eq!(stage.key(KeyCode::Enter), [], "the place before");
    stage.key(KeyCode::Esc);
    assert!(stage.screen().contains("try again"), "{}", stage.screen());
}

#[test]
fn dialog_paste_esc_and_wheel_are_no_answers() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    asked(&mut stage);
    assert_eq!(stage.key(KeyCode::Esc), [Action::Abort], "it was to stop what runs");
    assert!(stage.screen().contains("── late"), "{}", stage.screen());
    let (kind, modifiers) = (MouseEventKind::ScrollUp, KeyModifiers::NONE);
    stage.input(Msg::Mouse(MouseEvent { kind, column: 1, row: 1, modifiers }));
    assert_eq!(stage.app.editor.text(), "", "no prompt of earlier times");
    stage.input(Msg::Paste("a draft".into()));
    assert_eq!((stage.app.editor.text().as_str(), stage.app.overlays.len()), ("a draft", 0));
    stage.wait(400);
    stage.control('c');
    assert!(stage.screen().contains("── late"), "{}", stage.screen());
}

fn page(stage: &mut Harness) {
    let lines = vec![Line::new("the end of the log", Role::Text)];
    stage.input(Msg::TaskResult(TaskResult::Page { title: "log".into(), lines }));
}

#[test]
fn page_typing_defers_it() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("q");
    page(&mut stage);
    assert!(!stage.screen().contains("the end of the log"), "{}", stage.screen());
    assert!(stage.screen().contains("log: ready."), "{}", stage.screen());
    stage.wait(1_000);
    stage.type_text("uick");
    assert_eq!(stage.key(KeyCode::Enter).last(), Some(&Action::Submit(Submit::Steer("quick".into()))));
    assert!(stage.screen().contains("the end of the log"), "{}", stage.screen());
    stage.wait(399);
    stage.type_text("q/");
    stage.input(Msg::Paste("n".into()));
    let screen = stage.screen();
    assert!(screen.contains("❯ q/n") && screen.contains("log: ready."), "{screen}");
    stage.control('c');
    assert!(stage.screen().contains("the end of the log"), "{}", stage.screen());
    stage.key(KeyCode::Down);
    assert!(stage.screen().contains("the end of the log"), "to move in it is no answer: {}", stage.screen());
    stage.wait(400);
    stage.type_text("q");
    assert!(!stage.screen().contains("the end of the log"), "{}", stage.screen());
    assert_eq!(stage.app.editor.text(), "");
}

#[test]
fn page_waits_for_open_list() {
    let mut stage = Harness::new(80, 24);
    stage.control('l');
    page(&mut stage);
    stage.type_text("opus");
    assert!(!stage.screen().contains("the end of the log"), "{}", stage.screen());
    stage.key(KeyCode::Esc);
    assert!(!stage.screen().contains("the end of the log"), "the list is there still: {}", stage.screen());
    stage.key(KeyCode::Esc);
    assert!(stage.screen().contains("the end of the log"), "{}", stage.screen());
    stage.key(KeyCode::Esc);
    assert!(stage.app.overlays.is_empty());
}

#[test]
fn dialog_late_waits_for_typing() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("and");
    asked(&mut stage);
    stage.wait(1_000);
    stage.type_text(" also");
    assert!(stage.screen().contains("❯ and also"), "{}", stage.screen());
    stage.key(KeyCode::Enter);
    assert!(stage.screen().contains("── late"), "{}", stage.screen());
}

/// The session is read anew, with nothing at work in it.
fn reloads(stage: &mut Harness) {
    let snapshot = Snapshot { seq: stage.seq, state: state(), in_progress: InFlight::default() };
    let loaded = LoadedSession { snapshot, newest: LoadedPath::default() };
    stage.input(Msg::TaskResult(TaskResult::Loaded(Box::new(loaded))));
}

#[test]
fn dialog_deferred_survives_reload() {
    let mut stage = Harness::new(80, 24);
    asked(&mut stage);
    stage.type_text("and");
    stage.input(Msg::Lagged);
    reloads(&mut stage);
    assert!(!stage.screen().contains("── late"), "{}", stage.screen());
    stage.control('c');
    assert!(stage.screen().contains("── late"), "{}", stage.screen());
}

#[test]
fn dialog_deferred_is_dropped_when_settled() {
    let mut stage = Harness::new(80, 24);
    asked(&mut stage);
    stage.type_text("and");
    stage.event(EventKind::SessionChanged { reason: SessionChange::New, session_id: "s".into() });
    reloads(&mut stage);
    stage.control('c');
    assert!(!stage.screen().contains("── late"), "{}", stage.screen());
    compaction_fails(&mut stage);
    assert!(stage.screen().contains("try again"), "{}", stage.screen());
    stage.input(Msg::Lagged);
    reloads(&mut stage);
    assert!(!stage.screen().contains("try again"), "the agent doesn't wait for it: {}", stage.screen());
}
