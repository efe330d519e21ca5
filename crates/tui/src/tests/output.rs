//! Tests of the output of tools and shell commands, and of the notes below it.

use std::sync::Arc;

use crossterm::event::KeyCode;
use tiller_core::event::EventKind;
use tiller_core::message::{BashExecutionMessage, Message};
use tiller_core::unit::UnixMs;

use super::harness::{Harness, SIZES};

fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect()
}

#[test]
fn shell_output_shows_a_screenful() {
    for (width, height) in SIZES {
        let mut harness = Harness::new(width, height);
        let id = || "b1".into();
        let exclude_from_context = false;
        harness.event(EventKind::BashExecutionStart {
            id: id(),
            command: "git log".into(),
            exclude_from_context,
        });
        harness.event(EventKind::BashExecutionUpdate { id: id(), delta: numbered(60) });
        let screen = harness.screen();
        assert!(screen.contains("│ line 60") && screen.contains("│ line 45"), "{screen}");
        let record = BashExecutionMessage {
            command: "git log".into(),
            output: numbered(60),
            exit_code: Some(0),
            ..BashExecutionMessage::default()
        };
        harness.event(EventKind::BashExecutionEnd { id: id(), message: Arc::new(record.clone()) });
        harness.message(Message::BashExecution(record));
        insta::assert_snapshot!(format!("own_command_{width}x{height}"), harness.screen());
        harness.control('o');
        harness.key(KeyCode::Home);
        assert!(harness.screen().contains("│ line 1\n"), "{}", harness.screen());
    }
}

#[test]
fn shell_result_has_note_and_duration() {
    for (width, height) in SIZES {
        let mut harness = Harness::new(width, height);
        let long = format!("for f in {}; do cat $f; done", "one.txt two.txt ".repeat(8).trim());
        for (number, command) in ["echo lost; exit 4", long.as_str()].into_iter().enumerate() {
            let id = || format!("b{number}").as_str().into();
            let begins = EventKind::BashExecutionStart {
                id: id(),
                command: command.to_owned(),
                exclude_from_context: number == 1,
            };
            harness.event(begins);
            harness.wait(3_200);
            let record = BashExecutionMessage {
                command: command.to_owned(),
                output: "lost\n".into(),
                exit_code: Some(4),
                exclude_from_context: number == 1,
                timestamp: UnixMs(harness.now),
                ..BashExecutionMessage::default()
            };
            harness.event(EventKind::BashExecutionEnd { id: id(), message: Arc::new(record.clone()) });
            harness.message(Message::BashExecution(record));
        }
        insta::assert_snapshot!(format!("own_command_ended_{width}x{height}"), harness.screen());
    }
}
