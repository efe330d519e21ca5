//! `/login` and `/logout`. The key is read from the next line, without echo.

use std::io;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::commands::{CommandResult, error_text};
use crate::agent::{
    AgentSession, CredentialChange, CredentialOrigin, CredentialStore, KeyChangeOutcome, ProviderCredential,
    SUBSCRIPTION_NOTE,
};

type DisableEcho = dyn Fn() -> io::Result<Box<dyn Send>> + Send + Sync;

/// A function that disables the terminal's echo. Injected, because this front end has no access to the
/// terminal.
#[derive(Clone)]
pub struct EchoGuard(Arc<DisableEcho>);

impl EchoGuard {
    /// Uses this function, whose result restores the echo on drop.
    pub fn new(echo_guard: impl Fn() -> io::Result<Box<dyn Send>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(echo_guard))
    }
}

impl std::fmt::Debug for EchoGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EchoGuard")
    }
}

/// A pending `/login`: the next line is the key.
pub(super) struct PendingLogin {
    provider: String,
    /// Restores the echo on drop.
    _echo_off: Option<Box<dyn Send>>,
}

/// Access to stored keys, if there is a credential store.
pub(super) struct KeyPrompt {
    store: Option<CredentialStore>,
    echo_guard: Option<EchoGuard>,
}

impl KeyPrompt {
    pub(super) fn new(store: Option<CredentialStore>, echo_guard: Option<EchoGuard>) -> Self {
        Self { store, echo_guard }
    }

    fn store(&self) -> Result<CredentialStore, String> {
        self.store.clone().ok_or_else(|| "keys can't be stored here".to_owned())
    }

    /// Lists the providers and the sources of their keys.
    pub(super) async fn list(&self) -> CommandResult {
        let rows: String = holders(self.store()?).await?.iter().map(row).collect();
        Ok(format!("{rows}{SUBSCRIPTION_NOTE}\n"))
    }

    /// Starts reading a provider's key; returns the prompt for the user.
    pub(super) async fn start(&self, provider: &str) -> Result<(PendingLogin, String), String> {
        let holders = holders(self.store()?).await?;
        if !holders.iter().any(|holder| holder.provider == provider) {
            let names: Vec<&str> = holders.iter().map(|holder| holder.provider.as_str()).collect();
            return Err(format!(
                "unknown provider `{provider}`; providers that take a key: {}",
                names.join(", ")
            ));
        }
        let echo_off = self.echo_guard.as_ref().map(|echo_guard| (echo_guard.0)()).transpose();
        let echo_off = echo_off.map_err(|error| format!("can't disable the terminal's echo: {error}"))?;
        let prompt = format!(
            "type the key for {provider} on the next line; it is not shown, and an empty line cancels"
        );
        Ok((PendingLogin { provider: provider.to_owned(), _echo_off: echo_off }, prompt))
    }

    /// Stores the line as the provider's key.
    pub(super) fn store_key(
        &self,
        agent: &AgentSession,
        pending: PendingLogin,
        line: &str,
    ) -> impl Future<Output = CommandResult> + 'static {
        let (store, agent, key) = (self.store(), agent.clone(), line.trim().to_owned());
        async move {
            if key.is_empty() {
                return Ok("no key entered; nothing was changed\n".to_owned());
            }
            let store = store?;
            let shared = store.clone();
            let stored = spawn_blocking(move || shared.store(&pending.provider, &key.into())).await;
            apply_change(&agent, &store, stored.map_err(|error| error.to_string())?.map_err(with_hint)?).await
        }
    }

    /// Removes a provider's key.
    pub(super) fn remove_key(
        &self,
        agent: &AgentSession,
        provider: String,
    ) -> impl Future<Output = CommandResult> + 'static {
        let (store, agent) = (self.store(), agent.clone());
        async move {
            let store = store?;
            let shared = store.clone();
            let removed = spawn_blocking(move || shared.remove(&provider)).await;
            apply_change(&agent, &store, removed.map_err(|error| error.to_string())?.map_err(with_hint)?)
                .await
        }
    }
}

async fn holders(store: CredentialStore) -> Result<Vec<ProviderCredential>, String> {
    spawn_blocking(move || store.list()).await.map_err(|error| error.to_string())?.map_err(with_hint)
}

fn with_hint((error, hint): (String, Option<String>)) -> String {
    match hint {
        Some(hint) => format!("{error}\n  hint: {hint}"),
        None => error,
    }
}

/// Applies a key change to the session, and formats the result for the user.
async fn apply_change(
    agent: &AgentSession,
    store: &CredentialStore,
    change: CredentialChange,
) -> CommandResult {
    let CredentialChange { change, message, hint } = change;
    let outcome = agent.change_key(store, change).await.map_err(|error| error_text(&error))?;
    let next = match outcome {
        KeyChangeOutcome::ActiveProvider | KeyChangeOutcome::Unchanged => hint,
        KeyChangeOutcome::OtherProvider => {
            hint.or_else(|| Some("/model lists the available models".to_owned()))
        }
        KeyChangeOutcome::SwitchedToProvider(model) => {
            let notice = format!("{model} takes effect on the next turn; /model lists others");
            Some(hint.map_or(notice.clone(), |hint| format!("{notice}; {hint}")))
        }
        KeyChangeOutcome::NoModel => {
            Some("the next prompt needs another model; /model lists them".to_owned())
        }
        KeyChangeOutcome::SwitchedToFallback(model) => {
            Some(format!("{model} is used now, because no other model is available; /login adds a key"))
        }
    };
    Ok(format!("{}\n", next.map_or(message.clone(), |next| format!("{message}\n  {next}"))))
}

fn row(holder: &ProviderCredential) -> String {
    let source = match &holder.origin {
        CredentialOrigin::Missing if holder.needs_no_key() => "no key (not required)".to_owned(),
        CredentialOrigin::Missing => "no key".to_owned(),
        CredentialOrigin::Stored => "key in auth.json".to_owned(),
        CredentialOrigin::External(source) => format!("key from {source}"),
    };
    format!("{}: {source}\n", holder.provider)
}
