//! `--plain`: prompts from a pipe, and a line-based conversation on a terminal.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::sandbox::{RunOutput, Sandbox};
use tiller_test_support::terminal::{Terminal, TerminalKey};

/// Runs lines from a pipe against a script.
fn piped(sandbox: &Sandbox, answers: &[&str], lines: &str) -> RunOutput {
    let script = sandbox.script(answers);
    sandbox.run_with_stdin(&["--plain", "--yes", "--provider", "scripted", "--model", &script], lines)
}

/// Waits until the last line of the screen is the input prompt, which is shown at rest.
fn wait_for_prompt(terminal: &Terminal) {
    let is_last =
        |screen: &str| screen.lines().rfind(|line| !line.trim().is_empty()).map(str::trim) == Some(">");
    terminal.wait_until("the input prompt on the last line", is_last);
}

/// A conversation in a terminal where every call needs approval.
fn conversation(sandbox: &Sandbox, answers: &[&str]) -> Terminal {
    let script = sandbox.script(answers);
    let terminal = sandbox.open(&["--plain", "--provider", "scripted", "--model", &script]);
    terminal.wait_for("/help lists the commands");
    terminal
}

#[test]
fn plain_piped_prompts_run_in_order() {
    let sandbox = Sandbox::new();
    let answers = [
        r#"{"text": "First.", "delay_ms": 20}"#,
        r#"{"text": "Looking.", "calls": [{"name": "read_file", "arguments": {"path": "absent"}}]}"#,
        r#"{"text": "Second."}"#,
    ];
    let output = piped(&sandbox, &answers, "one\n\ntwo \\\nlines");
    assert_eq!(
        (output.out.as_str(), output.code),
        ("First.\nLooking.\nSecond.\n", Some(0)),
        "{}",
        output.err
    );
    assert!(output.err.starts_with("tool read_file: absent\ntool read_file: failed: "), "{}", output.err);
    assert_eq!(sandbox.messages()[..3], ["user: one", "assistant: First.", "user: two \nlines"]);
}

#[test]
fn plain_command_output_names_parallel_calls() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "a");
    sandbox.write("b.txt", "b");
    let answers = [
        r#"{"calls": [{"name": "bash", "arguments": {"command": "seq 1 30; exit 3"}}, {"name": "bash", "arguments": {"command": "echo short"}}]}"#,
        r#"{"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}, {"name": "read_file", "arguments": {"path": "b.txt"}}]}"#,
        r#"{"text": "Seen."}"#,
    ];
    let output = piped(&sandbox, &answers, "go\n");
    assert_eq!((output.out.as_str(), output.code), ("Seen.\n", Some(0)), "{}", output.err);
    let expected = ["tool bash: failed\n  1\n  2\n  … ", " more lines\n", "tool bash: done\n  short\n"];
    assert!(expected.iter().all(|expected| output.err.contains(expected)), "{}", output.err);
    let separate_lines = ["tool read_file a.txt: done\n", "tool read_file b.txt: done\n"];
    assert!(separate_lines.iter().all(|expected| output.err.contains(expected)), "{}", output.err);
}

#[test]
fn plain_failure_in_pipe_is_reported_and_rest_runs() {
    let sandbox = Sandbox::new();
    let failing_summary =
        r#"{"error": {"failure": "fatal", "message": "no such luck", "times": 1}, "text": "Once more."}"#;
    let output = piped(&sandbox, &[failing_summary], "one\n/dance\n/name \ntwo\n");
    // The answer before the failure is still printed.
    assert_eq!((output.out.as_str(), output.code), ("Once more.\nOnce more.\n", Some(1)), "{}", output.err);
    for expected in
        ["error: scripted: no such luck", "error: unknown command /dance", "error: /name needs a name"]
    {
        assert!(output.err.contains(expected), "{expected}: {}", output.err);
    }
}

