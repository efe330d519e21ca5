//! The provider registry and the first model of a session.

use std::sync::Arc;

use super::endpoint::{compat, connect, endpoint, key_provider, listed_models, wire_format};
use super::local_models;
use crate::agent::{FirstModel, ModelChoice, ProviderChange};
use crate::cli::args::{CliArgs, ModelPrecedence};
use crate::cli::failure::{CliFailure, USAGE};
use crate::cli::frontend::FrontEnd;
use crate::config::{self, Config, ProviderProblem};
use crate::message::ThinkingLevel;
use crate::provider::demo::{self, Demo};
use crate::provider::descriptor::{self, LOCAL_SERVERS, PROVIDERS, ProviderDescriptor};
use crate::provider::scripted::{self, ScriptedProvider};
use crate::provider::wire_format::WireFormat;
use crate::provider::{
    Endpoint, FactSource, FailureKind, Model, ModelError, ModelFacts, ProviderError, ProviderRegistry,
};
use crate::setting::Switch;
use crate::unit::Tokens;

/// Applies the setting `models` to the registry. Warns about misconfigured providers, patterns without a
/// match, and unusable names in the setting `fallback`.
pub(super) fn scoped(
    mut providers: ProviderRegistry,
    config: &Config,
    notices: &mut Vec<String>,
) -> ProviderRegistry {
    notices.extend(misconfigured_notices(&providers, config));
    let unmatched = providers.limit_scope(config.settings.models().unwrap_or_default());
    notices.extend(unmatched.iter().map(|pattern| format!("models: no usable model matches `{pattern}`")));
    let fallback = config.settings.fallback().unwrap_or_default().iter();
    notices.extend(fallback.filter_map(|name| Some(format!("fallback: {}", providers.find(name).err()?))));
    providers
}

/// Returns notices about misconfigured providers, except those whose problem is among the configuration's
/// warnings.
pub(in crate::cli) fn misconfigured_notices(
    providers: &ProviderRegistry,
    config: &Config,
) -> impl Iterator<Item = String> {
    let is_new = |name: &str| config.user_provider(name).is_none_or(|user| user.problem.is_none());
    let rejected = providers.misconfigured().filter(move |(name, _)| is_new(name));
    rejected.map(|(name, reason)| format!("{name} is misconfigured: {reason}"))
}

/// Returns the available providers: those with a key, the given script, and the demo if it was requested or
/// nothing else is available.
pub(super) fn providers(
    arguments: &CliArgs,
    config: &Config,
    probe: LocalProbe,
) -> Result<ProviderRegistry, CliFailure> {
    let mut providers = ProviderRegistry::default();
    if let Some(window) = config.settings.window() {
        providers.assume_window(Tokens(window));
    }
    let provider_name = config.settings.provider();
    if arguments.model.api_key.is_some() && key_provider(arguments, config).is_none() {
        let hint = "specify it with --provider, or in --model as PROVIDER/ID";
        return Err(NoModel::failure("--api-key needs a provider").hint(hint));
    }
    let known = PROVIDERS.iter().chain(LOCAL_SERVERS).map(|descriptor| descriptor.name);
    for name in known.chain(config.own_providers()) {
        let listed = || listed_models(config, name, compat(config, name), Vec::new());
        match connect_provider(arguments, config, name) {
            // Local servers are added when they respond, unless the user lists their models.
            Ok(ProviderChange::Add(_, models)) if models.is_empty() && is_local(name) => {}
            Ok(ProviderChange::Add(provider, models)) => providers.add(provider, models),
            Ok(ProviderChange::Remove { .. }) if is_local(name) => {}
            Ok(ProviderChange::Remove { provider, key_name }) => {
                providers.add_without_key(&provider, key_name, listed());
            }
            Err(error) => providers.add_misconfigured(&error, listed()),
        }
    }
    if let Some(names) = local_servers_to_query(config, &providers, probe) {
        for (name, found) in local_models::find_at_start(arguments, config, names.as_deref()) {
            match found {
                Ok(ProviderChange::Add(provider, models)) => providers.add(provider, models),
                Ok(ProviderChange::Remove { .. }) => {}
                Err(reason) => providers.add_refused(&name, reason),
            }
        }
    }
    if provider_name == Some(scripted::NAME) {
        let path = config
            .settings
            .model()
            .ok_or_else(|| NoModel::failure("--provider scripted needs --model with the path of a script"))?;
        let script = ScriptedProvider::load(path.as_ref()).map_err(CliFailure::usage)?;
        let facts = vec![script.facts()];
        providers.add(Arc::new(script), facts);
    }
    if providers.is_empty() || provider_name == Some(demo::NAME) {
        providers.add(Arc::new(Demo), vec![Demo::facts()]);
    }
    Ok(providers)
}

