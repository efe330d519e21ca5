//! MCP servers in a session of the real binary. The server is a shell script, so that it shares no code with the
//! client.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::json;

use tiller::process::SandboxSupport;
use tiller_test_support::terminal::{Terminal, TerminalKey};

use super::sandbox::{RunOutput, Sandbox};

/// A server with one tool, which returns its arguments' text, and the handshake of earlier versions of MCP.
const SERVER: &str = r#"#!/bin/sh
echo "started in $(pwd)" >&2
while [ -n "$GATE" ] && [ ! -e "$GATE" ]; do sleep 0.02; done
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  text=$(printf '%s' "$line" | sed -n 's/.*"text":"\([^"]*\)".*/\1/p')
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"say","description":"Says it.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"said '$text' with '$KEY'"}]}' ;;
    *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// A server whose tool asks the user for a name and an age; the result is the user's answer.
const ASKING_SERVER: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"ask","description":"Asks.","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) call=$id
      printf '%s\n' '{"jsonrpc":"2.0","id":900,"method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","title":"Full name"},"age":{"type":"integer","minimum":1}},"required":["name"]}}}'
      continue ;;
    *'"id":900'*) id=$call
      answer=$(printf '%s' "$line" | sed 's/.*"result"://; s/"/\\"/g; s/}$//')
      result='{"content":[{"type":"text","text":"the answer: '$answer'"}]}' ;;
    *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// A server whose tool asks, and returns without the answer once the file `$GATE` exists.
const HASTY_SERVER: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"ask","description":"Asks.","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*)
      printf '%s\n' '{"jsonrpc":"2.0","id":900,"method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}'
      while [ ! -e "$GATE" ]; do sleep 0.02; done
      result='{"content":[{"type":"text","text":"too late"}]}' ;;
    *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

const HASTY_CALLS: [&str; 2] = [
    r#"{"calls": [{"name": "mcp__sh__ask", "arguments": {}}]}"#,
    r#"{"expect": "too late", "text": "Never mind."}"#,
];

const CALLS: [&str; 2] = [
    r#"{"calls": [{"name": "mcp__sh__say", "arguments": {"text": "hello"}}]}"#,
    r#"{"expect": "said hello", "text": "It spoke."}"#,
];

fn server(sandbox: &Sandbox) -> PathBuf {
    server_script(sandbox, SERVER)
}

