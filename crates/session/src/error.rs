//! Errors of logs and of the session directory.

use std::io;
use std::path::{Path, PathBuf};

use tiller_core::counted::counted;
use tiller_core::id::{EntryId, MIN_FRAGMENT};
use tiller_core::os_error::without_code;

use super::lock_holder::LockHolder;

/// A failed operation on a log or on the directory of logs.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The file can't be opened, read or created.
    #[error("session file {path}: can't {action}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The attempted operation, after "can't".
        action: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// The directory of a log can't be created.
    #[error("can't create the directory {path}")]
    CreateDir {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A line could not be written completely; earlier lines are intact.
    #[error("session file {path}: the entry was not written")]
    Append {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The written data may not survive a power failure.
    #[error("session file {path}: can't be synced to the disk")]
    Sync {
        /// The file, or its directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Another program truncated or overwrote the file. The remaining lines were read again.
    #[error(
        "session file {path}: another program truncated or overwrote it; {} lost{}",
        count_entries(*.lost),
        backup_note(.backup.as_deref())
    )]
    Cut {
        /// The file.
        path: PathBuf,
        /// Entries that are no longer in it.
        lost: usize,
        /// New path of the file, if it was no longer a session and was renamed.
        backup: Option<PathBuf>,
    },
    /// Line 1 is not a session header.
    #[error("session file {path}, line 1: {problem}")]
    Header {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// This version of tiller can't write, or can't read, the log's version.
    #[error(
        "session file {path}: log version {version} can't be {action}; this version of tiller writes version 3"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
        /// A participle after "can't be", such as `written`.
        action: &'static str,
    },
    /// Another process is writing to it.
    #[error("session file {path}: another tiller process has it open{}", holder_note(.holder.as_ref()))]
    Locked {
        /// The file.
        path: PathBuf,
        /// The holder, if its note can be read.
        holder: Option<LockHolder>,
    },
    /// Another program's log can't be imported.
    #[error("{path}, line {line}: {problem}")]
    Import {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The problem.
        problem: String,
    },
    /// No entry has this id.
    #[error("no entry `{0}` in this session")]
    NoEntry(EntryId),
    /// No entry, or more than one, matches the user's query.
    #[error("{0}")]
    EntryNotFound(String),
    /// The branch to hide is the current one.
    #[error("entry {0} is on the current branch, which can't be hidden")]
    InUse(EntryId),
    /// A file can't be restored from the trash.
    #[error("session file {path}: can't be restored from the trash ({reason})")]
    NotRestored {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The file can't be moved to the trash.
    #[error("session file {path}: can't be moved to the trash ({reason})")]
    NoTrash {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The entry's head (id, parent and type) can be read, but not its body.
    #[error("session file {path}, line {line}: entry {id} is damaged: {problem}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The entry.
        id: EntryId,
        /// The parser's message.
        problem: String,
    },
    /// The catalog can't be stored in its file or in a temporary one.
    #[error("the session catalog can't be used")]
    Catalog(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// No session or entry, or more than one, matches the user's query.
    #[error("{0}")]
    NotFound(String),
}

impl SessionError {
    /// Advice for the user.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Locked { .. } => Some(
                "attach to it: tiller --attach ID; or fork it: tiller --fork ID; or close the other tiller",
            ),
            Self::Append { .. } => Some(
                "earlier entries are intact; free up space or repair the disk, then send the message again",
            ),
            Self::Header { .. } => Some(
                "the file was not modified; if it is a session log, its first line is damaged or missing",
            ),
            Self::Version { .. } => Some("use a newer version of tiller"),
            Self::NotFound(_) => Some("`tiller sessions list --all` lists all sessions"),
            Self::Damaged { .. } => {
                Some("the line is kept unchanged; entries before and after it are intact")
            }
            Self::Sync { .. } => Some(
                "the entry is written, but a power failure may lose it; repair the disk, then send the message again",
            ),
            Self::Cut { backup: None, .. } => {
                Some("a backup may have the lost entries; the next message follows the remaining ones")
            }
            Self::Cut { backup: Some(_), .. } => {
                Some("a backup may have the lost entries; the next message starts a new file")
            }
            Self::Io { .. } => {
                Some("check that the file exists, that you can read and write it, and that the disk works")
            }
            Self::InUse(_) => {
                Some("switch to another branch first: /tree, or `tiller sessions branch SESSION ENTRY`")
            }
            Self::CreateDir { .. } => {
                Some("check that you can write to its parent directory, and that the disk works")
            }
            Self::Catalog(_) => Some("check the free space in the directory for temporary files"),
            Self::NotRestored { .. } => Some("look for the file in your desktop's trash"),
            Self::NoTrash { .. } => Some("--permanently deletes the file without the trash"),
            Self::NoEntry(_) | Self::EntryNotFound(_) => {
                Some("`tiller sessions tree` shows the entries of a session")
            }
            Self::Import { .. } => None,
        }
    }
}

/// Returns the message about a fragment that matches no id because it is too short for a prefix or suffix.
pub(super) fn too_short(fragment: &str) -> String {
    format!("`{fragment}` is too short; give at least {MIN_FRAGMENT} characters of the id")
}

fn holder_note(holder: Option<&LockHolder>) -> String {
    holder.map(|holder| format!(" ({holder})")).unwrap_or_default()
}

fn count_entries(lost: usize) -> String {
    counted(lost, "entry is", "entries are")
}

fn backup_note(backup: Option<&Path>) -> String {
    backup
        .map(|backup| format!("; the rest is not a session and was moved to {}", backup.display()))
        .unwrap_or_default()
}

/// The error of a file operation: `action` follows "can't".
pub(super) fn io_error(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> SessionError + use<> {
    let path = path.to_owned();
    move |source| SessionError::Io { path, action, source }
}

/// The error of creating a log's directory.
pub(super) fn dir_error(dir: &Path) -> impl FnOnce(io::Error) -> SessionError + use<> {
    let path = dir.to_owned();
    move |source| SessionError::CreateDir { path, source }
}

/// An error and its causes, on one line.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    without_code(&causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}")))
}
