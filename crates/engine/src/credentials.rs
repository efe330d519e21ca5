//! Runtime management of provider API keys. The caller injects a [`CredentialStore`] into front ends, which
//! don't access files or providers; changes are applied to the session here.

use std::sync::Arc;

use secrecy::SecretString;
use tiller_core::message::ModelRef;
use tiller_provider::Model;
use tiller_provider::descriptor::ProviderDescriptor;

use super::{AgentError, AgentSession, ProviderChange};

/// The note below the lists of providers that take keys.
pub const SUBSCRIPTION_NOTE: &str = "Only API keys work: subscriptions (Claude, ChatGPT) are not supported.";

/// An error message and a hint.
type ErrorWithHint = (String, Option<String>);

type ListCredentials = dyn Fn() -> Result<Vec<ProviderCredential>, ErrorWithHint> + Send + Sync;
type StoreKey = dyn Fn(&str, &SecretString) -> Result<CredentialChange, ErrorWithHint> + Send + Sync;
type RemoveKey = dyn Fn(&str) -> Result<CredentialChange, ErrorWithHint> + Send + Sync;

/// A provider and the origin of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderCredential {
    /// The provider's name.
    pub provider: String,
    /// The origin of the provider's key.
    pub origin: CredentialOrigin,
}

impl ProviderCredential {
    /// Returns true for a server on the user's machine, which usually works without a key.
    #[must_use]
    pub fn needs_no_key(&self) -> bool {
        ProviderDescriptor::find(&self.provider).is_some_and(ProviderDescriptor::is_local)
    }
}

/// The origin of a provider's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialOrigin {
    /// There is no key.
    Missing,
    /// The key is stored in `auth.json`.
    Stored,
    /// Another source, as a short phrase: a variable, a file, a flag.
    External(String),
}

/// The effect of storing or removing a key on the session's model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyChangeOutcome {
    /// The model stays; it belongs to the key's provider, which is usable.
    ActiveProvider,
    /// The model stays; the key's provider has other models to choose from.
    OtherProvider,
    /// The fallback model was active; starting with the next turn, this model of the key's provider answers instead.
    SwitchedToProvider(ModelRef),
    /// The model stays; the key's provider became unusable, but it wasn't in use.
    Unchanged,
    /// No model is left: the active model's provider lost its key. The user must choose another model.
    NoModel,
    /// No other provider is usable; the fallback model answers, starting with the next turn.
    SwitchedToFallback(ModelRef),
}

/// Result of storing or removing a key.
#[derive(Clone, Debug)]
pub struct CredentialChange {
    /// The change to apply to the session.
    pub change: ProviderChange,
    /// A message for the user.
    pub message: String,
    /// The next step for the user, if one is needed.
    pub hint: Option<String>,
}

/// Lists providers, and stores and removes their keys.
#[derive(Clone)]
pub struct CredentialStore {
    list: Arc<ListCredentials>,
    store: Arc<StoreKey>,
    remove: Arc<RemoveKey>,
    fallback: Option<Model>,
}

impl CredentialStore {
    /// Creates a store from three functions. `keep` gets a provider's name and its key, `forget` a name as
    /// typed.
    pub fn new(
        list: impl Fn() -> Result<Vec<ProviderCredential>, ErrorWithHint> + Send + Sync + 'static,
        keep: impl Fn(&str, &SecretString) -> Result<CredentialChange, ErrorWithHint> + Send + Sync + 'static,
        forget: impl Fn(&str) -> Result<CredentialChange, ErrorWithHint> + Send + Sync + 'static,
    ) -> Self {
        Self { list: Arc::new(list), store: Arc::new(keep), remove: Arc::new(forget), fallback: None }
    }

    /// Adds a fallback model that answers if no other provider is usable.
    #[must_use]
    pub fn with_fallback(self, model: Model) -> Self {
        Self { fallback: Some(model), ..self }
    }

