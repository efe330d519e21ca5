//! The agents that a session can delegate to, by name.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use serde::Serialize;

use super::agent::Agent;
use super::answer::AgentFailure;
use super::definition::AgentDefinition;
use super::delegation::Delegation;
use super::delegation_limits::DelegationLimits;
use super::spec::AgentSpec;
use crate::embed::SessionBuilder;

/// Agents by name. Clones share them; agents can be registered at any time, from any thread.
#[derive(Clone, Default)]
pub struct AgentRegistry {
    agents: Arc<RwLock<BTreeMap<String, RegisteredAgent>>>,
}

impl std::fmt::Debug for AgentRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.list()).finish()
    }
}

#[derive(Clone)]
struct RegisteredAgent {
    description: String,
    create: Arc<dyn Fn() -> AgentSpec + Send + Sync>,
}

/// An agent in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSummary {
    /// The name.
    pub name: String,
    /// Its use.
    pub description: String,
}

impl From<&AgentDefinition> for AgentSummary {
    fn from(definition: &AgentDefinition) -> Self {
        Self { name: definition.name.clone(), description: definition.description.clone() }
    }
}

impl AgentRegistry {
    /// Registers an agent, replacing one of the same name. `create` is called for every task, so each task has a fresh
    /// agent; its result gets the name and the description given here.
    pub fn register(
        &self,
        name: impl Into<String>,
        description: impl Into<String>,
        create: impl Fn() -> AgentSpec + Send + Sync + 'static,
    ) {
        let agent = RegisteredAgent { description: description.into(), create: Arc::new(create) };
        self.agents.write().unwrap_or_else(PoisonError::into_inner).insert(name.into(), agent);
    }

    /// Registers an agent with this specification.
    pub fn register_spec(&self, spec: AgentSpec) {
        self.register(spec.name.clone(), spec.description.clone(), move || spec.clone());
    }

    /// Lists the agents, sorted by name.
    #[must_use]
    pub fn list(&self) -> Vec<AgentSummary> {
        let agents = self.agents.read().unwrap_or_else(PoisonError::into_inner);
        let summary = |(name, agent): (&String, &RegisteredAgent)| AgentSummary {
            name: name.clone(),
            description: agent.description.clone(),
        };
        agents.iter().map(summary).collect()
    }

    /// Starts a fresh agent that can delegate to the others, on the current tokio runtime. `depth` is the number of
    /// delegations above it: 0 for an agent that the program itself gives its tasks. At the depth of the limits it is
    /// refused to delegate further. The builder provides what the specification leaves open.
    ///
    /// # Errors
    /// When there is no agent of this name, or the directory, the model or the log can't be used.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    ///
    /// use tiller_engine::SessionBuilder;
    /// use tiller_engine::agents::{AgentRegistry, AgentSpec, DelegationLimits};
    /// use tiller_provider::ProviderRegistry;
    /// use tiller_provider::demo::Demo;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// let mut providers = ProviderRegistry::default();
    /// providers.add(Arc::new(Demo), vec![Demo::facts()]);
    /// let registry = AgentRegistry::default();
    /// registry.register("poet", "writes short poems", || AgentSpec::new("poet", "", "You write poems."));
    ///
    /// let limits = DelegationLimits::default();
    /// let poet = registry.spawn("poet", 1, limits, SessionBuilder::new(providers), folder.path())?;
    /// assert_eq!(poet.name(), "poet");
    /// # Ok(())
    /// # }
    /// ```
    pub fn spawn(
        &self,
        name: &str,
        depth: usize,
        limits: DelegationLimits,
        builder: SessionBuilder,
        work_dir: &Path,
    ) -> Result<Agent, AgentFailure> {
        let spec = self.create(name).ok_or_else(|| AgentFailure::Unknown(name.to_owned()))?;
        let delegation = Delegation::of_agent(self.clone(), limits, name, depth);
        Ok(Agent::start(spec, delegation.equip(builder), work_dir)?)
    }

    /// Creates a fresh specification; `None` for an unknown name.
    #[must_use]
    pub fn create(&self, name: &str) -> Option<AgentSpec> {
        let agent = self.agents.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()?;
        Some(AgentSpec { name: name.to_owned(), description: agent.description, ..(agent.create)() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registry_lists_by_name_and_creates_fresh_agents() {
        let registry = AgentRegistry::default();
        let made = Arc::new(RwLock::new(0));
        let counter = Arc::clone(&made);
        registry.register("b", "second", move || {
            *counter.write().unwrap() += 1;
            AgentSpec::new("other", "other", "Work.")
        });
        registry.register_spec(AgentSpec::new("a", "first", "Work."));
        let names: Vec<String> = registry.list().into_iter().map(|agent| agent.name).collect();
        assert_eq!(names, ["a", "b"]);
        for _ in 0..2 {
            let spec = registry.create("b").unwrap();
            assert_eq!((spec.name.as_str(), spec.description.as_str()), ("b", "second"));
        }
        assert_eq!(*made.read().unwrap(), 2);
        assert!(registry.create("c").is_none());
    }
}
