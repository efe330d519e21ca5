//! The providers whose servers everybody shares, made from keys.

use std::sync::Arc;

use secrecy::SecretString;

use super::ProviderRegistry;
use crate::anthropic::{self, Anthropic};
use crate::openai_chat::{self, OpenAiChat};
use crate::{Endpoint, FailureKind, Provider, ProviderError, catalog};

impl ProviderRegistry {
    /// Providers at their public servers, each by its name (`anthropic`, `openai`) and key, with the models that the catalogue
    /// has of them.
    ///
    /// # Errors
    /// When a name is none of these, or the system's certificates can't be read.
    pub fn with_keys<'a>(
        keys: impl IntoIterator<Item = (&'a str, SecretString)>,
    ) -> Result<Self, ProviderError> {
        let mut providers = Self::default();
        for (name, key) in keys {
            let provider = public(name, key)?;
            providers.add(provider, catalog::known(name));
        }
        Ok(providers)
    }
}

fn public(name: &str, key: SecretString) -> Result<Arc<dyn Provider>, ProviderError> {
    let endpoint = |base_url: &str| Endpoint::new(name, base_url, format!("{}_API_KEY", name.to_uppercase()));
    match name {
        "anthropic" => Ok(Arc::new(Anthropic::new(endpoint(anthropic::BASE_URL).with_key(key))?)),
        "openai" => Ok(Arc::new(OpenAiChat::new(endpoint(openai_chat::BASE_URL).with_key(key))?)),
        other => Err(ProviderError {
            provider: other.to_owned(),
            failure: FailureKind::Fatal,
            message: "no public server goes by this name".to_owned(),
            hint: Some("anthropic and openai do; make other providers from an endpoint".to_owned()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_makes_a_provider_with_its_models_and_an_unknown_name_is_an_error() {
        let providers =
            ProviderRegistry::with_keys([("anthropic", "k".into()), ("openai", "k".into())]).unwrap();
        assert_eq!(providers.names().collect::<Vec<_>>(), ["anthropic", "openai"]);
        assert_eq!(providers.find("gpt-5").unwrap().model.facts.provider, "openai");
        let error = ProviderRegistry::with_keys([("elsewhere", "k".into())]).err().unwrap();
        assert_eq!(error.to_string(), "elsewhere: no public server goes by this name");
    }
}
