//! The server of a provider: its URL, key and wire format, from the arguments and the configuration.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::key_command;
use crate::cli::args::CliArgs;
use crate::config::{self, Config, ConfigKey, KeySource};
use crate::provider::compat::Compat;
use crate::provider::descriptor::ProviderDescriptor;
use crate::provider::wire_format::WireFormat;
use crate::provider::{
    ApiKey, Endpoint, KeyHeader, MixedFormats, ModelFacts, Provider, ProviderError, ProxyUse, catalog,
};

/// Returns a provider's endpoint, with its key if there is one; `None` without a server.
pub(super) fn endpoint(arguments: &CliArgs, config: &Config, name: &str) -> Option<Endpoint> {
    let flag_key = arguments.model.api_key.as_ref().filter(|_| key_provider(arguments, config) == Some(name));
    let access = config.access(name);
    let server = access.as_ref().and_then(|access| access.base_url.as_deref());
    let mut endpoint = match (ProviderDescriptor::find(name), server) {
        (Some(descriptor), server) => descriptor.endpoint(server),
        (None, Some(server)) => Endpoint::new(name, server, config::key_name(name)),
        (None, None) => return None,
    };
    if let Some(user) = config.user_provider(name) {
        let header = |(name, value): &(String, ConfigKey)| {
            (name.clone(), api_key(value.clone(), format!("header `{name}`")))
        };
        endpoint.headers = user.headers.iter().map(header).collect();
        let usual = ProviderDescriptor::find(name).map(|descriptor| descriptor.wire_format_at(&endpoint));
        let other_format = user.api.filter(|api| usual != Some(*api));
        endpoint.key_header = match user.auth_header {
            true => KeyHeader::Bearer,
            false => other_format.map_or(endpoint.key_header, WireFormat::key_header),
        };
    }
    if let Some(seconds) = config.settings.request_first_byte_s() {
        endpoint.timeouts.first_byte = Duration::from_secs(seconds);
    }
    endpoint.timeouts.stall = Duration::from_secs(config.settings.request_stall_s());
    // If the file can't be read, loading the configuration has reported it.
    endpoint.certificates = config.certificates.clone();
    endpoint.proxy = proxy_use(&endpoint.base_url);
    if flag_key.is_some() {
        "--api-key".clone_into(&mut endpoint.key_name);
    } else if let Some(source) = config.key_source(name) {
        endpoint.key_name = source.describe(name);
        if source == KeySource::AuthFile {
            endpoint.key_name += &format!(", or store another with `tiller login {name}` or /login");
        }
    }
    let key = flag_key.map(|key| ConfigKey::Value(SecretString::from(key.clone())));
    Some(match key.or_else(|| access.and_then(|access| access.key)) {
        Some(key) => endpoint.with_api_key(api_key(key, "key".to_owned())),
        None => endpoint,
    })
}

/// Returns the proxy for a server, from the environment.
pub(in crate::cli) fn proxy_use(base_url: &str) -> ProxyUse {
    ProxyUse::from_variables(base_url, |name| std::env::var(name).ok())
}

/// Returns a key or header value. If a command prints it, it is loaded when it is needed; `subject` is for
/// errors.
fn api_key(value: ConfigKey, subject: String) -> ApiKey {
    match value {
        ConfigKey::Value(value) => ApiKey::new(value),
        ConfigKey::Command(command) => ApiKey::lazy(move || key_command::run(&command, &subject)),
    }
}

/// Creates the provider at an endpoint. Models for which `models.json` specifies another wire format use that
/// one.
pub(super) fn connect(
    config: &Config,
    endpoint: Endpoint,
    format: WireFormat,
    compat: Compat,
) -> Result<Arc<dyn Provider>, ProviderError> {
    let user = config.user_provider(&endpoint.name);
    let named = user.into_iter().flat_map(|user| user.named_formats().map(move |named| (user, named)));
    let mut others = BTreeMap::new();
    for (user, (id, other)) in named.filter(|(_, (_, other))| *other != format) {
        let key_header = if user.auth_header { KeyHeader::Bearer } else { other.key_header() };
        let endpoint = Endpoint { key_header, ..endpoint.clone() };
        others.insert(id.to_owned(), other.connect(endpoint, compat)?);
    }
    let usual = format.connect(endpoint, compat)?;
    Ok(if others.is_empty() { usual } else { Arc::new(MixedFormats::new(usual, others)) })
}

