//! `list_files`: lists a directory.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::tool_spec::{Access, OutputKind, ToolSet, ToolTraits, TouchedPaths};
use tiller_files::walk::{CancelFlag, WalkEntryKind, WalkOptions};

use super::atomic_write::describe;
use super::blocking;
use super::limited_output::OutputOptions;
use super::listing::{resolve_dir, show};
use super::{ToolEnvironment, ToolOutput, ToolProgress, TypedTool};
use crate::workspace::Workspace;

/// Default limit of entries.
const DEFAULT_LIMIT: usize = 1_000;

#[derive(Debug)]
pub(super) struct ListFiles {
    workspace: Workspace,
    output: OutputOptions,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Directory to list, relative to the working directory. Default: the working directory.
    #[serde(default)]
    path: Option<String>,
    /// Maximum depth of the listing. Default: 1.
    #[serde(default)]
    depth: Option<NonZeroUsize>,
    /// Maximum number of entries to list. Default: 1000.
    #[serde(default)]
    limit: Option<NonZeroUsize>,
}

impl From<&ToolEnvironment> for ListFiles {
    fn from(environment: &ToolEnvironment) -> Self {
        Self { workspace: environment.readable(), output: environment.output_options() }
    }
}

impl TypedTool for ListFiles {
    type Arguments = Arguments;
    const NAME: &'static str = "list_files";
    const TRAITS: ToolTraits = ToolTraits {
        output: OutputKind::Listing,
        paths: TouchedPaths::Tree,
        set: Some(ToolSet::Files),
        ..ToolTraits::new(Access::Reads)
    };

    fn description(&self) -> String {
        "Lists a directory. Directories end with `/`. Files that git ignores are skipped.".into()
    }

    async fn run(&self, arguments: Arguments, _progress: ToolProgress) -> ToolOutput {
        let (workspace, output) = (self.workspace.clone(), self.output.clone());
        blocking::run(move |cancel| {
            list(&workspace, &output, &arguments, cancel).unwrap_or_else(ToolOutput::error)
        })
        .await
    }
}

fn list(
    workspace: &Workspace,
    output: &OutputOptions,
    arguments: &Arguments,
    cancel: &CancelFlag,
) -> Result<ToolOutput, String> {
    let resolved = resolve_dir(workspace, arguments.path.as_deref())?;
    let display_path = resolved.display_path();
    let limit = arguments.limit.map_or(DEFAULT_LIMIT, NonZeroUsize::get);
    let max_depth = Some(arguments.depth.map_or(1, NonZeroUsize::get));
    let options = WalkOptions { max_depth, cancel: cancel.clone(), ..WalkOptions::default() };
    let entries = workspace.walk(&resolved, options).map_err(|error| describe(display_path, &error))?;
    let mut names = entries.map(|entry| {
        let mark = if entry.kind == WalkEntryKind::Directory { "/" } else { "" };
        format!("{}{mark}\n", entry.relative_path.display())
    });
    let listed: Vec<String> = names.by_ref().take(limit).collect();
    let has_more = names.next().is_some();
    Ok(show(ListFiles::NAME, &listed, output, has_more))
}
