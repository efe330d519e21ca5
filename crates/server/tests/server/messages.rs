//! Messages, the queue, and approvals.

use serde_json::{Value, json};

use crate::support::{Answered, SseStream, TestServer, request};

/// A session whose run hangs after its first text, and its stream.
async fn hanging(server: &TestServer) -> (String, SseStream) {
    let session = server.create().await;
    let (mut events, _) = server.watch_from_now(&session).await;
    server.post(&format!("{session}/chat"), json!({"message": "hello"})).await;
    events.until("text_delta").await;
    (session, events)
}

fn hang() -> Value {
    json!({"text": "Working", "hang": true})
}

/// The beginnings of files, in base64.
const PNG: &str = "iVBORw0KGgo=";
const PDF: &str = "JVBERi0xLjc=";

#[tokio::test]
async fn chat_during_a_run_needs_a_behavior() {
    let server = TestServer::start(&[hang()]);
    let (session, _events) = hanging(&server).await;
    let busy = server.post(&format!("{session}/chat"), json!({"message": "more"})).await;
    assert_eq!((busy.status, busy.problem().as_str()), (409, "conflict"));
    let queued =
        server.post(&format!("{session}/chat"), json!({"message": "more", "behavior": "followUp"})).await;
    assert_eq!(queued.status, 202);
    let queue = server.get(&format!("{session}/queue")).await.json();
    assert_eq!(queue["followUp"], json!(["more"]));
}

#[tokio::test]
async fn chat_invalid_message_is_a_problem() {
    let server = TestServer::start(&[]);
    let session = server.create().await;
    let image = |data: &str, mime_type: &str| json!([{"type": "image", "data": data, "mimeType": mime_type}]);
    let bodies = [
        json!({"message": " "}),
        json!({"message": "x", "behavior": "now"}),
        json!({"message": "x", "images": image("%", "image/png")}),
        json!({"message": "x", "images": image("", "image/png")}),
        json!({"message": "x", "images": image("aGk=", "text/plain")}),
        json!({"message": "x", "images": image("aGk=", "image/png")}),
        json!({"message": "x", "images": image(PDF, "image/png")}),
    ];
    for body in bodies {
        let answered = server.post(&format!("{session}/chat"), body.clone()).await;
        assert_eq!((answered.status, answered.problem().as_str()), (400, "invalid-request"), "{body}");
    }
}

#[tokio::test]
async fn chat_image_is_in_the_message() {
    let server = TestServer::start(&[json!({"text": "Nice."})]);
    let session = server.create().await;
    let (mut events, _) = server.watch_from_now(&session).await;
    let images = json!([
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"data": PDF, "mimeType": "application/pdf"},
    ]);
    server.post(&format!("{session}/chat"), json!({"message": "look", "images": images})).await;
    let events = events.until("agent_settled").await;
    let message = events.iter().find(|event| event.name == "message_end").unwrap();
    let content = &message.data["message"]["content"];
    let types = [&content[1]["mimeType"], &content[2]["mimeType"]];
    assert_eq!(types, ["image/png", "application/pdf"], "{}", message.data);
}

#[tokio::test]
async fn abort_returns_the_queue() {
    let server = TestServer::start(&[hang()]);
    let (session, mut events) = hanging(&server).await;
    server.post(&format!("{session}/steer"), json!({"message": "left"})).await;
    let images = json!([{"data": PNG, "mimeType": "image/png"}]);
    server.post(&format!("{session}/follow-up"), json!({"message": "later", "images": images})).await;
    let aborted = server.post(&format!("{session}/abort"), json!({})).await;
    let queue = &aborted.json()["queue"];
    assert_eq!((&queue["steering"], &queue["followUp"]), (&json!(["left"]), &json!(["later"])));
    assert_eq!(aborted.json()["images"], images);
    let events = events.until("agent_settled").await;
    let completed = events.iter().find(|event| event.name == "completed").unwrap();
    assert_eq!(completed.data["outcome"], "aborted");
}

async fn queue(server: &TestServer, session: &str) -> Answered {
    server.get(&format!("{session}/queue")).await
}

/// Changes the queue that this answer has.
async fn put(server: &TestServer, session: &str, read: &Answered, items: Value) -> Answered {
    let mut request = request("PUT", &format!("{session}/queue"), Some(&json!({"items": items})));
    request.headers_mut().insert("if-match", read.headers["etag"].clone());
    server.send(request).await
}

#[tokio::test]
async fn queue_is_changed_ordered_and_cleared() {
    let server = TestServer::start(&[hang()]);
    let (session, _events) = hanging(&server).await;
    for text in ["one", "two", "three"] {
        server.post(&format!("{session}/follow-up"), json!({"message": text})).await;
    }
    let read = queue(&server, &session).await;
    let items = read.json();
    let id = |at: usize| items["items"][at]["id"].clone();
    let changed = put(&server, &session, &read, json!([{"id": id(2)}, {"id": id(0), "text": "uno"}])).await;
    assert_eq!(changed.json()["followUp"], json!(["three", "uno"]), "{changed:?}");
    let steer = json!([{"id": id(0), "kind": "steer"}, {"id": id(2)}]);
    let steer = put(&server, &session, &changed, steer).await;
    assert_eq!((&steer.json()["steering"], &steer.json()["followUp"]), (&json!(["uno"]), &json!(["three"])));
    let gone = put(&server, &session, &steer, json!([{"id": id(1)}])).await;
    assert_eq!((gone.status, gone.problem().as_str()), (409, "conflict"));
    for items in [json!([{"id": id(0)}, {"id": id(0)}]), json!([{"id": id(0), "text": ""}])] {
        assert_eq!(put(&server, &session, &steer, items).await.problem(), "invalid-request");
    }
    let path = format!("{session}/queue?kind=steer");
    let removed = server.send(request("DELETE", &path, None)).await.json();
    assert_eq!(removed["steering"], json!(["uno"]));
    let left = queue(&server, &session).await.json();
    assert_eq!((&left["steering"], &left["followUp"]), (&json!([]), &json!(["three"])));
}

