//! The provider registry: the usable providers, and the resolution of model names.
//!
//! No server is queried: a model named with its provider can be used, listed or not. Providers without a key
//! are recorded, so that an error can name the missing key. `cycle` handles the models to cycle through.

mod cycle;
mod error;
mod join_names;
mod keys;
mod model;

use std::collections::BTreeMap;
use std::sync::Arc;

use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_core::suggest;
use tiller_core::unit::Tokens;

use super::Provider;
use super::catalog::{self, ModelFacts};
use super::descriptor::ProviderDescriptor;
use super::{ProviderError, UnavailableProvider, demo, scripted};

pub use cycle::CycleDirection;
pub use error::ModelError;
use join_names::join_names;
pub use model::{FactSource, Model, ResolvedModel, ScopedModel};

/// Maximum number of models that an error suggests.
const MAX_SUGGESTIONS: usize = 3;

/// The usable providers: those with a key, local servers, the demo.
#[derive(Clone, Default)]
pub struct ProviderRegistry {
    providers: BTreeMap<String, Arc<dyn Provider>>,
    models: Vec<Arc<ModelFacts>>,
    /// By provider, in the order they were added.
    models_without_key: Vec<(String, UnavailableEntry)>,
    scope: Vec<ScopedModel>,
    /// The patterns of the scope.
    patterns: Vec<String>,
    /// The window of unlisted models, if set.
    assumed_window: Option<Tokens>,
    /// Windows that proved smaller than the known ones, by `provider/id`.
    lowered_windows: BTreeMap<String, Tokens>,
}

/// A provider that can't be used.
#[derive(Clone)]
struct UnavailableEntry {
    cause: UnavailableCause,
    models: Vec<ModelFacts>,
}

/// The reason a provider can't be used.
#[derive(Clone)]
enum UnavailableCause {
    /// Its key is missing; the environment variable for it: `OPENAI_API_KEY`.
    NoKey(String),
    /// Its settings are invalid; the error.
    Misconfigured(String),
    /// Its server on this machine refuses access or isn't ready; the reason.
    Refused(String),
}

impl ProviderRegistry {
    /// Adds a provider with the models that it serves, replacing one with the same name.
    pub fn add(&mut self, provider: Arc<dyn Provider>, models: Vec<ModelFacts>) {
        let name = provider.name().to_owned();
        self.models.retain(|facts| facts.provider != name);
        self.models.extend(models.into_iter().map(Arc::new));
        self.models_without_key.retain(|(provider, _)| *provider != name);
        self.providers.insert(name, provider);
        self.update_scope();
    }

    /// Records a provider without a key, with the environment variable for the key and the models that it
    /// would serve. Does nothing if the provider is present.
    pub fn add_without_key(&mut self, provider: &str, key_name: impl Into<String>, models: Vec<ModelFacts>) {
        if !self.providers.contains_key(provider) {
            let cause = UnavailableCause::NoKey(key_name.into());
            self.set_unavailable(provider, UnavailableEntry { cause, models });
        }
    }

    /// Records a provider whose settings are invalid, with the models that it would serve. Other providers
    /// aren't affected.
    pub fn add_misconfigured(&mut self, error: &ProviderError, models: Vec<ModelFacts>) {
        let cause = UnavailableCause::Misconfigured(error.message.clone());
        self.set_unavailable(&error.provider, UnavailableEntry { cause, models });
    }

    /// Records a server on this machine that refuses access or isn't ready. Does nothing if the provider is
    /// present.
    pub fn add_refused(&mut self, provider: &str, reason: String) {
        if !self.providers.contains_key(provider) {
            let cause = UnavailableCause::Refused(reason);
            self.set_unavailable(provider, UnavailableEntry { cause, models: Vec::new() });
        }
    }

    /// Returns the reason a running server on this machine can't be used.
    #[must_use]
    pub fn refusal(&self, provider: &str) -> Option<&str> {
        match &self.unavailable(provider)?.cause {
            UnavailableCause::Refused(reason) => Some(reason),
            UnavailableCause::NoKey(_) | UnavailableCause::Misconfigured(_) => None,
        }
    }

