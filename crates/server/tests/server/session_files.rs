//! Queries of the log, and of the server.

use axum::http::header;
use serde_json::json;

use crate::support::TestServer;

#[tokio::test]
async fn entries_since_an_entry_are_those_after_it() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create_and_chat().await;
    let ids = server.message_ids(&session).await;
    let since = server.get(&format!("{session}/entries?since={}", ids[0])).await.json();
    assert_eq!(since["entries"].as_array().unwrap().len(), 1, "{since}");
    assert_eq!((&since["entries"][0]["id"], &since["leafId"]), (&json!(ids[1]), &json!(ids[1])));
    assert_eq!(server.get(&format!("{session}/entries?since=none")).await.problem(), "not-found");
}

#[tokio::test]
async fn log_of_a_closed_session_is_readable() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create_and_chat().await;
    let open = server.get(&format!("{session}/tree")).await.text;
    let server = server.restart().await;
    assert_eq!(server.get(&format!("{session}/tree")).await.text, open);
    let page = server.get(&format!("{session}/export.html")).await;
    assert_eq!(page.header(header::CONTENT_TYPE), "text/html; charset=utf-8");
    assert!(page.header(header::CONTENT_SECURITY_POLICY).contains("sandbox"), "{page:?}");
    assert!(page.text.starts_with("<!doctype html>"));
}

#[tokio::test]
async fn stats_and_context_describe_the_session() {
    let server = TestServer::start(&[json!({"text": "One.", "usage": {"input": 7, "output": 3}})]);
    let session = server.create_and_chat().await;
    let stats = server.get(&format!("{session}/stats")).await.json();
    assert_eq!((&stats["userMessages"], &stats["tokens"]["total"]), (&json!(1), &json!(10)), "{stats}");
    let context = server.get(&format!("{session}/context")).await.json();
    let kinds: Vec<&str> =
        context["parts"].as_array().unwrap().iter().map(|part| part["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["systemPrompt", "tools", "userMessages", "answers"]);
}

#[tokio::test]
async fn server_describes_itself() {
    let server = TestServer::start(&[]);
    let session = server.create().await;
    let _events = server.watch_from_now(&session).await;
    let metrics = server.get("/metrics").await;
    assert!(metrics.text.contains("\ntiller_sessions_open 1\n"), "{}", metrics.text);
    assert!(metrics.text.contains("\ntiller_watchers 1\n"), "{}", metrics.text);
    let workspace = server.workspace().display().to_string();
    let skills = server.get(&format!("/api/skills?workspacePath={workspace}")).await.json();
    assert_eq!(skills["skills"][0]["name"], "review");
    assert_eq!(server.get("/api/skills?workspacePath=/").await.problem(), "forbidden");
    assert_eq!(server.get("/api/skills").await.problem(), "invalid-request");
    let root = server.workspace().canonicalize().unwrap();
    assert_eq!(server.get("/api/roots").await.json(), json!({"roots": [root]}));
}

#[tokio::test]
async fn page_and_its_fragments_come_from_the_host() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create_and_chat().await;
    let page = server.get("/").await;
    assert_eq!((page.status, page.header(header::CONTENT_TYPE)), (200, "text/html; charset=utf-8"));
    assert!(page.text.contains("<title>tiller"), "{page:?}");
    let ids = server.message_ids(&session).await;
    let articles = async |query: &str| {
        let answered = server.get(&format!("{session}/articles{query}")).await;
        (answered.status, answered.json()["articles"].as_str().unwrap_or_default().to_owned())
    };
    let (status, all) = articles("").await;
    assert!(status == 200 && all.contains(&ids[0]) && all.contains(&ids[1]), "{all}");
    let (status, later) = articles(&format!("?since={}", ids[0])).await;
    assert!(status == 200 && later.contains(&ids[1]) && !later.contains("hello"), "{later}");
    assert_eq!(articles("?since=none").await.0, 404);
    let rendered =
        server.post("/api/render", json!({"kind": "diff", "diff": "+a", "path": "b"})).await.json();
    assert_eq!(rendered["html"], r#"Diff { diff: "+a", path: "b" }"#);
    let wrong = server.post("/api/render", json!({"kind": "diff", "text": "+a"})).await;
    assert_eq!(wrong.problem(), "invalid-request");
}
