//! `find_files`: finds files by a glob.

use std::cmp::Reverse;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::tool_spec::{Access, OutputKind, ShownArgument, ToolSet, ToolTraits, TouchedPaths};
use tiller_files::walk::{CancelFlag, WalkEntry, WalkEntryKind, WalkOptions};

use super::atomic_write::describe;
use super::blocking;
use super::limited_output::OutputOptions;
use super::listing::{resolve_dir, show};
use super::pattern::Pattern;
use super::{ToolEnvironment, ToolOutput, ToolProgress, TypedTool};
use crate::workspace::Workspace;

/// Default limit of files.
const DEFAULT_LIMIT: usize = 200;

#[derive(Debug)]
pub(super) struct FindFiles {
    workspace: Workspace,
    output: OutputOptions,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Glob that files must match: `*.rs` by name at any depth, `src/**/*.{ts,tsx}` by path from the directory.
    pattern: String,
    /// Directory to search, relative to the working directory. Default: the working directory.
    #[serde(default)]
    path: Option<String>,
    /// Maximum number of files to list. Default: 200.
    #[serde(default)]
    limit: Option<NonZeroUsize>,
}

impl From<&ToolEnvironment> for FindFiles {
    fn from(environment: &ToolEnvironment) -> Self {
        Self { workspace: environment.readable(), output: environment.output_options() }
    }
}

impl TypedTool for FindFiles {
    type Arguments = Arguments;
    const NAME: &'static str = "find_files";
    const TRAITS: ToolTraits = ToolTraits {
        shown_argument: ShownArgument::PatternAndPath,
        output: OutputKind::Listing,
        paths: TouchedPaths::Tree,
        set: Some(ToolSet::Files),
        ..ToolTraits::new(Access::Reads)
    };

    fn description(&self) -> String {
        "Finds files by glob, most recently changed first. Files that git ignores are skipped.".into()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        if arguments.pattern.is_empty() {
            return Err("argument `pattern`: must not be empty".into());
        }
        Pattern::parse("pattern", &arguments.pattern).map(drop)
    }

    async fn run(&self, arguments: Arguments, _progress: ToolProgress) -> ToolOutput {
        let (workspace, output) = (self.workspace.clone(), self.output.clone());
        blocking::run(move |cancel| {
            find(&workspace, &output, &arguments, cancel).unwrap_or_else(ToolOutput::error)
        })
        .await
    }
}

fn find(
    workspace: &Workspace,
    output: &OutputOptions,
    arguments: &Arguments,
    cancel: &CancelFlag,
) -> Result<ToolOutput, String> {
    let resolved = resolve_dir(workspace, arguments.path.as_deref())?;
    let display_path = resolved.display_path();
    let pattern = Pattern::parse("pattern", &arguments.pattern)?;
    let options = WalkOptions { cancel: cancel.clone(), ..WalkOptions::default() };
    let entries = workspace.walk(&resolved, options).map_err(|error| describe(display_path, &error))?;
    let is_match =
        |entry: &WalkEntry| entry.kind != WalkEntryKind::Directory && pattern.matches(&entry.relative_path);
    let mut found: Vec<WalkEntry> = entries.filter(is_match).collect();
    found.sort_by_key(|entry| Reverse(entry.modified));
    let limit = arguments.limit.map_or(DEFAULT_LIMIT, NonZeroUsize::get);
    let names = found
        .iter()
        .take(limit)
        .map(|entry| format!("{}\n", workspace.resolve_entry(&resolved, entry).display_path()));
    Ok(show(FindFiles::NAME, &names.collect::<Vec<_>>(), output, found.len() > limit))
}
