//! `--mode rpc`: recorded conversations replayed against the binary, and cases that a recording can't show.

mod client;
mod recordings;

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::sandbox::Sandbox;
use client::Client;
use tiller_test_support::mock_server::{AnswerPart, MockServer, Reply};

/// A conversation with a scripted model.
fn start_client(sandbox: &Sandbox, answers: &[&str], extra_arguments: &[&str]) -> Client {
    let script = sandbox.script(answers);
    Client::start(sandbox, &[&["--provider", "scripted", "--model", &script], extra_arguments].concat())
}

#[test]
fn rpc_malformed_input_gets_error_responses() {
    let sandbox = Sandbox::new();
    let mut client = start_client(&sandbox, &[r#"{"text": "hi"}"#], &[]);
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let deep_field = format!(r#"{{"type": "prompt", "message": {deep}}}"#);
    let cases: [(&[u8], &str, &str); 10] = [
        (b"{", "parse", "not JSON"),
        (b"hello", "parse", "not JSON"),
        (b"\xff\xfe", "parse", "not JSON"),
        (b"[]", "parse", "a command must be a JSON object"),
        (b"{}", "parse", "`type`"),
        (deep.as_bytes(), "parse", "a command must be a JSON object"),
        (deep_field.as_bytes(), "prompt", "the field `message` can't be read: recursion limit"),
        (br#"{"type": "dance"}"#, "dance", "unknown command `dance`"),
        (br#"{"type": "prompt"}"#, "prompt", "missing field `message`"),
        (
            br#"{"type": "prompt", "message": 7}"#,
            "prompt",
            "the field `message`: invalid type: integer `7`, expected a string",
        ),
    ];
    for (line, command, error) in cases {
        client.send_bytes(line);
        let answer = client.line();
        assert_eq!((&answer["command"], &answer["success"]), (&json!(command), &json!(false)), "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(error), "{answer}");
    }
    client.send_bytes(b"");
    client.send(&json!({"type": "get_state", "id": {"any": ["thing"]}}));
    assert_eq!(client.line()["id"], json!({"any": ["thing"]}));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn rpc_window_of_local_model_is_read_again_when_it_is_loaded() {
    let list = |loaded: &str| {
        Reply::status(200, &format!(r#"{{"data": [{{"id": "qwen", "max_context_length": 90000{loaded}}}]}}"#))
    };
    let answer = Reply::answer([AnswerPart::text("Hi.")]);
    let server = MockServer::start([list(""), answer, list(r#", "loaded_context_length": 40000"#)]);
    let sandbox = Sandbox::new().with_variable("LMSTUDIO_BASE_URL", &format!("{}/v1", server.url));
    let mut client = Client::start(&sandbox, &["--provider", "lmstudio"]);
    client.send(&json!({"type": "prompt", "message": "hello"}));
    client.wait_for("model_changed");
    client.send(&json!({"type": "get_state"}));
    let state = client.wait_for("get_state").pop().unwrap()["data"].clone();
    assert_eq!(state["model"]["contextWindow"], 40_000, "{state}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn rpc_switching_session_stops_the_run() {
    let sandbox = Sandbox::new();
    let mut client = start_client(&sandbox, &[r#"{"text": "Going on", "hang": true}"#], &[]);
    client.send(&json!({"type": "prompt", "message": "one"}));
    client.wait_for("message_update");
    client.send(&json!({"type": "prompt", "message": "later", "streamingBehavior": "followUp"}));
    client.send(&json!({"type": "new_session"}));
    let lines = client.wait_for("new_session");
    assert_eq!(lines.last().unwrap()["success"], true, "{lines:?}");
    assert!(lines.iter().any(|line| line["type"] == "agent_settled"), "{lines:?}");
    client.send(&json!({"type": "get_state"}));
    let state = client.wait_for("get_state").pop().unwrap()["data"].clone();
    assert_eq!((&state["messageCount"], &state["pendingMessageCount"]), (&json!(0), &json!(0)), "{state}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn rpc_deltas_of_nested_agents_are_sent_on_demand() {
    let sandbox = Sandbox::new();
    let delegate = |agent: &str, task: &str| {
        let arguments = json!({"agent": agent, "task": task});
        json!([{"name": "delegate_to_agent", "arguments": arguments}])
    };
    let answers = [
        json!({"calls": delegate("worker", "OUTER task")}),
        json!({"text": "First."}),
        json!({"calls": delegate("worker", "OUTER task")}),
        json!({"text": "Second."}),
        json!({"calls": delegate("worker", "OUTER task")}),
        json!({"text": "Third."}),
        json!({"when": "OUTER", "calls": delegate("explore", "INNER task")}),
        json!({"when": "INNER", "text": "It is deep."}),
        json!({"when": "It is deep.", "text": "It is far."}),
    ];
    let answers = answers.map(|answer| answer.to_string());
    let mut client = start_client(&sandbox, &answers.each_ref().map(String::as_str), &[]);
    let mut delta_senders = |command: Option<Value>| {
        command.into_iter().for_each(|command| client.send(&command));
        client.send(&json!({"type": "prompt", "message": "go"}));
        let lines = client.wait_for("agent_settled");
        let is_delta = |line: &&Value| line["event"]["type"] == "message_update";
        let start = |name: &str| {
            let is_start = |kind: &Value| kind["type"] == "agent_task_start" && kind["name"] == name;
            let found = lines
                .iter()
                .find_map(|line| [line, &line["event"]].into_iter().find(|event| is_start(event)).cloned());
            found.unwrap()["agentId"].clone()
        };
        let (outer, inner) = (start("worker"), start("explore"));
        let parent = lines.iter().find(|line| line["agentId"] == outer && line["parentId"].is_string());
        let parent = parent.unwrap()["parentId"].clone();
        let senders = lines.iter().filter(is_delta).map(|line| (&line["agentId"], &line["parentId"]));
        let senders: Vec<_> = senders.collect();
        [senders.contains(&(&outer, &parent)), senders.contains(&(&inner, &outer))]
    };
    assert_eq!(delta_senders(None), [false, false]);
    assert_eq!(delta_senders(Some(json!({"type": "set_agent_deltas", "enabled": true}))), [true, true]);
    assert_eq!(delta_senders(Some(json!({"type": "set_deltas", "enabled": false}))), [false, false]);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn rpc_list_sessions_without_log_stores_nothing() {
    let sandbox = Sandbox::new();
    let mut client = start_client(&sandbox, &[], &["--no-session"]);
    client.send(&json!({"type": "list_sessions"}));
    assert_eq!(client.wait_for("list_sessions").pop().unwrap()["data"]["sessions"], json!([]));
    assert_eq!(client.end(), Some(0));
    assert!(!sandbox.home().join("tiller/state/sessions.db").exists());
}

#[test]
fn rpc_too_long_line_is_skipped() {
    let sandbox = Sandbox::new();
    let mut client = start_client(&sandbox, &[], &[]);
    client.send_bytes(&[br#"{"type": "prompt", "message": ""#.as_slice(), &vec![b'x'; 65 << 20]].concat());
    let answer = client.line();
    assert_eq!(answer["error"], "the line is longer than 64 MiB");
    client.send(&json!({"type": "get_last_assistant_text"}));
    assert_eq!(client.line()["data"], json!({"text": null}));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn rpc_lines_end_at_line_feed_only() {
    let sandbox = Sandbox::new();
    let mut client = start_client(&sandbox, &[r#"{"text": "a\u2028b"}"#], &[]);
    client.send_bytes("{\"type\": \"prompt\", \"message\": \"one\u{2028}two\u{2029}\u{85}\"}\r".as_bytes());
    client.wait_for("agent_settled");
    assert_eq!(client.end(), Some(0));
    assert_eq!(sandbox.messages(), ["user: one\u{2028}two\u{2029}\u{85}", "assistant: a\u{2028}b"]);
}

#[test]
fn rpc_prompt_images_are_sent() {
    let server = MockServer::start([Reply::answer([AnswerPart::text("A dot.")])]);
    let sandbox = Sandbox::new()
        .with_variable("ANTHROPIC_API_KEY", "sk-ant")
        .with_variable("ANTHROPIC_BASE_URL", &server.url);
    let mut client = Client::start(&sandbox, &["--provider", "anthropic", "--model", "claude-sonnet-9-9"]);
    let dot =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let image = json!({"type": "image", "data": dot, "mimeType": "image/png"});
    client.send(&json!({"type": "prompt", "message": "what is it?", "images": [image]}));
    client.wait_for("agent_settled");
    assert_eq!(client.end(), Some(0));
    let content = server.requests()[0].body["messages"][0]["content"].clone();
    assert_eq!(content[0]["text"], "what is it?");
    let source = json!({"type": "base64", "media_type": "image/png", "data": dot});
    assert_eq!(content[1]["source"], source, "{content}");
}

#[test]
fn rpc_closed_stdin_ends_the_run() {
    let sandbox = Sandbox::new();
    let mut client = start_client(&sandbox, &[r#"{"text": "Let me think", "hang": true}"#], &[]);
    client.send(&json!({"type": "prompt", "message": "think"}));
    client.wait_for("message_update");
    client.send(&json!({"type": "follow_up", "message": "and then?"}));
    client.wait_for("queue_update");
    client.hang_up();
    let last = client.rest();
    assert_eq!(last.last().unwrap()["type"], "agent_settled", "{last:?}");
    assert_eq!(client.wait(), Some(0));
    let log = sandbox.log();
    let answer = &log.last().unwrap()["message"];
    assert_eq!((&answer["role"], &answer["stopReason"]), (&json!("assistant"), &json!("aborted")));
    assert!(!log_is_locked(&sandbox));
    // The queued message is sent next.
    let mut client = start_client(&sandbox, &[], &["-c"]);
    client.send(&json!({"type": "get_queue"}));
    let item = client.line()["data"]["items"][0].clone();
    assert_eq!((&item["text"], &item["held"]), (&json!("and then?"), &json!(true)));
    assert_eq!(client.end(), Some(0));
}

fn log_is_locked(sandbox: &Sandbox) -> bool {
    let log = std::fs::File::open(&sandbox.logs()[0]).unwrap();
    log.try_lock().is_err()
}

#[test]
fn rpc_commands_before_end_of_stdin_get_responses() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "hi"}"#]);
    let input = "{\"type\": \"get_tree\"}\n{\"type\": \"list_sessions\"}\n{\"type\": \"get_session_stats\"}";
    let output =
        sandbox.run_with_stdin(&["--mode", "rpc", "--provider", "scripted", "--model", &script], input);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let mut responses: Vec<String> = output
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["command"].as_str().unwrap().to_owned())
        .collect();
    responses.sort();
    assert_eq!(responses, ["get_session_stats", "get_tree", "list_sessions"]);
}

#[test]
fn rpc_signal_stops_run_and_exits() {
    let sandbox = Sandbox::new();
    let mut client = start_client(&sandbox, &[r#"{"text": "Let me think", "hang": true}"#], &[]);
    client.send(&json!({"type": "prompt", "message": "think"}));
    client.wait_for("message_update");
    client.signal(nix::sys::signal::Signal::SIGTERM);
    assert_eq!(client.rest().last().unwrap()["type"], "agent_settled");
    assert_eq!(client.wait(), Some(130));
}

#[test]
fn rpc_slow_reader_gets_missed_events_report() {
    let sandbox = Sandbox::new();
    // More events than the queue holds, and then a message.
    let flood = r#"{"text": "x", "repeat": 60000, "calls": [{"name": "write_file", "arguments": {"path": "made", "content": "done"}}]}"#;
    let mut client = start_client(&sandbox, &[flood, r#"{"text": "The end."}"#], &["--yes"]);
    client.send_unread(&json!({"type": "prompt", "message": "flood"}));
    // Nobody reads, and the run still continues to its end.
    sandbox.wait_for_file("made");
    client.read();
    let lines = client.wait_for("agent_settled");
    let lagged = lines.iter().find(|line| line["name"] == "lagged").expect("events were lost");
    assert!(lagged["data"]["events"].as_u64().unwrap() > 0 && lagged["type"] == "trace", "{lagged}");
    let ends = lines.iter().filter(|line| line["type"] == "message_end");
    let roles: Vec<&str> = ends.map(|line| line["message"]["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"]);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn rpc_closed_stdout_exits() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "x", "repeat": 100000, "delay_ms": 1}"#]);
    let mut command = sandbox.command(&["--mode", "rpc", "--provider", "scripted", "--model", &script]);
    let mut child = sandbox.start(command.stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"{\"type\": \"prompt\", \"message\": \"x\"}\n").unwrap();
    drop(child.stdout.take());
    // Stdin stays open: a closed stdout is enough.
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(stdin);
}

#[test]
fn rpc_slow_command_does_not_block_others() {
    let sandbox = Sandbox::new();
    let mut client = start_client(&sandbox, &[], &[]);
    client.send(&json!({"id": "slow", "type": "bash", "command": "sleep 60"}));
    client.wait_for("bash_execution_start");
    client.send(&json!({"id": "quick", "type": "get_state"}));
    assert_eq!(client.line()["id"], "quick");
    let start = std::time::Instant::now();
    client.send(&json!({"id": "stop", "type": "abort_bash"}));
    let mut lines = client.wait_for("bash_execution_end");
    while lines.iter().filter(|line| line["type"] == "response").count() < 2 {
        lines.push(client.line());
    }
    let slow = lines.iter().find(|line| line["id"] == "slow" && line["type"] == "response").unwrap();
    assert_eq!((&slow["success"], &slow["data"]["cancelled"]), (&json!(true), &json!(true)), "{slow}");
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn rpc_running_call_becomes_a_job_that_can_be_stopped() {
    let run = r#"{"calls": [{"name": "bash", "arguments": {"command": "echo up; exec sleep 600"}}]}"#;
    let sandbox = Sandbox::new();
    let mut client = start_client(&sandbox, &[run, r#"{"text": "Moved."}"#], &["--approval", "auto"]);
    client.send(&json!({"type": "prompt", "message": "serve"}));
    client.wait_for("tool_execution_update");
    client.send(&json!({"type": "move_to_background"}));
    client.wait_for("agent_settled");
    let mut ask = |command: &Value| {
        client.send(command);
        client.wait_for("response").pop().unwrap()
    };
    let jobs = ask(&json!({"type": "get_jobs"}))["data"]["jobs"].take();
    let field = |name: &str| jobs[0][name].clone();
    assert_eq!(
        [field("jobId"), field("status"), field("command")],
        ["job_1", "running", "echo up; exec sleep 600"]
    );
    assert_eq!(ask(&json!({"type": "stop_job", "jobId": "job_1"}))["success"], true);
    let jobs = ask(&json!({"type": "get_jobs"}))["data"]["jobs"].take();
    assert_eq!(jobs[0]["status"], "stopped");
    let error = ask(&json!({"type": "stop_job", "jobId": "job_1"}))["error"].take();
    assert_eq!(error, "there is no running background job with that id");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn rpc_approval_mode_is_set_and_plan_returned() {
    let sandbox = Sandbox::new();
    let mut client = start_client(&sandbox, &[r#"{"text": "First a, then b."}"#], &[]);
    client.send(&json!({"type": "set_approval_mode", "mode": "auto"}));
    assert_eq!(client.line()["success"], true);
    client.send(&json!({"type": "toggle_plan"}));
    let entered = client.wait_for("toggle_plan").pop().unwrap();
    assert_eq!(entered["data"], json!({"approvalMode": "plan", "plan": null}));
    client.send(&json!({"type": "prompt", "message": "plan it"}));
    client.wait_for("agent_settled");
    client.send(&json!({"type": "toggle_plan"}));
    let left = client.wait_for("toggle_plan").pop().unwrap();
    assert_eq!(left["data"], json!({"approvalMode": "auto", "plan": "First a, then b."}));
}

#[test]
fn rpc_approvals_follow_opt_in() {
    let run = r#"{"calls": [{"id": "c", "name": "bash", "arguments": {"command": "touch made"}}]}"#;
    let sandbox = Sandbox::new();
    let mut client =
        start_client(&sandbox, &[run, r#"{"text": "Asked."}"#, run, r#"{"text": "Denied."}"#], &[]);
    client.send(&json!({"type": "set_approvals", "enabled": true}));
    assert_eq!(client.line()["success"], true);
    client.send(&json!({"type": "prompt", "message": "make it"}));
    let request = client.wait_for("approval_requested").pop().unwrap();
    assert_eq!((&request["toolCallId"], &request["args"]["command"]), (&json!("c"), &json!("touch made")));
    client.send(&json!({"type": "approve", "callId": "c", "decision": "once"}));
    client.wait_for("agent_settled");
    assert!(sandbox.project().join("made").exists());
    client.send(&json!({"type": "prompt", "message": "make it again"}));
    client.wait_for("approval_requested");
    client.send(&json!({"type": "set_approvals", "enabled": false}));
    let lines = client.wait_for("agent_settled");
    let result = lines.iter().find(|line| line["type"] == "tool_execution_end").unwrap();
    assert_eq!(result["isError"], true);
    assert!(result["result"].to_string().contains("no one can approve it anymore"), "{result}");
    client.send(&json!({"type": "approve", "callId": "c", "decision": "once"}));
    let responses = client.wait_for("approve");
    assert_eq!(responses.last().unwrap()["error"], "there is no pending approval request for that call");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn rpc_always_saves_a_rule_that_decides() {
    let run = r#"{"calls": [{"id": "c", "name": "bash", "arguments": {"command": "touch made"}}]}"#;
    let sandbox = Sandbox::new();
    let mut client = start_client(&sandbox, &[run, r#"{"text": "Made."}"#], &[]);
    client.send(&json!({"type": "set_approvals", "enabled": true}));
    client.send(&json!({"type": "prompt", "message": "make it"}));
    let request = client.wait_for("approval_requested").pop().unwrap();
    assert_eq!(request["proposed"], json!({"tool": "bash", "match": ["touch made"]}));
    let mut answer = |fields: Value| {
        let mut command = json!({"type": "approve", "callId": "c", "decision": "always"});
        command.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        client.send(&command);
        client.wait_for("approve").pop().unwrap()
    };
    let refused = answer(json!({"scope": "project"}));
    assert_eq!(refused["error"], "the project's settings can't be changed here");
    let missed = answer(json!({"match": ["touch other"]}));
    assert_eq!(missed["data"], json!({"isPending": true}), "{missed}");
    client.send(&json!({"type": "approve", "callId": "c", "decision": "always"}));
    let lines = client.wait_for("agent_settled");
    let resolved = lines.iter().find(|line| line["type"] == "approval_resolved").unwrap();
    assert_eq!(resolved["decision"], json!({"decision": "once"}), "{resolved}");
    assert!(sandbox.project().join("made").exists());
    let settings = std::fs::read_to_string(sandbox.home().join("tiller/settings.json")).unwrap();
    let rule = |line: &str| json!({"tool": "bash", "match": line, "decision": "allow"});
    let expected = json!({"policy": {"rules": [rule("touch other"), rule("touch made")]}});
    assert_eq!(serde_json::from_str::<Value>(&settings).unwrap(), expected);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn rpc_templates_and_skills_are_listed_and_expanded() {
    let sandbox = Sandbox::new();
    let mut client = start_client(&sandbox, &[r#"{"text": "Good day."}"#], &[]);
    let prompts = sandbox.home().join("tiller/prompts");
    std::fs::create_dir_all(&prompts).unwrap();
    let file = prompts.join("greet.md");
    std::fs::write(&file, "---\ndescription: Greets\n---\nGreet $1 kindly.").unwrap();
    client.send(&json!({"type": "reload"}));
    let counts = client.wait_for("reload").pop().unwrap()["data"].clone();
    assert!(counts["templates"].as_u64() > Some(1) && counts["skills"].as_u64() > Some(1), "{counts}");
    client.send(&json!({"type": "get_commands"}));
    let commands = client.wait_for("get_commands").pop().unwrap()["data"]["commands"].clone();
    let named = |name: &str| {
        let found = commands.as_array().unwrap().iter().find(|command| command["name"] == name);
        found.unwrap_or_else(|| panic!("{name}: {commands}"))
    };
    let greet = named("greet");
    assert_eq!((&greet["description"], &greet["source"]), (&json!("Greets"), &json!("prompt")));
    assert_eq!(greet["sourceInfo"]["path"], json!(file.canonicalize().unwrap()));
    assert_eq!(named("skill:commit")["source"], "skill");
    client.send(&json!({"type": "prompt", "message": "/greet Ada"}));
    client.wait_for("agent_settled");
    assert_eq!(client.end(), Some(0));
    assert_eq!(sandbox.messages()[0], "user: Greet Ada kindly.");
}

#[test]
fn rpc_settings_have_sources() {
    let sandbox = Sandbox::new().with_variable("TILLER_RETRY_MAX", "2");
    let mut client = start_client(&sandbox, &[], &["--thinking", "off"]);
    client.send(&json!({"type": "get_settings"}));
    let settings = client.line()["data"]["settings"].clone();
    let setting =
        |name: &str| settings.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    assert_eq!(
        (&setting("retry.max")["value"], &setting("retry.max")["default"]),
        (&json!("2"), &json!("5"))
    );
    assert!(setting("thinking")["source"].as_str().unwrap().contains("--thinking"), "{settings}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn rpc_failed_summary_is_decided_by_client() {
    let failing_summary = r#"{"when": "<conversation>", "error": {"failure": "fatal", "message": "no ink"}}"#;
    let sandbox = Sandbox::new().with_variable("TILLER_COMPACTION_KEEP_MESSAGES", "1");
    let mut client = start_client(&sandbox, &[failing_summary, r#"{"text": "Long ago."}"#], &["--approvals"]);
    client.send(&json!({"type": "prompt", "message": "tell me a story ".repeat(50)}));
    client.wait_for("agent_settled");
    client.send(&json!({"id": "c", "type": "compact"}));
    let failed = client.wait_for("compaction_failed").pop().unwrap();
    assert_eq!(failed["choices"], json!(["retry", "truncate", "go_on"]));
    client.send(&json!({"type": "get_snapshot"}));
    let summary = client.wait_for("get_snapshot").pop().unwrap()["data"]["summary"].clone();
    assert_eq!((&summary["of"], &summary["reason"]), (&json!("context"), &json!("manual")), "{summary}");
    client.send(&json!({"type": "set_approvals", "enabled": false}));
    let lines = client.wait_for("compaction_end");
    assert!(lines.last().unwrap()["errorMessage"].as_str().unwrap().contains("no ink"), "{lines:?}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn rpc_message_argument_is_a_usage_error() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["--mode", "rpc", "--provider", "demo", "hello"]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
    assert!(output.err.contains("stdin"), "{}", output.err);
}

#[test]
fn rpc_agents_are_listed_steered_and_stopped() {
    let delegate = r#"{"calls": [{"name": "spawn_agents", "arguments": {"on_error": "collect", "tasks": [
        {"agent": "explore", "task": "LOOK"}, {"agent": "worker", "task": "WORK"}]}}]}"#
        .replace('\n', "");
    let script = [
        delegate.as_str(),
        r#"{"text": "Done."}"#,
        r#"{"when": "LOOK", "text": "Looking. ", "delay_ms": 20, "repeat": 10000}"#,
        r#"{"when": "WORK", "text": "half", "hang": true}"#,
        r#"{"when": "Hurry", "text": "I hurried."}"#,
    ];
    let sandbox = Sandbox::new();
    let mut client = start_client(&sandbox, &script, &["--approval", "auto"]);
    client.send(&json!({"type": "prompt", "message": "go"}));
    let starts = [client.wait_for("agent_task_start"), client.wait_for("agent_task_start")];
    let starts = starts.map(|mut lines| lines.pop().unwrap());
    let id = |name: &str| starts.iter().find(|start| start["name"] == name).unwrap()["agentId"].clone();
    client.wait_for("agent_event");
    client.send(&json!({"type": "get_agents"}));
    let listed = client.wait_for("response").pop().unwrap()["data"].take();
    assert_eq!(listed["agents"].as_array().unwrap().len(), 2, "{listed}");
    let names: Vec<&str> =
        listed["definitions"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["explore", "reviewer", "worker"]);
    client.send(&json!({"type": "get_entries", "agentId": id("worker")}));
    let read = client.wait_for("response").pop().unwrap();
    assert_eq!(read["success"], true, "{read}");
    client.send(&json!({"type": "abort_agent", "agentId": id("worker")}));
    let ended = client.wait_for("agent_task_end").pop().unwrap();
    assert_eq!((&ended["agentId"], &ended["error"]), (&id("worker"), &json!("stopped")));
    client.send(&json!({"type": "steer_agent", "agentId": id("explore"), "message": "Hurry"}));
    client.send(&json!({"type": "abort"}));
    client.wait_for("agent_settled");
    client.send(&json!({"id": "ended", "type": "get_entries", "agentId": id("worker")}));
    let mut entries = Value::Null;
    while entries["id"] != "ended" {
        entries = client.line();
    }
    assert!(entries["data"]["entries"].to_string().contains("WORK"), "of an agent that has ended: {entries}");
    client.send(&json!({"id": "last", "type": "steer_agent", "agentId": "nobody", "message": "Hurry"}));
    let mut response = Value::Null;
    while response["id"] != "last" {
        response = client.line();
    }
    assert_eq!(response["error"], "there is no running agent with that id");
    assert_eq!(client.end(), Some(0));
}
