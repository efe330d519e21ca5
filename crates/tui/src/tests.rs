//! Tests of the whole front end: scripted events and keys in, actions and screens out.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::KeyCode;
use tiller_core::event::{AssistantDelta, EventKind, QueueItem, QueueKind, ToolOutcome};
use tiller_core::message::{Message, UserMessage};
use tiller_core::skill_message::skill_message;
use tiller_core::unit::UnixMs;
use tiller_engine::{InFlight, Snapshot};
use tiller_session::{Entry, EntryBody};

use crate::component::testing::queue_item;
use crate::frame_pacer::{Dirty, FramePacer};
use crate::message::{LoadedSession, TaskResult};
use crate::transcript::section::LoadedPath;

mod addresses;
mod agents;
mod approval;
mod background_jobs;
mod branches;
pub(crate) mod branching_log;
mod clicks;
mod drawing;
mod elicitations;
pub(crate) mod harness;
mod input_errors;
mod key_conflicts;
mod keys;
mod lists;
mod login;
mod long_messages;
mod moving;
mod questions;
mod queue;
mod sessions;
mod summaries;
mod themes;
mod tree;
mod views;
mod welcome;

use harness::{Harness, START, at_work, state, steered};

#[test]
fn start_screen_without_model() {
    for (width, height) in [(80, 24), (120, 40)] {
        insta::assert_snapshot!(format!("start_{width}x{height}"), Harness::new(width, height).screen());
    }
}

#[test]
fn working_shows_calls_and_queue() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut harness = Harness::new(width, height);
        at_work(&mut harness);
        let item = |kind, text: &str, held| QueueItem { held, ..queue_item(text, kind, text) };
        let items = vec![
            item(QueueKind::Steer, "and add a test for a lone \\r", false),
            item(QueueKind::FollowUp, "then run the whole suite", true),
        ];
        harness.event(EventKind::queue_update(items));
        insta::assert_snapshot!(format!("work_{width}x{height}"), harness.screen());
    }
}

#[test]
fn answer_streams_as_markdown() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut harness = Harness::new(width, height);
        harness.user("explain");
        harness.event(EventKind::AgentStart);
        let delta = "A short list will do.".into();
        harness.delta(AssistantDelta::ThinkingDelta { content_index: 0, delta });
        harness.text(1, "Two things:\n\n1. the **lexer** counts `\\r`\n2. the fixture is mix");
        harness.text(1, "ed\n\n```rust\nfn next(&mut self) -> Option<char> {\n    self.chars.n");
        harness.wait(2_300);
        insta::assert_snapshot!(format!("streaming_{width}x{height}"), harness.screen());
    }
}

#[test]
fn steered_run_shows_skipped_calls() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut harness = Harness::new(width, height);
        steered(&mut harness);
        insta::assert_snapshot!(format!("steered_{width}x{height}"), harness.screen());
    }
}

#[test]
fn small_screens() {
    let mut harness = Harness::new(20, 5);
    steered(&mut harness);
    harness.type_text("hello there, this wraps");
    insta::assert_snapshot!("narrow_20x5", harness.screen());
    for (width, height) in [(1, 1), (2, 2), (5, 3), (20, 5), (40, 10), (300, 100)] {
        let mut harness = Harness::new(width, height);
        steered(&mut harness);
        harness.request_approval();
        harness.type_text("日本 x");
        harness.screen();
        harness.control('l');
        harness.screen();
        harness.key(KeyCode::Esc);
        harness.key(KeyCode::PageUp);
        harness.screen();
    }
}

