//! The dependencies of the built-in tools.

use std::path::PathBuf;

use tiller_core::setting::Settings;
use tiller_core::tool_spec::ToolSet;
use tiller_files::git;

use super::github::GithubRepository;
use super::job_table::JobTable;
use super::limited_output::OutputOptions;
use super::seen_files::SeenFiles;
use super::truncation::OutputLimits;
use crate::process::Runner;
use crate::sandbox::Sandbox;
use crate::workspace::Workspace;

/// The dependencies of the built-in tools.
#[derive(Clone, Debug)]
pub struct ToolEnvironment {
    /// The files that the tools may access.
    pub workspace: Workspace,
    /// The runner of commands.
    pub runner: Runner,
    /// The sandbox for commands.
    pub sandbox: Sandbox,
    /// Limits of one result.
    pub limits: OutputLimits,
    /// Time limits of commands.
    pub bash: BashTimes,
    /// Directory for outputs that exceed the limits; created on demand, readable by the tools.
    pub scratch: PathBuf,
    /// The repository on GitHub, if there is one and a token for it.
    pub github: Option<GithubRepository>,
    /// The files that the model has seen.
    pub seen: SeenFiles,
    /// The background jobs of the session.
    pub jobs: JobTable,
}

impl ToolEnvironment {
    /// Creates an environment with default limits and times, and without a sandbox.
    #[must_use]
    pub fn new(workspace: Workspace, runner: Runner, scratch: impl Into<PathBuf>) -> Self {
        let (limits, bash) = (OutputLimits::default(), BashTimes::default());
        let (scratch, seen, jobs) = (scratch.into(), SeenFiles::default(), JobTable::default());
        Self { workspace, runner, sandbox: Sandbox::off(), limits, bash, scratch, github: None, seen, jobs }
    }

    /// Returns the limits of results.
    pub(super) fn output_options(&self) -> OutputOptions {
        OutputOptions { limits: self.limits, scratch: self.scratch.clone() }
    }

    /// Returns true if the tools of a set can work in this environment.
    pub(super) fn has(&self, set: Option<ToolSet>) -> bool {
        match set {
            Some(ToolSet::Git) => git::find(self.workspace.root()).is_some(),
            Some(ToolSet::Github) => self.github.is_some(),
            Some(
                ToolSet::Files
                | ToolSet::Bash
                | ToolSet::Web
                | ToolSet::Plan
                | ToolSet::Agents
                | ToolSet::Mcp,
            )
            | None => true,
        }
    }

    /// Returns the workspace including the stored outputs, for tools that read.
    pub(super) fn readable(&self) -> Workspace {
        self.workspace.clone().with_readable(&self.scratch)
    }
}

/// Time limits for commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BashTimes {
    /// Default timeout, in seconds, at most the maximum.
    pub timeout_s: u64,
    /// Maximum timeout of a call, in seconds.
    pub max_timeout_s: u64,
}

impl Default for BashTimes {
    /// Returns the defaults of the settings.
    fn default() -> Self {
        Self::from(&Settings::default())
    }
}

impl From<&Settings> for BashTimes {
    fn from(settings: &Settings) -> Self {
        let max_timeout_s = settings.bash_max_timeout_s();
        Self { timeout_s: settings.bash_timeout_s().min(max_timeout_s), max_timeout_s }
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::setting::{BASH_MAX_TIMEOUT_S, BASH_TIMEOUT_S, SettingSource};

    use super::*;

    #[test]
    fn bash_times_default_is_at_most_the_maximum() {
        let mut settings = Settings::default();
        for (setting, seconds) in [(&BASH_TIMEOUT_S, "900"), (&BASH_MAX_TIMEOUT_S, "60")] {
            settings.set(setting, setting.parse(seconds).unwrap(), SettingSource::Default);
        }
        assert_eq!(BashTimes::from(&settings), BashTimes { timeout_s: 60, max_timeout_s: 60 });
    }
}
