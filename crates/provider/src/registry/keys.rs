//! Public providers, created from API keys.

use std::sync::Arc;

use secrecy::SecretString;

use super::ProviderRegistry;
use crate::descriptor::{self, ProviderDescriptor};
use crate::{FailureKind, Provider, ProviderError, catalog};

impl ProviderRegistry {
    /// Creates a registry of providers at their public servers with their cataloged models, from names
    /// (`anthropic`, `openai`) and keys.
    ///
    /// # Errors
    /// If a name is unknown, or the system's certificates can't be read.
    pub fn with_keys<'a>(
        keys: impl IntoIterator<Item = (&'a str, SecretString)>,
    ) -> Result<Self, ProviderError> {
        let mut providers = Self::default();
        for (name, key) in keys {
            let provider = connect(name, key)?;
            providers.add(provider, catalog::list_models(name));
        }
        Ok(providers)
    }
}

fn connect(name: &str, key: SecretString) -> Result<Arc<dyn Provider>, ProviderError> {
    let Some(descriptor) = ProviderDescriptor::find(name) else {
        let names: Vec<&str> = descriptor::names().collect();
        return Err(ProviderError {
            provider: name.to_owned(),
            failure: FailureKind::Fatal,
            message: "no public server has this name".to_owned(),
            hint: Some(format!(
                "known names: {}; other providers are created from an endpoint",
                names.join(", ")
            )),
        });
    };
    descriptor.connect(descriptor.endpoint(None).with_key(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_keys_adds_providers_and_refuses_unknown_names() {
        let providers =
            ProviderRegistry::with_keys([("anthropic", "k".into()), ("openai", "k".into())]).unwrap();
        assert_eq!(providers.names().collect::<Vec<_>>(), ["anthropic", "openai"]);
        assert_eq!(providers.find("gpt-5").unwrap().model.facts.provider, "openai");
        let error = ProviderRegistry::with_keys([("elsewhere", "k".into())]).err().unwrap();
        assert_eq!(error.to_string(), "elsewhere: no public server has this name");
    }
}
