//! The models of the other providers. If a price is about to rise or varies by the hour, the highest price is
//! listed.

use tiller_core::message::ThinkingLevel;
use tiller_core::unit::Tokens;

use crate::catalog::row::{ModelRow, ProviderModels, Surcharge};
use crate::catalog::thinking::ThinkingControl;
use crate::compat::{Compat, MaxTokensField, ThinkingField};

const NEVER: ThinkingControl = ThinkingControl::Never;

/// Thinking that can't be turned off, with these efforts for low, medium, high and the highest level.
const fn always(names: [&'static str; 4]) -> ThinkingControl {
    let [low, medium, high, highest] = names;
    ThinkingControl::Effort { min_level: ThinkingLevel::Low, names: [low, low, low, medium, high, highest] }
}

/// Thinking that can be turned off, with these efforts for off, low, medium, high and the highest level.
const fn or_off(names: [&'static str; 5]) -> ThinkingControl {
    let [off, low, medium, high, highest] = names;
    ThinkingControl::Effort { min_level: ThinkingLevel::Off, names: [off, low, low, medium, high, highest] }
}

const LOW_TO_HIGH: ThinkingControl = always(["low", "medium", "high", "high"]);
const LOW_HIGH_MAX: ThinkingControl = always(["low", "high", "high", "max"]);
const NONE_OR_HIGH: ThinkingControl = or_off(["none", "high", "high", "high", "high"]);

/// Kimi K3 takes an effort instead of the switch of its predecessors.
const KIMI_3: Compat = Compat {
    max_tokens_field: MaxTokensField::MaxCompletionTokens,
    thinking_temperature: false,
    thinking_field: ThinkingField::ReasoningContent,
    cache_key: true,
    ..Compat::COMMON
};

pub(super) const GEMINI: ProviderModels = ProviderModels {
    provider: "gemini",
    source: "vercel.com/ai-gateway/models, models.dev and openrouter.ai, 2026-11-15",
    rows: &[
        ModelRow::new(
            "gemini-4-hydrogen",
            (1_048_576, 65_536),
            [1.5, 7.5, 0.075, 1.5],
            always(["low", "medium", "high", "xhigh"]),
        )
        .with_images(),
        ModelRow::new("gemini-4-carbon", (1_048_576, 65_536), [4.0, 20.0, 0.2, 4.0], LOW_TO_HIGH)
            .with_images(),
        ModelRow::new("gemini-4-argon", (1_048_576, 65_536), [4.0, 20.0, 0.2, 4.0], LOW_TO_HIGH)
            .with_images(),
        ModelRow::new("gemini-3.8-flash", (1_048_576, 65_536), [1.5, 7.5, 0.15, 1.5], LOW_TO_HIGH)
            .with_images(),
    ],
};

/// Thinking of Gemini models before 3, by prefixes of their ids; the first match counts
/// (ai.google.dev/gemini-api/docs/thinking).
const OLDER_GEMINIS: [(&str, ThinkingControl); 4] = [
    ("gemini-2.5-pro", ThinkingControl::Budget { min_level: ThinkingLevel::Minimal }),
    ("gemini-2.5-", ThinkingControl::BUDGET),
    ("gemini-2.", NEVER),
    ("gemini-1.", NEVER),
];

/// Returns the thinking of a Gemini model before 3; `None` for other models.
pub(crate) fn older_gemini_thinking(id: &str) -> Option<ThinkingControl> {
    OLDER_GEMINIS.iter().find(|(start, _)| id.starts_with(start)).map(|(_, thinking)| *thinking)
}

/// Returns the assumed thinking of an unlisted Gemini model.
pub(crate) fn assumed_gemini_thinking(id: &str) -> ThinkingControl {
    older_gemini_thinking(id).unwrap_or(LOW_TO_HIGH)
}

pub(super) const OPENROUTER: ProviderModels = ProviderModels {
    provider: "openrouter",
    source: "the vendors' own limits, 2026-11-23; `tiller models refresh` reads all models with prices",
    rows: &[
        ModelRow::without_price("z-ai/glm-5.3", (1_048_576, 131_072), LOW_HIGH_MAX),
        ModelRow::without_price("moonshotai/kimi-k3", (1_048_576, 131_072), LOW_HIGH_MAX).with_images(),
        ModelRow::without_price("google/gemini-4-hydrogen", (1_048_576, 65_536), LOW_TO_HIGH).with_images(),
        ModelRow::without_price("openai/gpt-6.1-terra", (1_050_000, 128_000), ThinkingControl::LOW_TO_HIGH)
            .with_images(),
        ModelRow::without_price("qwen/qwen3.8-27b", (131_072, 16_384), ThinkingControl::LOW_TO_HIGH)
            .with_images(),
    ],
};

/// A prompt of 200,000 tokens or more costs twice as much.
const GROK_LONG_PROMPT: Surcharge = Surcharge { threshold: Tokens(199_999), input: 2.0, output: 2.0 };

pub(super) const XAI: ProviderModels = ProviderModels {
    provider: "xai",
    source: "docs.x.ai/developers/models and models.dev, 2026-11-23",
    rows: &[
        ModelRow::new(
            "grok-4.7",
            (500_000, 128_000),
            [2.0, 6.0, 0.5, 2.0],
            always(["low", "medium", "high", "xhigh"]),
        )
        .with_images()
        .with_surcharge(GROK_LONG_PROMPT),
        ModelRow::new(
            "grok-4.3",
            (1_000_000, 128_000),
            [1.25, 2.5, 1.25, 1.25],
            or_off(["none", "low", "medium", "high", "high"]),
        )
        .with_images(),
        ModelRow::new("grok-build-0.1", (256_000, 64_000), [1.0, 2.0, 1.0, 1.0], NEVER).with_images(),
    ],
};

pub(super) const DEEPSEEK: ProviderModels = ProviderModels {
    provider: "deepseek",
    source: "api-docs.deepseek.com/quick_start/pricing (prices at peak hours), 2026-11-15",
    rows: &[
        ModelRow::new(
            "deepseek-flash",
            (1_048_576, 393_216),
            [0.3, 1.2, 0.006, 0.3],
            or_off(["", "low", "high", "high", "max"]),
        )
        .with_images(),
        ModelRow::new(
            "deepseek-v4-pro",
            (1_000_000, 384_000),
            [1.32, 3.96, 0.044, 1.32],
            or_off(["", "high", "high", "high", "max"]),
        ),
    ],
};

pub(super) const MISTRAL: ProviderModels = ProviderModels {
    provider: "mistral",
    source: "docs.mistral.ai and vercel.com/ai-gateway/models, 2026-11-23",
    rows: &[
        ModelRow::new("mistral-medium-3.5", (262_144, 256_000), [1.5, 7.5, 1.5, 1.5], NONE_OR_HIGH)
            .with_images(),
        ModelRow::new("mistral-large-4", (524_288, 262_144), [1.36, 4.18, 0.14, 1.36], NONE_OR_HIGH)
            .with_images(),
    ],
};

pub(super) const GROQ: ProviderModels = ProviderModels {
    provider: "groq",
    source: "console.groq.com/docs/models, 2026-11-23",
    rows: &[
        ModelRow::new("openai/gpt-oss-120b", (131_072, 65_536), [0.15, 0.6, 0.15, 0.15], LOW_TO_HIGH),
        ModelRow::new(
            "qwen/qwen3.8-27b",
            (131_042, 16_384),
            [0.8, 4.0, 0.4, 0.8],
            or_off(["none", "default", "default", "default", "default"]),
        )
        .with_images(),
        ModelRow::new("openai/gpt-oss-20b", (131_072, 65_536), [0.075, 0.3, 0.075, 0.075], LOW_TO_HIGH),
        ModelRow::new("llama-3.3-70b-versatile", (131_072, 32_768), [0.59, 0.79, 0.59, 0.59], NEVER),
    ],
};

pub(super) const MOONSHOT: ProviderModels = ProviderModels {
    provider: "moonshot",
    source: "platform.kimi.ai, apidog.com and models.dev, 2026-11-23",
    rows: &[
        ModelRow::new("kimi-k3.1-pro", (1_048_576, 131_072), [2.0, 10.0, 0.2, 2.0], LOW_HIGH_MAX)
            .with_images()
            .with_compat(KIMI_3),
        ModelRow::new("kimi-k3.1-pro-highspeed", (1_048_576, 131_072), [4.0, 20.0, 0.2, 4.0], LOW_HIGH_MAX)
            .with_images()
            .with_compat(KIMI_3),
        ModelRow::new("kimi-k3", (1_048_576, 131_072), [3.0, 15.0, 0.3, 3.0], LOW_HIGH_MAX)
            .with_images()
            .with_compat(KIMI_3),
    ],
};

pub(super) const ZAI: ProviderModels = ProviderModels {
    provider: "zai",
    source: "docs.z.ai and models.dev, 2026-11-23",
    rows: &[
        ModelRow::new("glm-5.3", (1_048_576, 131_072), [1.4, 4.4, 0.26, 1.4], LOW_HIGH_MAX),
        ModelRow::new("glm-5.3-flash", (1_000_000, 128_000), [0.15, 0.5, 0.03, 0.15], LOW_HIGH_MAX)
            .with_images(),
        ModelRow::new("glm-5.2", (1_000_000, 131_072), [1.4, 4.4, 0.26, 1.4], ThinkingControl::LOW_TO_HIGH),
    ],
};

pub(super) const CEREBRAS: ProviderModels = ProviderModels {
    provider: "cerebras",
    source: "inference-docs.cerebras.ai and openrouter.ai, 2026-10-19",
    rows: &[
        ModelRow::new(
            "qwen-3.8-27b",
            (65_536, 32_768),
            [0.99, 1.49, 0.99, 0.99],
            or_off(["none", "low", "medium", "high", "high"]),
        )
        .with_images(),
        ModelRow::new("gpt-oss-120b", (65_536, 32_768), [0.35, 0.75, 0.35, 0.35], LOW_TO_HIGH),
    ],
};

pub(super) const TOGETHER: ProviderModels = ProviderModels {
    provider: "together",
    source: "docs.together.ai, 2026-11-23",
    rows: &[
        ModelRow::new(
            "zai-org/GLM-5.3",
            (1_000_000, 131_072),
            [1.4, 4.4, 0.26, 1.4],
            always(["low", "medium", "high", "max"]),
        ),
        ModelRow::new("moonshotai/Kimi-K3", (1_000_000, 131_072), [3.0, 15.0, 0.3, 3.0], LOW_HIGH_MAX)
            .with_images(),
        ModelRow::new("deepseek-ai/DeepSeek-V4-Pro", (512_000, 131_072), [1.74, 3.48, 0.2, 1.74], NEVER),
    ],
};

pub(super) const FIREWORKS: ProviderModels = ProviderModels {
    provider: "fireworks",
    source: "models.dev citing docs.fireworks.ai/serverless/pricing of 2026-09, read 2026-11-23",
    rows: &[
        ModelRow::new(
            "accounts/fireworks/models/glm-5p3",
            (1_048_573, 262_144),
            [1.4, 4.4, 0.26, 1.4],
            LOW_HIGH_MAX,
        ),
        ModelRow::new(
            "accounts/fireworks/models/deepseek-v4-pro-0813",
            (1_048_576, 384_000),
            [1.32, 3.96, 0.044, 1.32],
            or_off(["none", "low", "high", "high", "max"]),
        ),
        ModelRow::new(
            "accounts/fireworks/models/glm-5p3-flash",
            (1_048_573, 131_072),
            [0.15, 0.5, 0.03, 0.15],
            LOW_HIGH_MAX,
        ),
    ],
};

/// A prompt of more than 524,288 tokens costs twice as much.
const MINIMAX_LONG_PROMPT: Surcharge = Surcharge { threshold: Tokens(524_288), input: 2.0, output: 2.0 };

pub(super) const MINIMAX: ProviderModels = ProviderModels {
    provider: "minimax",
    source: "platform.minimax.io and vercel.com/ai-gateway/models of 2026-10, read 2026-11-23",
    rows: &[
        ModelRow::new("MiniMax-M3", (1_000_000, 131_072), [0.3, 1.2, 0.06, 0.3], NEVER)
            .with_images()
            .with_surcharge(MINIMAX_LONG_PROMPT),
        ModelRow::new("MiniMax-M3.1-Flash", (1_000_000, 524_288), [0.15, 0.6, 0.015, 0.15], NEVER),
    ],
};

pub(super) const HUGGINGFACE: ProviderModels = ProviderModels {
    provider: "huggingface",
    source: "router.huggingface.co/v1/models, 2026-11-23",
    rows: &[
        ModelRow::without_price("zai-org/GLM-5.3", (1_048_576, 131_072), LOW_HIGH_MAX),
        ModelRow::without_price("moonshotai/Kimi-K3", (1_000_000, 131_072), LOW_HIGH_MAX).with_images(),
        ModelRow::without_price("deepseek-ai/DeepSeek-V4-Pro-0813", (512_000, 131_072), NEVER),
    ],
};

pub(super) const NVIDIA: ProviderModels = ProviderModels {
    provider: "nvidia",
    source: "build.nvidia.com, 2026-11-23; limits of the vendors",
    rows: &[
        ModelRow::without_price("moonshotai/kimi-k3", (1_000_000, 131_072), NEVER).with_images(),
        ModelRow::without_price("deepseek-ai/deepseek-v4-flash-0731", (1_000_000, 131_072), NEVER),
    ],
};

pub(super) const VERCEL: ProviderModels = ProviderModels {
    provider: "vercel",
    source: "vercel.com/ai-gateway/models, 2026-11-15; `tiller models refresh` reads all models with prices",
    rows: &[
        ModelRow::without_price("openai/gpt-6-luna", (1_050_000, 128_000), ThinkingControl::LOW_TO_HIGH)
            .with_images(),
        ModelRow::without_price("minimax/minimax-m3.1-flash", (1_000_000, 131_072), NEVER),
    ],
};

/// Bedrock serves Claude models under other names, at Anthropic's list prices. No source lists Fable 5.1's.
pub(super) const BEDROCK: ProviderModels = ProviderModels {
    provider: "bedrock",
    source: "docs.aws.amazon.com/bedrock (names), platform.claude.com (limits), 2026-11-23; models.dev (prices), 2026-11-28",
    rows: &[
        ModelRow::new(
            "anthropic.claude-sonnet-5",
            (1_000_000, 128_000),
            [2.0, 10.0, 0.2, 2.5],
            ThinkingControl::DEFAULT_ON,
        )
        .with_images(),
        ModelRow::new(
            "anthropic.claude-opus-4-8",
            (1_000_000, 128_000),
            [5.0, 25.0, 0.5, 6.25],
            ThinkingControl::ON_REQUEST,
        )
        .with_images(),
        ModelRow::without_price("anthropic.claude-fable-5-1", (1_000_000, 128_000), ThinkingControl::ALWAYS)
            .with_images(),
        ModelRow::new(
            "anthropic.claude-haiku-4-5",
            (200_000, 64_000),
            [1.0, 5.0, 0.1, 1.25],
            ThinkingControl::BUDGET,
        )
        .with_images(),
    ],
};
