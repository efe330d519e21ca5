//! What is known of models: windows, limits, prices, with source and date.
//!
//! The rows are in `table`; what the catalogue lacks is [`assumed`]. Nothing here is asked of a server: a model that
//! is named is used, known or not.

mod table;

use tiller_core::message::{Cost, ModelRef, ThinkingLevel, Usage};
use tiller_core::unit::{Tokens, Usd};

pub(super) use table::{Silence, Thinking};

/// The window of a model of which nothing is known: what most models of the last two years can take.
const ASSUMED_WINDOW: Tokens = Tokens(128_000);

/// The longest answer of a model of which nothing is known; servers refuse a number above their own.
const ASSUMED_MAX_OUTPUT: Tokens = Tokens(8_192);

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
    /// The least that it can be asked to think: more than `Off` for one that always thinks. `None` for one that doesn't think,
    /// or not the way tiller asks.
    pub least_thinking: Option<ThinkingLevel>,
    /// Whether it takes images.
    pub sight: ImageInput,
    /// Its prices, when known.
    pub price: Option<Price>,
}

/// Whether a model takes images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageInput {
    /// Nobody knows; it is sent images.
    #[default]
    Unknown,
    /// It does.
    Supported,
    /// It takes text alone, and gets a line of it in an image's place.
    Unsupported,
}

impl ModelFacts {
    /// What `usage` costs: nothing where no price is known.
    ///
    /// Some models bill a whole request dearer when its prompt is longer than a threshold; that is counted in, as
    /// long as the price is the catalogue's.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Cost {
        let Some(price) = self.price else { return Cost::default() };
        let prompt = usage.input + usage.cache_read + usage.cache_write;
        let factor = table::surcharge(&self.provider, &self.id)
            .filter(|surcharge| {
                prompt > surcharge.above && table::price(&self.provider, &self.id) == Some(price)
            })
            .map_or((1.0, 1.0), |surcharge| (surcharge.input, surcharge.output));
        let part = |tokens: Tokens, per_million: Usd, factor: f64| {
            #[expect(clippy::cast_precision_loss, reason = "no answer has 2^53 tokens")]
            let tokens = tokens.0 as f64;
            Usd(tokens * per_million.0 * factor / 1_000_000.0)
        };
        let input = part(usage.input, price.input, factor.0);
        let output = part(usage.output, price.output, factor.1);
        let cache_read = part(usage.cache_read, price.cache_read, factor.0);
        let cache_write = part(usage.cache_write, price.cache_write, factor.0);
        Cost { input, output, cache_read, cache_write, total: input + output + cache_read + cache_write }
    }

    /// The same of a model with another window. An answer takes at most a quarter of it: it has to share it with the question.
    #[must_use]
    pub fn in_window(self, window: Tokens) -> Self {
        Self { window, max_output: self.max_output.min(Tokens(window.0 / 4)), ..self }
    }

    /// Returns whether it can think before it answers.
    #[must_use]
    pub const fn thinks(&self) -> bool {
        self.least_thinking.is_some()
    }

    /// The level that the model can do and that is nearest to `wanted`: `Off` for one that doesn't think.
    #[must_use]
    pub fn clamp(&self, wanted: ThinkingLevel) -> ThinkingLevel {
        self.least_thinking.map_or(ThinkingLevel::Off, |least| wanted.max(least))
    }

    /// The levels one may choose from, least first.
    #[must_use]
    pub fn levels(&self) -> &'static [ThinkingLevel] {
        match self.least_thinking {
            Some(least) => &ThinkingLevel::ALL[least as usize..],
            None => &ThinkingLevel::ALL[..1],
        }
    }
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

/// The models that the catalogue has of a provider, the recommended ones first. Empty for a provider it doesn't know.
#[must_use]
pub fn known(provider: &str) -> Vec<ModelFacts> {
    table::rows(provider).iter().map(|row| row.facts(provider, row.id)).collect()
}

/// What the catalogue has of `id`, or of the model whose dated snapshot it is: `claude-opus-4-5-20251101`,
/// `gpt-5-2025-08-07`.
#[must_use]
pub fn facts(provider: &str, id: &str) -> Option<ModelFacts> {
    table::row(provider, id).map(|row| row.facts(provider, id))
}

/// What to go by for a model that the catalogue lacks: a window of 128,000 tokens, answers of at most 8,192, no
/// prices; a Claude is taken to think and to see, every one since 2025 does.
#[must_use]
pub fn assumed(provider: &str, id: &str) -> ModelFacts {
    let is_claude = provider == table::ANTHROPIC && id.starts_with("claude-");
    ModelFacts {
        provider: provider.to_owned(),
        id: id.to_owned(),
        window: ASSUMED_WINDOW,
        max_output: ASSUMED_MAX_OUTPUT,
        least_thinking: is_claude.then_some(ThinkingLevel::Off),
        sight: if is_claude { ImageInput::Supported } else { ImageInput::Unknown },
        price: None,
    }
}

/// Most tokens that a model is given to think at a level; `None` where its provider takes no such number, but words or nothing.
#[must_use]
pub fn thinking_budget(model: &ModelRef, level: ThinkingLevel) -> Option<Tokens> {
    let takes_budgets = model.provider == table::ANTHROPIC && claude_thinking(&model.id) == Thinking::Budget;
    (takes_budgets && level != ThinkingLevel::Off).then(|| budget(level))
}

