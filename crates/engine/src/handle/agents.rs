//! Methods for the agents that work for the session.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use tiller_core::id::SessionId;

use super::command::{DelegationCommand, DriverCommand};
use super::{AgentError, AgentSession};
use crate::agents::{AgentDefinition, RunningAgent, TaskRecord};

/// Time for agents to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

impl AgentSession {
    /// Lists the agents that work for the session, in the order of their starts.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn running_agents(&self) -> Result<Vec<RunningAgent>, AgentError> {
        self.send(|reply| DriverCommand::Delegation(DelegationCommand::List { reply })).await
    }

    /// Lists the tasks that the session has delegated, on all branches: the newest of each agent, in the order of their
    /// starts. In a session that another process has open the list is empty.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn agent_tasks(&self) -> Result<Vec<TaskRecord>, AgentError> {
        self.send(|reply| DriverCommand::Delegation(DelegationCommand::Tasks { reply })).await
    }

    /// Lists the definitions of agents in files, in order of precedence.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn agent_definitions(&self) -> Result<Vec<AgentDefinition>, AgentError> {
        self.send(|reply| DriverCommand::Delegation(DelegationCommand::Definitions { reply })).await
    }

    /// Stops the run and all agents that work for the session, and waits until their ends are recorded and their
    /// worktrees removed, at most 10 s. Does nothing without such agents.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn stop_agents(&self) -> Result<(), AgentError> {
        let mut events = self.subscribe();
        if self.running_agents().await?.is_empty() {
            return Ok(());
        }
        self.interrupt().await?;
        let ended = async {
            let mut interrupted = HashSet::new();
            while let Ok(agents) = self.running_agents().await
                && !agents.is_empty()
            {
                // An agent that ends makes room for one that has waited.
                for agent in agents.into_iter().map(|agent| agent.start.agent_id) {
                    if interrupted.insert(agent.clone())
                        && let Ok(session) = self.running_agent(agent).await
                    {
                        // It may have ended meanwhile.
                        let _ = session.interrupt().await;
                    }
                }
                if events.next().await.is_none() {
                    return;
                }
            }
        };
        // Worktrees that are left are found again.
        let _ = tokio::time::timeout(STOP_TIMEOUT, ended).await;
        Ok(())
    }

    /// Returns an agent session that works for this one, or for one of its agents, to watch and steer it. As long as
    /// the handle exists, no other process can write to its log.
    ///
    /// # Errors
    /// If no such agent is at work.
    pub async fn running_agent(&self, id: SessionId) -> Result<Self, AgentError> {
        let mut sessions = VecDeque::from([self.clone()]);
        let mut result = self.child(id.clone()).await;
        while let (Err(AgentError::NotFound(_)), Some(session)) = (&result, sessions.pop_front()) {
            // An agent may end during the search.
            for agent in session.running_agents().await.unwrap_or_default() {
                let Ok(child) = session.child(agent.start.agent_id).await else { continue };
                if let Ok(found) = child.child(id.clone()).await {
                    result = Ok(found);
                }
                sessions.push_back(child);
            }
        }
        result
    }

    /// Returns an agent session that works for this one.
    async fn child(&self, id: SessionId) -> Result<Self, AgentError> {
        self.send(|reply| DriverCommand::Delegation(DelegationCommand::Find { id, reply })).await
    }
}
