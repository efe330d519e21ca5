//! `tiller sessions move`: a project was moved, and its sessions go with it.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use serde_json::json;

use super::edit::{keep_time, open};
use super::{one_line, print_json, say};
use crate::cli::console::stderr_line;
use crate::cli::{CliFailure, DONE, FAILED, git_remote, wiring};
use crate::session::entry::TillerEntry;
use crate::session::{EntryBody, PageRequest, SessionManager, SessionScope, SessionSummary, sync};

/// Lets the sessions of `from`, which is gone, be those of the working directory. The logs stay where they are; each gets an entry that
/// says so.
pub(super) fn relocate(manager: &SessionManager, from: &Path, as_json: bool) -> Result<u8, CliFailure> {
    if from.exists() {
        return Err(CliFailure::usage(anyhow!("{} is still there", from.display()))
            .hint("sessions stay with their directory while it is there; --cwd works in it from elsewhere"));
    }
    let from = from.display().to_string();
    let listing = manager.catalog()?.page(SessionScope::Everywhere, PageRequest::default())?;
    let theirs: Vec<SessionSummary> =
        listing.sessions.into_iter().filter(|session| session.cwd == from).collect();
    if theirs.is_empty() {
        return Err(CliFailure::usage(anyhow!("there is no session of {from}"))
            .hint("`tiller sessions list --all` shows the directories as they are to be written"));
    }
    let mut moved: Vec<&PathBuf> = Vec::new();
    for session in &theirs {
        match take_along(manager, session) {
            Ok(()) => moved.push(&session.path),
            Err(failure) => stderr_line!("warning: {} stays: {:#}", session.id.short(), failure.error),
        }
    }
    let here = manager.cwd().display().to_string();
    if as_json {
        print_json(&json!({"from": from, "to": here, "moved": moved}))?;
    } else {
        let sessions = if moved.len() == 1 { "session" } else { "sessions" };
        say(&format!("{} {sessions} of {} are of {} now\n", moved.len(), one_line(&from), one_line(&here)))?;
    }
    Ok(if moved.len() == theirs.len() { DONE } else { FAILED })
}

fn take_along(manager: &SessionManager, session: &SessionSummary) -> Result<(), CliFailure> {
    let (mut writer, before) = open(manager, &session.path.display().to_string())?;
    let fact = TillerEntry::Run {
        mode: "move".to_owned(),
        resumed: true,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        cwd: Some(manager.cwd().display().to_string()),
        remote: git_remote::of(manager.cwd()),
    };
    writer.append(EntryBody::own(&fact), wiring::now())?;
    if let Some(file) = writer.file() {
        sync(&*file).map_err(CliFailure::run)?;
    }
    keep_time(&writer, before);
    Ok(())
}
