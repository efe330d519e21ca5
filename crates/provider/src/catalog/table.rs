//! The rows of the catalog: a list for each provider, with the source of its facts and the date on which it
//! was read. Facts without a source are omitted.

mod claudes;
mod gpts;
mod vendors;

pub(super) use gpts::{GPT, assumed_thinking};
pub(super) use vendors::{assumed_gemini_thinking, older_gemini_thinking};

use super::facts::Price;
use super::row::{ModelRow, ProviderModels, Surcharge};

/// The provider of the Claude rows.
pub(super) const ANTHROPIC: &str = "anthropic";

const LISTS: &[ProviderModels] = &[
    ProviderModels {
        provider: ANTHROPIC,
        source: "platform.claude.com/docs/en/models/overview, 2026-11-21",
        rows: claudes::CLAUDES,
    },
    ProviderModels {
        provider: "openai",
        source: "developers.openai.com/api/docs/models and /pricing, 2026-11-23",
        rows: gpts::GPTS,
    },
    ProviderModels { provider: "azure", source: "as OpenAI's, 2026-11-23", rows: gpts::GPTS },
    vendors::GEMINI,
    vendors::OPENROUTER,
    vendors::XAI,
    vendors::DEEPSEEK,
    vendors::MISTRAL,
    vendors::GROQ,
    vendors::MOONSHOT,
    vendors::ZAI,
    vendors::CEREBRAS,
    vendors::TOGETHER,
    vendors::FIREWORKS,
    vendors::MINIMAX,
    vendors::HUGGINGFACE,
    vendors::NVIDIA,
    vendors::VERCEL,
    vendors::BEDROCK,
];

fn list(provider: &str) -> Option<&'static ProviderModels> {
    LISTS.iter().find(|list| list.provider == provider)
}

pub(super) fn rows(provider: &str) -> &'static [ModelRow] {
    list(provider).map_or(&[], |list| list.rows)
}

/// Returns the source of a provider's facts and the date on which it was read.
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

/// Strips `-20251101` or `-2025-08-07` from the end of an id.
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
