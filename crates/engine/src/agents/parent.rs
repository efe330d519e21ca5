//! Types shared by a session and its delegation tools.

use serde::{Deserialize, Serialize};
use tiller_core::delegated_task::{DelegatedTask, DelegatedTaskEnd};
use tiller_core::message::ThinkingLevel;
use tiller_core::unit::UnixMs;
use tiller_provider::{Model, ProviderRegistry};
use tiller_session::{Graft, ModelUsage, Reader, SessionManager};
use tiller_tools::process::Runner;
use tiller_tools::tool::Tools;

use super::activity::AgentActivity;
use super::task_record::TaskRecord;
use crate::extension::Extensions;
use crate::options::AgentOptions;
use crate::resources::Resources;
use crate::system_prompt::SystemPrompt;

/// The state of a session that delegates, from which the sessions of its agents are made.
pub(crate) struct ParentSession {
    /// Access to the sessions of its agents.
    pub manager: SessionManager,
    pub reader: Reader,
    /// The tasks that it has delegated.
    pub tasks: Vec<TaskRecord>,
    pub providers: ProviderRegistry,
    pub model: Model,
    pub thinking: ThinkingLevel,
    /// Its tools, with state of their own.
    pub tools: Tools,
    /// Its extensions that guard calls.
    pub guards: Extensions,
    pub runner: Runner,
    pub system_prompt: SystemPrompt,
    pub resources: Resources,
    /// Its options, with the current policy and the rest of its budget.
    pub options: AgentOptions,
}

/// An agent that works on a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningAgent {
    /// The start of its task.
    #[serde(flatten)]
    pub start: DelegatedTask,
    /// The time of the start.
    pub since: UnixMs,
    /// Its progress so far.
    pub activity: AgentActivity,
}

/// The end of a task, with its usage.
pub(crate) struct EndedTask {
    pub end: DelegatedTaskEnd,
    /// The usage since its start.
    pub usage: Vec<ModelUsage>,
    /// Its conversation, to become a branch of the session that delegates.
    pub graft: Option<Graft>,
}
