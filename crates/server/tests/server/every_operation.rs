//! Rules that hold for every operation of the API's description.

use serde_json::{Value, json};

use crate::response_check::CheckingClient;
use crate::support::{SseStream, TestServer, request};

/// The operations as method, path and whether they take a body.
async fn operations(server: &TestServer) -> Vec<(String, String, bool)> {
    let document = server.get("/openapi.json").await.json();
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let has_body = operation.get("requestBody").is_some();
            operations.push((method.to_uppercase(), path.clone(), has_body));
        }
    }
    assert!(operations.len() > 30, "{operations:?}");
    operations
}

fn of_session(path: &str, session: &str) -> String {
    ["{callId}", "{elicitationId}", "{jobId}", "{agentId}"]
        .iter()
        .fold(path.replace("/api/sessions/{id}", session), |path, item| path.replace(item, "none"))
}

/// A valid body of the operation at a path.
fn body(path: &str) -> Value {
    match path.rsplit('/').next().unwrap() {
        "chat" | "steer" | "follow-up" => json!({"message": "hello"}),
        "{callId}" => json!({"approved": true}),
        "{elicitationId}" => json!({"action": "cancel"}),
        "queue" => json!({"items": []}),
        "fork" | "navigate" | "label" => json!({"entryId": "none"}),
        "compaction" => json!({"choice": "retry"}),
        "model" => json!({"model": "none"}),
        "thinking" => json!({"level": "high"}),
        "bash" => json!({"command": "true"}),
        "render" => json!({"kind": "markdown", "text": "hello"}),
        _ => json!({}),
    }
}

#[tokio::test]
async fn operation_on_unknown_session_is_not_found() {
    let server = TestServer::start(&[]);
    for (method, path, _) in operations(&server).await.iter().filter(|(_, path, _)| path.contains("{id}")) {
        let answered =
            server.send(request(method, &of_session(path, "/api/sessions/none"), Some(&body(path)))).await;
        assert_eq!((answered.status, answered.problem().as_str()), (404, "not-found"), "{method} {path}");
    }
}

