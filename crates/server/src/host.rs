//! The service that starts, finds and removes sessions; injected, because it knows configuration files and the wiring.

use std::any::Any;
use std::path::PathBuf;
use std::pin::Pin;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tiller_core::id::{EntryId, SessionId};
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

    /// Returns the live page.
    fn page(&self) -> &'static str;

    /// Renders the entries after `since`, or all, for the live page.
    fn articles(&self, session: Reader, since: Option<EntryId>) -> HostFuture<'_, RenderedEntries>;

    /// Renders something that isn't an entry yet, for the live page.
    fn render(&self, body: RenderBody) -> HostFuture<'_, String>;

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
    /// Provider and model; without them, the log's.
    pub settings: SessionSettings,
}

/// A running session, with values that must live as long.
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
    /// Its purpose, on one line.
    pub description: String,
}

/// Entries of a session as HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenderedEntries {
    /// The session's title, as text.
    pub title: String,
    /// The facts about the session.
    pub facts: String,
    /// The parts above the first entry: problems of the log, and links to branches from its beginning.
    pub preface: String,
    /// The entries after `since` and those that they change, as `article` elements in the order of the log. `id` is the
    /// entry's id, `data-n` its position in the log, `data-p` the position of the nearest visible ancestor.
    pub articles: String,
    /// All rows of the outline, if one has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outline: Option<String>,
    /// The position of the entry that ends the current branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf: Option<usize>,
    /// The last entry of the log, as the next `since`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_id: Option<EntryId>,
}

/// Something to render that isn't an entry yet.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub enum RenderBody {
    /// Plain text, whose control and invisible characters become visible.
    Text {
        /// The text.
        text: String,
    },
    /// Markdown text.
    Markdown {
        /// The text.
        text: String,
    },
    /// Output of a command, with its control sequences.
    Output {
        /// The output.
        text: String,
    },
    /// A unified diff.
    Diff {
        /// The diff.
        diff: String,
        /// The file, whose name decides the language.
        path: String,
    },
    /// A call that runs or waits for approval.
    Call {
        /// The tool.
        name: String,
        /// The arguments.
        arguments: Value,
    },
}

/// The reason the host can't do something.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The request can't be met. The text is sent to the client, so it contains no server path.
    #[error("{0}")]
    Invalid(String),
    /// Another process has the session open.
    #[error("another process has the session open")]
    Locked,
    /// There is no such session.
    #[error("there is no such session")]
    NotFound,
    /// There is no trash to move a log to.
    #[error("the session can't be moved to the trash")]
    NoTrash,
    /// Anything else. The text is logged, and not sent.
    #[error("{0}")]
    Internal(String),
}
