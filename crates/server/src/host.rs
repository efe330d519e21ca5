//! The service that starts, finds and removes sessions; injected, because it knows configuration files and the wiring.

use std::any::Any;
use std::path::PathBuf;
use std::pin::Pin;

use schemars::JsonSchema;
use serde::Serialize;
use tiller_core::id::SessionId;
use tiller_engine::AgentSession;
use tiller_provider::Model;
use tiller_session::{DeleteMode, Reader, SessionSummary};

/// The result of an operation of the host.
pub type HostFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, HostError>> + Send + 'a>>;

/// Starts, finds and removes sessions.
///
/// Ids and words come from clients: an implementation must not read them as paths.
pub trait SessionHost: Send + Sync + 'static {
    /// Starts a new session.
    fn create(&self, request: NewSession) -> HostFuture<'_, HostedSession>;

    /// Opens the session with this log.
    fn resume(&self, request: ResumeRequest) -> HostFuture<'_, HostedSession>;

    /// Lists all sessions, most recently written first.
    fn list(&self) -> HostFuture<'_, Vec<SessionSummary>>;

    /// Lists at most `limit` sessions that contain these words, best matches first.
    fn search(&self, words: String, limit: usize) -> HostFuture<'_, Vec<SessionSummary>>;

    /// Finds a session by its whole id.
    fn find(&self, id: SessionId) -> HostFuture<'_, Option<SessionSummary>>;

    /// Removes a session's log.
    fn delete(&self, log: PathBuf, mode: DeleteMode) -> HostFuture<'_, ()>;

    /// Renders a session as an HTML page.
    fn export_html(&self, session: Reader) -> HostFuture<'_, Vec<u8>>;

    /// Lists the models that a new session can use.
    fn models(&self) -> HostFuture<'_, Vec<Model>>;

    /// Lists the skills of sessions in a working directory.
    fn skills(&self, workspace: PathBuf) -> HostFuture<'_, Vec<SkillSummary>>;
}

/// The choices of a client for a session; without one, the settings apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionSettings {
    /// The provider.
    pub provider: Option<String>,
    /// The model: `[provider/]id[:thinking]`.
    pub model: Option<String>,
}

/// A session to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// The working directory: a real path below one of the roots.
    pub workspace: PathBuf,
    /// Provider and model.
    pub settings: SessionSettings,
    /// True if every call that would need approval is allowed.
    pub approves_all: bool,
    /// The session's name.
    pub name: Option<String>,
}

/// A session to be opened again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeRequest {
    /// Its log.
    pub log: PathBuf,
    /// The working directory: a real path below one of the roots.
    pub workspace: PathBuf,
    /// Provider and model; without them, those of the log.
    pub settings: SessionSettings,
}

/// A running session, with what has to live as long.
pub struct HostedSession {
    /// The session.
    pub agent: AgentSession,
    /// Dropped after the session was closed.
    pub resources: Box<dyn Any + Send + Sync>,
}

/// A skill, for lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkillSummary {
    /// Its name; a message that begins with `/skill:NAME` uses it.
    pub name: String,
    /// Its purpose, in one line.
    pub description: String,
}

/// The reason why the host can't do something.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The request can't be met. The text is sent to the client, so it names no path of the server.
    #[error("{0}")]
    Invalid(String),
    /// Another process has the session open.
    #[error("another process has the session open")]
    Locked,
    /// There is no trash to move a log to.
    #[error("the session can't be moved to the trash")]
    NoTrash,
    /// Anything else. The text is logged, and not sent.
    #[error("{0}")]
    Internal(String),
}
