//! Exits: the terminal is restored, the log is complete, no child is left.

use std::fs;
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::sandbox::Sandbox;
use tiller_test_support::terminal::{DEADLINE, Terminal, TerminalKey};

const HELLO: &str = r#"{"text": "Hello yourself."}"#;
const ENDLESS: &str = r#"{"text": "I could go on", "hang": true}"#;

/// Checks the state after the exit: the normal screen, the line about resuming, and a usable terminal.
fn is_given_back(sandbox: &Sandbox, terminal: &Terminal) {
    let screen = terminal.screen();
    let id = sandbox.log()[0]["id"].as_str().unwrap().to_owned();
    assert!(screen.contains(&format!("tiller --session {id}")), "{screen}");
    let (alternate, hidden, bracketed) = terminal
        .inspect(|screen| (screen.alternate_screen(), screen.hide_cursor(), screen.bracketed_paste()));
    assert_eq!((alternate, hidden, bracketed), (false, false, false), "{screen}");
    assert!(terminal.is_cooked(), "raw mode was left on");
}

#[test]
fn exit_restores_the_terminal() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[HELLO], &["hello"]);
    terminal.wait_for_answer("Hello yourself.");
    assert!(terminal.inspect(vt100::Screen::alternate_screen) && !terminal.is_cooked());
    assert_eq!(terminal.quit().exit_code(), 0);
    is_given_back(&sandbox, &terminal);
    let screen = terminal.screen();
    assert!(screen.starts_with("> hello\n\nHello yourself.\n"), "the last exchange stays:\n{screen}");
}

#[test]
fn exit_on_second_interrupt() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[HELLO], &[]);
    terminal.wait_for("Type a request");
    terminal.key(TerminalKey::Ctrl('c'));
    terminal.wait_for("Press ctrl+c again to quit.");
    terminal.key(TerminalKey::Ctrl('c'));
    assert_eq!(terminal.wait().exit_code(), 0);
    assert!(sandbox.logs().is_empty(), "nothing was said, so nothing is kept");
    assert!(!terminal.inspect(vt100::Screen::alternate_screen) && terminal.is_cooked());
}

#[test]
fn exit_on_signal_restores_the_terminal() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let sandbox = Sandbox::new();
        let mut terminal = sandbox.open_scripted(&[ENDLESS], &["talk"]);
        terminal.wait_for("I could go on");
        terminal.signal(signal);
        assert_eq!(terminal.wait().exit_code(), 130);
        is_given_back(&sandbox, &terminal);
        assert_eq!(sandbox.messages(), ["user: talk", "assistant: I could go on"]);
    }
}

#[test]
fn exit_on_closed_terminal_keeps_the_log() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[ENDLESS], &["talk"]);
    terminal.wait_for("I could go on");
    terminal.hang_up();
    assert_eq!(terminal.wait().exit_code(), 1);
    assert!(fs::read_to_string(&sandbox.logs()[0]).unwrap().ends_with('\n'));
    assert_eq!(sandbox.messages(), ["user: talk", "assistant: I could go on"]);
}

#[test]
fn kill_ends_running_commands() {
    let sandbox = Sandbox::new();
    let run =
        r#"{"calls": [{"name": "bash", "arguments": {"command": "sleep 1000 & echo $$ $! > ids; wait"}}]}"#;
    let mut terminal = sandbox.open_scripted(&[run], &["run it"]);
    terminal.wait_for("running bash");
    let ids = wait_for_ids(&sandbox);
    assert!(ids.iter().all(|id| is_alive(*id)));
    terminal.signal(Signal::SIGKILL);
    terminal.wait();
    let deadline = Instant::now() + DEADLINE;
    while ids.iter().any(|id| is_alive(*id)) {
        assert!(Instant::now() < deadline, "{ids:?} outlived tiller");
        std::thread::yield_now();
    }
}

fn wait_for_ids(sandbox: &Sandbox) -> Vec<Pid> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let text = fs::read_to_string(sandbox.project().join("ids")).unwrap_or_default();
        if text.ends_with('\n') {
            return text.split_whitespace().map(|id| Pid::from_raw(id.parse().unwrap())).collect();
        }
        assert!(Instant::now() < deadline, "the command never began");
        std::thread::yield_now();
    }
}

fn is_alive(id: Pid) -> bool {
    kill(id, None).is_ok()
}

#[test]
fn draft_is_restored() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[HELLO], &["hello"]);
    terminal.wait_for("Hello yourself.");
    terminal.send("half a thought");
    terminal.wait_for("❯ half a thought");
    terminal.signal(Signal::SIGTERM);
    terminal.wait();

    let mut terminal = sandbox.open_scripted(&[HELLO], &[]);
    terminal.wait_for("❯ half a thought");
    terminal.key(TerminalKey::Ctrl('c'));
    terminal.wait_without("half a thought");
    assert_eq!(terminal.quit().exit_code(), 0);

    let terminal = sandbox.open_scripted(&[HELLO], &[]);
    terminal.wait_for("Type a request");
    assert!(!terminal.screen().contains("half a thought"));
}

#[test]
fn exit_keeps_messages_sent_before() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[ENDLESS], &[]);
    terminal.wait_for("Type a request");
    let texts: Vec<String> = (0..40).map(|number| format!("thought {number}.")).collect();
    terminal.send(&format!("{}\r/quit\r", texts.join("\r")));
    assert_eq!(terminal.wait().exit_code(), 0);
    let log = fs::read_to_string(&sandbox.logs()[0]).unwrap();
    let missing: Vec<&String> = texts.iter().filter(|text| !log.contains(*text)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
