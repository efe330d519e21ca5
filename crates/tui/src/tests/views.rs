//! Snapshots of screens that no other file covers.

use crossterm::event::KeyCode;
use serde_json::json;
use tiller_core::event::{ApprovalRequest, EventKind};
use tiller_core::id::EntryId;
use tiller_core::message::AssistantBlock;
use tiller_core::unit::UnixMs;
use tiller_engine::remote_session::ConnectionState;

use super::harness::{Harness, SIZES, at_work, steered};
use super::summaries::compaction_fails;
use crate::action::Action;
use crate::list_data::{self};
use crate::message::{Msg, TaskResult};

/// Draws a state at both sizes.
fn assert_each_size(name: &str, set: impl Fn(&mut Harness)) {
    for (width, height) in SIZES {
        let mut harness = Harness::new(width, height);
        set(&mut harness);
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), harness.screen());
    }
}

fn run(harness: &mut Harness, command: &str) {
    harness.type_text(command);
    harness.key(KeyCode::Enter);
}

#[test]
fn slash_shows_commands() {
    assert_each_size("commands", |harness| harness.type_text("/"));
}

#[test]
fn bang_switches_editor_to_shell() {
    assert_each_size("shell", |harness| harness.type_text("!cargo test --lib"));
    assert_each_size("private_shell", |harness| harness.type_text("!!env"));
}

#[test]
fn editor_counts_hidden_rows() {
    assert_each_size("long_prompt", |harness| {
        harness.type_text("line 1");
        for line in 2..=24 {
            harness.control('j');
            harness.type_text(&format!("line {line}"));
        }
        for _ in 0..15 {
            harness.key(KeyCode::Up);
        }
    });
}

#[test]
fn editor_rules_count_their_side() {
    let mut harness = Harness::new(80, 24);
    let rules = |harness: &mut Harness| -> Vec<String> {
        let screen = harness.screen();
        screen.lines().filter(|line| line.starts_with("──")).map(|line| line.replace('─', "")).collect()
    };
    harness.type_text("line 1");
    for line in 2..=12 {
        assert_eq!(rules(&mut harness).concat().is_empty(), line <= 9, "before line {line}");
        harness.control('j');
        harness.type_text(&format!("line {line}"));
    }
    assert_eq!(rules(&mut harness), [" ↑ 4 more ", ""]);
    for _ in 0..11 {
        harness.key(KeyCode::Up);
    }
    assert_eq!(rules(&mut harness), ["", " ↓ 4 more "]);
}

#[test]
fn history_list() {
    assert_each_size("history", |harness| {
        for prompt in ["why does the lexer drift?", "write a test for it\nand mend it", "and the docs"] {
            run(harness, prompt);
        }
        harness.type_text("a draft");
        harness.control('r');
        harness.type_text("test");
    });
}

#[test]
fn opening_session_is_shown() {
    assert_each_size("opening", |harness| {
        harness.app.opening(UnixMs(harness.now));
        harness.type_text("meanwhile");
        harness.wait(1_200);
    });
}

#[test]
fn retry_counts_down() {
    assert_each_size("retry", |harness| {
        harness.user("why does the lexer drift?");
        harness.event(EventKind::AgentStart);
        harness.event(EventKind::AutoRetryStart {
            attempt: 2,
            max_attempts: 5,
            delay_ms: 8_000,
            error_message: "anthropic: overloaded".into(),
        });
        harness.wait(3_000);
    });
}

#[test]
fn summary_failed_dialog() {
    assert_each_size("summary_failed", |harness| {
        steered(harness);
        compaction_fails(harness);
        harness.wait(400);
    });
}

#[test]
fn leave_branch_dialog() {
    assert_each_size("left_behind", |harness| {
        steered(harness);
        let question = list_data::leave_dialog(&EntryId::new("e1"));
        harness.report_result(TaskResult::Dialog(question));
        harness.wait(400);
    });
}

#[test]
fn new_output_below_is_marked() {
    assert_each_size("below", |harness| {
        for at in 0..30 {
            harness.user(&format!("prompt {at}"));
            harness.answer(vec![AssistantBlock::text(format!("Answer **{at}** of the lexer."))]);
        }
        harness.event(EventKind::AgentStart);
        harness.screen();
        harness.key(KeyCode::PageUp);
        harness.text(0, "And one more thing.");
    });
}

#[test]
fn approval_page() {
    assert_each_size("whole_call", |harness| {
        at_work(harness);
        let steps: Vec<String> = (1..=60).map(|step| format!("echo step {step}")).collect();
        harness.event(EventKind::ApprovalRequested(ApprovalRequest {
            tool_call_id: "c2".into(),
            tool_name: "bash".into(),
            args: json!({"command": steps.join("\n")}),
            reason: "runs a command".into(),
            rule: String::new(),
            proposed: None,
            agent: None,
            cwd: None,
            preview: None,
            later: 0,
        }));
        harness.screen();
        harness.wait(400);
        harness.type_text("v");
        harness.wait(400);
        assert_eq!(harness.app.compositor.overlays.len(), 1);
    });
}

#[test]
fn footer_says_that_the_connection_is_lost() {
    let mut harness = Harness::new(80, 24);
    let footer = |harness: &mut Harness| harness.screen().lines().last().unwrap_or_default().to_owned();
    harness.input(Msg::Connection(ConnectionState::Lost { attempt: 2 }));
    assert!(footer(&mut harness).contains("disconnected, attempt 2"), "{}", footer(&mut harness));
    harness.actions.clear();
    harness.input(Msg::Connection(ConnectionState::Connected));
    assert_eq!(harness.actions, [Action::Reload]);
    assert!(!footer(&mut harness).contains("disconnected"), "{}", footer(&mut harness));
}
