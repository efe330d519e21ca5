//! `tiller -p` against mock model servers.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::sandbox::Sandbox;
use tiller_test_support::mock_server::{AnswerPart, MockServer, Reply};

const MODEL: &str = "claude-sonnet-9-9";

fn anthropic(server: &MockServer) -> Sandbox {
    Sandbox::new()
        .with_variable("ANTHROPIC_API_KEY", "sk-ant-secret")
        .with_variable("ANTHROPIC_BASE_URL", &server.url)
}

fn openai(server: &MockServer) -> Sandbox {
    let url = format!("{}/v1", server.url);
    Sandbox::new().with_variable("OPENAI_API_KEY", "sk-secret").with_variable("OPENAI_BASE_URL", &url)
}

fn ask(sandbox: &Sandbox, provider: &str, extra_arguments: &[&str]) -> super::sandbox::RunOutput {
    let fixed = ["-p", "--provider", provider, "--model", MODEL];
    sandbox.run(&[&fixed, extra_arguments].concat())
}

/// The tool names of a request to Anthropic.
fn tool_names(body: &Value) -> Vec<&str> {
    body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn print_answer_and_anthropic_request_are_exact() {
    let server = MockServer::start([Reply::answer([AnswerPart::text("Zwölf Boxkämpfer 🥊 jagen.")])
        .split_at_random(3)
        .crlf()
        .with_noise()]);
    let sandbox = anthropic(&server);
    sandbox.write("AGENTS.md", "Use tabs.\n");
    let output = ask(&sandbox, "anthropic", &["who", "hunts?"]);
    assert_eq!(
        (output.out.as_str(), output.code),
        ("Zwölf Boxkämpfer 🥊 jagen.\n", Some(0)),
        "{}",
        output.err
    );

    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let mut body = requests[0].body.clone();
    assert_eq!(requests[0].headers["x-api-key"], "sk-ant-secret");
    assert_eq!(
        tool_names(&body),
        [
            "read_file",
            "list_files",
            "find_files",
            "grep",
            "edit_file",
            "write_file",
            "bash",
            "job",
            "web_fetch",
            "update_plan",
            "list_agents",
            "delegate_to_agent",
            "spawn_agents"
        ]
    );
    let system = body["system"][0]["text"].as_str().unwrap().to_owned();
    assert!(system.contains("## Repository Instructions\nFrom `"), "{system}");
    assert!(system.contains("AGENTS.md`:\n\nUse tabs.\n"), "{system}");
    let object = body.as_object_mut().unwrap();
    object.remove("tools");
    object.remove("system");
    assert_eq!(
        body,
        json!({
            "model": MODEL,
            "max_tokens": 8192,
            "stream": true,
            "tool_choice": {"type": "auto"},
            "messages": [{"role": "user", "content": [
                {"type": "text", "text": "who hunts?", "cache_control": {"type": "ephemeral"}}
            ]}],
        })
    );
}

#[test]
fn print_answer_and_openai_request_are_exact() {
    let server = MockServer::start([Reply::answer([AnswerPart::text("Zwölf Boxkämpfer 🥊 jagen.")])
        .split_at_random(5)
        .crlf()
        .with_noise()]);
    let sandbox = openai(&server);
    let output = ask(&sandbox, "openai", &["--system-prompt", "Be brief.", "who hunts?"]);
    assert_eq!(
        (output.out.as_str(), output.code),
        ("Zwölf Boxkämpfer 🥊 jagen.\n", Some(0)),
        "{}",
        output.err
    );

    let mut body = server.requests()[0].body.clone();
    assert_eq!(server.requests()[0].headers["authorization"], "Bearer sk-secret");
    let system = body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(system.starts_with("Be brief.\n\n## Environment\n"), "{system}");
    let object = body.as_object_mut().unwrap();
    object.remove("tools");
    object["messages"].as_array_mut().unwrap().remove(0);
    assert_eq!(
        body,
        json!({
            "model": MODEL,
            "max_tokens": 8192,
            "stream": true,
            "stream_options": {"include_usage": true},
            "tool_choice": "auto",
            "messages": [{"role": "user", "content": "who hunts?"}],
        })
    );
}

#[test]
fn print_tool_result_is_sent_to_the_model() {
    let read = AnswerPart::call("c1", "read_file", json!({"path": "notes.txt"}));
    let server = MockServer::start([
        Reply::answer([AnswerPart::text("Looking."), read]).split_at_random(1),
        Reply::answer([AnswerPart::text("It says 42.")]),
    ]);
    let sandbox = anthropic(&server);
    sandbox.write("notes.txt", "the answer is 42\n");
    let output = ask(&sandbox, "anthropic", &["what do my notes say?"]);
    assert_eq!((output.out.as_str(), output.code), ("It says 42.\n", Some(0)), "{}", output.err);
    let messages = server.requests()[1].body["messages"].clone();
    assert_eq!(messages[1]["content"][1]["input"], json!({"path": "notes.txt"}));
    let result = &messages[2]["content"][0];
    assert_eq!((&result["type"], &result["tool_use_id"]), (&json!("tool_result"), &json!("c1")));
    assert!(result["content"].to_string().contains("the answer is 42"), "{result}");
}

#[test]
fn print_command_is_denied_without_approver() {
    let run = || Reply::answer([AnswerPart::call("c1", "bash", json!({"command": "touch made"}))]);
    let server = MockServer::start([run(), Reply::answer([AnswerPart::text("Denied.")])]);
    let sandbox = anthropic(&server);
    let output = ask(&sandbox, "anthropic", &["make it"]);
    assert_eq!((output.out.as_str(), output.code), ("Denied.\n", Some(0)), "{}", output.err);
    assert!(!sandbox.project().join("made").exists());
    let result = server.requests()[1].body["messages"][2].to_string();
    assert!(result.contains("no one can approve it") && result.contains("--yes"), "{result}");

    let server = MockServer::start([run(), Reply::answer([AnswerPart::text("Made.")])]);
    let sandbox = anthropic(&server);
    let output = ask(&sandbox, "anthropic", &["--yes", "make it"]);
    assert_eq!((output.out.as_str(), output.code), ("Made.\n", Some(0)), "{}", output.err);
    assert!(sandbox.project().join("made").exists());
}

/// Runs a script with calls of a command, a dangerous command and a write; returns the output.
fn run_with_denied_calls(sandbox: &Sandbox, extra_arguments: &[&str]) -> super::sandbox::RunOutput {
    let call = |name: &str, arguments: &str| format!(r#"{{"name": "{name}", "arguments": {arguments}}}"#);
    let calls =
        [call("bash", r#"{"command": "touch made"}"#), call("bash", r#"{"command": "touch made-too"}"#)];
    let first = format!(r#"{{"calls": [{}]}}"#, calls.join(", "));
    let script = sandbox.script(&[&first, r#"{"text": "Done."}"#]);
    sandbox.run(
        &[&["-p", "--no-session", "--provider", "scripted", "--model", &script], extra_arguments, &["go"]]
            .concat(),
    )
}

#[test]
fn print_denied_calls_are_listed_on_stderr() {
    let sandbox = Sandbox::new();
    let output = run_with_denied_calls(&sandbox, &[]);
    assert_eq!((output.out.as_str(), output.code), ("Done.\n", Some(0)), "{}", output.err);
    assert_eq!(
        output.err,
        "2 calls were denied, because no one could approve them; --yes or --approval auto allows them\n"
    );
    let output = run_with_denied_calls(&sandbox, &["--approval", "read-only"]);
    assert_eq!(output.err, "2 calls were denied (bash can make changes, and read-only mode forbids them)\n");
    for allowing in [["--yes", "--no-skills"], ["--approval", "auto"]] {
        assert_eq!(run_with_denied_calls(&sandbox, &allowing).err, "", "{allowing:?}");
    }
}

#[test]
fn print_json_has_denied_calls() {
    let output = run_with_denied_calls(&Sandbox::new(), &["--mode", "json"]);
    let events = output.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let denials: Vec<Value> = events.filter(|event| event["type"] == "tool_call_denied").collect();
    assert_eq!(denials.len(), 2, "{}", output.out);
    let names = ["toolName", "cause", "reason", "allowedBy"].map(|name| denials[0][name].clone());
    assert_eq!(names, ["bash", "no_approver", "runs a command", "auto"]);
    assert!(denials[0]["toolCallId"].is_string(), "{}", denials[0]);
}

#[test]
fn trace_file_holds_what_json_mode_prints() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let trace = sandbox.write("trace.jsonl", "what was there before is gone");
    let script = sandbox.script(&[
        r#"{"calls": [{"name": "list_files", "arguments": {}}]}"#,
        r#"{"text": "Listed.", "chunk": 1}"#,
    ]);
    let fixed = ["-p", "--mode", "json", "--provider", "scripted", "--model", &script];
    let output = sandbox.run(&[&fixed[..], &["--trace", "trace.jsonl", "go"]].concat());
    assert_eq!(output.code, Some(0), "{}", output.err);
    let written = std::fs::read_to_string(&trace).unwrap();
    assert!(written.contains("agent_settled") && written.starts_with(&output.out), "{written}");
    let mode = std::fs::metadata(&trace).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn trace_file_that_cannot_be_created_is_an_error() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "Hi."}"#]);
    for mode in [&["-p"][..], &["--plain"], &["--mode", "rpc"]] {
        for file in ["no/such/directory/trace", "."] {
            let fixed = ["--provider", "scripted", "--model", &script, "--trace", file];
            let output = sandbox.run_with_stdin(&[mode, &fixed].concat(), "hello\n");
            assert_eq!((output.out.as_str(), output.code), ("", Some(2)), "{mode:?} {file}: {}", output.err);
            assert!(
                output.err.starts_with(&format!("error: --trace {file}: can't create the file")),
                "{}",
                output.err
            );
        }
    }
    assert!(sandbox.logs().is_empty());
}

#[test]
fn trace_file_is_written_in_plain_and_rpc() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "Hi."}"#]);
    let rpc = "{\"type\": \"prompt\", \"message\": \"hello\"}\n";
    for (mode, input) in [(&["--plain"][..], "hello\n"), (&["--mode", "rpc"], rpc)] {
        let fixed = ["--no-session", "--provider", "scripted", "--model", &script, "--trace", "trace"];
        let output = sandbox.run_with_stdin(&[mode, &fixed].concat(), input);
        let written = std::fs::read_to_string(sandbox.project().join("trace")).unwrap();
        assert!(written.contains(r#""type":"agent_settled""#), "{mode:?}: {} {written}", output.err);
    }
}

#[test]
fn verbose_prints_the_log_on_stderr() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "Hi."}"#]);
    let run = |extra_arguments: &[&str]| {
        sandbox.run(
            &[extra_arguments, &["-p", "--no-session", "--provider", "scripted", "--model", &script, "go"]]
                .concat(),
        )
    };
    let quiet = run(&[]);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("Hi.\n", ""));
    let verbose = run(&["-v"]);
    assert_eq!(verbose.out, "Hi.\n");
    assert!(verbose.err.contains("DEBUG") && verbose.err.contains("run ended"), "{}", verbose.err);
    let named = run(&["-v", "--log-level", "info"]);
    assert!(named.err.contains("run ended") && !named.err.contains("DEBUG"), "{}", named.err);
}

#[test]
fn print_failed_request_is_reported_without_key() {
    let body = r#"{"error":{"type":"authentication_error","message":"invalid key sk-ant-secret"}}"#;
    let server = MockServer::start([Reply::status(401, body)]);
    let sandbox = anthropic(&server);
    let output = ask(&sandbox, "anthropic", &["hi"]);
    assert_eq!((output.out.as_str(), output.code), ("", Some(1)));
    assert!(output.err.contains("invalid key") && output.err.contains("ANTHROPIC_API_KEY"), "{}", output.err);
    assert!(!output.err.contains("sk-ant-secret"), "{}", output.err);
    let log = std::fs::read_to_string(&sandbox.logs()[0]).unwrap();
    assert!(!log.contains("sk-ant-secret"), "{log}");
    assert_eq!(sandbox.messages(), ["user: hi", "assistant: "]);
}

#[test]
fn print_continue_resumes_the_session() {
    let server = MockServer::start([
        Reply::answer([AnswerPart::text("One.")]),
        Reply::answer([AnswerPart::text("Two.")]),
    ]);
    let sandbox = openai(&server);
    ask(&sandbox, "openai", &["first"]);
    let output = sandbox.run(&["-c", "-p", "second"]);
    assert_eq!(output.out, "Two.\n", "{}", output.err);
    let request = &server.requests()[1].body;
    let texts: Vec<&str> =
        request["messages"].as_array().unwrap()[1..].iter().map(|m| m["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["first", "One.", "second"]);
    assert_eq!(request["model"], MODEL, "the model is the one of the log");
    assert_eq!(sandbox.messages(), ["user: first", "assistant: One.", "user: second", "assistant: Two."]);
}

#[test]
fn print_piped_text_precedes_prompt_and_files_are_attached() {
    let server = MockServer::start([Reply::answer([AnswerPart::text("Seen.")])]);
    let sandbox = openai(&server);
    sandbox.write("a.txt", "file text\n");
    let arguments = ["-p", "--provider", "openai", "--model", MODEL, "explain", "@a.txt"];
    let output = sandbox.run_with_stdin(&arguments, "piped text\n");
    assert_eq!(output.out, "Seen.\n", "{}", output.err);
    let prompt = server.requests()[0].body["messages"][1]["content"].as_str().unwrap().to_owned();
    assert_eq!(
        prompt,
        "piped text\n\nexplain @a.txt\n\n<file path=\"a.txt\" lines=\"1\">\nfile text\n</file>"
    );
    let typed = &sandbox.log().into_iter().find(|line| line["message"]["role"] == "user").unwrap()["message"]
        ["tillerTyped"];
    assert_eq!(typed, "piped text\n\nexplain @a.txt", "the session has what was typed");
}

#[test]
fn print_images_and_pdf_files_are_attached_by_their_content() {
    let server = MockServer::start([Reply::answer([AnswerPart::text("Seen.")])]);
    let sandbox = openai(&server);
    // The name of the image doesn't describe it.
    sandbox.write("shot", "GIF89a and the rest");
    sandbox.write("paper.pdf", "%PDF-1.7 and the rest");
    let output =
        sandbox.run(&["-p", "--provider", "openai", "--model", MODEL, "compare", "@shot", "@paper.pdf"]);
    assert_eq!(output.out, "Seen.\n", "{}", output.err);
    let parts = server.requests()[0].body["messages"][1]["content"].clone();
    assert_eq!(
        parts,
        json!([
            {"type": "text", "text": "compare @shot @paper.pdf"},
            {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlhIGFuZCB0aGUgcmVzdA=="}},
            {"type": "file", "file": {
                "filename": "document.pdf",
                "file_data": "data:application/pdf;base64,JVBERi0xLjcgYW5kIHRoZSByZXN0",
            }},
        ])
    );
}

#[test]
fn print_prompt_longer_than_window_is_not_sent() {
    let server = MockServer::start([Reply::answer([AnswerPart::text("Seen.")])]);
    let sandbox = openai(&server).with_variable("TILLER_WINDOW", "2000");
    let arguments = ["-p", "--provider", "openai", "--model", "unknown-model", "explain"];
    let output = sandbox.run_with_stdin(&arguments, &"too long ".repeat(2_000));
    assert_eq!((output.out.as_str(), output.code), ("", Some(2)), "{}", output.err);
    let expected = "the message has about 4.5k tokens, more than the context window of unknown-model (2.0k); put it in a file";
    assert!(output.err.contains(expected), "{}", output.err);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn print_json_events_end_with_agent_settled() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "Hello there."}"#]);
    let output = sandbox.run(&["--mode", "json", "--provider", "scripted", "--model", &script, "hi"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let lines: Vec<Value> = output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["type"], "session");
    assert_eq!(lines.last().unwrap()["type"], "agent_settled");
    let deltas: String =
        lines.iter().filter_map(|line| line["assistantMessageEvent"]["delta"].as_str()).collect();
    assert_eq!(deltas, "Hello there.");
    let numbers: Vec<u64> = lines[1..].iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    let first = numbers[0];
    assert_eq!(numbers, (first..first + numbers.len() as u64).collect::<Vec<_>>());
}

/// A run that prints events.
fn start(sandbox: &Sandbox, answers: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let script = sandbox.script(answers);
    let arguments = ["--mode", "json", "--yes", "--provider", "scripted", "--model", &script, "talk"];
    let mut child = sandbox.start(&mut sandbox.command(&arguments));
    let events = BufReader::new(child.stdout.take().unwrap());
    (child, events)
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
}

#[test]
fn print_interrupted_run_is_printed_until_settled() {
    let sandbox = Sandbox::new();
    let (mut child, mut events) = start(&sandbox, &[r#"{"text": "I could go on", "hang": true}"#]);
    let mut line = String::new();
    while !line.contains("text_delta") {
        line.clear();
        assert_ne!(events.read_line(&mut line).unwrap(), 0, "it ended before it spoke");
    }
    send(&child, Signal::SIGINT);
    let lines: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let ends = lines.iter().filter(|line| line["type"] == "message_end");
    let stops: Vec<&Value> = ends.map(|line| &line["message"]["stopReason"]).collect();
    assert_eq!(stops, ["aborted"]);
    assert_eq!(lines.last().unwrap()["type"], "agent_settled");
    assert_eq!(sandbox.messages().len(), 2);
}

/// A run that blocks in a write: its output exceeds the pipe's capacity, and nobody reads.
fn stalled(sandbox: &Sandbox) -> (Child, BufReader<ChildStdout>) {
    let long_answer = r#"{"text": "on and on ", "repeat": 20000,
        "calls": [{"name": "write_file", "arguments": {"path": "said", "content": "all"}}]}"#;
    let (mut child, unread) =
        start(sandbox, &[&long_answer.replace('\n', ""), r#"{"text": "and", "hang": true}"#]);
    while !sandbox.project().join("said").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it said all");
        std::thread::yield_now();
    }
    (child, unread)
}

#[test]
fn print_blocked_stdout_ends_after_interrupt() {
    let sandbox = Sandbox::new();
    let (mut child, _unread) = stalled(&sandbox);
    send(&child, Signal::SIGINT);
    assert_eq!(wait_for_exit(&mut child, Duration::from_secs(10)), Some(130));
    assert_eq!(sandbox.messages()[0], "user: talk");
}

#[test]
fn print_second_interrupt_exits_at_once() {
    let sandbox = Sandbox::new();
    let (mut child, _unread) = stalled(&sandbox);
    // Two signals of one kind at once may count as one, but two kinds never do.
    send(&child, Signal::SIGINT);
    send(&child, Signal::SIGTERM);
    assert_eq!(wait_for_exit(&mut child, Duration::from_secs(2)), Some(130));
}

/// The exit code, if the process exits in time.
fn wait_for_exit(child: &mut Child, within: Duration) -> Option<i32> {
    let deadline = Instant::now() + within;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

#[test]
fn print_unwritable_log_fails_the_run() {
    let sandbox = Sandbox::new();
    sandbox.write("full", "a file, where a directory should be");
    let script = sandbox.script(&[r#"{"text": "Never."}"#]);
    let arguments = ["-p", "--provider", "scripted", "--model", &script, "--session-dir", "full/logs", "hi"];
    let output = sandbox.run(&arguments);
    assert_eq!((output.out.as_str(), output.code), ("", Some(1)), "{}", output.err);
    assert!(output.err.contains("full/logs"), "{}", output.err);
}

#[test]
fn print_max_turns_forces_final_answer_and_exit_1() {
    let sandbox = Sandbox::new();
    let list_call = r#"{"calls": [{"name": "list_files", "arguments": {}}]}"#;
    let script = sandbox.script(&[list_call, r#"{"text": "Enough."}"#]);
    let output = sandbox.run(&["-p", "--provider", "scripted", "--model", &script, "--max-turns", "1", "go"]);
    assert_eq!((output.out.as_str(), output.code), ("Enough.\n", Some(1)), "{}", output.err);
    assert!(output.err.contains("max_turns reached"), "{}", output.err);
}
