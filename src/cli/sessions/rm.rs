//! `tiller sessions rm`.

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use serde_json::json;

use super::output::{one_line, print_json};
use crate::cli::console::{stderr_line, stderr_text};
use crate::cli::failure::CliFailure;
use crate::cli::stdout::print_text;
use crate::session::{DeleteMode, PendingDelete, Reader, SessionManager, SessionScope};

/// The confirmation before sessions are removed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Confirmation {
    Ask,
    Skip,
}

pub(super) fn rm(
    manager: &SessionManager,
    queries: &[String],
    (delete_mode, confirmation): (DeleteMode, Confirmation),
    as_json: bool,
) -> Result<(), CliFailure> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for query in queries {
        let path = resolve(manager, query)?;
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    // All sessions are locked before the first is removed: if one is in use, none is removed.
    let pending = paths.iter().map(|path| PendingDelete::lock(path)).collect::<Result<Vec<_>, _>>()?;
    if confirmation == Confirmation::Ask && !confirm(&paths, delete_mode)? {
        return print_text("nothing removed\n");
    }
    let mut removed = Vec::new();
    for pending in pending {
        let path = pending.remove(delete_mode)?;
        if !as_json {
            let action = if delete_mode == DeleteMode::ToTrash { "moved to the trash" } else { "deleted" };
            print_text(&format!("{action}: {}\n", path.display()))?;
        }
        removed.push(json!({"path": path, "trashed": delete_mode == DeleteMode::ToTrash}));
    }
    if as_json { print_json(&json!({"removed": removed})) } else { Ok(()) }
}

/// Resolves a query to a file, and checks that it is a session file.
fn resolve(manager: &SessionManager, query: &str) -> Result<PathBuf, CliFailure> {
    let path = manager.find(query)?;
    let is_ours = manager.logs(SessionScope::Everywhere)?.contains(&path);
    if !is_ours && let Err(error) = Reader::open(&path) {
        return Err(CliFailure::from(error)
            .hint("`sessions rm` removes only session files; this file was not changed"));
    }
    // A symbolic link is removed itself, not its target.
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let real = dir.canonicalize().map(|dir| dir.join(path.file_name().unwrap_or_default()));
    real.with_context(|| format!("can't find {}", path.display())).map_err(CliFailure::usage)
}

fn confirm(paths: &[PathBuf], delete_mode: DeleteMode) -> Result<bool, CliFailure> {
    if !io::stdin().is_terminal() {
        return Err(CliFailure::usage(anyhow!("can't ask for confirmation: stdin is not a terminal"))
            .hint("--yes removes the sessions without confirmation"));
    }
    for path in paths {
        stderr_line!("{}", describe(path));
    }
    match delete_mode {
        DeleteMode::ToTrash => stderr_text!("Move to the trash? [y/N] "),
        DeleteMode::Permanently => stderr_text!("Delete permanently? [y/N] "),
    }
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("can't read the answer").map_err(CliFailure::run)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn describe(path: &Path) -> String {
    let Ok(reader) = Reader::open(path) else { return format!("  {}", path.display()) };
    let title = reader.name().or_else(|| reader.first_prompt()).unwrap_or_else(|| "(empty)".to_owned());
    format!("  {}  {} ({} entries)", reader.id().short(), one_line(&title), reader.entry_count())
}
