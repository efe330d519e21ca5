//! Agents through the real binary: delegation, several side by side, races, and a kill in the middle.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tiller_test_support::terminal::TerminalKey;

use super::sandbox::Sandbox;

pub(crate) fn git(cwd: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgSign=false"];
    let output = Command::new("git").current_dir(cwd).args(identity).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    git(sandbox.project(), &["init", "--quiet", "--initial-branch=main"]);
    sandbox.write("a.txt", "one\n");
    git(sandbox.project(), &["add", "."]);
    git(sandbox.project(), &["commit", "--quiet", "-m", "first"]);
    sandbox
}

/// The entries of a type in the session's log.
pub(crate) fn entries(sandbox: &Sandbox, custom_type: &str) -> Vec<Value> {
    let log = sandbox.log().into_iter().filter(|entry| entry["customType"] == custom_type);
    log.map(|mut entry| entry["data"].take()).collect()
}

/// Waits for a change that no screen shows.
pub(crate) fn wait_until(expected: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "{expected}: not after a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn delegated_task_is_answered_and_its_log_is_a_session() {
    let sandbox = Sandbox::new();
    sandbox.write("lexer.rs", "fn lex() {}\n");
    let script = sandbox.script(&[
        r#"{"calls": [{"name": "delegate_to_agent", "arguments": {"agent": "explore", "task": "FIND the lexer"}}]}"#,
        r#"{"expect": "It is in lexer.rs.", "text": "Found."}"#,
        r#"{"when": "FIND", "calls": [{"name": "read_file", "arguments": {"path": "lexer.rs"}}]}"#,
        r#"{"when": "fn lex()", "text": "It is in lexer.rs."}"#,
    ]);
    let output = sandbox.run(&["-p", "--provider", "scripted", "--model", &script, "where is it?"]);
    assert_eq!((output.out.as_str(), output.code), ("Found.\n", Some(0)), "{}", output.err);
    let start = &entries(&sandbox, "tiller.agent")[0];
    assert_eq!((&start["name"], &start["task"]), (&"explore".into(), &"FIND the lexer".into()));
    let id = start["agentId"].as_str().unwrap();
    let shown = sandbox.run(&["sessions", "show", id]);
    assert!(shown.out.contains("It is in lexer.rs."), "{}", shown.out);
    let listed = sandbox.run(&["sessions", "list", "--agents-of", sandbox.log()[0]["id"].as_str().unwrap()]);
    assert!(listed.out.contains("agent explore"), "{}", listed.out);
    let script =
        sandbox.script(&[r#"{"text": "unused"}"#, r#"{"text": "unused"}"#, r#"{"text": "In line 1."}"#]);
    let output = sandbox.run(&["-r", id, "-p", "--provider", "scripted", "--model", &script, "which line?"]);
    assert_eq!(output.out, "In line 1.\n", "{}", output.err);
}

#[test]
fn interrupt_names_the_background_agents_that_it_stops() {
    let sandbox = Sandbox::new().with_variable("TILLER_AGENTS_PARALLEL", "1");
    let tasks = r#"[{"agent": "explore", "task": "ONE"}, {"agent": "explore", "task": "TWO"}]"#;
    let call = format!(
        r#"{{"calls": [{{"name": "spawn_agents", "arguments": {{"tasks": {tasks}, "background": true}}}}]}}"#
    );
    let script =
        sandbox.script(&[&call, r#"{"text": "waiting"}"#, r#"{"when": "ONE", "text": "so", "hang": true}"#]);
    let arguments = ["-p", "--provider", "scripted", "--model", &script, "go"];
    let child = sandbox.start(sandbox.command(&arguments).stderr(Stdio::piped()));
    let works = || !sandbox.logs().is_empty() && entries(&sandbox, "tiller.agent").len() == 1;
    wait_until("the agent works", works);
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    let id = entries(&sandbox, "tiller.agent")[0]["agentId"].as_str().unwrap().to_owned();
    let expected =
        format!("stopped agent explore {}\nagent explore was not started: TWO\n", &id[id.len() - 6..]);
    assert!(err.contains(&expected), "{err}");
}

#[test]
fn four_agents_side_by_side_fail_or_are_collected() {
    let sandbox = Sandbox::new();
    let tasks = r#"[{"agent": "explore", "task": "ONE"}, {"agent": "explore", "task": "TWO"},
        {"agent": "explore", "task": "BREAK"}, {"agent": "explore", "task": "FOUR"}]"#;
    let call = |rule: &str| {
        format!(r#"{{"calls": [{{"name": "spawn_agents", "arguments": {{"tasks": {tasks}, "on_error": "{rule}"}}}}]}}"#)
            .replace('\n', "")
    };
    let (collect, cancel) = (call("collect"), call("cancel"));
    let script = sandbox.script(&[
        &collect,
        r#"{"text": "Collected."}"#,
        &cancel,
        r#"{"text": "Cancelled."}"#,
        r#"{"when": "ONE", "text": "first"}"#,
        r#"{"when": "TWO", "text": "second"}"#,
        r#"{"when": "FOUR", "text": "fourth", "delay_ms": 50, "chunk": 1}"#,
        r#"{"when": "BREAK", "error": {"failure": "fatal", "message": "no such luck"}}"#,
    ]);
    let arguments = ["-p", "--provider", "scripted", "--model", &script];
    let output = sandbox.run(&[&arguments[..], &["go"]].concat());
    assert_eq!(output.out, "Collected.\n", "{}", output.err);
    let results = |messages: Vec<String>| messages.into_iter().filter(|line| line.contains("## 1. explore"));
    let collected = results(sandbox.messages()).next().unwrap();
    for part in ["first", "second", "returned no answer: ", "no such luck", "fourth"] {
        assert!(collected.contains(part), "{part}: {collected}");
    }
    let output = sandbox.run(&[&arguments[..], &["-c", "again"]].concat());
    assert_eq!(output.out, "Cancelled.\n", "{}", output.err);
    let cancelled = results(sandbox.messages()).next_back().unwrap();
    assert!(cancelled.contains("no such luck") && !cancelled.contains("fourth"), "{cancelled}");
    let [starts, ends] = ["tiller.agent", "tiller.agent_end"].map(|name| entries(&sandbox, name).len());
    assert!(starts >= 6 && starts == ends, "every start has its end: {starts} {ends}");
}

#[test]
fn race_is_won_by_the_lane_that_passes_the_check() {
    let sandbox = repository();
    let script = sandbox.script(&[
        r#"{"calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "good\n"}}]}"#,
        r#"{"text": "Written."}"#,
        r#"{"text": "Going on."}"#,
    ]);
    let model = ["--provider", "scripted", "--model", &script];
    let check = "case $PWD in *race-2-1) exit 0;; *) exit 1;; esac";
    let race = ["race", "-n", "2", "Write b", "--check", check, "--pick", "passed"];
    let output = sandbox.run(&[&model[..], &race].concat());
    assert_eq!(output.code, Some(0), "{} {}", output.out, output.err);
    let outcomes = ["passed", "failed"].map(|outcome| output.out.matches(outcome).count());
    assert_eq!(outcomes, [1, 1], "{}", output.out);
    let passed = "lane 2 finished · check passed · 1 file, +1 −0\n";
    assert!(
        output.err.contains(passed) && output.err.contains("lane 1 finished · check failed"),
        "{}",
        output.err
    );
    assert!(!output.err.contains('\x1b') && !output.err.contains("working"), "{}", output.err);
    assert_eq!(fs::read_to_string(sandbox.project().join("b.txt")).unwrap(), "good\n");
    assert_eq!(git(sandbox.project(), &["worktree", "list"]).lines().count(), 1);
    let output = sandbox.run(&[&["-c", "-p"], &model[..], &["and?"]].concat());
    assert_eq!(output.out, "Going on.\n", "{}", output.err);
    let prompts = sandbox.messages().iter().filter(|line| line.contains("Write b")).count();
    assert_eq!(prompts, 2, "the other lane stays in the tree");

    let output = sandbox
        .run(&[&model[..], &["race", "-n", "1", "Write b", "--check", "false", "--pick", "passed"]].concat());
    assert_eq!(output.code, Some(1), "nothing to pick: {}", output.out);
}

#[test]
fn agent_is_opened_steered_and_left() {
    let sandbox = Sandbox::new();
    let lines = [
        r#"{"text": "I'll ask.", "calls": [{"name": "delegate_to_agent", "arguments": {"agent": "explore", "task": "LOOK around"}}]}"#,
        r#"{"text": "Thank you."}"#,
        r#"{"when": "LOOK", "text": "Looking. ", "delay_ms": 50, "repeat": 10000}"#,
        r#"{"when": "Hurry", "text": "I was steered."}"#,
    ];
    let mut terminal = sandbox.open_scripted(&lines, &["go"]);
    terminal.wait_for("│ explore · ");
    terminal.wait_for("1 agent");
    terminal.send("\x1bg");
    terminal.wait_for("enter open");
    terminal.wait_for("▸ explore ");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("agent explore (alt+g returns)");
    terminal.wait_for("Looking. Looking.");
    terminal.send("/new");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("You can't leave an agent's session this way; alt+g returns.");
    // The command is in the editor again.
    terminal.send("\x03");
    terminal.send("\x1bg");
    terminal.wait_for("I'll ask.");
    terminal.send("/agents");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("▸ explore ");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("agent explore (alt+g returns)");
    terminal.send("Hurry up");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("↳ steer");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_answer("Thank you.");
    terminal.wait_for("│ I was steered.");
    terminal.send("\x1bg");
    terminal.wait_for("finished · LOOK around");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("agent explore (alt+g returns)");
    terminal.wait_for_answer("I was steered.");
    terminal.send("\x1bg");
    terminal.wait_for_answer("Thank you.");
    assert!(terminal.quit().success());
}

#[test]
fn agent_that_is_opened_goes_on_in_its_worktree() {
    let sandbox = repository();
    let arguments = r#"{"tasks": [{"agent": "worker", "task": "WRITE it"}], "isolation": "worktree"}"#;
    let lines = [
        &format!(r#"{{"calls": [{{"name": "spawn_agents", "arguments": {arguments}}}]}}"#),
        r#"{"text": "All done."}"#,
        r#"{"when": "WRITE", "calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "first\n"}}]}"#,
        r#"{"text": "unused"}"#,
        r#"{"text": "Written again."}"#,
        r#"{"when": "MORE", "calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "second\n"}}]}"#,
    ];
    let mut terminal = sandbox.open_scripted(&lines, &["go"]);
    terminal.wait_for_answer("All done.");
    terminal.send("\x1bg");
    terminal.wait_for("finished · WRITE it");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("agent worker (alt+g returns)");
    let worktree = sandbox.project().with_extension("tiller-worker-1");
    assert!(worktree.exists());
    terminal.send("MORE of it");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_answer("Written again.");
    assert!(!sandbox.project().join("b.txt").exists());
    terminal.send("\x1bg");
    wait_until("the worktree is removed", || !worktree.exists());
    assert!(terminal.quit().success());
    assert_eq!(git(sandbox.project(), &["show", "tiller/worker-1:b.txt"]), "second\n");
}

#[test]
fn running_agent_can_be_attached_to() {
    let sandbox = Sandbox::new();
    let lines = [
        r#"{"calls": [{"name": "delegate_to_agent", "arguments": {"agent": "explore", "task": "FIND it"}}]}"#,
        r#"{"text": "So be it."}"#,
        r#"{"when": "FIND", "text": "Looking for it", "hang": true}"#,
    ];
    let mut first = sandbox.open_scripted(&lines, &["go"]);
    first.wait_for("explore · ");
    wait_until("the agent works", || entries(&sandbox, "tiller.agent").len() == 1);
    let id = entries(&sandbox, "tiller.agent")[0]["agentId"].as_str().unwrap().to_owned();
    let mut second = sandbox.open(&["--attach", &id]);
    second.wait_for("Looking for it");
    second.key(TerminalKey::Esc);
    first.wait_for("returned no answer: stopped");
    first.wait_for_answer("So be it.");
    assert!(second.wait().success());
    assert!(first.quit().success());
}

#[test]
fn agents_of_a_killed_session_are_known_and_resumed() {
    let sandbox = repository();
    let tasks = r#"[{"agent": "explore", "task": "QUICK"}, {"agent": "worker", "task": "SLOW"}]"#;
    let spawn = format!(
        r#"{{"calls": [{{"name": "spawn_agents", "arguments": {{"tasks": {tasks}, "isolation": "worktree"}}}}]}}"#
    );
    let lines = [
        spawn.as_str(),
        r#"{"when": "QUICK", "text": "quickly done"}"#,
        r#"{"when": "SLOW", "calls": [{"name": "write_file", "arguments": {"path": "half.txt", "content": "half\n"}}]}"#,
        r#"{"when": "half.txt", "text": "still at it", "hang": true}"#,
    ];
    let terminal = sandbox.open_scripted(&lines, &["go"]);
    terminal.wait_for("explore has finished");
    let worktree = sandbox.project().with_extension("tiller-worker-1");
    wait_until("the agent has written", || worktree.join("half.txt").exists());
    terminal.signal(Signal::SIGKILL);
    drop(terminal);

    let doctor = sandbox.run(&["doctor"]);
    assert!(doctor.out.contains("tiller/worker-1"), "{}", doctor.out);
    let starts = entries(&sandbox, "tiller.agent");
    let ends = entries(&sandbox, "tiller.agent_end");
    assert_eq!((starts.len(), ends.len()), (2, 1));
    let slow = starts.iter().find(|start| start["name"] == "worker").unwrap();
    let resume = format!(
        r#"{{"calls": [{{"name": "delegate_to_agent", "arguments": {{"agent": "worker", "task": "Go on.", "resume": {}}}}}]}}"#,
        slow["agentId"]
    );
    let script = sandbox.script(&[
        r#"{"calls": [{"name": "list_agents", "arguments": {}}]}"#,
        r#"{"calls": [{"name": "list_agents", "arguments": {}}]}"#,
        &resume,
        r#"{"expect": "finished now", "text": "All done."}"#,
        r#"{"when": "Go on.", "text": "finished now"}"#,
    ]);
    let output = sandbox.run(&["-c", "-p", "--provider", "scripted", "--model", &script, "what about them?"]);
    assert_eq!(output.out, "All done.\n", "{}", output.err);
    let listed = sandbox.messages().into_iter().find(|line| line.contains("Tasks so far:")).unwrap();
    assert!(listed.contains("explore (finished): QUICK"), "{listed}");
    assert!(listed.contains("worker (interrupted when tiller exited): SLOW"), "{listed}");
    let is_answered = |line: &&String| line.contains("## 1. explore") && line.contains("quickly done");
    let interrupted = sandbox.messages().into_iter().find(|line| is_answered(&line)).unwrap();
    let slow = slow["agentId"].as_str().unwrap();
    let state =
        format!("agent worker {} was interrupted; its changes are in its worktree", &slow[slow.len() - 6..]);
    assert!(interrupted.contains(&state) && interrupted.contains("tiller/worker-1"), "{interrupted}");
    assert_eq!(git(sandbox.project(), &["show", "tiller/worker-1:half.txt"]), "half\n");
    assert!(!worktree.exists() && !sandbox.project().join("half.txt").exists());
}

#[test]
fn race_that_is_killed_leaves_lanes_that_are_found() {
    let sandbox = repository();
    let script = sandbox.script(&[
        r#"{"calls": [{"name": "write_file", "arguments": {"path": "../outside.txt", "content": "x"}},
            {"name": "write_file", "arguments": {"path": "b.txt", "content": "half\n"}}]}"#
            .replace('\n', "")
            .as_str(),
        r#"{"text": "still at it", "hang": true}"#,
    ]);
    let race = ["race", "-n", "2", "Write b"];
    let terminal = sandbox.open(&[&["--provider", "scripted", "--model", &script], &race[..]].concat());
    let lanes = ["1", "2"].map(|lane| sandbox.project().with_extension(format!("tiller-race-{lane}-1")));
    let is_half = |screen: &str| {
        let is_row = |line: &&str| line.contains("working") && line.split_whitespace().nth(5) == Some("1");
        screen.contains("denied") && screen.lines().filter(is_row).count() == 2
    };
    terminal.wait_until("a row for each lane with its denied call", is_half);
    wait_until("both lanes have written", || lanes.iter().all(|lane| lane.join("b.txt").exists()));
    terminal.signal(Signal::SIGKILL);
    drop(terminal);

    let doctor = sandbox.run(&["doctor"]).out;
    assert!(doctor.contains("tiller/race-1-1") && doctor.contains("tiller/race-2-1"), "{doctor}");
    let parent = sandbox.log()[0]["id"].as_str().unwrap().to_owned();
    let agent = sandbox.run(&["sessions", "list", "--agents-of", &parent]).out;
    let agent = agent.split_whitespace().next().unwrap();
    let no_agents = sandbox.run(&["sessions", "list", "--agents-of", agent]);
    assert_eq!(no_agents.err, "this session has no agents\n");
    let listed = sandbox.run(&["sessions", "list", "--agents-of", &parent]).out;
    assert!(listed.contains("agent race-1") && listed.contains("agent race-2"), "{listed}");
    let first =
        entries(&sandbox, "tiller.agent").into_iter().find(|start| start["name"] == "race-1").unwrap();
    assert_eq!(first["worktree"]["branch"], "tiller/race-1-1");
    let shown = sandbox.run(&["sessions", "show", first["agentId"].as_str().unwrap()]).out;
    assert!(shown.contains("Write b"), "{shown}");

    // A lane goes on in its worktree; the end of its session commits to its branch.
    let lines = [
        r#"{"text": "unused"}"#,
        r#"{"calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "whole\n"}}]}"#,
        r#"{"text": "Finished."}"#,
    ];
    let mut terminal = sandbox.open_scripted(&lines, &["-c"]);
    terminal.send("\x1bg");
    terminal.wait_for("interrupted · Write b");
    terminal.send("race-1");
    terminal.wait_for("▸ race-1");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("agent race-1 (alt+g returns)");
    terminal.send("Go on.");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_answer("Finished.");
    terminal.send("\x1bg");
    wait_until("the lane's worktree is removed", || !lanes[0].exists());
    assert!(terminal.quit().success());
    assert_eq!(git(sandbox.project(), &["show", "tiller/race-1-1:b.txt"]), "whole\n");
    assert!(!sandbox.project().join("b.txt").exists());

    // The next race commits what the other lane had to its branch.
    let script = sandbox.script(&[r#"{"text": "Nothing to do."}"#]);
    let race = ["-c", "--provider", "scripted", "--model", &script, "race", "-n", "1", "Again"];
    let output = sandbox.run(&race);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(lanes.iter().all(|lane| !lane.exists()));
    assert_eq!(git(sandbox.project(), &["show", "tiller/race-2-1:b.txt"]), "half\n");
}

#[test]
fn background_agents_end_before_a_script_does() {
    let sandbox = Sandbox::new();
    let arguments = r#"{"agent": "explore", "task": "FIND the lexer", "background": true}"#;
    let script = sandbox.script(&[
        &format!(r#"{{"calls": [{{"name": "delegate_to_agent", "arguments": {arguments}}}]}}"#),
        r#"{"text": "I wait."}"#,
        r#"{"when": "has ended: FIND the lexer\n\nIt is in lexer.rs.", "text": "Found."}"#,
        r#"{"when": "FIND", "text": "It is in lexer.rs."}"#,
    ]);
    let output = sandbox.run(&["-p", "--provider", "scripted", "--model", &script, "where is it?"]);
    assert_eq!((output.out.as_str(), output.err.as_str()), ("Found.\n", ""));
    assert_eq!(entries(&sandbox, "tiller.agent")[0]["background"], true);
}

#[test]
fn background_jobs_of_an_agent_end_with_its_task() {
    let sandbox = Sandbox::new();
    let rules = r#"{"policy": {"rules": [{"match": "sleep 300", "decision": "allow"}]}}"#;
    fs::create_dir(sandbox.home().join("tiller")).unwrap();
    fs::write(sandbox.home().join("tiller/settings.json"), rules).unwrap();
    let script = sandbox.script(&[
        r#"{"calls": [{"name": "delegate_to_agent", "arguments": {"agent": "worker", "task": "START it"}}]}"#,
        r#"{"text": "Done."}"#,
        r#"{"when": "START", "calls": [{"name": "bash", "arguments": {"command": "sleep 300", "background": true}}]}"#,
        r#"{"when": "job", "text": "It runs."}"#,
    ]);
    let output = sandbox.run(&["-p", "--provider", "scripted", "--model", &script, "go"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let messages = sandbox.messages();
    let is_told = messages.iter().any(|line| line.contains("was stopped when the task ended: sleep 300]"));
    assert!(is_told, "{messages:?}");
}

#[test]
fn deltas_of_agents_are_printed_on_demand() {
    let sandbox = Sandbox::new();
    let arguments = r#"{"agent": "explore", "task": "FIND the lexer"}"#;
    let script = sandbox.script(&[
        &format!(r#"{{"calls": [{{"name": "delegate_to_agent", "arguments": {arguments}}}]}}"#),
        r#"{"text": "Found."}"#,
        r#"{"when": "FIND", "text": "It is in lexer.rs."}"#,
    ]);
    let of_agent = |options: &[&str]| {
        let model = ["--mode", "json", "--provider", "scripted", "--model", &script];
        let output = sandbox.run(&[&model[..], options, &["where is it?"]].concat());
        let lines = output.out.lines().map(|line| serde_json::from_str(line).unwrap());
        let mut events: Vec<Value> = lines.filter(|event: &Value| event["type"] == "agent_event").collect();
        events.retain(|event| event["event"]["type"] == "message_update");
        events
    };
    assert_eq!(of_agent(&[]), Vec::<Value>::new());
    let deltas = of_agent(&["--agent-deltas"]);
    assert!(!deltas.is_empty());
    assert!(
        deltas.iter().all(|delta| delta["agentId"].is_string() && delta["parentId"].is_string()),
        "{deltas:?}"
    );
}

#[test]
fn race_on_the_screen_is_watched_and_picked() {
    let sandbox = repository();
    let lines = [
        r#"{"text": "Hello."}"#,
        r#"{"calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "good\n"}}]}"#,
        r#"{"text": "Written."}"#,
    ];
    let mut terminal = sandbox.open_scripted(&lines, &["hi"]);
    terminal.wait_for_answer("Hello.");
    terminal.send("/race -n 2 --check 'grep good b.txt' Write b");
    terminal.key(TerminalKey::Enter);
    terminal.wait_until("both lanes", |screen| screen.matches("finished · check passed").count() == 2);
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Continuing from lane 1; its changes are now in the working directory.");
    terminal.wait_for("1 other branch");
    assert_eq!(fs::read_to_string(sandbox.project().join("b.txt")).unwrap(), "good\n");
    assert!(terminal.quit().success());
}

#[test]
fn agents_of_a_project_are_listed_once_it_is_trusted() {
    let sandbox = Sandbox::new();
    let text = "---\nname: mine\ndescription: Knows this project.\ntools: Read, Grep\npermissionMode: plan\n---\nHelp.\n";
    for dir in [".claude/agents", ".tiller/agents"] {
        fs::create_dir_all(sandbox.project().join(dir)).unwrap();
    }
    sandbox.write(".claude/agents/mine.md", text);
    sandbox.write(".tiller/agents/own.md", "---\ndescription: Is local.\n---\nWork.\n");
    fs::create_dir_all(sandbox.project().join(".claude/agents/team")).unwrap();
    sandbox
        .write(".claude/agents/team/deep.md", "---\ndescription: x\ntools: Bash(ls:*), Read\n---\nWork.\n");
    let names = |arguments: &[&str]| {
        let output = sandbox.run(&[&["agents", "list", "--json"], arguments].concat());
        let agents: Vec<Value> = serde_json::from_str(&output.out).unwrap();
        agents.iter().map(|agent| agent["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["explore", "reviewer", "worker"]);
    assert_eq!(names(&["--trust-project"]), ["own", "mine", "deep", "explore", "reviewer", "worker"]);
    let warned = sandbox.run(&["agents", "list", "--trust-project"]).err;
    assert!(warned.contains("agent `deep` doesn't get Bash(ls:*)"), "{warned}");
}
