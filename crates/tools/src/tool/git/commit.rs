//! `git_commit`: commits the staged changes.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::tool_spec::{Access, OutputKind, ShownArgument, ToolSet, ToolTraits};

use super::Git;
use crate::tool::{ToolEnvironment, ToolOutput, ToolProgress, TypedTool};

#[derive(Debug)]
pub(in crate::tool) struct GitCommit(Git);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tool) struct Arguments {
    /// The message: a subject of at most 72 characters; if more is needed, a blank line and the rest.
    message: String,
    /// Also commit the changes of tracked files that aren't staged. Default: false.
    #[serde(default)]
    all: bool,
    /// Replace the last commit. Default: false.
    #[serde(default)]
    amend: bool,
}

impl Arguments {
    fn command(&self) -> Vec<OsString> {
        let all = self.all.then(|| "--all".to_owned());
        let amend = self.amend.then(|| "--amend".to_owned());
        let message = format!("--message={}", self.message);
        ["commit".to_owned(), message].into_iter().chain(all).chain(amend).map(OsString::from).collect()
    }
}

impl From<&ToolEnvironment> for GitCommit {
    fn from(environment: &ToolEnvironment) -> Self {
        Self(Git::new(Self::NAME, environment))
    }
}

impl TypedTool for GitCommit {
    type Arguments = Arguments;
    const NAME: &'static str = "git_commit";
    const TRAITS: ToolTraits = ToolTraits {
        shown_argument: ShownArgument::Named("message"),
        output: OutputKind::Command,
        set: Some(ToolSet::Git),
        uses_sandbox: true,
        ..ToolTraits::new(Access::Executes)
    };

    fn description(&self) -> String {
        "Commits the staged changes. The repository's hooks run.".into()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        match arguments.message.as_str() {
            message if message.trim().is_empty() => Err("argument `message`: must not be empty".into()),
            message if message.contains('\0') => {
                Err("argument `message`: must not contain NUL characters".into())
            }
            _ => Ok(()),
        }
    }

    async fn run(&self, arguments: Arguments, progress: ToolProgress) -> ToolOutput {
        self.0.run(arguments.command(), &progress).await
    }
}
