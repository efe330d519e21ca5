//! Branches, labels, compaction, model.

use serde_json::json;

use crate::support::TestServer;

#[tokio::test]
async fn fork_creates_a_session_with_the_path() {
    let server = TestServer::start(&[json!({"text": "One."}), json!({"text": "Two."})]);
    let session = server.create_and_chat().await;
    server.chat(&session, "second").await;
    let ids = server.message_ids(&session).await;
    let forked = server.post(&format!("{session}/fork"), json!({"entryId": ids[1]})).await;
    assert_eq!(forked.status, 201, "{forked:?}");
    let path = format!("/api/sessions/{}", forked.json()["id"].as_str().unwrap());
    assert_eq!(server.message_ids(&path).await.len(), 2);
    assert_eq!(server.message_ids(&session).await.len(), 4);
    let none = server.post(&format!("{session}/fork"), json!({"entryId": "none"})).await;
    assert_eq!(none.problem(), "not-found");
}

#[tokio::test]
async fn navigate_returns_the_message_to_edit() {
    let server = TestServer::start(&[json!({"text": "One."}), json!({"text": "Two."})]);
    let session = server.create_and_chat().await;
    let ids = server.message_ids(&session).await;
    let back = server.post(&format!("{session}/navigate"), json!({"entryId": ids[0]})).await;
    assert_eq!((back.status, &back.json()["text"]), (200, &json!("hello")), "{back:?}");
    let none = server.post(&format!("{session}/navigate"), json!({"entryId": "none"})).await;
    assert_eq!(none.problem(), "not-found");
    let bad = server.post(&format!("{session}/navigate"), json!({"entryId": ids[0], "summary": 1})).await;
    assert_eq!(bad.problem(), "invalid-request");
}

#[tokio::test]
async fn label_is_in_the_tree() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create_and_chat().await;
    let ids = server.message_ids(&session).await;
    let path = format!("{session}/label");
    assert_eq!(server.post(&path, json!({"entryId": ids[0], "label": "start"})).await.status, 204);
    let tree = server.get(&format!("{session}/tree")).await.text;
    assert!(tree.contains(r#""label":"start""#), "{tree}");
    assert_eq!(server.post(&path, json!({"entryId": "none", "label": "x"})).await.problem(), "not-found");
}

#[tokio::test]
async fn compact_short_session_is_a_problem() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create_and_chat().await;
    let answered = server.post(&format!("{session}/compact"), json!({})).await;
    assert_eq!((answered.status, answered.problem().as_str()), (422, "unprocessable"), "{answered:?}");
    let choice = server.post(&format!("{session}/compaction"), json!({"choice": "retry"})).await;
    assert_eq!(choice.problem(), "not-found");
}

#[tokio::test]
async fn model_and_thinking_level_are_chosen() {
    let server = TestServer::start(&[]);
    let session = server.create().await;
    let models = server.get("/api/models").await.json();
    let model = &models["models"][0];
    let body = json!({"provider": model["provider"], "model": model["id"]});
    let chosen = server.post(&format!("{session}/model"), body).await;
    assert_eq!((chosen.status, &chosen.json()), (200, model));
    let unknown = server.post(&format!("{session}/model"), json!({"model": "none"})).await;
    assert_eq!(unknown.problem(), "unprocessable");
    let level = server.post(&format!("{session}/thinking"), json!({"level": "high"})).await;
    assert_eq!(level.json(), json!({"level": "off"}));
    let level = server.post(&format!("{session}/thinking"), json!({"level": "most"})).await;
    assert_eq!(level.problem(), "invalid-request");
}