    fn unavailable(&self, provider: &str) -> Option<&UnavailableEntry> {
        self.models_without_key.iter().find(|(name, _)| name == provider).map(|(_, entry)| entry)
    }

    fn set_unavailable(&mut self, provider: &str, entry: UnavailableEntry) {
        match self.models_without_key.iter_mut().find(|(name, _)| name == provider) {
            Some((_, former)) => *former = entry,
            None => self.models_without_key.push((provider.to_owned(), entry)),
        }
    }

    /// Iterates over the providers whose settings are invalid, each with its error.
    pub fn misconfigured(&self) -> impl Iterator<Item = (&str, &str)> {
        self.models_without_key.iter().filter_map(|(provider, locked)| match &locked.cause {
            UnavailableCause::NoKey(_) | UnavailableCause::Refused(_) => None,
            UnavailableCause::Misconfigured(reason) => Some((provider.as_str(), reason.as_str())),
        })
    }

    /// Removes a provider and records it as one without a key. Does nothing if it isn't present.
    pub fn remove_key(&mut self, provider: &str, key_name: impl Into<String>) {
        if self.providers.remove(provider).is_none() {
            return;
        }
        let (removed, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.models).into_iter().partition(|facts| facts.provider == provider);
        self.models = others;
        self.add_without_key(provider, key_name, removed.into_iter().map(Arc::unwrap_or_clone).collect());
        self.update_scope();
    }

    /// Sets the assumed window of unlisted models.
    pub fn assume_window(&mut self, window: Tokens) {
        self.assumed_window = Some(window);
    }

    /// Lowers a model's known context window after its server reported a smaller one.
    pub fn lower_window(&mut self, model: &ModelRef, window: Tokens) {
        self.lowered_windows.insert(model.to_string(), window);
    }

