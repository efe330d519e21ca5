//! A model and its provider, as resolved from a name or selected by cycling.

use std::sync::Arc;

use tiller_core::message::{ModelRef, ThinkingLevel};

use crate::Provider;
use crate::catalog::ModelFacts;

/// A model together with its provider.
#[derive(Clone)]
pub struct Model {
    /// Facts about the model.
    pub facts: Arc<ModelFacts>,
    /// The provider that serves it.
    pub provider: Arc<dyn Provider>,
}

impl Model {
    /// Returns the model's reference for requests and logs.
    #[must_use]
    pub fn reference(&self) -> ModelRef {
        ModelRef { provider: self.facts.provider.clone(), id: self.facts.id.clone() }
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model({})", self.reference())
    }
}

/// The model that a name resolves to.
#[derive(Clone, Debug)]
pub struct ResolvedModel {
    /// The model.
    pub model: Model,
    /// The thinking level at the end of the name, if any; not clamped.
    pub thinking: Option<ThinkingLevel>,
    /// The source of the model's facts.
    pub source: FactSource,
}

/// The source of a model's facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactSource {
    /// The catalog, or the code that added the provider.
    Known,
    /// [`assumed`](crate::catalog::assumed) from the id of the model; the user should be notified.
    Assumed,
}

/// A model to cycle to.
#[derive(Clone, Debug)]
pub struct ScopedModel {
    /// The model.
    pub model: Model,
    /// The thinking level to set; `None` leaves it unchanged. Not clamped.
    pub thinking: Option<ThinkingLevel>,
}
