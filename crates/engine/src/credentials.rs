//! Keys of providers while a session runs: front ends ask for them at a [`KeyDesk`], which whoever starts them hands in, for they know
//! neither files nor providers; what comes of it is told to the session here.

use std::sync::Arc;

use secrecy::SecretString;
use tiller_core::message::ModelRef;
use tiller_provider::Model;

use super::{AgentError, AgentSession, ProviderChange};

/// What went wrong, and what to do about it.
type Trouble = (String, Option<String>);

type List = dyn Fn() -> Result<Vec<ProviderCredential>, Trouble> + Send + Sync;
type Keep = dyn Fn(&str, &SecretString) -> Result<CredentialChange, Trouble> + Send + Sync;
type Forget = dyn Fn(&str) -> Result<CredentialChange, Trouble> + Send + Sync;

/// A provider, and where its key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderCredential {
    /// The provider's name.
    pub provider: String,
    /// Where its key comes from.
    pub from: CredentialOrigin,
}

/// Where a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialOrigin {
    /// There is none.
    Nowhere,
    /// It is kept in `auth.json`.
    Kept,
    /// From here, in a few words: a variable, a file, a flag.
    Elsewhere(String),
}

/// Who answers after a key was kept or taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyChangeOutcome {
    /// Who answered before, and it is the key's provider, which can be asked.
    ItsModel,
    /// Who answered before; a model of the key's provider could be chosen.
    Another,
    /// The last resort answered, so this one of the key's provider answers from the next turn on.
    First(ModelRef),
    /// Who answered before; the key's provider can't be asked any more, and wasn't.
    AsBefore,
    /// The model that is chosen is of the provider whose key is gone: another one is to be chosen.
    Nobody,
    /// Nobody else can be asked any more, so this one answers from the next turn on.
    LastResort(ModelRef),
}

/// What the keeping or the loss of a key comes to.
#[derive(Clone, Debug)]
pub struct CredentialChange {
    /// What the agent is to be told.
    pub change: ProviderChange,
    /// What the user is told.
    pub said: String,
    /// What the user can do about it, if it isn't all that was wanted.
    pub hint: Option<String>,
}

/// Lists the providers, keeps keys of theirs and takes them away.
#[derive(Clone)]
pub struct CredentialStore {
    list: Arc<List>,
    keep: Arc<Keep>,
    forget: Arc<Forget>,
    last_resort: Option<Model>,
}

impl CredentialStore {
    /// Keys as `list` finds them at that moment. `keep` gets a provider's name and its key, `forget` a name as it was typed.
    pub fn new(
        list: impl Fn() -> Result<Vec<ProviderCredential>, Trouble> + Send + Sync + 'static,
        keep: impl Fn(&str, &SecretString) -> Result<CredentialChange, Trouble> + Send + Sync + 'static,
        forget: impl Fn(&str) -> Result<CredentialChange, Trouble> + Send + Sync + 'static,
    ) -> Self {
        Self { list: Arc::new(list), keep: Arc::new(keep), forget: Arc::new(forget), last_resort: None }
    }

    /// The same with a model that answers when nobody else can be asked any more.
    #[must_use]
    pub fn with_last_resort(self, model: Model) -> Self {
        Self { last_resort: Some(model), ..self }
    }

    /// The providers that take keys.
    ///
    /// # Errors
    /// When the configuration can't be read; what to do about it stands beside.
    pub fn list(&self) -> Result<Vec<ProviderCredential>, Trouble> {
        (self.list)()
    }

    /// Keeps the key of a provider.
    ///
    /// # Errors
    /// When there is no such provider, that is no key, or it can't be written.
    pub fn keep(&self, provider: &str, key: &SecretString) -> Result<CredentialChange, Trouble> {
        (self.keep)(provider, key)
    }

    /// Takes the key of a provider away.
    ///
    /// # Errors
    /// When there is no such provider, none is kept of it, or that can't be written.
    pub fn forget(&self, provider: &str) -> Result<CredentialChange, Trouble> {
        (self.forget)(provider)
    }
}

impl std::fmt::Debug for CredentialStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyDesk")
    }
}

impl AgentSession {
    /// Takes note of a key that was kept or taken away, as [`AgentSession::change_provider`] does. Where the model that answers lost
    /// its key and nobody but the last resort of the desk is left, that one answers from the next turn on; where that one answers
    /// and a key came, the first model of the key's provider does.
    ///
    /// # Errors
    /// When the session is closed, or the choice could not be kept.
    pub async fn change_key(
        &self,
        desk: &CredentialStore,
        change: ProviderChange,
    ) -> Result<KeyChangeOutcome, AgentError> {
        let is_shut = matches!(change, ProviderChange::Shut { .. });
        let provider = change.provider().to_owned();
        self.change_provider(change).await?;
        let answers = self.state().await?.state.model.provider;
        match (is_shut, answers == provider) {
            (false, true) => return Ok(KeyChangeOutcome::ItsModel),
            (false, false) => return self.leave_last_resort(desk, &answers, &provider).await,
            (true, false) => return Ok(KeyChangeOutcome::AsBefore),
            (true, true) => {}
        }
        let Some(last) = desk.last_resort.clone() else { return Ok(KeyChangeOutcome::Nobody) };
        let others = self.models().await?;
        if others.iter().any(|model| model.facts.provider != last.facts.provider) {
            return Ok(KeyChangeOutcome::Nobody);
        }
        let name = last.reference().to_string();
        self.change_provider(ProviderChange::Open(last.provider, vec![(*last.facts).clone()])).await?;
        Ok(KeyChangeOutcome::LastResort(self.set_model(name).await?))
    }

    /// Goes over to the first model of a provider if the last resort answers: whoever gives a key wants it to be used.
    async fn leave_last_resort(
        &self,
        desk: &CredentialStore,
        answers: &str,
        provider: &str,
    ) -> Result<KeyChangeOutcome, AgentError> {
        let is_last_resort = desk.last_resort.as_ref().is_some_and(|last| last.facts.provider == answers);
        let models = self.models().await?;
        match models.iter().find(|model| model.facts.provider == provider).filter(|_| is_last_resort) {
            Some(first) => Ok(KeyChangeOutcome::First(self.set_model(first.reference().to_string()).await?)),
            None => Ok(KeyChangeOutcome::Another),
        }
    }
}