#[tokio::test]
async fn queue_of_another_client_is_not_replaced() {
    let server = TestServer::start(&[hang()]);
    let (session, _events) = hanging(&server).await;
    server.post(&format!("{session}/follow-up"), json!({"message": "one"})).await;
    let read = queue(&server, &session).await;
    server.post(&format!("{session}/follow-up"), json!({"message": "of another client"})).await;
    let refused = put(&server, &session, &read, json!([])).await;
    assert_eq!((refused.status, refused.problem().as_str()), (412, "queue-changed"));
    let unconditional = request("PUT", &format!("{session}/queue"), Some(&json!({"items": []})));
    let unconditional = server.send(unconditional).await;
    assert_eq!((unconditional.status, unconditional.problem().as_str()), (428, "precondition-required"));
    let current = queue(&server, &session).await;
    assert_eq!(current.json()["followUp"], json!(["one", "of another client"]));
    assert_eq!(put(&server, &session, &current, json!([])).await.json()["items"], json!([]));
}

#[tokio::test]
async fn queue_is_replaced_by_one_of_several_clients() {
    let server = TestServer::start(&[hang()]);
    let (session, _events) = hanging(&server).await;
    server.post(&format!("{session}/follow-up"), json!({"message": "one"})).await;
    let read = queue(&server, &session).await;
    let id = read.json()["items"][0]["id"].clone();
    let edit = |text: &str| put(&server, &session, &read, json!([{"id": id, "text": text}]));
    let (first, second) = tokio::join!(edit("first"), edit("second"));
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412]);
}

/// A session that waits for approval of a call, its stream, and the path of the answer.
async fn asking(server: &TestServer) -> (String, SseStream, String) {
    let session = server.create().await;
    let (mut events, _) = server.watch_from_now(&session).await;
    server.post(&format!("{session}/chat"), json!({"message": "write"})).await;
    let request = events.until("approval_required").await.pop().unwrap();
    assert_eq!(request.data["toolName"], "write_file");
    let path = format!("{session}/approvals/{}", request.data["toolCallId"].as_str().unwrap());
    (session, events, path)
}

fn write() -> [Value; 2] {
    let arguments = json!({"path": ".git/new", "content": "text\n"});
    [json!({"calls": [{"name": "write_file", "arguments": arguments}]}), json!({"text": "Done."})]
}

#[tokio::test]
async fn approval_lets_the_call_run() {
    let server = TestServer::start(&write());
    let (_, mut events, path) = asking(&server).await;
    assert_eq!(server.post(&path, json!({"approved": true})).await.status, 204);
    let events = events.until("agent_settled").await;
    let result = events.iter().find(|event| event.name == "tool_result").unwrap();
    assert_eq!(result.data["isError"], false, "{}", result.data);
    assert!(server.workspace().join(".git/new").exists());
    assert_eq!(server.post(&path, json!({"approved": true})).await.problem(), "not-found");
}

#[tokio::test]
async fn approval_denial_tells_the_model_the_reason() {
    let server = TestServer::start(&write());
    let (_, mut events, path) = asking(&server).await;
    let bad =
        [json!({"approved": false, "always": true}), json!({"approved": true, "reason": "x"}), json!({})];
    for body in bad {
        assert_eq!(server.post(&path, body).await.problem(), "invalid-request");
    }
    server.post(&path, json!({"approved": false, "reason": "not today"})).await;
    let events = events.until("agent_settled").await;
    let result = events.iter().find(|event| event.name == "tool_result").unwrap();
    assert!(result.data["result"].to_string().contains("not today"), "{}", result.data);
    assert!(!server.workspace().join(".git/new").exists());
}

#[tokio::test]
async fn approval_always_covers_later_calls() {
    let [call, done] = write();
    let server = TestServer::start(&[call.clone(), call, done]);
    let (_, mut events, path) = asking(&server).await;
    server.post(&path, json!({"approved": true, "always": true})).await;
    let events = events.until("agent_settled").await;
    assert!(!events.iter().any(|event| event.name == "approval_required"), "asked again");
}

#[tokio::test]
async fn close_records_the_partial_answer() {
    let server = TestServer::start(&[hang()]);
    let (session, mut events) = hanging(&server).await;
    let server = server.restart().await;
    while events.next().await.is_some() {}
    let entries = server.get(&format!("{session}/entries")).await.json();
    let last =
        entries["entries"].as_array().unwrap().iter().rfind(|entry| entry["type"] == "message").unwrap();
    assert_eq!(last["message"]["stopReason"], "aborted", "{last}");
}
