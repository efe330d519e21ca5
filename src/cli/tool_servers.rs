//! The MCP servers of a session, started with the options from the settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;

use crate::agent::Approver;
use crate::cli::args::CliArgs;
use crate::cli::failure::CliFailure;
use crate::cli::wiring::options::{runner, sandbox};
use crate::config::{Config, McpLogins};
use crate::mcp::config::ServerConfig;
use crate::mcp::{McpOptions, McpServers, UserPresence, server_prefix};
use crate::process::SandboxProfile;
use crate::tool::{ConnectedServers, ToolServerStatus, ToolServersEvent};
use crate::workspace::Workspace;

/// Timeout of each list of prompts or resources; a server normally takes milliseconds.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts the configured servers for a session, unless there are none or the session offers no tools.
pub(super) fn start(
    config: &Config,
    arguments: &CliArgs,
    sandbox: Option<SandboxProfile>,
    cwd: &Path,
    approver: Approver,
) -> Result<Option<ConnectedServers>, CliFailure> {
    let offers_none = arguments.agent.no_tools || config.settings.tools().is_some_and(<[String]>::is_empty);
    if config.mcp.servers.is_empty() || offers_none {
        return Ok(None);
    }
    let presence = match approver {
        Approver::Present => UserPresence::Present,
        Approver::Absent => UserPresence::Absent,
    };
    let options = options(config, sandbox, cwd, presence)?;
    Ok(Some(McpServers::start(config.mcp.servers.clone(), options)))
}

fn options(
    config: &Config,
    sandbox: Option<SandboxProfile>,
    cwd: &Path,
    presence: UserPresence,
) -> Result<McpOptions, CliFailure> {
    let settings = &config.settings;
    Ok(McpOptions {
        sandbox,
        networked: networked(config),
        runner: runner()?,
        cwd: PathBuf::from(cwd),
        secrets: config.withheld_variables(),
        start_timeout: Duration::from_secs(settings.mcp_start_timeout_s()),
        list_timeout: LIST_TIMEOUT,
        call_timeout: Duration::from_secs(settings.mcp_timeout_s()),
        search_threshold: settings.mcp_search_threshold(),
        presence,
        logins: Arc::new(McpLogins::new(config.dirs.mcp_auth())),
    })
}

/// Returns the names of servers that a rule allows to use TCP.
fn networked(config: &Config) -> Vec<String> {
    let names = config.mcp.servers.iter().map(|server| server.name.clone());
    names.filter(|name| config.rules.allow_server_network(&server_prefix(name))).collect()
}

/// Starts servers without a session, waits until each has listed its tools, prompts and resources or failed, and
/// ends them.
pub(super) fn try_servers(
    servers: Vec<ServerConfig>,
    config: &Config,
    cwd: &Path,
) -> Result<Vec<ToolServerStatus>, CliFailure> {
    let workspace = Workspace::new(cwd).map_err(CliFailure::run)?;
    let sandbox = sandbox(config, cwd).profile(&workspace);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("can't start the async runtime").map_err(CliFailure::run)?;
    let status = runtime.block_on(async {
        let options = options(config, sandbox, cwd, UserPresence::Absent)?;
        let mut connected = McpServers::start(servers, options);
        while let Some(event) = connected.events.recv().await {
            match event {
                ToolServersEvent::Listed => break,
                // The status has the same information.
                ToolServersEvent::Warning(_) | ToolServersEvent::Ready | ToolServersEvent::Changed => {}
            }
        }
        Ok(connected.servers.status())
    });
    runtime.shutdown_background();
    status
}
