//! OpenAI's models. Sources: developers.openai.com/api/docs/models, /pricing and /deprecations, seen
//! 2026-11-23; short-context prices, cache written for 30 minutes. The cache prices of gpt-6.2-astra follow
//! from its input price.
//!
//! Since gpt-5.2, only the Responses API accepts function tools together with thinking. End of life: gpt-5,
//! its variants and o3 on 2026-12-11, gpt-4.1 and gpt-4o on 2027-01-14, gpt-5.1 on 2027-04-01.

use tiller_core::message::ThinkingLevel;
use tiller_core::unit::Tokens;

use crate::catalog::row::{ModelRow, Surcharge};
use crate::catalog::thinking::ThinkingControl;
use crate::compat::{Compat, MaxTokensField};

/// A prompt of more than 272,000 tokens costs twice as much for input and 1.5 times as much for output.
const LONG_PROMPT: Surcharge = Surcharge { threshold: Tokens(272_000), input: 2.0, output: 1.5 };

/// Chat Completions parameters of the models, also behind a gateway. Thinking models reject `max_tokens` and,
/// while they think, all temperatures but the default.
pub(crate) const GPT: Compat = Compat {
    max_tokens_field: MaxTokensField::MaxCompletionTokens,
    thinking_temperature: false,
    cache_key: true,
    ..Compat::COMMON
};

/// A model with a window of 1,050,000 tokens.
const fn large(id: &'static str, price: [f64; 4], thinking: ThinkingControl) -> ModelRow {
    gpt(id, (1_050_000, 128_000), price, thinking).with_surcharge(LONG_PROMPT)
}

const fn gpt(id: &'static str, limits: (u64, u64), price: [f64; 4], thinking: ThinkingControl) -> ModelRow {
    ModelRow::new(id, limits, price, thinking).with_images().with_compat(GPT)
}

const NONE_TO_XHIGH: ThinkingControl = ThinkingControl::Effort {
    min_level: ThinkingLevel::Off,
    names: ["none", "low", "low", "medium", "high", "xhigh"],
};

const LOW_TO_XHIGH: ThinkingControl = ThinkingControl::Effort {
    min_level: ThinkingLevel::Low,
    names: ["low", "low", "low", "medium", "high", "xhigh"],
};

const NONE_TO_HIGH: ThinkingControl = ThinkingControl::Effort {
    min_level: ThinkingLevel::Off,
    names: ["none", "low", "low", "medium", "high", "high"],
};

const MINIMAL_TO_HIGH: ThinkingControl = ThinkingControl::Effort {
    min_level: ThinkingLevel::Minimal,
    names: ["minimal", "minimal", "low", "medium", "high", "high"],
};

const LOW_TO_HIGH: ThinkingControl = ThinkingControl::Effort {
    min_level: ThinkingLevel::Low,
    names: ["low", "low", "low", "medium", "high", "high"],
};

const GPT_5: (u64, u64) = (400_000, 128_000);
const GPT_4_1: (u64, u64) = (1_047_576, 32_768);

/// Newest first. Up to gpt-5.4, a cache write costs as much as input.
pub(super) const GPTS: &[ModelRow] = &[
    large("gpt-6.2-sol", [2.0, 10.0, 0.1, 2.5], LOW_TO_XHIGH),
    large("gpt-6.2-astra", [8.0, 40.0, 0.4, 10.0], LOW_TO_XHIGH),
    large("gpt-6.1-terra", [1.0, 5.0, 0.05, 1.25], NONE_TO_XHIGH),
    large("gpt-6.1-sol", [2.0, 10.0, 0.1, 2.5], LOW_TO_XHIGH),
    large("gpt-6-astra", [10.0, 50.0, 1.0, 12.5], LOW_TO_XHIGH),
    large("gpt-6-sol", [2.0, 10.0, 0.2, 2.5], NONE_TO_XHIGH),
    large("gpt-6-luna", [0.1, 0.5, 0.01, 0.125], NONE_TO_XHIGH),
    large("gpt-5.6-terra", [2.0, 12.0, 0.2, 2.5], NONE_TO_XHIGH),
    large("gpt-5.6-luna", [0.2, 1.2, 0.02, 0.25], NONE_TO_XHIGH),
    large("gpt-5.4", [2.5, 15.0, 0.25, 2.5], NONE_TO_XHIGH),
    gpt("gpt-5.1", GPT_5, [1.25, 10.0, 0.125, 1.25], NONE_TO_HIGH),
    gpt("gpt-5", GPT_5, [1.25, 10.0, 0.125, 1.25], MINIMAL_TO_HIGH),
    gpt("gpt-5-mini", GPT_5, [0.25, 2.0, 0.025, 0.25], MINIMAL_TO_HIGH),
    gpt("gpt-5-nano", GPT_5, [0.05, 0.4, 0.005, 0.05], MINIMAL_TO_HIGH),
    gpt("o3", (200_000, 100_000), [2.0, 8.0, 0.5, 2.0], LOW_TO_HIGH),
    gpt("gpt-4.1", GPT_4_1, [2.0, 8.0, 0.5, 2.0], ThinkingControl::Never),
    gpt("gpt-4.1-mini", GPT_4_1, [0.4, 1.6, 0.1, 0.4], ThinkingControl::Never),
    gpt("gpt-4o", (128_000, 16_384), [2.5, 10.0, 1.25, 2.5], ThinkingControl::Never),
];

/// Returns the assumed thinking of an unlisted OpenAI model: that of the newer models of its kind.
pub(crate) fn assumed_thinking(id: &str) -> ThinkingControl {
    let is_o = id.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let version = id.strip_prefix("gpt-").and_then(|rest| rest.split(['.', '-']).next()?.parse::<u32>().ok());
    match version {
        _ if is_o => LOW_TO_HIGH,
        Some(5..) if !id.contains("-chat") => LOW_TO_HIGH,
        Some(_) | None => ThinkingControl::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumed_thinking_follows_the_generation() {
        for id in ["o4-mini", "gpt-5.3-codex", "gpt-7", "gpt-10.2-sol"] {
            assert_eq!(assumed_thinking(id), LOW_TO_HIGH, "{id}");
        }
        for id in ["gpt-4.5", "gpt-5-chat-latest", "omni", "o", "text-embedding-3"] {
            assert_eq!(assumed_thinking(id), ThinkingControl::Never, "{id}");
        }
    }
}
