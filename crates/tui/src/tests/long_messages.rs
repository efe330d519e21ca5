//! Messages that take most of the context window.

use crossterm::event::KeyCode;
use tiller_core::message::{Message, UserMessage};
use tiller_core::unit::{Tokens, UnixMs};
use tiller_engine::{ContextUse, SessionState};

use super::harness::{Harness, state};
use crate::app::{Action, LineExtra, Msg, Submit, TaskResult};

/// A front end whose model reads 1,000 tokens, with a paste of some 1,500 in the editor; and the paste.
fn long() -> (Harness, String) {
    let mut stage = Harness::new(80, 24);
    let context = ContextUse { used: Tokens(0), window: Tokens(1_000) };
    stage.input(Msg::TaskResult(TaskResult::State(Box::new(SessionState { context, ..state() }))));
    let paste: String = (0..500).map(|line| format!("line number {line:03}\n")).collect();
    let paste = paste[..6_000].to_owned();
    stage.type_text("fix this: ");
    stage.input(Msg::Paste(paste.clone()));
    (stage, format!("fix this: {paste}"))
}

const SHORT: &str = "fix this: [paste #1: 375 lines]";

#[test]
fn long_message_asks_before_sending() {
    let (mut stage, _) = long();
    assert_eq!(stage.key(KeyCode::Enter), []);
    let screen = stage.screen();
    assert!(screen.contains("about 1.5k tokens in one message; claude-sonnet-4-5 reads 1.0k"), "{screen}");
    for choice in ["attach it as a file", "send it anyway", "back to the editor"] {
        assert!(screen.contains(choice), "{choice} in {screen}");
    }
}

#[test]
fn long_message_as_file_has_placeholders() {
    let (mut stage, whole) = long();
    stage.key(KeyCode::Enter);
    let sent = Submit::WithExtra(Box::new(Submit::Steer(SHORT.into())), LineExtra::AsFile(whole));
    assert!(stage.key(KeyCode::Enter).contains(&Action::Submit(sent)));
    assert!(stage.app.editor.is_empty() && stage.app.overlays.is_empty());
}

#[test]
fn long_message_not_stored_is_returned() {
    let say = Submit::WithExtra(Box::new(Submit::Steer(SHORT.into())), LineExtra::AsFile("the whole".into()));
    assert_eq!(say.typed(), Some("the whole".to_owned().into()));
}

#[test]
fn long_message_can_be_sent_anyway() {
    let (mut stage, whole) = long();
    stage.key(KeyCode::Enter);
    stage.key(KeyCode::Down);
    let sent = Submit::WithExtra(Box::new(Submit::Steer(whole)), LineExtra::AnyLength);
    assert!(stage.key(KeyCode::Enter).contains(&Action::Submit(sent)));
}

#[test]
fn long_message_back_stays_in_editor() {
    for keys in [&[KeyCode::Esc][..], &[KeyCode::Down, KeyCode::Down, KeyCode::Enter]] {
        let (mut stage, whole) = long();
        stage.key(KeyCode::Enter);
        for key in keys {
            assert_eq!(stage.key(*key), []);
        }
        assert!(stage.app.overlays.is_empty());
        assert_eq!((stage.app.editor.text(), stage.app.editor.expanded()), (SHORT.to_owned(), whole));
    }
}

#[test]
fn long_message_half_window_is_sent_at_once() {
    let (mut stage, _) = long();
    stage.app.editor.clear();
    let half = "x".repeat(2_000);
    stage.input(Msg::Paste(half.clone()));
    assert!(stage.key(KeyCode::Enter).contains(&Action::Submit(Submit::Steer(half))));
}

#[test]
fn message_shows_its_attachments() {
    let mut stage = Harness::new(80, 24);
    let text = "see @src/lexer.rs\n\n<file path=\"src/lexer.rs\" lines=\"212\">\nfn lex() {}\n</file>";
    let typed = Some("see @src/lexer.rs".to_owned());
    stage.said(Message::User(UserMessage::text(text, UnixMs(stage.now)).typed_as(typed)));
    let screen = stage.screen();
    assert!(screen.contains("@src/lexer.rs · 212 lines") && !screen.contains("fn lex()"), "{screen}");
}

#[test]
fn paste_placeholder_mentions_no_files() {
    let mut stage = Harness::new(80, 24);
    let paste = "look at @~/.ssh/id_rsa\n".repeat(20);
    stage.type_text("fix @a.rs: ");
    stage.input(Msg::Paste(paste.clone()));
    let said = Submit::Steer(format!("fix @a.rs: {paste}"));
    let sent =
        Submit::WithExtra(Box::new(said), LineExtra::FilesOf("fix @a.rs: [paste #1: 20 lines]".into()));
    let actions = stage.key(KeyCode::Enter);
    assert!(actions.contains(&Action::Submit(sent)), "{actions:?}");
}
