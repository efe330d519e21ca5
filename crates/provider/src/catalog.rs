//! The model catalog: windows, limits and prices, with source and date.
//!
//! The rows are in `table`; [`assumed`] returns facts of unlisted models. No server is queried: a model can
//! be used whether it is listed or not.

mod facts;
mod row;
mod table;
mod thinking;

use tiller_core::message::{Cost, ModelRef, ThinkingLevel, Usage};
use tiller_core::unit::{Tokens, Usd};

pub use facts::{ImageInput, ModelFacts, Price};
pub(crate) use thinking::usual_budget;
pub use thinking::{ThinkingControl, ThinkingOff};

/// Context window of an unlisted model: that of most models of the last two years.
const ASSUMED_WINDOW: Tokens = Tokens(128_000);

/// Maximum answer length of an unlisted model. Kept low, because servers reject a number above their own
/// limit.
const ASSUMED_MAX_OUTPUT: Tokens = Tokens(8_192);

impl ModelFacts {
    /// Returns the cost of `usage`: as reported by the provider, else by the model's price; zero if none is
    /// known.
    ///
    /// Some models charge more for the entire request when its prompt exceeds a threshold; that surcharge is
    /// included if the price is the catalog's.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Cost {
        if usage.cost.total > Usd::default() {
            return usage.cost.clone();
        }
        let Some(price) = self.price else { return Cost::default() };
        let prompt = usage.input + usage.cache_read + usage.cache_write;
        let factor = table::surcharge(&self.provider, &self.id)
            .filter(|surcharge| {
                prompt > surcharge.threshold && table::price(&self.provider, &self.id) == Some(price)
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
}

/// Lists the cataloged models of a provider, recommended ones first; empty for an unknown provider.
#[must_use]
pub fn list_models(provider: &str) -> Vec<ModelFacts> {
    table::rows(provider).iter().map(|row| row.facts(provider, row.id)).collect()
}

/// Returns the facts of a model or of a dated snapshot of it: `claude-opus-4-5-20251101`, `gpt-5-2025-08-07`.
#[must_use]
pub fn facts(provider: &str, id: &str) -> Option<ModelFacts> {
    table::row(provider, id).map(|row| row.facts(provider, id))
}

/// Returns the source and date of the facts about a provider's models.
#[must_use]
pub fn source(provider: &str) -> Option<&'static str> {
    table::source(provider)
}

/// Returns assumed facts of an unlisted model: a window of 128,000 tokens, answers of at most 8,192, no
/// prices. A Claude or a Gemini is assumed to think and to accept images, as every one since 2025 does, and a
/// GPT to think as its generation does.
#[must_use]
pub fn assumed(provider: &str, id: &str) -> ModelFacts {
    let is_claude = id.contains("claude-");
    let is_gemini = provider == "gemini" && id.starts_with("gemini-");
    let thinking = match provider {
        _ if is_claude => ThinkingControl::NEWEST,
        _ if is_gemini => table::assumed_gemini_thinking(id),
        "openai" | "azure" => table::assumed_thinking(id),
        _ => ThinkingControl::Never,
    };
    let has_images = is_claude || is_gemini;
    let is_gpt =
        matches!(provider, "openai" | "azure") && table::assumed_thinking(id) != ThinkingControl::Never;
    ModelFacts {
        provider: provider.to_owned(),
        id: id.to_owned(),
        name: id.to_owned(),
        window: ASSUMED_WINDOW,
        max_output: ASSUMED_MAX_OUTPUT,
        thinking,
        image_input: if has_images { ImageInput::Supported } else { ImageInput::Unknown },
        takes_pdf: (has_images || is_gpt) && row::takes_pdf(provider),
        price: None,
        compat: is_gpt.then_some(table::GPT),
    }
}

/// Returns true for a Gemini before 3, whose requests differ.
pub(crate) fn is_older_gemini(id: &str) -> bool {
    table::older_gemini_thinking(id).is_some()
}

/// Returns the thinking budget of a level; `None` if the model takes no budget.
#[must_use]
pub fn thinking_budget(model: &ModelRef, level: ThinkingLevel) -> Option<Tokens> {
    facts(&model.provider, &model.id)?.thinking.budget(level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor;

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
    fn cost_is_by_kind_of_token() {
        let sonnet = facts("anthropic", "claude-sonnet-5-5").unwrap();
        let cost = sonnet.cost(&usage(1_000, 2_000, 10_000, 4_000));
        let parts = [cost.input, cost.output, cost.cache_read, cost.cache_write, cost.total].map(micros);
        assert_eq!(parts, [2_000, 20_000, 1_000, 10_000, 33_000]);
        assert_eq!(assumed("ollama", "qwen").cost(&usage(1_000, 1_000, 0, 0)), Cost::default());
    }

    #[test]
    fn cost_long_prompt_has_surcharge_on_the_whole_request() {
        let haiku = facts("anthropic", "claude-haiku-5-5").unwrap();
        assert_eq!(micros(haiku.cost(&usage(100_000, 1_000, 0, 0)).total), 10_500);
        assert_eq!(micros(haiku.cost(&usage(1, 1_000, 100_000, 0)).total), 5_000 + 2_500 + 1);
        let luna = facts("openai", "gpt-6-luna").unwrap();
        assert_eq!(micros(luna.cost(&usage(300_000, 1_000, 0, 0)).total), 60_750);
        let own_price = ModelFacts { price: Some(Price { input: Usd(1.0), ..luna.price.unwrap() }), ..luna };
        assert_eq!(micros(own_price.cost(&usage(300_000, 0, 0, 0)).total), 300_000);
    }

    #[test]
    fn facts_dated_snapshot_is_its_model() {
        let snapshot = facts("anthropic", "claude-opus-4-5-20251101").unwrap();
        assert_eq!(snapshot.id, "claude-opus-4-5-20251101");
        assert_eq!(snapshot.window, facts("anthropic", "claude-opus-4-5").unwrap().window);
        assert!(facts("openai", "gpt-5-2025-08-07").is_some());
        assert_eq!(facts("openai", "gpt-5-codex"), None);
        assert_eq!(facts("ollama", "gpt-5"), None);
    }

    #[test]
    fn clamp_model_without_thinking_is_off() {
        let facts = assumed("openai", "my-model");
        assert_eq!(facts.clamp(ThinkingLevel::High), ThinkingLevel::Off);
        assert_eq!(facts.levels(), [ThinkingLevel::Off]);
        assert_eq!(assumed("anthropic", "claude-opus-9").clamp(ThinkingLevel::High), ThinkingLevel::High);
        assert_eq!(assumed("gemini", "gemini-9-pro").clamp(ThinkingLevel::Off), ThinkingLevel::Low);
        assert_eq!(assumed("gemini", "gemma-4").thinking, ThinkingControl::Never);
    }

    #[test]
    fn assumed_older_gemini_thinks_as_its_generation() {
        let least = |id: &str| assumed("gemini", id).thinking.min_level();
        assert_eq!(least("gemini-2.5-pro"), Some(ThinkingLevel::Minimal), "it can't be turned off");
        assert_eq!(assumed("gemini", "gemini-2.5-flash-lite").thinking, ThinkingControl::BUDGET);
        assert_eq!([least("gemini-2.0-flash"), least("gemini-1.5-pro")], [None, None]);
    }

    #[test]
    fn takes_pdf_models_of_the_vendors() {
        let takes =
            |provider: &str, id: &str| facts(provider, id).unwrap_or_else(|| assumed(provider, id)).takes_pdf;
        for (provider, id) in [
            ("anthropic", "claude-opus-5-5"),
            ("anthropic", "claude-opus-9"),
            ("openai", "gpt-5"),
            ("openai", "gpt-9"),
            ("gemini", "gemini-9-pro"),
        ] {
            assert!(takes(provider, id), "{provider}/{id}");
        }
        for (provider, id) in [("groq", "qwen/qwen3.8-27b"), ("openai", "my-model"), ("ollama", "qwen3")] {
            assert!(!takes(provider, id), "{provider}/{id}");
        }
    }

    #[test]
    fn levels_model_that_always_thinks_lacks_off() {
        let min_level = |provider, id| facts(provider, id).unwrap().levels()[0];
        assert_eq!(min_level("anthropic", "claude-opus-5-5"), ThinkingLevel::Low);
        assert_eq!(min_level("openai", "gpt-5"), ThinkingLevel::Minimal);
        assert_eq!(min_level("openai", "gpt-5.1"), ThinkingLevel::Off);
        let opus = facts("anthropic", "claude-opus-5-5").unwrap();
        assert_eq!(opus.clamp(ThinkingLevel::Off), ThinkingLevel::Low);
    }

    #[test]
    fn thinking_budget_only_budget_models_have_one() {
        let budget = |id: &str, level| {
            thinking_budget(&ModelRef { provider: "anthropic".into(), id: id.into() }, level)
        };
        assert_eq!(budget("claude-haiku-4-5", ThinkingLevel::High), Some(Tokens(20_480)));
        assert_eq!(budget("claude-haiku-4-5", ThinkingLevel::Off), None);
        assert_eq!(budget("claude-opus-5-5", ThinkingLevel::High), None, "adaptive thinking");
        let gpt = ModelRef { provider: "openai".into(), id: "gpt-5".into() };
        assert_eq!(thinking_budget(&gpt, ThinkingLevel::High), None, "effort levels");
    }

    #[test]
    fn table_rows_are_consistent() {
        for provider in descriptor::names() {
            let models = list_models(provider);
            let source = source(provider).unwrap();
            assert!(!models.is_empty(), "{provider}");
            let has_day = source.split([' ', ';']).any(|word| word.starts_with("2026-") && word.len() == 10);
            assert!(has_day, "{provider}: {source}");
            for (at, model) in models.iter().enumerate() {
                assert!(model.max_output < model.window, "{}", model.id);
                if let Some(price) = model.price {
                    assert!(price.cache_read.0 <= price.input.0, "{}", model.id);
                    assert!(price.input.0 < price.output.0, "{}", model.id);
                }
                assert!(models[..at].iter().all(|other| other.id != model.id), "{} twice", model.id);
            }
        }
        assert_eq!(list_models("elsewhere"), []);
    }
}
