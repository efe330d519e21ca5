//! `/login` and `/logout`: a key is the next line, and what a terminal shows of it is nothing.

use std::io;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::commands::{CommandResult, why};
use crate::agent::{
    AgentSession, CredentialChange, CredentialOrigin, CredentialStore, KeyChangeOutcome, ProviderCredential,
};

type EchoOff = dyn Fn() -> io::Result<Box<dyn Send>> + Send + Sync;

/// Keeps a terminal from showing what is typed; handed in, for this front end knows no terminal.
#[derive(Clone)]
pub struct EchoGuard(Arc<EchoOff>);

impl EchoGuard {
    /// Hushes by this function, for as long as what it gives isn't dropped.
    pub fn new(hush: impl Fn() -> io::Result<Box<dyn Send>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(hush))
    }
}

impl std::fmt::Debug for EchoGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hush")
    }
}

/// A key that is waited for: the next line is it.
pub(super) struct WantedKey {
    provider: String,
    /// The terminal shows again what is typed when this is dropped.
    _silence: Option<Box<dyn Send>>,
}

/// What gives and takes keys, where there is such a thing.
pub(super) struct KeyPrompt {
    desk: Option<CredentialStore>,
    hush: Option<EchoGuard>,
}

impl KeyPrompt {
    pub(super) fn new(desk: Option<CredentialStore>, hush: Option<EchoGuard>) -> Self {
        Self { desk, hush }
    }

    fn desk(&self) -> Result<CredentialStore, String> {
        self.desk.clone().ok_or_else(|| "there is nowhere to keep keys here".to_owned())
    }

    /// The providers, and where their keys come from.
    pub(super) async fn list(&self) -> CommandResult {
        Ok(holders(self.desk()?).await?.iter().map(row).collect())
    }

    /// Waits for the key of a provider; answers with what to say about that.
    pub(super) async fn want(&self, provider: &str) -> Result<(WantedKey, String), String> {
        let holders = holders(self.desk()?).await?;
        if !holders.iter().any(|holder| holder.provider == provider) {
            let names: Vec<&str> = holders.iter().map(|holder| holder.provider.as_str()).collect();
            return Err(format!(
                "there is no provider {provider} that takes a key; these do: {}",
                names.join(", ")
            ));
        }
        let silence = self.hush.as_ref().map(|hush| (hush.0)()).transpose();
        let silence = silence.map_err(|error| format!("the terminal would show the key: {error}"))?;
        let say = format!(
            "the key of {provider} is the next line; it is not shown, and an empty one leaves everything as it is"
        );
        Ok((WantedKey { provider: provider.to_owned(), _silence: silence }, say))
    }

    /// What becomes of the line that was waited for.
    pub(super) fn keep(
        &self,
        agent: &AgentSession,
        wanted: WantedKey,
        line: &str,
    ) -> impl Future<Output = CommandResult> + 'static {
        let (desk, agent, key) = (self.desk(), agent.clone(), line.trim().to_owned());
        async move {
            if key.is_empty() {
                return Ok("no key was typed; everything is as it was\n".to_owned());
            }
            let desk = desk?;
            let asked = desk.clone();
            let kept = spawn_blocking(move || asked.keep(&wanted.provider, &key.into())).await;
            told(&agent, &desk, kept.map_err(|error| error.to_string())?.map_err(hinted)?).await
        }
    }

    /// Takes a key away.
    pub(super) fn forget(
        &self,
        agent: &AgentSession,
        provider: String,
    ) -> impl Future<Output = CommandResult> + 'static {
        let (desk, agent) = (self.desk(), agent.clone());
        async move {
            let desk = desk?;
            let asked = desk.clone();
            let gone = spawn_blocking(move || asked.forget(&provider)).await;
            told(&agent, &desk, gone.map_err(|error| error.to_string())?.map_err(hinted)?).await
        }
    }
}

async fn holders(desk: CredentialStore) -> Result<Vec<ProviderCredential>, String> {
    spawn_blocking(move || desk.list()).await.map_err(|error| error.to_string())?.map_err(hinted)
}

fn hinted((what, hint): (String, Option<String>)) -> String {
    match hint {
        Some(hint) => format!("{what}\n  hint: {hint}"),
        None => what,
    }
}

/// Tells the session of a key, and the user what came of it.
async fn told(agent: &AgentSession, desk: &CredentialStore, change: CredentialChange) -> CommandResult {
    let CredentialChange { change, said, hint } = change;
    let answers = agent.change_key(desk, change).await.map_err(|error| why(&error))?;
    let next = match answers {
        KeyChangeOutcome::ItsModel | KeyChangeOutcome::AsBefore => hint,
        KeyChangeOutcome::Another => hint.or_else(|| Some("/model lists those that can be asked".to_owned())),
        KeyChangeOutcome::First(model) => {
            let chosen = format!("{model} answers from the next turn on; /model lists others");
            Some(hint.map_or(chosen.clone(), |hint| format!("{chosen}; {hint}")))
        }
        KeyChangeOutcome::Nobody => Some("the next prompt needs another model: /model lists them".to_owned()),
        KeyChangeOutcome::LastResort(model) => {
            Some(format!("{model} answers now, for nobody else can be asked; /login gives a key"))
        }
    };
    Ok(format!("{}\n", next.map_or(said.clone(), |next| format!("{said}\n  {next}"))))
}

fn row(holder: &ProviderCredential) -> String {
    let from = match &holder.from {
        CredentialOrigin::Nowhere => "no key".to_owned(),
        CredentialOrigin::Kept => "key in auth.json".to_owned(),
        CredentialOrigin::Elsewhere(place) => format!("key from {place}"),
    };
    format!("{}: {from}\n", holder.provider)
}
