//! Types shared by a session and its delegation tools.

use serde::{Deserialize, Serialize};
use tiller_core::delegated_task::{DelegatedTask, DelegatedTaskEnd};
use tiller_core::message::ThinkingLevel;
use tiller_core::unit::{UnixMs, Usd};
use tiller_provider::{Model, ProviderRegistry};
use tiller_session::{EntryBody, Graft, ModelUsage, Reader, SessionManager};
use tiller_tools::process::Runner;
use tiller_tools::tool::Tools;

use super::activity::AgentActivity;
use super::registry::{AgentRegistry, AgentSummary};
use super::spec::AgentSpec;
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
    /// The agents that a program has registered.
    pub registry: AgentRegistry,
    /// Its options, with the current policy and the rest of its budget.
    pub options: AgentOptions,
}

impl ParentSession {
    /// Lists the agents that tasks can be delegated to, sorted by name. A registered agent hides a definition.
    pub(super) fn agents(&self) -> Vec<AgentSummary> {
        let mut agents = self.registry.list();
        for definition in self.resources.agents() {
            if agents.iter().all(|agent| agent.name != definition.name) {
                agents.push(AgentSummary::from(definition));
            }
        }
        agents.sort_by(|a, b| a.name.cmp(&b.name));
        agents
    }

    /// Finds an agent by its name.
    pub(super) fn find_agent(&self, name: &str) -> Option<AgentSpec> {
        let defined = || self.resources.agents().iter().find(|agent| agent.name == name);
        self.registry.create(name).or_else(|| defined().map(AgentSpec::from))
    }
}

/// Type of the entry of a [`DelegatedTask`].
pub(crate) const START_TYPE: &str = "tiller.agent";

/// Type of the entry of a [`DelegatedTaskEnd`].
pub(crate) const END_TYPE: &str = "tiller.agent_end";

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

/// Returns the entry of the start or the end of a task.
pub(crate) fn agent_entry(custom_type: &str, data: &impl Serialize) -> EntryBody {
    EntryBody::Custom { custom_type: custom_type.to_owned(), data: serde_json::to_value(data).ok() }
}

/// Returns the entries that add the usage of agents to the totals of the session that delegates.
pub(crate) fn usage_entries(used: Vec<ModelUsage>) -> impl Iterator<Item = EntryBody> {
    let used = used.into_iter().filter(|used| used.usage.total().0 > 0);
    used.map(|ModelUsage { model, usage }| EntryBody::Usage {
        kind: "agent".to_owned(),
        provider: model.provider,
        model: model.id,
        usage,
    })
}

/// Returns the cost of usage.
pub(crate) fn cost_of(used: &[ModelUsage]) -> Usd {
    used.iter().fold(Usd::default(), |sum, used| sum + used.usage.cost.total)
}
