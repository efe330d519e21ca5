//! Queued messages: edited, reordered, removed, and recorded in the log.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use tiller_test_support::terminal::{Terminal, TerminalKey};

const GATE: &str = r#"{"calls": [{"name": "bash", "arguments": {"command": "while [ ! -e gate ]; do sleep 0.02; done"}}, {"name": "bash", "arguments": {"command": "touch second"}}]}"#;

fn open_with_queue(sandbox: &Sandbox, answers: &[&str]) -> Terminal {
    let script: Vec<&str> = [GATE].into_iter().chain(answers.iter().copied()).collect();
    let terminal = sandbox.open_scripted(&script, &["do two things"]);
    terminal.wait_for("running bash");
    terminal
}

fn follow_up(terminal: &mut Terminal, text: &str) {
    terminal.send(text);
    terminal.key(TerminalKey::AltEnter);
    terminal.wait_for(&format!("↳ next    {text}"));
}

/// The operations on the queue, a line each.
fn changes(sandbox: &Sandbox) -> Vec<String> {
    let log = sandbox.log();
    let changes = log.iter().filter(|line| line["customType"] == "tiller.queue").map(|line| &line["data"]);
    let id = |name: &Value| {
        let added = log.iter().find(|line| line["data"]["queueId"] == *name && line["data"]["op"] == "add");
        added.unwrap()["data"]["text"].as_str().unwrap().to_owned()
    };
    let line = |change: &Value| {
        let mut words = vec![change["op"].as_str().unwrap().to_owned(), id(&change["queueId"])];
        if change["op"] == "edit" {
            words.push(format!("{}:", change["kind"].as_str().unwrap()));
            words.push(change["text"].as_str().unwrap().to_owned());
            words.extend(change["order"].as_u64().map(|order| format!("at {order}")));
        }
        words.join(" ")
    };
    changes.map(line).collect()
}

/// The receipts of delivered messages, without the times of queueing.
fn receipts(sandbox: &Sandbox) -> Vec<Value> {
    let receipts = sandbox.log().into_iter().filter(|line| line["tillerReceipt"].is_object());
    let receipt = |mut line: Value| {
        let at = line["tillerReceipt"].as_object_mut().unwrap().remove("queuedAt");
        assert!(at.is_some_and(|at| at.as_i64().is_some_and(|at| at > 0)));
        line["tillerReceipt"].take()
    };
    receipts.map(receipt).collect()
}

