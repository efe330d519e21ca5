//! Model choices, and changes to the usable providers.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_provider::{ModelFacts, Provider};

/// Result of cycling through the models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenModel {
    /// The model, starting with the next turn.
    pub model: ModelRef,
    /// The model's thinking level.
    pub thinking: ThinkingLevel,
    /// The models to cycle through.
    pub scope: CycleScope,
}

/// The models that are cycled through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CycleScope {
    /// The configured list.
    Listed,
    /// All usable models.
    All,
}

/// A model that needs a key for its provider.
#[derive(Clone, Debug, PartialEq)]
pub struct LockedModel {
    /// The model.
    pub facts: ModelFacts,
    /// The variable for the key: `OPENAI_API_KEY`.
    pub key_name: String,
}

/// A change to the usable providers.
#[derive(Clone)]
pub enum ProviderChange {
    /// Adds or replaces a provider with its models, starting with the next request.
    Add(Arc<dyn Provider>, Vec<ModelFacts>),
    /// Removes a provider that lost its key.
    Remove {
        /// The provider's name.
        provider: String,
        /// The variable for the key: `OPENAI_API_KEY`.
        key_name: String,
    },
}

impl ProviderChange {
    /// Returns the provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        match self {
            Self::Add(provider, _) => provider.name(),
            Self::Remove { provider, .. } => provider,
        }
    }
}

impl std::fmt::Debug for ProviderChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Add(..) => write!(f, "Open({})", self.provider()),
            Self::Remove { .. } => write!(f, "Shut({})", self.provider()),
        }
    }
}
