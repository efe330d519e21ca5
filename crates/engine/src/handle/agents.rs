//! Methods for the agents that are working for the session.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use tiller_core::delegated_task::BackgroundTask;
use tiller_core::id::SessionId;
use tiller_session::Reader;
use tokio::task::spawn_blocking;

use super::command::{DelegationCommand, DriverCommand};
use super::{AgentError, AgentSession};
use crate::agents::{AgentDefinition, AgentSummary, RunningAgent, TaskRecord};

/// Maximum wait for agents to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The agents of a session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentOverview {
    /// The running agents, in the order in which they started.
    pub agents: Vec<RunningAgent>,
    /// The newest task of each agent, in the order in which they started.
    pub tasks: Vec<TaskRecord>,
    /// Background tasks waiting to start.
    pub waiting: Vec<BackgroundTask>,
    /// The agents that are defined in files, in order of precedence.
    pub definitions: Vec<AgentSummary>,
}

impl AgentSession {
    /// Returns the running agents, the tasks so far, and the agents that are defined in files.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn agents(&self) -> Result<AgentOverview, AgentError> {
        let (agents, tasks) = (self.running_agents().await?, self.agent_tasks().await?);
        let definitions = self.agent_definitions().await?.iter().map(AgentSummary::from).collect();
        let waiting = self.waiting_tasks().await?;
        Ok(AgentOverview { agents, tasks, waiting, definitions })
    }

    /// Returns a reader for the log of an agent that is working for this session or one of its agents, or that has
    /// worked for this session.
    ///
    /// # Errors
    /// If there is no such agent, or its log can't be read.
    pub async fn agent_reader(&self, id: SessionId) -> Result<Reader, AgentError> {
        match self.running_agent(id.clone()).await {
            Err(AgentError::NotFound(_)) => {}
            found => return Ok(found?.reader()),
        }
        let task = self.agent_tasks().await?.into_iter().find(|task| task.start.agent_id == id);
        let task = task.ok_or(AgentError::NotFound("agent with that id"))?;
        let path = task.start.path.ok_or(AgentError::NotFound("log of that agent: it was in memory"))?;
        let read = spawn_blocking(move || Reader::open(&path)).await;
        Ok(read.map_err(|error| AgentError::Store(error.to_string()))??)
    }

    /// Lists the agents that are working for the session, in the order in which they started.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn running_agents(&self) -> Result<Vec<RunningAgent>, AgentError> {
        self.send(|reply| DriverCommand::Delegation(DelegationCommand::List { reply })).await
    }

    /// Lists the tasks that the session has delegated, on all branches: the newest task of each agent, in the
    /// order in which they started. The list is empty for a session that is open in another process.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn agent_tasks(&self) -> Result<Vec<TaskRecord>, AgentError> {
        self.send(|reply| DriverCommand::Delegation(DelegationCommand::Tasks { reply })).await
    }

    /// Lists the background tasks that the session has delegated and that are waiting for a free slot. The list is
    /// empty for a session that is open in another process.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn waiting_tasks(&self) -> Result<Vec<BackgroundTask>, AgentError> {
        self.send(|reply| DriverCommand::Delegation(DelegationCommand::Waiting { reply })).await
    }

    /// Lists the agents that are defined in files, in order of precedence.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn agent_definitions(&self) -> Result<Vec<AgentDefinition>, AgentError> {
        self.send(|reply| DriverCommand::Delegation(DelegationCommand::Definitions { reply })).await
    }

    /// Stops the run and all agents that are working for the session, and waits up to 10 s for the log to record
    /// that they ended and for their worktrees to be removed. Does nothing if there are none.
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
                // When an agent ends, a waiting one may start.
                for agent in agents.into_iter().map(|agent| agent.start.agent_id) {
                    if interrupted.insert(agent.clone())
                        && let Ok(session) = self.running_agent(agent).await
                    {
                        // It may have ended in the meantime.
                        let _ = session.interrupt().await;
                    }
                }
                if events.next().await.is_none() {
                    return;
                }
            }
        };
        // Remaining worktrees are found again later.
        let _ = tokio::time::timeout(STOP_TIMEOUT, ended).await;
        Ok(())
    }

    /// Returns the session of an agent that is working for this session or one of its agents, to watch and
    /// steer it. While the handle exists, no other process can write to its log.
    ///
    /// # Errors
    /// If no such agent is running.
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

    /// Returns this session if `id` is its id or [short id](SessionId::short); otherwise the running agent's session
    /// with that id, as [`Self::running_agent`] does.
    ///
    /// # Errors
    /// If `id` matches neither.
    pub async fn session_or_agent(&self, id: SessionId) -> Result<Self, AgentError> {
        let reader = self.reader();
        let is_own = *reader.id() == id || reader.id().short().eq_ignore_ascii_case(id.as_str());
        if is_own { Ok(self.clone()) } else { self.running_agent(id).await }
    }

    /// Returns the session of an agent that is working for this one.
    async fn child(&self, id: SessionId) -> Result<Self, AgentError> {
        self.send(|reply| DriverCommand::Delegation(DelegationCommand::Find { id, reply })).await
    }
}
