//! Messages that take most of the context window.

use crossterm::event::KeyCode;
use tiller_core::unit::Tokens;
use tiller_engine::{ContextUse, SessionState};

use super::harness::{Harness, state};
use crate::action::{Action, MessageExtra, Submit};
use crate::message::{Msg, TaskResult};

/// Returns a front end whose model accepts 1,000 tokens, with a paste of some 1,500 tokens in the editor, and
/// the whole text.
fn long_message() -> (Harness, String) {
    let mut harness = Harness::new(80, 24);
    let context = ContextUse { used: Tokens(0), window: Tokens(1_000) };
    harness.report_result(TaskResult::State(Box::new(SessionState { context, ..state() })));
    let paste = "line number 001\n".repeat(375);
    harness.type_text("fix this: ");
    harness.input(Msg::Paste(paste.clone()));
    (harness, format!("fix this: {paste}"))
}

const SHORT: &str = "fix this: [paste #1: 375 lines]";

#[test]
fn long_message_as_file_has_placeholders() {
    let (mut harness, whole) = long_message();
    harness.key(KeyCode::Enter);
    let sent = Submit::WithExtra(Box::new(Submit::Steer(SHORT.into())), MessageExtra::AsFile(whole));
    assert!(harness.key(KeyCode::Enter).contains(&Action::Submit(sent)));
    assert!(harness.app.composer.editor.is_empty() && harness.app.compositor.overlays.is_empty());
}

#[test]
fn long_message_back_stays_in_editor() {
    for keys in [&[KeyCode::Esc][..], &[KeyCode::Down, KeyCode::Down, KeyCode::Enter]] {
        let (mut harness, whole) = long_message();
        harness.key(KeyCode::Enter);
        for key in keys {
            assert_eq!(harness.key(*key), []);
        }
        assert!(harness.app.compositor.overlays.is_empty());
        assert_eq!(
            (harness.app.composer.editor.text(), harness.app.composer.editor.expanded()),
            (SHORT.to_owned(), whole)
        );
    }
}
