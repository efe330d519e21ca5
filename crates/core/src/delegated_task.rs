//! Tasks that a session has delegated to agents.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::id::{CallId, SessionId};

/// The type of the entries that notify the model of the end of a background task.
pub const AGENT_NOTE_TYPE: &str = "tiller.agent_note";

/// A task that an agent works on: an entry `tiller.agent` of the log of the session that delegates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DelegatedTask {
    /// The agent's session.
    pub agent_id: SessionId,
    /// The agent's name.
    pub name: String,
    /// The task.
    pub task: String,
    /// The log of its session; `None` for one in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The call that delegates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<CallId>,
}

/// The end of a delegated task: an entry `tiller.agent_end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DelegatedTaskEnd {
    /// The agent's session.
    pub agent_id: SessionId,
    /// The reason there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
