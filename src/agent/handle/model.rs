//! The handle's word on models and thinking levels.

use super::command::Command;
use super::{AgentError, AgentSession};
use crate::message::{ModelRef, ThinkingLevel};
use crate::provider::Model;

impl AgentSession {
    /// Lets another model answer from the next turn on: `[provider/]id[:thinking]`, or a part of an id.
    ///
    /// # Errors
    /// When no usable model goes by these words.
    pub async fn set_model(&self, words: impl Into<String>) -> Result<ModelRef, AgentError> {
        let words = words.into();
        self.ask(|reply| Command::SetModel { words, reply }).await
    }

    /// Lets the model think more or less from the next turn on; answers with the level it can do.
    ///
    /// # Errors
    /// When the choice could not be kept.
    pub async fn set_thinking(&self, level: ThinkingLevel) -> Result<ThinkingLevel, AgentError> {
        self.ask(|reply| Command::SetThinking { level, reply }).await
    }

    /// The models that can be asked.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn models(&self) -> Result<Vec<Model>, AgentError> {
        self.ask(|reply| Command::Models { reply }).await
    }
}
