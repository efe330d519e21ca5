//! Mentioned files, and messages sent as files, in a terminal.

use std::fs;

use crate::sandbox::Sandbox;
use tiller_test_support::terminal::TerminalKey;

/// The text of the newest user message, and its typed form.
fn newest(sandbox: &Sandbox) -> (String, String) {
    let log = sandbox.log();
    let user = log.iter().rfind(|line| line["message"]["role"] == "user").unwrap();
    let text = user["message"]["content"][0]["text"].as_str().unwrap();
    (text.to_owned(), user["message"]["tillerTyped"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn attach_mentioned_file_is_sent() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.project().join("src")).unwrap();
    sandbox.write("src/lexer.rs", "fn lex() {}\nfn more() {}\n");
    sandbox.write("src/junk.o", "");
    sandbox.write(".gitignore", "*.o\n");
    fs::create_dir(sandbox.project().join(".git")).unwrap();
    let mut terminal = sandbox.open_scripted(&[r#"{"text": "Seen."}"#], &[]);
    terminal.wait_for("❯");
    terminal.send("see @src/lexer.rs:2 and @src/ please");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("@src/lexer.rs · 2 lines");
    terminal.wait_for("@src/ · 1 entry");
    terminal.wait_for("Seen.");
    let (text, stored_text) = newest(&sandbox);
    assert_eq!(stored_text, "see @src/lexer.rs:2 and @src/ please");
    let file = "<file path=\"src/lexer.rs\" lines=\"2\">\nfn lex() {}\nfn more() {}\n</file>";
    let dir = "<folder path=\"src/\" entries=\"1\">\nlexer.rs\n</folder>";
    assert_eq!(text, format!("{stored_text}\n\n{file}\n\n{dir}"));
}

#[test]
fn attach_long_message_becomes_a_file() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[r#"{"text": "Seen."}"#], &[]);
    terminal.wait_for("❯");
    let long: String = (0..30_000).map(|line| format!("line number {line:05}\n")).collect();
    terminal.send(&format!("\x1b[200~{long}\x1b[201~"));
    terminal.wait_for("[paste #1: 30000 lines]");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("attach it as a file");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Seen.");
    let (text, stored_text) = newest(&sandbox);
    assert_eq!(stored_text, "[paste #1: 30000 lines]");
    assert!(text.len() < 4_000 && text.contains("lines 1 to 20 of 30000 are shown"), "{text}");
    let path = text.split_once("<file path=\"").unwrap().1.split_once('"').unwrap().0;
    assert_eq!(fs::read_to_string(path).unwrap(), long);
    let call = serde_json::json!({"calls": [{"name": "read_file", "arguments": {"path": path, "offset": 20_001, "limit": 1}}]});
    let script = sandbox.script(&[&call.to_string(), r#"{"expect": "line number 20000", "text": "Read."}"#]);
    let output = sandbox.run(&["-p", "--provider", "scripted", "--model", &script, "go on"]);
    assert_eq!(output.out, "Read.\n", "{}", output.err);
}