#[test]
fn queue_edit_survives_the_end_of_the_run() {
    let sandbox = Sandbox::new();
    let mut terminal = open_with_queue(
        &sandbox,
        &[r#"{"text": "Both done."}"#, r#"{"expect": "first, better", "text": "Better."}"#],
    );
    follow_up(&mut terminal, "first");
    terminal.key(TerminalKey::AltUp);
    terminal.wait_for("▸ ↳ next    first");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("❯ first");
    terminal.send(", bet");
    terminal.wait_for("❯ first, bet");
    sandbox.write("gate", "");
    terminal.wait_for("Both done.");
    terminal.wait_for("enter sends it");
    terminal.send("ter");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_answer("Better.");
    terminal.wait_without("↳ next");
    assert!(!terminal.screen().contains("is no longer queued"), "{}", terminal.screen());
    assert_eq!(changes(&sandbox), ["add first", "edit first followUp: first, better"]);
    assert_eq!(
        sandbox.messages()[4..],
        ["assistant: Both done.", "user: first, better", "assistant: Better."]
    );
}

/// The entries of the queue in the log.
const CHANGES: [&str; 9] = [
    "add first",
    "add second",
    "add third",
    "edit third followUp: third, better",
    "edit third followUp: third, better at 1",
    "remove second",
    "add second",
    "edit second followUp: second at 2",
    "edit third steer: third, better",
];

#[test]
fn queue_edits_are_logged() {
    let sandbox = Sandbox::new();
    let answers = [
        r#"{"expect": "third, better", "text": "Steered."}"#,
        r#"{"expect": "first", "text": "First."}"#,
        r#"{"expect": "second", "text": "Second."}"#,
    ];
    let mut terminal = open_with_queue(&sandbox, &answers);
    for text in ["first", "second", "third"] {
        follow_up(&mut terminal, text);
    }
    terminal.send("half a thought");
    terminal.wait_for("❯ half a thought");
    terminal.key(TerminalKey::AltUp);
    terminal.wait_for("▸ ↳ next    third");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("❯ third");
    terminal.send(", better");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("▸ ↳ next    third, better");
    terminal.wait_for("❯ half a thought");
    terminal.key(TerminalKey::ShiftUp);
    terminal
        .wait_until("the third before the second", |s| s.find("third, better") < s.find("next    second"));
    terminal.key(TerminalKey::Down);
    terminal.wait_for("▸ ↳ next    second");
    terminal.send("d");
    terminal.wait_for("Removed; u restores it.");
    terminal.wait_without("next    second");
    terminal.send("u");
    terminal.wait_for("↳ next    second");
    terminal.wait_for("▸ ↳ next    third, better");
    terminal.send("p");
    terminal.wait_for("▸ ↳ steer   third, better");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("▸");
    sandbox.write("gate", "");
    terminal.wait_for("Second.");
    terminal.wait_for("❯ half a thought");
    let screen = terminal.screen();
    assert!(
        screen.contains("▌ ↳ after 1 of 2 calls, 1 skipped · queued as a follow-up · edited"),
        "{screen}"
    );
    assert_eq!(changes(&sandbox), CHANGES);
    assert_eq!(
        receipts(&sandbox),
        [
            json!({"afterCalls": 1, "skippedCalls": 1, "queuedAs": "followUp", "edited": true}),
            json!({"kind": "followUp", "afterCalls": 0, "skippedCalls": 0}),
            json!({"kind": "followUp", "afterCalls": 0, "skippedCalls": 0}),
        ]
    );
}

#[test]
fn queue_edit_holds_message_and_cancel_restores() {
    let sandbox = Sandbox::new();
    let mut terminal = open_with_queue(&sandbox, &[r#"{"text": "Both done."}"#]);
    terminal.send("look there");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("↳ steer   look there");
    terminal.key(TerminalKey::AltUp);
    terminal.wait_for("▸ ↳ steer");
    terminal.send("e");
    terminal.wait_for("❯ look there");
    terminal.send(" or here");
    terminal.wait_for("❯ look there or here");
    sandbox.write("gate", "");
    terminal.wait_for("Both done.");
    terminal.wait_for("enter sends it");
    assert!(sandbox.project().join("second").exists(), "nothing was skipped");
    terminal.key(TerminalKey::Esc);
    terminal.wait_for("▸ ↳ held    look there · steers");
    assert!(
        !sandbox.messages().iter().any(|message| message.starts_with("user: look")),
        "{:?}",
        sandbox.messages()
    );
    assert_eq!(changes(&sandbox), ["add look there"]);
}

#[test]
fn steering_now_records_what_it_cut_off() {
    let sandbox = Sandbox::new();
    let endless = r#"{"text": "I could go on", "hang": true}"#;
    let mut terminal =
        sandbox.open_scripted(&[endless, r#"{"expect": "stop that", "text": "Stopped."}"#], &["talk"]);
    terminal.wait_for("I could go on");
    terminal.send("stop that");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("↳ steer   stop that · enter now");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Stopped.");
    terminal.wait_for("▌ ↳ cut the answer off");
    terminal.wait_without("esc stops");
    assert_eq!(receipts(&sandbox), [json!({"afterCalls": 0, "skippedCalls": 0, "cutOff": true})]);
    terminal.quit();
    let output = sandbox.run(&["sessions", "show", &sandbox.logs()[0].display().to_string()]).out;
    assert!(output.contains("> (steered: cut the answer off) stop that"), "{output}");
}
