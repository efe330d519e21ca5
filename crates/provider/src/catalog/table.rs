//! The rows of the catalog, seen 2026-11-21. Facts without a source are left out.
//!
//! Anthropic: platform.claude.com/docs/en/models/overview, each model's own page beneath it, and
//! /docs/en/build-with-claude/thinking; list prices, cache written for 5 minutes. Fable 5.2 (released 2026-11-09) by
//! vercel.com/ai-gateway/models/claude-fable-5.2 and resellers' lists; Sonnet 5.5's cache price as cut on 2026-10-07.
//! Retired: everything before Opus 4.5, Sonnet 4.5 and Haiku 4.5.
//!
//! OpenAI: developers.openai.com/api/docs/models, /pricing and /deprecations; short-context prices. From gpt-5.2 on,
//! Chat Completions refuses function tools together with reasoning, unless the effort is `none`: those models don't
//! think here. gpt-6-astra and gpt-6.1-sol don't support `none` and are left out (error text quoted in
//! BerriAI/litellm#34569 and onyx-dot-app/onyx#15008). End of life: gpt-5, its variants and o3 on 2026-12-11, gpt-4.1
//! and gpt-4o on 2027-01-14, gpt-5.1 on 2027-04-01; gpt-4.1-nano and o4-mini on 2026-10-23.

use tiller_core::message::ThinkingLevel;
use tiller_core::unit::{Tokens, Usd};

use super::facts::{ImageInput, ModelFacts, Price};
use super::thinking::{ThinkingControl, ThinkingOff};

/// The provider of the Claude rows.
pub(super) const ANTHROPIC: &str = "anthropic";
const OPENAI: &str = "openai";

pub(super) struct ModelRow {
    pub(super) id: &'static str,
    window: Tokens,
    max_output: Tokens,
    /// Dollars per million tokens: input, output, cache read, cache write.
    price: [f64; 4],
    surcharge: Option<Surcharge>,
    thinking: ThinkingControl,
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
    pub(super) fn facts(&self, provider: &str, id: &str) -> ModelFacts {
        ModelFacts {
            provider: provider.to_owned(),
            id: id.to_owned(),
            window: self.window,
            max_output: self.max_output,
            thinking: self.thinking,
            // According to the documentation of each model.
            image_input: ImageInput::Supported,
            price: Some(self.price()),
            compat: None,
        }
    }

    fn price(&self) -> Price {
        let [input, output, cache_read, cache_write] = self.price.map(Usd);
        Price { input, output, cache_read, cache_write }
    }
}

const fn claude(id: &'static str, price: [f64; 4], thinking: ThinkingControl) -> ModelRow {
    let (window, max_output) = (Tokens(1_000_000), Tokens(128_000));
    ModelRow { id, window, max_output, price, surcharge: None, thinking }
}

/// Models of the generations 4.5 and 4.6, with smaller limits.
const fn claude_4(id: &'static str, window: u64, price: [f64; 4], thinking: ThinkingControl) -> ModelRow {
    ModelRow { window: Tokens(window), max_output: Tokens(64_000), ..claude(id, price, thinking) }
}

/// The recommended model first, then by family, the newest first.
const CLAUDES: &[ModelRow] = &[
    claude("claude-opus-5-5", [4.0, 20.0, 0.2, 5.0], ThinkingControl::ALWAYS),
    claude(
        "claude-sonnet-5-5",
        [2.0, 10.0, 0.1, 2.5],
        ThinkingControl::Adaptive { off: ThinkingOff::BetweenTools, max_effort: "max", bound: true },
    ),
    ModelRow {
        // Five times the price for a prompt of more than 100,000 tokens.
        surcharge: Some(Surcharge { threshold: Tokens(100_000), input: 5.0, output: 5.0 }),
        ..claude(
            "claude-haiku-5-5",
            [0.1, 0.5, 0.01, 0.125],
            ThinkingControl::Adaptive { off: ThinkingOff::Disabled, max_effort: "max", bound: true },
        )
    },
    claude("claude-fable-5-2", [8.0, 40.0, 0.2, 10.0], ThinkingControl::ALWAYS),
    claude("claude-fable-5-1", [10.0, 50.0, 0.25, 12.5], ThinkingControl::ALWAYS),
    claude("claude-opus-5", [5.0, 25.0, 0.5, 6.25], ThinkingControl::DEFAULT_ON),
    claude("claude-sonnet-5", [2.0, 10.0, 0.2, 2.5], ThinkingControl::DEFAULT_ON),
    claude("claude-opus-4-8", [5.0, 25.0, 0.5, 6.25], ThinkingControl::ON_REQUEST),
    claude_4("claude-sonnet-4-6", 1_000_000, [3.0, 15.0, 0.3, 3.75], ThinkingControl::ON_REQUEST),
    claude_4("claude-opus-4-5", 200_000, [5.0, 25.0, 0.5, 6.25], ThinkingControl::Budget),
    claude_4("claude-sonnet-4-5", 200_000, [3.0, 15.0, 0.3, 3.75], ThinkingControl::Budget),
    claude_4("claude-haiku-4-5", 200_000, [1.0, 5.0, 0.1, 1.25], ThinkingControl::Budget),
];