/// The local model servers that are queried during startup; a session queries all of them later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum LocalProbe {
    /// All servers.
    All,
    /// All servers if no other model is usable, else those that are named or that have the first model.
    IfNeeded,
}

/// Returns the servers to query: `None` for none, `Some(None)` for all.
fn local_servers_to_query(
    config: &Config,
    providers: &ProviderRegistry,
    probe: LocalProbe,
) -> Option<Option<Vec<&'static str>>> {
    let settings = &config.settings;
    let has_nothing_else = providers.is_empty() && settings.provider().is_none();
    if settings.local_servers() == Switch::On && (probe == LocalProbe::All || has_nothing_else) {
        return Some(None);
    }
    let fallback = settings.fallback().unwrap_or_default().iter().map(String::as_str);
    let models: Vec<&str> = settings.model().into_iter().chain(fallback).collect();
    // If models.json lists a model without its window, only the server knows it.
    let first = match settings.model() {
        Some(model) => providers.find(model).ok().map(|resolved| resolved.model),
        None => providers.models().into_iter().next(),
    };
    let is_named = |server: &&ProviderDescriptor| {
        let is_of_server =
            |model: &&str| model.split_once('/').is_some_and(|(provider, _)| provider == server.name);
        settings.provider() == Some(server.name)
            || models.iter().any(is_of_server)
            || first.as_ref().is_some_and(|model| model.facts.provider == server.name)
    };
    let named: Vec<&str> = LOCAL_SERVERS.iter().filter(is_named).map(|server| server.name).collect();
    (!named.is_empty()).then_some(Some(named))
}

fn is_local(provider: &str) -> bool {
    ProviderDescriptor::find(provider).is_some_and(ProviderDescriptor::is_local)
}

/// Returns true if a flag, a file or the environment has the key or the URL of a provider.
fn has_access(arguments: &CliArgs, config: &Config, name: &str) -> bool {
    has_flag_key(arguments, config, name) || config.access(name).is_some()
}

/// Returns true if `--api-key` has the key of a provider.
pub(in crate::cli) fn has_flag_key(arguments: &CliArgs, config: &Config, name: &str) -> bool {
    key_provider(arguments, config) == Some(name) && arguments.model.api_key.is_some()
}

/// Connects a provider with the key and server from the arguments and the configuration; returns its removal
/// if there are none.
pub(in crate::cli) fn connect_provider(
    arguments: &CliArgs,
    config: &Config,
    name: &str,
) -> Result<ProviderChange, ProviderError> {
    let misconfigured = |message: String| ProviderError {
        provider: name.to_owned(),
        failure: FailureKind::Fatal,
        message,
        hint: None,
    };
    let incomplete = |field: &str| misconfigured(format!("models.json has no `{field}` for it"));
    let has_key = has_flag_key(arguments, config, name) || config.key_source(name).is_some();
    let problem = config.user_provider(name).and_then(|user| user.problem.as_ref());
    if let Some(problem) = problem.filter(|it| !has_key || matches!(it, ProviderProblem::Invalid(_))) {
        return Err(misconfigured(format!("models.json: {problem}")));
    }
    let is_own = config.own_providers().any(|own| own == name);
    if !is_own && !has_access(arguments, config, name) {
        return Ok(ProviderChange::Remove { provider: name.to_owned(), key_name: config::key_name(name) });
    }
    let endpoint = endpoint(arguments, config, name).ok_or_else(|| incomplete("baseUrl"))?;
    if endpoint.base_url.is_empty() {
        let variable = ProviderDescriptor::find(name).map_or("baseUrl", |known| known.base_url_variable);
        return Err(misconfigured(format!("set {variable} to its address")));
    }
    let format = wire_format(config, &endpoint).ok_or_else(|| incomplete("api"))?;
    let compat = compat(config, name);
    Ok(ProviderChange::Add(
        connect(config, endpoint, format, compat)?,
        listed_models(config, name, compat, Vec::new()),
    ))
}

