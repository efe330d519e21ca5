//! Sessions: create, list, show, resume, delete.

use std::sync::Arc;

use axum::http::header;
use serde_json::json;
use tiller_session::lock_holder;
use tokio::task::{JoinSet, yield_now};

use crate::support::{TestServer, request};

#[tokio::test]
async fn create_session_is_shown_and_listed() {
    let server = TestServer::start(&[]);
    let body = json!({"workspacePath": server.workspace(), "name": "first", "autoApprove": true});
    let created = server.post("/api/sessions", body).await;
    assert_eq!(created.status, 201, "{created:?}");
    let session = created.json();
    let path = format!("/api/sessions/{}", session["id"].as_str().unwrap());
    assert_eq!(created.header(header::LOCATION), path);
    assert_eq!((&session["name"], &session["isOpen"]), (&json!("first"), &json!(true)));
    assert_eq!(session["state"]["approvalMode"], "yes");
    assert_eq!(session["workspacePath"], json!(server.workspace().canonicalize().unwrap()));
    assert_eq!((&session["node"], &server.get(&path).await.json()["id"]), (&json!("node-1"), &session["id"]));
    let listed = server.get("/api/sessions").await.json();
    assert_eq!(listed["sessions"][0]["id"], session["id"], "{listed}");
    assert_eq!(listed["sessions"][0]["node"], "node-1", "{listed}");
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn create_without_a_message_is_kept() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create_with(json!({"name": "first"})).await;
    assert_eq!(server.logs(), 1);
    let lasting = server.create().await;
    assert_eq!(server.post(&format!("{session}/close"), json!({})).await.status, 204);
    let closed = server.get(&session).await.json();
    assert_eq!((&closed["name"], &closed["isOpen"]), (&json!("first"), &json!(false)), "{closed}");
    let server = server.restart().await;
    let listed = server.get("/api/sessions").await.json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(server.post(&format!("{lasting}/resume"), json!({})).await.status, 200);
    server.chat(&lasting, "hello").await;
    assert_eq!(server.message_ids(&lasting).await.len(), 2);
}

#[tokio::test]
async fn create_outside_the_roots_is_forbidden() {
    let server = TestServer::start(&[]);
    let outside = server.workspace().parent().unwrap().to_owned();
    std::os::unix::fs::symlink(&outside, server.workspace().join("link")).unwrap();
    let paths = [
        outside.clone(),
        server.workspace().join(".."),
        server.workspace().join("link"),
        server.workspace().join("none"),
        "work".into(),
        "/".into(),
    ];
    for path in paths {
        let answered = server.post("/api/sessions", json!({"workspacePath": path})).await;
        assert_eq!((answered.status, answered.problem().as_str()), (403, "forbidden"), "{}", path.display());
        assert!(!answered.text.contains(&*outside.to_string_lossy()), "{}", answered.text);
    }
}

#[tokio::test]
async fn create_with_unknown_model_is_a_problem() {
    let server = TestServer::start(&[]);
    let body = json!({"workspacePath": server.workspace(), "model": "none"});
    let answered = server.post("/api/sessions", body).await;
    assert_eq!((answered.status, answered.problem().as_str()), (422, "unprocessable"));
    let body = json!({"workspacePath": server.workspace(), "name": " "});
    assert_eq!(server.post("/api/sessions", body).await.status, 400);
}

