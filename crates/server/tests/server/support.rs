//! A server with a scripted model, and a client of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::Response;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tiller_core::id::{EntryId, SessionId};
use tiller_engine::SessionBuilder;
use tiller_engine::agents::{AgentRegistry, AgentSpec, Delegation, DelegationLimits};
use tiller_provider::scripted::ScriptedProvider;
use tiller_provider::{Model, ProviderRegistry};
use tiller_server::{
    AccessRules, BasePath, CookieScope, HostError, HostFuture, HostedSession, HttpServer, NewSession,
    RenderBody, RenderedEntries, ResumeRequest, SessionHost, SessionSettings, SkillSummary, WorkspaceRoots,
};
use tiller_session::{
    DeleteMode, PageRequest, PendingDelete, Placement, Reader, SessionManager, SessionScope, SessionSummary,
    export,
};
use tokio::task::yield_now;
use tokio::time::timeout;
use tower::ServiceExt as _;

pub(crate) const TOKEN: &str = "the-token";

/// Longest wait for an event; reached only by a test that fails.
const PATIENCE: Duration = Duration::from_secs(40);

/// Number of times that other tasks run while a session is being opened or deleted.
const YIELDS: usize = 64;

/// Sessions whose logs are in a directory. The model's answers are the same for each.
struct ScriptedHost {
    logs: PathBuf,
    answers: Vec<Value>,
}

impl ScriptedHost {
    fn manager(&self) -> SessionManager {
        SessionManager::new(Placement::Flat(self.logs.clone()), self.logs.clone())
    }

    fn providers(&self) -> ProviderRegistry {
        let answers = self.answers.iter().cloned().map(|answer| serde_json::from_value(answer).unwrap());
        let script = ScriptedProvider::new(answers.collect());
        let facts = vec![script.facts()];
        let mut providers = ProviderRegistry::default();
        providers.add(Arc::new(script), facts);
        providers
    }

    fn start(
        &self,
        workspace: &Path,
        settings: SessionSettings,
        change: impl FnOnce(SessionBuilder) -> SessionBuilder,
    ) -> Result<HostedSession, HostError> {
        let registry = AgentRegistry::default();
        registry.register_spec(AgentSpec::new("helper", "helps", ""));
        let builder = SessionBuilder::new(self.providers()).log_dir(&self.logs).request_approvals();
        let builder = Delegation::new(registry, DelegationLimits::default()).equip(builder);
        let builder = match settings.model {
            Some(model) => builder.model(model),
            None => builder,
        };
        let agent =
            change(builder).start(workspace).map_err(|error| HostError::Invalid(error.to_string()))?;
        Ok(HostedSession { agent, resources: Box::new(()) })
    }
}

/// Lets other requests arrive.
async fn let_others_run() {
    for _ in 0..YIELDS {
        yield_now().await;
    }
}

fn ready<T: Send + 'static>(value: Result<T, HostError>) -> HostFuture<'static, T> {
    Box::pin(std::future::ready(value))
}

