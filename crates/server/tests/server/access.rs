//! Access: token, cookie, host, origin, and limits.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::{Request, header};
use serde_json::json;
use tokio::task::{JoinSet, yield_now};
use tower::ServiceExt as _;

use crate::support::{Answered, TOKEN, TestServer, request};

/// Sends a request for the sessions with these headers.
async fn get(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> Answered {
    send(server, "GET", path, headers).await
}

async fn send(server: &TestServer, method: &str, path: &str, headers: &[(&str, &str)]) -> Answered {
    let request = Request::builder().method(method).uri(path);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    server.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn token_wrong_or_missing_is_unauthorized() {
    let server = TestServer::start(&[]);
    let half = &TOKEN[..4];
    for value in
        ["Bearer wrong", "Bearer ", "Bearer", "", TOKEN, &format!("Basic {TOKEN}"), &format!("Bearer {half}")]
    {
        let answered =
            get(&server, "/api/sessions", &[("host", "localhost"), ("authorization", value)]).await;
        assert_eq!((answered.status, answered.problem().as_str()), (401, "unauthorized"), "{value}");
        assert_eq!(answered.header(header::WWW_AUTHENTICATE), "Bearer");
        assert!(!answered.text.contains(TOKEN));
    }
    let right = format!("bearer {TOKEN}");
    let answered = get(&server, "/api/sessions", &[("host", "localhost"), ("authorization", &right)]).await;
    assert_eq!(answered.status, 200);
}

#[tokio::test]
async fn token_missing_in_a_browser_is_explained() {
    let server = TestServer::start(&[]);
    let accept = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    let answered = get(&server, "/", &[("host", "localhost"), accept]).await;
    assert_eq!((answered.status, answered.header(header::CONTENT_TYPE)), (401, "text/html; charset=utf-8"));
    assert!(answered.text.contains("<code>tiller serve</code>") && !answered.text.contains(TOKEN));
    let foreign = get(&server, "/", &[("host", "evil.example"), accept]).await;
    assert_eq!(foreign.problem(), "forbidden");
}

#[tokio::test]
async fn token_of_first_visit_becomes_a_cookie() {
    let server = TestServer::start(&[]);
    let path = format!("//evil.example/?a=1&token={TOKEN}&b=2");
    let answered = get(&server, &path, &[("host", "localhost")]).await;
    assert_eq!((answered.status, answered.header(header::LOCATION)), (303, "/evil.example/?a=1&b=2"));
    let cookie = format!("tiller_token_default={TOKEN}");
    let expected = format!("{cookie}; Path=/; HttpOnly; SameSite=Strict");
    assert_eq!(answered.header(header::SET_COOKIE), expected);
    let with_cookie = get(&server, "/api/sessions", &[("host", "localhost"), ("cookie", &cookie)]).await;
    assert_eq!(with_cookie.status, 200);
    let others = format!("a=b; {cookie}; c=d");
    assert_eq!(
        get(&server, "/api/sessions", &[("host", "localhost"), ("cookie", &others)]).await.status,
        200
    );
    let wrong = [("host", "localhost"), ("cookie", "tiller_token_default=wrong")];
    assert_eq!(get(&server, "/api/sessions", &wrong).await.status, 401);
    let of_another_port = [("host", "localhost:4748"), ("cookie", cookie.as_str())];
    assert_eq!(get(&server, "/api/sessions", &of_another_port).await.status, 401);
    let bookmark = get(&server, "/?token=old", &[("host", "localhost"), ("cookie", &cookie)]).await;
    assert_eq!(bookmark.status, 200, "the cookie counts");
    assert_eq!(get(&server, "/?token=wrong", &[("host", "localhost")]).await.status, 401);
    let path = format!("/api/sessions?token={TOKEN}");
    assert_eq!(send(&server, "POST", &path, &[("host", "localhost")]).await.status, 401);
}

#[tokio::test]
async fn cookie_changes_nothing_without_an_origin() {
    let server = TestServer::start(&[]);
    let session = server.create().await;
    let cookie = format!("tiller_token_1={TOKEN}");
    let path = format!("{session}/abort");
    let alone = send(&server, "POST", &path, &[("host", "localhost:1"), ("cookie", &cookie)]).await;
    assert_eq!((alone.status, alone.problem().as_str()), (403, "forbidden"));
    let headers = [("host", "localhost:1"), ("cookie", &cookie), ("origin", "http://localhost:1")];
    assert_eq!(send(&server, "POST", &path, &headers).await.status, 200);
}

#[tokio::test]
async fn host_foreign_name_is_forbidden() {
    let server = TestServer::start(&[]);
    let token = format!("Bearer {TOKEN}");
    let status = async |host: &str| {
        get(&server, "/healthz", &[("host", host), ("authorization", &token)]).await.status
    };
    for host in
        ["localhost", "LOCALHOST:4747", "127.0.0.1:1", "[::1]:4747", "192.0.2.7", "tiller.example:443"]
    {
        assert_eq!(status(host).await, 200, "{host}");
    }
    for host in ["evil.example", "localhost.evil.example:4747", "tiller.example.evil", "", "127.0.0.1.evil:1"]
    {
        assert_eq!(status(host).await, 403, "{host}");
    }
    assert_eq!(get(&server, "/healthz", &[]).await.status, 403);
    let twice = [("host", "localhost"), ("host", "evil.example")];
    assert_eq!(get(&server, "/healthz", &twice).await.status, 403);
}

#[tokio::test]
async fn origin_of_another_page_is_forbidden() {
    let server = TestServer::start(&[]);
    let origins = [
        "http://evil.example",
        "http://localhost:3000",
        "https://localhost:4747",
        "null",
        "",
        "http://localhost",
    ];
    for origin in origins {
        let mut request = request("GET", "/api/sessions", None);
        request.headers_mut().insert("origin", origin.parse().unwrap());
        assert_eq!(server.send(request).await.problem(), "forbidden", "{origin}");
    }
    let mut request = request("GET", "/api/sessions", None);
    request.headers_mut().insert("origin", "http://localhost:4747".parse().unwrap());
    assert_eq!(server.send(request).await.status, 200);
}

#[tokio::test]
async fn body_over_the_limit_is_a_problem() {
    let server = TestServer::start(&[]);
    let session = server.create().await;
    let message = json!({"message": "x".repeat(33 << 20)});
    let answered = server.post(&format!("{session}/chat"), message).await;
    assert_eq!((answered.status, answered.problem().as_str()), (413, "body-too-large"));
}

#[tokio::test(start_paused = true)]
async fn body_that_does_not_arrive_is_a_problem() {
    let server = TestServer::start(&[]);
    let mut request = request("POST", "/api/render", Some(&json!({})));
    *request.body_mut() = pending_body();
    let start = tokio::time::Instant::now();
    let answered = server.send(request).await;
    assert_eq!((answered.status, answered.problem().as_str()), (408, "request-timeout"));
    assert_eq!(start.elapsed().as_secs(), 120);
}

fn pending_body() -> Body {
    Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, Infallible>>())
}

#[tokio::test]
async fn headers_over_the_limit_are_a_problem() {
    let server = TestServer::start(&[]);
    let mut request = request("GET", "/api/sessions", None);
    request.headers_mut().insert("x-large", "x".repeat(17 << 10).parse().unwrap());
    assert_eq!(server.send(request).await.problem(), "headers-too-large");
}

#[tokio::test]
async fn response_forbids_framing_and_caching() {
    let server = TestServer::start(&[]);
    let answered = server.get("/api/sessions").await;
    assert_eq!(answered.header(header::X_FRAME_OPTIONS), "DENY");
    assert_eq!(answered.header(header::X_CONTENT_TYPE_OPTIONS), "nosniff");
    assert_eq!(answered.header(header::CACHE_CONTROL), "no-store");
}

#[tokio::test]
async fn requests_over_the_limit_are_unavailable() {
    let server = TestServer::start(&[]);
    let session = server.create().await;
    let mut waiting = JoinSet::new();
    let refused = loop {
        let mut request = request("POST", &format!("{session}/chat"), Some(&json!({})));
        *request.body_mut() = pending_body();
        waiting.spawn(server.router().oneshot(request));
        yield_now().await;
        let answered = server.get("/api/roots").await;
        if answered.status != 200 {
            break answered;
        }
    };
    assert_eq!(waiting.len(), 512);
    assert_eq!((refused.status, refused.problem().as_str()), (503, "overloaded"));
    assert_eq!(refused.header(header::RETRY_AFTER), "1");
    waiting.shutdown().await;
    assert_eq!(server.get("/api/roots").await.status, 200);
}

#[tokio::test]
async fn streams_over_the_limit_are_unavailable() {
    let server = TestServer::start(&[]);
    let session = server.create().await;
    let mut streams = Vec::new();
    for _ in 0..4_096 {
        streams.push(server.watch(&session, None).await);
    }
    let refused = server.get(&format!("{session}/stream")).await;
    assert_eq!((refused.status, refused.problem().as_str()), (503, "overloaded"));
    streams.pop();
    server.watch(&session, None).await;
}
