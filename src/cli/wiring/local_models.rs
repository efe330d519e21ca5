//! Model servers on this machine.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use super::endpoint::{compat, connect, endpoint, listed_models, wire_format};
use crate::agent::{AgentSession, ProviderChange};
use crate::cli::args::CliArgs;
use crate::cli::run_input::RunInput;
use crate::config::Config;
use crate::event::EventKind;
use crate::message::{Message, StopReason};
use crate::provider::demo;
use crate::provider::descriptor::{LOCAL_SERVERS, ProviderDescriptor};
use crate::provider::local_servers::find_all;
use crate::provider::{Endpoint, ModelFacts};
use crate::setting::Switch;

/// Timeout of each local server at startup.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(1);

/// Timeout of each local server in the background: the details of many models take a while.
const BACKGROUND_TIMEOUT: Duration = Duration::from_secs(10);

/// A local server that responded: its provider with its models, or the reason it can't be used.
type LocalServer = (String, Result<ProviderChange, String>);

/// Queries local servers for their models: all servers, or those with these names. Servers that don't respond
/// within `limit` are omitted.
async fn find(
    arguments: &CliArgs,
    config: &Config,
    names: Option<&[&str]>,
    limit: Duration,
) -> Vec<LocalServer> {
    let wanted = LOCAL_SERVERS.iter().filter(|server| names.is_none_or(|names| names.contains(&server.name)));
    let found = find_all(wanted.filter_map(|server| endpoint(arguments, config, server.name)), limit).await;
    let answered = |(endpoint, found): (Endpoint, Result<Vec<ModelFacts>, String>)| {
        let name = endpoint.name.clone();
        let models = match found {
            Ok(models) => models,
            Err(reason) => return Some((name, Err(reason))),
        };
        let compat = compat(config, &name);
        let models = listed_models(config, &name, compat, models);
        let format = wire_format(config, &endpoint)?;
        let provider = connect(config, endpoint, format, compat).ok()?;
        Some((name, Ok(ProviderChange::Add(provider, models))))
    };
    found.into_iter().filter_map(answered).collect()
}

/// Like [`find`], with a short timeout, for the start of a session, which isn't async.
pub(super) fn find_at_start(
    arguments: &CliArgs,
    config: &Config,
    names: Option<&[&str]>,
) -> Vec<LocalServer> {
    let ask = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        Some(runtime.block_on(find(arguments, config, names, STARTUP_TIMEOUT)))
    };
    // A runtime can't be entered from within another one, so it gets its own thread.
    thread::scope(|scope| scope.spawn(ask).join().ok().flatten()).unwrap_or_default()
}

/// Queries one local server for its models; `None` if the provider isn't local or its server doesn't list
/// any.
pub(in crate::cli) fn find_local_models(
    arguments: &CliArgs,
    config: &Config,
    provider: &str,
) -> Option<ProviderChange> {
    if !ProviderDescriptor::find(provider).is_some_and(ProviderDescriptor::is_local) {
        return None;
    }
    find_at_start(arguments, config, Some(&[provider])).into_iter().find_map(|(_, change)| change.ok())
}

/// Queries a local model's server again after the model's first answer, because servers report a model's real
/// window only after they have loaded it.
pub(in crate::cli) fn renew_local_windows(input: &RunInput, agent: &AgentSession) {
    let (input, agent, mut events) = (input.clone(), agent.clone(), agent.subscribe());
    tokio::spawn(async move {
        let mut loaded = HashSet::new();
        while let Some(event) = events.next().await {
            let model = event.ok().and_then(|event| answering_model(&event.kind));
            let Some((provider, id)) = model else { continue };
            if loaded.insert((provider.clone(), id)) {
                // A provider that isn't local has no server to query.
                change_providers(&input, &agent, Some(&[&provider]), None).await;
            }
        }
    });
}

/// Returns the provider and id of the model that completed an answer.
fn answering_model(event: &EventKind) -> Option<(String, String)> {
    let EventKind::MessageEnd { message } = event else { return None };
    let Message::Assistant(answer) = &**message else { return None };
    let is_complete =
        matches!(answer.stop_reason, StopReason::Stop | StopReason::Length | StopReason::ToolUse);
    is_complete.then(|| (answer.provider.clone(), answer.model.clone()))
}

/// Queries the local servers in the background and adds their models to the session. The first one replaces
/// the demo if the demo is active only because no other model was available.
pub(in crate::cli) fn add_local_models(input: &RunInput, agent: AgentSession) {
    let settings = &input.config.settings;
    if settings.local_servers() == Switch::Off {
        return;
    }
    let is_chosen = settings.provider().is_some() || settings.model().is_some();
    let replaced = (!is_chosen).then_some(demo::NAME);
    let input = input.clone();
    tokio::spawn(async move { change_providers(&input, &agent, None, replaced).await });
}

/// Queries local servers and adds their models to the session. If the provider `replaced` hasn't answered in
/// the session yet, the session switches to the first of the models.
async fn change_providers(
    input: &RunInput,
    agent: &AgentSession,
    names: Option<&[&str]>,
    replaced: Option<&str>,
) {
    let found = find(&input.arguments, &input.config, names, BACKGROUND_TIMEOUT).await;
    for change in found.into_iter().filter_map(|(_, change)| change.ok()) {
        let changed = match replaced {
            Some(replaced) => agent.add_provider(change, replaced).await,
            None => agent.change_provider(change).await,
        };
        // The session may have been closed in the meantime.
        if changed.is_err() {
            return;
        }
    }
}
