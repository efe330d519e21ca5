//! Approvals in a terminal: their display, their answers, and their entries in the log.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::sandbox::Sandbox;
use tiller_test_support::terminal::{Terminal, TerminalKey};

const CALL: &str = r#"{"calls": [{"name": "bash", "arguments": {"command": "touch made", "timeout": 60}}]}"#;

/// Asks for approval of every call.
const GUARD: &str = r#"#!/bin/bash
read -r hello
echo '{"type": "ready", "protocol": 1, "hooks": ["tool_call"]}'
while read -r line; do
  [[ $line =~ \"id\":([0-9]+),\"hook\":\"([a-z_]+)\" ]] || continue
  echo "{\"type\": \"answer\", \"id\": ${BASH_REMATCH[1]}, \"result\": {\"verdict\": \"ask\", \"reason\": \"sure?\"}}"
done
"#;

/// A session whose first answer has a call that needs approval.
fn ask(sandbox: &Sandbox, answers: &[&str]) -> Terminal {
    let script = sandbox.script(answers);
    let terminal = sandbox.open(&["--provider", "scripted", "--model", &script, "go"]);
    terminal.wait_for_question(" needs approval: ");
    terminal
}

/// The decisions in the log.
fn decisions(sandbox: &Sandbox) -> Vec<Value> {
    let log = sandbox.log();
    let answers = log.iter().filter(|line| line["customType"] == "tiller.approval");
    answers.map(|line| line["data"]["decision"].clone()).collect()
}

#[test]
fn approval_denial_text_reaches_the_model() {
    let sandbox = Sandbox::new();
    let after =
        r#"{"expect": "denied: the user rejected it: use the other one", "text": "The other one, then."}"#;
    let mut terminal = ask(&sandbox, &[CALL, after]);
    let screen = terminal.screen();
    assert!(screen.contains("│ touch made") && screen.contains("timeout 1m 00s"), "{screen}");
    assert!(screen.contains("? bash       touch made"), "{screen}");
    terminal.send("d");
    terminal.wait_for("type a reason for the model");
    terminal.send("use the other one");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("The other one, then.");
    terminal.wait_without(" needs approval: ");
    assert!(!sandbox.project().join("made").exists());
    assert_eq!(decisions(&sandbox), ["deny"]);
}

#[test]
fn approval_of_edit_shows_its_diff() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\ntwo\nthree\n");
    let guard = sandbox.home().join("tiller/extensions/guard.sh");
    fs::create_dir_all(guard.parent().unwrap()).unwrap();
    fs::write(&guard, GUARD).unwrap();
    fs::set_permissions(&guard, fs::Permissions::from_mode(0o755)).unwrap();
    let call = r#"{"calls": [{"name": "edit_file", "arguments": {"path": "a.txt", "old_text": "two", "new_text": "zwei"}}]}"#;
    let mut terminal = ask(&sandbox, &[call, r#"{"text": "Edited."}"#]);
    let screen = terminal.screen();
    assert!(screen.contains("? edit_file needs approval: sure? (extension guard)"), "{screen}");
    assert!(screen.contains("│ a.txt  +1 −1") && screen.contains("- two"), "{screen}");
    assert!(screen.contains("+ zwei") && screen.contains("[y] once · [n] deny"), "{screen}");
    assert_eq!(fs::read_to_string(sandbox.project().join("a.txt")).unwrap(), "one\ntwo\nthree\n");
    terminal.send("y");
    terminal.wait_for("Edited.");
    assert_eq!(fs::read_to_string(sandbox.project().join("a.txt")).unwrap(), "one\nzwei\nthree\n");
    assert_eq!(decisions(&sandbox), ["once"]);
}

#[test]
fn approval_enter_alone_allows_nothing() {
    let sandbox = Sandbox::new();
    let mut terminal = ask(&sandbox, &[CALL, r#"{"text": "Made."}"#]);
    terminal.key(TerminalKey::Enter);
    terminal.key(TerminalKey::Right);
    terminal.wait_for("▸ [y] once");
    assert!(!sandbox.project().join("made").exists(), "enter alone allowed it");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Made.");
    assert!(sandbox.project().join("made").exists());
    assert_eq!(decisions(&sandbox), ["once"]);
}

#[test]
fn approval_several_calls_in_order() {
    let sandbox = Sandbox::new();
    let calls = r#"{"calls": [
        {"name": "bash", "arguments": {"command": "touch one"}},
        {"name": "write_file", "arguments": {"path": ".git/hooks/pre-commit", "content": "two"}},
        {"name": "bash", "arguments": {"command": "touch three"}}]}"#;
    let mut terminal = ask(&sandbox, &[&calls.replace('\n', ""), r#"{"text": "All made."}"#]);
    assert!(terminal.screen().contains("runs a command  1 of 3"), "{}", terminal.screen());
    terminal.send("y");
    terminal.wait_for_question("where git may run files  1 of 2");
    terminal.send("d");
    terminal.wait_for("type a reason for the model");
    terminal.send("not there");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_question("│ touch three");
    terminal.send("y");
    terminal.wait_for("All made.");
    assert!(sandbox.project().join("three").exists() && !sandbox.project().join(".git/hooks").exists());
    assert_eq!(decisions(&sandbox), ["once", "deny", "once"]);
}

#[test]
fn approval_text_typed_before_is_a_message() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[CALL, r#"{"expect": "yes, but slowly", "text": "Slowly."}"#]);
    let mut terminal = sandbox.open(&["--provider", "scripted", "--model", &script, "go"]);
    terminal.wait_for(" needs approval: ");
    terminal.send("yes, but slowly");
    terminal.wait_for("❯ yes, but slowly");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Slowly.");
    terminal.wait_without(" needs approval: ");
    assert!(!sandbox.project().join("made").exists());
    let messages = sandbox.messages();
    assert!(messages.contains(&"toolResult: skipped: the user steered".to_owned()), "{messages:?}");
}
