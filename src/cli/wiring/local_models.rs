//! Model servers on this machine.

use std::thread;
use std::time::Duration;

use tokio::time::timeout;

use super::endpoint::{compat, endpoint, listed_models, merge, wire_format};
use crate::agent::{AgentSession, ProviderChange};
use crate::cli::args::CliArgs;
use crate::cli::run_input::RunInput;
use crate::config::Config;
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

/// Asks the local servers in the background, and adds their models to the session.
pub(in crate::cli) fn add_local_models(input: &RunInput, agent: AgentSession) {
    if input.config.settings.local_servers() == Switch::Off {
        return;
    }
    let input = input.clone();
    tokio::spawn(async move {
        for change in find(&input.arguments, &input.config, None).await {
            // The session may have been closed meanwhile.
            if agent.change_provider(change).await.is_err() {
                return;
            }
        }
    });
}
