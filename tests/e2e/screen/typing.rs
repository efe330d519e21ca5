//! Typing and resizing while an answer streams.

use crate::sandbox::Sandbox;
use tiller_test_support::terminal::{Size, TerminalKey};

#[test]
fn typing_is_shown_during_fast_stream() {
    let sandbox = Sandbox::new();
    let answer = r#"{"text": "word and **more**\n\n", "repeat": 500000, "hang": true}"#;
    let mut terminal = sandbox.open_scripted(&[answer], &["go"]);
    terminal.wait_for("word and more");
    terminal.send("typed meanwhile");
    terminal.wait_for("❯ typed meanwhile");
    terminal.send(", and more");
    terminal.wait_for("❯ typed meanwhile, and more");
    terminal.wait_for("esc stops");
}

#[test]
fn typing_every_size_during_stream() {
    let sandbox = Sandbox::new();
    let answer = r#"{"text": "One **word** and `another`, then a line.\n", "repeat": 5000, "delay_ms": 1, "hang": true}"#;
    let mut terminal = sandbox.open_scripted(&[answer], &["go"]);
    terminal.wait_for("One word and another");
    for size in [Size(20, 5), Size(1, 1), Size(200, 60), Size(20, 5), Size(100, 40)] {
        terminal.resize(size);
        let Size(columns, _) = size;
        if columns >= 20 {
            terminal.wait_until("the editor at its size", |screen| {
                let rule = screen.lines().any(|line| line == "─".repeat(columns.into()));
                screen.contains("❯") && rule
            });
        }
    }
    terminal.wait_for("One word and another, then a line.");
    terminal.wait_for("esc stops");
    terminal.key(TerminalKey::Esc);
    terminal.wait_for("stopped");
    terminal.wait_without("esc stops");
    let screen = terminal.screen();
    let rule = "─".repeat(100);
    assert_eq!(screen.lines().filter(|line| *line == rule).count(), 2, "{screen}");
    assert_eq!(screen.matches('❯').count(), 1, "{screen}");
    assert_eq!(terminal.quit().exit_code(), 0);
}

#[test]
fn typing_fast_resizing() {
    let sandbox = Sandbox::new();
    let answer = r#"{"text": "One **word** and `another`, then a line.\n", "repeat": 5000, "delay_ms": 1, "hang": true}"#;
    let mut terminal = sandbox.open_scripted(&[answer], &["go"]);
    terminal.wait_for("One word and another");
    for step in 0..2_000 {
        terminal.resize(if step % 2 == 0 { Size(200, 60) } else { Size(20, 5) });
    }
    terminal.resize(Size(100, 40));
    let rule = "─".repeat(100);
    terminal.wait_until("the editor at its size", |screen| screen.lines().any(|line| line == rule));
    terminal.wait_for("esc stops");
}
