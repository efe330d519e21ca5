//! Views of models.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use tiller_core::message::ModelRef;
use tiller_core::unit::Tokens;
use tiller_provider::Model;
use tiller_provider::catalog::{self, ImageInput, ModelFacts, Price};

/// A model, without its server's address.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelView {
    id: String,
    name: String,
    /// The wire format.
    api: String,
    provider: String,
    /// Always empty.
    base_url: &'static str,
    /// True if the model can think.
    reasoning: bool,
    /// `text`, and `image` unless the model accepts none.
    input: &'static [&'static str],
    context_window: Tokens,
    max_tokens: Tokens,
    /// US dollars for a million tokens of each kind; all 0 if unknown.
    #[schemars(with = "BTreeMap<String, f64>")]
    cost: Price,
}

impl ModelView {
    /// Creates the view; `api` is the name of the wire format.
    #[must_use]
    pub fn new(facts: &ModelFacts, api: &str) -> Self {
        Self {
            id: facts.id.clone(),
            name: facts.name.clone(),
            api: api.to_owned(),
            provider: facts.provider.clone(),
            base_url: "",
            reasoning: facts.thinks(),
            input: match facts.image_input {
                ImageInput::Unsupported => &["text"],
                ImageInput::Supported | ImageInput::Unknown => &["text", "image"],
            },
            context_window: facts.window,
            max_tokens: facts.max_output,
            cost: facts.price.unwrap_or_default(),
        }
    }

    /// Creates the view of a model, which may be missing in the session's models.
    #[must_use]
    pub fn find(reference: &ModelRef, models: &[Model]) -> Self {
        if let Some(model) = models.iter().find(|model| model.reference() == *reference) {
            return Self::new(&model.facts, model.provider.api());
        }
        let (provider, id) = (&reference.provider, &reference.id);
        let facts = catalog::facts(provider, id).unwrap_or_else(|| catalog::assumed(provider, id));
        let served = models.iter().find(|model| model.facts.provider == *provider);
        Self::new(&facts, served.map_or("", |model| model.provider.api()))
    }
}
