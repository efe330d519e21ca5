//! A registry of the agents that a session can delegate to.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use schemars::JsonSchema;
use serde::Serialize;

use super::definition::AgentDefinition;
use super::spec::AgentSpec;

/// Agents by name. Clones share them; agents can be registered at any time, from any thread.
#[derive(Clone, Default)]
pub struct AgentRegistry {
    agents: Arc<RwLock<BTreeMap<String, RegisteredAgent>>>,
}

#[derive(Clone)]
struct RegisteredAgent {
    description: String,
    create: Arc<dyn Fn() -> AgentSpec + Send + Sync>,
}

/// An agent in a list of agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSummary {
    /// The agent's name.
    pub name: String,
    /// When to use the agent.
    pub description: String,
}

impl From<&AgentDefinition> for AgentSummary {
    fn from(definition: &AgentDefinition) -> Self {
        Self { name: definition.name.clone(), description: definition.description.clone() }
    }
}

impl AgentRegistry {
    /// Registers an agent and replaces any agent of the same name. `create` is called for every task, so each
    /// task has a fresh agent; the specification that it returns gets the given name and description.
    pub fn register(
        &self,
        name: impl Into<String>,
        description: impl Into<String>,
        create: impl Fn() -> AgentSpec + Send + Sync + 'static,
    ) {
        let agent = RegisteredAgent { description: description.into(), create: Arc::new(create) };
        self.agents.write().unwrap_or_else(PoisonError::into_inner).insert(name.into(), agent);
    }

    /// Registers an agent with a fixed specification.
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

    /// Creates a specification for a new task; `None` for an unknown name.
    #[must_use]
    pub fn create(&self, name: &str) -> Option<AgentSpec> {
        let agent = self.agents.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()?;
        Some(AgentSpec { name: name.to_owned(), description: agent.description, ..(agent.create)() })
    }

    /// Lists the registered and the defined agents, sorted by name. A registered agent overrides a definition of
    /// the same name.
    pub(super) fn list_with(&self, definitions: &[AgentDefinition]) -> Vec<AgentSummary> {
        let mut agents = self.list();
        for definition in definitions {
            if agents.iter().all(|agent| agent.name != definition.name) {
                agents.push(AgentSummary::from(definition));
            }
        }
        agents.sort_by(|a, b| a.name.cmp(&b.name));
        agents
    }

    /// Finds an agent that [`Self::list_with`] lists.
    pub(super) fn find(&self, name: &str, definitions: &[AgentDefinition]) -> Option<AgentSpec> {
        let defined = || definitions.iter().find(|agent| agent.name == name).map(AgentSpec::from);
        self.create(name).or_else(defined)
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
