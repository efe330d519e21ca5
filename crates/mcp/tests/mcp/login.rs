//! Logins at a server over HTTP, against an authorization server of the test.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tiller_mcp::config::{Endpoint, HttpEndpoint};
use tiller_mcp::{LoginPrompt, log_in};
use tiller_tools::tool::{ToolOutput, ToolServersEvent};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::handler::{Lifecycle, TestServer};
use crate::servers::{MemoryLogins, TestServers, server};

/// The page after the redirect; the code isn't exchanged yet.
const BACK: &str = "You can return to tiller, which completes the login.";

/// The servers' state.
#[derive(Default)]
struct ServerState {
    base: String,
    /// Tokens that the MCP server accepts.
    valid: Vec<String>,
    refresh_tokens: Vec<String>,
    issued: usize,
    /// Lifetime of tokens in seconds.
    lifetime: u64,
    /// The challenge of the newest login (PKCE).
    challenge: String,
    /// The bodies of requests for tokens.
    token_requests: Vec<HashMap<String, String>>,
}

type Shared = Arc<Mutex<ServerState>>;

/// An MCP server and its authorization server on one port.
struct Servers {
    state: Shared,
    url: String,
    task: JoinHandle<()>,
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Servers {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let state = ServerState { base: base.clone(), lifetime: 3_600, ..ServerState::default() };
        let state: Shared = Arc::new(Mutex::new(state));
        let handler = TestServer::new(Lifecycle::Legacy, "over http".into());
        let service = StreamableHttpService::new(
            move || Ok(handler.clone()),
            Arc::new(LocalSessionManager::default()),
            StreamableHttpServerConfig::default(),
        );
        let mcp = Router::new()
            .fallback_service(service)
            .layer(middleware::from_fn_with_state(Arc::clone(&state), check_token));
        let router = Router::new()
            .route("/.well-known/oauth-protected-resource", get(resource))
            .route("/.well-known/oauth-protected-resource/mcp", get(resource))
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(Arc::clone(&state))
            .nest("/mcp", mcp);
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { state, url: format!("{base}/mcp"), task }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ServerState> {
        self.state.lock().unwrap()
    }

    /// Starts a login; returns its prompt, the way to paste, and its outcome.
    async fn log_in(
        &self,
        logins: &MemoryLogins,
    ) -> (LoginPrompt, mpsc::Sender<String>, JoinHandle<Result<(), String>>) {
        let (show, shown) = oneshot::channel();
        let (paste, pasted) = mpsc::channel(8);
        let (url, logins) = (self.url.clone(), Arc::new(logins.clone()));
        let show = |prompt: &LoginPrompt| show.send(prompt.clone()).unwrap();
        let task = tokio::spawn(async move { log_in(&url, logins, show, pasted, |_| {}).await });
        let Ok(prompt) = shown.await else { panic!("{:?}", task.await) };
        let address = reqwest::Url::parse(&prompt.address).unwrap();
        let query: HashMap<String, String> = address.query_pairs().into_owned().collect();
        assert_eq!(query["code_challenge_method"], "S256");
        self.state().challenge = query["code_challenge"].clone();
        (prompt, paste, task)
    }

    async fn logged_in(&self) -> MemoryLogins {
        let logins = MemoryLogins::default();
        let (prompt, _paste, task) = self.log_in(&logins).await;
        assert_eq!(browse(&prompt.address).await, (200, BACK.to_owned()));
        task.await.unwrap().unwrap();
        logins
    }

    async fn connect(&self, logins: &MemoryLogins) -> (TestServers, Vec<String>) {
        let endpoint = HttpEndpoint { url: self.url.clone(), headers: vec![] };
        let logins = logins.clone();
        let mut servers = TestServers::start_with(vec![server("web", Endpoint::Http(endpoint))], |options| {
            options.logins = Arc::new(logins);
        });
        let mut warnings = servers.wait_for(&ToolServersEvent::Ready).await;
        warnings.retain(|warning| !warning.contains("its tool broken"));
        (servers, warnings)
    }
}

async fn check_token(
    State(state): State<Shared>,
    headers: HeaderMap,
    request: Request,
    next: Next,
) -> Response {
    let given = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (is_valid, base) = {
        let state = state.lock().unwrap();
        (state.valid.iter().any(|token| given == format!("Bearer {token}")), state.base.clone())
    };
    if is_valid {
        return next.run(request).await;
    }
    let metadata = format!("Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\"");
    (StatusCode::UNAUTHORIZED, [("www-authenticate", metadata)]).into_response()
}

async fn resource(State(state): State<Shared>) -> Json<Value> {
    let base = &state.lock().unwrap().base;
    Json(json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]}))
}

