//! Tests of dialogs that open automatically, and of keys pressed before they were visible.

use crossterm::event::{KeyCode, KeyModifiers, MouseEvent, MouseEventKind};
use tiller_core::event::{CompactionChoice, EventKind, SessionChange};
use tiller_engine::{InFlight, Snapshot};
use tiller_render::{Line, Role};

use crate::action::{Action, SessionEdit, Submit};
use crate::dialog::Dialog;
use crate::list_kind::ListKind;
use crate::message::{LoadedSession, Msg, TaskResult};
use crate::navigate::Navigate;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::tests::harness::{Harness, at_work, state};
use crate::tests::summaries::compaction_fails;
use crate::transcript::section::LoadedPath;

/// Opens a new dialog.
fn show_dialog(harness: &mut Harness) {
    let fork = PickerItem::new("continue in a fork", PickerChoice::ForkOf("/s/1.jsonl".into()));
    harness.report_result(TaskResult::Dialog(Dialog { title: "late".into(), items: vec![fork] }));
}

fn is_fork(actions: &[Action]) -> bool {
    actions.contains(&Action::Navigate(Navigate::ForkOf("/s/1.jsonl".into())))
}

#[test]
fn dialog_early_enter_is_ignored() {
    let mut harness = Harness::new(80, 24);
    harness.control('l');
    show_dialog(&mut harness);
    harness.wait(399);
    assert_eq!(harness.key(KeyCode::Enter), [], "over a list");
    assert!(harness.screen().contains("── late"), "{}", harness.screen());
    harness.wait(1);
    assert!(is_fork(&harness.key(KeyCode::Enter)));
    assert!(harness.app.compositor.overlays.iter().any(|popup| popup.is_list(ListKind::Models)));
}

#[test]
fn dialog_typing_defers_it() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    compaction_fails(&mut harness);
    assert!(harness.screen().contains("try again"), "{}", harness.screen());
    harness.wait(100);
    harness.type_text("and");
    harness.wait(1_000);
    harness.type_text(" also");
    assert!(harness.screen().contains("❯ and also"), "{}", harness.screen());
    assert_eq!(harness.key(KeyCode::Enter).last(), Some(&Action::Submit(Submit::Steer("and also".into()))));
    assert!(harness.screen().contains("try again"), "{}", harness.screen());
    harness.wait(399);
    assert_eq!(harness.key(KeyCode::Enter), [], "it has only just come again");
    harness.wait(400);
    assert_eq!(
        harness.key(KeyCode::Enter),
        [Action::Edit(SessionEdit::ResolveCompaction(CompactionChoice::Retry))]
    );
}

#[test]
fn dialog_waits_for_search() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    harness.control('f');
    compaction_fails(&mut harness);
    harness.wait(1_000);
    harness.type_text("lexer");
    assert!(!harness.screen().contains("try again"), "{}", harness.screen());
    assert_eq!(harness.key(KeyCode::Enter), [], "the place before");
    harness.key(KeyCode::Esc);
    assert!(harness.screen().contains("try again"), "{}", harness.screen());
}

#[test]
fn dialog_paste_esc_and_wheel_are_no_answers() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    show_dialog(&mut harness);
    assert_eq!(harness.key(KeyCode::Esc), [Action::Abort], "it was to stop what runs");
    assert!(harness.screen().contains("── late"), "{}", harness.screen());
    let (kind, modifiers) = (MouseEventKind::ScrollUp, KeyModifiers::NONE);
    harness.input(Msg::Mouse(MouseEvent { kind, column: 1, row: 1, modifiers }));
    assert_eq!(harness.app.composer.editor.text(), "", "no prompt of earlier times");
    harness.input(Msg::Paste("a draft".into()));
    assert_eq!(
        (harness.app.composer.editor.text().as_str(), harness.app.compositor.overlays.len()),
        ("a draft", 0)
    );
    harness.wait(400);
    harness.control('c');
    assert!(harness.screen().contains("── late"), "{}", harness.screen());
}

