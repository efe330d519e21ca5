//! `edit_file`: replaces text in a file.

use std::fs::Metadata;

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::tool_spec::{Access, OutputKind, ToolSet, ToolTraits, TouchedPaths};

use super::atomic_write::{FileContent, WriteTarget, describe};
use super::diff::FileDiff;
use super::seen_files::{SeenFiles, add_seen};
use super::{PreviewFuture, ToolEnvironment, ToolOutput, ToolProgress, TypedTool, atomic_write, blocking};
use crate::workspace::{FileAccess, ResolvedPath, Workspace};

mod matching;

use matching::{Edit, EditedText, FailedEdit, Fidelity};

#[derive(Debug)]
pub(super) struct EditFile {
    workspace: Workspace,
    seen: SeenFiles,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// File to edit, relative to the working directory.
    path: String,
    /// Text to replace, exactly as it is in the file, with enough surrounding lines to be unique.
    #[serde(default)]
    old_text: Option<String>,
    /// Replacement text; empty to delete.
    #[serde(default)]
    new_text: Option<String>,
    /// Replace every occurrence instead of the only one. Default: false.
    #[serde(default)]
    replace_all: bool,
    /// Several edits of the file, instead of old_text and new_text. Each is matched against the original file, so they
    /// must not overlap.
    #[serde(default)]
    edits: Option<Vec<EditArguments>>,
}

/// One of several edits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct EditArguments {
    /// Text to replace, exactly as it is in the file, and unique there.
    old_text: String,
    /// Replacement text; empty to delete.
    new_text: String,
    /// Replace every occurrence instead of the only one. Default: false.
    #[serde(default)]
    replace_all: bool,
}

impl Arguments {
    /// Returns the edits in the order in which they are given.
    ///
    /// # Errors
    /// A sentence for the model.
    fn edits(&self) -> Result<Vec<Edit<'_>>, String> {
        match (&self.edits, &self.old_text, &self.new_text) {
            (Some(_), None, None) if self.replace_all => {
                Err("argument `replace_all`: set it in each of `edits`".into())
            }
            (Some(edits), None, None) => Ok(edits.iter().map(EditArguments::edit).collect()),
            (Some(_), ..) => Err("argument `edits`: can't be combined with old_text and new_text".into()),
            (None, Some(old), Some(new)) => Ok(vec![Edit { old, new, replace_all: self.replace_all }]),
            (None, None, _) => Err("missing argument `old_text`".into()),
            (None, Some(_), None) => Err("missing argument `new_text`".into()),
        }
    }

    /// Returns the name of an argument of the edit with this index.
    fn name(&self, index: usize, argument: &str) -> String {
        if self.edits.is_some() { format!("edits[{index}].{argument}") } else { argument.to_owned() }
    }
}

impl EditArguments {
    fn edit(&self) -> Edit<'_> {
        Edit { old: &self.old_text, new: &self.new_text, replace_all: self.replace_all }
    }
}

impl From<&ToolEnvironment> for EditFile {
    fn from(environment: &ToolEnvironment) -> Self {
        Self { workspace: environment.workspace.clone(), seen: environment.seen.clone() }
    }
}

impl TypedTool for EditFile {
    type Arguments = Arguments;
    const NAME: &'static str = "edit_file";
    const TRAITS: ToolTraits = ToolTraits {
        output: OutputKind::Diff,
        paths: TouchedPaths::File,
        set: Some(ToolSet::Files),
        ..ToolTraits::new(Access::Writes)
    };

    fn description(&self) -> String {
        "Edits a file: replaces old_text, which must occur exactly once, with new_text, or applies several \
         edits. To create a file, use write_file."
            .into()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        let edits = arguments.edits()?;
        if edits.is_empty() {
            return Err("argument `edits`: at least one edit".into());
        }
        for (index, edit) in edits.iter().enumerate() {
            if edit.old.is_empty() {
                let name = arguments.name(index, "old_text");
                return Err(format!(
                    "argument `{name}`: must not be empty; to create a file, use write_file"
                ));
            }
            if edit.old == edit.new {
                let name = arguments.name(index, "new_text");
                return Err(format!("argument `{name}`: is the same as old_text, so nothing would change"));
            }
        }
        Ok(())
    }

