//! `grep`: searches files for lines that match a pattern.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_core::tool_spec::{Access, OutputKind, ShownArgument, ToolSet, ToolTraits, TouchedPaths};
use tiller_files::walk::{CancelFlag, WalkEntryKind, WalkOptions};

use super::atomic_write::describe;
use super::blocking;
use super::limited_output::{OutputOptions, limit_output};
use super::pattern::Pattern;
use super::{ToolEnvironment, ToolOutput, ToolProgress, TypedTool};
use crate::workspace::{FileAccess, Workspace};

mod results;

use results::{SearchResults, ShownMatches};

/// Default limit of matching lines.
const DEFAULT_LIMIT: usize = 200;

/// Maximum number of context lines on each side.
const MAX_CONTEXT: usize = 50;

#[derive(Debug)]
pub(super) struct Grep {
    workspace: Workspace,
    output: OutputOptions,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Regular expression (Rust syntax) that a line must match.
    pattern: String,
    /// File or directory to search, relative to the working directory. Default: the working directory.
    #[serde(default)]
    path: Option<String>,
    /// Search only files that match this glob: `*.rs` by name, `src/**/*.{ts,tsx}` by path from the directory.
    #[serde(default)]
    glob: Option<String>,
    /// Ignore case. Default: false.
    #[serde(default)]
    ignore_case: bool,
    /// Match the pattern as literal text. Default: false.
    #[serde(default)]
    literal: bool,
    /// Lines to show before and after each match. Default: 0.
    #[serde(default)]
    #[schemars(range(max = 50))]
    context: Option<usize>,
    /// Kind of result: the matching `lines`, the `files` with matches, or the `counts` per file. Default:
    /// lines.
    #[serde(default)]
    show: ShownMatches,
    /// Maximum number of matching lines, or of files, to show. Default: 200.
    #[serde(default)]
    limit: Option<NonZeroUsize>,
}

impl Arguments {
    fn matcher(&self) -> Result<RegexMatcher, String> {
        RegexMatcherBuilder::new()
            .case_insensitive(self.ignore_case)
            .fixed_strings(self.literal)
            .line_terminator(Some(b'\n'))
            .build(&self.pattern)
            .map_err(|error| format!("argument `pattern`: {error}"))
    }

    fn searcher(&self) -> Searcher {
        let context = self.context.filter(|_| self.show == ShownMatches::Lines).unwrap_or(0);
        SearcherBuilder::new()
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .binary_detection(BinaryDetection::quit(0))
            .build()
    }
}

impl From<&ToolEnvironment> for Grep {
    fn from(environment: &ToolEnvironment) -> Self {
        Self { workspace: environment.readable(), output: environment.output_options() }
    }
}

impl TypedTool for Grep {
    type Arguments = Arguments;
    const NAME: &'static str = "grep";
    const TRAITS: ToolTraits = ToolTraits {
        shown_argument: ShownArgument::PatternAndPath,
        output: OutputKind::Listing,
        paths: TouchedPaths::Tree,
        set: Some(ToolSet::Files),
        ..ToolTraits::new(Access::Reads)
    };

    fn description(&self) -> String {
        "Searches files for lines that match a regular expression; returns `path:line:text`, or the files or counts. \
         Binary files and files that git ignores are skipped."
            .into()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        if arguments.pattern.is_empty() {
            return Err("argument `pattern`: must not be empty".into());
        }
        if arguments.context.is_some_and(|lines| lines > MAX_CONTEXT) {
            return Err(format!("argument `context`: at most {MAX_CONTEXT} lines"));
        }
        arguments.glob.as_deref().map_or(Ok(()), |glob| Pattern::parse("glob", glob).map(drop))?;
        arguments.matcher().map(drop)
    }

    async fn run(&self, arguments: Arguments, _progress: ToolProgress) -> ToolOutput {
        let (workspace, output) = (self.workspace.clone(), self.output.clone());
        blocking::run(move |cancel| {
            grep(&workspace, &output, &arguments, cancel).unwrap_or_else(ToolOutput::error)
        })
        .await
    }
}

fn grep(
    workspace: &Workspace,
    output: &OutputOptions,
    arguments: &Arguments,
    cancel: &CancelFlag,
) -> Result<ToolOutput, String> {
    let path = arguments.path.as_deref().unwrap_or(".");
    let resolved = workspace.resolve(path, FileAccess::Read).map_err(|error| error.to_string())?;
    let (matcher, mut searcher) = (arguments.matcher()?, arguments.searcher());
    let mut results =
        SearchResults::new(arguments.show, arguments.limit.map_or(DEFAULT_LIMIT, NonZeroUsize::get));
    let metadata = resolved.path().metadata().map_err(|error| describe(resolved.display_path(), &error))?;
    let mut search = |file: &File, display_path: &str| {
        // A file that can't be read to its end is searched as far as possible.
        let _ = searcher.search_file(&matcher, file, results.file_sink(display_path));
        !results.is_full()
    };
    if metadata.is_dir() {
        let glob = arguments.glob.as_deref().map(|glob| Pattern::parse("glob", glob)).transpose()?;
        let options = WalkOptions { cancel: cancel.clone(), ..WalkOptions::default() };
        let entries =
            workspace.walk(&resolved, options).map_err(|error| describe(resolved.display_path(), &error))?;
        let matches = |path: &Path| glob.as_ref().is_none_or(|glob| glob.matches(path));
        for entry in
            entries.filter(|entry| entry.kind == WalkEntryKind::File && matches(&entry.relative_path))
        {
            let file_path = workspace.resolve_entry(&resolved, &entry);
            let Ok(file) = require_file(workspace.open(&file_path), file_path.display_path()) else {
                continue;
            };
            if !search(&file, file_path.display_path()) {
                break;
            }
        }
    } else {
        search(&require_file(workspace.open(&resolved), resolved.display_path())?, resolved.display_path());
    }
    Ok(show(results, output))
}

fn require_file(opened: io::Result<File>, display_path: &str) -> Result<File, String> {
    let file = opened.map_err(|error| describe(display_path, &error))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(file),
        Ok(_) => Err(format!("{display_path} is neither a file nor a directory")),
        Err(error) => Err(describe(display_path, &error)),
    }
}

fn show(results: SearchResults, options: &OutputOptions) -> ToolOutput {
    let details = json!({ "matches": results.matches, "files": results.files });
    let output = ToolOutput { details: Some(details), ..ToolOutput::text(&results.text) };
    let mut output = limit_output(output, Grep::NAME, options);
    if results.is_full() {
        output.push_notice(
            "there may be more matches than are shown; narrow the search with path, glob or pattern",
        );
    } else if results.matches == 0 {
        output.push_notice("no matches");
    }
    output
}
