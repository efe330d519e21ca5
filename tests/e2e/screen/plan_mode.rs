//! Plan mode.

use crate::sandbox::Sandbox;
use crate::screen::prompting::{enter, prompt_and_wait};
use tiller_test_support::terminal::TerminalKey;

#[test]
fn plan_is_presented_and_becomes_the_next_prompt() {
    let sandbox = Sandbox::new();
    let write = r#"{"calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "a"}}]}"#;
    let answers = [write, r#"{"text": "First comes a.txt."}"#, write, r#"{"text": "It is written."}"#];
    let mut terminal = sandbox.open_scripted(&answers, &[]);
    enter(&mut terminal, "/plan");
    terminal.wait_for("Plan mode: read-only.");
    prompt_and_wait(&mut terminal, "go", "First comes a.txt.");
    assert!(!sandbox.project().join("a.txt").exists());
    enter(&mut terminal, "/plan");
    terminal.wait_for("Carry out this plan:");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("It is written.");
    assert!(sandbox.project().join("a.txt").exists());
}
