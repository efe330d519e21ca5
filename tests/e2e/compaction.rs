//! Compaction through the real binary.

use std::io::{BufRead, BufReader};

use serde_json::{Value, json};
use tiller::session::verify::{Severity, verify};

use super::sandbox::Sandbox;
use tiller_test_support::mock_server::{AnswerPart, MockServer, Reply};
use tiller_test_support::terminal::TerminalKey;

/// Text that only a request for a summary contains.
const SUMMARY: &str =
    r#"{"when": "<conversation>", "text": "It is about bees.", "usage": {"input": 200, "output": 9}}"#;

fn long(text: &str) -> String {
    format!("{text} {}", "buzz ".repeat(1_200))
}

/// A sandbox where compaction keeps only the newest message.
fn sandbox() -> Sandbox {
    Sandbox::new().with_variable("TILLER_COMPACTION_KEEP_TOKENS", "1")
}

fn compactions(log: &[Value]) -> Vec<&Value> {
    log.iter().filter(|entry| entry["type"] == "compaction").collect()
}

#[test]
fn compaction_overflow_is_retried_after_summary() {
    for (provider, too_long) in [
        ("anthropic", r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#),
        ("openai", r#"{"error":{"code":"context_length_exceeded","message":"too many tokens"}}"#),
    ] {
        let server = MockServer::start([
            Reply::answer([AnswerPart::text("One.")]),
            Reply::status(400, too_long),
            Reply::answer([AnswerPart::text("It is about bees.")]).tokens(700, 30),
            Reply::answer([AnswerPart::text("Two.")]),
        ]);
        let (name, url) = (provider.to_uppercase(), format!("{}/v1", server.url));
        let url = if provider == "openai" { &url } else { &server.url };
        let sandbox = sandbox()
            .with_variable(&format!("{name}_API_KEY"), "k")
            .with_variable(&format!("{name}_BASE_URL"), url);
        let fixed = ["-p", "--provider", provider, "--model", "claude-sonnet-9-9"];
        assert_eq!(sandbox.run(&[&fixed[..], &[&long("first")]].concat()).out, "One.\n");
        let output = sandbox.run(&[&fixed[..], &["-c", "second"]].concat());
        assert_eq!((output.out.as_str(), output.code), ("Two.\n", Some(0)), "{provider}: {}", output.err);

        let requests = server.requests();
        assert_eq!(requests.len(), 4, "{provider}");
        assert!(requests[2].body.get("tools").is_none_or(|tools| tools == &json!([])), "{provider}");
        let summary_request = requests[2].body["messages"].to_string();
        assert!(
            summary_request.contains("<conversation>\\n[User] first buzz")
                && !summary_request.contains("second"),
            "{provider}"
        );
        let retried_request = requests[3].body["messages"].to_string();
        assert!(
            retried_request.contains("It is about bees.") && retried_request.contains("second"),
            "{provider}: {retried_request}"
        );
        assert!(!retried_request.contains("One."), "{provider}: {retried_request}");
        let log = sandbox.log();
        let usage = &compactions(&log)[0]["usage"];
        assert_eq!((&usage["input"], &usage["output"]), (&json!(700), &json!(30)), "{provider}");
    }
}

#[test]
fn compaction_in_print_mode_finishes_before_exit() {
    let sandbox = sandbox();
    let script = sandbox.script(&[
        r#"{"calls": [{"name": "list_files"}], "usage": {"totalTokens": 190000}}"#,
        r#"{"text": "Done."}"#,
        SUMMARY,
    ]);
    let fixed = ["-p", "--mode", "json", "--yes", "--provider", "scripted", "--model", &script];
    let output = sandbox.run(&[&fixed[..], &[&long("count the bees")]].concat());
    assert_eq!(output.code, Some(0), "{}", output.err);
    let events: Vec<Value> = output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds.last(), Some(&"agent_settled"));
    let end_event = events.iter().find(|event| event["type"] == "compaction_end").unwrap();
    assert_eq!(end_event["reason"], "threshold");
    assert!(end_event["result"]["summary"].as_str().unwrap().ends_with("It is about bees."), "{end_event}");
    let log = sandbox.log();
    assert_eq!(compactions(&log)[0]["usage"]["totalTokens"], 209);
    let context = sandbox.run(&["sessions", "show", log[0]["id"].as_str().unwrap(), "--context"]).out;
    assert!(context.contains("It is about bees.") && context.contains("Done."), "{context}");
}

#[test]
fn compaction_killed_during_summary_loses_nothing() {
    let sandbox = sandbox();
    let hanging = r#"{"when": "<conversation>", "text": "It is ab", "hang": true}"#;
    let script = sandbox.script(&[
        r#"{"calls": [{"name": "list_files"}], "usage": {"totalTokens": 190000}}"#,
        r#"{"text": "Done."}"#,
        hanging,
    ]);
    let fixed = ["-p", "--mode", "json", "--yes", "--provider", "scripted", "--model", &script];
    let mut child = sandbox.start(&mut sandbox.command(&[&fixed[..], &[&long("count the bees")]].concat()));
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    // The answer is complete; the run only waits for the summary.
    let end_event = lines.into_iter().find(|line| line.contains(r#""type":"agent_end""#));
    assert!(end_event.is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(sandbox.messages().last().unwrap().contains("Done."), "{:?}", sandbox.messages());
    assert!(compactions(&sandbox.log()).is_empty());
    let checked = verify(&sandbox.logs()[0]).unwrap();
    assert!(checked.findings.iter().all(|found| found.severity != Severity::Error), "{:?}", checked.findings);

    let script =
        sandbox.script(&[r#"{"text": "never"}"#, r#"{"text": "never"}"#, r#"{"text": "More."}"#, SUMMARY]);
    let fixed = ["-p", "-c", "--yes", "--provider", "scripted", "--model", &script];
    assert_eq!(sandbox.run(&[&fixed[..], &["go on"]].concat()).out, "More.\n");
    assert_eq!(compactions(&sandbox.log()).len(), 1, "it is made now");
}

#[test]
fn compaction_command_takes_instructions_and_draws_a_rule() {
    let sandbox = Sandbox::new().with_variable("TILLER_COMPACTION_KEEP_TOKENS", "20");
    let summary_answer = r#"{"when": "mind the queen", "text": "All about the queen."}"#;
    let lines = [r#"{"text": "word by word ", "repeat": 500}"#, r#"{"text": "Answer two."}"#, summary_answer];
    let mut terminal = sandbox.open_scripted(&lines, &[]);
    for (prompt, answer) in [("question one", "word by word"), ("question two", "Answer two.")] {
        terminal.wait_for("❯");
        terminal.send(prompt);
        terminal.key(TerminalKey::Enter);
        terminal.wait_for_answer(answer);
    }
    terminal.send("/compact mind the queen");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("compacted: 1.");
    terminal.wait_for("tokens, summary");
    terminal.wait_without("esc stops");
    terminal.send("/compact");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("nothing to compact");
    let log = sandbox.log();
    let summary = compactions(&log)[0]["summary"].as_str().unwrap();
    assert_eq!(summary, "<first-message>\nquestion one\n</first-message>\n\nAll about the queen.");
}

#[test]
fn branch_summary_by_demo_does_not_restart_the_tour() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open(&["--yes", "--provider", "demo"]);
    terminal.wait_for("❯");
    terminal.send("hello");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("list_files");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("esc stops");
    terminal.send("/tree");
    terminal.key(TerminalKey::Enter);
    // The completion has a selected row, too.
    terminal.wait_until("the tree", |screen| screen.contains("── tree") && screen.contains("▸"));
    terminal.key(TerminalKey::Home);
    terminal.wait_for("▸• ▌ hello");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_question("leave this branch");
    terminal.key(TerminalKey::Down);
    terminal.wait_for("▸ summarize it for the model");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("summary of the branch you left");
    let log = sandbox.log();
    let left = log.iter().find(|entry| entry["type"] == "branch_summary").unwrap();
    let summary = left["summary"].as_str().unwrap();
    assert!(summary.starts_with("## Goal"), "{summary}");
}

#[test]
fn branch_summary_takes_instructions() {
    let sandbox = Sandbox::new();
    let summary_answer = r#"{"when": "only the stings", "text": "It stings."}"#;
    let mut terminal = sandbox
        .open_scripted(&[r#"{"text": "Answer one."}"#, r#"{"text": "Answer two."}"#, summary_answer], &[]);
    for (prompt, answer) in [("question one", "Answer one."), ("question two", "Answer two.")] {
        terminal.wait_for("❯");
        terminal.send(prompt);
        terminal.key(TerminalKey::Enter);
        terminal.wait_for_answer(answer);
    }
    terminal.send("/tree");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("▸●   Answer two.");
    terminal.key(TerminalKey::Up);
    terminal.key(TerminalKey::Up);
    terminal.wait_for("▸•   Answer one.");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_question("leave this branch");
    terminal.key(TerminalKey::Down);
    terminal.key(TerminalKey::Down);
    terminal.wait_for("▸ summarize with instructions…");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("what should the branch summary focus on");
    terminal.send("only the stings");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("summary of the branch you left");
    terminal.wait_without("Answer two.");
    let log = sandbox.log();
    let left = log.iter().find(|entry| entry["type"] == "branch_summary").unwrap();
    assert_eq!(left["summary"], "It stings.");
}
