//! Model servers on this machine.

use std::thread;

use super::endpoint::endpoint;
use crate::agent::{AgentSession, ProviderChange};
use crate::cli::args::CliArgs;
use crate::cli::run_input::RunInput;
use crate::config::Config;
use crate::provider::descriptor::{LOCAL_SERVERS, ProviderDescriptor};
use crate::provider::local_servers::find_all;
use crate::setting::Switch;

/// Asks all local servers for their models. Those that don't answer are left out.
async fn find(arguments: &CliArgs, config: &Config) -> Vec<ProviderChange> {
    let endpoint = |server: &ProviderDescriptor| endpoint(arguments, config, server.name);
    let servers = LOCAL_SERVERS.iter().filter_map(|server| Some((server, endpoint(server)?.base_url)));
    let found = find_all(servers).await.into_iter();
    let connected = found.filter_map(|(server, models)| {
        Some(ProviderChange::Add(server.connect(endpoint(server)?).ok()?, models))
    });
    connected.collect()
}

/// As [`find`], for code that isn't async.
pub(super) fn find_blocking(arguments: &CliArgs, config: &Config) -> Vec<ProviderChange> {
    let ask = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        Some(runtime.block_on(find(arguments, config)))
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
        for change in find(&input.arguments, &input.config).await {
            // The session may have been closed meanwhile.
            if agent.change_provider(change).await.is_err() {
                return;
            }
        }
    });
}