#[test]
fn skill_message_is_shown_as_typed() {
    let message = skill_message("tidy", "/s/tidy/SKILL.md", "Body of it.", "gently");
    let mut harness = Harness::new(80, 24);
    let item = queue_item("q", QueueKind::Steer, &message);
    let update = |items| EventKind::queue_update(items);
    harness.event(update(vec![item.clone()]));
    assert!(harness.screen().contains("↳ steer   /skill:tidy gently"), "{}", harness.screen());
    harness.report_result(TaskResult::ReturnedMessages(vec![item]));
    assert_eq!(harness.app.composer.editor.text(), "/skill:tidy gently");
    harness.event(update(vec![]));
    harness.app.composer.editor.clear();
    harness.user(&message);
    let folded = harness.screen();
    assert!(folded.contains("▌ /skill:tidy gently") && folded.contains("ctrl+o 14:02"), "{folded}");
    assert!(!folded.contains("Body of it."), "{folded}");
    harness.control('o');
    let open = harness.screen();
    assert!(open.contains("▌ Body of it.") && open.contains("▌ gently"), "{open}");
}

#[test]
fn failed_request_counts_down() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    harness.event(EventKind::ToolExecutionEnd {
        tool_call_id: "c2".into(),
        tool_name: "bash".into(),
        result: ToolOutcome::default(),
        is_error: false,
    });
    harness.event(EventKind::AutoRetryStart {
        attempt: 2,
        max_attempts: 5,
        delay_ms: 8_000,
        error_message: "anthropic: overloaded".into(),
    });
    let screen = harness.screen();
    assert!(screen.contains("retrying in 8s (2 of 5) · anthropic: overloaded · 13s · esc stops"), "{screen}");
    harness.event(EventKind::AgentStart);
    assert!(!harness.screen().contains("trying again"));
}

#[test]
fn rejected_message_is_returned() {
    let mut harness = Harness::new(80, 24);
    let message = "no space left".to_owned();
    harness.report_result(TaskResult::Failed {
        message,
        hint: None,
        text: Some("my words".to_owned().into()),
    });
    assert_eq!(harness.app.composer.editor.text(), "my words");
    assert!(harness.screen().contains("✗ no space left"));
}

#[test]
fn snapshot_skips_its_events() {
    let mut harness = Harness::new(80, 24);
    let snapshot = Snapshot { seq: 5, state: state(), in_progress: InFlight::default() };
    harness.report_result(TaskResult::Loaded(Box::new(LoadedSession {
        snapshot,
        newest: LoadedPath::default(),
    })));
    harness.text(0, "told before");
    assert!(!harness.screen().contains("told before"));
    harness.seq = 5;
    harness.text(0, "told after");
    assert!(harness.screen().contains("told after"));
}

#[test]
fn entry_from_log_is_shown_once() {
    let mut harness = Harness::new(80, 24);
    let entry = Entry {
        id: "e1".into(),
        parent: None,
        timestamp: UnixMs(START),
        body: EntryBody::message(Arc::new(Message::User(UserMessage::text("only once", UnixMs(START))))),
    };
    let snapshot = Snapshot { seq: 0, state: state(), in_progress: InFlight::default() };
    let newest = LoadedPath::from_path(&[], vec![entry]);
    harness.report_result(TaskResult::Loaded(Box::new(LoadedSession { snapshot, newest })));
    harness.user("only once");
    assert_eq!(harness.screen().matches("only once").count(), 1);
}

#[test]
fn frame_unchanged_is_not_drawn() {
    let mut harness = Harness::new(80, 24);
    harness.screen();
    harness.app.dirty = Dirty::No;
    harness.wait(100);
    assert!(harness.app.dirty == Dirty::No && !harness.app.wants_ticks(), "idle: no clock, no frame");
    at_work(&mut harness);
    harness.screen();
    harness.app.dirty = Dirty::No;
    assert!(harness.app.wants_ticks());
    harness.wait(100);
    assert!(harness.app.dirty == Dirty::BySession, "the spinner turns");
}

