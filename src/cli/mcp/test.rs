//! `tiller mcp test NAME`: starts one server and shows its tools, prompts and resources, or the reason
//! it doesn't start.

use anyhow::anyhow;

use crate::cli::args::CliArgs;
use crate::cli::console::stderr_line;
use crate::cli::failure::{CliFailure, DONE, FAILED};
use crate::cli::startup;
use crate::cli::stdout::print_text;
use crate::cli::tool_servers::try_servers;
use crate::cli::trust::{self, TrustPrompt};
use crate::config::Config;
use crate::mcp::config::ServerConfig;
use crate::render::{ControlChars, sanitize};
use crate::suggest;
use crate::tool::ToolServerState;

pub(super) fn run(arguments: &CliArgs, name: &str) -> Result<u8, CliFailure> {
    let (config, _) = trust::config(arguments, TrustPrompt::Nobody)?;
    for warning in config.notices() {
        stderr_line!("warning: {warning}");
    }
    let server = find(&config, name)?.clone();
    let cwd = startup::cwd(arguments)?;
    let status = try_servers(vec![server], &config, &cwd)?.remove(0);
    let text = status.lines().join("\n") + "\n";
    print_text(&sanitize(&text, ControlChars::Visible))?;
    Ok(if matches!(status.state, ToolServerState::Running { .. }) { DONE } else { FAILED })
}

/// Finds a configured server by name.
pub(super) fn find<'a>(config: &'a Config, name: &str) -> Result<&'a ServerConfig, CliFailure> {
    let servers = &config.mcp.servers;
    if let Some(server) = servers.iter().find(|server| server.name == name) {
        return Ok(server);
    }
    let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    let hint = match suggest::nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None if names.is_empty() => "add one with `tiller mcp add`".to_owned(),
        None => format!("available: {}", names.join(", ")),
    };
    Err(CliFailure::usage(anyhow!("no MCP server named {name}")).hint(hint))
}
