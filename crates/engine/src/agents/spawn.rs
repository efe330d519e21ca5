//! Starts an agent of a registry that can delegate to the registry's other agents.

use std::path::Path;

use super::agent::Agent;
use super::answer::AgentFailure;
use super::delegation::Delegation;
use super::delegation_limits::DelegationLimits;
use super::registry::AgentRegistry;
use crate::embed::SessionBuilder;

/// An agent's position in the chain of delegation. Default: a top-level agent, to which no other agent has
/// delegated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpawnOptions {
    /// Number of delegations above the agent: 0 for an agent that gets its tasks from the program. At the
    /// maximum depth of the limits, the agent can't delegate.
    pub depth: usize,
    /// The limits of delegation.
    pub limits: DelegationLimits,
}

impl AgentRegistry {
    /// Starts a new agent that can delegate to the registry's other agents, on the current tokio runtime. The
    /// builder provides everything that the specification leaves open.
    ///
    /// # Errors
    /// If there is no agent of this name, or the directory, the model or the log can't be used.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    ///
    /// use tiller_engine::SessionBuilder;
    /// use tiller_engine::agents::{AgentRegistry, AgentSpec, SpawnOptions};
    /// use tiller_provider::ProviderRegistry;
    /// use tiller_provider::demo::Demo;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let mut providers = ProviderRegistry::default();
    /// providers.add(Arc::new(Demo), vec![Demo::facts()]);
    /// let registry = AgentRegistry::default();
    /// registry.register("poet", "writes short poems", || AgentSpec::new("poet", "", "You write poems."));
    ///
    /// let options = SpawnOptions { depth: 1, ..SpawnOptions::default() };
    /// let poet = registry.spawn("poet", options, SessionBuilder::new(providers), dir.path())?;
    /// assert_eq!(poet.name(), "poet");
    /// # Ok(())
    /// # }
    /// ```
    pub fn spawn(
        &self,
        name: &str,
        SpawnOptions { depth, limits }: SpawnOptions,
        builder: SessionBuilder,
        work_dir: &Path,
    ) -> Result<Agent, AgentFailure> {
        let spec = self.create(name).ok_or_else(|| AgentFailure::Unknown(name.to_owned()))?;
        let delegation = Delegation::of_agent(self.clone(), limits, name, depth);
        Ok(Agent::start(spec, delegation.equip(builder), work_dir)?)
    }
}
