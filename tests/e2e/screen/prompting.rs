//! Shared steps of the TUI tests: typing a line, sending it and waiting for the result.

use tiller_test_support::terminal::{Terminal, TerminalKey};

/// Types a line into the editor and sends it.
pub(super) fn enter(terminal: &mut Terminal, line: &str) {
    terminal.wait_for("❯");
    terminal.send(line);
    // A shell command is shown after its mark.
    let mark = if line.starts_with('!') { "!" } else { "❯" };
    terminal.wait_for(&format!("{mark} {line}"));
    terminal.key(TerminalKey::Enter);
}

/// Sends a prompt and waits for the answer.
pub(super) fn prompt_and_wait(terminal: &mut Terminal, prompt: &str, answer: &str) {
    enter(terminal, prompt);
    terminal.wait_for_answer(answer);
}

/// Quits.
pub(super) fn quit(mut terminal: Terminal) {
    enter(&mut terminal, "/quit");
    assert_eq!(terminal.wait().exit_code(), 0);
}
