//! The configuration of delegation: agents, limits and tools.

use std::sync::Arc;

use tiller_tools::tool::{Tool, ToolSource, Tools, TypedToolAdapter};

use super::delegate_to_agent::DelegateToAgent;
use super::delegation_limits::DelegationLimits;
use super::delegator::Delegator;
use super::link::SessionLink;
use super::list_agents::ListAgents;
use super::registry::AgentRegistry;
use super::spawn_agents::SpawnAgents;
use crate::embed::SessionBuilder;

/// Lets a session delegate tasks to the agents of a registry and of its
/// [resources](crate::Resources::agents).
pub struct Delegation {
    delegator: Delegator,
}

impl Delegation {
    /// Creates the delegation of a top-level session.
    #[must_use]
    pub fn new(registry: AgentRegistry, limits: DelegationLimits) -> Self {
        Self { delegator: Delegator::new(registry, limits, make_tools) }
    }

    /// Creates the delegation of an agent's session at a depth.
    pub(super) fn of_agent(
        registry: AgentRegistry,
        limits: DelegationLimits,
        agent: &str,
        depth: usize,
    ) -> Self {
        Self { delegator: Delegator::new(registry, limits, make_tools).of_agent(agent, depth) }
    }

    /// Returns the link for [`SessionParts::agent_link`](crate::SessionParts::agent_link).
    #[must_use]
    pub fn link(&self) -> SessionLink {
        self.delegator.link.clone()
    }

    /// Adds the tools for delegation.
    #[must_use]
    pub fn add_tools(&self, tools: Tools) -> Tools {
        make_tools(&self.delegator)
            .into_iter()
            .fold(tools, |tools, tool| tools.with_from(tool, ToolSource::BuiltIn))
    }

    /// Adds the delegation tools to a session.
    #[must_use]
    pub fn equip(&self, builder: SessionBuilder) -> SessionBuilder {
        builder.more_tools(make_tools(&self.delegator)).agent_link(self.link())
    }
}

fn make_tools(delegator: &Delegator) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(TypedToolAdapter::new(ListAgents(delegator.clone()))),
        Arc::new(TypedToolAdapter::new(DelegateToAgent(delegator.clone()))),
        Arc::new(TypedToolAdapter::new(SpawnAgents(delegator.clone()))),
    ]
}
