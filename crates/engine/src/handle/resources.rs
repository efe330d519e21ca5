//! The handle's word on skills, templates and context files.

use super::command::SessionCommand;
use super::{AgentError, AgentSession};
use crate::resources::{Inventory, ReloadRequest, ResourcePaths, SlashCommand};

impl AgentSession {
    /// Reads skills, templates and context files anew; the next prompt and the next request see them. What is wrong with
    /// them is told by warnings. Extensions that have ended, or whose file has changed, are started again, and new ones are told of.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn reload(&self) -> Result<Inventory, AgentError> {
        self.listeners.reload().await;
        self.ask(|reply| SessionCommand::Resources { order: ReloadRequest::Reload, reply }).await
    }

    /// Looks for skills, templates and context files in other places from now on.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn change_sources(
        &self,
        change: impl FnOnce(&mut ResourcePaths) + Send + 'static,
    ) -> Result<Inventory, AgentError> {
        let order = ReloadRequest::Change(Box::new(change));
        self.ask(|reply| SessionCommand::Resources { order, reply }).await
    }

    /// What a prompt that begins with `/skill:name` or `/template` becomes; any other stays as it is. Commands of extensions
    /// are not run.
    ///
    /// # Errors
    /// [`AgentError::UnknownSkill`] when there is no such skill.
    pub async fn expand(&self, text: impl Into<String>) -> Result<String, AgentError> {
        let text = text.into();
        self.ask(|reply| SessionCommand::Expand { text, reply }).await
    }

    /// What can be typed after a `/` at the beginning of a prompt, beside the commands of a front end.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn slash_commands(&self) -> Result<Vec<SlashCommand>, AgentError> {
        self.ask(|reply| SessionCommand::SlashCommands { reply }).await
    }
}
