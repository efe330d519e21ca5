//! Starts agents of a registry that delegate to its other agents.

use std::path::Path;

use super::agent::Agent;
use super::answer::AgentFailure;
use super::delegation::Delegation;
use super::delegation_limits::DelegationLimits;
use super::registry::AgentRegistry;
use crate::embed::SessionBuilder;

impl AgentRegistry {
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
}
