//! `tiller mcp`: lists, adds, removes and tests MCP servers, logs in to them, and serves sessions as one.

mod edit;
mod list;
mod login;
mod serve;
mod test;

use super::args::{CliArgs, McpCommand};
use super::failure::CliFailure;

/// Runs a subcommand of `tiller mcp`.
pub(super) fn run(arguments: &CliArgs, command: &McpCommand) -> Result<u8, CliFailure> {
    match command {
        McpCommand::List { json } => list::run(arguments, *json),
        McpCommand::Add(server) => edit::add(arguments, server),
        McpCommand::Remove { name, project } => edit::remove(arguments, name, *project),
        McpCommand::Login { name } => login::log_in(arguments, name),
        McpCommand::Logout { name } => login::log_out(arguments, name),
        McpCommand::Serve => serve::run(arguments),
        McpCommand::Test { name } => test::run(arguments, name),
    }
}
