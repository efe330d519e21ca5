//! The demo model, starting in an empty directory.

use serde_json::json;

use crate::sandbox::Sandbox;
use tiller_test_support::terminal::{Size, Terminal, TerminalKey};

/// The transcript without the durations of calls, which a log doesn't have.
fn transcript(terminal: &Terminal) -> Vec<String> {
    let screen = terminal.screen();
    let rule = "─".repeat(100);
    let output_lines = screen.lines().take_while(|line| *line != rule);
    output_lines.filter(|line| !line.is_empty()).map(without_duration).collect()
}

fn without_duration(line: &str) -> String {
    let is_duration = |word: &str| word.strip_suffix('s').is_some_and(|count| count.parse::<f64>().is_ok());
    let cut = line.rsplit_once(' ').filter(|(_, last)| is_duration(last));
    cut.map_or(line, |(rest, _)| rest).trim_end().to_owned()
}

#[test]
fn tour_of_a_new_user() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_in(Size(100, 90), &[]);
    terminal.wait_for("This is the demo model");
    terminal.send("hello");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("✓ list_files");
    terminal.wait_for_question("? bash needs approval:");
    terminal.send("a");
    terminal.wait_for("running bash");
    terminal.send("look at the tests first");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("↳ steer   look at the tests first");
    terminal.wait_until("two skipped calls", |s| s.matches("skipped: the user steered").count() == 2);
    terminal.wait_for_answer("for the next part.");

    let log = sandbox.log();
    let results: Vec<String> =
        sandbox.messages().into_iter().filter(|message| message.starts_with("toolResult")).collect();
    assert_eq!(results.len(), 4, "{results:?}");
    assert_eq!(results[2..], ["toolResult: skipped: the user steered"; 2]);
    let steered = log.iter().find(|line| !line["tillerReceipt"].is_null()).unwrap();
    let receipt = &steered["tillerReceipt"];
    assert_eq!([&receipt["afterCalls"], &receipt["skippedCalls"]], [&json!(1), &json!(2)]);
    assert_eq!(steered["message"]["content"][0]["text"], "look at the tests first");

    terminal.send("go on");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("2 · Follow-ups.");
    terminal.send("what comes next?");
    terminal.key(TerminalKey::AltEnter);
    terminal.wait_for("↳ next    what comes next?");
    // It streams for half a minute, which is longer than one wait.
    terminal.wait_for("1. Steering skips");
    terminal.wait_for("4. My partial answer");
    terminal.wait_for("3 · The tree and the shell. Your message, “what comes next?”");
    terminal.wait_for_answer("To connect a real model:");
    let before = transcript(&terminal);
    assert_eq!(terminal.quit().exit_code(), 0);

    let mut terminal = sandbox.open_in(Size(100, 90), &["-c"]);
    terminal.wait_for("To connect a real model:");
    assert_eq!(transcript(&terminal), before);
    assert_eq!(terminal.quit().exit_code(), 0);
}