/// Twice the input price and 1.5 times the output price, for a prompt of more than 272,000 tokens.
const LONG_PROMPT: Surcharge = Surcharge { threshold: Tokens(272_000), input: 2.0, output: 1.5 };

/// A model with a window of 1,050,000 tokens that doesn't think with function tools.
const fn gpt_without_thinking(id: &'static str, price: [f64; 4]) -> ModelRow {
    ModelRow {
        id,
        window: Tokens(1_050_000),
        max_output: Tokens(128_000),
        price,
        surcharge: Some(LONG_PROMPT),
        thinking: ThinkingControl::Never,
    }
}

const fn gpt(id: &'static str, limits: (u64, u64), price: [f64; 4], thinking: ThinkingControl) -> ModelRow {
    let (window, max_output) = (Tokens(limits.0), Tokens(limits.1));
    ModelRow { id, window, max_output, price, surcharge: None, thinking }
}

/// `none` to `high`.
const EFFORT_OR_NONE: ThinkingControl = ThinkingControl::Effort {
    least: ThinkingLevel::Off,
    names: ["none", "low", "low", "medium", "high", "high"],
};

/// `minimal` to `high`.
const ALWAYS_FROM_MINIMAL: ThinkingControl = ThinkingControl::Effort {
    least: ThinkingLevel::Minimal,
    names: ["minimal", "minimal", "low", "medium", "high", "high"],
};

/// `low` to `high`.
const ALWAYS_FROM_LOW: ThinkingControl = ThinkingControl::Effort {
    least: ThinkingLevel::Low,
    names: ["low", "low", "low", "medium", "high", "high"],
};

const GPT_5: (u64, u64) = (400_000, 128_000);
const GPT_4_1: (u64, u64) = (1_047_576, 32_768);

/// Newest first. Up to gpt-5.4, a cache write costs as much as input.
const GPTS: &[ModelRow] = &[
    gpt_without_thinking("gpt-6.1-terra", [1.0, 5.0, 0.05, 1.25]),
    gpt_without_thinking("gpt-6-sol", [2.0, 10.0, 0.2, 2.5]),
    gpt_without_thinking("gpt-6-luna", [0.1, 0.5, 0.01, 0.125]),
    gpt_without_thinking("gpt-5.6-terra", [2.0, 12.0, 0.2, 2.5]),
    gpt_without_thinking("gpt-5.6-luna", [0.2, 1.2, 0.02, 0.25]),
    gpt_without_thinking("gpt-5.4", [2.5, 15.0, 0.25, 2.5]),
    gpt("gpt-5.1", GPT_5, [1.25, 10.0, 0.125, 1.25], EFFORT_OR_NONE),
    gpt("gpt-5", GPT_5, [1.25, 10.0, 0.125, 1.25], ALWAYS_FROM_MINIMAL),
    gpt("gpt-5-mini", GPT_5, [0.25, 2.0, 0.025, 0.25], ALWAYS_FROM_MINIMAL),
    gpt("gpt-5-nano", GPT_5, [0.05, 0.4, 0.005, 0.05], ALWAYS_FROM_MINIMAL),
    gpt("o3", (200_000, 100_000), [2.0, 8.0, 0.5, 2.0], ALWAYS_FROM_LOW),
    gpt("gpt-4.1", GPT_4_1, [2.0, 8.0, 0.5, 2.0], ThinkingControl::Never),
    gpt("gpt-4.1-mini", GPT_4_1, [0.4, 1.6, 0.1, 0.4], ThinkingControl::Never),
    gpt("gpt-4o", (128_000, 16_384), [2.5, 10.0, 1.25, 2.5], ThinkingControl::Never),
];

pub(super) fn rows(provider: &str) -> &'static [ModelRow] {
    match provider {
        ANTHROPIC => CLAUDES,
        OPENAI => GPTS,
        _ => &[],
    }
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
    row(provider, id).map(ModelRow::price)
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