    /// Returns true if no provider is usable.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.providers.is_empty()
    }

    /// Iterates over the names of the providers, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// Returns all usable models, by provider in the order they were added.
    #[must_use]
    pub fn models(&self) -> Vec<Model> {
        self.models.iter().filter_map(|facts| self.model(Arc::clone(facts))).collect()
    }

    /// Returns the models of the providers that can't be used.
    pub fn unavailable_models(&self) -> impl Iterator<Item = &ModelFacts> {
        self.models_without_key.iter().flat_map(|(_, entry)| &entry.models)
    }

    /// Returns the models whose providers lack a key, each with the environment variable for the key.
    #[must_use]
    pub fn locked(&self) -> Vec<(ModelFacts, String)> {
        let mut models = Vec::new();
        for UnavailableEntry { cause, models: locked_models } in
            self.models_without_key.iter().map(|(_, entry)| entry)
        {
            match cause {
                UnavailableCause::NoKey(name) => {
                    models.extend(locked_models.iter().map(|facts| (facts.clone(), name.clone())))
                }
                UnavailableCause::Misconfigured(_) | UnavailableCause::Refused(_) => {}
            }
        }
        models
    }

    fn model(&self, facts: Arc<ModelFacts>) -> Option<Model> {
        let provider = self.providers.get(&facts.provider)?;
        let provider = provider.for_model(&facts.id).unwrap_or_else(|| Arc::clone(provider));
        let model = Model { facts, provider };
        match self.lowered_windows.get(&model.reference().to_string()) {
            Some(window) if *window < model.facts.window => {
                let facts = Arc::new((*model.facts).clone().with_window(*window));
                Some(Model { facts, ..model })
            }
            Some(_) | None => Some(model),
        }
    }

    /// Finds the model that a log or a request names. An unlisted model gets assumed facts: one that a log
    /// used may still exist.
    ///
    /// # Errors
    /// If its provider doesn't exist, or has no key.
    pub fn exact(&self, reference: &ModelRef) -> Result<Model, ModelError> {
        self.find_in(&reference.provider, &reference.id).map(|(model, _)| model)
    }

    /// Finds the model `id` of a provider; the facts of an unlisted model come from the catalog or
    /// [`catalog::assumed`].
    ///
    /// # Errors
    /// If the provider doesn't exist, or has no key.
    pub fn find_in(&self, provider: &str, id: &str) -> Result<(Model, FactSource), ModelError> {
        let listed = self.models.iter().find(|facts| facts.provider == provider && facts.id == id);
        let (facts, source) = match (listed, catalog::facts(provider, id)) {
            (Some(facts), _) => (Arc::clone(facts), FactSource::Known),
            (None, Some(facts)) => (Arc::new(facts), FactSource::Known),
            (None, None) => (Arc::new(self.assumed(provider, id)), FactSource::Assumed),
        };
        self.model(facts).map(|model| (model, source)).ok_or_else(|| self.unavailable_error(provider, id))
    }

    /// Returns a placeholder for an unavailable model from a log: its requests fail with the reason.
    #[must_use]
    pub fn unavailable_model(&self, reference: &ModelRef, error: &ModelError) -> Model {
        let ModelRef { provider, id } = reference;
        let locked =
            self.unavailable(provider).and_then(|locked| locked.models.iter().find(|facts| facts.id == *id));
        let facts = locked.cloned().or_else(|| catalog::facts(provider, id));
        let facts = facts.unwrap_or_else(|| self.assumed(provider, id));
        Model { facts: Arc::new(facts), provider: Arc::new(UnavailableProvider::for_model(reference, error)) }
    }

    /// Checks whether a model is usable now and isn't the demo.
    #[must_use]
    pub fn is_usable_fallback(&self, model: &Model) -> bool {
        model.facts.provider != demo::NAME && self.providers.contains_key(&model.facts.provider)
    }

    fn assumed(&self, provider: &str, id: &str) -> ModelFacts {
        let facts = catalog::assumed(provider, id);
        match self.assumed_window {
            Some(window) => facts.with_window(window),
            None => facts,
        }
    }

    /// Returns the reason the model `id` of a provider is unavailable.
    fn unavailable_error(&self, provider: &str, id: &str) -> ModelError {
        let model = format!("{provider}/{id}");
        match self.unavailable(provider).map(|locked| locked.cause.clone()) {
            Some(UnavailableCause::NoKey(key_name)) => ModelError::NoKey { model, key_name },
            Some(UnavailableCause::Misconfigured(reason) | UnavailableCause::Refused(reason)) => {
                ModelError::Misconfigured { model, reason }
            }
            None => no_server(provider).unwrap_or_else(|| ModelError::NoProvider {
                provider: provider.to_owned(),
                usable: join_names(self.names().map(str::to_owned)),
            }),
        }
    }

    /// Resolves a model name as typed: `[provider/]id[:thinking]`.
    ///
    /// These matches are tried in order:
    ///
    /// 1. an exact id, with or without its provider; it may contain a colon (`qwen3:8b`)
    /// 2. ignoring case, a pattern with `*` or a part of `provider/id`
    /// 3. after the name of a usable provider and a slash, any id, with assumed facts
    /// 4. words in the order of `provider/id`, ignoring punctuation: `opus55`, `sonnet 5`
    ///
    /// The first match wins: providers in the order they were added, a provider's models with the recommended and
    /// newest first. A named provider without a key is never replaced with another one that has a similar
    /// model.
    ///
    /// # Errors
    /// If nothing matches, or the named provider isn't usable.
    pub fn find(&self, requested: &str) -> Result<ResolvedModel, ModelError> {
        let requested = requested.trim();
        if let Some((model, source)) = self.find_exact(requested) {
            return Ok(ResolvedModel { model, thinking: None, source });
        }
        let (name, thinking) = split_level(requested);
        if let Some((model, source)) = self.find_exact(name) {
            return Ok(ResolvedModel { model, thinking, source });
        }
        if let Some(error) = self.missing_key_error(name) {
            return Err(error);
        }
        let found = self.find_similar(name).or_else(|| self.find_unlisted(name));
        match found.or_else(|| self.find_by_words(name)) {
            Some((model, source)) => Ok(ResolvedModel { model, thinking, source }),
            None => Err(self.unknown(requested, name)),
        }
    }

    /// Returns the error for a name that begins with a provider without a key.
    fn missing_key_error(&self, name: &str) -> Option<ModelError> {
        let (provider, id) = name.split_once('/')?;
        let locked = self.unavailable(provider).filter(|_| !id.is_empty())?;
        let exact = locked.models.iter().find(|facts| facts.id == id);
        let closest = exact.or_else(|| first_similar(&locked.models, name));
        Some(self.unavailable_error(provider, closest.map_or(id, |facts| &facts.id)))
    }

    /// Returns the error for a name without a usable match.
    fn unknown(&self, requested: &str, name: &str) -> ModelError {
        let exact = self.unavailable_models().find(|facts| facts.id == name);
        let first =
            || self.models_without_key.iter().find_map(|(_, locked)| first_similar(&locked.models, name));
        let similar = exact.or_else(first);
        if let Some(facts) = similar {
            return self.unavailable_error(&facts.provider, &facts.id);
        }
        let absent = name.split_once('/').filter(|(provider, _)| !self.providers.contains_key(*provider));
        if let Some(error) = absent.and_then(|(provider, _)| no_server(provider)) {
            return error;
        }
        let nearest = self.nearest(name);
        let advice = match name.rsplit_once(':') {
            Some((front, level)) if nearest.is_empty() && self.is_known(front) => {
                format!(
                    "`{level}` isn't a thinking level: {}",
                    ThinkingLevel::ALL.map(ThinkingLevel::name).join(", ")
                )
            }
            _ if nearest.is_empty() && name.contains('/') => {
                let names = self.names().filter(|name| *name != demo::NAME);
                format!("usable providers: {}", self.join_usable(names.map(str::to_owned)))
            }
            _ if nearest.is_empty() => {
                let models = self.models.iter().filter(|facts| facts.provider != demo::NAME);
                // A script's name is a path, which a server's clients must not see.
                let models = models.filter(|facts| facts.provider != scripted::NAME);
                format!("usable: {}", self.join_usable(models.map(|facts| facts.full_name())))
            }
            _ => format!("did you mean {}?", nearest.join(" or ")),
        };
        ModelError::Unknown { requested: requested.to_owned(), advice }
    }

    /// Joins the names of what is usable besides the demo, which doesn't replace a model.
    fn join_usable(&self, names: impl Iterator<Item = String>) -> String {
        let mut names = names.peekable();
        let is_only_demo = names.peek().is_none() && self.providers.contains_key(demo::NAME);
        if is_only_demo { "only the demo".to_owned() } else { join_names(names) }
    }

    /// Returns true if a name refers to a model, usable or not.
    fn is_known(&self, name: &str) -> bool {
        !name.is_empty() && !matches!(self.find(name), Err(ModelError::Unknown { .. }))
    }

    /// Returns the models with the most similar names, with or without their providers and vendors, or those
    /// of the provider with the most similar name; usable ones first.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Vec<String> {
        let name = name.to_lowercase();
        let edits = |facts: &ModelFacts| {
            let (full, id) = (facts.full_name().to_lowercase(), facts.id.to_lowercase());
            let short = id.rsplit_once('/').map_or(id.as_str(), |(_, short)| short);
            let words = short.split('-').filter(|word| word.len() > 3);
            [&full, &id, short, &facts.provider]
                .into_iter()
                .chain(words)
                .filter_map(|candidate| suggest::edits_if_similar(&name, candidate))
                .min()
        };
        let all = self.models.iter().map(|facts| &**facts).chain(self.unavailable_models());
        let all = all.filter(|facts| facts.provider != scripted::NAME);
        let mut similar: Vec<(usize, String)> =
            all.filter_map(|facts| Some((edits(facts)?, facts.full_name()))).collect();
        similar.sort_by_key(|(edits, _)| *edits);
        similar.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
    }

    /// Returns the listed model of the same provider whose id is almost the same as that of an unlisted one,
    /// or contains its words; it may be the one that the user meant.
    #[must_use]
    pub fn similar_listed_model(&self, unlisted: &ModelRef) -> Option<String> {
        let listed = || self.models.iter().filter(|facts| facts.provider == unlisted.provider);
        let nearest = suggest::nearest(&unlisted.id, listed().map(|facts| facts.id.as_str()));
        let with_words = || listed().find(|facts| has_words(facts, &unlisted.id)).map(|facts| &*facts.id);
        Some(format!("{}/{}", unlisted.provider, nearest.or_else(with_words)?))
    }

    fn find_exact(&self, name: &str) -> Option<(Model, FactSource)> {
        let is_exact = |model: &Model| model.reference().to_string() == name || model.facts.id == name;
        self.models().into_iter().find(is_exact).map(|model| (model, FactSource::Known))
    }

    fn find_similar(&self, name: &str) -> Option<(Model, FactSource)> {
        self.models()
            .into_iter()
            .find(|model| is_similar(&model.facts, name))
            .map(|model| (model, FactSource::Known))
    }

    fn find_by_words(&self, name: &str) -> Option<(Model, FactSource)> {
        let found = self.models().into_iter().find(|model| has_words(&model.facts, name));
        found.map(|model| (model, FactSource::Known))
    }

    fn find_unlisted(&self, name: &str) -> Option<(Model, FactSource)> {
        let (provider, id) = name.split_once('/')?;
        if id.is_empty() || id.contains('*') {
            return None;
        }
        self.find_in(provider, id).ok()
    }
}

