//! Anthropic's models. Sources: platform.claude.com/docs/en/models/overview, each model's own page beneath
//! it, and /docs/en/build-with-claude/thinking, seen 2026-11-21; list prices, cache written for 5 minutes.
//! Fable 5.2 (released 2026-11-09) by vercel.com/ai-gateway/models/claude-fable-5.2 and resellers' lists;
//! Sonnet 5.5's cache price as cut on 2026-10-07. Retired: everything before Opus 4.5, Sonnet 4.5 and Haiku
//! 4.5.

use tiller_core::unit::Tokens;

use crate::catalog::row::{ModelRow, Surcharge};
use crate::catalog::thinking::{ThinkingControl, ThinkingOff};

const fn claude(id: &'static str, price: [f64; 4], thinking: ThinkingControl) -> ModelRow {
    ModelRow::new(id, (1_000_000, 128_000), price, thinking).with_images()
}

/// A model of generation 4.5 or 4.6, with smaller limits.
const fn claude_4(id: &'static str, window: u64, price: [f64; 4], thinking: ThinkingControl) -> ModelRow {
    ModelRow::new(id, (window, 64_000), price, thinking).with_images()
}

/// The recommended model comes first; the others are listed by family, newest first.
pub(super) const CLAUDES: &[ModelRow] = &[
    claude("claude-opus-5-5", [4.0, 20.0, 0.2, 5.0], ThinkingControl::ALWAYS),
    claude(
        "claude-sonnet-5-5",
        [2.0, 10.0, 0.1, 2.5],
        ThinkingControl::Adaptive { off: ThinkingOff::BetweenTools, max_effort: "max", bound: true },
    ),
    // A prompt of more than 100,000 tokens costs five times as much.
    claude(
        "claude-haiku-5-5",
        [0.1, 0.5, 0.01, 0.125],
        ThinkingControl::Adaptive { off: ThinkingOff::Disabled, max_effort: "max", bound: true },
    )
    .with_surcharge(Surcharge { threshold: Tokens(100_000), input: 5.0, output: 5.0 }),
    claude("claude-fable-5-2", [8.0, 40.0, 0.2, 10.0], ThinkingControl::ALWAYS),
    claude("claude-fable-5-1", [10.0, 50.0, 0.25, 12.5], ThinkingControl::ALWAYS),
    claude("claude-opus-5", [5.0, 25.0, 0.5, 6.25], ThinkingControl::DEFAULT_ON),
    claude("claude-sonnet-5", [2.0, 10.0, 0.2, 2.5], ThinkingControl::DEFAULT_ON),
    claude("claude-opus-4-8", [5.0, 25.0, 0.5, 6.25], ThinkingControl::ON_REQUEST),
    claude_4("claude-sonnet-4-6", 1_000_000, [3.0, 15.0, 0.3, 3.75], ThinkingControl::ON_REQUEST),
    claude_4("claude-opus-4-5", 200_000, [5.0, 25.0, 0.5, 6.25], ThinkingControl::BUDGET),
    claude_4("claude-sonnet-4-5", 200_000, [3.0, 15.0, 0.3, 3.75], ThinkingControl::BUDGET),
    claude_4("claude-haiku-4-5", 200_000, [1.0, 5.0, 0.1, 1.25], ThinkingControl::BUDGET),
];
