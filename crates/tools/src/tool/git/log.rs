//! `git_log`: lists commits.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::tool_spec::{Access, OutputKind, ShownArgument, ToolSet, ToolTraits, TouchedPaths};

use super::{Git, check_name};
use crate::tool::{ToolEnvironment, ToolOutput, ToolProgress, TypedTool};

/// Default limit of commits.
const DEFAULT_LIMIT: usize = 20;

#[derive(Debug)]
pub(in crate::tool) struct GitLog(Git);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tool) struct Arguments {
    /// Commit or branch to start from, or a range: `main`, `v1..v2`. Default: the current commit.
    #[serde(default)]
    revision: Option<String>,
    /// List only commits that change this file or directory.
    #[serde(default)]
    path: Option<String>,
    /// Detail of each commit: its `subject`, its full `message`, or also its `patch`. Default: subject.
    #[serde(default)]
    show: CommitDetail,
    /// Maximum number of commits. Default: 20.
    #[serde(default)]
    limit: Option<NonZeroUsize>,
}

/// The detail shown of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum CommitDetail {
    #[default]
    Subject,
    Message,
    Patch,
}

impl Arguments {
    fn command(&self) -> Vec<OsString> {
        let limit = format!("--max-count={}", self.limit.map_or(DEFAULT_LIMIT, NonZeroUsize::get));
        let shown: &[&str] = match self.show {
            CommitDetail::Subject => &["--format=%C(auto)%h%Creset %ad %an%C(auto)%d%Creset %s"],
            CommitDetail::Message => &["--format=medium"],
            CommitDetail::Patch => &["--format=medium", "--patch", "--stat"],
        };
        let fixed = ["log", "--date=short", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"];
        let chosen = fixed.into_iter().chain(shown.iter().copied()).chain([limit.as_str()]);
        chosen.chain(self.revision.as_deref()).map(OsString::from).collect()
    }
}

impl From<&ToolEnvironment> for GitLog {
    fn from(environment: &ToolEnvironment) -> Self {
        Self(Git::new(Self::NAME, environment))
    }
}

impl TypedTool for GitLog {
    type Arguments = Arguments;
    const NAME: &'static str = "git_log";
    const TRAITS: ToolTraits = ToolTraits {
        shown_argument: ShownArgument::FirstOf(&["revision", "path"]),
        output: OutputKind::Command,
        paths: TouchedPaths::Tree,
        set: Some(ToolSet::Git),
        ..ToolTraits::new(Access::Reads)
    };

    fn description(&self) -> String {
        "Lists commits, newest first.".into()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        arguments.revision.as_deref().map_or(Ok(()), |revision| check_name("revision", revision))
    }

    async fn run(&self, arguments: Arguments, progress: ToolProgress) -> ToolOutput {
        self.0.read_path(arguments.command(), arguments.path.as_deref(), "[no commits]", &progress).await
    }
}
