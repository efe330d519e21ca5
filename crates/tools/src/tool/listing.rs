//! Lists of files: the directory that is listed, and the list as a result.

use serde_json::json;

use super::ToolOutput;
use super::atomic_write::describe;
use super::notice::truncation_notice;
use super::truncation::{OutputLimits, TruncationExtent};
use crate::workspace::{FileAccess, ResolvedPath, Workspace};

/// Resolves the argument `path` of a tool that lists a directory; by default the working directory.
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

/// Returns a list of files of the tool `source`, one a line, as far as it fits into the limits.
pub(super) fn show(source: &str, listed: &[String], limits: OutputLimits, has_more: bool) -> ToolOutput {
    let text = listed.concat();
    let head = limits.head(&text);
    let mut output = ToolOutput::text(if text.is_empty() { "[nothing found]" } else { head.text });
    output.details = Some(json!({ "files": head.lines }));
    let hint = format!("only the first {} entries are shown; narrow it down", head.lines);
    if head.extent != TruncationExtent::Whole {
        let total = (!has_more).then(|| text.chars().count());
        output.push_cut(truncation_notice(head.text.chars().count(), total, source, &hint));
    } else if has_more {
        output.push_notice(&hint);
    }
    output
}
