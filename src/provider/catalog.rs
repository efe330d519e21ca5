//! What is known of models: windows, limits, prices, with source and date.

use crate::unit::{Tokens, Usd};

/// What is known of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFacts {
    /// The provider's name.
    pub provider: String,
    /// The provider's id for it.
    pub id: String,
    /// Most tokens of question and answer together.
    pub window: Tokens,
    /// Most tokens of one answer.
    pub max_output: Tokens,
    /// Whether it can think before it answers.
    pub thinks: bool,
    /// Its prices, when known.
    pub price: Option<Price>,
}

/// US dollars a million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
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
