//! `write_file`: creates a file, or replaces its content.

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::counted::counted;
use tiller_core::tool_spec::{Access, OutputKind, ToolSet, ToolTraits, TouchedPaths};

use super::atomic_write::{FileContent, WriteTarget};
use super::diff::FileDiff;
use super::seen_files::{SeenFiles, add_seen};
use super::{PreviewFuture, ToolEnvironment, ToolOutput, ToolProgress, TypedTool, atomic_write, blocking};
use crate::workspace::{FileAccess, ResolvedPath, Workspace};

#[derive(Debug)]
pub(super) struct WriteFile {
    workspace: Workspace,
    seen: SeenFiles,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// File to write, relative to the working directory.
    path: String,
    /// The complete content of the file.
    content: String,
}

impl From<&ToolEnvironment> for WriteFile {
    fn from(environment: &ToolEnvironment) -> Self {
        Self { workspace: environment.workspace.clone(), seen: environment.seen.clone() }
    }
}

impl TypedTool for WriteFile {
    type Arguments = Arguments;
    const NAME: &'static str = "write_file";
    const TRAITS: ToolTraits = ToolTraits {
        output: OutputKind::Diff,
        paths: TouchedPaths::File,
        set: Some(ToolSet::Files),
        ..ToolTraits::new(Access::Writes)
    };

    fn description(&self) -> String {
        "Writes a whole file: creates it with its parent directories, or replaces its content. \
         To change part of a file, use edit_file."
            .into()
    }

    async fn run(&self, arguments: Arguments, _progress: ToolProgress) -> ToolOutput {
        let (workspace, seen) = (self.workspace.clone(), self.seen.clone());
        blocking::run(move |_| write(&workspace, &seen, &arguments).unwrap_or_else(ToolOutput::error)).await
    }

    fn preview(&self, arguments: Arguments) -> Option<PreviewFuture<'_>> {
        let workspace = self.workspace.clone();
        Some(blocking::preview(move || {
            let resolved = resolve(&workspace, &arguments)?;
            let old = read_existing(&workspace, &resolved)?;
            let (display_path, old_text) =
                (resolved.display_path(), text_of(old.as_ref()).unwrap_or_default());
            Ok(FileDiff::new(display_path, &old_text, &arguments.content).preview(display_path))
        }))
    }
}

fn resolve(workspace: &Workspace, arguments: &Arguments) -> Result<ResolvedPath, String> {
    workspace.resolve(&arguments.path, FileAccess::Write).map_err(|error| error.to_string())
}

/// Reads the current content of the file, if it exists.
fn read_existing(workspace: &Workspace, resolved: &ResolvedPath) -> Result<Option<FileContent>, String> {
    let exists = resolved.path().symlink_metadata().is_ok();
    exists.then(|| atomic_write::read(workspace, resolved)).transpose()
}

fn text_of(old: Option<&FileContent>) -> Option<String> {
    old.map(|old| String::from_utf8_lossy(&old.bytes).into_owned())
}

fn write(workspace: &Workspace, seen: &SeenFiles, arguments: &Arguments) -> Result<ToolOutput, String> {
    let resolved = resolve(workspace, arguments)?;
    let (path, display_path) = (resolved.path(), resolved.display_path());
    let target = WriteTarget::open(workspace, &resolved)?;
    let old = read_existing(workspace, &resolved)?;
    if old.as_ref().is_some_and(|old| seen.has_changed(&path, &old.bytes)) {
        return Err(format!(
            "{display_path} has changed since you read or wrote it; read it again, so that no change is lost"
        ));
    }
    let content = arguments.content.as_bytes();
    target.write(content, old.as_ref().map(|old| &old.metadata))?;
    seen.record(&path, content);
    let old_text = text_of(old.as_ref());
    let diff = FileDiff::new(display_path, old_text.as_deref().unwrap_or_default(), &arguments.content);
    let verb = if old_text.is_some() { "replaced" } else { "created" };
    let lines = counted(arguments.content.lines().count(), "line", "lines");
    let bytes = counted(arguments.content.len(), "byte", "bytes");
    let text = format!("{verb} {display_path} ({lines}, {bytes})");
    let mut output = ToolOutput { details: Some(diff.details(display_path)), ..ToolOutput::text(text) };
    add_seen(&mut output, display_path, content);
    Ok(output)
}