/// Returns the error for a server on the user's machine that didn't respond; `None` for other providers.
fn no_server(provider: &str) -> Option<ModelError> {
    let server = ProviderDescriptor::find(provider).filter(|server| server.is_local())?;
    Some(ModelError::NoServer { server: server.display_name, variable: server.base_url_variable })
}

fn split_level(words: &str) -> (&str, Option<ThinkingLevel>) {
    let level = |text: &str| ThinkingLevel::parse(&text.to_ascii_lowercase());
    match words.rsplit_once(':') {
        Some((name, tail)) if level(tail).is_some() => (name, level(tail)),
        Some(_) | None => (words, None),
    }
}

impl ModelFacts {
    /// Checks whether a name, as for [`ProviderRegistry::find`], matches the model: a part of `provider/id`,
    /// a pattern with `*`, or words, with or without a thinking level.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        [name, split_level(name).0].into_iter().any(|name| is_similar(self, name) || has_words(self, name))
    }

    /// Returns `provider/id`.
    fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

/// Checks whether a pattern with `*`, or a part of `provider/id`, matches a model, ignoring case.
fn is_similar(facts: &ModelFacts, name: &str) -> bool {
    let (pattern, id) = (name.to_lowercase(), facts.id.to_lowercase());
    let reference = format!("{}/{id}", facts.provider.to_lowercase());
    if pattern.contains('*') {
        matches(&pattern, &reference) || matches(&pattern, &id)
    } else {
        !pattern.is_empty() && reference.contains(&pattern)
    }
}