/// Lists the endpoints of all usable providers that have a server, each with its wire format.
pub(in crate::cli) fn list_servers(arguments: &CliArgs, config: &Config) -> Vec<(Endpoint, WireFormat)> {
    let known = PROVIDERS.iter().map(|descriptor| descriptor.name);
    let usable = known.chain(config.own_providers()).filter(|name| has_access(arguments, config, name));
    let server = |name: &str| {
        let endpoint = endpoint(arguments, config, name)?;
        let format = wire_format(config, &endpoint)?;
        Some((endpoint, format))
    };
    usable.filter_map(server).collect()
}

/// The models that can be chosen.
pub(in crate::cli) struct ModelList {
    pub(in crate::cli) providers: ProviderRegistry,
    /// The configured model, if it isn't in the catalog.
    pub(in crate::cli) configured: Option<ModelFacts>,
}

/// Lists the models of the catalog and of the configured providers.
pub(in crate::cli) fn named_models(arguments: &CliArgs, config: &Config) -> Result<ModelList, CliFailure> {
    let providers = providers(arguments, config, LocalProbe::All)?;
    let query = config.settings.model();
    let resolved = query.and_then(|query| match config.settings.provider() {
        Some(provider) => in_provider(&providers, provider, query).ok().map(|(model, ..)| model),
        None => providers.find(query).ok().map(|resolved| resolved.model),
    });
    let configured = resolved.map(|model| (*model.facts).clone());
    Ok(ModelList { providers, configured })
}

/// The reason a session has no model. It contains no path, because clients of the server get it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(in crate::cli) struct NoModel(String);

impl NoModel {
    fn failure(reason: impl Into<String>) -> CliFailure {
        CliFailure::usage(Self(reason.into()))
    }
}

/// The first model of a session.
pub(super) struct SelectedModel {
    pub(super) first: FirstModel,
    /// A warning about assumed model facts.
    pub(super) notice: Option<String>,
}

pub(super) fn model(
    arguments: &CliArgs,
    config: &Config,
    providers: &ProviderRegistry,
    front: FrontEnd,
) -> Result<SelectedModel, CliFailure> {
    let provider = config.settings.provider();
    let query = config.settings.model();
    let precede = arguments.model.precedence == ModelPrecedence::Arguments;
    let on_flags = precede && (arguments.model.model.is_some() || arguments.model.provider.is_some());
    let choice = if on_flags { ModelChoice::Caller } else { ModelChoice::Log };
    let level_on_flags = precede && arguments.model.thinking.is_some();
    if let Some(provider) = provider.filter(|provider| providers.names().all(|name| name != *provider)) {
        let refused =
            || providers.refusal(provider).map(|reason| NoModel::failure(format!("{provider}: {reason}")));
        let failure = misconfigured(providers, Some(provider)).or_else(refused);
        return Err(failure.unwrap_or_else(|| no_provider(provider)));
    }
    let (model, level, source) = match (provider, query) {
        (Some(provider), Some(query)) => in_provider(providers, provider, query)?,
        (None, Some(query)) => {
            let resolved = providers.find(query).map_err(|error| not_found(providers, error))?;
            (resolved.model, resolved.thinking, resolved.source)
        }
        (None, None) if providers.is_scoped() => first_listed(providers, front)?,
        (provider, None) => (first(providers, provider, front)?, None, FactSource::Known),
    };
    let thinking = level.unwrap_or(config.settings.thinking());
    let thinking = model.facts.clamp(thinking);
    let notice = (source == FactSource::Assumed).then(|| {
        let suggestion = providers.similar_listed_model(&model.reference());
        format!(
            "{} is not in the catalog{}; assuming a context window of {} (the setting `window` changes it), answers of up to {} tokens, and no prices",
            model.reference(),
            suggestion.map_or_else(String::new, |name| format!(" (did you mean {name}?)")),
            model.facts.window,
            model.facts.max_output
        )
    });
    let thinking_choice = if level_on_flags { ModelChoice::Caller } else { choice };
    Ok(SelectedModel { first: FirstModel { model, thinking, choice, thinking_choice }, notice })
}

