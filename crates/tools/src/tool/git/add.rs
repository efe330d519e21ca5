//! `git_add`: stages files.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::tool_spec::{Access, OutputKind, ToolSet, ToolTraits};

use super::Git;
use crate::tool::{ToolEnvironment, ToolOutput, ToolProgress, TypedTool};

#[derive(Debug)]
pub(in crate::tool) struct GitAdd(Git);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tool) struct Arguments {
    /// Files and directories to stage, with deletions; `.` for all.
    paths: Vec<String>,
}

impl From<&ToolEnvironment> for GitAdd {
    fn from(environment: &ToolEnvironment) -> Self {
        Self(Git::new(Self::NAME, environment))
    }
}

impl TypedTool for GitAdd {
    type Arguments = Arguments;
    const NAME: &'static str = "git_add";
    // The repository's filters run.
    const TRAITS: ToolTraits = ToolTraits {
        output: OutputKind::Command,
        set: Some(ToolSet::Git),
        uses_sandbox: true,
        ..ToolTraits::new(Access::Executes)
    };

    fn description(&self) -> String {
        "Stages files for the next commit.".into()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        if arguments.paths.is_empty() { Err("argument `paths`: at least one path".into()) } else { Ok(()) }
    }

    async fn run(&self, arguments: Arguments, progress: ToolProgress) -> ToolOutput {
        let pathspecs: Result<Vec<OsString>, String> =
            arguments.paths.iter().map(|path| self.0.pathspec(path)).collect();
        match pathspecs {
            Ok(pathspecs) => {
                let command = ["add", "--verbose", "--all", "--"].map(OsString::from);
                self.0.run(command.into_iter().chain(pathspecs).collect(), &progress).await
            }
            Err(reason) => ToolOutput::error(reason),
        }
    }
}
