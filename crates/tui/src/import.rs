//! `/import`: imports sessions from other programs, chosen from a list or by path.
//!
//! The caller of the front end provides the service, because the front end writes no logs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tiller_core::counted::counted;
use tiller_core::unit::UnixMs;
use tiller_render::Role;
use tiller_session::import::{ImportResult, ImportStatus, LogPeek};

use crate::dialog::Dialog;
use crate::message::TaskResult;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::text::one_line;

/// An error with a hint.
type ImportError = (String, Option<String>);

type FindForeignLogs = dyn Fn() -> Result<ForeignLogs, ImportError> + Send + Sync;
type ImportLogs = dyn Fn(&Path, &str) -> Result<Vec<ImportResult>, ImportError> + Send + Sync;

/// A log of another program.
#[derive(Clone, Debug)]
pub struct ForeignLog {
    /// The log's path.
    pub path: PathBuf,
    /// The time of the last modification.
    pub modified: UnixMs,
    /// Data from the start of the log.
    pub peek: LogPeek,
}

/// The logs of other programs on this machine.
#[derive(Clone, Debug, Default)]
pub struct ForeignLogs {
    /// The logs, the newest first.
    pub logs: Vec<ForeignLog>,
    /// The searched directories, with the names of their programs.
    pub looked_in: Vec<(&'static str, PathBuf)>,
}

/// Finds and imports sessions from other programs.
#[derive(Clone)]
pub struct ImportService {
    find: Arc<FindForeignLogs>,
    take: Arc<ImportLogs>,
}

impl ImportService {
    /// Creates a service from two functions. `find` returns the logs and the searched directories. `take`
    /// imports a log or a directory of logs; it gets the working directory and the path as typed.
    pub fn new(
        find: impl Fn() -> Result<ForeignLogs, ImportError> + Send + Sync + 'static,
        take: impl Fn(&Path, &str) -> Result<Vec<ImportResult>, ImportError> + Send + Sync + 'static,
    ) -> Self {
        Self { find: Arc::new(find), take: Arc::new(take) }
    }

    pub(super) fn find(&self) -> Result<ForeignLogs, ImportError> {
        (self.find)()
    }

    pub(super) fn import(&self, cwd: &Path, typed: &str) -> Result<Vec<ImportResult>, ImportError> {
        (self.take)(cwd, typed)
    }
}

impl std::fmt::Debug for ImportService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ImportService")
    }
}

/// Returns the result of importing `typed`; offers to open the imported sessions.
pub(super) fn import_result(imported: &[ImportResult], typed: &str) -> TaskResult {
    let sessions: Vec<PickerItem> = imported.iter().filter_map(open_item).collect();
    let reason = imported.iter().find_map(|imported| imported.reason.as_deref());
    match (sessions.len(), imported) {
        (0, []) => {
            let message = "no log found to import".to_owned();
            TaskResult::invalid_input(format!("/import {typed}"), (message, None))
        }
        (0, _) => failure(format!("nothing was imported: {}", one_line(reason.unwrap_or_default()))),
        (1, [imported]) => open_dialog(describe(imported), sessions),
        (count, all) => {
            let remaining = all.len() - count;
            let title = format!("{count} sessions available");
            open_dialog(
                if remaining == 0 { title } else { format!("{title}, {remaining} skipped") },
                sessions,
            )
        }
    }
}

fn failure(message: String) -> TaskResult {
    let hint = Some("`tiller sessions import --help` lists the supported formats".to_owned());
    TaskResult::Failed { message, hint, text: None }
}

fn open_dialog(title: String, mut items: Vec<PickerItem>) -> TaskResult {
    items.push(PickerItem::new("stay here", PickerChoice::Nothing));
    TaskResult::Dialog(Dialog { title, items })
}

fn describe(imported: &ImportResult) -> String {
    match imported.status {
        ImportStatus::Imported => format!("imported, {}", counted(imported.entries, "entry", "entries")),
        ImportStatus::Updated => {
            format!("imported {}", counted(imported.entries, "new entry", "new entries"))
        }
        ImportStatus::Unchanged => "already imported, nothing new".to_owned(),
        ImportStatus::Skipped | ImportStatus::Failed => "not imported".to_owned(),
    }
}

fn open_item(imported: &ImportResult) -> Option<PickerItem> {
    let (path, id) = (imported.path.clone()?, imported.id.as_ref()?);
    let source = imported.source.file_name().unwrap_or_default().to_string_lossy();
    let item =
        PickerItem::new(format!("open it, session {}", one_line(id.short())), PickerChoice::Open(path));
    Some(item.with_note(one_line(&source)).in_role(Role::Text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(status: ImportStatus, reason: Option<&str>) -> ImportResult {
        let path = (!matches!(status, ImportStatus::Skipped | ImportStatus::Failed))
            .then(|| PathBuf::from("/s/a.jsonl"));
        ImportResult {
            from: None,
            source: "/h/.claude/a.jsonl".into(),
            status,
            id: path.as_ref().map(|_| "01JD6X9QWERTYUIOPASDFGHJKL".into()),
            path,
            entries: 24,
            notes: Vec::new(),
            reason: reason.map(str::to_owned),
        }
    }

    fn title(report: TaskResult) -> String {
        match report {
            TaskResult::Dialog(Dialog { title, items }) => format!("{title} ({})", items.len()),
            TaskResult::Failed { message, .. } => message,
            TaskResult::InvalidInput { typed, message, .. } => format!("{}: {message}", typed.text),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn import_result_offers_sessions_and_reports_reasons() {
        let result = |imported: &[ImportResult]| super::import_result(imported, "logs");
        assert_eq!(title(result(&[imported(ImportStatus::Imported, None)])), "imported, 24 entries (2)");
        let skipped = imported(ImportStatus::Skipped, Some("the file is empty"));
        assert_eq!(title(result(std::slice::from_ref(&skipped))), "nothing was imported: the file is empty");
        let several =
            [imported(ImportStatus::Imported, None), imported(ImportStatus::Unchanged, None), skipped];
        assert_eq!(title(result(&several)), "2 sessions available, 1 skipped (3)");
        assert_eq!(title(result(&[])), "/import logs: no log found to import");
    }
}
