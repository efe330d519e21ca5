//! What the journeys on the screen have in common: a line is typed and sent, and what comes of it is waited for.

use tiller_test_support::terminal::{Key, Terminal};

/// Types a line into the editor and sends it.
pub(super) fn enter(terminal: &mut Terminal, line: &str) {
    terminal.wait_for("❯");
    terminal.send(line);
    // A command for the shell shows by the sign before it.
    let sign = if line.starts_with('!') { "!" } else { "❯" };
    terminal.wait_for(&format!("{sign} {line}"));
    terminal.key(Key::Enter);
}

/// Says something and waits until it is answered.
pub(super) fn say(terminal: &mut Terminal, prompt: &str, answer: &str) {
    enter(terminal, prompt);
    terminal.wait_for(answer);
    terminal.wait_without("esc stops");
}

/// Leaves.
pub(super) fn quit(mut terminal: Terminal) {
    enter(&mut terminal, "/quit");
    assert_eq!(terminal.wait().exit_code(), 0);
}
