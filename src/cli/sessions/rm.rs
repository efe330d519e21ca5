//! `tiller sessions rm`.

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use serde_json::json;

use super::{one_line, print_json, say};
use crate::cli::CliFailure;
use crate::cli::console::{stderr_line, stderr_text};
use crate::session::{DeleteMode, PendingDelete, Reader, SessionManager, SessionScope};

/// Whether somebody has to say yes first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Confirmation {
    Yes,
    No,
}

pub(super) fn rm(
    manager: &SessionManager,
    words: &[String],
    (farewell, asking): (DeleteMode, Confirmation),
    as_json: bool,
) -> Result<(), CliFailure> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for words in words {
        let path = session(manager, words)?;
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    // All of them are held before the first one goes: one that is in use stops the whole.
    let doomed = paths.iter().map(|path| PendingDelete::hold(path)).collect::<Result<Vec<_>, _>>()?;
    if asking == Confirmation::Yes && !agreed(&paths, farewell)? {
        return say("nothing was removed\n");
    }
    let mut removed = Vec::new();
    for doomed in doomed {
        let path = doomed.remove(farewell)?;
        if !as_json {
            let gone = if farewell == DeleteMode::ToTrash { "moved to the trash" } else { "deleted" };
            say(&format!("{gone}: {}\n", path.display()))?;
        }
        removed.push(json!({"path": path, "trashed": farewell == DeleteMode::ToTrash}));
    }
    if as_json { print_json(&json!({"removed": removed})) } else { Ok(()) }
}

/// The file that is meant, if it is a log at all.
fn session(manager: &SessionManager, words: &str) -> Result<PathBuf, CliFailure> {
    let path = manager.find(words)?;
    let is_ours = manager.logs(SessionScope::Everywhere)?.contains(&path);
    if !is_ours && let Err(error) = Reader::open(&path) {
        return Err(CliFailure::from(error).hint("only sessions are removed; this file is left alone"));
    }
    // Of a link it is the link that goes, not what it leads to.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let real = folder.canonicalize().map(|folder| folder.join(path.file_name().unwrap_or_default()));
    real.with_context(|| format!("can't find {}", path.display())).map_err(CliFailure::usage)
}

fn agreed(paths: &[PathBuf], farewell: DeleteMode) -> Result<bool, CliFailure> {
    if !io::stdin().is_terminal() {
        return Err(CliFailure::usage(anyhow!("nobody is there to say whether these sessions may go"))
            .hint("--yes removes them without asking"));
    }
    for path in paths {
        stderr_line!("{}", described(path));
    }
    match farewell {
        DeleteMode::ToTrash => stderr_text!("Move to the trash? [y/N] "),
        DeleteMode::ForGood => stderr_text!("Delete for good? [y/N] "),
    }
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("can't read the answer").map_err(CliFailure::run)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn described(path: &Path) -> String {
    let Ok(reader) = Reader::open(path) else { return format!("  {}", path.display()) };
    let title = reader.name().or_else(|| reader.first_prompt()).unwrap_or_else(|| "(empty)".to_owned());
    format!("  {}  {} ({} entries)", reader.id().short(), one_line(&title), reader.entry_count())
}
