//! Types shared by a session and its delegation tools.

use std::any::Any;

use schemars::JsonSchema;
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

/// The state of a delegating session, from which its agents' sessions are created.
pub(crate) struct ParentSession {
    /// Access to the agents' sessions.
    pub manager: SessionManager,
    pub reader: Reader,
    /// The tasks delegated so far.
    pub tasks: Vec<TaskRecord>,
    pub providers: ProviderRegistry,
    pub model: Model,
    pub thinking: ThinkingLevel,
    /// The session's tools, with separate state.
    pub tools: Tools,
    /// The session's extensions that guard calls.
    pub guards: Extensions,
    pub runner: Runner,
    pub system_prompt: SystemPrompt,
    pub resources: Resources,
    /// The `SessionLink` of the session's delegation tools, if it can delegate. It can't be
    /// named here: it contains the handle of the session, whose commands send this struct.
    pub link: Option<Box<dyn Any + Send + Sync>>,
    /// The session's options, with the current policy and the rest of the budget.
    pub options: AgentOptions,
}

/// An agent that is working on a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunningAgent {
    /// The record of the task's start.
    #[serde(flatten)]
    pub start: DelegatedTask,
    /// The time when the task started.
    pub since: UnixMs,
    /// The agent's progress so far.
    pub activity: AgentActivity,
}

/// A task's end, with its usage.
pub(crate) struct EndedTask {
    pub end: DelegatedTaskEnd,
    /// The usage since its start.
    pub usage: Vec<ModelUsage>,
    /// The agent's conversation, to be added as a branch of the delegating session.
    pub graft: Option<Graft>,
}
