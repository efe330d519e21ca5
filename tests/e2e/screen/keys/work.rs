//! Keys that send messages, and global keys, idle and running.

use super::walk::Check::{Cursor, Has, Lacks};
use super::walk::Step::{Run, Type, Wait, WaitForQuestion};
use super::walk::{KeySequence, Step, press};
use super::{open_idle, open_idle_with_clipboard, open_running, open_running_with_clipboard};
use crate::sandbox::Sandbox;
use tiller_test_support::terminal::Terminal;

/// Keys with the same effect idle and running. A short flash is replaced by another one in between.
const ANYWHERE: &[Step] = &[
    press("pick_model", "ctrl+l", &[Has("── models"), Has("▸ ")]),
    press("model_and_thinking", "shift+tab", &[Has("── thinking")]),
    press("back", "esc", &[Lacks("── thinking")]),
    press("next_model", "ctrl+p", &[Has("No other model is available.")]),
    press("next_thinking", "shift+tab", &[Has("doesn't support thinking")]),
    press("next_approval", "alt+a", &[Has("Approval: ")]),
    press("previous_model", "ctrl+shift+p", &[Has("No other model is available.")]),
    press("paste_image", "ctrl+v", &[Has("No clipboard available")]),
    press("search_history", "ctrl+r", &[Has("── earlier prompts")]),
    press("close", "ctrl+c", &[Lacks("── earlier prompts")]),
    press("help", "?", &[Has("Describe a task.")]),
    press("accept", "enter", &[Lacks("Describe a task.")]),
    Type("half a thought"),
    Wait(Has("❯ half a thought")),
    press("newline", "shift+enter", &[Cursor(1, 3)]),
    press("newline", "ctrl+j", &[Cursor(2, 3)]),
    press("clear", "ctrl+c", &[Has("Cleared; alt+u restores it."), Lacks("❯ half a thought")]),
];

pub(super) const IDLE: KeySequence = KeySequence { name: "at rest", open: open_idle, steps: ANYWHERE };
pub(super) const RUNNING: KeySequence = KeySequence { name: "at work", open: open_running, steps: ANYWHERE };

/// The same keys with another model. The footer is checked.
const CHOOSING: &[Step] = &[
    press(
        "next_model",
        "ctrl+p",
        &[Has(" claude-sonnet-5-5  "), Has("claude-sonnet-5-5, starting with the next request.")],
    ),
    press("next_thinking", "shift+tab", &[Has("claude-sonnet-5-5 · minimal  "), Has("Thinking: minimal.")]),
    press("next_thinking", "shift+tab", &[Has("claude-sonnet-5-5 · low  "), Has("Thinking: low.")]),
    press("previous_model", "ctrl+shift+p", &[Lacks("claude-sonnet-5-5 · low")]),
    press("next_model", "ctrl+p", &[Has("claude-sonnet-5-5 · low  ")]),
    Type("see "),
    Wait(Has("❯ see")),
    press("paste_image", "ctrl+v", &[Has("❯ see [image #1: 1×1]")]),
];

pub(super) const CHOICES_IDLE: KeySequence =
    KeySequence { name: "choosing at rest", open: open_idle_with_clipboard, steps: CHOOSING };
pub(super) const CHOICES_RUNNING: KeySequence =
    KeySequence { name: "choosing at work", open: open_running_with_clipboard, steps: CHOOSING };