    async fn run(&self, arguments: Arguments, _progress: ToolProgress) -> ToolOutput {
        let (workspace, seen) = (self.workspace.clone(), self.seen.clone());
        blocking::run(move |_| edit(&workspace, &seen, &arguments).unwrap_or_else(ToolOutput::error)).await
    }

    fn preview(&self, arguments: Arguments) -> Option<PreviewFuture<'_>> {
        let workspace = self.workspace.clone();
        Some(blocking::preview(move || {
            let resolved = resolve(&workspace, &arguments)?;
            let display_path = resolved.display_path();
            let content = atomic_write::read(&workspace, &resolved)?;
            let PlannedEdit { old_text, edited, .. } = plan_edit(content, display_path, &arguments)?;
            Ok(FileDiff::new(display_path, &old_text, &edited.text).preview(display_path))
        }))
    }
}

/// An edit's result, before it is written.
struct PlannedEdit {
    metadata: Metadata,
    old_text: String,
    edited: EditedText,
}

fn resolve(workspace: &Workspace, arguments: &Arguments) -> Result<ResolvedPath, String> {
    workspace.resolve(&arguments.path, FileAccess::Write).map_err(|error| error.to_string())
}

fn plan_edit(content: FileContent, display_path: &str, arguments: &Arguments) -> Result<PlannedEdit, String> {
    let FileContent { bytes, metadata } = content;
    let old_text = String::from_utf8(bytes).map_err(|_| {
        format!("{display_path} is not UTF-8 text, and editing it here would damage it; use bash")
    })?;
    let edited =
        matching::apply(&arguments.edits()?, &old_text).map_err(|FailedEdit { index, problem }| {
            let reason = problem.describe(display_path);
            if arguments.edits.is_some() {
                format!("edits[{index}]: {reason}; nothing changed")
            } else {
                reason
            }
        })?;
    if edited.text == old_text {
        return Err(format!("{display_path} already has this text; nothing changed"));
    }
    Ok(PlannedEdit { metadata, old_text, edited })
}

fn edit(workspace: &Workspace, seen: &SeenFiles, arguments: &Arguments) -> Result<ToolOutput, String> {
    let resolved = resolve(workspace, arguments)?;
    let (path, display_path) = (resolved.path(), resolved.display_path());
    // Opening the target would create missing directories.
    path.symlink_metadata().map_err(|error| describe(display_path, &error))?;
    let target = WriteTarget::open(workspace, &resolved)?;
    let content = atomic_write::read(workspace, &resolved)?;
    let is_known = !seen.has_changed(&path, &content.bytes);
    let PlannedEdit { metadata, old_text, edited } = plan_edit(content, display_path, arguments)?;
    target.write(edited.text.as_bytes(), Some(&metadata))?;
    // The model still hasn't seen changes by others, which the edit has kept.
    if is_known {
        seen.record(&path, edited.text.as_bytes());
    }
    let diff = FileDiff::new(display_path, &old_text, &edited.text);
    let mut text = format!("edited {display_path}, line {}: +{} −{}", edited.line, diff.added, diff.removed);
    if edited.count > 1 {
        text.push_str(&format!(", {} places", edited.count));
    }
    if edited.fidelity == Fidelity::Similar {
        text.push_str("\n[old_text matched only after normalizing trailing spaces, quotes and dashes]");
    }
    let mut output = ToolOutput { details: Some(diff.details(display_path)), ..ToolOutput::text(text) };
    if is_known {
        add_seen(&mut output, display_path, edited.text.as_bytes());
    }
    Ok(output)
}