fn server_script(sandbox: &Sandbox, script: &str) -> PathBuf {
    let path = sandbox.home().join("server");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn ask(sandbox: &Sandbox, extra: &[&str]) -> RunOutput {
    let script = sandbox.script(&CALLS);
    sandbox.run(&[&["-p", "--yes", "--provider", "scripted", "--model", &script, "speak"], extra].concat())
}

#[test]
fn mcp_tool_of_the_user_is_called() {
    let sandbox = Sandbox::new().with_variable("MY_KEY", "a-secret");
    let server = server(&sandbox).display().to_string();
    let added = sandbox.run(&["mcp", "add", "sh", "--env", "KEY=${MY_KEY}", "--", &server]);
    assert_eq!(added.code, Some(0), "{}", added.err);
    let output = ask(&sandbox, &["--mode", "json"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.out.contains(r#""text":"said hello with a-secret""#), "{}", output.out);
    assert!(output.out.contains("It spoke."), "{}", output.out);

    let listed = sandbox.run(&["mcp", "list", "--json"]);
    let path = sandbox.home().join("tiller/settings.json").display().to_string();
    let row = json!({"name": "sh", "transport": "stdio", "address": server, "origin": path});
    let expected = json!({"servers": [row], "disabled": []});
    assert_eq!(serde_json::from_str::<serde_json::Value>(&listed.out).unwrap(), expected);

    let tested = sandbox.run(&["mcp", "test", "sh"]);
    let project = sandbox.project().canonicalize().unwrap();
    let shown = format!(
        "sh (stdio: {server})\nfrom {path}\nrunning: sh 1\ntools: 1\n  mcp__sh__say\nstderr:\n  started in {}\n",
        project.display()
    );
    assert_eq!((tested.out, tested.code), (shown, Some(0)), "{}", tested.err);
}

#[test]
fn mcp_call_is_denied_without_approver() {
    let sandbox = Sandbox::new();
    let server = server(&sandbox).display().to_string();
    sandbox.run(&["mcp", "add", "sh", &server]);
    let script = sandbox.script(&[CALLS[0], r#"{"text": "Denied."}"#]);
    let output = sandbox.run(&["-p", "--provider", "scripted", "--model", &script, "speak"]);
    assert_eq!(output.out, "Denied.\n");
    assert!(output.err.contains("1 call was denied, because no one could approve it"), "{}", output.err);
}

#[test]
fn mcp_failed_server_is_named_and_costs_nothing_else() {
    let sandbox = Sandbox::new()
        .with_variable("MCP_SERVERS", r#"{"gone": {"command": "/no/such"}, "odd": {"command": 1}}"#);
    let server = server(&sandbox).display().to_string();
    sandbox.run(&["mcp", "add", "sh", &server]);
    let output = ask(&sandbox, &[]);
    assert_eq!((output.out.as_str(), output.code), ("It spoke.\n", Some(0)), "{}", output.err);
    let warnings: Vec<&str> = output.err.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert_eq!(
        warnings,
        [
            "warning: MCP_SERVERS: MCP server odd: `command` must be a string",
            "warning: MCP server gone: can't start /no/such: No such file or directory",
        ]
    );
    let tested = sandbox.run(&["mcp", "test", "gone"]);
    assert_eq!(tested.code, Some(1), "{}", tested.out);
}

#[test]
fn mcp_project_servers_need_trust() {
    let sandbox = Sandbox::new();
    let server = server(&sandbox).display().to_string();
    let added = sandbox.run(&["mcp", "add", "--project", "sh", &server]);
    assert_eq!(added.code, Some(0), "{}", added.err);
    assert!(sandbox.project().join(".mcp.json").is_file());
    let script = sandbox.script(&[CALLS[0], r#"{"expect": "unknown tool", "text": "No such tool."}"#]);
    let fixed = ["-p", "--yes", "--provider", "scripted", "--model", &script, "speak"];
    let output = sandbox.run(&fixed);
    assert_eq!(output.out, "No such tool.\n", "{}", output.err);
    assert!(output.err.contains(" is not trusted; ignored: .mcp.json; "), "{}", output.err);

    let output = ask(&sandbox, &["--trust-project"]);
    assert_eq!(output.out, "It spoke.\n", "{}", output.err);

    let removed = sandbox.run(&["mcp", "remove", "--project", "sh"]);
    assert_eq!(removed.code, Some(0), "{}", removed.err);
    let missing = sandbox.run(&["mcp", "remove", "--project", "sh"]);
    assert_eq!(missing.code, Some(2), "{}", missing.err);
}

#[test]
fn mcp_project_server_uses_tcp_by_a_rule() {
    if !SandboxSupport::detect().restricts_tcp() {
        eprintln!("SKIPPED: the system can't refuse TCP");
        return;
    }
    let sandbox = Sandbox::new().with_variable("TILLER_SANDBOX_MODE", "workspace");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("/dev/tcp/127.0.0.1/{}", listener.local_addr().unwrap().port());
    let connect = format!("#!/bin/bash\n: 3<>{address} || exit 1\n");
    let script = SERVER.replacen("#!/bin/sh\n", &connect, 1);
    let path = server_script(&sandbox, &script).display().to_string();
    sandbox.write(".mcp.json", &json!({ "mcpServers": { "sh": { "command": path } } }).to_string());
    let output = ask(&sandbox, &["--trust-project"]);
    assert!(output.err.contains("mcp__sh__*"), "{}", output.err);

    let rule = json!({ "tool": "mcp__sh__*", "decision": "ask", "network": true });
    let settings = json!({ "policy": { "rules": [rule] } }).to_string();
    fs::write(sandbox.home().join("tiller/settings.json"), settings).unwrap();
    let output = ask(&sandbox, &["--trust-project"]);
    assert_eq!(output.out, "It spoke.\n", "{}", output.err);
}

fn enter(terminal: &mut Terminal, line: &str) {
    terminal.wait_for("❯");
    terminal.send(line);
    terminal.wait_for(&format!("❯ {line}"));
    terminal.key(TerminalKey::Enter);
}

#[test]
fn mcp_slow_server_delays_the_request_but_not_the_screen() {
    let sandbox = Sandbox::new();
    let (server, gate) = (server(&sandbox).display().to_string(), sandbox.home().join("gate"));
    sandbox.run(&["mcp", "add", "sh", "--env", &format!("GATE={}", gate.display()), &server]);
    let mut terminal = sandbox.open_scripted(&CALLS, &[]);
    enter(&mut terminal, "speak");
    terminal.wait_for("esc stops");
    enter(&mut terminal, "/mcp");
    terminal.wait_for("starting");
    terminal.key(TerminalKey::Esc);
    fs::write(gate, "").unwrap();
    terminal.wait_for("It spoke.");
}

#[test]
fn mcp_page_shows_servers() {
    let sandbox = Sandbox::new();
    let server = server(&sandbox).display().to_string();
    sandbox.run(&["mcp", "add", "sh", &server]);
    let mut terminal = sandbox.open_scripted(&CALLS, &[]);
    enter(&mut terminal, "speak");
    terminal.wait_for_answer("It spoke.");
    enter(&mut terminal, "/mcp");
    terminal.wait_for("mcp__sh__say");
    terminal.wait_for("running: sh 1");
}

#[test]
fn mcp_question_of_a_server_is_answered_in_a_form() {
    let sandbox = Sandbox::new();
    let server = server_script(&sandbox, ASKING_SERVER).display().to_string();
    sandbox.run(&["mcp", "add", "sh", &server]);
    let script = [
        r#"{"calls": [{"name": "mcp__sh__ask", "arguments": {}}]}"#,
        r#"{"expect": "the answer: {\"action\":\"accept\",\"content\":{\"name\":\"Ada\",\"age\":36}", "text": "Hello Ada."}"#,
        r#"{"calls": [{"name": "mcp__sh__ask", "arguments": {}}]}"#,
        r#"{"expect": "the answer: {\"action\":\"cancel\"}", "text": "Never mind."}"#,
    ];
    let mut terminal = sandbox.open_scripted(&script, &[]);
    enter(&mut terminal, "greet me");
    terminal.wait_for_question("question from MCP server sh");
    terminal.wait_for("Who are you?");
    terminal.send("Ada");
    terminal.wait_for("Full name *  Ada");
    terminal.key(TerminalKey::Enter);
    terminal.send("0");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("must be at least 1");
    terminal.key(TerminalKey::Backspace);
    terminal.send("36");
    terminal.wait_for("age          36");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("▸ Send the answer");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_answer("Hello Ada.");

    enter(&mut terminal, "again");
    terminal.wait_for_question("question from MCP server sh");
    terminal.key(TerminalKey::Esc);
    terminal.wait_for("Never mind.");
}

#[test]
fn mcp_question_in_plain_takes_a_path_as_a_value() {
    let sandbox = Sandbox::new();
    let server = server_script(&sandbox, ASKING_SERVER).display().to_string();
    sandbox.run(&["mcp", "add", "sh", &server]);
    let script = [
        r#"{"calls": [{"name": "mcp__sh__ask", "arguments": {}}]}"#,
        r#"{"expect": "\"content\":{\"name\":\"/home/ada\",\"age\":36}", "text": "Hello path."}"#,
    ];
    let mut terminal = sandbox.open_scripted(&script, &["--plain"]);
    terminal.send("greet me\r");
    terminal.wait_for("y = answer; n = decline");
    terminal.send("y\r");
    terminal.wait_for("(1 of 2)");
    terminal.send("/home/ada\r");
    terminal.wait_for("(2 of 2)");
    terminal.send("36\r");
    terminal.wait_for("Hello path.");
}

fn open_hasty(sandbox: &Sandbox, options: &[&str]) -> (Terminal, PathBuf) {
    let (server, gate) = (server_script(sandbox, HASTY_SERVER), sandbox.home().join("gate"));
    let gate_variable = format!("GATE={}", gate.display());
    sandbox.run(&["mcp", "add", "sh", "--env", &gate_variable, &server.display().to_string()]);
    (sandbox.open_scripted(&HASTY_CALLS, options), gate)
}

#[test]
fn mcp_withdrawn_question_stays_until_it_is_closed() {
    let sandbox = Sandbox::new();
    let (mut terminal, gate) = open_hasty(&sandbox, &[]);
    enter(&mut terminal, "greet me");
    terminal.wait_for_question("question from MCP server sh");
    terminal.send("Ad");
    terminal.wait_for("name  Ad");
    fs::write(gate, "").unwrap();
    terminal.wait_for("withdrawn by MCP server sh");
    terminal.send("a");
    terminal.key(TerminalKey::Esc);
    terminal.wait_for("Never mind.");
    terminal.wait_without("withdrawn by");
    assert!(!terminal.screen().contains("❯ a"), "{}", terminal.screen());
}

#[test]
fn mcp_withdrawn_question_in_plain_takes_the_next_line() {
    let sandbox = Sandbox::new();
    let (mut terminal, gate) = open_hasty(&sandbox, &["--plain"]);
    terminal.send("greet me\r");
    terminal.wait_for("y = answer; n = decline");
    terminal.send("y\r");
    terminal.wait_for("(1 of 1)");
    fs::write(gate, "").unwrap();
    terminal.wait_for("the server has withdrawn its question");
    terminal.wait_for("your next line is ignored");
    terminal.wait_for("Never mind.");
    terminal.send("Ada\r");
    terminal.wait_for("ignored, typed for the withdrawn question: Ada");
    terminal.quit();
    let log = serde_json::Value::from(sandbox.log()).to_string();
    assert!(!log.contains("Ada"), "{log}");
}

#[test]
fn mcp_question_without_user_is_declined() {
    let sandbox = Sandbox::new();
    let server = server_script(&sandbox, ASKING_SERVER).display().to_string();
    sandbox.run(&["mcp", "add", "sh", &server]);
    let script = sandbox.script(&[
        r#"{"calls": [{"name": "mcp__sh__ask", "arguments": {}}]}"#,
        r#"{"expect": "It was declined: the session is non-interactive.", "text": "Declined."}"#,
    ]);
    let output = sandbox.run(&["-p", "--yes", "--provider", "scripted", "--model", &script, "ask"]);
    assert_eq!(output.out, "Declined.\n", "{}", output.err);
}

#[test]
fn mcp_serve_offers_sessions() {
    let sandbox = Sandbox::new();
    let inner = sandbox.home().join("inner.jsonl");
    fs::write(&inner, r#"{"expect": "the weather", "text": "Sunny in Oslo."}"#).unwrap();
    let server = json!({"command": env!("CARGO_BIN_EXE_tiller"), "args": ["mcp", "serve"]});
    let settings = json!({"provider": "scripted", "model": inner, "mcp_servers": {"me": server}});
    fs::create_dir_all(sandbox.home().join("tiller")).unwrap();
    fs::write(sandbox.home().join("tiller/settings.json"), settings.to_string()).unwrap();
    let call = |tool: &str, arguments: serde_json::Value| {
        json!({"calls": [{"name": format!("mcp__me__{tool}"), "arguments": arguments}]}).to_string()
    };
    let script = sandbox.script(&[
        &call("prompt_session", json!({"text": "the weather"})),
        &call("search_sessions", json!({"query": "sunny"})),
        &call("list_sessions", json!({"limit": 5})),
        &call("read_session", json!({"session": "none"})),
        r#"{"text": "Asked."}"#,
    ]);
    let output =
        sandbox.run(&["-p", "--yes", "--mode", "json", "--provider", "scripted", "--model", &script, "ask"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let results: Vec<String> = tool_results(&output.out);
    let id = results[0].strip_prefix("Sunny in Oslo.\n\n(session ").and_then(|rest| rest.strip_suffix(')'));
    let id = id.unwrap_or_else(|| panic!("{results:?}"));
    assert!(results[1].contains(id) && results[1].contains("\"matched\": true"), "{results:?}");
    assert!(results[2].contains(id), "{results:?}");
    assert!(results[3].contains("no session"), "{results:?}");

    let script = sandbox.script(&[&call("read_session", json!({"session": id})), r#"{"text": "Read."}"#]);
    let output =
        sandbox.run(&["-p", "--yes", "--mode", "json", "--provider", "scripted", "--model", &script, "read"]);
    let transcript = tool_results(&output.out).remove(0);
    assert!(transcript.ends_with(" ---\n\n> the weather\n\nSunny in Oslo.\n"), "{transcript}");
}

#[test]
fn mcp_serve_answer_of_a_prompt_has_no_warnings() {
    let sandbox = Sandbox::new();
    let inner = sandbox.home().join("inner.jsonl");
    let denied = r#"{"calls": [{"name": "bash", "arguments": {"command": "git push"}}]}"#;
    fs::write(&inner, format!("{denied}\n{}\n", r#"{"text": "It was denied."}"#)).unwrap();
    let server = json!({"command": env!("CARGO_BIN_EXE_tiller"), "args": ["mcp", "serve"]});
    let settings = json!({"provider": "scripted", "model": inner, "mcp_servers": {"me": server}});
    fs::create_dir_all(sandbox.home().join("tiller")).unwrap();
    fs::write(sandbox.home().join("tiller/settings.json"), settings.to_string()).unwrap();
    let script = sandbox.script(&[
        r#"{"calls": [{"name": "mcp__me__prompt_session", "arguments": {"text": "push it"}}]}"#,
        r#"{"text": "Asked."}"#,
    ]);
    let output =
        sandbox.run(&["-p", "--yes", "--mode", "json", "--provider", "scripted", "--model", &script, "ask"]);
    let answer = tool_results(&output.out).remove(0);
    assert!(answer.starts_with("It was denied.\n\n(session "), "{answer}");
}

/// The texts of the tools' results in a stream of events.
fn tool_results(events: &str) -> Vec<String> {
    let events = events.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let ends = events.filter(|event| event["type"] == "tool_execution_end");
    ends.map(|end| end["result"]["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}