fn open_page(harness: &mut Harness) {
    let lines = vec![Line::new("the end of the log", Role::Text)];
    harness.report_result(TaskResult::Page { title: "log".into(), lines });
}

#[test]
fn page_typing_defers_it() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("q");
    open_page(&mut harness);
    assert!(!harness.screen().contains("the end of the log"), "{}", harness.screen());
    assert!(harness.screen().contains("log: ready."), "{}", harness.screen());
    harness.wait(1_000);
    harness.type_text("uick");
    assert_eq!(harness.key(KeyCode::Enter).last(), Some(&Action::Submit(Submit::Steer("quick".into()))));
    assert!(harness.screen().contains("the end of the log"), "{}", harness.screen());
    harness.wait(399);
    harness.type_text("q/");
    harness.input(Msg::Paste("n".into()));
    let screen = harness.screen();
    assert!(screen.contains("❯ q/n") && screen.contains("log: ready."), "{screen}");
    harness.control('c');
    assert!(harness.screen().contains("the end of the log"), "{}", harness.screen());
    harness.key(KeyCode::Down);
    assert!(
        harness.screen().contains("the end of the log"),
        "to move in it is no answer: {}",
        harness.screen()
    );
    harness.wait(400);
    harness.type_text("q");
    assert!(!harness.screen().contains("the end of the log"), "{}", harness.screen());
    assert_eq!(harness.app.composer.editor.text(), "");
}

#[test]
fn page_waits_for_open_list() {
    let mut harness = Harness::new(80, 24);
    harness.control('l');
    open_page(&mut harness);
    harness.type_text("opus");
    assert!(!harness.screen().contains("the end of the log"), "{}", harness.screen());
    harness.key(KeyCode::Esc);
    assert!(
        !harness.screen().contains("the end of the log"),
        "the list is there still: {}",
        harness.screen()
    );
    harness.key(KeyCode::Esc);
    assert!(harness.screen().contains("the end of the log"), "{}", harness.screen());
    harness.key(KeyCode::Esc);
    assert!(harness.app.compositor.overlays.is_empty());
}

#[test]
fn dialog_late_waits_for_typing() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("and");
    show_dialog(&mut harness);
    harness.wait(1_000);
    harness.type_text(" also");
    assert!(harness.screen().contains("❯ and also"), "{}", harness.screen());
    harness.key(KeyCode::Enter);
    assert!(harness.screen().contains("── late"), "{}", harness.screen());
}

/// Reloads the session without anything in progress.
fn reload(harness: &mut Harness) {
    let snapshot = Snapshot { seq: harness.seq, state: state(), in_progress: InFlight::default() };
    let loaded = LoadedSession { snapshot, newest: LoadedPath::default() };
    harness.report_result(TaskResult::Loaded(Box::new(loaded)));
}

#[test]
fn dialog_deferred_survives_reload() {
    let mut harness = Harness::new(80, 24);
    show_dialog(&mut harness);
    harness.type_text("and");
    harness.input(Msg::Lagged);
    reload(&mut harness);
    assert!(!harness.screen().contains("── late"), "{}", harness.screen());
    harness.control('c');
    assert!(harness.screen().contains("── late"), "{}", harness.screen());
}

#[test]
fn dialog_deferred_is_dropped_when_settled() {
    let mut harness = Harness::new(80, 24);
    show_dialog(&mut harness);
    harness.type_text("and");
    harness.event(EventKind::SessionChanged { reason: SessionChange::New, session_id: "s".into() });
    reload(&mut harness);
    harness.control('c');
    assert!(!harness.screen().contains("── late"), "{}", harness.screen());
    compaction_fails(&mut harness);
    assert!(harness.screen().contains("try again"), "{}", harness.screen());
    harness.input(Msg::Lagged);
    reload(&mut harness);
    assert!(!harness.screen().contains("try again"), "the agent doesn't wait for it: {}", harness.screen());
}
