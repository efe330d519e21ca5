//! The arguments of `tiller mcp`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum McpCommand {
    /// List the configured servers and where each comes from
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a server to your settings, or replace the one with that name
    Add(McpAddArgs),
    /// Remove a server from your settings
    Remove {
        /// Name of the server
        name: String,
        /// Remove it from the project's .mcp.json
        #[arg(long)]
        project: bool,
    },
    /// Log in to a remote server in the browser (OAuth)
    Login {
        /// Name of the server
        name: String,
    },
    /// Log out of a server
    Logout {
        /// Name of the server
        name: String,
    },
    /// Run as an MCP server on stdin/stdout; clients can list, search, read and prompt sessions
    Serve,
    /// Start a server, show its tools and the end of its stderr, and stop it
    Test {
        /// Name of the server
        name: String,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct McpAddArgs {
    /// Name of the server: letters, digits, - and _
    pub(in crate::cli) name: String,
    /// URL, or command with its arguments (after -- if they begin with -)
    #[arg(required = true, value_name = "URL|COMMAND", num_args = 1..)]
    pub(in crate::cli) target: Vec<String>,
    /// Environment variable for the command (repeatable); ${NAME} is replaced when the server starts
    #[arg(long, value_name = "NAME=VALUE")]
    pub(in crate::cli) env: Vec<String>,
    /// Header to send with requests to the URL (repeatable)
    #[arg(long, value_name = "NAME:VALUE")]
    pub(in crate::cli) header: Vec<String>,
    /// Cancel a call after this many milliseconds without progress
    #[arg(long, value_name = "MS")]
    pub(in crate::cli) timeout: Option<u64>,
    /// Add it to the project's .mcp.json
    #[arg(long)]
    pub(in crate::cli) project: bool,
}
