//! Tests of input in the editor and of the effects of keys.

use crossterm::event::KeyCode;
use tiller_core::event::{EventKind, QueueKind, RunOutcome};

use crate::action::{Action, TerminalAction};
use crate::component::testing::queue_item;
use crate::keymap::Keymap;
use crate::message::TaskResult;
use crate::tests::harness::{Harness, at_work};

#[test]
fn ctrl_c_twice_while_working_stops_only() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    harness.type_text("half");
    assert_eq!(harness.control('c'), []);
    assert_eq!(harness.control('c'), [Action::Abort]);
    assert_eq!(harness.control('c'), [Action::Abort]);
}

#[test]
fn esc_stops_and_returns_queue() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    harness.type_text("typed");
    assert_eq!(harness.key(KeyCode::Esc), [Action::Abort]);
    let item = queue_item("q", QueueKind::Steer, "waited");
    harness.report_result(TaskResult::ReturnedMessages(vec![item]));
    assert_eq!(harness.app.composer.editor.text(), "waited\n\ntyped");
}

#[test]
fn esc_repeated_after_stop_opens_no_tree() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    assert_eq!(harness.key(KeyCode::Esc), [Action::Abort]);
    let outcome = RunOutcome::Aborted;
    harness.event(EventKind::AgentEnd { messages: Vec::new(), will_retry: false, outcome });
    harness.event(EventKind::AgentSettled);
    for _ in 0..6 {
        harness.wait(300);
        assert_eq!(harness.key(KeyCode::Esc), []);
        assert!(harness.app.compositor.overlays.is_empty());
    }
    harness.wait(1_100);
    harness.key(KeyCode::Esc);
    assert!(harness.app.compositor.overlays.is_empty());
    harness.wait(300);
    harness.key(KeyCode::Esc);
    assert_eq!(harness.app.compositor.overlays.len(), 1, "that is the tree");
}

#[test]
fn history_search_finds_prompt() {
    let mut harness = Harness::new(80, 24);
    for text in ["fix the lexer", "write a poem", "fix the lexer"] {
        harness.type_text(text);
        harness.key(KeyCode::Enter);
    }
    harness.type_text("a draft");
    harness.control('r');
    assert_eq!(harness.screen().matches("fix the lexer").count(), 2, "once, and in its preview");
    harness.type_text("poem");
    assert_eq!(harness.key(KeyCode::Enter), []);
    assert_eq!(harness.app.composer.editor.text(), "write a poem");
    harness.key(KeyCode::Down);
    harness.key(KeyCode::Down);
    assert_eq!(harness.app.composer.editor.text(), "a draft");
}

#[test]
fn ctrl_c_clears_then_quits() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("text");
    assert_eq!(harness.control('c'), []);
    assert!(harness.app.composer.editor.is_empty());
    assert_eq!(harness.control('c'), [], "what cleared the text is no first press");
    assert_eq!(harness.control('c'), [Action::Terminal(TerminalAction::Quit)]);
    let mut harness = Harness::new(80, 24);
    assert_eq!(harness.control('c'), []);
    harness.wait(2_500);
    assert_eq!(harness.control('c'), [], "the first one is long ago");
    at_work(&mut harness);
    harness.wait(2_500);
    assert_eq!(harness.control('c'), [Action::Abort]);
}

#[test]
fn flash_about_next_key_ends_with_it() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("text");
    harness.control('c');
    assert!(harness.screen().contains("Cleared; alt+u restores it."), "{}", harness.screen());
    harness.type_text("o");
    assert!(!harness.screen().contains("cleared;"), "{}", harness.screen());
}

#[test]
fn keybindings_reload_reports_changes_only() {
    let mut harness = Harness::new(120, 40);
    let mut read_key = |text: &str| {
        harness.app.set_keymap(Keymap::parse(text, "keys.json"));
        let screen = harness.screen();
        let lines = screen.lines().filter(|line| line.contains("keys.json"));
        lines.map(|line| line.trim().chars().take(30).collect::<String>()).collect::<Vec<_>>()
    };
    let (quit, send) = ("keys.json, line 1: unknown acti", "keys.json, line 2: send takes ");
    let shown = |sign: &str, text: &str| format!("{sign} {text}").chars().take(30).collect::<String>();
    let both = "{\"quitt\": \"f2\",\n\"send\": 7}";
    assert_eq!(read_key(both), [shown("!", quit), shown("!", send)]);
    assert_eq!(read_key(both), [shown("!", quit), shown("!", send)]);
    assert_eq!(read_key("{\"quitt\": \"f2\"}"), [shown("!", quit), shown("·", send)]);
    assert_eq!(read_key(both), [shown("!", quit), shown("·", send), shown("!", send)]);
}

#[test]
fn ctrl_d_while_working_names_quit_key() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    assert_eq!(harness.control('d'), []);
    assert!(harness.screen().contains("esc stops it, then ctrl+d quits"), "{}", harness.screen());
    harness.type_text("ab");
    harness.key(KeyCode::Home);
    harness.control('d');
    assert_eq!(harness.app.composer.editor.text(), "b", "it deletes where there is something to delete");
}
