//! The dependencies of the built-in tools.

use std::path::PathBuf;

use tiller_core::setting::Settings;

use super::truncation::OutputLimits;
use crate::process::Runner;
use crate::workspace::Workspace;

/// The dependencies of the built-in tools.
#[derive(Clone, Debug)]
pub struct ToolEnvironment {
    /// The files that the tools may reach.
    pub workspace: Workspace,
    /// The runner of commands.
    pub runner: Runner,
    /// Limits of one result.
    pub limits: OutputLimits,
    /// Time limits of commands.
    pub bash: BashTimes,
    /// Folder for outputs that are over the limits; created when needed, readable by the tools.
    pub scratch: PathBuf,
}

impl ToolEnvironment {
    /// Creates an environment with default limits and times.
    #[must_use]
    pub fn new(workspace: Workspace, runner: Runner, scratch: impl Into<PathBuf>) -> Self {
        let (limits, bash) = (OutputLimits::default(), BashTimes::default());
        Self { workspace, runner, limits, bash, scratch: scratch.into() }
    }

    /// Returns the workspace with the stored outputs, for tools that read.
    pub(super) fn readable(&self) -> Workspace {
        self.workspace.clone().with_readable(&self.scratch)
    }
}

/// Time limits for commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BashTimes {
    /// Default timeout, in seconds.
    pub timeout_s: u64,
    /// Maximum timeout of a call, in seconds.
    pub max_timeout_s: u64,
}

impl Default for BashTimes {
    /// The defaults of the settings.
    fn default() -> Self {
        Self::from(&Settings::default())
    }
}

impl From<&Settings> for BashTimes {
    fn from(settings: &Settings) -> Self {
        Self { timeout_s: settings.bash_timeout_s(), max_timeout_s: settings.bash_max_timeout_s() }
    }
}
