//! MCP client: servers of the Model Context Protocol, which offer tools over stdio or streamable HTTP.
//!
//! [`config`] parses the servers of settings and `.mcp.json`. [`McpServers`] starts them in parallel, each with a task
//! that owns its connection, and offers their tools as [`ToolServers`](tiller_tools::tool::ToolServers). The policy
//! treats their calls like calls of any tool that runs programs; tool annotations are displayed but don't affect
//! decisions.

mod call_timeout;
pub mod config;
mod connection;
mod elicitation;
mod handler;
mod link;
mod list_changes;
mod login;
mod options;
mod prompt;
mod requests;
mod resource;
mod result;
mod running_requests;
mod search;
mod server;
mod servers;
mod session_server;
mod stderr_tail;
mod stdio;
mod tool;
mod tool_name;
mod web_address;

pub use login::{LoginPrompt, LoginStorage, log_in};
pub use options::{McpOptions, UserPresence};
pub use servers::McpServers;
pub use session_server::{ServeError, ServedScope, SessionReply, SessionService, serve_sessions};
pub use tool_name::{TOOL_PREFIX, server_prefix};
