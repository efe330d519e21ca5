//! The TUI before the session is open: input waits for it, and quitting doesn't.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::terminals::{editor, wait_until};
use crate::sandbox::Sandbox;
use tiller_test_support::terminal::TerminalKey;

/// Delays the opening of a session until the pipe `gate` is written to.
const GATEKEEPER: &str = r#"#!/bin/bash
read -r hello
read -r word < "$(dirname "$0")/../gate"
echo '{"type": "ready", "protocol": 1, "hooks": []}'
while read -r line; do :; done
"#;

fn gate(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join("tiller/gate")
}

fn gated() -> Sandbox {
    let sandbox = Sandbox::new().with_variable("TILLER_EXTENSIONS_TIMEOUT_MS", "60000");
    let program = sandbox.home().join("tiller/extensions/gatekeeper.sh");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(&program, GATEKEEPER).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    mkfifo(&gate(&sandbox), Mode::S_IRWXU).unwrap();
    sandbox
}

#[test]
fn opening_prompts_are_sent_after_opening() {
    let sandbox = gated();
    let mut terminal =
        sandbox.open_scripted(&[r#"{"expect": "hello there", "text": "Hello yourself."}"#], &[]);
    terminal.wait_for("opening the session");
    terminal.send("hello there");
    terminal.wait_for("❯ hello there");
    terminal.key(TerminalKey::Enter);
    terminal.send("and more");
    terminal.wait_for("❯ and more");
    assert!(sandbox.logs().is_empty());
    fs::write(gate(&sandbox), "open\n").unwrap();
    terminal.wait_for("Hello yourself.");
    terminal.wait_for("❯ and more");
    terminal.key(TerminalKey::Ctrl('c'));
    assert_eq!(terminal.quit().exit_code(), 0);
}

#[test]
fn opening_external_editor_keeps_the_terminal() {
    let script = "echo editing; while [ ! -e edited ]; do sleep 0.02; done; printf ' and more' >> $2";
    let sandbox = editor(gated(), script);
    let mut terminal = sandbox.open_scripted(&[r#"{"text": "Hello yourself."}"#], &["hello"]);
    terminal.wait_for("opening the session");
    terminal.send("a draft");
    terminal.wait_for("❯ a draft");
    terminal.key(TerminalKey::Ctrl('g'));
    terminal.wait_for("editing");
    fs::write(gate(&sandbox), "open\n").unwrap();
    // The session is open by then, and only the editor doesn't know.
    wait_until("an answer", || {
        let is_there = !sandbox.logs().is_empty();
        is_there && sandbox.messages().iter().any(|message| message == "assistant: Hello yourself.")
    });
    assert!(!terminal.inspect(vt100::Screen::alternate_screen) && terminal.is_cooked());
    sandbox.write("edited", "");
    terminal.wait_for("❯ a draft and more");
    terminal.wait_for("Hello yourself.");
}

#[test]
fn opening_quit_keeps_sent_prompts() {
    let sandbox = gated();
    let mut terminal = sandbox.open_scripted(&[], &[]);
    terminal.wait_for("opening the session");
    terminal.send("not lost");
    terminal.wait_for("❯ not lost");
    terminal.key(TerminalKey::Enter);
    terminal.wait_without("not lost");
    assert_eq!(terminal.quit().exit_code(), 0);
    assert!(!terminal.inspect(vt100::Screen::alternate_screen) && terminal.is_cooked());
    assert!(sandbox.logs().is_empty());
    let terminal = sandbox.open_scripted(&[], &[]);
    terminal.wait_for("❯ not lost");
}

#[test]
fn opening_error_is_on_the_normal_screen() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[], &["--session", "no-such-session"]);
    assert_eq!(terminal.wait().exit_code(), 2);
    assert!(!terminal.inspect(vt100::Screen::alternate_screen) && terminal.is_cooked());
    assert!(terminal.screen().contains("error: "), "{}", terminal.screen());
}

#[test]
fn opening_piped_text_precedes_message() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"expect": "a line of the log\n\nwhy?", "text": "Because."}"#]);
    let fixed = ["--provider", "scripted", "--model", &script];
    let mut terminal = sandbox.open_with_stdin("a line of the log\n", &[&fixed[..], &["why?"]].concat());
    terminal.wait_for_answer("Because.");
    // Keys come from the terminal.
    terminal.send("exit");
    terminal.wait_for("❯ exit");
    terminal.key(TerminalKey::Enter);
    assert_eq!(terminal.wait().exit_code(), 0);
    let screen = terminal.screen();
    assert!(screen.contains("Resume this session with: tiller --session "), "{screen}");
    assert_eq!(sandbox.messages()[0], "user: a line of the log\n\nwhy?");
}

