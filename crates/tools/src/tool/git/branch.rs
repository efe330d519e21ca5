//! `git_branch`: lists branches, or switches to one.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::tool_spec::{Access, OutputKind, ToolSet, ToolTraits};

use super::{Git, check_name};
use crate::tool::{ToolEnvironment, ToolOutput, ToolProgress, TypedTool};

#[derive(Debug)]
pub(in crate::tool) struct GitBranch(Git);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tool) struct Arguments {
    /// Branch to switch to. Default: none; the branches are listed.
    #[serde(default)]
    name: Option<String>,
    /// Create the branch. Default: false.
    #[serde(default)]
    create: bool,
    /// Commit or branch that a new branch starts from. Default: the current commit.
    #[serde(default)]
    start: Option<String>,
}

impl From<&ToolEnvironment> for GitBranch {
    fn from(environment: &ToolEnvironment) -> Self {
        Self(Git::new(Self::NAME, environment))
    }
}

impl TypedTool for GitBranch {
    type Arguments = Arguments;
    const NAME: &'static str = "git_branch";
    const TRAITS: ToolTraits = ToolTraits {
        output: OutputKind::Command,
        set: Some(ToolSet::Git),
        reads_without: Some("name"),
        uses_sandbox: true,
        ..ToolTraits::new(Access::Executes)
    };

    fn description(&self) -> String {
        "Lists branches, most recently changed first; with a name, switches to a branch or creates one."
            .into()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        match (&arguments.name, &arguments.start) {
            (None, Some(_)) => Err("argument `start`: only with `name` and `create`".into()),
            (None, None) if arguments.create => Err("argument `create`: only with `name`".into()),
            (Some(_), Some(_)) if !arguments.create => Err("argument `start`: only with `create`".into()),
            (name, start) => {
                name.as_deref().map_or(Ok(()), |name| check_name("name", name))?;
                start.as_deref().map_or(Ok(()), |start| check_name("start", start))
            }
        }
    }

    async fn run(&self, arguments: Arguments, progress: ToolProgress) -> ToolOutput {
        let Some(name) = arguments.name else {
            let format = "--format=%(HEAD) %(refname:short) %(objectname:short) %(contents:subject)";
            let command = ["branch", "--all", "--no-column", "--sort=-committerdate", format];
            return self.0.read(command.map(Into::into).into(), "[no branches]", &progress).await;
        };
        let create = arguments.create.then(|| "--create".to_owned());
        let command = ["switch".to_owned()].into_iter().chain(create).chain([name]).chain(arguments.start);
        self.0.run(command.map(OsString::from).collect(), &progress).await
    }
}
