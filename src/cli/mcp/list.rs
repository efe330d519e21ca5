//! `tiller mcp list`: the configured servers and their sources.

use std::fmt::Write as _;

use serde_json::json;

use crate::cli::args::CliArgs;
use crate::cli::console::stderr_line;
use crate::cli::failure::{CliFailure, DONE};
use crate::cli::stdout::print_text;
use crate::cli::trust::{self, TrustPrompt};
use crate::config::McpLogins;
use crate::mcp::LoginStorage as _;
use crate::mcp::config::{Endpoint, ParsedServers, ServerConfig};
use crate::render::{ControlChars, sanitize};

pub(super) fn run(arguments: &CliArgs, json: bool) -> Result<u8, CliFailure> {
    let (config, _) = trust::config(arguments, TrustPrompt::Nobody)?;
    for warning in config.notices() {
        stderr_line!("warning: {warning}");
    }
    let logins = McpLogins::new(config.dirs.mcp_auth());
    let has_login = |server: &ServerConfig| match &server.endpoint {
        Endpoint::Http(endpoint) => logins.load(&endpoint.url).is_ok_and(|login| login.is_some()),
        Endpoint::Stdio(_) => false,
    };
    let text = if json { encode(&config.mcp, has_login)? } else { format(&config.mcp, has_login) };
    print_text(&text)?;
    Ok(DONE)
}

fn encode(servers: &ParsedServers, has_login: impl Fn(&ServerConfig) -> bool) -> Result<String, CliFailure> {
    let row = |server: &ServerConfig| {
        let mut row = json!({
            "name": server.name,
            "transport": server.endpoint.transport(),
            "address": server.summary,
            "origin": server.origin.to_string(),
        });
        if has_login(server) {
            row["loggedIn"] = true.into();
        }
        row
    };
    let rows: Vec<_> = servers.servers.iter().map(row).collect();
    let value = json!({"servers": rows, "disabled": servers.disabled});
    Ok(serde_json::to_string_pretty(&value).map_err(CliFailure::run)? + "\n")
}

fn format(servers: &ParsedServers, has_login: impl Fn(&ServerConfig) -> bool) -> String {
    let mut text = String::new();
    let width = servers.servers.iter().map(|server| server.name.len()).max().unwrap_or_default();
    for server in &servers.servers {
        let transport = server.endpoint.transport();
        let summary = sanitize(&server.summary, ControlChars::Visible);
        let login = if has_login(server) { "; logged in" } else { "" };
        let _ =
            writeln!(text, "{:<width$}  {transport:<5}  {summary}  ({}{login})", server.name, server.origin);
    }
    if !servers.disabled.is_empty() {
        let _ = writeln!(text, "disabled: {}", servers.disabled.join(", "));
    }
    if text.is_empty() {
        text.push_str("no MCP servers; `tiller mcp add NAME -- COMMAND [ARGUMENT]...` adds one\n");
    }
    text
}
