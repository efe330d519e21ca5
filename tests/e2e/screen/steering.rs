//! Messages during a run: steering, follow-ups, stopping.

use serde_json::json;

use crate::sandbox::Sandbox;
use tiller_test_support::terminal::{Terminal, TerminalKey};

/// A command that runs until the test releases it.
const GATE: &str = r#"{"calls": [
    {"name": "bash", "arguments": {"command": "while [ ! -e gate ]; do sleep 0.02; done; echo gone through"}},
    {"name": "bash", "arguments": {"command": "touch second"}},
    {"name": "bash", "arguments": {"command": "touch third"}}]}"#;

const ENDLESS: &str = r#"{"text": "I could go on", "hang": true}"#;

fn gate() -> String {
    GATE.replace('\n', " ")
}

fn ask(terminal: &mut Terminal, prompt: &str) {
    terminal.wait_for("Type a request");
    terminal.send(prompt);
    terminal.key(TerminalKey::Enter);
}

#[test]
fn steering_skips_calls_not_begun() {
    let sandbox = Sandbox::new();
    let answer = r#"{"expect": "look at the fixture", "text": "Looking there."}"#;
    let mut terminal = sandbox.open_scripted(&[&gate(), answer], &[]);
    ask(&mut terminal, "do three things");
    terminal.wait_for("running bash");
    terminal.send("look at the fixture");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("↳ steer   look at the fixture");
    sandbox.write("gate", "");
    terminal.wait_for_answer("Looking there.");
    terminal.wait_without("↳ steer");
    let screen = terminal.screen();
    assert_eq!(screen.matches("skipped: the user steered").count(), 2, "{screen}");
    assert!(screen.contains("gone through"), "{screen}");

    assert!(!sandbox.project().join("second").exists() && !sandbox.project().join("third").exists());
    let messages = sandbox.messages();
    assert!(messages[2].starts_with("toolResult: gone through"), "{messages:?}");
    assert_eq!(
        messages[3..],
        [
            "toolResult: skipped: the user steered",
            "toolResult: skipped: the user steered",
            "user: look at the fixture",
            "assistant: Looking there.",
        ]
    );
    let log = sandbox.log();
    let steered = log.iter().find(|line| !line["tillerReceipt"].is_null()).unwrap();
    let receipt = &steered["tillerReceipt"];
    assert_eq!([&receipt["afterCalls"], &receipt["skippedCalls"]], [&json!(1), &json!(2)]);
    assert!(receipt["queuedAt"].as_i64().is_some_and(|at| at > 0), "{receipt}");
    assert!(terminal.screen().contains("▌ ↳ after 1 of 3 calls, 2 skipped"), "{}", terminal.screen());
    let added = log.iter().find(|line| line["data"]["queueId"].is_string());
    assert_eq!(
        added.unwrap()["data"]["queueId"],
        steered["tillerQueueId"],
        "it was kept before it was delivered"
    );
}

