//! The models to cycle through: those that match a list of patterns, else all usable ones.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use tiller_core::message::ModelRef;

use super::model::ScopedModel;
use super::{ProviderRegistry, is_similar, split_level};

/// The direction of cycling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CycleDirection {
    /// To the next one.
    Forward,
    /// To the previous one.
    Back,
}

impl ProviderRegistry {
    /// Sets the patterns of the models to cycle through, in order and without duplicates. A pattern is a name
    /// for [`ProviderRegistry::find`]; one with `*` selects every matching model. Returns the patterns
    /// without a match.
    pub fn limit_scope(&mut self, patterns: &[String]) -> Vec<String> {
        self.patterns = patterns.to_vec();
        self.update_scope()
    }

    /// Resolves the patterns again after the providers have changed.
    pub(super) fn update_scope(&mut self) -> Vec<String> {
        let (mut scope, mut unmatched): (Vec<ScopedModel>, Vec<String>) = (Vec::new(), Vec::new());
        for pattern in &self.patterns {
            let matching = self.matching(pattern);
            if matching.is_empty() {
                unmatched.push(pattern.clone());
            }
            for scoped in matching {
                if scope.iter().all(|other| other.model.reference() != scoped.model.reference()) {
                    scope.push(scoped);
                }
            }
        }
        self.scope = scope;
        unmatched
    }

    fn matching(&self, pattern: &str) -> Vec<ScopedModel> {
        let (name, thinking) = split_level(pattern.trim());
        if name.contains('*') {
            let matching = self.models.iter().filter(|facts| is_similar(facts, name));
            let models = matching.filter_map(|facts| self.model(Arc::clone(facts)));
            return models.map(|model| ScopedModel { model, thinking }).collect();
        }
        let resolved = self.find(pattern).ok();
        let scoped =
            resolved.map(|resolved| ScopedModel { model: resolved.model, thinking: resolved.thinking });
        scoped.into_iter().collect()
    }

    /// Returns true if patterns limit the models.
    #[must_use]
    pub fn is_scoped(&self) -> bool {
        !self.scope.is_empty()
    }

    /// Returns the models to cycle through: the ones that match the patterns, else all usable ones.
    #[must_use]
    pub fn scoped(&self) -> Vec<ScopedModel> {
        if self.is_scoped() {
            return self.scope.clone();
        }
        self.models().into_iter().map(|model| ScopedModel { model, thinking: None }).collect()
    }

    /// Returns the model next to `current`; `None` if there is no other. If `current` isn't in the list, it
    /// is the first or the last one.
    #[must_use]
    pub fn next_in_cycle(&self, current: &ModelRef, direction: CycleDirection) -> Option<ScopedModel> {
        let mut scoped = self.scoped();
        let count = scoped.len();
        let at = scoped.iter().position(|scoped| scoped.model.reference() == *current);
        let next = match (at, direction) {
            (Some(_), _) if count < 2 => return None,
            (None, _) if count == 0 => return None,
            (None, CycleDirection::Forward) => 0,
            (None, CycleDirection::Back) => count - 1,
            (Some(at), CycleDirection::Forward) => (at + 1) % count,
            (Some(at), CycleDirection::Back) => (at + count - 1) % count,
        };
        Some(scoped.swap_remove(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::providers;

    fn names(scoped: &[ScopedModel]) -> Vec<String> {
        let name = |scoped: &ScopedModel| match scoped.thinking {
            Some(level) => format!("{}:{}", scoped.model.reference(), level.name()),
            None => scoped.model.reference().to_string(),
        };
        scoped.iter().map(name).collect()
    }

    fn limited(patterns: &[&str]) -> (ProviderRegistry, Vec<String>) {
        let mut providers = providers();
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let unmatched = providers.limit_scope(&patterns);
        (providers, unmatched)
    }

    #[test]
    fn limit_scope_keeps_pattern_order_without_duplicates() {
        let (providers, unmatched) =
            limited(&["ollama/*:low", "gpt-5:high", "nonsense", "qwen3:8b", "haiku-4"]);
        assert_eq!(
            names(&providers.scoped()),
            [
                "ollama/qwen3:8b:low",
                "ollama/deep:high:low",
                "openai/gpt-5:high",
                "anthropic/claude-haiku-4-5"
            ]
        );
        assert_eq!(unmatched, ["nonsense"]);
    }

    #[test]
    fn beside_wraps_around_and_is_none_without_another() {
        let (providers, _) = limited(&["gpt-5", "qwen3:8b", "deep:high"]);
        let next = |provider: &str, id: &str, direction| {
            let current = ModelRef { provider: provider.into(), id: id.into() };
            providers.next_in_cycle(&current, direction).map(|scoped| scoped.model.facts.id.clone())
        };
        assert_eq!(next("openai", "gpt-5", CycleDirection::Forward).as_deref(), Some("qwen3:8b"));
        assert_eq!(next("openai", "gpt-5", CycleDirection::Back).as_deref(), Some("deep:high"));
        assert_eq!(next("ollama", "deep:high", CycleDirection::Forward).as_deref(), Some("gpt-5"));
        assert_eq!(next("else", "where", CycleDirection::Forward).as_deref(), Some("gpt-5"));
        assert_eq!(next("else", "where", CycleDirection::Back).as_deref(), Some("deep:high"));
        let (one, _) = limited(&["gpt-5"]);
        let current = ModelRef { provider: "openai".into(), id: "gpt-5".into() };
        assert!(one.next_in_cycle(&current, CycleDirection::Forward).is_none());
        assert!(ProviderRegistry::default().next_in_cycle(&current, CycleDirection::Back).is_none());
        assert!(!providers.is_empty() && one.is_scoped());
    }

    #[test]
    fn scoped_without_patterns_is_every_model() {
        let providers = providers();
        assert_eq!(providers.scoped().len(), providers.models().len());
        assert!(!providers.is_scoped());
    }
}