#[test]
fn frame_rate_is_limited() {
    let (mut harness, mut pace, mut frames) = (Harness::new(80, 24), FramePacer::default(), 0);
    let mut draw_if_due = |harness: &mut Harness| {
        let at = Duration::from_millis(u64::try_from(harness.now - START).unwrap());
        if pace.due(harness.app.dirty).is_some_and(|due| due <= at) {
            harness.app.dirty = Dirty::No;
            pace.frame_drawn(at, Duration::ZERO);
            frames += 1;
        }
        frames
    };
    for _ in 0..1_000 {
        harness.text(0, "word ");
        harness.wait(1);
        draw_if_due(&mut harness);
    }
    harness.event(EventKind::AgentSettled);
    let mut drawn = Vec::new();
    for _ in 0..10 {
        harness.wait(100);
        drawn.push(draw_if_due(&mut harness));
    }
    assert_eq!(drawn, [21; 10], "one more frame for the end");
}

#[test]
fn flash_expires() {
    let mut harness = Harness::new(80, 24);
    harness.report_result(TaskResult::Note("copied".into()));
    assert!(harness.screen().contains("copied") && harness.app.wants_ticks());
    harness.wait(5_000);
    assert!(!harness.screen().contains("copied") && !harness.app.wants_ticks());
}

#[test]
fn flash_keeps_activity_visible() {
    for (width, says) in [(80, "answering… 1.0s · ↓1.2k · copied"), (30, "⠋ copied")] {
        let mut harness = Harness::new(width, 24);
        harness.event(EventKind::AgentStart);
        harness.text(0, "so");
        harness.wait(1_000);
        harness.report_result(TaskResult::Note("copied the last answer".into()));
        let screen = harness.screen();
        assert!(screen.lines().any(|line| line.contains(says)), "{screen}");
    }
}

#[test]
fn shell_command_streams_then_record() {
    use tiller_core::message::BashExecutionMessage;
    let mut harness = Harness::new(80, 24);
    let id = || "b1".into();
    harness.event(EventKind::BashExecutionStart {
        id: id(),
        command: "ls".into(),
        exclude_from_context: true,
    });
    harness.event(EventKind::BashExecutionUpdate { id: id(), delta: "Cargo.toml\n".into() });
    assert!(harness.screen().contains("│ Cargo.toml"));
    let record = BashExecutionMessage {
        command: "ls".into(),
        output: "Cargo.toml\nsrc\n".into(),
        exit_code: Some(2),
        exclude_from_context: true,
        ..BashExecutionMessage::default()
    };
    harness.event(EventKind::BashExecutionEnd { id: id(), message: Arc::new(record.clone()) });
    harness.message(Message::BashExecution(record));
    let screen = harness.screen();
    let heads: Vec<&str> = screen.lines().filter(|line| line.contains("!! ls ")).collect();
    let [head] = heads[..] else { panic!("{screen}") };
    assert_eq!(
        head.split_whitespace().collect::<Vec<_>>().join(" "),
        "✗ !! ls exit 2, not sent to the model"
    );
}

#[test]
fn message_beside_a_command_tells_that_it_does_not_wait() {
    let words = "The model doesn't wait for the command";
    for (exclude_from_context, is_told) in [(false, true), (true, false)] {
        let mut harness = Harness::new(120, 40);
        let id = "b1".into();
        harness.event(EventKind::BashExecutionStart { id, command: "make".into(), exclude_from_context });
        harness.type_text("what is this");
        harness.key(KeyCode::Enter);
        assert_eq!(harness.screen().contains(words), is_told, "{}", harness.screen());
    }
    let mut harness = Harness::new(120, 40);
    harness.type_text("what is this");
    harness.key(KeyCode::Enter);
    assert!(!harness.screen().contains(words), "nothing runs");
}

#[test]
fn snapshot_keeps_events_in_flight() {
    let mut harness = Harness::new(80, 24);
    harness.app.expect_snapshot();
    harness.event(EventKind::AgentStart);
    let snapshot = Snapshot { seq: 0, state: state(), in_progress: InFlight::default() };
    harness.report_result(TaskResult::Loaded(Box::new(LoadedSession {
        snapshot,
        newest: LoadedPath::default(),
    })));
    assert!(harness.app.model().activity.running_since.is_some(), "the snapshot was older than the event");
    harness.event(EventKind::AgentSettled);
    assert!(harness.app.model().activity.running_since.is_none(), "and the queue is empty");
}
