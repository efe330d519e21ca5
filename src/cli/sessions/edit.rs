//! `tiller sessions rename`, `label`, `hide` and `branch`: an entry more after a session's leaf.

use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

use serde_json::json;

use super::{print_json, say};
use crate::cli::console::stderr_line;
use crate::cli::{CliFailure, wiring};
use crate::session::{Appended, SessionManager, Visibility, Writer, sync};

/// The words for a session and for an entry of it.
type NamedSession<'a> = (&'a str, &'a str);

pub(super) fn rename(
    manager: &SessionManager,
    session: &str,
    name: &str,
    as_json: bool,
) -> Result<(), CliFailure> {
    let (mut writer, before) = open(manager, session)?;
    let appended = writer.name(Some(name), wiring::now())?;
    let done = match writer.reader().name() {
        Some(name) => format!("{} is called {name} now", writer.reader().id().short()),
        None => format!("{} has no name any more", writer.reader().id().short()),
    };
    tell(&writer, before, (&appended, &done), as_json)
}

pub(super) fn label(
    manager: &SessionManager,
    (session, entry): NamedSession<'_>,
    label: Option<&str>,
    as_json: bool,
) -> Result<(), CliFailure> {
    let (mut writer, before) = open(manager, session)?;
    let entry = writer.reader().find(entry)?;
    let appended = writer.label(&entry, label, wiring::now())?;
    let done = match label.map(str::trim).filter(|label| !label.is_empty()) {
        Some(label) => format!("entry {} is labelled {label} now", entry.short()),
        None => format!("entry {} has no label any more", entry.short()),
    };
    tell(&writer, before, (&appended, &done), as_json)
}

pub(super) fn hide(
    manager: &SessionManager,
    (session, entry): NamedSession<'_>,
    visibility: Visibility,
    as_json: bool,
) -> Result<(), CliFailure> {
    let (mut writer, before) = open(manager, session)?;
    let entry = writer.reader().find(entry)?;
    let appended = writer.hide(&entry, visibility, wiring::now())?;
    let done = match visibility {
        Visibility::Hidden => {
            format!("entry {} and what follows it are hidden; --undo brings them back", entry.short())
        }
        Visibility::Shown => format!("entry {} and what follows it are in the tree again", entry.short()),
    };
    tell(&writer, before, (&appended, &done), as_json)
}

pub(super) fn branch(
    manager: &SessionManager,
    (session, entry): NamedSession<'_>,
    summary: Option<&str>,
    as_json: bool,
) -> Result<(), CliFailure> {
    let (mut writer, before) = open(manager, session)?;
    let to = if entry == "root" { None } else { Some(writer.reader().find(entry)?) };
    let summary = summary.map(str::trim).filter(|summary| !summary.is_empty());
    let appended = match summary {
        Some(summary) => writer.branch_with_summary(to.as_ref(), summary, wiring::now())?,
        None => writer.branch(to.as_ref(), wiring::now())?,
    };
    let place = to.map_or("before its first entry".to_owned(), |to| format!("from entry {}", to.short()));
    let done = format!("{} goes on {place}", writer.reader().id().short());
    tell(&writer, before, (&appended, &done), as_json)
}

/// Opens a session, and says when it was last written to: by naming or labelling it, it doesn't become the one that `-c` goes on with.
pub(super) fn open(
    manager: &SessionManager,
    words: &str,
) -> Result<(Writer, Option<SystemTime>), CliFailure> {
    let path = manager.find(words)?;
    let before = fs::metadata(&path).and_then(|facts| facts.modified()).ok();
    let mut writer = manager.open(&path)?;
    for disturbance in writer.take_disturbances() {
        stderr_line!("warning: {disturbance}; {}", disturbance.hint());
    }
    if !writer.reader().exists() {
        let goes_on = writer.reader().path().map(Path::display).map(|path| path.to_string());
        stderr_line!(
            "{} is of an older version; it goes on in {}",
            path.display(),
            goes_on.unwrap_or_default()
        );
    }
    Ok((writer, before))
}

/// Gives a session back the time at which somebody last worked on it.
pub(super) fn keep_time(writer: &Writer, before: Option<SystemTime>) {
    if let (Some(before), Some(path)) = (before, writer.reader().path())
        && let Err(error) = File::options().append(true).open(path).and_then(|file| file.set_modified(before))
    {
        tracing::warn!(path = %path.display(), %error, "the session's time of change could not be kept");
    }
}

/// Brings what was written to the disk, then says so.
fn tell(
    writer: &Writer,
    before: Option<SystemTime>,
    (appended, done): (&[Appended], &str),
    as_json: bool,
) -> Result<(), CliFailure> {
    if let Some(file) = writer.file() {
        sync(&*file).map_err(CliFailure::run)?;
    }
    keep_time(writer, before);
    if !as_json {
        return say(&format!("{done}\n"));
    }
    let reader = writer.reader();
    let entries: Vec<_> = appended.iter().map(|entry| &entry.line).collect();
    print_json(&json!({
        "path": reader.path(), "id": reader.id(), "leaf": reader.leaf(), "appended": entries,
    }))
}
