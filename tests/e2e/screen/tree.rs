//! The tree view and its keys.

use std::fs;

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::screen::prompting::{enter, prompt_and_wait};
use tiller_test_support::terminal::{Terminal, TerminalKey};

const TWO: [&str; 2] = [r#"{"text": "Answer one."}"#, r#"{"text": "Answer two."}"#];

/// Two prompts with their answers, and the tree above them.
fn tree(sandbox: &Sandbox) -> Terminal {
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    prompt_and_wait(&mut terminal, "question one", "Answer one.");
    prompt_and_wait(&mut terminal, "question two", "Answer two.");
    enter(&mut terminal, "/tree");
    terminal.wait_for("▸●   Answer two.");
    terminal
}

#[test]
fn tree_shows_entry_and_cycles_filter() {
    let sandbox = Sandbox::new();
    let mut terminal = tree(&sandbox);
    terminal.wait_for("you are here · enter");
    terminal.key(TerminalKey::Up);
    terminal.wait_for("enter: continue before it");
    terminal.key(TerminalKey::Ctrl('o'));
    terminal.wait_without("enter: continue before it");
    terminal.key(TerminalKey::Tab);
    terminal.wait_for("user messages · 2 of ");
    terminal.wait_without("Answer one.");
    terminal.key(TerminalKey::Tab);
    terminal.wait_for("no entries of this kind");
    terminal.key(TerminalKey::Tab);
    terminal.wait_for("tiller.run");
}

#[test]
fn tree_search_and_esc() {
    let sandbox = Sandbox::new();
    let mut terminal = tree(&sandbox);
    terminal.send("ONE");
    terminal.wait_for("2 found");
    terminal.wait_without("question two");
    terminal.key(TerminalKey::Esc);
    terminal.wait_for("question two");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("── tree");
}

#[test]
fn tree_label_and_fold() {
    let sandbox = Sandbox::new();
    let mut terminal = tree(&sandbox);
    terminal.key(TerminalKey::Ctrl('l'));
    terminal.wait_for("enter saves the label");
    terminal.send("good");
    terminal.wait_for("[good ]");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("[good]");
    terminal.key(TerminalKey::Home);
    terminal.key(TerminalKey::Left);
    terminal.wait_for("folded");
    terminal.wait_without("question two");
    terminal.key(TerminalKey::Right);
    terminal.wait_for("question two");
    terminal.key(TerminalKey::Tab);
    terminal.key(TerminalKey::Tab);
    terminal.wait_for("labeled · 1 of ");
    let labels = sandbox.log().into_iter().filter(|entry| entry["type"] == "label").collect::<Vec<Value>>();
    assert_eq!(labels.iter().map(|entry| &entry["label"]).collect::<Vec<_>>(), ["good"]);
}

/// A first answer, then a slow call.
fn during_run(sandbox: &Sandbox) -> Terminal {
    let call = r#"{"calls": [{"name": "bash", "arguments": {"command": "echo begun > begun; sleep 600"}}]}"#;
    let mut terminal = sandbox.open_scripted(&[TWO[0], call], &[]);
    prompt_and_wait(&mut terminal, "question one", "Answer one.");
    enter(&mut terminal, "question two");
    sandbox.wait_for_file("begun");
    enter(&mut terminal, "/tree");
    terminal.wait_for("→ bash");
    terminal.send("question two");
    terminal.wait_for("1 found");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("the agent is working");
    terminal
}

#[test]
fn tree_choice_during_run_asks_and_stops() {
    let sandbox = Sandbox::new();
    let mut terminal = during_run(&sandbox);
    terminal.key(TerminalKey::Down);
    terminal.wait_for("▸ stop it and go there");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_question("▸ no summary");
    terminal.key(TerminalKey::Enter);
    terminal.wait_without("── tree");
    terminal.wait_for("❯ question two");
    terminal.send("b");
    terminal.key(TerminalKey::Enter);
    // The script calls the same tool again here.
    terminal.wait_for("▌ question twob");
    terminal.wait_for("running bash");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("esc stops");
    let log = sandbox.log();
    let result = log.iter().find(|entry| entry["message"]["role"] == "toolResult").unwrap();
    let parent = |entry: &Value| log.iter().find(|candidate| candidate["id"] == entry["parentId"]).unwrap();
    // The approval's entry is between them.
    let approval = parent(result);
    assert_eq!(approval["customType"], "tiller.approval");
    let call = parent(approval);
    assert_eq!(call["message"]["content"][0]["type"], "toolCall");
    let prompt = log.iter().find(|entry| entry["id"] == call["parentId"]).unwrap();
    assert!(prompt["message"].to_string().contains(r#""question two""#), "{prompt}");
    let output = sandbox.run(&["sessions", "show", log[0]["id"].as_str().unwrap()]).out;
    assert!(output.contains("question twob") && !output.contains("question two\n"), "{output}");
}

#[test]
fn fork_during_run_keeps_the_run() {
    let sandbox = Sandbox::new();
    let mut terminal = during_run(&sandbox);
    terminal.key(TerminalKey::End);
    terminal.wait_for("▸ fork a new session there");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("forked into session");
    terminal.wait_for("esc stops");
    let logs = sandbox.logs();
    assert_eq!(logs.len(), 2);
    let fork =
        logs.iter().map(|path| fs::read_to_string(path).unwrap()).find(|log| log.contains("parentSession"));
    let fork = fork.unwrap();
    assert!(fork.contains("Answer one.") && !fork.contains("sleep 600"), "{fork}");
    assert!(fork.contains(r#""text":"question two""#) && fork.contains("tiller.queue"), "{fork}");
}
