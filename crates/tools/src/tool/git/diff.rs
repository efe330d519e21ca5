//! `git_diff`: shows changes.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::tool_spec::{Access, OutputKind, ShownArgument, ToolSet, ToolTraits, TouchedPaths};

use super::{Git, check_name};
use crate::tool::{ToolEnvironment, ToolOutput, ToolProgress, TypedTool};

#[derive(Debug)]
pub(in crate::tool) struct GitDiff(Git);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tool) struct Arguments {
    /// Commit or branch to compare the files with, or two of them to compare with each other: `main`, `v1..v2`,
    /// `main...HEAD`. Default: the index.
    #[serde(default)]
    revision: Option<String>,
    /// Compare the staged changes instead of the files. Default: false.
    #[serde(default)]
    staged: bool,
    /// Show only changes to this file or directory.
    #[serde(default)]
    path: Option<String>,
    /// Show only the changed files, with the number of changed lines. Default: false.
    #[serde(default)]
    stat: bool,
}

impl Arguments {
    fn command(&self) -> Vec<OsString> {
        let fixed = ["diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"];
        let staged = self.staged.then_some("--cached");
        let stat = self.stat.then_some("--stat");
        let chosen = fixed.into_iter().chain(staged).chain(stat).chain(self.revision.as_deref());
        chosen.map(OsString::from).collect()
    }
}

impl From<&ToolEnvironment> for GitDiff {
    fn from(environment: &ToolEnvironment) -> Self {
        Self(Git::new(Self::NAME, environment))
    }
}

impl TypedTool for GitDiff {
    type Arguments = Arguments;
    const NAME: &'static str = "git_diff";
    const TRAITS: ToolTraits = ToolTraits {
        shown_argument: ShownArgument::FirstOf(&["revision", "path"]),
        output: OutputKind::Command,
        paths: TouchedPaths::Tree,
        set: Some(ToolSet::Git),
        ..ToolTraits::new(Access::Reads)
    };

    fn description(&self) -> String {
        "Shows changes to tracked files: unstaged, staged, or between commits.".into()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        arguments.revision.as_deref().map_or(Ok(()), |revision| check_name("revision", revision))
    }

    async fn run(&self, arguments: Arguments, progress: ToolProgress) -> ToolOutput {
        let (mut command, empty_notice) = (arguments.command(), "[no changes]");
        if let Some(path) = &arguments.path {
            return self.0.read_path(command, Some(path), empty_notice, &progress).await;
        }
        // The pathspec of the whole repository prevents git from comparing a "revision" outside it as a file.
        command.extend(["--", ":/"].map(OsString::from));
        self.0.read(command, empty_notice, &progress).await
    }
}