#[test]
fn opening_piped_text_is_in_the_editor() {
    let sandbox = Sandbox::new();
    let log: String = (0..40).map(|number| format!("line {number}\n")).collect();
    let script = sandbox.script(&[r#"{"expect": "line 39", "text": "Read."}"#]);
    let fixed = ["--provider", "scripted", "--model", &script];
    let program = sandbox.home().join("editor.sh");
    fs::write(&program, "#!/bin/sh\n[ -t 0 ] && echo 'at a terminal' >> \"$1\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let sandbox = sandbox.with_variable("EDITOR", &program.display().to_string());
    let mut terminal = sandbox.open_with_stdin(&log, &fixed);
    terminal.wait_for("[paste #1: 40 lines]");
    terminal.key(TerminalKey::Ctrl('g'));
    terminal.wait_for("at a terminal");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Read.");
    assert!(sandbox.messages()[0].starts_with("user: line 0\nline 1\n"), "{:?}", sandbox.messages());
}

#[test]
fn opening_piped_text_not_utf8_is_an_error() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "Hi."}"#]);
    let line = "printf '\\377' | \"$0\" --provider scripted --model \"$1\" why";
    let mut terminal = sandbox.open_shell(&["-c", line, env!("CARGO_BIN_EXE_tiller"), &script]);
    assert_eq!(terminal.wait().exit_code(), 2);
    assert!(terminal.screen().contains("can't read stdin"), "{}", terminal.screen());
    assert!(sandbox.logs().is_empty());
}

#[test]
fn trace_file_is_written_in_tui() {
    let sandbox = Sandbox::new();
    let mut terminal =
        sandbox.open_scripted(&[r#"{"text": "Hello yourself."}"#], &["--trace", "trace", "-v", "hello"]);
    terminal.wait_for_answer("Hello yourself.");
    terminal.send(":q");
    terminal.wait_for("❯ :q");
    terminal.key(TerminalKey::Enter);
    assert_eq!(terminal.wait().exit_code(), 0);
    let trace = fs::read_to_string(sandbox.project().join("trace")).unwrap();
    assert!(trace.starts_with(r#"{"type":"session""#) && trace.contains("agent_settled"), "{trace}");
    assert!(!terminal.output().contains("DEBUG"), "the log is not on the screen");
    let log = fs::read_to_string(sandbox.home().join("tiller/state/tiller.log")).unwrap();
    assert!(log.contains("DEBUG"), "{log}");
}

#[test]
fn opening_endless_pipe_can_be_quit() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "Hi."}"#]);
    let pipe = sandbox.home().join("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    // Opened for reading and writing, it has a writer forever.
    let line = "exec \"$0\" --provider scripted --model \"$1\" why 0<> \"$2\"";
    let program = env!("CARGO_BIN_EXE_tiller");
    let mut terminal = sandbox.open_shell(&["-c", line, program, &script, &pipe.display().to_string()]);
    terminal.wait_for("opening the session");
    terminal.send("half a thought");
    terminal.wait_for("❯ half a thought");
    terminal.key(TerminalKey::Ctrl('c'));
    terminal.wait_without("half a thought");
    assert_eq!(terminal.quit().exit_code(), 0);
}

#[test]
fn opening_piped_text_waits_for_the_picker() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "Hi."}"#, r#"{"expect": "a piped line", "text": "Read."}"#]);
    let fixed = ["--provider", "scripted", "--model", &script];
    sandbox.run(&[&fixed[..], &["-p", "an earlier prompt"]].concat());
    let mut terminal = sandbox.open_with_stdin("a piped line\n", &[&fixed[..], &["-r"]].concat());
    terminal.wait_for("an earlier prompt");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Hi.");
    terminal.wait_for("❯ a piped line");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Read.");
}
