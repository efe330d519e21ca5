//! `list_files`: lists a folder, or finds files by a glob.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_core::tool_spec::{Access, OutputKind, ToolTraits, TouchedPaths};
use tiller_files::walk::{CancelFlag, WalkEntryKind, WalkOptions};

use super::atomic_write::describe;
use super::blocking;
use super::pattern::Pattern;
use super::truncation::{OutputLimits, TruncationExtent};
use super::{ToolEnvironment, ToolOutput, ToolProgress, TypedTool};
use crate::workspace::{FileAccess, Workspace};

/// Default limit of entries.
const DEFAULT_LIMIT: usize = 1_000;

#[derive(Debug)]
pub(super) struct ListFiles {
    workspace: Workspace,
    limits: OutputLimits,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Folder to list, relative to the working directory. Default: the working directory.
    #[serde(default)]
    path: Option<String>,
    /// List only what matches this glob, at any depth: `*.rs` by name, `src/**/*.{ts,tsx}` by path from the folder.
    #[serde(default)]
    pattern: Option<String>,
    /// How many levels deep to list. Default: 1, with a pattern all.
    #[serde(default)]
    #[schemars(range(min = 1))]
    depth: Option<usize>,
    /// Maximum number of entries to list. Default: 1000.
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

impl From<&ToolEnvironment> for ListFiles {
    fn from(environment: &ToolEnvironment) -> Self {
        Self { workspace: environment.readable(), limits: environment.limits }
    }
}

impl TypedTool for ListFiles {
    type Arguments = Arguments;
    const NAME: &'static str = "list_files";
    const TRAITS: ToolTraits = ToolTraits {
        output: OutputKind::Listing,
        paths: TouchedPaths::Tree,
        ..ToolTraits::new(Access::Reads)
    };

    fn description(&self) -> String {
        "Lists a folder, or finds files by a glob. Folders end with `/`. What git ignores is left out.".into()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        for (name, value) in [("depth", arguments.depth), ("limit", arguments.limit)] {
            if value == Some(0) {
                return Err(format!("argument `{name}`: at least 1"));
            }
        }
        arguments.pattern.as_deref().map_or(Ok(()), |glob| Pattern::parse("pattern", glob).map(drop))
    }

    async fn run(&self, arguments: Arguments, _progress: ToolProgress) -> ToolOutput {
        let (workspace, limits) = (self.workspace.clone(), self.limits);
        blocking::run(move |cancel| {
            list(&workspace, limits, &arguments, cancel).unwrap_or_else(ToolOutput::error)
        })
        .await
    }
}

fn list(
    workspace: &Workspace,
    limits: OutputLimits,
    arguments: &Arguments,
    cancel: &CancelFlag,
) -> Result<ToolOutput, String> {
    let path = arguments.path.as_deref().unwrap_or(".");
    let resolved = workspace.resolve(path, FileAccess::Read).map_err(|error| error.to_string())?;
    let display_path = resolved.display_path();
    let metadata = resolved.path().metadata().map_err(|error| describe(display_path, &error))?;
    if !metadata.is_dir() {
        return Err(format!("{display_path} is not a folder; read_file shows files"));
    }
    let pattern = arguments.pattern.as_deref().map(|glob| Pattern::parse("pattern", glob)).transpose()?;
    let max_depth = arguments.depth.or(if pattern.is_some() { None } else { Some(1) });
    let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT);
    let options = WalkOptions { max_depth, cancel: cancel.clone(), ..WalkOptions::default() };
    let entries = workspace.walk(&resolved, options).map_err(|error| describe(display_path, &error))?;
    let mut names = entries.filter_map(|entry| {
        let matches = pattern.as_ref().is_none_or(|pattern| pattern.matches(&entry.relative_path));
        let mark = if entry.kind == WalkEntryKind::Folder { "/" } else { "" };
        matches.then(|| format!("{}{mark}\n", entry.relative_path.display()))
    });
    let listed: Vec<String> = names.by_ref().take(limit).collect();
    let has_more = names.next().is_some();
    Ok(show(display_path, &listed, limits, has_more))
}

fn show(display_path: &str, listed: &[String], limits: OutputLimits, has_more: bool) -> ToolOutput {
    let text = listed.concat();
    let head = limits.head(&text);
    let is_cut = head.extent != TruncationExtent::Whole;
    let mut output = match head.lines {
        0 => ToolOutput::text("[nothing found]"),
        count if is_cut || has_more => ToolOutput::text(format!(
            "{}[only the first {count} entries are shown; narrow it down with path, pattern or depth]",
            head.text
        )),
        _ => ToolOutput::text(head.text),
    };
    output.details = Some(json!({ "files": head.lines }));
    output.warning =
        is_cut.then(|| format!("{display_path}: only {} entries fit into the result", head.lines));
    output
}
