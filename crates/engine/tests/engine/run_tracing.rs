//! Tracing of a run: its steps, without content.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Once;

use tracing::Level;

use tiller_core::message::Usage;
use tiller_engine::agents::{AgentSpec, Logger};

use super::agents::{solo, start};
use super::*;

thread_local! {
    /// Log output of this thread.
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Collects the log output of the test's thread, on which its runtime runs all its tasks.
///
/// One subscriber for all threads: with a subscriber in only one thread, an event that another thread reaches
/// first, when tests run in parallel, would be cached as disabled.
struct Log;

struct ThisThread;

impl Write for ThisThread {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| logged.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn start() -> Self {
        static SUBSCRIBER: Once = Once::new();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::DEBUG)
            .with_ansi(false)
            .with_writer(|| ThisThread);
        SUBSCRIBER.call_once(|| subscriber.init());
        Self
    }

    fn text(&self) -> String {
        LOGGED.with_borrow(|logged| String::from_utf8(logged.clone()).unwrap())
    }

    /// Counts the lines that contain all of these words.
    fn count(&self, terms: &[&str]) -> usize {
        self.text().lines().filter(|line| terms.iter().all(|word| line.contains(word))).count()
    }
}

#[tokio::test]
async fn tracing_logs_the_steps_of_a_run_without_content() {
    let log = Log::start();
    let failing =
        r#"{"text": "secret half", "error": {"failure": "transient", "message": "busy", "times": 1}}"#;
    let answer_with_call = calls(&[json!({"note": "secret argument"})]);
    let mut harness = Harness::new(
        Access::Executes,
        vec![answer_with_call, serde_json::from_str(failing).unwrap(), text_answer("secret end")],
    );
    harness.agent.execute_bash("echo secret command", BashContext::Exclude).await.unwrap();
    harness.prompt("secret prompt").await;
    let approval_requested = |event: &EventKind| match event {
        EventKind::ApprovalRequested(request) => Some(request.tool_call_id.clone()),
        _ => None,
    };
    let call = harness.wait_for_event(approval_requested).await;
    harness.agent.decide(call, Decision::Once).await.unwrap();
    harness.permits.add_permits(1);
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    harness.agent.close().await.unwrap();
    let expected: [(&[&str], usize); 12] = [
        (&["INFO", "session opened", "entries=0", ".jsonl"], 1),
        (&["INFO", "run begun"], 1),
        (&["DEBUG", "request provider", "scripted", "messages=1"], 1),
        (&["DEBUG", "request answered", "took_ms=", "input=", "stop_reason="], 2),
        (&["DEBUG", "approval requested", "gate"], 1),
        (&["DEBUG", "approval answered", "once"], 1),
        (&["DEBUG", "call begun", "gate"], 1),
        (&["DEBUG", "call ended", "outcome=\"well\"", "took_ms="], 1),
        (&["WARN", "request failed", "busy"], 1),
        (&["DEBUG", "retrying request", "attempt=1", "wait_ms=", "busy"], 1),
        (&["INFO", "run ended", "completed", "took_ms="], 1),
        (&["INFO", "session closed"], 1),
    ];
    for (terms, count) in expected {
        assert_eq!(log.count(terms), count, "{terms:?}\n{}", log.text());
    }
    assert!(!log.text().contains("secret"), "{}", log.text());
}

/// Returns the lines about tasks of agents, without their times.
fn task_lines(log: &Log) -> Vec<String> {
    let text = log.text();
    let lines = text.lines().filter(|line| line.contains("agent task"));
    let untimed = |line: &str| {
        let (head, ms) = line.split_once(" ms=").unwrap_or((line, "0"));
        ms.parse::<u64>().expect("the time is a number");
        head.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    lines.map(untimed).collect()
}

#[tokio::test]
async fn middleware_logger_traces_start_end_and_failure() {
    let log = Log::start();
    let usage = Usage { output: Tokens(7), ..Usage::default() };
    let answer = ScriptedAnswer { usage, ..text_answer("secret") };
    let failing = r#"{"error": {"failure": "fatal", "message": "no such luck"}}"#;
    let spec = AgentSpec { name: "poet".into(), ..solo() }.with(Logger);
    let (agent, _dir) = start(spec, vec![answer, serde_json::from_str(failing).unwrap()]);
    agent.chat("secret task").await.unwrap();
    agent.chat("secret task").await.unwrap_err();
    let target = "tiller_engine::agents::middleware:";
    let expected = [
        format!("INFO {target} agent task started agent=\"poet\""),
        format!("INFO {target} agent task finished agent=\"poet\" turns=1 tokens=7"),
        format!("INFO {target} agent task started agent=\"poet\""),
        format!("WARN {target} agent task failed agent=\"poet\" error=scripted: no such luck"),
    ];
    assert_eq!(task_lines(&log), expected);
    assert!(!log.text().contains("secret"), "{}", log.text());
}
