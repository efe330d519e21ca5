//! `git_status`: shows the branch and the changed files.

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::tool_spec::{Access, OutputKind, ToolSet, ToolTraits};

use super::Git;
use crate::tool::{ToolEnvironment, ToolOutput, ToolProgress, TypedTool};

#[derive(Debug)]
pub(in crate::tool) struct GitStatus(Git);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tool) struct Arguments {}

impl From<&ToolEnvironment> for GitStatus {
    fn from(environment: &ToolEnvironment) -> Self {
        Self(Git::new(Self::NAME, environment))
    }
}

impl TypedTool for GitStatus {
    type Arguments = Arguments;
    const NAME: &'static str = "git_status";
    const TRAITS: ToolTraits =
        ToolTraits { output: OutputKind::Command, set: Some(ToolSet::Git), ..ToolTraits::new(Access::Reads) };

    fn description(&self) -> String {
        "Shows the branch and the changed files, like `git status --short --branch`.".into()
    }

    async fn run(&self, _arguments: Arguments, progress: ToolProgress) -> ToolOutput {
        let arguments = ["status", "--short", "--branch", "--ignore-submodules=dirty"].map(Into::into).into();
        self.0.read(arguments, "[nothing has changed]", &progress).await
    }
}
