//! "Always" in a terminal: the rule is edited, saved in a settings file, and decides later calls.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tiller_test_support::terminal::{Terminal, TerminalKey};

use crate::sandbox::Sandbox;

/// A command of the model, what it says after that, and the same with another file.
const ANSWERS: [&str; 4] = [
    r#"{"calls": [{"name": "bash", "arguments": {"command": "touch one"}}]}"#,
    r#"{"text": "One made."}"#,
    r#"{"calls": [{"name": "bash", "arguments": {"command": "touch two"}}]}"#,
    r#"{"text": "Two made."}"#,
];

/// A session whose first answer has a call that needs approval, with the form for its rule.
fn open_form(sandbox: &Sandbox, flags: &[&str]) -> Terminal {
    let script = sandbox.script(&ANSWERS);
    let fixed = ["--provider", "scripted", "--model", &script];
    let mut terminal = sandbox.open(&[&fixed, flags, &["go"]].concat());
    terminal.wait_for_question("? bash needs approval: runs a command");
    terminal.send("A");
    terminal.wait_for_question("▸ in your settings");
    assert!(terminal.screen().contains("bash ❯ touch one"), "{}", terminal.screen());
    terminal
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// `decision by rule` for each approval in the only log.
fn decisions(sandbox: &Sandbox) -> Vec<String> {
    let log = sandbox.log();
    let answers = log.iter().filter(|line| line["customType"] == "tiller.approval");
    let text = |line: &Value, key: &str| line["data"][key].as_str().unwrap_or_default().to_owned();
    answers
        .map(|line| ["decision", "by", "rule"].map(|key| text(line, key)).join(" ").trim().to_owned())
        .collect()
}

#[test]
fn saved_rule_holds_in_this_session_and_the_next() {
    let sandbox = Sandbox::new();
    let settings = sandbox.home().join("tiller/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, r#"{"sync": "never", "policy": {"rules": []}}"#).unwrap();
    let mut terminal = open_form(&sandbox, &[]);
    terminal.key(TerminalKey::Ctrl('w'));
    terminal.send("*");
    terminal.wait_for("bash ❯ touch *");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_answer("One made.");
    let rule = json!({"tool": "bash", "match": "touch *", "decision": "allow"});
    assert_eq!(read(&settings), json!({"sync": "never", "policy": {"rules": [rule]}}));
    terminal.send("again\r");
    terminal.wait_for_answer("Two made.");
    assert!(sandbox.project().join("two").exists());
    assert_eq!(decisions(&sandbox), ["once rule allow bash `touch *`"; 2]);
    terminal.send("/permissions\r");
    terminal.wait_for("allow bash `touch *`");
    terminal.key(TerminalKey::Ctrl('c'));
    terminal.wait_without("allow bash `touch *`");
    terminal.quit();

    let script = sandbox.script(&ANSWERS);
    let output = sandbox.run(&["-p", "--provider", "scripted", "--model", &script, "--no-session", "go"]);
    assert_eq!((output.code, output.out.as_str()), (Some(0), "One made.\n"), "{}", output.err);
}

#[test]
fn saved_rule_of_the_project_keeps_its_trust() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.project().join(".tiller")).unwrap();
    sandbox.write(".tiller/settings.json", r#"{"sync": "turn"}"#);
    let mut terminal = open_form(&sandbox, &["--trust-project"]);
    terminal.key(TerminalKey::Down);
    terminal.wait_for("▸ in the project's settings");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("One made.");
    let rule = json!({"tool": "bash", "match": "touch one", "decision": "allow"});
    let settings = sandbox.project().join(".tiller/settings.json");
    assert_eq!(read(&settings), json!({"sync": "turn", "policy": {"rules": [rule]}}));
    terminal.quit();

    let rules = sandbox.run(&["policy", "rules"]);
    assert!(rules.out.contains("allow bash `touch one`") && rules.err.is_empty(), "{rules:?}");
    let mut terminal = sandbox.open(&["--provider", "demo"]);
    terminal.wait_for("This is the demo model");
    terminal.send("/permissions\r");
    terminal.wait_for("project's settings");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("▸ keep it");
    terminal.key(TerminalKey::Down);
    terminal.wait_for("▸ remove it from ");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("removed: allow bash `touch one`");
    assert_eq!(read(&settings), json!({"sync": "turn", "policy": {"rules": []}}));
    assert!(sandbox.run(&["policy", "rules"]).err.is_empty(), "it is still trusted");
}

#[test]
fn saved_rule_of_the_user_ignores_a_changed_project() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.project().join(".tiller")).unwrap();
    let denied = json!({"policy": {"rules": [{"match": "touch two", "decision": "deny"}]}});
    sandbox.write(".tiller/settings.json", &denied.to_string());
    let mut terminal = open_form(&sandbox, &["--trust-project"]);
    sandbox.write(".tiller/settings.json", "{ // broken");
    terminal.key(TerminalKey::Ctrl('w'));
    terminal.send("*");
    terminal.wait_for("bash ❯ touch *");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("One made.");
    let rule = json!({"tool": "bash", "match": "touch *", "decision": "allow"});
    assert_eq!(read(&sandbox.home().join("tiller/settings.json")), json!({"policy": {"rules": [rule]}}));
    terminal.send("again\r");
    terminal.wait_for("Two made.");
    assert!(!sandbox.project().join("two").exists(), "the trusted rule still denies it");
    terminal.quit();
}

#[test]
fn saved_rule_in_an_unreadable_file_leaves_the_call_pending() {
    let sandbox = Sandbox::new();
    let mut terminal = open_form(&sandbox, &[]);
    let settings = sandbox.home().join("tiller/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "{ // mine").unwrap();
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("invalid JSON");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{ // mine");
    fs::remove_file(&settings).unwrap();
    fs::create_dir(&settings).unwrap();
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("can't access ");
    assert!(!sandbox.project().join("one").exists());
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("▸ in your settings");
    terminal.wait_for_question("? bash needs approval: runs a command");
    terminal.send("y");
    terminal.wait_for("One made.");
    assert_eq!(decisions(&sandbox), ["once user"]);
}