/// How a model behind the Messages API is told to think. A Claude that the catalogue lacks is taken to be newer than
/// it; of what others serve there, nothing is known.
pub(super) fn claude_thinking(id: &str) -> Thinking {
    match table::row(table::ANTHROPIC, id) {
        Some(row) => row.thinking,
        None if id.starts_with("claude-") => Thinking::NEWEST,
        None => Thinking::Never,
    }
}

/// Tokens of thought by level, doubling about each time; the least is the fewest that the Messages API accepts.
pub(super) const fn budget(level: ThinkingLevel) -> Tokens {
    Tokens(match level {
        ThinkingLevel::Off => 0,
        ThinkingLevel::Minimal => 1_024,
        ThinkingLevel::Low => 4_096,
        ThinkingLevel::Medium => 10_240,
        ThinkingLevel::High => 20_480,
        ThinkingLevel::Xhigh => 32_768,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Usage {
        Usage {
            input: Tokens(input),
            output: Tokens(output),
            cache_read: Tokens(cache_read),
            cache_write: Tokens(cache_write),
            ..Usage::default()
        }
    }

    fn micros(usd: Usd) -> i64 {
        #[expect(clippy::cast_possible_truncation, reason = "a test's small numbers")]
        let micros = (usd.0 * 1e6).round() as i64;
        micros
    }

    #[test]
    fn an_answer_is_priced_by_kind_of_token() {
        let sonnet = facts("anthropic", "claude-sonnet-5-5").unwrap();
        let cost = sonnet.cost(&usage(1_000, 2_000, 10_000, 4_000));
        let parts = [cost.input, cost.output, cost.cache_read, cost.cache_write, cost.total].map(micros);
        assert_eq!(parts, [2_000, 20_000, 1_000, 10_000, 33_000]);
        assert_eq!(assumed("ollama", "qwen").cost(&usage(1_000, 1_000, 0, 0)), Cost::default());
    }

    #[test]
    fn a_long_prompt_makes_the_whole_request_dearer() {
        let haiku = facts("anthropic", "claude-haiku-5-5").unwrap();
        assert_eq!(micros(haiku.cost(&usage(100_000, 1_000, 0, 0)).total), 10_500);
        assert_eq!(micros(haiku.cost(&usage(1, 1_000, 100_000, 0)).total), 5_000 + 2_500 + 1);
        let luna = facts("openai", "gpt-6-luna").unwrap();
        assert_eq!(micros(luna.cost(&usage(300_000, 1_000, 0, 0)).total), 60_750);
        let own = ModelFacts { price: Some(Price { input: Usd(1.0), ..luna.price.unwrap() }), ..luna };
        assert_eq!(micros(own.cost(&usage(300_000, 0, 0, 0)).total), 300_000);
    }

    #[test]
    fn a_dated_snapshot_is_the_model_it_is_of() {
        let snapshot = facts("anthropic", "claude-opus-4-5-20251101").unwrap();
        assert_eq!(snapshot.id, "claude-opus-4-5-20251101");
        assert_eq!(snapshot.window, facts("anthropic", "claude-opus-4-5").unwrap().window);
        assert!(facts("openai", "gpt-5-2025-08-07").is_some());
        assert_eq!(facts("openai", "gpt-5-codex"), None);
        assert_eq!(facts("ollama", "gpt-5"), None);
    }

    #[test]
    fn a_model_that_does_not_think_is_clamped() {
        let facts = assumed("openai", "my-model");
        assert_eq!(facts.clamp(ThinkingLevel::High), ThinkingLevel::Off);
        assert_eq!(facts.levels(), [ThinkingLevel::Off]);
        assert_eq!(assumed("anthropic", "claude-opus-9").clamp(ThinkingLevel::High), ThinkingLevel::High);
    }

    #[test]
    fn levels_of_a_model_that_always_thinks_leave_off_out() {
        let least = |provider, id| facts(provider, id).unwrap().levels()[0];
        assert_eq!(least("anthropic", "claude-opus-5-5"), ThinkingLevel::Low);
        assert_eq!(least("openai", "gpt-5"), ThinkingLevel::Minimal);
        assert_eq!(least("openai", "gpt-5.1"), ThinkingLevel::Off);
        let opus = facts("anthropic", "claude-opus-5-5").unwrap();
        assert_eq!(opus.clamp(ThinkingLevel::Off), ThinkingLevel::Low);
    }

    #[test]
    fn only_models_that_are_told_how_long_to_think_have_a_budget() {
        let of = |id: &str, level| {
            thinking_budget(&ModelRef { provider: "anthropic".into(), id: id.into() }, level)
        };
        assert_eq!(of("claude-haiku-4-5", ThinkingLevel::High), Some(Tokens(20_480)));
        assert_eq!(of("claude-haiku-4-5", ThinkingLevel::Off), None);
        assert_eq!(of("claude-opus-5-5", ThinkingLevel::High), None, "it thinks as it sees fit");
        let gpt = ModelRef { provider: "openai".into(), id: "gpt-5".into() };
        assert_eq!(thinking_budget(&gpt, ThinkingLevel::High), None, "it is told in words");
    }

    #[test]
    fn every_row_makes_sense() {
        for provider in ["anthropic", "openai"] {
            let models = known(provider);
            assert!(models.len() > 5);
            for (at, model) in models.iter().enumerate() {
                let price = model.price.expect("a price");
                assert!(model.max_output < model.window, "{}", model.id);
                assert!(price.cache_read.0 < price.input.0 && price.input.0 < price.output.0, "{}", model.id);
                assert!(models[..at].iter().all(|other| other.id != model.id), "{} twice", model.id);
            }
        }
        assert_eq!(known("elsewhere"), []);
    }
}
