//! `edit_file`: replaces text in a file.

use std::fs::Metadata;

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::tool_spec::{Access, OutputKind, ToolTraits, TouchedPaths};

use super::atomic_write::FileContent;
use super::diff::FileDiff;
use super::{PreviewFuture, ToolEnvironment, ToolOutput, ToolProgress, TypedTool, atomic_write, blocking};
use crate::workspace::{FileAccess, ResolvedPath, Workspace};

mod matching;

use matching::{Edit, Edited, Fidelity};

#[derive(Debug)]
pub(super) struct EditFile {
    workspace: Workspace,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// File to edit, relative to the working directory.
    path: String,
    /// Text to replace, exactly as it is in the file, with enough lines around it to be there only once.
    old_text: String,
    /// Text to put in its place; empty to delete.
    new_text: String,
    /// Replace every occurrence instead of the only one. Default: false.
    #[serde(default)]
    replace_all: bool,
}

impl From<&ToolEnvironment> for EditFile {
    fn from(environment: &ToolEnvironment) -> Self {
        Self { workspace: environment.workspace.clone() }
    }
}

impl TypedTool for EditFile {
    type Arguments = Arguments;
    const NAME: &'static str = "edit_file";
    const TRAITS: ToolTraits =
        ToolTraits { output: OutputKind::Diff, paths: TouchedPaths::File, ..ToolTraits::new(Access::Writes) };

    fn description(&self) -> String {
        "Changes a file: replaces old_text, which must occur exactly once, with new_text. To make a file, use \
         write_file."
            .into()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        if arguments.old_text.is_empty() {
            return Err("argument `old_text`: must not be empty; to make a file, use write_file".into());
        }
        if arguments.old_text == arguments.new_text {
            return Err("argument `new_text`: is the same as old_text, so nothing would change".into());
        }
        Ok(())
    }

    async fn run(&self, arguments: Arguments, _progress: ToolProgress) -> ToolOutput {
        let workspace = self.workspace.clone();
        blocking::run(move |_| edit(&workspace, &arguments).unwrap_or_else(ToolOutput::error)).await
    }

    fn preview(&self, arguments: Arguments) -> Option<PreviewFuture<'_>> {
        let workspace = self.workspace.clone();
        Some(blocking::preview(move || {
            let PlannedEdit { resolved, old_text, edited, .. } = plan_edit(&workspace, &arguments)?;
            let display_path = resolved.display_path();
            Ok(FileDiff::new(display_path, &old_text, &edited.text).preview(display_path))
        }))
    }
}

/// The result of an edit, before it is written.
struct PlannedEdit {
    resolved: ResolvedPath,
    metadata: Metadata,
    old_text: String,
    edited: Edited,
}

fn plan_edit(workspace: &Workspace, arguments: &Arguments) -> Result<PlannedEdit, String> {
    let resolved =
        workspace.resolve(&arguments.path, FileAccess::Write).map_err(|error| error.to_string())?;
    let display_path = resolved.display_path();
    let FileContent { bytes, metadata } = atomic_write::read(workspace, &resolved)?;
    let old_text = String::from_utf8(bytes).map_err(|_| {
        format!("{display_path} is not UTF-8 text, and editing it here would damage it; use bash")
    })?;
    let edit =
        Edit { old: &arguments.old_text, new: &arguments.new_text, replace_all: arguments.replace_all };
    let edited = edit.apply(&old_text).map_err(|problem| problem.describe(display_path))?;
    if edited.text == old_text {
        return Err(format!("{display_path} already has this text; nothing changed"));
    }
    Ok(PlannedEdit { resolved, metadata, old_text, edited })
}

fn edit(workspace: &Workspace, arguments: &Arguments) -> Result<ToolOutput, String> {
    let PlannedEdit { resolved, metadata, old_text, edited } = plan_edit(workspace, arguments)?;
    let display_path = resolved.display_path();
    atomic_write::write(workspace, &resolved, edited.text.as_bytes(), Some(&metadata))?;
    let diff = FileDiff::new(display_path, &old_text, &edited.text);
    let mut text = format!("edited {display_path}, line {}: +{} −{}", edited.line, diff.added, diff.removed);
    if edited.count > 1 {
        text.push_str(&format!(", {} places", edited.count));
    }
    if edited.fidelity == Fidelity::Similar {
        text.push_str("\n[old_text matched only after normalizing trailing spaces, quotes and dashes]");
    }
    Ok(ToolOutput { details: Some(diff.details(display_path)), ..ToolOutput::text(text) })
}