impl SessionHost for ScriptedHost {
    fn create(&self, request: NewSession) -> HostFuture<'_, HostedSession> {
        Box::pin(async move {
            let NewSession { workspace, settings, approves_all, name } = request;
            let allow = |builder: SessionBuilder| if approves_all { builder.approve_all() } else { builder };
            let hosted = self.start(&workspace, settings, allow)?;
            if let Some(name) = name {
                hosted.agent.rename(name).await.unwrap();
            }
            Ok(hosted)
        })
    }

    fn resume(&self, request: ResumeRequest) -> HostFuture<'_, HostedSession> {
        Box::pin(async move {
            let ResumeRequest { log, workspace, settings } = request;
            let hosted = self.start(&workspace, settings, |builder| builder.resume(log));
            let_others_run().await;
            hosted
        })
    }

    fn list(&self) -> HostFuture<'_, Vec<SessionSummary>> {
        let page = self.manager().catalog().unwrap().page(SessionScope::Everywhere, PageRequest::default());
        ready(Ok(page.unwrap().sessions))
    }

    fn search(&self, words: String, limit: usize) -> HostFuture<'_, Vec<SessionSummary>> {
        let mut catalog = self.manager().catalog().unwrap();
        catalog.refresh(SessionScope::Everywhere, |_| {}).unwrap();
        let hits = catalog.search_sessions(&words, SessionScope::Everywhere, limit).unwrap();
        ready(Ok(hits.into_iter().map(|hit| hit.session).collect()))
    }

    fn find(&self, id: SessionId) -> HostFuture<'_, Option<SessionSummary>> {
        let found = self.manager().catalog().unwrap().sessions_by_id(id.as_str(), 4).unwrap();
        ready(Ok(found.into_iter().find(|found| found.id == id)))
    }

    fn delete(&self, log: PathBuf, mode: DeleteMode) -> HostFuture<'_, ()> {
        // The tester's trash isn't used.
        if mode == DeleteMode::ToTrash {
            return ready(Err(HostError::NoTrash));
        }
        Box::pin(async move {
            let_others_run().await;
            let pending = PendingDelete::lock(&log).map_err(|_| HostError::Locked)?;
            pending.remove(mode).unwrap();
            Ok(())
        })
    }

    fn export_html(&self, session: Reader) -> HostFuture<'_, Vec<u8>> {
        let mut page = b"<!doctype html>".to_vec();
        export::export_log(&session, &mut page).unwrap();
        ready(Ok(page))
    }

    fn page(&self) -> &'static str {
        "<!doctype html><title>tiller</title>"
    }

    fn articles(&self, session: Reader, since: Option<EntryId>) -> HostFuture<'_, RenderedEntries> {
        let articles = tiller_session::entries_json(&session, since.as_ref()).unwrap().to_string();
        ready(Ok(RenderedEntries { articles, ..RenderedEntries::default() }))
    }

    fn render(&self, body: RenderBody) -> HostFuture<'_, String> {
        ready(Ok(format!("{body:?}")))
    }

    fn models(&self) -> HostFuture<'_, Vec<Model>> {
        ready(Ok(self.providers().models()))
    }

    fn skills(&self, _: PathBuf) -> HostFuture<'_, Vec<SkillSummary>> {
        ready(Ok(vec![SkillSummary { name: "review".into(), description: "Reviews.".into() }]))
    }
}

/// A server, and the directories of its sessions.
pub(crate) struct TestServer {
    server: HttpServer,
    dir: TempDir,
    answers: Vec<Value>,
}

/// A response with its body.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answered {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// A problem's name; the response must be one.
    pub(crate) fn problem(&self) -> String {
        assert_eq!(self.header(header::CONTENT_TYPE), "application/problem+json", "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{self:?}");
        problem["type"].as_str().unwrap().strip_prefix("urn:tiller:problem:").unwrap().to_owned()
    }
}

impl TestServer {
    /// Starts a server whose model gives these answers.
    pub(crate) fn start(answers: &[Value]) -> Self {
        let dir = TempDir::new().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        std::fs::create_dir(dir.path().join("logs")).unwrap();
        Self { server: server(dir.path(), answers), dir, answers: answers.to_vec() }
    }

