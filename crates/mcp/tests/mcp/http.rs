//! Servers over streamable HTTP.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tiller_mcp::config::{Endpoint, HttpEndpoint, ServerConfig};
use tiller_tools::tool::{ToolInvocation, ToolOutput, ToolServersEvent};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::handler::{Lifecycle, TestServer};
use crate::servers::{TestServers, recording_progress, server, until};

/// A server that wants the header `x-key: k`.
pub(crate) async fn serve(lifecycle: Lifecycle) -> (String, JoinHandle<()>) {
    // One for all connections, as its tools change for all.
    let handler = TestServer::new(lifecycle, "over http".into());
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let guarded = Router::new().fallback_service(service).layer(middleware::from_fn(check_key));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let task = tokio::spawn(async move { axum::serve(listener, guarded).await.unwrap() });
    (url, task)
}

async fn check_key(headers: HeaderMap, request: axum::extract::Request, next: Next) -> Response {
    if headers.get("x-key").is_some_and(|key| key == "k") {
        next.run(request).await
    } else {
        (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")]).into_response()
    }
}

pub(crate) fn config(url: &str, key: Option<&str>) -> ServerConfig {
    let headers = key.iter().map(|key| ("X-Key".to_owned(), (*key).to_owned())).collect();
    server("web", Endpoint::Http(HttpEndpoint { url: url.into(), headers }))
}

#[tokio::test]
async fn http_tools_work_with_both_handshakes() {
    for lifecycle in [Lifecycle::Modern, Lifecycle::Legacy] {
        let (url, task) = serve(lifecycle).await;
        let mut servers = TestServers::start(vec![config(&url, Some("k"))]);
        let warnings = servers.wait_for(&ToolServersEvent::Listed).await;
        assert_eq!(warnings.len(), 1, "{lifecycle:?}: {warnings:?}");
        assert_eq!(servers.call("mcp__web__echo", json!({"text": "hi"})).await, ToolOutput::text("hi"));
        assert_eq!(servers.call("mcp__web__variable", json!({})).await, ToolOutput::text("over http"));

        let count = servers.tool("mcp__web__count");
        let (progress, shown) = recording_progress();
        let call = count.run(ToolInvocation { arguments: json!({}), progress });
        tokio::select! {
            output = call => panic!("{output:?}"),
            () = until(|| !shown.lock().unwrap().is_empty()) => {}
        }
        assert_eq!(*shown.lock().unwrap(), ["50% half"], "{lifecycle:?}");

        servers.call("mcp__web__grow", json!({})).await;
        servers.wait_for(&ToolServersEvent::Changed).await;
        assert_eq!(servers.names().last().unwrap(), "mcp__web__added", "{lifecycle:?}");
        task.abort();
    }
}

#[tokio::test]
async fn http_failures_name_the_reason() {
    let (url, task) = serve(Lifecycle::Modern).await;
    let mut servers = TestServers::start(vec![config(&url, None)]);
    let warnings = servers.wait_for(&ToolServersEvent::Ready).await;
    let text =
        "MCP server web: it needs login: tiller mcp login web (or set the header Authorization in `headers`)";
    assert_eq!(warnings, [text]);
    task.abort();

    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let mut servers = TestServers::start(vec![config(&format!("http://{address}/"), Some("k"))]);
    let warnings = servers.wait_for(&ToolServersEvent::Ready).await;
    assert!(warnings[0].contains("Connection refused"), "{warnings:?}");

    let mut servers = TestServers::start(vec![config("http://127.0.0.1:1/", Some("not\na header"))]);
    let warnings = servers.wait_for(&ToolServersEvent::Ready).await;
    assert_eq!(warnings, ["MCP server web: the header X-Key has an invalid value"]);
}
