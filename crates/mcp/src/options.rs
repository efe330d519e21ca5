//! Options for the servers of a session.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tiller_tools::process::{Runner, SandboxProfile};

use crate::login::LoginStorage;

/// Options for the servers of a session.
#[derive(Clone, Debug)]
pub struct McpOptions {
    /// Starts the programs.
    pub runner: Runner,
    /// Sandbox of the servers that a project's file configures.
    pub sandbox: Option<SandboxProfile>,
    /// Names of the servers that may use TCP in it.
    pub networked: Vec<String>,
    /// Their working directory.
    pub cwd: PathBuf,
    /// Names of environment variables that they don't get, unless their configuration sets them.
    pub secrets: Vec<String>,
    /// Time limit of a server's start.
    pub start_timeout: Duration,
    /// Time limit of each list of prompts or resources, which are read when the tools are known.
    pub list_timeout: Duration,
    /// Time limit of a call without progress.
    pub call_timeout: Duration,
    /// Fraction of the context window above which the tools are found by a search tool instead of being offered.
    pub search_threshold: f64,
    /// Tells whether a user is present; announced to servers when they start.
    pub presence: UserPresence,
    /// The stored logins.
    pub logins: Arc<dyn LoginStorage>,
}

/// Tells whether a user can answer servers' questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UserPresence {
    /// Questions are passed on.
    Present,
    /// Questions are declined, and the client doesn't announce support for them.
    #[default]
    Absent,
}