/// Checks whether the words of a name occur in `provider/id`, in the same order, ignoring case and
/// punctuation.
fn has_words(facts: &ModelFacts, name: &str) -> bool {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let letters: String = facts.full_name().to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    !words.is_empty() && !name.contains('*') && matches(&format!("*{}*", words.join("*")), &letters)
}

fn first_similar<'a>(models: &'a [ModelFacts], name: &str) -> Option<&'a ModelFacts> {
    let by_words = || models.iter().find(|facts| has_words(facts, name));
    models.iter().find(|facts| is_similar(facts, name)).or_else(by_words)
}

/// Checks whether `text` matches a pattern in which `*` matches any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, between)) = pieces.split_last() else { return rest.is_empty() };
    for piece in between {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::Demo;
    use crate::{ProviderStream, Request};

    struct Mute(&'static str);

    impl Provider for Mute {
        fn name(&self) -> &str {
            self.0
        }
        fn api(&self) -> &'static str {
            "mute"
        }
        fn stream(&self, _request: Request) -> ProviderStream {
            Box::pin(futures_util::stream::empty())
        }
    }

    pub(super) fn providers() -> ProviderRegistry {
        let mut providers = ProviderRegistry::default();
        providers.add(Arc::new(Mute("anthropic")), catalog::list_models("anthropic"));
        providers.add(Arc::new(Mute("openai")), catalog::list_models("openai"));
        let local = ["qwen3:8b", "deep:high"].map(|id| catalog::assumed("ollama", id)).to_vec();
        providers.add(Arc::new(Mute("ollama")), local);
        providers
    }

    fn find(words: &str) -> (String, Option<ThinkingLevel>, FactSource) {
        let resolved = providers().find(words).unwrap();
        (resolved.model.reference().to_string(), resolved.thinking, resolved.source)
    }

    #[test]
    fn find_name_resolves_to_a_model() {
        let cases = [
            ("gpt-5", "openai/gpt-5", None, FactSource::Known),
            ("openai/gpt-5:high", "openai/gpt-5", Some(ThinkingLevel::High), FactSource::Known),
            ("sonnet", "anthropic/claude-sonnet-5-5", None, FactSource::Known),
            ("Opus:low", "anthropic/claude-opus-5-5", Some(ThinkingLevel::Low), FactSource::Known),
            ("*haiku-4*", "anthropic/claude-haiku-4-5", None, FactSource::Known),
            ("openai/*mini", "openai/gpt-5-mini", None, FactSource::Known),
            ("qwen3:8b", "ollama/qwen3:8b", None, FactSource::Known),
            ("qwen3:8b:off", "ollama/qwen3:8b", Some(ThinkingLevel::Off), FactSource::Known),
            ("deep:high", "ollama/deep:high", None, FactSource::Known),
            ("ollama/llama9:70b", "ollama/llama9:70b", None, FactSource::Assumed),
            ("ollama/llama9:high", "ollama/llama9", Some(ThinkingLevel::High), FactSource::Assumed),
            (
                "anthropic/claude-opus-4-5-20251101",
                "anthropic/claude-opus-4-5-20251101",
                None,
                FactSource::Known,
            ),
        ];
        for (words, name, thinking, source) in cases {
            assert_eq!(find(words), (name.to_owned(), thinking, source), "{words}");
        }
    }

    #[test]
    fn find_error_names_request_and_usable_models() {
        let mut providers = ProviderRegistry::default();
        let nothing = providers.find("gpt-5").unwrap_err();
        assert_eq!(nothing.to_string(), "no usable model matches `gpt-5`; usable: none");
        providers.add(Arc::new(Demo), vec![Demo::facts()]);
        let only_demo = providers.find("gpt-5").unwrap_err();
        assert_eq!(only_demo.to_string(), "no usable model matches `gpt-5`; usable: only the demo");
        let error = providers.find("nobody/gpt-5").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no usable model matches `nobody/gpt-5`; usable providers: only the demo"
        );
        let mut providers = ProviderRegistry::default();
        providers.add(Arc::new(Mute("ollama")), vec![catalog::assumed("ollama", "qwen3")]);
        let unknown = providers.find("gpt-5").unwrap_err();
        assert_eq!(unknown.to_string(), "no usable model matches `gpt-5`; usable: ollama/qwen3");
        assert!(providers.find("").is_err() && providers.find("*x").is_err());
        let error = providers.find_in("openai", "gpt-5").unwrap_err();
        assert_eq!(error.to_string(), "provider `openai` is not available; available: ollama");
    }

    #[test]
    fn find_error_suggests_the_nearest_names() {
        let mut providers = providers();
        let locked = [catalog::assumed("openrouter", "z-ai/glm-5.3")].to_vec();
        providers.add_without_key("openrouter", "OPENROUTER_API_KEY", locked);
        let cases = [
            ("cluade-opus-5-5", "did you mean anthropic/claude-opus-5-5 or anthropic/claude-opus-4-5?"),
            ("gtp-4.1-mini", "did you mean openai/gpt-4.1-mini?"),
            ("qwen3:8x:high", "did you mean ollama/qwen3:8b?"),
            ("glm-5.3x", "did you mean openrouter/z-ai/glm-5.3?"),
            ("gpt-4.1:hgih", "`hgih` isn't a thinking level: off, minimal, low, medium, high, xhigh"),
            ("hiaku", "did you mean anthropic/claude-haiku-5-5 or anthropic/claude-haiku-4-5?"),
            ("olama", "did you mean ollama/qwen3:8b or ollama/deep:high?"),
        ];
        for (words, advice) in cases {
            let error = providers.find(words).unwrap_err().to_string();
            let requested = format!("no usable model matches `{words}`; ");
            assert_eq!(error, requested + advice);
        }
        let like = |provider: &str, id: &str| {
            providers.similar_listed_model(&ModelRef { provider: provider.into(), id: id.into() })
        };
        assert_eq!(like("openai", "gpt-4.1-mimi").as_deref(), Some("openai/gpt-4.1-mini"));
        assert_eq!([like("openai", "my-deployment"), like("ollama", "gpt-4.1-mimi")], [None, None]);
    }

    #[test]
    fn find_words_in_order_match_without_punctuation() {
        let providers = providers();
        let found = |words: &str| providers.find(words).map(|found| found.model.reference().to_string());
        for (words, model) in [
            ("opus55", "anthropic/claude-opus-5-5"),
            ("opus 5 5", "anthropic/claude-opus-5-5"),
            ("gpt41mini", "openai/gpt-4.1-mini"),
        ] {
            assert_eq!(found(words).as_deref(), Ok(model), "{words}");
        }
        assert!(found("mini gpt").is_err(), "the order counts");
        // With a given provider, an unlisted id is taken literally.
        assert_eq!(found("openai/gpt-mini").as_deref(), Ok("openai/gpt-mini"));
    }

    #[test]
    fn find_error_names_no_script() {
        let mut providers = ProviderRegistry::default();
        providers.add(Arc::new(Mute("scripted")), vec![catalog::assumed("scripted", "/home/ann/gpt-6")]);
        for requested in ["gpt-5", "gpt-66", "scriptd", "nobody/gpt-5"] {
            let error = providers.find(requested).unwrap_err().to_string();
            assert!(!error.contains("ann"), "{error}");
        }
    }

    #[test]
    fn is_named_matches_as_find_does() {
        let facts = catalog::facts("openai", "gpt-5-mini").unwrap();
        for name in ["gpt-5", "OpenAI/", "*-mini", "openai/gpt*", "gpt-5-mini:high"] {
            assert!(facts.is_named(name), "{name}");
        }
        assert!(!facts.is_named("*-nano") && !facts.is_named("") && !facts.is_named("gpt-5-mini:nothing"));
    }

    #[test]
    fn find_model_without_key_names_the_variable() {
        let mut providers = ProviderRegistry::default();
        providers.add(Arc::new(Mute("router")), vec![catalog::assumed("router", "openai/gpt-5-mini")]);
        providers.add_without_key("openai", "OPENAI_API_KEY", catalog::list_models("openai"));
        let no_key = |words: &str| match providers.find(words) {
            Err(ModelError::NoKey { model, key_name }) => format!("{model} {key_name}"),
            other => format!("{other:?}"),
        };
        assert_eq!(no_key("gpt-4.1"), "openai/gpt-4.1 OPENAI_API_KEY");
        assert_eq!(no_key("openai/gpt-5:high"), "openai/gpt-5 OPENAI_API_KEY");
        assert_eq!(no_key("openai/my-own"), "openai/my-own OPENAI_API_KEY");
        let resolved = providers.find("gpt-5-mini").unwrap();
        assert_eq!(resolved.model.reference().to_string(), "router/openai/gpt-5-mini");
        let reference = ModelRef { provider: "openai".into(), id: "gpt-5".into() };
        let error = providers.exact(&reference).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no API key for openai/gpt-5; set OPENAI_API_KEY, or store a key with `tiller login openai` or /login"
        );
        providers.add(Arc::new(Mute("openai")), catalog::list_models("openai"));
        assert!(providers.find("openai/gpt-5").is_ok());
    }

    #[test]
    fn find_model_of_refused_server_names_the_reason() {
        let mut providers = providers();
        providers.add_refused("vllm", "its server returns HTTP status 503".to_owned());
        let error = providers.find("vllm/qwen").unwrap_err().to_string();
        assert_eq!(error, "vllm/qwen can't be used: its server returns HTTP status 503");
        assert_eq!(providers.refusal("vllm"), Some("its server returns HTTP status 503"));
        providers.add(Arc::new(Mute("vllm")), vec![]);
        providers.add_refused("vllm", "later".to_owned());
        assert_eq!(providers.refusal("vllm"), None, "it is usable");
    }

    #[test]
    fn find_model_of_absent_local_server_names_the_server() {
        let providers = providers();
        let expected = "vLLM isn't responding; start it, or set VLLM_BASE_URL to its address";
        for name in ["vllm/qwen", "vllm/qwen:high", "vllm/claude"] {
            assert_eq!(providers.find(name).unwrap_err().to_string(), expected, "{name}");
        }
        let reference = ModelRef { provider: "vllm".into(), id: "qwen".into() };
        assert_eq!(providers.exact(&reference).err().unwrap().to_string(), expected);
    }

    #[test]
    fn find_exact_id_without_key_beats_similar_model() {
        let mut providers = ProviderRegistry::default();
        providers.add_without_key("openai", "OPENAI_API_KEY", catalog::list_models("openai"));
        for (words, model) in [("gpt-5", "openai/gpt-5"), ("gpt-5:high", "openai/gpt-5")] {
            let error = providers.find(words).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "no API key for {model}; set OPENAI_API_KEY, or store a key with `tiller login openai` or /login"
                )
            );
        }
    }

    #[test]
    fn exact_unlisted_model_is_usable() {
        let reference = ModelRef { provider: "ollama".into(), id: "gone".into() };
        let model = providers().exact(&reference).unwrap();
        assert_eq!((model.reference(), model.facts.window), (reference, Tokens(128_000)));
    }

    #[test]
    fn windows_are_assumed_or_lowered() {
        let limits = |providers: &ProviderRegistry, words: &str| {
            let facts = providers.find(words).unwrap().model.facts;
            (facts.window, facts.max_output)
        };
        let mut providers = providers();
        providers.assume_window(Tokens(16_000));
        assert_eq!(limits(&providers, "ollama/llama9"), (Tokens(16_000), Tokens(4_000)));
        assert_eq!(limits(&providers, "qwen3:8b").0, Tokens(128_000), "it is listed");
        let qwen = ModelRef { provider: "ollama".into(), id: "qwen3:8b".into() };
        providers.lower_window(&qwen, Tokens(4_096));
        assert_eq!(limits(&providers, "qwen3:8b"), (Tokens(4_096), Tokens(1_024)));
        providers.lower_window(&qwen, Tokens(900_000));
        assert_eq!(limits(&providers, "qwen3:8b").0, Tokens(128_000), "never larger than is known");
    }

    #[test]
    fn add_provider_of_same_name_is_replaced() {
        let mut providers = providers();
        providers.add(Arc::new(Mute("openai")), vec![]);
        assert!(providers.models().iter().all(|model| model.facts.provider != "openai"));
        assert_eq!(providers.names().collect::<Vec<_>>(), ["anthropic", "ollama", "openai"]);
    }

    #[test]
    fn matches_star_stands_for_any_text() {
        for (pattern, text, is_match) in [
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("*b*b*", "abab", true),
            ("ab*b", "ab", false),
            ("abc", "abc", true),
        ] {
            assert_eq!(matches(pattern, text), is_match, "{pattern} {text}");
        }
    }

    #[test]
    fn shut_provider_lacks_key_until_added_again() {
        let mut providers = providers();
        let unmatched = providers.limit_scope(&["qwen3:8b".to_owned(), "gpt-5:high".to_owned()]);
        assert!(unmatched.is_empty());
        let scoped = |providers: &ProviderRegistry| -> Vec<String> {
            providers.scoped().iter().map(|scoped| scoped.model.facts.id.clone()).collect()
        };
        providers.remove_key("openai", "OPENAI_API_KEY");
        assert_eq!(providers.names().collect::<Vec<_>>(), ["anthropic", "ollama"]);
        let error = providers.find("openai/gpt-5").unwrap_err().to_string();
        assert_eq!(
            error,
            "no API key for openai/gpt-5; set OPENAI_API_KEY, or store a key with `tiller login openai` or /login"
        );
        assert_eq!(scoped(&providers), ["qwen3:8b"]);
        assert_eq!(providers.locked().len(), catalog::list_models("openai").len());
        providers.remove_key("nobody", "NOBODY_API_KEY");
        assert!(providers.locked().iter().all(|(facts, _)| facts.provider == "openai"));
        providers.add(Arc::new(Mute("openai")), catalog::list_models("openai"));
        assert_eq!(scoped(&providers), ["qwen3:8b", "gpt-5"]);
        assert!(providers.locked().is_empty());
    }
}
