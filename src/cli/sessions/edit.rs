//! `tiller sessions rename`, `label`, `hide` and `branch`: each appends entries to a session.

use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

use serde_json::json;

use super::output::print_json;
use crate::cli::console::stderr_line;
use crate::cli::failure::CliFailure;
use crate::cli::startup;
use crate::cli::stdout::print_text;
use crate::session::{AppendedEntry, SessionManager, Visibility, Writer, normalize_name, sync};

/// Queries for a session and for one of its entries.
type EntryQuery<'a> = (&'a str, &'a str);

pub(super) fn rename(
    manager: &SessionManager,
    session: &str,
    name: &str,
    as_json: bool,
) -> Result<(), CliFailure> {
    let (mut writer, modified) = open(manager, session)?;
    let appended = writer.name(Some(name), startup::now())?;
    let message = match writer.reader().name() {
        Some(name) => format!("{} is now named {name}", writer.reader().id().short()),
        None => format!("{} no longer has a name", writer.reader().id().short()),
    };
    finish(&writer, modified, (&appended, &message), as_json)
}

pub(super) fn label(
    manager: &SessionManager,
    (session, entry): EntryQuery<'_>,
    label: Option<&str>,
    as_json: bool,
) -> Result<(), CliFailure> {
    let (mut writer, modified) = open(manager, session)?;
    let entry = writer.reader().find(entry)?;
    let appended = writer.label(&entry, label, startup::now())?;
    let message = match label.and_then(normalize_name) {
        Some(label) => format!("entry {} is now labeled {label}", entry.short()),
        None => format!("entry {} no longer has a label", entry.short()),
    };
    finish(&writer, modified, (&appended, &message), as_json)
}

pub(super) fn hide(
    manager: &SessionManager,
    (session, entry): EntryQuery<'_>,
    visibility: Visibility,
    as_json: bool,
) -> Result<(), CliFailure> {
    let (mut writer, modified) = open(manager, session)?;
    let entry = writer.reader().find(entry)?;
    let appended = writer.hide(&entry, visibility, startup::now())?;
    let message = match visibility {
        Visibility::Hidden => {
            format!("hid entry {} and its descendants; --undo shows them again", entry.short())
        }
        Visibility::Shown => format!("entry {} and its descendants are shown again", entry.short()),
    };
    finish(&writer, modified, (&appended, &message), as_json)
}

pub(super) fn branch(
    manager: &SessionManager,
    (session, entry): EntryQuery<'_>,
    summary: Option<&str>,
    as_json: bool,
) -> Result<(), CliFailure> {
    let (mut writer, modified) = open(manager, session)?;
    let parent = if entry == "root" { None } else { Some(writer.reader().find(entry)?) };
    let summary = summary.map(str::trim).filter(|summary| !summary.is_empty());
    let appended = match summary {
        Some(summary) => writer.branch_with_summary(parent.as_ref(), summary, startup::now())?,
        None => writer.branch(parent.as_ref(), startup::now())?,
    };
    let position =
        parent.map_or("before its first entry".to_owned(), |parent| format!("from entry {}", parent.short()));
    let message = format!("{} continues {position}", writer.reader().id().short());
    finish(&writer, modified, (&appended, &message), as_json)
}

/// Opens a session and returns its modification time: naming or labeling a session must not make it the one
/// that `-c` continues.
pub(super) fn open(
    manager: &SessionManager,
    query: &str,
) -> Result<(Writer, Option<SystemTime>), CliFailure> {
    let path = manager.find(query)?;
    let modified = fs::metadata(&path).and_then(|metadata| metadata.modified()).ok();
    let mut writer = manager.open(&path)?;
    for change in writer.take_external_changes() {
        stderr_line!("warning: {change}; {}", change.hint());
    }
    if !writer.reader().exists() {
        let new_path = writer.reader().path().map(Path::display).map(|path| path.to_string());
        stderr_line!(
            "{} has an older format; the session continues in {}",
            path.display(),
            new_path.unwrap_or_default()
        );
    }
    Ok((writer, modified))
}

/// Restores the session's modification time.
pub(super) fn restore_time(writer: &Writer, modified: Option<SystemTime>) {
    if let (Some(modified), Some(path)) = (modified, writer.reader().path())
        && let Err(error) =
            File::options().append(true).open(path).and_then(|file| file.set_modified(modified))
    {
        tracing::warn!(path = %path.display(), %error, "can't restore the session's modification time");
    }
}

/// Syncs the session file, then reports the result.
fn finish(
    writer: &Writer,
    modified: Option<SystemTime>,
    (appended, message): (&[AppendedEntry], &str),
    as_json: bool,
) -> Result<(), CliFailure> {
    if let Some(file) = writer.file() {
        sync(&*file).map_err(CliFailure::run)?;
    }
    restore_time(writer, modified);
    if !as_json {
        return print_text(&format!("{message}\n"));
    }
    let reader = writer.reader();
    let entries: Vec<_> = appended.iter().map(|entry| &entry.line).collect();
    print_json(&json!({
        "path": reader.path(), "id": reader.id(), "leaf": reader.leaf(), "appended": entries,
    }))
}
