//! Methods for skills, templates and context files.

use super::command::DriverCommand;
use super::{AgentError, AgentSession};
use crate::resources::{AgentCommand, Inventory, ReloadRequest, ResourcePaths};

impl AgentSession {
    /// Reloads skills, templates, agents and context files for the next prompt and request. Problems are emitted as
    /// warnings. Extensions that have ended or changed are restarted, and new ones are announced.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn reload(&self) -> Result<Inventory, AgentError> {
        if let Some(forwarder) = &self.forwarder {
            forwarder.reload().await;
        }
        self.send(|reply| DriverCommand::Resources { request: ReloadRequest::Reload, reply }).await
    }

    /// Changes the search paths of skills, templates and context files.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn change_sources(
        &self,
        change: impl FnOnce(&mut ResourcePaths) + Send + 'static,
    ) -> Result<Inventory, AgentError> {
        let request = ReloadRequest::Change(Box::new(change));
        self.send(|reply| DriverCommand::Resources { request, reply }).await
    }

    /// Expands a prompt that starts with `/skill:name` or `/template`; returns other prompts unchanged.
    /// Doesn't run extension commands.
    ///
    /// # Errors
    /// [`AgentError::UnknownSkill`] if there is no such skill.
    pub async fn expand(&self, text: impl Into<String>) -> Result<String, AgentError> {
        let text = text.into();
        self.send(|reply| DriverCommand::Expand { text, reply }).await
    }

    /// Returns the slash commands for prompts, except those of front ends.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn slash_commands(&self) -> Result<Vec<AgentCommand>, AgentError> {
        self.send(|reply| DriverCommand::SlashCommands { reply }).await
    }
}
