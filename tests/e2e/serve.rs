//! `tiller serve`: sessions over HTTP, with a client that knows nothing but sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, gethostname};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};
use tiller_test_support::mock_server::MockServer;

use super::providers::{KEY, answer};
use super::sandbox::Sandbox;

/// Longest wait for bytes; reached only by a test that fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
pub(super) struct Served {
    child: Child,
    pub(super) address: String,
    pub(super) token: String,
}

impl Served {
    pub(super) fn start(sandbox: &Sandbox) -> Self {
        Self::start_on(sandbox, "127.0.0.1:0")
    }

    pub(super) fn start_on(sandbox: &Sandbox, address: &str) -> Self {
        Self::start_with(sandbox, &["--listen", address])
    }

    /// Starts a server whose sessions answer from a script by default.
    pub(super) fn start_scripted(sandbox: &Sandbox, script: &str, address: &str) -> Self {
        let model = ["--provider", "scripted", "--model", script];
        Self::start_command(sandbox, sandbox.command(&[&model[..], &["serve", "--listen", address]].concat()))
    }

    fn start_with(sandbox: &Sandbox, options: &[&str]) -> Self {
        Self::start_command(sandbox, sandbox.command(&[&["serve"], options].concat()))
    }

    fn start_command(sandbox: &Sandbox, mut command: Command) -> Self {
        let mut child = sandbox.start(&mut command);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (_, address) = line.trim().split_once("://").unwrap();
        let (address, token) = address.split_once("/?token=").unwrap();
        Self { address: address.to_owned(), token: token.to_owned(), child }
    }