    /// Stops the server, and starts another one on the same directories.
    pub(crate) async fn restart(self) -> Self {
        self.server.close().await;
        Self { server: server(self.dir.path(), &self.answers), ..self }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn logs(&self) -> usize {
        self.log_paths().len()
    }

    pub(crate) fn log_paths(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.dir.path().join("logs")).unwrap();
        let paths = files.map(|file| file.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect()
    }

    pub(crate) fn router(&self) -> Router {
        self.server.router()
    }

    pub(crate) async fn raw(&self, request: Request<Body>) -> Response {
        self.router().oneshot(request).await.unwrap()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answered {
        let response = self.raw(request).await;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Answered { status, headers, text: String::from_utf8(body.to_vec()).unwrap() }
    }

    pub(crate) async fn get(&self, path: &str) -> Answered {
        self.send(request("GET", path, None)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answered {
        self.send(request("POST", path, Some(&body))).await
    }

    /// Creates a session; returns its path in the API.
    pub(crate) async fn create(&self) -> String {
        self.create_with(json!({})).await
    }

    pub(crate) async fn create_with(&self, mut body: Value) -> String {
        body["workspacePath"] = json!(self.workspace());
        let created = self.post("/api/sessions", body).await;
        assert_eq!(created.status, 201, "{created:?}");
        format!("/api/sessions/{}", created.json()["id"].as_str().unwrap())
    }

    /// Creates a session, sends a message, and waits for the end of the run.
    pub(crate) async fn create_and_chat(&self) -> String {
        let session = self.create().await;
        self.chat(&session, "hello").await;
        session
    }

    /// Sends a message, and waits for the end of the run.
    pub(crate) async fn chat(&self, session: &str, text: &str) -> Vec<SseEvent> {
        let (mut events, mut all) = self.watch_from_now(session).await;
        let sent = self.post(&format!("{session}/chat"), json!({"message": text})).await;
        assert_eq!(sent.status, 202, "{sent:?}");
        all.extend(events.until("agent_settled").await);
        all
    }

    /// Opens a stream.
    pub(crate) async fn watch(&self, session: &str, last_event_id: Option<&str>) -> SseStream {
        let mut request = request("GET", &format!("{session}/stream"), None);
        if let Some(id) = last_event_id {
            request.headers_mut().insert("last-event-id", id.parse().unwrap());
        }
        let response = self.raw(request).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
        SseStream { body: response.into_body().into_data_stream(), text: String::new() }
    }

    /// Opens a stream, and reads its first event, the snapshot: every later event follows.
    pub(crate) async fn watch_from_now(&self, session: &str) -> (SseStream, Vec<SseEvent>) {
        let mut events = self.watch(session, None).await;
        let first = events.until("snapshot").await;
        (events, first)
    }

    /// The ids of the session's messages, in order.
    pub(crate) async fn message_ids(&self, session: &str) -> Vec<String> {
        let entries = self.get(&format!("{session}/entries")).await.json();
        let entries = entries["entries"].as_array().unwrap().iter();
        entries.filter(|e| e["type"] == "message").map(|e| e["id"].as_str().unwrap().to_owned()).collect()
    }
}

fn server(dir: &Path, answers: &[Value]) -> HttpServer {
    let host = ScriptedHost { logs: dir.join("logs"), answers: answers.to_vec() };
    let access = AccessRules {
        token: TOKEN.into(),
        hosts: vec!["tiller.example".into()],
        cookie: CookieScope::Any,
        base_path: BasePath::default(),
    };
    HttpServer::new(
        Arc::new(host),
        access,
        WorkspaceRoots::new(&[dir.join("work")]).unwrap(),
        "node-1".into(),
    )
}

/// A request with the token.
pub(crate) fn request(method: &str, path: &str, body: Option<&Value>) -> Request<Body> {
    let request = Request::builder().method(method).uri(path);
    let request =
        request.header(header::HOST, "localhost:4747").header("authorization", format!("Bearer {TOKEN}"));
    match body {
        Some(body) => {
            request.header(header::CONTENT_TYPE, "application/json").body(Body::from(body.to_string()))
        }
        None => request.body(Body::empty()),
    }
    .unwrap()
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SseEvent {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl SseEvent {
    pub(crate) fn seq(&self) -> u64 {
        self.id.rsplit_once('-').unwrap().1.parse().unwrap()
    }
}

/// A stream that a client reads.
pub(crate) struct SseStream {
    body: BodyDataStream,
    text: String,
}

impl SseStream {
    /// Reads the next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<SseEvent> {
        timeout(PATIENCE, self.next_event()).await.expect("an event")
    }

    async fn next_event(&mut self) -> Option<SseEvent> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if let Some(event) = parse(&event) {
                    return Some(event);
                }
                continue;
            }
            let bytes = self.body.next().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// Reads the next bytes.
    pub(crate) async fn next_text(&mut self) -> String {
        let bytes = timeout(PATIENCE, self.body.next()).await.expect("bytes").unwrap().unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    /// Reads events up to the next one of this name, which is the last.
    pub(crate) async fn until(&mut self, name: &str) -> Vec<SseEvent> {
        let mut events = Vec::new();
        loop {
            let event = self.next().await.unwrap_or_else(|| panic!("no {name} in {events:?}"));
            let is_last = event.name == name;
            events.push(event);
            if is_last {
                return events;
            }
        }
    }
}

/// Parses an event; `None` for a comment.
fn parse(text: &str) -> Option<SseEvent> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let data = serde_json::from_str(field("data")?).unwrap();
    Some(SseEvent { id: field("id")?.to_owned(), name: field("event")?.to_owned(), data })
}
