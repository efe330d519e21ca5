//! Lists of files: the listed directory, and the list as a result.

use serde_json::json;

use super::ToolOutput;
use super::atomic_write::describe;
use super::limited_output::{OutputOptions, limit_output};
use crate::workspace::{FileAccess, ResolvedPath, Workspace};

/// Resolves the argument `path` of a tool that lists a directory. Default: the working directory.
///
/// # Errors
/// A sentence for the model.
pub(super) fn resolve_dir(workspace: &Workspace, path: Option<&str>) -> Result<ResolvedPath, String> {
    let resolved = workspace.resolve(path.unwrap_or("."), FileAccess::Read);
    let resolved = resolved.map_err(|error| error.to_string())?;
    let display_path = resolved.display_path();
    let metadata = resolved.path().metadata().map_err(|error| describe(display_path, &error))?;
    if !metadata.is_dir() {
        return Err(format!("{display_path} is not a directory; read_file shows files"));
    }
    Ok(resolved)
}

/// Formats a list of files of the tool `source`, one per line. If it exceeds the limits, the full list is
/// stored in a file.
pub(super) fn show(source: &str, listed: &[String], options: &OutputOptions, has_more: bool) -> ToolOutput {
    let text = listed.concat();
    let mut output = ToolOutput::text(if text.is_empty() { "[nothing found]" } else { &text });
    output.details = Some(json!({ "files": listed.len() }));
    let mut output = limit_output(output, source, options);
    if has_more {
        output.push_notice(&format!("only the first {} entries are shown; narrow it down", listed.len()));
    }
    output
}