/// Returns the wire format at an endpoint: the one in `models.json`, the known one, or that of the first
/// model with a wire format in `models.json`.
pub(super) fn wire_format(config: &Config, endpoint: &Endpoint) -> Option<WireFormat> {
    let user = config.user_provider(&endpoint.name);
    let known = || Some(ProviderDescriptor::find(&endpoint.name)?.wire_format_at(endpoint));
    let of_first_model = || Some(user?.named_formats().next()?.1);
    user.and_then(|user| user.api).or_else(known).or_else(of_first_model)
}

/// Returns the provider that `--api-key` is for, and that the model belongs to: the one that a flag or a setting names,
/// or else the one in front of the model.
pub(in crate::cli) fn key_provider<'a>(arguments: &'a CliArgs, config: &'a Config) -> Option<&'a str> {
    let is_known = |name: &str| {
        ProviderDescriptor::find(name).is_some() || config.own_providers().any(|own| own == name)
    };
    let of_model = || Some(config.settings.model()?.split_once('/')?.0).filter(|name| is_known(name));
    arguments.model.key_provider.as_deref().or_else(|| config.settings.provider()).or_else(of_model)
}

/// Returns the parameters that a provider's server accepts.
pub(super) fn compat(config: &Config, provider: &str) -> Compat {
    let usual = ProviderDescriptor::find(provider).map_or(Compat::COMMON, |descriptor| descriptor.compat);
    config.user_provider(provider).map_or(usual, |user| user.compat.apply(usual))
}

/// Lists the known models: first those in `models.json`, then the catalog's, then those that the server
/// listed when it was last queried, then those `served` by a server on this machine.
pub(super) fn listed_models(
    config: &Config,
    provider: &str,
    compat: Compat,
    served: Vec<ModelFacts>,
) -> Vec<ModelFacts> {
    let user = config.user_provider(provider);
    let own = user.into_iter().flat_map(|user| user.models(provider, compat, &served)).collect();
    let seen = config.listed_models(provider).iter().map(|model| model.facts(provider)).collect();
    let others = merge(merge(catalog::list_models(provider), seen), served);
    let adapt = |facts: ModelFacts| match user {
        Some(user) => user.adapt(facts),
        None => facts,
    };
    merge(own, others.into_iter().map(adapt).collect())
}

/// Appends models that aren't in the list yet, and adds prices to models without one.
fn merge(mut models: Vec<ModelFacts>, others: Vec<ModelFacts>) -> Vec<ModelFacts> {
    for facts in others {
        match models.iter_mut().find(|other| other.id == facts.id) {
            Some(first) => first.price = first.price.or(facts.price),
            None => models.push(facts),
        }
    }
    models
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::catalog::Price;
    use crate::unit::Usd;

    #[test]
    fn merge_keeps_the_first_facts_and_takes_a_missing_price() {
        let facts = |id: &str, name: &str, price: Option<f64>| ModelFacts {
            name: name.to_owned(),
            price: price.map(|input| Price { input: Usd(input), ..Price::default() }),
            ..catalog::assumed("openrouter", id)
        };
        let first = vec![facts("a", "first", None), facts("b", "first", Some(1.0))];
        let others =
            vec![facts("a", "other", Some(2.0)), facts("b", "other", Some(2.0)), facts("c", "other", None)];
        let expected =
            [facts("a", "first", Some(2.0)), facts("b", "first", Some(1.0)), facts("c", "other", None)];
        assert_eq!(merge(first, others), expected);
    }
}