#[tokio::test]
async fn list_is_paged_and_searched() {
    let server = TestServer::start(&[json!({"text": "The parser is fine."})]);
    let mut ids = Vec::new();
    for text in ["about zebras", "about lions", "about the zebra crossing"] {
        let session = server.create().await;
        server.chat(&session, text).await;
        ids.push(session);
    }
    let page = server.get("/api/sessions?limit=2").await.json();
    assert_eq!((page["sessions"].as_array().unwrap().len(), &page["nextOffset"]), (2, &json!(2)));
    let page = server.get("/api/sessions?limit=2&offset=2").await.json();
    assert_eq!(page["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(page.get("nextOffset"), None);
    let found = server.get("/api/sessions?query=zebra").await.json();
    assert_eq!(found["sessions"].as_array().unwrap().len(), 2, "{found}");
    let body = json!({"workspacePath": server.workspace(), "name": "Okapi house"});
    server.post("/api/sessions", body).await;
    let found = server.get("/api/sessions?query=okapi").await.json();
    assert_eq!(found["sessions"][0]["name"], "Okapi house", "it has no log yet: {found}");
    let all = server.get("/api/sessions?query=%20").await.json();
    assert_eq!(all["sessions"].as_array().unwrap().len(), 4, "{all}");
    for limit in ["x", "0", "-1"] {
        let answered = server.get(&format!("/api/sessions?limit={limit}")).await;
        assert_eq!(answered.problem(), "invalid-request", "{limit}");
    }
    assert_eq!(server.get("/api/sessions?pages=1").await.problem(), "invalid-request");
}

#[tokio::test]
async fn resume_after_the_directory_was_removed_needs_another() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let dir = server.workspace().join("sub");
    std::fs::create_dir(&dir).unwrap();
    let created = server.post("/api/sessions", json!({"workspacePath": dir})).await;
    let session = format!("/api/sessions/{}", created.json()["id"].as_str().unwrap());
    server.chat(&session, "hello").await;
    server.post(&format!("{session}/close"), json!({})).await;
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(server.get("/api/sessions").await.json()["sessions"].as_array().unwrap().len(), 1);
    let resume = format!("{session}/resume");
    let refused = server.post(&resume, json!({})).await;
    assert_eq!(refused.problem(), "conflict");
    let detail = "the session's directory is gone; `workspacePath` can name another one";
    assert_eq!(refused.json()["detail"], json!(detail));
    let resumed = server.post(&resume, json!({"workspacePath": server.workspace()})).await;
    assert_eq!((resumed.status, &resumed.json()["isOpen"]), (200, &json!(true)), "{resumed:?}");
}

#[tokio::test]
async fn resume_after_restart_continues_the_session() {
    let server = TestServer::start(&[json!({"text": "One."}), json!({"text": "Two."})]);
    let session = server.create_and_chat().await;
    let server = server.restart().await;
    let closed = server.get(&session).await.json();
    assert_eq!((&closed["isOpen"], closed.get("state")), (&json!(false), None));
    let listed = server.get("/api/sessions").await.json();
    assert_eq!((&closed["node"], &listed["sessions"][0]["node"]), (&json!("node-1"), &json!("node-1")));
    assert_eq!(server.get(&format!("{session}/stats")).await.problem(), "session-not-open");
    let resumed = server.post(&format!("{session}/resume"), json!({})).await;
    assert_eq!((resumed.status, &resumed.json()["isOpen"]), (200, &json!(true)), "{resumed:?}");
    let again = server.post(&format!("{session}/resume"), json!({})).await.json();
    assert_eq!(again["lastEventId"], resumed.json()["lastEventId"]);
    let events = server.chat(&session, "and then?").await;
    let text: String = events.iter().filter_map(|e| e.data["delta"].as_str()).collect();
    assert_eq!(text, "Two.");
}

#[tokio::test]
async fn resume_outside_the_roots_is_forbidden() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create_and_chat().await;
    let server = server.restart().await;
    let answered = server.post(&format!("{session}/resume"), json!({"workspacePath": "/"})).await;
    assert_eq!((answered.status, answered.problem().as_str()), (403, "forbidden"));
}

#[tokio::test]
async fn resume_twice_at_once_opens_one_session() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create_and_chat().await;
    let server = server.restart().await;
    let path = format!("{session}/resume");
    let (one, other) = tokio::join!(server.post(&path, json!({})), server.post(&path, json!({})));
    assert_eq!((one.status, other.status), (200, 200), "{one:?} {other:?}");
    assert_eq!(one.json()["lastEventId"], other.json()["lastEventId"]);
}