    /// Lists the providers that take keys.
    ///
    /// # Errors
    /// If the configuration can't be read; the error includes a hint.
    pub fn list(&self) -> Result<Vec<ProviderCredential>, ErrorWithHint> {
        (self.list)()
    }

    /// Stores the key of a provider.
    ///
    /// # Errors
    /// If the provider is unknown, or the key is malformed or can't be written.
    pub fn store(&self, provider: &str, key: &SecretString) -> Result<CredentialChange, ErrorWithHint> {
        (self.store)(provider, key)
    }

    /// Removes the key of a provider.
    ///
    /// # Errors
    /// If the provider is unknown, it has no stored key, or the change can't be written.
    pub fn remove(&self, provider: &str) -> Result<CredentialChange, ErrorWithHint> {
        (self.remove)(provider)
    }
}

impl std::fmt::Debug for CredentialStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CredentialStore")
    }
}

impl AgentSession {
    /// Applies a stored or removed key to the session, like [`AgentSession::change_provider`]. If the active
    /// model lost its key and only the store's fallback model is left, the fallback answers, starting with
    /// the next turn; if the fallback is active and a key was added, the first model of the key's provider
    /// answers.
    ///
    /// # Errors
    /// If the session is closed, or the choice could not be stored.
    pub async fn change_key(
        &self,
        store: &CredentialStore,
        change: ProviderChange,
    ) -> Result<KeyChangeOutcome, AgentError> {
        let is_removed = matches!(change, ProviderChange::Remove { .. });
        let provider = change.provider().to_owned();
        self.change_provider(change).await?;
        let active = self.state().await?.state.model.provider;
        match (is_removed, active == provider) {
            (false, true) => return Ok(KeyChangeOutcome::ActiveProvider),
            (false, false) => return self.leave_fallback(store, &active, &provider).await,
            (true, false) => return Ok(KeyChangeOutcome::Unchanged),
            (true, true) => {}
        }
        let Some(fallback) = store.fallback.clone() else { return Ok(KeyChangeOutcome::NoModel) };
        let models = self.models().await?;
        if models.iter().any(|model| model.facts.provider != fallback.facts.provider) {
            return Ok(KeyChangeOutcome::NoModel);
        }
        let name = fallback.reference().to_string();
        self.change_provider(ProviderChange::Add(fallback.provider, vec![(*fallback.facts).clone()])).await?;
        Ok(KeyChangeOutcome::SwitchedToFallback(self.set_model(name).await?))
    }

    /// Adds a provider, like [`AgentSession::change_provider`]. If a model of the provider `replaced` is
    /// active and the session has no messages yet, the first model of the added provider becomes active.
    ///
    /// # Errors
    /// If the session is closed, or the choice could not be stored.
    pub async fn add_provider(&self, change: ProviderChange, replaced: &str) -> Result<(), AgentError> {
        let provider = change.provider().to_owned();
        self.change_provider(change).await?;
        if self.state().await?.state.model.provider != replaced || !self.messages().await?.is_empty() {
            return Ok(());
        }
        let models = self.models().await?;
        if let Some(first) = models.iter().find(|model| model.facts.provider == provider) {
            self.set_model(first.reference().to_string()).await?;
        }
        Ok(())
    }

    /// Switches from the fallback model to the first model of a provider: a user who adds a key wants to use
    /// it.
    async fn leave_fallback(
        &self,
        store: &CredentialStore,
        active: &str,
        provider: &str,
    ) -> Result<KeyChangeOutcome, AgentError> {
        let is_fallback = store.fallback.as_ref().is_some_and(|fallback| fallback.facts.provider == active);
        let models = self.models().await?;
        match models.iter().find(|model| model.facts.provider == provider).filter(|_| is_fallback) {
            Some(first) => {
                Ok(KeyChangeOutcome::SwitchedToProvider(self.set_model(first.reference().to_string()).await?))
            }
            None => Ok(KeyChangeOutcome::OtherProvider),
        }
    }
}
