//! Navigation in the transcript: mouse, search, and resuming after a crash.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use crate::sandbox::Sandbox;
use tiller_test_support::terminal::{Terminal, TerminalKey};

const LONG: &str = r#"{"text": "Some **words** to copy.\n\n- one\n- two\n"}"#;

/// A mouse event as terminals encode it (SGR): columns and rows count from 1; `M` is a press, `m` a release.
fn mouse(terminal: &mut Terminal, button: u8, (column, row): (usize, usize), end: char) {
    terminal.send(&format!("\x1b[<{button};{};{}{end}", column + 1, row + 1));
}

fn row(terminal: &Terminal, text: &str) -> usize {
    terminal.screen().lines().position(|line| line.contains(text)).unwrap()
}

/// A log with this many prompts and answers.
pub(super) fn log(sandbox: &Sandbox, count: usize) -> String {
    let head = json!({"type": "session", "version": 3, "id": "01JD6X9QWERTYUIOPASDFGHJKL",
        "timestamp": "2026-11-21T14:02:00.000Z", "cwd": sandbox.project().canonicalize().unwrap()});
    let entry = |at: usize| {
        let message = match at % 2 {
            0 => json!({"role": "user", "content": format!("prompt {at}")}),
            _ => {
                json!({"role": "assistant", "content": [{"type": "text", "text": format!("the answer to {}", at - 1)}],
                "api": "x", "provider": "x", "model": "x", "stopReason": "stop", "timestamp": 0,
                "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}})
            }
        };
        let parent = at.checked_sub(1).map(|parent| format!("{parent:08x}"));
        json!({"type": "message", "id": format!("{at:08x}"), "parentId": parent,
            "timestamp": "2026-11-21T14:02:00.000Z", "message": message})
    };
    let lines: Vec<String> =
        std::iter::once(head).chain((0..count).map(entry)).map(|line| line.to_string()).collect();
    sandbox.write("long.jsonl", &(lines.join("\n") + "\n")).display().to_string()
}

#[test]
fn mouse_scrolls_and_selects() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[LONG], &["hello"]);
    terminal.wait_for_answer("• two");
    assert!(terminal.output().contains("\x1b[?1002h"), "mouse events are requested");
    let (first, last) = (row(&terminal, "Some words"), row(&terminal, "• two"));
    mouse(&mut terminal, 0, (2, first), 'M');
    mouse(&mut terminal, 32, (40, last), 'M');
    mouse(&mut terminal, 0, (40, last), 'm');
    terminal.wait_for(" 4 lines to the terminal");
    let text = BASE64_STANDARD.encode("Some words to copy.\n\n• one\n• two");
    assert!(terminal.output().contains(&format!("\x1b]52;c;{text}")), "the terminal has it");
    assert_eq!(terminal.quit().exit_code(), 0);
    assert!(terminal.output().contains("\x1b[?1002l"), "the mouse is given back");
}

#[test]
fn mouse_setting_off_leaves_it_to_terminal() {
    let sandbox = Sandbox::new().with_variable("TILLER_MOUSE", "off");
    let terminal = sandbox.open_scripted(&[LONG], &["hello"]);
    terminal.wait_for("• two");
    assert!(!terminal.output().contains("\x1b[?1002h"));
}

#[test]
fn search_in_transcript_and_esc_returns() {
    let sandbox = Sandbox::new();
    let log = log(&sandbox, 3_000);
    let mut terminal = sandbox.open_scripted(&[LONG], &["--session", &log]);
    terminal.wait_for("the answer to 2998");
    terminal.key(TerminalKey::Ctrl('f'));
    terminal.send("prompt 77");
    // Of 770, 772, 774, 776 and 778 the last is the nearest.
    terminal.wait_for("5 of 5 ");
    terminal.wait_for("▌ prompt 778");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("4 of 5 ");
    terminal.key(TerminalKey::Esc);
    terminal.wait_for("the answer to 2998");
    terminal.wait_without("▌ prompt 778");
}

#[test]
fn keys_jump_to_start_and_end() {
    let sandbox = Sandbox::new();
    let log = log(&sandbox, 3_000);
    let mut terminal = sandbox.open_scripted(&[LONG], &["--session", &log]);
    terminal.wait_for("the answer to 2998");
    terminal.key(TerminalKey::Home);
    terminal.wait_for("▌ prompt 0 ");
    terminal.wait_for("more below · end");
    mouse(&mut terminal, 65, (5, 5), 'M');
    terminal.wait_without("▌ prompt 0 ");
    terminal.key(TerminalKey::End);
    terminal.wait_for("the answer to 2998");
    terminal.send("\x1bp");
    terminal.wait_for("more below · end");
}

#[test]
fn keys_choose_and_fold_a_block() {
    let sandbox = Sandbox::new();
    let seq = r#"{"calls": [{"name": "bash", "arguments": {"command": "seq 100 130"}}]}"#;
    let mut terminal = sandbox.open_scripted(&[seq, r#"{"text": "Counted."}"#], &["count"]);
    terminal.wait_for_answer("Counted.");
    terminal.send("\x1bk");
    terminal.wait_for("▸ Counted.");
    terminal.key(TerminalKey::Up);
    terminal.wait_without("▸ Counted.");
    terminal.send(" ");
    terminal.wait_for("│ 115");
    terminal.send("c");
    terminal.wait_for(" 32 lines to the terminal");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("▸");
}

#[test]
fn prompt_cut_off_is_marked_and_restored() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[r#"{"delay_ms": 60000, "text": "never"}"#], &[]);
    terminal.wait_for("Type a request");
    terminal.send("are you there?");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("▌ are you there?");
    terminal.signal(nix::sys::signal::Signal::SIGKILL);
    terminal.wait();

    let mut terminal = sandbox.open_scripted(&[r#"{"text": "Yes."}"#], &["-c"]);
    terminal.wait_for("not answered: tiller stopped first");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("❯ are you there?");
    terminal.wait_without("not answered");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_answer("Yes.");
    let user: Vec<String> = sandbox.messages();
    assert_eq!(user.last().map(String::as_str), Some("assistant: Yes."));
}
