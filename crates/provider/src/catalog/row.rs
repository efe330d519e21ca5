//! A row of the catalog, and the rows of one provider.

use tiller_core::unit::{Tokens, Usd};

use super::facts::{ImageInput, ModelFacts, Price};
use super::thinking::ThinkingControl;
use crate::compat::Compat;

pub(super) struct ProviderModels {
    pub(super) provider: &'static str,
    /// Source and date of the facts.
    pub(super) source: &'static str,
    /// The recommended model first.
    pub(super) rows: &'static [ModelRow],
}

pub(super) struct ModelRow {
    pub(super) id: &'static str,
    window: Tokens,
    max_output: Tokens,
    /// Dollars per million tokens: input, output, cache read, cache write.
    price: Option<[f64; 4]>,
    pub(super) surcharge: Option<Surcharge>,
    thinking: ThinkingControl,
    has_images: bool,
    compat: Option<Compat>,
}

/// Providers whose models accept PDF files if they accept images
/// (platform.claude.com/docs/en/build-with-claude/pdf-support,
/// developers.openai.com/api/docs/guides/pdf-files, ai.google.dev/gemini-api/docs/document-processing).
const PDF_PROVIDERS: [&str; 5] = ["anthropic", "openai", "azure", "gemini", "bedrock"];

/// Returns true if the provider's models accept PDF files if they accept images.
pub(super) fn takes_pdf(provider: &str) -> bool {
    PDF_PROVIDERS.contains(&provider)
}

/// A higher price for requests with a long prompt.
#[derive(Clone, Copy)]
pub(super) struct Surcharge {
    /// Prompts of up to this many tokens, cache reads included, have the ordinary price.
    pub(super) threshold: Tokens,
    /// Factor on all input, cached or not.
    pub(super) input: f64,
    /// Factor on output.
    pub(super) output: f64,
}

impl ModelRow {
    /// Creates a text model; `limits` are its window and its maximum output, in tokens.
    pub(super) const fn new(
        id: &'static str,
        limits: (u64, u64),
        price: [f64; 4],
        thinking: ThinkingControl,
    ) -> Self {
        Self { price: Some(price), ..Self::without_price(id, limits, thinking) }
    }

    /// Creates a text model whose price isn't known.
    pub(super) const fn without_price(
        id: &'static str,
        limits: (u64, u64),
        thinking: ThinkingControl,
    ) -> Self {
        let (window, max_output) = (Tokens(limits.0), Tokens(limits.1));
        let (price, surcharge, compat) = (None, None, None);
        Self { id, window, max_output, price, surcharge, thinking, has_images: false, compat }
    }

    pub(super) const fn with_images(self) -> Self {
        Self { has_images: true, ..self }
    }

    pub(super) const fn with_surcharge(self, surcharge: Surcharge) -> Self {
        Self { surcharge: Some(surcharge), ..self }
    }

    pub(super) const fn with_compat(self, compat: Compat) -> Self {
        Self { compat: Some(compat), ..self }
    }

    pub(super) fn facts(&self, provider: &str, id: &str) -> ModelFacts {
        ModelFacts {
            provider: provider.to_owned(),
            id: id.to_owned(),
            name: id.to_owned(),
            window: self.window,
            max_output: self.max_output,
            thinking: self.thinking,
            image_input: if self.has_images { ImageInput::Supported } else { ImageInput::Unsupported },
            takes_pdf: self.has_images && takes_pdf(provider),
            price: self.price(),
            compat: self.compat,
        }
    }

    pub(super) fn price(&self) -> Option<Price> {
        let [input, output, cache_read, cache_write] = self.price?.map(Usd);
        Some(Price { input, output, cache_read, cache_write })
    }
}
