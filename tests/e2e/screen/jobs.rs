//! Background jobs: started by the model and by Ctrl+B, and ended with tiller.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tiller_test_support::terminal::TerminalKey;

use super::super::sandbox::Sandbox;

/// Time for killed commands to disappear.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads the process id that a command has written to a file of the project.
fn pid(sandbox: &Sandbox, name: &str) -> Pid {
    let text = fs::read_to_string(sandbox.project().join(name)).unwrap();
    Pid::from_raw(text.trim().parse().unwrap())
}

fn wait_until_dead(id: Pid) {
    let started = Instant::now();
    while kill(id, None).is_ok() {
        assert!(started.elapsed() < EXIT_TIMEOUT, "{id} outlives tiller");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn job_end_is_told_and_kill_of_tiller_ends_the_others() {
    let sandbox = Sandbox::new();
    nix::unistd::mkfifo(&sandbox.project().join("gate"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let lines = [
        r#"{"calls": [
            {"name": "bash", "arguments": {"command": "cat gate; exit 3", "background": true}},
            {"name": "bash", "arguments": {"command": "echo $$ > pid; echo building; exec sleep 600"}}]}"#
            .replace('\n', ""),
        r#"{"text": "It builds."}"#.to_owned(),
        r#"{"expect": "and?", "text": "So it failed."}"#.to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut terminal = sandbox.open_scripted(&lines, &["build"]);
    terminal.wait_for("│ building");
    terminal.wait_for("1 job");
    terminal.key(TerminalKey::Ctrl('b'));
    terminal.wait_for_answer("It builds.");
    terminal.wait_for("2 jobs");
    fs::write(sandbox.project().join("gate"), "out of memory\n").unwrap();
    terminal.wait_for("1 job");
    terminal.send("/jobs");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("exit 3 · out of memory");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("type to filter");
    let is_note = |entry: &serde_json::Value| {
        entry["customType"] == "tiller.job_end" && entry.to_string().contains("ended with exit status 3")
    };
    assert!(sandbox.log().iter().any(is_note), "an idle session logs the end at once");
    terminal.send("and?");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("So it failed.");
    let moved = pid(&sandbox, "pid");
    assert!(kill(moved, None).is_ok(), "it goes on");
    terminal.signal(Signal::SIGKILL);
    wait_until_dead(moved);
}

#[test]
fn job_ends_with_a_printed_run_and_is_named() {
    let sandbox = Sandbox::new();
    let call = r#"{"calls": [{"name": "bash", "arguments": {"command": "echo $$ > pid; exec sleep 600", "background": true}}]}"#;
    // The run continues until the job has started.
    let wait = r#"{"calls": [{"name": "bash", "arguments": {"command": "until [ -s pid ]; do :; done"}}]}"#;
    let script = sandbox.script(&[call, wait, r#"{"text": "Started."}"#]);
    let output = sandbox.run(&["-p", "--yes", "--provider", "scripted", "--model", &script, "go"]);
    assert_eq!((output.code, output.out.as_str()), (Some(0), "Started.\n"));
    assert_eq!(output.err, "stopped background job job_1: echo $$ > pid; exec sleep 600\n");
    wait_until_dead(pid(&sandbox, "pid"));
}
