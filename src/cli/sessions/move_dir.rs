//! `tiller sessions move`: reassigns the sessions of a moved project.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use serde_json::json;
use tiller_core::counted::counted;

use super::edit::{open, restore_time};
use super::output::{one_line, print_json};
use crate::cli::console::stderr_line;
use crate::cli::failure::{CliFailure, DONE, FAILED};
use crate::cli::stdout::print_text;
use crate::cli::{git_remote, startup};
use crate::config::Config;
use crate::session::entry::TillerEntry;
use crate::session::{EntryBody, PageRequest, SessionManager, SessionScope, SessionSummary, sync};

/// Reassigns the sessions of `from`, which must not exist, to the working directory. The session files stay
/// where they are; an entry appended to each records the move.
pub(super) fn move_sessions(
    manager: &SessionManager,
    config: &Config,
    from: &Path,
    as_json: bool,
) -> Result<u8, CliFailure> {
    if from.exists() {
        let hint = format!(
            "only sessions of a directory that no longer exists can be reassigned; to work in {dir}, use \
             `tiller --cwd {dir}`",
            dir = from.display()
        );
        return Err(CliFailure::usage(anyhow!("{} still exists", from.display())).hint(hint));
    }
    let from = from.display().to_string();
    let listing = manager.catalog()?.page(SessionScope::Everywhere, PageRequest::default())?;
    let sessions: Vec<SessionSummary> =
        listing.sessions.into_iter().filter(|session| session.cwd == from).collect();
    if sessions.is_empty() {
        return Err(CliFailure::usage(anyhow!("{from} has no sessions"))
            .hint("`tiller sessions list --all` shows each session's directory"));
    }
    let remote = git_remote::find_remote(manager.cwd(), config);
    let mut moved: Vec<&PathBuf> = Vec::new();
    for session in &sessions {
        match append_move(manager, session, remote.as_deref()) {
            Ok(()) => moved.push(&session.path),
            Err(failure) => {
                stderr_line!("warning: {} was not moved: {}", session.id.short(), failure.text())
            }
        }
    }
    let cwd = manager.cwd().display().to_string();
    if as_json {
        print_json(&json!({"from": from, "to": cwd, "moved": moved}))?;
    } else {
        print_text(&format!(
            "moved {} from {} to {}\n",
            counted(moved.len(), "session", "sessions"),
            one_line(&from),
            one_line(&cwd)
        ))?;
    }
    Ok(if moved.len() == sessions.len() { DONE } else { FAILED })
}

fn append_move(
    manager: &SessionManager,
    session: &SessionSummary,
    remote: Option<&str>,
) -> Result<(), CliFailure> {
    let (mut writer, modified) = open(manager, &session.path.display().to_string())?;
    let entry = TillerEntry::Run {
        mode: "move".to_owned(),
        resumed: true,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        cwd: Some(manager.cwd().display().to_string()),
        remote: remote.map(str::to_owned),
    };
    writer.append(EntryBody::from_tiller(&entry), startup::now())?;
    if let Some(file) = writer.file() {
        sync(&*file).map_err(CliFailure::run)?;
    }
    restore_time(&writer, modified);
    Ok(())
}
