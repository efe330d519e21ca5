//! The facts about a model, listed or assumed.

use serde::{Deserialize, Serialize};
use tiller_core::message::ThinkingLevel;
use tiller_core::unit::{Tokens, Usd};

use super::thinking::ThinkingControl;
use crate::compat::Compat;

/// Facts about one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFacts {
    /// The provider's name.
    pub provider: String,
    /// The provider's id for the model.
    pub id: String,
    /// The display name; the id if the model has no other.
    pub name: String,
    /// Context window: maximum tokens of prompt and answer together.
    pub window: Tokens,
    /// Maximum tokens of one answer.
    pub max_output: Tokens,
    /// The parameters of its thinking.
    pub thinking: ThinkingControl,
    /// Support of images.
    pub image_input: ImageInput,
    /// True if PDF files are accepted; otherwise one is replaced with a line of text.
    pub takes_pdf: bool,
    /// Its prices, if known.
    pub price: Option<Price>,
    /// The parameters of requests to it, if they differ from the provider's other models.
    pub compat: Option<Compat>,
}

/// A model's support of images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageInput {
    /// Not known; images are sent.
    #[default]
    Unknown,
    /// Images are accepted.
    Supported,
    /// Only text is accepted; an image is replaced with a line of text.
    Unsupported,
}

impl ModelFacts {
    /// Sets the window. An answer takes at most a quarter of it, because it shares the window with the
    /// prompt.
    #[must_use]
    pub fn with_window(self, window: Tokens) -> Self {
        Self { window, max_output: self.max_output.min(Tokens(window.0 / 4)), ..self }
    }

    /// Returns true if the model can think before it answers.
    #[must_use]
    pub const fn thinks(&self) -> bool {
        self.thinking.min_level().is_some()
    }

    /// Returns the supported level nearest to `requested`; `Off` for a model that doesn't think.
    #[must_use]
    pub fn clamp(&self, requested: ThinkingLevel) -> ThinkingLevel {
        self.thinking.min_level().map_or(ThinkingLevel::Off, |lowest| requested.max(lowest))
    }

    /// Returns the selectable levels, in ascending order.
    #[must_use]
    pub fn levels(&self) -> &'static [ThinkingLevel] {
        match self.thinking.min_level() {
            Some(lowest) => &ThinkingLevel::ALL[lowest as usize..],
            None => &ThinkingLevel::ALL[..1],
        }
    }
}

/// Prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// Input.
    pub input: Usd,
    /// Output.
    pub output: Usd,
    /// Input read from the cache.
    pub cache_read: Usd,
    /// Input written to the cache.
    pub cache_write: Usd,
}
