//! A coding agent for the terminal with durable, branching sessions.
//!
//! This library is the facade of a workspace: it re-exports the items that embedders need.
//!
//! | module | contents |
//! |---|---|
//! | [`agent`] | `AgentSession`, the agent engine, and `run` for a single prompt |
//! | [`session`] | `SessionManager` and the append-only, tree-structured logs |
//! | [`provider`] | the trait `Provider`, the built-in providers and the model catalog |
//! | [`tool`] | the trait `Tool` and the built-in tools |
//! | [`workspace`], [`policy`], [`process`] | paths that tools may touch, calls that may run, child processes |
//! | [`message`], [`tool_spec`], [`event`], [`id`], [`mod@unit`] | the shared types |
//! | [`setting`] | the table of settings |
//! | [`skill`], [`template`], [`instructions`] | instruction files for the model |
//! | [`mcp`] | the MCP client, and the server that `tiller mcp serve` runs |
//! | [`sandbox`], [`files`], [`search_path`], [`watch`] | the command sandbox; bounded reads; search paths; file watching |
//! | [`elicitation`], [`background_job`], [`delegated_task`], [`proposed_rules`], [`tool_catalog`] | payload types of events and log entries |
//! | [`render`], [`theme`] | text as styled lines, and their colors |
//! | [`tui`], [`repl`], [`mod@print`], [`rpc`], [`html`] | the front ends |
//! | [`cli`], [`config`] | command line and configuration |
//!
//! The examples use the workspace's crate names. If you depend on `tiller`, replace `tiller_engine` with
//! `tiller::agent`, `tiller_session` with `tiller::session` and `tiller_provider` with `tiller::provider`; most items of
//! `tiller_core`, `tiller_tools` and `tiller_files` are in the modules above.
pub mod cli;
pub mod config;
pub mod html;
pub mod print;
pub mod repl;
pub mod rpc;

pub use tiller_core::{
    ansi, background_job, delegated_task, elicitation, event, front_matter, id, message, os_error,
    proposed_rules, protected_path, setting, skill_message, suggest, surrogates, tool_catalog, tool_spec,
    unit, usage_text,
};
pub use tiller_engine::{self as agent, instructions, skill, template, watch};
pub use tiller_files::{self as files, search_path};
pub use tiller_mcp as mcp;
pub use tiller_provider as provider;
pub use tiller_render::{self as render, theme};
pub use tiller_session as session;
pub use tiller_tools::{policy, process, sandbox, tool, workspace};
pub use tiller_tui as tui;
