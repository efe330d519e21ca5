//! Methods for models and thinking levels.

use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_provider::{CycleDirection, Model, ScopedModel};

use super::command::DriverCommand;
use super::model_change::{ChosenModel, LockedModel, ProviderChange};
use super::{AgentError, AgentSession};

impl AgentSession {
    /// Adds or removes a provider. A request in progress isn't affected. A model whose provider was removed
    /// stays active, and every request to it fails with an error that gives the reason.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn change_provider(&self, change: ProviderChange) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::ChangeProvider { change, reply }).await
    }

    /// Sets the model, starting with the next turn: `[provider/]id[:thinking]`, or part of an id.
    ///
    /// # Errors
    /// If no model matches, or its provider has no key. Then nothing is changed or written.
    pub async fn set_model(&self, query: impl Into<String>) -> Result<ModelRef, AgentError> {
        let words = query.into();
        self.send(|reply| DriverCommand::SetModel { words, reply }).await
    }

    /// Switches to the next or previous model of [`AgentSession::scoped_models`], wrapping from the last to the first;
    /// `None` if there is no other.
    ///
    /// # Errors
    /// If the choice could not be stored.
    pub async fn cycle_model(&self, direction: CycleDirection) -> Result<Option<ChosenModel>, AgentError> {
        self.send(|reply| DriverCommand::CycleModel { direction, reply }).await
    }

    /// Returns the models to cycle through: those in the setting `models`, or all usable ones.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn scoped_models(&self) -> Result<Vec<ScopedModel>, AgentError> {
        self.send(|reply| DriverCommand::ScopedModels { reply }).await
    }

    /// Sets the thinking level, starting with the next turn, and returns the nearest level that the model
    /// supports. A model chosen later gets the requested level if it supports it.
    ///
    /// # Errors
    /// If the choice could not be stored.
    pub async fn set_thinking(&self, level: ThinkingLevel) -> Result<ThinkingLevel, AgentError> {
        self.send(|reply| DriverCommand::SetThinking { level, reply }).await
    }

    /// Switches to the next level that the model supports, wrapping from the highest to the lowest; `None` if
    /// the model has no thinking levels.
    ///
    /// # Errors
    /// If the choice could not be stored.
    pub async fn cycle_thinking(&self) -> Result<Option<ThinkingLevel>, AgentError> {
        self.send(|reply| DriverCommand::CycleThinking { reply }).await
    }

    /// Returns the levels that the model supports, lowest first; only `off` if it has no thinking levels.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn thinking_levels(&self) -> Result<Vec<ThinkingLevel>, AgentError> {
        self.send(|reply| DriverCommand::ThinkingLevels { reply }).await
    }

    /// Returns the models that lack a key.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn locked_models(&self) -> Result<Vec<LockedModel>, AgentError> {
        self.send(|reply| DriverCommand::LockedModels { reply }).await
    }

    /// Returns the usable models.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn models(&self) -> Result<Vec<Model>, AgentError> {
        self.send(|reply| DriverCommand::Models { reply }).await
    }
}
