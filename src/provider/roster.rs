//! The providers that can be asked now, and how a person's words for a model find one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Provider;
use super::catalog::ModelFacts;
use crate::message::{ModelRef, ThinkingLevel};

/// A model together with the provider that serves it.
#[derive(Clone)]
pub struct Model {
    /// What is known of it.
    pub facts: Arc<ModelFacts>,
    /// Who serves it.
    pub provider: Arc<dyn Provider>,
}

impl Model {
    /// The model's name in requests and logs.
    #[must_use]
    pub fn reference(&self) -> ModelRef {
        ModelRef { provider: self.facts.provider.clone(), id: self.facts.id.clone() }
    }
}

/// The providers that can be asked: those with a key, a local server, the demo.
#[derive(Clone, Default)]
pub struct Providers {
    providers: BTreeMap<String, Arc<dyn Provider>>,
    models: Vec<Arc<ModelFacts>>,
}

/// A model that can't be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Nothing goes by that name.
    #[error("no usable model matches `{0}`")]
    Unknown(String),
}

impl Providers {
    /// Adds a provider with the models it is known to serve. One of the same name is replaced.
    pub fn add(&mut self, provider: Arc<dyn Provider>, models: Vec<ModelFacts>) {
        let name = provider.name().to_owned();
        self.models.retain(|facts| facts.provider != name);
        self.models.extend(models.into_iter().map(Arc::new));
        self.providers.insert(name, provider);
    }

    /// Every model that can be asked, by provider in the order they were added.
    #[must_use]
    pub fn models(&self) -> Vec<Model> {
        let model = |facts: &Arc<ModelFacts>| {
            let provider = self.providers.get(&facts.provider)?;
            Some(Model { facts: Arc::clone(facts), provider: Arc::clone(provider) })
        };
        self.models.iter().filter_map(model).collect()
    }

    /// Finds the model that a log or a request names.
    ///
    /// # Errors
    /// When its provider isn't there.
    pub fn exact(&self, reference: &ModelRef) -> Result<Model, ModelError> {
        self.models()
            .into_iter()
            .find(|model| model.reference() == *reference)
            .ok_or_else(|| ModelError::Unknown(reference.to_string()))
    }

    /// Finds the model that a person's words mean: `[provider/]id[:thinking]`, a whole id first, else a part of one.
    ///
    /// # Errors
    /// When nothing matches.
    pub fn find(&self, words: &str) -> Result<(Model, Option<ThinkingLevel>), ModelError> {
        let (words, thinking) = match words.rsplit_once(':') {
            Some((name, level)) if ThinkingLevel::parse(level).is_some() => {
                (name, ThinkingLevel::parse(level))
            }
            Some(_) | None => (words, None),
        };
        let models = self.models();
        let found =
            models.iter().find(|model| model.reference().to_string() == words || model.facts.id == words);
        let found =
            found.or_else(|| models.iter().find(|model| model.reference().to_string().contains(words)));
        found.cloned().map(|model| (model, thinking)).ok_or_else(|| ModelError::Unknown(words.to_owned()))
    }
}