async fn metadata(State(state): State<Shared>) -> Json<Value> {
    let base = &state.lock().unwrap().base;
    Json(json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
    }))
}

async fn register(Json(request): Json<Value>) -> (StatusCode, Json<Value>) {
    assert_eq!((&request["client_name"], &request["application_type"]), (&json!("tiller"), &json!("native")));
    let redirects = request["redirect_uris"].clone();
    let response = json!({"client_id": "client-1", "client_name": "tiller", "redirect_uris": redirects});
    (StatusCode::CREATED, Json(response))
}

/// Redirects at once, as if the user had agreed.
async fn authorize(Query(query): Query<HashMap<String, String>>) -> Response {
    assert_eq!(query["response_type"], "code");
    let location = format!("{}?code=code-1&state={}", query["redirect_uri"], query["state"]);
    (StatusCode::FOUND, [("location", location)]).into_response()
}

async fn token(State(state): State<Shared>, body: String) -> Response {
    let pairs = reqwest::Url::parse(&format!("http://x/?{body}")).unwrap();
    let form: HashMap<String, String> = pairs.query_pairs().into_owned().collect();
    let mut state = state.lock().unwrap();
    let is_granted = match form["grant_type"].as_str() {
        "authorization_code" => {
            form["code"] == "code-1" && challenge_of(&form["code_verifier"]) == state.challenge
        }
        _ => state.refresh_tokens.contains(&form["refresh_token"]),
    };
    state.token_requests.push(form);
    if !is_granted {
        return (StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_grant"}))).into_response();
    }
    state.issued += 1;
    let (access, refresh) = (format!("access-{}", state.issued), format!("refresh-{}", state.issued));
    state.valid = vec![access.clone()];
    state.refresh_tokens = vec![refresh.clone()];
    let lifetime = state.lifetime;
    Json(json!({
        "access_token": access, "token_type": "Bearer", "expires_in": lifetime, "refresh_token": refresh,
    }))
    .into_response()
}

/// The challenge of a verifier with the method S256 (RFC 7636, section 4.2).
fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

/// Opens an address as a browser does, with its redirects.
async fn browse(address: &str) -> (u16, String) {
    let response = reqwest::get(address).await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn login_without_one_is_reported() {
    let servers = Servers::start().await;
    let (_, warnings) = servers.connect(&MemoryLogins::default()).await;
    let text =
        "MCP server web: it needs login: tiller mcp login web (or set the header Authorization in `headers`)";
    assert_eq!(warnings, [text]);
}

#[tokio::test]
async fn login_is_used_and_bound_to_the_url() {
    let servers = Servers::start().await;
    let logins = servers.logged_in().await;
    assert_eq!(logins.0.lock().unwrap().keys().collect::<Vec<_>>(), [&servers.url]);
    let request = servers.state().token_requests[0].clone();
    assert_eq!((&request["client_id"], &request["resource"]), (&"client-1".to_owned(), &servers.url));
    let (connected, warnings) = servers.connect(&logins).await;
    assert_eq!(warnings, [""; 0]);
    assert_eq!(connected.call("mcp__web__echo", json!({"text": "hi"})).await, ToolOutput::text("hi"));
}

#[tokio::test]
async fn login_ignores_other_states_and_other_paths() {
    let servers = Servers::start().await;
    let logins = MemoryLogins::default();
    let (prompt, paste, task) = servers.log_in(&logins).await;
    let forged = format!("{}?code=evil&state=guessed", prompt.redirect);
    let text = "that belongs to another login: its state doesn't match".to_owned();
    assert_eq!(browse(&forged).await, (400, text));
    assert_eq!(browse(&forged.replace("/callback", "/other")).await, (400, "not found".to_owned()));
    paste.send(forged).await.unwrap();
    paste.send("nonsense".into()).await.unwrap();
    assert_eq!(browse(&prompt.address).await.0, 200, "it still waits");
    task.await.unwrap().unwrap();
    assert_eq!(logins.0.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn login_redirect_can_be_pasted() {
    let servers = Servers::start().await;
    let logins = MemoryLogins::default();
    let (prompt, paste, task) = servers.log_in(&logins).await;
    let state = prompt.address.split("state=").nth(1).unwrap().split('&').next().unwrap();
    paste.send(format!(" {}?code=code-1&state={state}\n", prompt.redirect)).await.unwrap();
    task.await.unwrap().unwrap();
    let (_, warnings) = servers.connect(&logins).await;
    assert_eq!(warnings, [""; 0]);
}

#[tokio::test]
async fn login_denied_consent_is_reported() {
    let servers = Servers::start().await;
    let logins = MemoryLogins::default();
    let (prompt, _paste, task) = servers.log_in(&logins).await;
    let state = prompt.address.split("state=").nth(1).unwrap().split('&').next().unwrap();
    let denied = format!("{}?error=access_denied&error_description=No&state={state}", prompt.redirect);
    assert_eq!(browse(&denied).await.1, "The login was refused. You can close this page.");
    assert_eq!(task.await.unwrap(), Err("the login was refused: access_denied: No".to_owned()));
    assert!(logins.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn login_expired_token_is_refreshed_and_stored() {
    let servers = Servers::start().await;
    servers.state().lifetime = 0;
    let logins = servers.logged_in().await;
    servers.state().lifetime = 3_600;
    let (connected, warnings) = servers.connect(&logins).await;
    assert_eq!(warnings, [""; 0]);
    assert_eq!(connected.call("mcp__web__echo", json!({"text": "hi"})).await, ToolOutput::text("hi"));
    assert_eq!(servers.state().token_requests[1]["refresh_token"], "refresh-1");
    let stored = logins.0.lock().unwrap()[&servers.url].to_string();
    assert!(stored.contains("refresh-2") && !stored.contains("refresh-1"), "{stored}");
}

#[tokio::test]
async fn login_revoked_token_is_refreshed_or_needs_another_login() {
    let servers = Servers::start().await;
    let logins = servers.logged_in().await;
    let (connected, _) = servers.connect(&logins).await;
    servers.state().valid.clear();
    assert_eq!(
        connected.call("mcp__web__echo", json!({"text": "again"})).await,
        ToolOutput::text("again"),
        "the refresh token was still good"
    );
    servers.state().valid.clear();
    servers.state().refresh_tokens.clear();
    let output = connected.call("mcp__web__echo", json!({"text": "x"})).await;
    assert!(output.is_error && format!("{output:?}").contains("tiller mcp login web"), "{output:?}");
    let (_, warnings) = servers.connect(&logins).await;
    assert!(warnings[0].contains("it needs login: tiller mcp login web"), "{warnings:?}");
}

#[tokio::test]
async fn login_at_a_server_without_one_fails() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let task = tokio::spawn(async move { axum::serve(listener, Router::new()).await.unwrap() });
    let outcome = log_in(&url, Arc::new(MemoryLogins::default()), |_| {}, mpsc::channel(1).1, |_| {}).await;
    assert!(outcome.as_ref().is_err_and(|reason| !reason.is_empty()), "{outcome:?}");
    task.abort();
}
