//! The JSON of sessions: in lists, and in detail.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tiller_core::message::ThinkingLevel;
use tiller_engine::Status;
use tiller_engine::views::{ModelView, StateView};
use tiller_session::SessionSummary;

use crate::open_session::OpenSession;
use crate::problem::{Problem, internal};

/// Maximum characters of a first message.
const MAX_PROMPT_CHARS: usize = 1_000;

/// A session in a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionListing {
    id: String,
    /// The node that has the session: the name of this server.
    node: String,
    /// The working directory.
    workspace_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The first message, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_prompt: Option<String>,
    /// The model, as `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Number of entries in the log.
    entries: usize,
    /// Number of messages among them.
    messages: usize,
    /// Tokens of all requests.
    tokens: u64,
    /// Cost of all requests, in US dollars.
    cost_usd: f64,
    /// The time of the last change of the log, in Unix milliseconds; not in the details of an open session.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<i64>,
    /// True if this server has the session open.
    is_open: bool,
}

impl SessionListing {
    /// Creates the view of a log.
    pub(crate) fn new(summary: SessionSummary, is_open: bool, node: &str) -> Self {
        Self {
            id: summary.id.to_string(),
            node: node.to_owned(),
            workspace_path: summary.cwd,
            name: summary.name,
            first_prompt: summary.first_prompt,
            model: summary.model,
            entries: summary.entries,
            messages: summary.messages,
            tokens: summary.tokens.0,
            cost_usd: summary.cost.0,
            modified: Some(summary.modified.0),
            is_open,
        }
    }

    /// Creates the view of an open session.
    pub(crate) fn of_open(session: &OpenSession, status: &Status, node: &str) -> Self {
        let (state, reader) = (&status.state, session.agent.reader());
        Self {
            id: session.id.to_string(),
            node: node.to_owned(),
            workspace_path: state.cwd.display().to_string(),
            name: state.name.clone(),
            first_prompt: reader.first_prompt().map(|text| text.chars().take(MAX_PROMPT_CHARS).collect()),
            model: Some(format!("{}/{}", state.model.provider, state.model.id)),
            entries: reader.entry_count(),
            messages: status.messages,
            tokens: state.usage.total().0,
            cost_usd: state.usage.cost.total.0,
            modified: None,
            is_open: true,
        }
    }
}

/// A page of the list of sessions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionPage {
    /// The sessions, most recently changed first; those found, best matches first.
    pub(crate) sessions: Vec<SessionListing>,
    /// The `offset` of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<usize>,
}

/// A session in detail.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionDetails {
    #[serde(flatten)]
    session: SessionListing,
    /// The id of the newest event; a stream that begins after it misses nothing that follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_event_id: Option<String>,
    /// The state of an open session, as `get_state` of RPC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<StateView>")]
    state: Option<Value>,
}

impl SessionDetails {
    pub(crate) fn of_closed(summary: SessionSummary, node: &str) -> Self {
        Self { session: SessionListing::new(summary, false, node), last_event_id: None, state: None }
    }

    pub(crate) async fn of_open(session: &OpenSession, node: &str) -> Result<Self, Problem> {
        // Taken first: a change in between comes as an event too.
        let last_event_id = Some(session.feed.last_event_id());
        let agent = &session.agent;
        let status = agent.state().await?;
        let model = ModelView::find(&status.state.model, &agent.models().await?);
        let state = serde_json::to_value(StateView::new(&status, model, agent.notices()));
        let state = Some(state.map_err(|error| internal(&error))?);
        Ok(Self { session: SessionListing::of_open(session, &status, node), last_event_id, state })
    }
}

/// The id of a new session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ForkedId {
    /// The id.
    pub(crate) id: String,
}

/// The result of going to another entry.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct NavigatedView {
    /// The text of the user message after the new position, to be edited and sent again; else empty.
    pub(crate) text: String,
}

/// A thinking level.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct LevelView {
    /// The effective level, limited to the levels that the model supports.
    #[schemars(with = "String")]
    pub(crate) level: ThinkingLevel,
}

/// The parts of the context.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContextUsage {
    /// Tokens of the next request, by estimate.
    pub(crate) tokens: u64,
    /// Size of the model's window.
    pub(crate) context_window: u64,
    /// The parts, in the order in which a request has them.
    pub(crate) parts: Vec<ContextShare>,
}

/// A part of the context.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ContextShare {
    /// The kind: `systemPrompt`, `contextFile`, `skills`, `tools`, `userMessages`, `answers`, `toolResults` or
    /// `shellCommands`.
    pub(crate) kind: &'static str,
    /// Number of items.
    pub(crate) count: usize,
    /// Estimated size.
    pub(crate) tokens: u64,
    /// The file's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
}

/// The directories below which sessions may work.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct RootList {
    /// Their real paths.
    pub(crate) roots: Vec<String>,
}

/// A rendered fragment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct RenderedHtml {
    /// The HTML. All text in it is escaped.
    pub(crate) html: String,
}

/// The server's state.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Health {
    /// Always `ok`.
    pub(crate) status: &'static str,
}
