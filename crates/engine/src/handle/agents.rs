//! Methods for the agents that work for the session.

use tiller_core::id::SessionId;

use super::command::{DelegationCommand, DriverCommand};
use super::{AgentError, AgentSession};
use crate::agents::{AgentDefinition, RunningAgent};

impl AgentSession {
    /// Lists the agents that work for the session, in the order of their starts.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn running_agents(&self) -> Result<Vec<RunningAgent>, AgentError> {
        self.send(|reply| DriverCommand::Delegation(DelegationCommand::List { reply })).await
    }

    /// Lists the definitions of agents in files, in order of precedence.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn agent_definitions(&self) -> Result<Vec<AgentDefinition>, AgentError> {
        self.send(|reply| DriverCommand::Delegation(DelegationCommand::Definitions { reply })).await
    }

    /// Returns the session of an agent that works for this one, to watch and steer it. As long as the handle exists, no
    /// other process can write to its log.
    ///
    /// # Errors
    /// When no such agent is at work.
    pub async fn running_agent(&self, id: SessionId) -> Result<Self, AgentError> {
        self.send(|reply| DriverCommand::Delegation(DelegationCommand::Find { id, reply })).await
    }
}