fn open_with_command(sandbox: &Sandbox) -> Terminal {
    let call = r#"{"calls": [{"name": "bash", "arguments": {"command": "echo begun; sleep 600"}}]}"#;
    let terminal = sandbox.open_scripted(&[call, r#"{"text": "It goes on."}"#], &["go"]);
    terminal.wait_for("│ begun");
    terminal
}

/// A running command is moved to the background from the empty editor; in a draft the key moves the cursor.
pub(super) const BACKGROUND: KeySequence = KeySequence {
    name: "moving a command to the background",
    open: open_with_command,
    steps: &[
        Type("ab"),
        Wait(Has("❯ ab")),
        press("cursor_left", "ctrl+b", &[Cursor(0, 4), Lacks("It goes on.")]),
        press("clear", "ctrl+c", &[Lacks("❯ ab")]),
        press("move_to_background", "ctrl+b", &[Has("It goes on."), Has("1 job")]),
    ],
};

fn answers(sandbox: &Sandbox) -> Terminal {
    let answer = |n: u8| format!(r#"{{"text": "Answer {n}."}}"#);
    let lines: Vec<String> = (1..=4).map(answer).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let terminal = sandbox.open_scripted(&lines, &[]);
    terminal.wait_for("Type a request");
    terminal
}

/// Idle, every sending key sends. In the end it quits.
pub(super) const SENDS: KeySequence = KeySequence {
    name: "sending at rest",
    open: answers,
    steps: &[
        Type("one"),
        Wait(Has("❯ one")),
        press("send", "enter", &[Has("▌ one"), Has("Answer 1."), Lacks("esc stops")]),
        Type("two"),
        Wait(Has("❯ two")),
        press("follow_up", "alt+enter", &[Has("▌ two"), Has("Answer 2."), Lacks("esc stops")]),
        Type("three"),
        Wait(Has("❯ three")),
        press("follow_up", "ctrl+q", &[Has("▌ three"), Has("Answer 3."), Lacks("esc stops")]),
        Type("four"),
        Wait(Has("❯ four")),
        press("steer_now", "ctrl+enter", &[Has("▌ four"), Has("Answer 4."), Lacks("esc stops")]),
        // The first of two presses: alone it does nothing.
        Type("\x1b[27u"),
        press("stop", "esc", &[Has("── tree")]),
        press("close", "ctrl+c", &[Lacks("── tree")]),
    ],
};

/// Answers that continue until they are stopped.
fn endless(sandbox: &Sandbox) -> Terminal {
    let endless = |n: u8| format!(r#"{{"text": "I could go on {n}", "hang": true}}"#);
    let lines: Vec<String> = (1..=3).map(endless).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let terminal = sandbox.open_scripted(&lines, &["talk"]);
    terminal.wait_for("I could go on 1");
    terminal.wait_for("esc stops");
    terminal
}

pub(super) const STEERS: KeySequence = KeySequence {
    name: "speaking at work",
    open: endless,
    steps: &[
        Type("gently"),
        Wait(Has("❯ gently")),
        press("send", "enter", &[Has("↳ steer   gently"), Lacks("❯ gently")]),
        press("send", "enter", &[Has("▌ gently"), Has("I could go on 2"), Lacks("↳ steer")]),
        Type("at once"),
        Wait(Has("❯ at once")),
        press("steer_now", "ctrl+enter", &[Has("▌ at once"), Has("I could go on 3")]),
        Type("later"),
        Wait(Has("❯ later")),
        press("follow_up", "alt+enter", &[Has("↳ next    later")]),
        Type("later still"),
        Wait(Has("❯ later still")),
        press("follow_up", "ctrl+q", &[Has("↳ next    later still")]),
        press("stop", "esc", &[Has("❯ later"), Lacks("↳ next"), Lacks("esc stops")]),
    ],
};

fn open_gate(sandbox: &Sandbox) {
    sandbox.write("gate", "");
}

/// A slow call, and a failure after it, after which nothing is delivered automatically.
fn queue(sandbox: &Sandbox) -> Terminal {
    let gate = r#"{"calls": [{"name": "bash", "arguments": {"command": "while [ ! -e gate ]; do sleep 0.02; done"}}]}"#;
    let failing_answer =
        r#"{"text": "Released.", "error": {"failure": "auth", "message": "no key", "times": 1}}"#;
    let mut terminal = sandbox.open_scripted(&[gate, failing_answer, r#"{"text": "Done."}"#], &["go"]);
    terminal.wait_for("running bash");
    for text in ["first", "second", "third"] {
        terminal.send(text);
        terminal.wait_for(&format!("❯ {text}"));
        terminal.key(tiller_test_support::terminal::TerminalKey::AltEnter);
        terminal.wait_for(&format!("↳ next    {text}"));
    }
    terminal
}

pub(super) const QUEUE: KeySequence = KeySequence {
    name: "the messages that wait",
    open: queue,
    steps: &[
        press("edit_queue", "alt+up", &[Has("▸ ↳ next    third")]),
        press("queue_up", "up", &[Has("▸ ↳ next    second")]),
        press("queue_up", "k", &[Has("▸ ↳ next    first")]),
        press("queue_down", "down", &[Has("▸ ↳ next    second")]),
        press("queue_down", "j", &[Has("▸ ↳ next    third")]),
        press("queue_earlier", "shift+up", &[Has("▸ ↳ next    third\n  ↳ next    second")]),
        press("queue_earlier", "alt+up", &[Has("▸ ↳ next    third\n  ↳ next    first")]),
        press("queue_later", "shift+down", &[Has("first\n▸ ↳ next    third")]),
        press("queue_later", "alt+down", &[Has("second\n▸ ↳ next    third")]),
        press("queue_switch", "p", &[Has("▸ ↳ steer   third")]),
        Type("p"),
        Wait(Has("▸ ↳ next    third")),
        press("queue_remove", "d", &[Lacks("↳ next    third")]),
        press("queue_undo", "u", &[Has("↳ next    third")]),
        Type("j"),
        Wait(Has("▸ ↳ next    third")),
        press("queue_remove", "backspace", &[Lacks("↳ next    third")]),
        Type("u"),
        Wait(Has("↳ next    third")),
        Type("j"),
        Wait(Has("▸ ↳ next    third")),
        press("queue_remove", "delete", &[Lacks("↳ next    third")]),
        press("queue_edit", "enter", &[Has("❯ second")]),
        Type(" thoughts\r"),
        Wait(Has("▸ ↳ next    second thoughts")),
        press("queue_edit", "e", &[Has("❯ second thoughts")]),
        Type("\x1b"),
        Wait(Lacks("❯ second thoughts")),
        press("queue_back", "esc", &[Lacks("▸")]),
        Type("\x1b[1;3A"),
        Wait(Has("▸ ↳")),
        press("queue_back", "ctrl+c", &[Lacks("▸")]),
        Run(open_gate),
        Wait(Has("no key")),
        Wait(Has("↳ held    first")),
        Type("\x1b[1;3A"),
        Wait(Has("▸ ↳ held    second thoughts")),
        press("queue_release", "r", &[Has("▌ second thoughts"), Lacks("↳ held    second")]),
        Wait(Lacks("esc stops")),
        Type("\x1b[1;3A"),
        Wait(Has("▸ ↳ held    first")),
        press("queue_clear", "D", &[Lacks("↳ held    first")]),
    ],
};

/// Calls that need approval: the first one is longer than its panel.
fn open_with_request(sandbox: &Sandbox) -> Terminal {
    let long_lines: Vec<String> = (1..=60).map(|n| format!("echo line {n}")).collect();
    let long_lines = format!("{}\\ntouch a", long_lines.join("\\n"));
    let call = |command: &str| {
        format!(r#"{{"calls": [{{"name": "bash", "arguments": {{"command": "{command}"}}}}]}}"#)
    };
    let calls = [long_lines.as_str(), "touch b", "touch c", "touch d", "touch e", "touch e"].map(call);
    let lines: Vec<&str> = calls.iter().map(String::as_str).chain([r#"{"text": "All asked."}"#]).collect();
    let script = sandbox.script(&lines);
    sandbox.open(&["--provider", "scripted", "--model", &script, "go"])
}

fn c_was_not_made(sandbox: &Sandbox) {
    assert!(!sandbox.project().join("c").exists(), "it was denied");
    assert!(sandbox.project().join("b").exists(), "it was allowed");
}

pub(super) const ASKS: KeySequence = KeySequence {
    name: "calls that ask",
    open: open_with_request,
    steps: &[
        WaitForQuestion("│ echo line 1"),
        press("call_down", "shift+down", &[Lacks("echo line 1\n")]),
        press("call_up", "shift+up", &[Has("echo line 1\n")]),
        press("show_call", "v", &[Has("── bash needs approval")]),
        press("list_page_down", "pgdn", &[Lacks("echo line 1\n")]),
        press("list_page_up", "pgup", &[Has("echo line 1\n")]),
        press("last", "end", &[Has("touch a")]),
        press("first", "home", &[Has("echo line 1\n")]),
        press("back", "esc", &[Lacks("── bash needs approval")]),
        press("next_answer", "right", &[Has("▸ [y] once")]),
        press("clear_answer", "esc", &[Lacks("▸")]),
        press("previous_answer", "left", &[Has("▸ [d]")]),
        Type("\x1b[C\x1b[D\x1b[D\x1b[D\x1b[D"),
        Wait(Has("▸ [y] once")),
        press("confirm_answer", "enter", &[Has("│ touch b")]),
        WaitForQuestion("│ touch b"),
        press("allow_always", "A", &[Has("── always allow")]),
        Type("\x1b"),
        Wait(Lacks("── always allow")),
        WaitForQuestion("│ touch b"),
        press("allow", "y", &[Has("│ touch c")]),
        WaitForQuestion("│ touch c"),
        press("deny", "n", &[Has("│ touch d")]),
        Run(c_was_not_made),
        WaitForQuestion("│ touch d"),
        press("deny_with_reason", "d", &[Has("type a reason for the model")]),
        Type("\x1b"),
        Wait(Lacks("type a reason")),
        WaitForQuestion("│ touch d"),
        press("deny_with_reason", "tab", &[Has("type a reason for the model")]),
        Type("because"),
        Wait(Has("❯ because")),
        Type("\r"),
        WaitForQuestion("│ touch e"),
        press("allow_session", "a", &[Has("All asked.")]),
    ],
};
