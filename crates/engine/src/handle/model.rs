//! The handle's word on models and thinking levels.

use std::sync::Arc;

use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_provider::{Direction, Model, ModelFacts, Provider, ScopedModel};

use super::command::SessionCommand;
use super::{AgentError, AgentSession};

/// What a step through the models came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenModel {
    /// The model that answers from the next turn on.
    pub model: ModelRef,
    /// How much it thinks.
    pub thinking: ThinkingLevel,
    /// What was stepped through.
    pub scope: CycleScope,
}

/// What is stepped through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CycleScope {
    /// A list of models that somebody chose.
    Listed,
    /// Every model that can be asked.
    All,
}

/// A model that could be asked if there were a key for its provider.
#[derive(Clone, Debug, PartialEq)]
pub struct LockedModel {
    /// What is known of it.
    pub facts: ModelFacts,
    /// The variable that would hold the key: `OPENAI_API_KEY`.
    pub key_name: String,
}

/// Who can be asked, and can't be asked any more.
#[derive(Clone)]
pub enum ProviderChange {
    /// This one can, from the next request on, with the models that it is known to serve. One of the same name is replaced.
    Open(Arc<dyn Provider>, Vec<ModelFacts>),
    /// This one has no key any more.
    Shut {
        /// The provider's name.
        provider: String,
        /// The variable that would hold the key: `OPENAI_API_KEY`.
        key_name: String,
    },
}

impl ProviderChange {
    /// The provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        match self {
            Self::Open(provider, _) => provider.name(),
            Self::Shut { provider, .. } => provider,
        }
    }
}

impl std::fmt::Debug for ProviderChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Open(..) => write!(f, "Open({})", self.provider()),
            Self::Shut { .. } => write!(f, "Shut({})", self.provider()),
        }
    }
}

impl AgentSession {
    /// Adds a provider to those that can be asked, or takes one away. A request that is in flight is not disturbed; the next one goes
    /// to the provider as it is then. A model that answers and whose provider was taken away stays chosen, and every request to it
    /// fails, saying why.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn change_provider(&self, change: ProviderChange) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::ChangeProvider { change, reply }).await
    }

    /// Lets another model answer from the next turn on: `[provider/]id[:thinking]`, or a part of an id.
    ///
    /// # Errors
    /// When no model goes by these words, or its provider has no key: then everything stays as it was, and nothing is written.
    pub async fn set_model(&self, words: impl Into<String>) -> Result<ModelRef, AgentError> {
        let words = words.into();
        self.ask(|reply| SessionCommand::SetModel { words, reply }).await
    }

    /// Steps to the next or the previous model of [`AgentSession::scoped_models`], from the last to the first; `None` if there is
    /// no other.
    ///
    /// # Errors
    /// When the choice could not be kept.
    pub async fn cycle_model(&self, direction: Direction) -> Result<Option<ChosenModel>, AgentError> {
        self.ask(|reply| SessionCommand::CycleModel { direction, reply }).await
    }

    /// The models that are cycled through: those of the setting `models`, else every one that can be asked.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn scoped_models(&self) -> Result<Vec<ScopedModel>, AgentError> {
        self.ask(|reply| SessionCommand::ScopedModels { reply }).await
    }

    /// Lets the model think more or less from the next turn on; answers with the level it can do. A model that is chosen later
    /// thinks as much as was wanted here, if it can.
    ///
    /// # Errors
    /// When the choice could not be kept.
    pub async fn set_thinking(&self, level: ThinkingLevel) -> Result<ThinkingLevel, AgentError> {
        self.ask(|reply| SessionCommand::SetThinking { level, reply }).await
    }

    /// Steps to the next level that the model can do, from the highest to the lowest; `None` if it can't think.
    ///
    /// # Errors
    /// When the choice could not be kept.
    pub async fn cycle_thinking(&self) -> Result<Option<ThinkingLevel>, AgentError> {
        self.ask(|reply| SessionCommand::CycleThinking { reply }).await
    }

    /// The levels that the model can do, least first: `off` alone if it can't think.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn thinking_levels(&self) -> Result<Vec<ThinkingLevel>, AgentError> {
        self.ask(|reply| SessionCommand::ThinkingLevels { reply }).await
    }

    /// The models that can't be asked for want of a key.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn locked_models(&self) -> Result<Vec<LockedModel>, AgentError> {
        self.ask(|reply| SessionCommand::LockedModels { reply }).await
    }

    /// The models that can be asked.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn models(&self) -> Result<Vec<Model>, AgentError> {
        self.ask(|reply| SessionCommand::Models { reply }).await
    }
}
