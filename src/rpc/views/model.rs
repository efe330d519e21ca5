//! Views of models.

use serde::Serialize;

use crate::provider::catalog::{ImageInput, ModelFacts, Price};
use crate::unit::Tokens;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::rpc) struct ModelView {
    id: String,
    name: String,
    api: String,
    provider: String,
    base_url: &'static str,
    reasoning: bool,
    input: &'static [&'static str],
    context_window: Tokens,
    max_tokens: Tokens,
    /// All 0 if unknown.
    cost: Price,
}

impl ModelView {
    /// `api` is the name of the wire format.
    pub(in crate::rpc) fn new(facts: &ModelFacts, api: &str) -> Self {
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
}
