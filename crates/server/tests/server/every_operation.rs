//! Rules that hold for every operation of the API's description.

use serde_json::{Value, json};

use crate::support::{TestServer, request};

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
