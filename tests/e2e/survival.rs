//! Sessions after crashes of tiller and full disks.

use std::io::{BufRead, BufReader};

use serde_json::Value;

use super::sandbox::{RunOutput, Sandbox};

#[test]
fn kill_during_first_answer_keeps_the_prompt() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "This answer never", "hang": true}"#]);
    let arguments = ["--mode", "json", "--provider", "scripted", "--model", &script, "remember this"];
    let mut child = sandbox.start(&mut sandbox.command(&arguments));
    let events = BufReader::new(child.stdout.take().unwrap());
    for line in events.lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["assistantMessageEvent"]["type"] == "text_delta" {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(sandbox.messages(), ["user: remember this"]);

    let script = sandbox.script(&[r#"{"expect": "go on", "text": "I remember."}"#]);
    let run_output = sandbox.run(&["-c", "-p", "--provider", "scripted", "--model", &script, "go on"]);
    assert_eq!(run_output.out, "I remember.\n", "{}", run_output.err);
    assert_eq!(sandbox.messages(), ["user: remember this", "user: go on", "assistant: I remember."]);
}

#[test]
fn kill_during_call_adds_a_result_on_resume() {
    let sandbox = Sandbox::new();
    let call = r#"{"calls": [{"name": "bash", "arguments": {"command": "echo begun > begun; sleep 60"}}]}"#;
    let script = sandbox.script(&[call, r#"{"text": "Back."}"#]);
    let arguments = ["-p", "--yes", "--provider", "scripted", "--model", &script, "wait"];
    let mut child = sandbox.start(&mut sandbox.command(&arguments));
    while !sandbox.project().join("begun").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before the command began");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();

    let run_output = sandbox.run(&["-c", "-p", "--provider", "scripted", "--model", &script, "and now?"]);
    assert_eq!(run_output.out, "Back.\n", "{}", run_output.err);
    let messages = sandbox.messages();
    assert_eq!(messages[0..2], ["user: wait", "assistant: <bash>"]);
    assert!(messages[2].starts_with("toolResult: interrupted"), "{messages:?}");
    assert_eq!(messages[3..], ["user: and now?", "assistant: Back."]);
}

#[test]
fn file_size_limit_fails_the_run_and_session_resumes() {
    let sandbox = Sandbox::new();
    // Far over the limit, whether the shell counts in 512 or in 1,024 bytes.
    let script = sandbox.script(&[r#"{"text": "long ", "repeat": 20000}"#]);
    let arguments = ["-p", "--provider", "scripted", "--model", &script, "remember this"];
    let run_output: RunOutput = sandbox.command_after("ulimit -f 16", &arguments).output().unwrap().into();
    assert_eq!((run_output.code, run_output.out.as_str()), (Some(1), ""), "{}", run_output.err);
    let log = sandbox.logs().remove(0);
    let warning = format!("warning: session file {}: the entry was not written: only ", log.display());
    assert!(
        run_output.err.contains(&warning) && run_output.err.contains("\n  hint: earlier entries are intact"),
        "{}",
        run_output.err
    );
    let before = std::fs::read(&log).unwrap();
    assert_ne!(before.last(), Some(&b'\n'), "a part of the answer's line is there");

    let script = sandbox.script(&[r#"{"expect": "go on", "text": "I remember."}"#]);
    let run_output = sandbox.run(&["-c", "-p", "--provider", "scripted", "--model", &script, "go on"]);
    assert_eq!((run_output.code, run_output.out.as_str()), (Some(0), "I remember.\n"), "{}", run_output.err);
    assert!(run_output.err.contains("torn: the line is incomplete"), "{}", run_output.err);
    let text = std::fs::read(&log).unwrap();
    assert!(text.starts_with(&[&before[..], b"\n"].concat()), "what was there is as it was, and closed");
    let output = sandbox.run(&["sessions", "show", &log.display().to_string()]).out;
    assert!(output.contains("> remember this\n") && output.contains("> go on\n\nI remember.\n"), "{output}");
}