#[tokio::test]
async fn operation_on_closed_session_needs_resume() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create_and_chat().await;
    let server = server.restart().await;
    let of_logs = ["{id}", "resume", "entries", "articles", "tree", "export.html"];
    for (method, path, _) in operations(&server).await.iter().filter(|(_, path, _)| path.contains("{id}")) {
        if of_logs.contains(&path.rsplit('/').next().unwrap()) {
            continue;
        }
        let answered = server.send(request(method, &of_session(path, &session), Some(&body(path)))).await;
        assert_eq!(
            (answered.status, answered.problem().as_str()),
            (409, "session-not-open"),
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn bad_body_detail_names_the_reason_once() {
    let server = TestServer::start(&[]);
    let session = server.create().await;
    let details = [
        ("thinking", r#"{"level": "huge"}"#, "the field `level`: `huge` is not one of `off`, `minimal`, "),
        ("thinking", r#"{"level": "off", "foo": 1}"#, "unknown field `foo`, expected `level`"),
        ("chat", r#"{"message": 1}"#, "the field `message`: invalid type: integer `1`, expected a string"),
        ("chat", "{bad", "invalid JSON: key must be a string"),
        ("chat", r#"{"message": "x""#, "invalid JSON: unexpected end"),
        ("chat", r#"{"message": "x"} y"#, "invalid JSON: trailing characters"),
    ];
    for (operation, body, expected) in details {
        let mut request = request("POST", &format!("{session}/{operation}"), Some(&json!({})));
        *request.body_mut() = body.into();
        let answered = server.send(request).await;
        assert_eq!(answered.problem(), "invalid-request", "{body}");
        let detail = answered.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.starts_with(expected), "{body}: {detail}");
    }
    let query = server.get("/api/sessions?pages=1").await.json();
    let detail = query["detail"].as_str().unwrap();
    assert!(detail.starts_with("the query: unknown field `pages`, expected one of"), "{detail}");
}

#[tokio::test]
async fn operation_with_bad_body_is_a_problem() {
    let server = TestServer::start(&[]);
    let session = server.create().await;
    let with_body = operations(&server).await.into_iter().filter(|(.., has_body)| *has_body);
    for (method, path, _) in with_body {
        let path = of_session(&path, &session);
        let unknown = server.send(request(&method, &path, Some(&json!({"unknown": 1})))).await;
        assert_eq!((unknown.status, unknown.problem().as_str()), (400, "invalid-request"), "{method} {path}");
        let list = server.send(request(&method, &path, Some(&json!([1])))).await;
        assert_eq!(list.problem(), "invalid-request", "{method} {path}");
        assert!(list.text.contains("must be a JSON object"), "{method} {path}: {}", list.text);
        let mut text = request(&method, &path, Some(&json!({})));
        text.headers_mut().insert("content-type", "text/plain".parse().unwrap());
        assert_eq!(server.send(text).await.problem(), "not-json", "{method} {path}");
    }
}

#[tokio::test]
async fn operation_without_token_is_unauthorized() {
    let server = TestServer::start(&[]);
    for (method, path, _) in operations(&server).await {
        let mut request = request(&method, &of_session(&path, "/api/sessions/none"), None);
        request.headers_mut().remove("authorization");
        let answered = server.send(request).await;
        let expected = if path == "/healthz" { 200 } else { 401 };
        assert_eq!(answered.status, expected, "{method} {path}");
    }
}

#[tokio::test]
async fn operation_unknown_path_or_method_is_a_problem() {
    let server = TestServer::start(&[]);
    assert_eq!(server.get("/api/none").await.problem(), "not-found");
    assert_eq!(server.send(request("PATCH", "/api/sessions", None)).await.problem(), "method-not-allowed");
}

/// Answers by number, but to the words `lorem`, `LOOK` and `wait` always the same. A summary's request has all three.
fn script() -> [Value; 7] {
    let delegate = json!({"name": "delegate_to_agent", "arguments": {"agent": "helper", "task": "LOOK"}});
    let write = json!({"name": "write_file", "arguments": {"path": ".git/new", "content": "text"}});
    [
        json!({"calls": [delegate]}),
        json!({"text": "Delegated."}),
        json!({"calls": [write]}),
        json!({"text": "Written."}),
        json!({"when": "lorem", "text": "Read."}),
        json!({"when": "LOOK", "text": "Looking.", "hang": true}),
        json!({"when": "wait", "text": "Waiting.", "hang": true}),
    ]
}

/// Delegates a task to an agent, which is read, steered and stopped.
async fn drive_agent(client: &mut CheckingClient<'_>, session: &str, events: &mut SseStream) {
    client.post(&format!("{session}/chat"), json!({"message": "delegate"})).await;
    events.until("agent_task_start").await;
    let agents = client.get(&format!("{session}/agents")).await.json();
    let agent = format!("{session}/agents/{}", agents["agents"][0]["agentId"].as_str().unwrap());
    client.post(&format!("{agent}/steer"), json!({"message": "LOOK again"})).await;
    client.get(&format!("{agent}/entries")).await;
    client.post(&format!("{agent}/stop"), json!({})).await;
    events.until("agent_settled").await;
    let agents = client.get(&format!("{session}/agents")).await.json();
    assert!(agents["tasks"][0]["end"]["error"].is_string(), "{agents}");
}

/// Answers an approval request, and changes the queue of a run that it stops.
async fn drive_runs(client: &mut CheckingClient<'_>, session: &str, events: &mut SseStream) {
    client.post(&format!("{session}/chat"), json!({"message": "write"})).await;
    let asked = events.until("approval_required").await.pop().unwrap().data;
    let call = format!("{session}/approvals/{}", asked["toolCallId"].as_str().unwrap());
    client.post(&call, json!({"approved": true})).await;
    events.until("agent_settled").await;

    client.post(&format!("{session}/chat"), json!({"message": "wait"})).await;
    events.until("text_delta").await;
    client.post(&format!("{session}/steer"), json!({"message": "left"})).await;
    client.post(&format!("{session}/follow-up"), json!({"message": "later"})).await;
    client.get(session).await;
    let queue = client.get(&format!("{session}/queue")).await;
    let items = json!({"items": [{"id": queue.json()["items"][0]["id"]}]});
    let mut change = request("PUT", &format!("{session}/queue"), Some(&items));
    change.headers_mut().insert("if-match", queue.headers["etag"].clone());
    client.send(change).await;
    client.send(request("DELETE", &format!("{session}/queue"), None)).await;
    client.post(&format!("{session}/follow-up"), json!({"message": "later"})).await;
    client.post(&format!("{session}/abort"), json!({})).await;
    events.until("agent_settled").await;
}

/// Compacts, labels, forks and navigates; chooses the model; runs a command.
async fn drive_branches(client: &mut CheckingClient<'_>, session: &str, events: &mut SseStream) {
    for _ in 0..2 {
        client.post(&format!("{session}/chat"), json!({"message": "lorem ".repeat(20_000)})).await;
        events.until("agent_settled").await;
    }
    let entries = client.get(&format!("{session}/entries")).await.json();
    let entries = entries["entries"].as_array().unwrap();
    let id = entries.iter().find(|entry| entry["type"] == "message").unwrap()["id"].clone();
    client.post(&format!("{session}/label"), json!({"entryId": id, "label": "start"})).await;
    client.post(&format!("{session}/compact"), json!({})).await;
    client.post(&format!("{session}/compaction"), json!({"choice": "retry"})).await;
    client.post(&format!("{session}/bash"), json!({"command": "true"})).await;
    let model = client.get("/api/models").await.json()["models"][0].clone();
    let model = json!({"provider": model["provider"], "model": model["id"]});
    client.post(&format!("{session}/model"), model).await;
    client.post(&format!("{session}/thinking"), json!({"level": "high"})).await;
    client.post(&format!("{session}/fork"), json!({"entryId": id})).await;
    client.post(&format!("{session}/navigate"), json!({"entryId": id, "summary": "Left."})).await;
}

#[tokio::test]
async fn operation_responses_match_the_description() {
    let server = TestServer::start(&script());
    let mut client = CheckingClient::new(&server).await;
    let body = json!({"workspacePath": server.workspace(), "name": "all"});
    let created = client.post("/api/sessions", body).await.json();
    let session = format!("/api/sessions/{}", created["id"].as_str().unwrap());
    let of_session = ["entries", "tree", "articles", "stats", "context", "queue", "agents", "export.html"];
    for name in of_session {
        assert_eq!(client.get(&format!("{session}/{name}")).await.status, 200, "{name}");
    }
    let (mut events, _) = server.watch_from_now(&session).await;
    drive_agent(&mut client, &session, &mut events).await;
    drive_runs(&mut client, &session, &mut events).await;
    drive_branches(&mut client, &session, &mut events).await;
    for name in of_session {
        assert_eq!(client.get(&format!("{session}/{name}")).await.status, 200, "{name}");
    }
    client.post(&format!("{session}/close"), json!({})).await;
    client.get(&session).await;
    client.get(&format!("{session}/stats")).await;
    for query in ["limit=1", "query=lorem", "limit=none"] {
        client.get(&format!("/api/sessions?{query}")).await;
    }
    client.post(&format!("{session}/resume"), json!({})).await;
    client.post("/api/render", json!({"kind": "markdown", "text": "*hello*"})).await;
    client.get(&format!("/api/skills?workspacePath={}", server.workspace().display())).await;
    for path in ["/api/roots", "/openapi.json", "/healthz", "/metrics", "/"] {
        assert_eq!(client.get(path).await.status, 200, "{path}");
    }
    client.send(request("DELETE", &format!("{session}?permanently=true"), None)).await;
    client.get(&session).await;
    assert_eq!(client.missing(), Vec::<String>::new());
}