#[tokio::test]
async fn close_keeps_the_log_and_ends_the_stream() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create_and_chat().await;
    let mut events = server.watch(&session, None).await;
    events.until("snapshot").await;
    assert_eq!(server.post(&format!("{session}/close"), json!({})).await.status, 204);
    while events.next().await.is_some() {}
    let shown = server.get(&session).await.json();
    assert_eq!((&shown["isOpen"], server.logs()), (&json!(false), 1), "{shown}");
    assert_eq!(server.post(&format!("{session}/resume"), json!({})).await.status, 200);
}

#[tokio::test]
async fn delete_closes_the_session_and_removes_its_log() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create_and_chat().await;
    let mut events = server.watch(&session, None).await;
    events.until("snapshot").await;
    let trash = server.send(request("DELETE", &session, None)).await;
    assert_eq!((trash.status, trash.problem().as_str()), (409, "conflict"));
    while events.next().await.is_some() {}
    assert_eq!(server.logs(), 1);
    let deleted = server.send(request("DELETE", &format!("{session}?permanently=true"), None)).await;
    assert_eq!((deleted.status, server.logs()), (204, 0), "{deleted:?}");
    assert_eq!(server.get(&session).await.problem(), "not-found");
}

#[tokio::test]
async fn close_twice_at_once_answers_both_when_the_log_is_unlocked() {
    let server = Arc::new(TestServer::start(&[json!({"text": "One."})]));
    let path = format!("{}/close", server.create_and_chat().await);
    let log = server.log_paths().remove(0);
    let mut requests = JoinSet::new();
    for (server, path, log) in [(Arc::clone(&server), path.clone(), log.clone()), (server, path, log)] {
        requests.spawn(async move {
            let closed = server.post(&path, json!({})).await;
            (closed.status, lock_holder(&log).is_none())
        });
    }
    assert_eq!(requests.join_all().await, [(204, true), (204, true)]);
}

#[tokio::test]
async fn delete_waits_for_a_session_that_is_being_opened() {
    let server = Arc::new(TestServer::start(&[json!({"text": "One."})]));
    let session = server.create_and_chat().await;
    let log = server.log_paths().remove(0);
    server.post(&format!("{session}/close"), json!({})).await;
    let opener = Arc::clone(&server);
    let path = format!("{session}/resume");
    let opened = tokio::spawn(async move { opener.post(&path, json!({})).await.status });
    while lock_holder(&log).is_none() {
        yield_now().await;
    }
    let deleted = server.send(request("DELETE", &format!("{session}?permanently=true"), None)).await;
    assert_eq!((deleted.status, server.logs()), (204, 0), "{deleted:?}");
    assert_eq!(opened.await.unwrap(), 200);
}

#[tokio::test]
async fn delete_beside_requests_to_resume_removes_the_log() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create_and_chat().await;
    server.post(&format!("{session}/close"), json!({})).await;
    let path = format!("{session}/resume");
    let delete = server.send(request("DELETE", &format!("{session}?permanently=true"), None));
    let resume = async {
        // The deletion has begun.
        for _ in 0..20 {
            yield_now().await;
        }
        server.post(&path, json!({})).await.status
    };
    let (deleted, resumed) = tokio::join!(delete, resume);
    assert_eq!((deleted.status, resumed, server.logs()), (204, 404, 0), "{deleted:?}");
}

#[tokio::test]
async fn session_outside_the_roots_is_not_found() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create_and_chat().await;
    let server = server.restart().await;
    let elsewhere = server.workspace().with_file_name("elsewhere");
    std::fs::rename(server.workspace(), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, server.workspace()).unwrap();
    assert_eq!(server.get(&session).await.problem(), "not-found");
    assert_eq!(server.get("/api/sessions").await.json()["sessions"], json!([]));
}