#[test]
fn plain_piped_commands_run_in_order() {
    let sandbox = Sandbox::new();
    let lines = "!echo shell; sleep 0.05; echo done\nhello\n/name the pipe\n/label\n/label it\n/label\n/session\n/tree\n/fork\n/thinking\n/queue\n";
    let output = piped(&sandbox, &[r#"{"text": "Hi.", "usage": {"input": 7}}"#], lines);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let in_order = [
        "shell\ndone\nHi.\n",
        "named the pipe",
        "the newest message has no label; /label NAME adds one\n",
        "labeled it\n",
        "label removed\n",
        "tokens: 7 in",
        ", current",
        ": hello\n",
        "levels: off",
    ];
    let mut rest = output.out.as_str();
    for expected in in_order {
        let at = rest.find(expected).unwrap_or_else(|| panic!("{expected}: {}", output.out));
        rest = &rest[at + expected.len()..];
    }
    assert!(rest.ends_with("the queue is empty\n"), "{rest}");
    assert!(output.err.contains("the command finished"), "{}", output.err);
}

#[test]
fn plain_commands_are_those_of_the_screen() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.project().join(".tiller/prompts")).unwrap();
    sandbox.write(".tiller/prompts/greet.md", "Say hello to $1.");
    let lines = "/rename the pipe\n/approval\n/approvals read-only\n/appr\n/gree Ada\n/theme dark\n/modle\n";
    let output = piped(&sandbox, &[r#"{"text": "Hello, Ada."}"#], lines);
    assert_eq!(
        (output.out.as_str(), output.code),
        (
            "this session is named the pipe\napproval: yes; modes: ask, auto, plan, read-only\n\
             approval: read-only, for this session\napproval: read-only; modes: ask, auto, plan, read-only\n\
             Hello, Ada.\n",
            Some(1)
        ),
        "{}",
        output.err
    );
    let errors: Vec<&str> = output.err.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(
        errors,
        ["error: /theme is available only in the TUI", "error: unknown command /modle; did you mean /model?"]
    );
    assert_eq!(sandbox.messages(), ["user: Say hello to Ada.", "assistant: Hello, Ada."]);
}

#[test]
fn plain_exit_on_a_line_quits() {
    for word in ["exit", "quit", ":q"] {
        let sandbox = Sandbox::new();
        let output = piped(&sandbox, &[r#"{"text": "Hi."}"#], &format!("hello\n{word}\nnever sent\n"));
        assert_eq!((output.out.as_str(), output.code), ("Hi.\n", Some(0)), "{word}: {}", output.err);
        assert_eq!(sandbox.messages(), ["user: hello", "assistant: Hi."], "{word}");
    }
}

#[test]
fn plain_pipe_never_uses_the_demo() {
    let sandbox = Sandbox::new();
    let output = sandbox.run_with_stdin(&["--plain"], "hello\n");
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
    assert!(output.err.contains("no model available"), "{}", output.err);
}

#[test]
fn plain_escape_sequences_are_not_printed() {
    let sandbox = Sandbox::new();
    let output =
        piped(&sandbox, &[r#"{"text": "red \u001b[31mapple\u001b]0;title\u0007", "chunk": 1}"#], "x\n");
    assert!(!output.out.contains('\u{1b}') && output.out.contains("apple"), "{:?}", output.out);
}

#[test]
fn plain_approval_can_be_denied() {
    let sandbox = Sandbox::new();
    let run = r#"{"calls": [{"name": "bash", "arguments": {"command": "touch made"}}]}"#;
    let mut terminal =
        conversation(&sandbox, &[run, r#"{"text": "Then not."}"#, run, r#"{"text": "Made it."}"#]);
    terminal.send("make it\r");
    terminal.wait_for("question: allow bash?");
    terminal.wait_for("touch made");
    terminal.send("not now\r");
    terminal.wait_for("denied: the user rejected it: not now");
    terminal.wait_for("Then not.");
    wait_for_prompt(&terminal);
    assert!(!sandbox.project().join("made").exists());
    terminal.send("do\r");
    terminal.wait_until("another question", |screen| screen.matches("question: allow bash?").count() == 2);
    terminal.send("y\r");
    terminal.wait_for("Made it.");
    assert!(sandbox.project().join("made").exists());
    assert!(terminal.quit().success());
    assert!(!terminal.output().contains('\u{1b}'), "{:?}", terminal.output());
}

#[test]
fn plain_approval_always_saves_a_rule() {
    let sandbox = Sandbox::new();
    let run = r#"{"calls": [{"name": "bash", "arguments": {"command": "touch made"}}]}"#;
    let mut terminal = conversation(&sandbox, &[run, r#"{"text": "Made it."}"#]);
    terminal.send("make it\r");
    terminal.wait_for("with the rule `bash touch made` in your settings");
    terminal.send("always touch other\r");
    terminal.wait_for("the rule doesn't allow this call, which still needs approval");
    terminal.send("always\r");
    terminal.wait_for("saved in your settings: the rule applies in all directories");
    terminal.wait_for("Made it.");
    assert!(sandbox.project().join("made").exists());
    terminal.send("/permissions revoke 1\r");
    terminal.wait_for("removed from ");
    terminal.send("/permissions\r");
    terminal.wait_for("settings.json: allow bash `touch made`");
    let settings = std::fs::read_to_string(sandbox.home().join("tiller/settings.json")).unwrap();
    assert!(settings.contains("touch made") && !settings.contains("touch other"), "{settings}");
    terminal.send("/quit\r");
    assert!(terminal.wait().success());
}

#[test]
fn plain_lines_during_run_steer_or_follow_up() {
    let sandbox = Sandbox::new();
    let wait = r#"{"text": "Waiting.", "calls": [{"name": "bash", "arguments": {"command": "until [ -e go ]; do sleep 0.01; done"}}]}"#;
    let mut terminal = conversation(&sandbox, &[wait, r#"{"text": "Steered."}"#, r#"{"text": "Followed."}"#]);
    terminal.send("work\r");
    terminal.wait_for("question:");
    terminal.send("a\r");
    terminal.wait_for("allowed");
    terminal.send("> afterwards\r");
    terminal.wait_for("queued: will be sent after the agent");
    terminal.send("look here\r");
    terminal.wait_for("queued: will steer at the next");
    terminal.send("/queue\r");
    terminal.wait_for("2, steers: look here");
    sandbox.write("go", "");
    terminal.wait_for("Followed.");
    terminal.send("/quit\r");
    assert!(terminal.wait().success());
    let users: Vec<String> = sandbox.messages().into_iter().filter(|line| line.starts_with("user")).collect();
    assert_eq!(users, ["user: work", "user: look here", "user: afterwards"]);
}

#[test]
fn plain_failed_summary_asks() {
    let failing_summary = r#"{"when": "<conversation>", "error": {"failure": "fatal", "message": "no ink", "times": 1}, "text": "A tale."}"#;
    let sandbox = Sandbox::new().with_variable("TILLER_COMPACTION_KEEP_MESSAGES", "1");
    let long_answer = r#"{"text": "Long, long ago. ", "repeat": 60}"#;
    let mut terminal = conversation(&sandbox, &[failing_summary, long_answer, r#"{"text": "The end."}"#]);
    terminal.send("a story\r");
    terminal.wait_for("done");
    wait_for_prompt(&terminal);
    terminal.send("and then?\r");
    terminal.wait_for("The end.");
    wait_for_prompt(&terminal);
    terminal.send("/compact\r");
    terminal.wait_for("question: the summary failed");
    terminal.send("r\r");
    terminal.wait_for("context compacted");
    terminal.send("/quit\r");
    assert!(terminal.wait().success());
    assert!(sandbox.log().iter().any(|line| line["type"] == "compaction"));
}

#[test]
fn plain_ctrl_c_stops_the_run_and_twice_quits() {
    let sandbox = Sandbox::new();
    let mut terminal = conversation(&sandbox, &[r#"{"text": "Going on", "hang": true}"#]);
    terminal.send("go\r");
    terminal.wait_for("Going on");
    terminal.key(TerminalKey::Ctrl('c'));
    terminal.wait_for("stopped");
    wait_for_prompt(&terminal);
    terminal.key(TerminalKey::Ctrl('c'));
    terminal.wait_for("press Ctrl+C again to quit (or");
    terminal.key(TerminalKey::Ctrl('c'));
    assert!(terminal.wait().success());
    assert_eq!(sandbox.log().last().unwrap()["message"]["stopReason"], "aborted");
}

#[test]
fn plain_sigterm_keeps_the_messages() {
    let sandbox = Sandbox::new();
    let mut terminal = conversation(&sandbox, &[r#"{"text": "Going on", "hang": true}"#]);
    terminal.send("go\r");
    terminal.wait_for("Going on");
    terminal.send("> afterwards\r");
    terminal.wait_for("queued: will be sent after the agent");
    terminal.signal(Signal::SIGTERM);
    assert_eq!(terminal.wait().exit_code(), 130);
    assert_eq!(sandbox.messages(), ["user: go", "assistant: Going on"]);
    let log = sandbox.log();
    let queued = log.iter().filter(|line| line["customType"] == "tiller.queue");
    let changes: Vec<_> = queued.map(|line| line["data"]["op"].as_str().unwrap()).collect();
    assert_eq!(changes, ["add"], "what waited still waits");
}

#[test]
fn plain_blocked_stdout_ends_after_signal() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let sandbox = Sandbox::new();
        let long_answer = r#"{"text": "on and on ", "repeat": 80000,
            "calls": [{"name": "write_file", "arguments": {"path": "said", "content": "all"}}]}"#;
        let script = sandbox.script(&[&long_answer.replace('\n', ""), r#"{"text": "and", "hang": true}"#]);
        let arguments = ["--plain", "--yes", "--provider", "scripted", "--model", &script];
        let mut child = sandbox.start(sandbox.command(&arguments).stdin(Stdio::piped()));
        let _unread = child.stdout.take();
        writeln!(child.stdin.as_mut().unwrap(), "talk").unwrap();
        sandbox.wait_for_file("said");
        kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let exit_code = child.try_wait().unwrap().and_then(|status| status.code());
        let _ = child.kill();
        assert_eq!(exit_code, Some(130), "{signal}");
    }
}

#[test]
fn plain_login_reads_next_line_and_logout_removes_it() {
    let sandbox = Sandbox::new();
    let auth = sandbox.home().join("tiller/auth.json");
    let lines = "/login openai\nsk-hush-hush\n/login\n/logout openai\n/login nobody\n/login openai\n\n/login openai\n";
    let output = piped(&sandbox, &[r#"{"text": "Never asked."}"#], lines);
    assert!(output.out.contains("stored the key for openai"), "{} {}", output.out, output.err);
    assert!(output.out.contains("openai: key in auth.json"), "{}", output.out);
    assert!(output.out.contains("subscriptions (Claude, ChatGPT) are not supported"), "{}", output.out);
    assert!(output.out.contains("removed the key for"), "{}", output.out);
    assert!(output.out.contains("no key entered"), "{}", output.out);
    assert!(
        output.err.contains("unknown provider `nobody`; providers that take a key: anthropic, openai"),
        "{}",
        output.err
    );
    assert!(
        output.err.ends_with("no key entered; nothing was changed\n"),
        "the lines were over: {}",
        output.err
    );
    assert!(!format!("{}{}", output.out, output.err).contains("hush"), "{} {}", output.out, output.err);
    assert_eq!(std::fs::read_to_string(auth).unwrap(), "{}\n");
}

#[test]
fn plain_login_does_not_echo_the_key() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open(&["--plain"]);
    terminal.wait_for("For a real model: /login");
    terminal.send("/login openai\n");
    terminal.wait_for("type the key for openai on the next line");
    terminal.send("sk-hush-hush\n");
    terminal.wait_for("stored the key for openai");
    wait_for_prompt(&terminal);
    terminal.send("/name shown again");
    terminal.wait_for("> /name shown again");
    terminal.send("\n/login anthropic\n");
    terminal.wait_for("type the key for anthropic on the next line");
    terminal.send("sk-hush");
    terminal.key(TerminalKey::Ctrl('c'));
    terminal.wait_for("no key entered");
    terminal.send("/model gpt-5\n");
    terminal.wait_for("openai/gpt-5 takes effect on the next turn");
    terminal.send("/logout openai\n");
    terminal.wait_for("demo/tour is used now");
    terminal.send("/quit\n");
    assert_eq!(terminal.wait().exit_code(), 0);
    assert!(!terminal.output().contains("hush"), "{}", terminal.output());
}

#[test]
fn plain_is_used_on_dumb_terminal() {
    let sandbox = Sandbox::new().with_variable("TERM", "dumb");
    let script = sandbox.script(&[r#"{"text": "Answer one."}"#]);
    let mut terminal = sandbox.open(&["--provider", "scripted", "--model", &script]);
    terminal.wait_for("continuing as with --plain");
    terminal.wait_for("/help lists the commands");
    terminal.send("question one\r");
    terminal.wait_for("Answer one.");
    terminal.send("/quit\r");
    terminal.wait_for("tiller --session ");
    assert!(terminal.wait().success());
}

#[test]
fn locked_session_follower_reports_the_end() {
    let sandbox = Sandbox::new();
    let mut one = conversation(&sandbox, &[r#"{"text": "Answer one."}"#, r#"{"text": "Answer two."}"#]);
    one.send("question one\r");
    one.wait_for("Answer one.");
    wait_for_prompt(&one);
    let other = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&other.stdout).unwrap();
    let mut reader = sandbox.open(&["--provider", "demo", "--session", list[0]["id"].as_str().unwrap()]);
    reader.wait_for("[r]ead-only");
    reader.send("r\r");
    reader.wait_for("end of the session so far");
    reader.send("typed for nobody");
    one.send("question two\r");
    reader.wait_for("Answer two.");
    one.send("/quit\r");
    assert!(one.wait().success());
    reader.wait_for("the other process closed it");
    assert!(!reader.screen().contains("typed for nobody"), "{}", reader.screen());
    assert!(reader.wait().success());
}
