//! Snapshots of screens that no other file draws.

use crossterm::event::KeyCode;
use serde_json::json;
use tiller_core::event::{ApprovalRequest, EventKind};
use tiller_core::id::EntryId;
use tiller_core::message::AssistantBlock;
use tiller_core::unit::{Tokens, UnixMs};
use tiller_engine::SessionState;
use tiller_session::entry::Compaction;
use tiller_session::{EntryBody, Placement, SessionManager};

use super::harness::{Harness, SIZES, START, at_work, state, steered};
use super::summaries::compaction_fails;
use crate::app::{Msg, TaskResult};
use crate::list_data::{self, ListContext};
use crate::logs;
use crate::pager::Pager;

/// Draws a state at both sizes.
fn drawn(name: &str, set: impl Fn(&mut Harness)) {
    for (width, height) in SIZES {
        let mut stage = Harness::new(width, height);
        set(&mut stage);
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), stage.screen());
    }
}

fn run(stage: &mut Harness, command: &str) {
    stage.type_text(command);
    stage.key(KeyCode::Enter);
}

#[test]
fn help_page() {
    drawn("help", |stage| run(stage, "/help"));
}

#[test]
fn slash_shows_commands() {
    drawn("commands", |stage| stage.type_text("/"));
}

#[test]
fn bang_switches_editor_to_shell() {
    drawn("shell", |stage| stage.type_text("!cargo test --lib"));
    drawn("private_shell", |stage| stage.type_text("!!env"));
}

#[test]
fn editor_counts_hidden_rows() {
    drawn("long_prompt", |stage| {
        stage.type_text("line 1");
        for line in 2..=24 {
            stage.control('j');
            stage.type_text(&format!("line {line}"));
        }
        for _ in 0..15 {
            stage.key(KeyCode::Up);
        }
    });
}

#[test]
fn editor_rules_count_their_side() {
    let mut stage = Harness::new(80, 24);
    let rules = |stage: &mut Harness| -> Vec<String> {
        let screen = stage.screen();
        screen.lines().filter(|line| line.starts_with("──")).map(|line| line.replace('─', "")).collect()
    };
    stage.type_text("line 1");
    for line in 2..=12 {
        assert_eq!(rules(&mut stage).concat().is_empty(), line <= 9, "before line {line}");
        stage.control('j');
        stage.type_text(&format!("line {line}"));
    }
    assert_eq!(rules(&mut stage), [" ↑ 4 more ", ""]);
    for _ in 0..11 {
        stage.key(KeyCode::Up);
    }
    assert_eq!(rules(&mut stage), ["", " ↓ 4 more "]);
}

#[test]
fn history_list() {
    drawn("history", |stage| {
        for prompt in ["why does the lexer drift?", "write a test for it\nand mend it", "and the docs"] {
            run(stage, prompt);
        }
        stage.type_text("a draft");
        stage.control('r');
        stage.type_text("test");
    });
}

#[test]
fn opening_session_is_shown() {
    drawn("opening", |stage| {
        stage.app.activity.opening_since = Some(UnixMs(stage.now));
        stage.type_text("meanwhile");
        stage.wait(1_200);
    });
}

#[test]
fn retry_counts_down() {
    drawn("retry", |stage| {
        stage.user("why does the lexer drift?");
        stage.event(EventKind::AgentStart);
        stage.event(EventKind::AutoRetryStart {
            attempt: 2,
            max_attempts: 5,
            delay_ms: 8_000,
            error_message: "anthropic: overloaded".into(),
        });
        stage.wait(3_000);
    });
}

#[test]
fn summary_failed_dialog() {
    drawn("summary_failed", |stage| {
        steered(stage);
        compaction_fails(stage);
        stage.wait(400);
    });
}

#[test]
fn leave_branch_dialog() {
    drawn("left_behind", |stage| {
        steered(stage);
        let question = list_data::leave_dialog(&EntryId::new("e1"));
        stage.input(Msg::TaskResult(TaskResult::Dialog(question)));
        stage.wait(400);
    });
}

