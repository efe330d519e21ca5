//! The rows of the catalog, a list for each provider with the place and the day at which its facts were read. Facts
//! without a source are left out.

mod claudes;
mod gpts;
mod others;

pub(super) use gpts::assumed_thinking;
pub(super) use others::assumed_gemini_thinking;

use tiller_core::unit::{Tokens, Usd};

use super::facts::{ImageInput, ModelFacts, Price};
use super::thinking::ThinkingControl;
use crate::compat::Compat;

/// The provider of the Claude rows.
pub(super) const ANTHROPIC: &str = "anthropic";

/// The models of one provider.
pub(super) struct ModelList {
    provider: &'static str,
    /// Where and when the facts were read.
    source: &'static str,
    /// The recommended model first.
    rows: &'static [ModelRow],
}

/// All lists. A new provider's is added here.
const LISTS: &[ModelList] = &[
    ModelList {
        provider: ANTHROPIC,
        source: "platform.claude.com/docs/en/models/overview, 2026-11-21",
        rows: claudes::CLAUDES,
    },
    ModelList {
        provider: "openai",
        source: "developers.openai.com/api/docs/models and /pricing, 2026-11-23",
        rows: gpts::GPTS,
    },
    ModelList { provider: "azure", source: "as OpenAI's", rows: gpts::GPTS },
    others::GEMINI,
    others::OPENROUTER,
    others::XAI,
    others::DEEPSEEK,
    others::MISTRAL,
    others::GROQ,
    others::MOONSHOT,
    others::ZAI,
    others::CEREBRAS,
    others::TOGETHER,
    others::FIREWORKS,
    others::MINIMAX,
    others::HUGGINGFACE,
    others::NVIDIA,
    others::VERCEL,
    others::BEDROCK,
];

pub(super) struct ModelRow {
    pub(super) id: &'static str,
    window: Tokens,
    max_output: Tokens,
    /// Dollars per million tokens: input, output, cache read, cache write.
    price: Option<[f64; 4]>,
    surcharge: Option<Surcharge>,
    thinking: ThinkingControl,
    has_images: bool,
    compat: Option<Compat>,
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
    /// A model for text; `limits` are its window and its longest answer.
    const fn new(id: &'static str, limits: (u64, u64), price: [f64; 4], thinking: ThinkingControl) -> Self {
        Self { price: Some(price), ..Self::without_price(id, limits, thinking) }
    }

    /// A model whose price isn't known.
    const fn without_price(id: &'static str, limits: (u64, u64), thinking: ThinkingControl) -> Self {
        let (window, max_output) = (Tokens(limits.0), Tokens(limits.1));
        let (price, surcharge, compat) = (None, None, None);
        Self { id, window, max_output, price, surcharge, thinking, has_images: false, compat }
    }

    const fn with_images(self) -> Self {
        Self { has_images: true, ..self }
    }

    const fn with_surcharge(self, surcharge: Surcharge) -> Self {
        Self { surcharge: Some(surcharge), ..self }
    }

    const fn with_compat(self, compat: Compat) -> Self {
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
            price: self.price(),
            compat: self.compat,
        }
    }

    fn price(&self) -> Option<Price> {
        let [input, output, cache_read, cache_write] = self.price?.map(Usd);
        Some(Price { input, output, cache_read, cache_write })
    }
}

fn list(provider: &str) -> Option<&'static ModelList> {
    LISTS.iter().find(|list| list.provider == provider)
}

pub(super) fn rows(provider: &str) -> &'static [ModelRow] {
    list(provider).map_or(&[], |list| list.rows)
}

/// Returns the place and the day at which a provider's facts were read.
pub(super) fn source(provider: &str) -> Option<&'static str> {
    list(provider).map(|list| list.source)
}

pub(super) fn row(provider: &str, id: &str) -> Option<&'static ModelRow> {
    let rows = rows(provider);
    let find = |id: &str| rows.iter().find(|row| row.id == id);
    find(id).or_else(|| find(without_date(id)?))
}

pub(super) fn surcharge(provider: &str, id: &str) -> Option<Surcharge> {
    row(provider, id)?.surcharge
}

pub(super) fn price(provider: &str, id: &str) -> Option<Price> {
    row(provider, id)?.price()
}

/// Returns the id without `-20251101` or `-2025-08-07` at its end.
fn without_date(id: &str) -> Option<&str> {
    let is_date = |text: &str| {
        text.bytes().filter(u8::is_ascii_digit).count() == 8
            && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    ["-20251101".len(), "-2025-08-07".len()].into_iter().find_map(|length| {
        let (name, tail) = id.split_at_checked(id.len().checked_sub(length)?)?;
        (tail.starts_with('-') && is_date(tail)).then_some(name)
    })
}
