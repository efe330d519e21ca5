//! Model servers on this machine.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use tokio::time::timeout;

use super::endpoint::{compat, endpoint, listed_models, merge, wire_format};
use crate::agent::{AgentSession, ProviderChange};
use crate::cli::args::CliArgs;
use crate::cli::run_input::RunInput;
use crate::config::Config;
use crate::event::EventKind;
use crate::message::{Message, StopReason};
use crate::provider::descriptor::LOCAL_SERVERS;
use crate::provider::local_servers::find_all;
use crate::provider::{Endpoint, ModelFacts};
use crate::setting::Switch;

/// Time for all local servers to answer at the start.
const START: Duration = Duration::from_secs(1);

/// Asks local servers for their models: all, or those of these names. Those that don't answer are left out.
async fn find(arguments: &CliArgs, config: &Config, names: Option<&[&str]>) -> Vec<ProviderChange> {
    let wanted = LOCAL_SERVERS.iter().filter(|server| names.is_none_or(|names| names.contains(&server.name)));
    let found = find_all(wanted.filter_map(|server| endpoint(arguments, config, server.name))).await;
    let connect = |(endpoint, found): (Endpoint, Vec<ModelFacts>)| {
        let compat = compat(config, &endpoint.name);
        let models = merge(listed_models(config, &endpoint.name, compat), found);
        Some(ProviderChange::Add(wire_format(config, &endpoint)?.connect(endpoint, compat).ok()?, models))
    };
    found.into_iter().filter_map(connect).collect()
}

/// As [`find`], for the start of a session, which isn't async and doesn't wait for long.
pub(super) fn find_at_start(
    arguments: &CliArgs,
    config: &Config,
    names: Option<&[&str]>,
) -> Vec<ProviderChange> {
    let ask = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        runtime.block_on(async { timeout(START, find(arguments, config, names)).await.ok() })
    };
    // A runtime can't be entered from within another one.
    thread::scope(|scope| scope.spawn(ask).join().ok().flatten()).unwrap_or_default()
}

/// Asks the server of a local model again after the model's first answer, because a server tells the window that a model
/// really has only after it has loaded it.
pub(in crate::cli) fn renew_local_windows(input: &RunInput, agent: &AgentSession) {
    let (input, agent, mut events) = (input.clone(), agent.clone(), agent.subscribe());
    tokio::spawn(async move {
        let mut loaded = HashSet::new();
        while let Some(event) = events.next().await {
            let model = event.ok().and_then(|event| answering_model(&event.kind));
            let Some((provider, id)) = model else { continue };
            if loaded.insert((provider.clone(), id)) {
                // Of another provider, none is asked.
                change_providers(&input, &agent, Some(&[&provider])).await;
            }
        }
    });
}

/// Returns the provider and the id of the model that has completed an answer.
fn answering_model(event: &EventKind) -> Option<(String, String)> {
    let EventKind::MessageEnd { message } = event else { return None };
    let Message::Assistant(answer) = &**message else { return None };
    let is_complete =
        matches!(answer.stop_reason, StopReason::Stop | StopReason::Length | StopReason::ToolUse);
    is_complete.then(|| (answer.provider.clone(), answer.model.clone()))
}

/// Asks the local servers in the background, and adds their models to the session.
pub(in crate::cli) fn add_local_models(input: &RunInput, agent: AgentSession) {
    if input.config.settings.local_servers() == Switch::Off {
        return;
    }
    let input = input.clone();
    tokio::spawn(async move { change_providers(&input, &agent, None).await });
}

/// Asks local servers, and adds their models to the session.
async fn change_providers(input: &RunInput, agent: &AgentSession, names: Option<&[&str]>) {
    for change in find(&input.arguments, &input.config, names).await {
        // The session may have been closed meanwhile.
        if agent.change_provider(change).await.is_err() {
            return;
        }
    }
}
