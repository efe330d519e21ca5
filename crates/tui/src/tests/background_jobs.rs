//! The agent's background jobs: Ctrl+B, the footer, the list.

use crossterm::event::KeyCode;
use serde_json::json;
use tiller_core::background_job::{CommandJob, JobStatus};
use tiller_core::event::EventKind;
use tiller_core::unit::UnixMs;

use super::harness::{Harness, START};
use crate::action::Action;
use crate::message::TaskResult;
use crate::session_model::Job;

fn job(id: &str, status: JobStatus) -> CommandJob {
    let (command, last_line) = ("cargo watch".to_owned(), "Finished".to_owned());
    CommandJob { job_id: id.into(), command, since: UnixMs(START), status, last_line }
}

fn start_call(harness: &mut Harness, tool_name: &str) {
    harness.event(EventKind::AgentStart);
    let (tool_call_id, args) = ("c1".into(), json!({"command": "cargo test", "path": "a"}));
    harness.event(EventKind::ToolExecutionStart { tool_call_id, tool_name: tool_name.into(), args });
}

#[test]
fn ctrl_b_moves_a_running_command_if_the_editor_is_empty() {
    for (tool, draft, expected) in
        [("bash", "", vec![Action::MoveToBackground]), ("bash", "ab", vec![]), ("read_file", "", vec![])]
    {
        let mut harness = Harness::new(80, 24);
        start_call(&mut harness, tool);
        harness.type_text(draft);
        assert_eq!(harness.control('b'), expected, "{tool} {draft:?}");
        harness.key(KeyCode::Char('x'));
        let text = harness.app.composer.editor.text();
        assert_eq!(text, if draft.is_empty() { "x" } else { "axb" }, "otherwise it moves the cursor");
    }
}

#[test]
fn footer_counts_running_jobs() {
    let mut harness = Harness::new(80, 24);
    let footer = |harness: &mut Harness| harness.screen().lines().last().unwrap_or_default().to_owned();
    assert!(!footer(&mut harness).contains("job"));
    harness.event(EventKind::BackgroundJobStart(job("job_1", JobStatus::Running)));
    assert!(footer(&mut harness).contains("1 job  "), "{}", footer(&mut harness));
    harness.event(EventKind::BackgroundJobStart(job("job_2", JobStatus::Running)));
    assert!(footer(&mut harness).contains("2 jobs  "), "{}", footer(&mut harness));
    harness.event(EventKind::BackgroundJobEnd(job("job_1", JobStatus::Exited { exit_code: 1 })));
    assert!(footer(&mut harness).contains("1 job  "), "{}", footer(&mut harness));
    assert!(harness.screen().contains("job_1: ended with exit status 1. /jobs lists all."));
}

#[test]
fn export_is_shown_with_a_running_clock() {
    let mut harness = Harness::new(80, 24);
    harness.report_result(TaskResult::Began(Job::Export));
    assert!(harness.app.wants_ticks());
    harness.wait(1_200);
    assert!(harness.screen().contains("exporting the session… 1.2s"), "{}", harness.screen());
    harness.report_result(TaskResult::Ended(Job::Export));
    assert!(!harness.screen().contains("exporting") && !harness.app.wants_ticks(), "{}", harness.screen());
}