    /// Sends a request with these headers; returns the connection, whose response is unread.
    fn send(&self, method: &str, path: &str, headers: &[String], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        // In one write: a server that refuses the first bytes may have closed before a second write.
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn headers(&self) -> Vec<String> {
        vec![
            format!("Host: {}", self.address),
            format!("Authorization: Bearer {}", self.token),
            "Content-Type: application/json".to_owned(),
        ]
    }

    /// Sends a request with the token; returns the status and the body.
    pub(super) fn call(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let body = body.map_or(String::new(), |body| body.to_string());
        read(self.send(method, path, &self.headers(), &body))
    }

    /// Opens a stream after an event, and sends its lines.
    fn watch(&self, session: &str, last_event_id: &str) -> impl Iterator<Item = String> + use<> {
        let mut headers = self.headers();
        headers.push(format!("Last-Event-ID: {last_event_id}"));
        let stream = self.send("GET", &format!("{session}/stream"), &headers, "");
        BufReader::new(stream).lines().map(|line| line.unwrap())
    }

    /// Kills the server, which stores nothing before it ends.
    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops the server as a supervisor does; returns the exit code.
    pub(super) fn terminate(mut self) -> Option<i32> {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // A process left by a failed test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(mut stream: TcpStream) -> (u16, Value) {
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let status = response.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

/// Creates a session with this script; returns its path in the API and the id of its newest event.
pub(super) fn create(server: &Served, sandbox: &Sandbox, script: &str) -> (String, String) {
    let body = json!({"workspacePath": sandbox.project(), "provider": "scripted", "model": script});
    let (status, session) = server.call("POST", "/api/sessions", Some(body));
    assert_eq!(status, 201, "{session}");
    let path = format!("/api/sessions/{}", session["id"].as_str().unwrap());
    (path, session["lastEventId"].as_str().unwrap().to_owned())
}

#[test]
fn serve_session_goes_on_after_a_restart() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "One."}"#, r#"{"text": "Two.", "hang": true}"#]);
    let server = Served::start(&sandbox);
    let (session, event) = create(&server, &sandbox, &script);
    let lines = server.watch(&session, &event);
    assert_eq!(server.call("POST", &format!("{session}/chat"), Some(json!({"message": "hello"}))).0, 202);
    let deltas: Vec<String> = lines
        .take_while(|line| line != "event: agent_settled")
        .filter(|line| line.contains(r#""type":"text_delta""#))
        .collect();
    assert!(deltas.concat().contains(r#""delta":"One.""#), "{deltas:?}");
    let (status, record) =
        server.call("POST", &format!("{session}/bash"), Some(json!({"command": "echo from bash"})));
    assert_eq!((status, &record["output"]), (200, &json!("from bash\n")));
    let token = server.token.clone();
    assert_eq!(server.terminate(), Some(0));

    let server = Served::start(&sandbox);
    assert_eq!(server.token, token);
    assert_eq!(server.call("GET", "/api/sessions", None).1["sessions"][0]["isOpen"], false);
    // Without its name there is no scripted model.
    let model = json!({"provider": "scripted", "model": script});
    let (status, resumed) = server.call("POST", &format!("{session}/resume"), Some(model));
    assert_eq!(status, 200, "{resumed}");
    let mut lines = server.watch(&session, resumed["lastEventId"].as_str().unwrap());
    server.call("POST", &format!("{session}/chat"), Some(json!({"message": "more"})));
    assert!(lines.any(|line| line.contains(r#""delta":"Two.""#)));
    // A run that doesn't end is recorded, and its stream ends.
    assert_eq!(server.terminate(), Some(0));
    assert_eq!(lines.last(), Some(String::new()));
    let messages = sandbox.messages();
    assert!(messages.last().unwrap().starts_with("assistant: Two."), "{messages:?}");
}

#[test]
fn serve_session_without_a_key_gets_the_demo() {
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    let body = json!({"workspacePath": sandbox.project()});
    let (status, session) = server.call("POST", "/api/sessions", Some(body));
    assert_eq!((status, &session["model"]), (201, &json!("demo/tour")), "{session}");
    let body = json!({"workspacePath": sandbox.project(), "provider": "anthropic"});
    let (status, problem) = server.call("POST", "/api/sessions", Some(body));
    assert_eq!(status, 422, "{problem}");
    assert_eq!(problem["detail"], "no API key for anthropic");
}

#[test]
fn serve_key_before_it_is_also_for_resumed_sessions() {
    let models = MockServer::start([answer("One."), answer("Two.")]);
    let sandbox = Sandbox::new().with_variable("OPENAI_BASE_URL", &format!("{}/v1", models.url));
    let line = ["--provider", "openai", "--model", "gpt-5", "--api-key", KEY];
    let line = [&line[..], &["serve", "--listen", "127.0.0.1:0"]].concat();
    let server = Served::start_command(&sandbox, sandbox.command(&line));
    let (_, session) =
        server.call("POST", "/api/sessions", Some(json!({"workspacePath": sandbox.project()})));
    let session = format!("/api/sessions/{}", session["id"].as_str().unwrap());
    let chat = |event: &str| {
        let mut lines = server.watch(&session, event);
        server.call("POST", &format!("{session}/chat"), Some(json!({"message": "hello"})));
        assert!(lines.any(|line| line == "event: agent_settled"));
    };
    let resume = || server.call("POST", &format!("{session}/resume"), Some(json!({}))).1;
    chat(resume()["lastEventId"].as_str().unwrap());
    server.call("POST", &format!("{session}/close"), Some(json!({})));
    chat(resume()["lastEventId"].as_str().unwrap());
    let keys: Vec<String> =
        models.requests().iter().map(|request| request.headers["authorization"].clone()).collect();
    assert_eq!(keys, [format!("Bearer {KEY}"), format!("Bearer {KEY}")]);
}

#[test]
fn serve_provider_before_it_is_that_of_new_sessions() {
    let sandbox = Sandbox::new().with_variable("OPENAI_API_KEY", "none");
    let model = |options: &[&str]| {
        let line = [options, &["serve", "--listen", "127.0.0.1:0"]].concat();
        let server = Served::start_command(&sandbox, sandbox.command(&line));
        let body = json!({"workspacePath": sandbox.project()});
        server.call("POST", "/api/sessions", Some(body)).1["model"].as_str().unwrap().to_owned()
    };
    assert!(model(&[]).starts_with("openai/"));
    assert_eq!(model(&["--provider", "demo"]), "demo/tour");
}

#[test]
fn serve_provider_before_it_is_there_for_resumed_sessions() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "End."}"#]);
    let line = ["--provider", "scripted", "--model", &script, "serve", "--listen", "127.0.0.1:0"];
    let start = || Served::start_command(&sandbox, sandbox.command(&line));
    let server = start();
    let body = json!({"workspacePath": sandbox.project()});
    let (_, created) = server.call("POST", "/api/sessions", Some(body));
    let session = format!("/api/sessions/{}", created["id"].as_str().unwrap());
    server.call("POST", &format!("{session}/chat"), Some(json!({"message": "begin"})));
    server.terminate();
    let server = start();
    let (status, resumed) = server.call("POST", &format!("{session}/resume"), Some(json!({})));
    assert_eq!(status, 200, "{resumed}");
    assert_eq!(resumed["state"]["model"], created["state"]["model"], "{resumed}");
    assert_eq!(resumed["state"]["notices"], json!([]), "{resumed}");
}

#[test]
fn serve_agents_are_listed_read_and_steered() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[
        r#"{"calls": [{"name": "delegate_to_agent", "arguments": {"agent": "explore", "task": "LOOK"}}]}"#,
        r#"{"text": "Done."}"#,
        r#"{"when": "LOOK", "text": "Looking. ", "delay_ms": 20, "repeat": 100}"#,
        r#"{"when": "Hurry", "text": "I hurried."}"#,
    ]);
    let server = Served::start(&sandbox);
    let (session, event) = create(&server, &sandbox, &script);
    let mut lines = server.watch(&session, &event);
    server.call("POST", &format!("{session}/chat"), Some(json!({"message": "go"})));
    assert!(lines.any(|line| line == "event: agent_task_start"));
    let (status, listed) = server.call("GET", &format!("{session}/agents"), None);
    assert_eq!((status, &listed["agents"][0]["task"]), (200, &json!("LOOK")), "{listed}");
    let agent = format!("{session}/agents/{}", listed["agents"][0]["agentId"].as_str().unwrap());
    let steer = Some(json!({"message": "Hurry"}));
    assert_eq!(server.call("POST", &format!("{agent}/steer"), steer.clone()).0, 202);
    assert!(lines.any(|line| line == "event: agent_task_end"));
    let (status, read) = server.call("GET", &format!("{agent}/entries"), None);
    assert_eq!(status, 200);
    assert!(read["entries"].to_string().contains("I hurried."), "{read}");
    assert_eq!(server.call("POST", &format!("{agent}/steer"), steer).0, 404);
    let unknown = server.call("GET", &format!("{session}/agents/none/entries"), None);
    assert_eq!((unknown.0, &unknown.1["type"]), (404, &json!("urn:tiller:problem:not-found")));
}

#[test]
#[cfg(target_os = "linux")]
fn serve_raises_the_soft_limit_on_open_files() {
    let sandbox = Sandbox::new();
    let command =
        sandbox.command_after("ulimit -Sn 256 && ulimit -Hn 512", &["serve", "--listen", "127.0.0.1:0"]);
    let server = Served::start_command(&sandbox, command);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.child.id())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(files.split_whitespace().collect::<Vec<_>>()[3..5], ["512", "512"]);
}

#[test]
fn serve_base_path_is_in_every_address() {
    let sandbox = Sandbox::new();
    let mut server = Served::start_with(&sandbox, &["--listen", "127.0.0.1:0", "--base-path", "/nodes/a"]);
    assert_eq!(server.address.split_once('/').unwrap().1, "nodes/a");
    server.address.truncate(server.address.len() - "/nodes/a".len());
    let response = |method: &str, path: &str, headers: &[String], body: &str| {
        let mut response = String::new();
        server.send(method, path, headers, body).read_to_string(&mut response).unwrap();
        response
    };
    let visit = response("GET", &format!("/nodes/a/?token={}", server.token), &server.headers()[..1], "");
    assert!(visit.contains("; Path=/nodes/a/; ") && visit.contains("location: /nodes/a/\r"), "{visit}");
    let body = json!({"workspacePath": sandbox.project(), "provider": "demo"}).to_string();
    let created = response("POST", "/nodes/a/api/sessions", &server.headers(), &body);
    let (_, location) = created.split_once("location: ").unwrap();
    let location = location.split_once('\r').unwrap().0;
    assert!(location.starts_with("/nodes/a/api/sessions/"), "{location}");
    assert_eq!(server.call("GET", location, None).0, 200);
    assert_eq!(server.call("GET", "/api/sessions", None).0, 404);
    assert_eq!(sandbox.run(&["serve", "--base-path", "a/"]).code, Some(2));
}

#[test]
fn serve_session_names_its_node() {
    let sandbox = Sandbox::new();
    let node = |options: &[&str]| {
        let server = Served::start_with(&sandbox, &[&["--listen", "127.0.0.1:0"], options].concat());
        let body = json!({"workspacePath": sandbox.project(), "provider": "demo"});
        server.call("POST", "/api/sessions", Some(body)).1["node"].as_str().unwrap().to_owned()
    };
    assert_eq!(node(&["--node", "build-a"]), "build-a");
    assert_eq!(node(&[]), gethostname().unwrap().to_string_lossy());
}

#[test]
fn serve_wrong_token_host_or_origin_is_refused() {
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    let status = |host: &str, token: &str, more: Option<&str>| {
        let mut headers = vec![format!("Host: {host}"), format!("Authorization: Bearer {token}")];
        headers.extend(more.map(str::to_owned));
        read(server.send("GET", "/api/sessions", &headers, "")).0
    };
    let (host, token) = (&*server.address, &*server.token);
    assert_eq!(status(host, token, None), 200);
    assert_eq!(status(host, "wrong", None), 401);
    assert_eq!(status("evil.example", token, None), 403);
    assert_eq!(status(host, token, Some("Origin: http://evil.example")), 403);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn serve_reachable_address_needs_permission_and_tls() {
    let sandbox = Sandbox::new();
    let refused = sandbox.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--listen-anywhere"), "{}", refused.err);
    let plain = sandbox.run(&["serve", "--listen", "0.0.0.0:0", "--listen-anywhere"]);
    assert_eq!(plain.code, Some(2));
    assert!(plain.err.contains("which needs TLS"), "{}", plain.err);
}

#[test]
fn serve_session_can_be_attached_to() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "One."}"#, r#"{"text": "Two."}"#]);
    let server = Served::start(&sandbox);
    let (session, _) = create(&server, &sandbox, &script);
    let url = format!("http://{}{session}", server.address);
    let mut terminal = sandbox.open(&["--attach", &format!("{url}?token={}", server.token)]);
    terminal.wait_for("quitting leaves it open");
    server.call("POST", &format!("{session}/chat"), Some(json!({"message": "over HTTP"})));
    terminal.wait_for("over HTTP");
    terminal.wait_for_answer("One.");
    terminal.send("from a terminal\r");
    terminal.wait_for_answer("Two.");
    let (_, details) = server.call("GET", &session, None);
    assert_eq!(details["state"]["messageCount"], 4, "{details}");
    let (status, problem) = server.call("GET", &format!("{session}/attach"), None);
    assert_eq!((status, &problem["title"]), (400, &json!("Invalid request")));

    let wrong = sandbox.open(&["--attach", &format!("{url}?token=wrong")]);
    wrong.wait_for("or in TILLER_SERVER_TOKEN");
    let missing = sandbox
        .open(&["--attach", &format!("{}?token={}", url.replace("/sessions/", "/sessions/x"), server.token)]);
    missing.wait_for("(status 404 Not Found)");
    assert!(terminal.quit().success());
    let output = terminal.output();
    assert!(output.contains(&format!("Resume this session with: tiller --attach {url}\r\n")), "{output}");
    assert_eq!(server.call("GET", &session, None).1["isOpen"], true);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn serve_session_without_a_message_is_attached_to_by_id() {
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    let (session, _) = create(&server, &sandbox, &sandbox.script(&[r#"{"text": "One."}"#]));
    let id = session.rsplit('/').next().unwrap();
    let mut terminal = sandbox.open(&["--attach", &id[id.len() - 6..]]);
    terminal.wait_for("quitting leaves it open");
    terminal.send("from a terminal\r");
    terminal.wait_for_answer("One.");
    assert!(terminal.quit().success());
    let unknown = sandbox.open(&["--attach", &id.replace('0', "Z")]);
    unknown.wait_for("no session id begins or ends with");
}

#[test]
fn serve_attached_terminal_survives_a_restart() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "One."}"#, r#"{"text": "Two."}"#]);
    let server = Served::start(&sandbox);
    let (session, _) = create(&server, &sandbox, &script);
    let (address, token) = (server.address.clone(), server.token.clone());
    let mut terminal = sandbox.open(&["--attach", &format!("http://{address}{session}?token={token}")]);
    terminal.wait_for("quitting leaves it open");
    terminal.send("first\r");
    terminal.wait_for_answer("One.");
    terminal.send("/new\r");
    terminal.wait_for("can't do that while attached");
    // The refused line is still there.
    terminal.send("\u{15}");

    assert_eq!(server.terminate(), Some(0));
    terminal.wait_for("disconnected, attempt");
    terminal.send("too early\r");
    terminal.wait_for("not connected to the session");
    let server = Served::start_on(&sandbox, &address);
    terminal.wait_without("disconnected, attempt");
    // The text that wasn't sent is still there.
    terminal.send("\r");
    terminal.wait_for_answer("Two.");
    let (_, details) = server.call("GET", &session, None);
    assert_eq!(details["state"]["messageCount"], 4, "{details}");

    // A session that is closed while its server runs stays closed.
    assert_eq!(server.call("POST", &format!("{session}/close"), None).0, 204);
    assert!(terminal.wait().success());
    assert_eq!(server.call("GET", &session, None).1["isOpen"], false);
}

#[test]
fn serve_with_a_certificate_speaks_tls_only() {
    let sandbox = Sandbox::new();
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert, key) = (certified.cert.pem(), certified.signing_key.serialize_pem());
    sandbox.write("cert.pem", &cert);
    sandbox.write("key.pem", &key);
    let path = |name: &str| sandbox.project().join(name).display().to_string();
    let options = ["--listen", "127.0.0.1:0", "--cert", &path("cert.pem"), "--key", &path("key.pem")];
    let server = Served::start_with(&sandbox, &options);

    let mut roots = RootCertStore::empty();
    roots.add(certified.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    let client = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(client, TcpStream::connect(&server.address).unwrap());
    let (address, token) = (&server.address, &server.token);
    write!(stream, "GET /?token={token} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 303 ") && response.contains("; Secure\r\n"), "{response}");

    let mut plain = String::new();
    let refused = server.send("GET", "/healthz", &server.headers(), "").read_to_string(&mut plain);
    assert!(!plain.contains("HTTP/1.1"), "{plain:?} {refused:?}");
    sandbox.write("key.pem", &cert);
    let wrong = sandbox.run(&[&["serve"], &options[..]].concat());
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("can't read the key"), "{}", wrong.err);
}