#[test]
fn compaction_and_branches_are_rules() {
    drawn("rules", |stage| {
        stage.user("first");
        stage.entry(&EntryBody::Compaction(Compaction {
            summary: "The lexer counts `\\r` as a line of its own.\n\nNext: mend it.".into(),
            first_kept_entry_id: EntryId::new("e1"),
            tokens_before: Tokens(170_000),
            details: None,
            usage: None,
            made_by: None,
        }));
        stage.user("second");
        let left = serde_json::from_value(json!({
            "type": "branch_summary", "fromId": "e9", "summary": "A first try went nowhere."
        }));
        stage.entry(&left.unwrap());
        stage.user("third");
    });
}

#[test]
fn new_output_below_is_marked() {
    drawn("below", |stage| {
        for at in 0..30 {
            stage.user(&format!("prompt {at}"));
            stage.answer(vec![AssistantBlock::Text { text: format!("Answer **{at}** of the lexer.") }]);
        }
        stage.event(EventKind::AgentStart);
        stage.screen();
        stage.key(KeyCode::PageUp);
        stage.text(0, "And one more thing.");
    });
}

#[test]
fn approval_page() {
    drawn("whole_call", |stage| {
        at_work(stage);
        let steps: Vec<String> = (1..=60).map(|step| format!("echo step {step}")).collect();
        stage.event(EventKind::ApprovalRequested(ApprovalRequest {
            tool_call_id: "c2".into(),
            tool_name: "bash".into(),
            args: json!({"command": steps.join("\n")}),
            reason: "runs a command".into(),
            rule: String::new(),
            preview: None,
            later: 0,
        }));
        stage.screen();
        stage.wait(400);
        stage.type_text("v");
        stage.wait(400);
        assert_eq!(stage.app.overlays.len(), 1);
    });
}

#[test]
fn log_page() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let lines = [
        "2026-11-21T14:02:00.000Z  INFO tiller_session: opened",
        "2026-11-21T14:02:01.500Z  WARN tiller_engine::watch: can't watch /nowhere",
        "2026-11-21T14:02:02.000Z ERROR tiller_engine: the log can't be written: no space left",
    ];
    std::fs::write(file.path(), lines.join("\n")).unwrap();
    for (width, height) in SIZES {
        let mut stage = Harness::new(width, height);
        stage.input(Msg::TaskResult(logs::page(Some(file.path()), None)));
        let screen = stage.screen().replace(&file.path().display().to_string(), "[the file]");
        insta::assert_snapshot!(format!("log_{width}x{height}"), screen);
    }
}

#[test]
fn session_page() {
    let manager = SessionManager::new(Placement::Memory, "/home/ada/code/conf".into());
    let reader = manager.create(UnixMs(START)).reader();
    drawn("session", |stage| {
        let about = ListContext {
            home: Some("/home/ada".into()),
            folders: vec!["~/code/lib".into(), "/srv/docs (read only)".into()],
            files: vec!["/home/ada/code/conf/AGENTS.md".into(), "/home/ada/.config/tiller/AGENTS.md".into()],
            width: Pager::columns(stage.app.ui.size.0),
        };
        let lines = {
            let path = "/home/ada/.local/share/tiller/sessions/--home-ada-code-conf--/2026-11-21T14-02-00-000Z_01JD6X9QWERTYUIOPASDFGHJKL.jsonl";
            let state = SessionState { name: None, path: Some(path.into()), ..state() };
            list_data::facts(&state, &reader, &about)
        };
        stage.input(Msg::TaskResult(TaskResult::Page { title: "session".into(), lines }));
    });
}

#[test]
fn footer_drops_items_stepwise() {
    let shown = |width| {
        let mut stage = Harness::new(width, 24);
        stage.app.ui.cwd = "/home/ada/clients/a-company-with-a-long-name/services/payment-gateway".into();
        stage.app.session.branch = Some("feature/JIRA-1234-make-the-parser-take-mixed-line-endings".into());
        let screen = stage.screen();
        screen.lines().last().unwrap_or_default().to_owned()
    };
    let rows = [200, 140, 120, 100, 80, 60, 40].map(|width| format!("{width:>3}│{}", shown(width)));
    insta::assert_snapshot!("footer", rows.join("\n"));
}
