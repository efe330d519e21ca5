//! The server of a provider: its address, key and wire format, from the arguments and the configuration.

use std::time::Duration;

use secrecy::SecretString;

use super::key_command;
use crate::cli::args::CliArgs;
use crate::config::{Config, ConfigKey};
use crate::provider::compat::Compat;
use crate::provider::descriptor::{ProviderDescriptor, WireFormat};
use crate::provider::{ApiKey, Endpoint, ModelFacts, catalog};

/// Returns a provider's endpoint with its key, if it has one; `None` without a server.
pub(super) fn endpoint(arguments: &CliArgs, config: &Config, name: &str) -> Option<Endpoint> {
    let flag_key = arguments.model.api_key.as_ref().filter(|_| is_named(config, name));
    let access = config.access(name);
    let server = access.as_ref().and_then(|access| access.base_url.as_deref());
    let mut endpoint = match (ProviderDescriptor::find(name), server) {
        (Some(descriptor), server) => descriptor.endpoint(server),
        (None, Some(server)) => Endpoint::new(name, server, format!("the key of {name} in models.json")),
        (None, None) => return None,
    };
    if let Some(user) = config.user_provider(name) {
        endpoint.headers.clone_from(&user.headers);
        let usual = ProviderDescriptor::find(name).map(|descriptor| descriptor.wire_format_at(&endpoint));
        let other_format = user.api.filter(|api| usual != Some(*api));
        endpoint.key_header = other_format.map_or(endpoint.key_header, WireFormat::key_header);
    }
    if let Some(seconds) = config.settings.request_first_byte_s() {
        endpoint.timeouts.first_byte = Duration::from_secs(seconds);
    }
    endpoint.timeouts.stall = Duration::from_secs(config.settings.request_stall_s());
    // A file that can't be read was reported when the configuration was loaded.
    endpoint.certificates = config.certificates.clone();
    let key = flag_key.map(|key| ConfigKey::Value(SecretString::from(key.clone())));
    Some(match key.or_else(|| access.and_then(|access| access.key)) {
        Some(ConfigKey::Value(key)) => endpoint.with_key(key),
        Some(ConfigKey::Command(command)) => {
            endpoint.with_api_key(ApiKey::lazy(move || key_command::run(&command)))
        }
        None => endpoint,
    })
}

/// Returns the wire format at an endpoint; `None` if neither tiller nor `models.json` knows it.
pub(super) fn wire_format(config: &Config, endpoint: &Endpoint) -> Option<WireFormat> {
    let named = config.user_provider(&endpoint.name).and_then(|user| user.api);
    named.or_else(|| Some(ProviderDescriptor::find(&endpoint.name)?.wire_format_at(endpoint)))
}

/// Returns true if the provider is named by a flag or a setting.
pub(super) fn is_named(config: &Config, provider: &str) -> bool {
    config.settings.provider() == Some(provider)
}

/// Returns what a provider's server accepts.
pub(super) fn compat(config: &Config, provider: &str) -> Compat {
    let usual = ProviderDescriptor::find(provider).map_or(Compat::COMMON, |descriptor| descriptor.compat);
    config.user_provider(provider).map_or(usual, |user| user.compat.apply(usual))
}

/// Lists the models that are known without asking the server: those of `models.json` first, then the catalog's, then
/// those that the server listed when it was last asked.
pub(super) fn listed_models(config: &Config, provider: &str, compat: Compat) -> Vec<ModelFacts> {
    let own = config.user_provider(provider).into_iter().flat_map(|user| user.models(provider, compat));
    let seen = config.listed_models(provider).iter().map(|model| model.facts(provider)).collect();
    merge(merge(own.collect(), catalog::list_models(provider)), seen)
}

/// Appends the models that aren't among the first ones.
pub(super) fn merge(mut models: Vec<ModelFacts>, others: Vec<ModelFacts>) -> Vec<ModelFacts> {
    for facts in others {
        if models.iter().all(|other| other.id != facts.id) {
            models.push(facts);
        }
    }
    models
}
