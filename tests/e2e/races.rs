//! Races that are left and resumed, through the real binary.

use std::fs;

use nix::sys::signal::Signal;
use serde_json::Value;
use tiller_test_support::terminal::{Terminal, TerminalKey};

use super::agents::{entries, git, repository, wait_until};
use super::sandbox::Sandbox;

/// Waits until the first lane has ended, while the second one waits in a command.
fn wait_for_the_first_lane(sandbox: &Sandbox) {
    let second = sandbox.project().with_extension("tiller-race-2-1");
    wait_until("the second lane works", || second.join("half.txt").exists());
    wait_until("the first lane ends", || !entries(sandbox, "tiller.agent_end").is_empty());
}

/// The second lane waits in a command; once it is continued, its result passes the check. `before` has the answers
/// before the race.
fn script(sandbox: &Sandbox, before: &[&str]) -> String {
    let command = "case $PWD in *race-2-1) echo x > half.txt; sleep 1000;; esac; echo first > b.txt";
    let call = format!(r#"{{"calls": [{{"name": "bash", "arguments": {{"command": "{command}"}}}}]}}"#);
    let written = r#"{"text": "Written.", "usage": {"output": 7}}"#;
    let continued = r#"{"when": "interrupted", "calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "second\n"}}], "usage": {"output": 5}}"#;
    sandbox.script(&[before, &[&call, written, written, continued]].concat())
}

/// Opens the TUI with an answer in its session, so that it is ready.
fn open_with_answer(sandbox: &Sandbox, arguments: &[&str]) -> Terminal {
    let terminal = sandbox.open(&[arguments, &["hello"]].concat());
    terminal.wait_for_answer("Hello.");
    terminal
}

#[test]
fn race_that_is_killed_is_resumed_and_picked() {
    let sandbox = repository();
    let script = script(&sandbox, &[]);
    let model = ["--yes", "--provider", "scripted", "--model", &script];
    let race = ["race", "-n", "2", "Write b", "--check", "grep second b.txt"];
    let terminal = sandbox.open(&[&model[..], &race].concat());
    wait_for_the_first_lane(&sandbox);
    terminal.signal(Signal::SIGKILL);
    drop(terminal);
    assert!(sandbox.run(&["doctor"]).out.contains("tiller/race-2-1"));
    let logged = &entries(&sandbox, "tiller.race")[0];
    assert_eq!(logged["prompt"], "Write b");
    let id = sandbox.log()[0]["id"].as_str().unwrap().to_owned();
    let verified = sandbox.run(&["sessions", "verify", &id]);
    assert!(!verified.out.contains("unknown"), "{}", verified.out);

    let resumed = sandbox.run(&[&model[..], &["race", "--resume"]].concat());
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    let hint = format!("no lane picked; pick one with: tiller --session {id} race --resume --pick N\n");
    assert!(resumed.err.ends_with(&hint), "{}", resumed.err);
    let rows: Vec<Vec<&str>> =
        resumed.out.lines().map(|line| line.split_whitespace().take(3).collect()).collect();
    assert_eq!(rows[1..], [["1", "finished", "failed"], ["2", "finished", "passed"]], "{}", resumed.out);
    assert_eq!(git(sandbox.project(), &["worktree", "list"]).lines().count(), 1);
    assert!(!sandbox.project().join("b.txt").exists());
    let started = entries(&sandbox, "tiller.agent");
    let agents_of = |lane: i64| -> Vec<&Value> {
        started.iter().filter(|start| start["lane"] == lane).map(|start| &start["agentId"]).collect()
    };
    assert_eq!(agents_of(1).len(), 1, "the first lane doesn't run again");
    assert!(matches!(agents_of(2)[..], [before, after] if before == after), "{started:?}");

    let picked = sandbox.run(&[&model[..], &["race", "--resume", "--pick", "passed", "--json"]].concat());
    assert_eq!(picked.code, Some(0), "{}", picked.err);
    let lanes: Vec<Value> = serde_json::from_str(&picked.out).unwrap();
    let lanes: Vec<(&Value, &Value)> = lanes.iter().map(|lane| (&lane["number"], &lane["picked"])).collect();
    assert_eq!(lanes, [(&Value::from(1), &Value::from(false)), (&Value::from(2), &Value::from(true))]);
    assert!(picked.err.contains("picked lane 2; continue with: tiller --session "), "{}", picked.err);
    assert_eq!(fs::read_to_string(sandbox.project().join("b.txt")).unwrap(), "second\n");
    assert!(sandbox.project().join("half.txt").exists());
    let shown = sandbox.run(&["sessions", "show", &id]).out;
    assert!(shown.contains("You were interrupted.") && shown.contains("Written."), "{shown}");
    let used = |entry: &Value| {
        let usages = [&entry["usage"]["output"], &entry["message"]["usage"]["output"]];
        usages.iter().filter_map(|usage| usage.as_i64()).sum::<i64>()
    };
    let used: i64 = sandbox.log().iter().map(used).sum();
    assert_eq!(used, 19, "the first lane's 7, and 5 and 7 of the second one");

    let over = sandbox.run(&[&model[..], &["race", "--resume"]].concat());
    assert!(over.code == Some(2) && over.err.contains("has no race to resume"), "{}", over.err);
}

#[test]
fn race_on_the_screen_that_is_killed_is_resumed() {
    let sandbox = repository();
    let script = script(&sandbox, &[r#"{"text": "Hello."}"#]);
    let arguments = ["--yes", "--provider", "scripted", "--model", &script];
    let mut terminal = open_with_answer(&sandbox, &arguments);
    terminal.send("/race -n 2 --check 'grep second b.txt' Write b");
    terminal.key(TerminalKey::Enter);
    wait_for_the_first_lane(&sandbox);
    terminal.signal(Signal::SIGKILL);
    drop(terminal);

    let mut terminal = sandbox.open(&[&arguments[..], &["-c"]].concat());
    terminal.wait_for("A race of this session was interrupted. /race resumes it.");
    terminal.send("/race");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("finished · check failed");
    terminal.wait_for("interrupted · ");
    terminal.send("resume");
    terminal.wait_for("▸ resume the race");
    terminal.key(TerminalKey::Enter);
    terminal.send("\x15");
    terminal.wait_for("finished · check passed");
    terminal.send("passed");
    terminal.wait_for("▸ lane 2");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Continuing from lane 2; its changes are now in the working directory.");
    assert_eq!(fs::read_to_string(sandbox.project().join("b.txt")).unwrap(), "second\n");
    assert!(terminal.quit().success());
    assert_eq!(entries(&sandbox, "tiller.race_end"), [serde_json::json!({ "lane": 2 })]);
}

#[test]
fn race_that_is_quit_is_found_again() {
    let sandbox = repository();
    let script = script(&sandbox, &[r#"{"text": "Hello."}"#]);
    let arguments = ["--yes", "--provider", "scripted", "--model", &script];
    let mut terminal = open_with_answer(&sandbox, &arguments);
    terminal.send("/race -n 2 Write b");
    terminal.key(TerminalKey::Enter);
    wait_for_the_first_lane(&sandbox);
    terminal.key(TerminalKey::Esc);
    terminal.wait_until("the list is closed", |screen| !screen.contains("type to filter"));
    assert!(terminal.quit().success());
    assert_eq!(git(sandbox.project(), &["worktree", "list"]).lines().count(), 1);

    let mut terminal = sandbox.open(&[&arguments[..], &["-c"]].concat());
    terminal.wait_for("A race of this session was interrupted. /race resumes it.");
    terminal.send("/race");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("interrupted · ");
    terminal.send("discard");
    terminal.wait_for("▸ discard the results");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("The race is over. Finished lanes stay in the tree.");
    assert!(terminal.quit().success());
    assert_eq!(entries(&sandbox, "tiller.race_end"), [serde_json::json!({})]);
}

#[test]
fn race_without_a_result_is_over_and_names_its_branches() {
    let sandbox = repository();
    let script = sandbox.script(&[
        r#"{"calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "half\n"}}]}"#,
        r#"{"error": {"failure": "fatal", "message": "no luck"}}"#,
    ]);
    let model = ["--yes", "--provider", "scripted", "--model", &script];
    let output = sandbox.run(&[&model[..], &["race", "-n", "1", "Write b", "--pick", "1"]].concat());
    assert_eq!(output.code, Some(1), "{}", output.err);
    let message = "no lane has a result; the race is over; changes remain on the branches: tiller/race-1-1\n";
    assert!(output.err.contains("no luck") && output.err.ends_with(message), "{}", output.err);
    assert_eq!(entries(&sandbox, "tiller.race_end"), [serde_json::json!({})]);
    let over = sandbox.run(&[&model[..], &["race", "--resume"]].concat());
    assert!(over.code == Some(2) && over.err.contains("has no race to resume"), "{}", over.err);
}