/// Finds a model of a provider by part of a listed id, or by any id.
fn in_provider(
    providers: &ProviderRegistry,
    provider: &str,
    query: &str,
) -> Result<(Model, Option<ThinkingLevel>, FactSource), CliFailure> {
    if provider == scripted::NAME {
        let (model, source) = providers.find_in(provider, query).map_err(CliFailure::usage)?;
        return Ok((model, None, source));
    }
    let prefix = format!("{provider}/");
    let full = if query.starts_with(&prefix) { query.to_owned() } else { format!("{prefix}{query}") };
    let resolved = providers.find(&full).map_err(CliFailure::usage)?;
    Ok((resolved.model, resolved.thinking, resolved.source))
}

/// Returns the first of the models to cycle through, if nothing else is configured.
fn first_listed(
    providers: &ProviderRegistry,
    front: FrontEnd,
) -> Result<(Model, Option<ThinkingLevel>, FactSource), CliFailure> {
    match providers.scoped().into_iter().next() {
        Some(scoped) => Ok((scoped.model, scoped.thinking, FactSource::Known)),
        None => Ok((first(providers, None, front)?, None, FactSource::Known)),
    }
}

fn first(providers: &ProviderRegistry, provider: Option<&str>, front: FrontEnd) -> Result<Model, CliFailure> {
    let models = providers.models();
    let is_of_provider = |model: &&Model| provider.is_none_or(|provider| model.facts.provider == provider);
    let model = models.iter().find(is_of_provider).cloned();
    match model {
        Some(model) if !front.accepts_demo() && provider.is_none() && model.facts.provider == demo::NAME => {
            let no_model = || with_connect_hint(NoModel::failure("no model available"));
            Err(misconfigured(providers, None).unwrap_or_else(no_model))
        }
        Some(model) => Ok(model),
        None => Err(NoModel::failure("no model given").hint("specify one with --model")),
    }
}

/// Returns the error of this misconfigured provider, or of the first one.
fn misconfigured(providers: &ProviderRegistry, provider: Option<&str>) -> Option<CliFailure> {
    let mut rejected = providers.misconfigured();
    let (name, reason) = rejected.find(|(name, _)| provider.is_none_or(|provider| provider == *name))?;
    Some(NoModel::failure(format!("{name} is misconfigured: {reason}")))
}

/// Returns the error for a provider that isn't usable.
pub(in crate::cli) fn no_provider(provider: &str) -> CliFailure {
    match ProviderDescriptor::find(provider) {
        Some(server) if server.is_local() => {
            NoModel::failure(format!("{} isn't responding", server.display_name))
                .hint(format!("start it, or set {} to its address", server.base_url_variable))
        }
        Some(descriptor) => NoModel::failure(format!("no API key for {provider}")).hint(format!(
            "`tiller login {provider}` stores one; {} or --api-key also works",
            descriptor.key_variable
        )),
        None => {
            let local = LOCAL_SERVERS.iter().map(|server| server.name);
            let names: Vec<&str> = descriptor::names().chain(local).chain([scripted::NAME]).collect();
            NoModel::failure(format!("no provider named `{provider}`")).hint(format!(
                "available providers: {}, {} and those in models.json",
                names.join(", "),
                demo::NAME
            ))
        }
    }
}

/// Adds a hint, except to errors that already name the missing key or server.
fn not_found(providers: &ProviderRegistry, error: ModelError) -> CliFailure {
    let has_choice = providers.models().iter().any(|model| providers.is_usable_fallback(model));
    match error {
        ModelError::NoKey { .. } | ModelError::NoServer { .. } | ModelError::Misconfigured { .. } => {
            CliFailure::usage(error)
        }
        ModelError::Unknown { .. } | ModelError::NoProvider { .. } if has_choice => {
            CliFailure::usage(error).hint("`tiller models` lists the models that can be used")
        }
        ModelError::Unknown { .. } | ModelError::NoProvider { .. } => {
            with_connect_hint(CliFailure::usage(error))
        }
    }
}

/// Adds a hint about the ways to get a model.
fn with_connect_hint(failure: CliFailure) -> CliFailure {
    let variables = key_variables();
    let hint = format!("run `tiller login`, set {variables}, or try --provider {}", demo::NAME);
    CliFailure { code: USAGE, ..failure.hint(hint) }
}

/// Lists the variables of the best-known providers' keys: `ANTHROPIC_API_KEY, OPENAI_API_KEY or another key`.
pub(in crate::cli) fn key_variables() -> String {
    let named: Vec<&str> = PROVIDERS.iter().take(2).map(|provider| provider.key_variable).collect();
    format!("{} or another key", named.join(", "))
}