#[test]
fn follow_up_is_sent_after_the_run() {
    let sandbox = Sandbox::new();
    let answers = [r#"{"text": "All three done."}"#, r#"{"expect": "run the suite", "text": "Suite ran."}"#];
    let mut terminal = sandbox.open_scripted(&[&gate(), answers[0], answers[1]], &[]);
    ask(&mut terminal, "do three things");
    terminal.wait_for("running bash");
    terminal.send("then run the suite");
    terminal.key(TerminalKey::AltEnter);
    terminal.wait_for("↳ next    then run the suite");
    sandbox.write("gate", "");
    terminal.wait_for_answer("Suite ran.");
    terminal.wait_without("↳ next");
    assert!(sandbox.project().join("third").exists());
    assert_eq!(
        sandbox.messages()[5..],
        ["assistant: All three done.", "user: then run the suite", "assistant: Suite ran."]
    );
}

#[test]
fn stop_keeps_text_and_returns_the_queue() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[ENDLESS], &[]);
    ask(&mut terminal, "talk");
    terminal.wait_for("I could go on");
    terminal.send("first thought");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("↳ steer   first thought");
    terminal.send("second thought");
    terminal.key(TerminalKey::AltEnter);
    terminal.wait_for("↳ next    second thought");
    terminal.send("half a th");
    terminal.wait_for("❯ half a th");
    terminal.key(TerminalKey::Esc);
    terminal.wait_for("❯ first thought");
    terminal.wait_without("↳");
    terminal.wait_without("esc stops");
    let screen = terminal.screen();
    assert!(screen.contains("stopped") && screen.contains("I could go on"), "{screen}");
    assert!(screen.contains("second thought") && screen.contains("half a th"), "{screen}");
    let log = sandbox.log();
    let answer = log.iter().find(|line| line["message"]["role"] == "assistant").unwrap();
    assert_eq!(answer["message"]["stopReason"], "aborted");
    assert_eq!(sandbox.messages(), ["user: talk", "assistant: I could go on"]);

    terminal.key(TerminalKey::Ctrl('c'));
    terminal.wait_without("first thought");
    terminal.key(TerminalKey::Ctrl('c'));
    terminal.wait_for("Press ctrl+c again to quit.");
    terminal.key(TerminalKey::Ctrl('c'));
    assert_eq!(terminal.wait().exit_code(), 0);
}

#[test]
fn stop_keeps_command_output() {
    let printing = r#"{"calls": [{"name": "bash", "arguments": {"command": "seq 300; echo the end so far; sleep 600"}}]}"#;
    let steered = r#"{"expect": "do less", "text": "Less then."}"#;
    for (word, reason) in [(None, "the user stopped it"), (Some("do less"), "the user steered")] {
        let sandbox = Sandbox::new();
        let mut terminal = sandbox.open_scripted(&[printing, steered], &[]);
        ask(&mut terminal, "count");
        // The command contains the text, too.
        terminal.wait_for("│ the end so far");
        match word {
            None => terminal.key(TerminalKey::Esc),
            Some(word) => {
                terminal.send(word);
                terminal.key(TerminalKey::Enter);
                terminal.wait_for("↳ steer");
                terminal.key(TerminalKey::Enter);
                terminal.wait_for("Less then.");
            }
        }
        terminal.wait_for("aborted: ");
        terminal.wait_without("esc stops");
        let screen = terminal.screen();
        assert!(screen.contains("│ the end so far") && screen.contains("│ 1\n"), "{screen}");
        let log = sandbox.log();
        let result = log.iter().find(|line| line["message"]["role"] == "toolResult").unwrap();
        let texts = &result["message"]["content"];
        assert_eq!(texts[0]["text"], format!("aborted: {reason}; it may have had effects"));
        let printed: String = (1..=300).map(|n| format!("{n}\n")).collect();
        assert_eq!(texts[1]["text"], printed + "the end so far\n");
        assert_eq!(result["message"]["isError"], true);
    }
}

#[test]
fn queue_is_held_after_a_kill() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[ENDLESS], &[]);
    ask(&mut terminal, "talk");
    terminal.wait_for("I could go on");
    terminal.send("and then this");
    terminal.key(TerminalKey::AltEnter);
    terminal.wait_for("↳ next    and then this");
    terminal.signal(nix::sys::signal::Signal::SIGKILL);
    terminal.wait();

    let mut terminal =
        sandbox.open_scripted(&[r#"{"expect": "and then this", "text": "Now then."}"#], &["-c"]);
    terminal.wait_for("↳ held    and then this · alt+up edit or release");
    assert_eq!(sandbox.messages(), ["user: talk"], "nothing was sent by itself");
    terminal.key(TerminalKey::AltUp);
    terminal.wait_for("▸ ↳ held    and then this");
    terminal.send("r");
    terminal.wait_for("Now then.");
    terminal.wait_without("↳ held    ");
    terminal.wait_for("▌ ↳ held, then released");
    let log = sandbox.log();
    let receipt = log.iter().find(|line| !line["tillerReceipt"].is_null()).unwrap()["tillerReceipt"].clone();
    assert_eq!([&receipt["kind"], &receipt["released"]], [&json!("followUp"), &json!(true)]);
}
