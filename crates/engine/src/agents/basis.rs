//! What passes between a session and the tools that delegate for it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tiller_core::id::{CallId, SessionId};
use tiller_core::message::ThinkingLevel;
use tiller_core::unit::UnixMs;
use tiller_provider::{Model, ProviderRegistry};
use tiller_session::{ModelUsage, Reader, SessionManager};
use tiller_tools::process::Runner;
use tiller_tools::tool::Tools;

use super::activity::AgentActivity;
use crate::extension::Extensions;
use crate::options::AgentOptions;
use crate::resources::Resources;
use crate::system_prompt::SystemPrompt;

/// The state of a session that delegates, from which the sessions of its agents are made.
pub(crate) struct DelegationBasis {
    /// Access to the sessions of its agents.
    pub manager: SessionManager,
    pub reader: Reader,
    pub providers: ProviderRegistry,
    pub model: Model,
    pub thinking: ThinkingLevel,
    /// Its tools, with state of their own.
    pub tools: Tools,
    /// Its extensions, as far as they guard calls.
    pub guards: Extensions,
    pub runner: Runner,
    pub system_prompt: SystemPrompt,
    pub resources: Resources,
    /// Its options, with the current policy and what is left of its budget.
    pub options: AgentOptions,
}

/// The start of a task that an agent works on: an entry `tiller.agent` of the log of the session that delegates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentStart {
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

/// The end of a task: an entry `tiller.agent_end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentEnd {
    /// The agent's session.
    pub agent_id: SessionId,
    /// The reason why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Type of the entry of an [`AgentStart`].
pub(crate) const START_TYPE: &str = "tiller.agent";

/// Type of the entry of an [`AgentEnd`].
pub(crate) const END_TYPE: &str = "tiller.agent_end";

/// An agent that works on a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningAgent {
    /// The start of its task.
    #[serde(flatten)]
    pub start: AgentStart,
    /// The time of the start.
    pub since: UnixMs,
    /// What it has done so far.
    pub activity: AgentActivity,
}

/// The end of a task, with what it has used.
pub(crate) struct EndedTask {
    pub end: AgentEnd,
    pub usage: Vec<ModelUsage>,
}
