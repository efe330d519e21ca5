//! What can go wrong with a log.

use std::io;
use std::path::{Path, PathBuf};

use tiller_core::id::EntryId;

use super::lock::LockHolder;

/// A failed operation on a log or on the folder of logs.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The file can't be opened, read or made.
    #[error("session file {path}: can't {action}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// A line could not be written whole; nothing already written is damaged.
    #[error("session file {path}: the entry was not written")]
    Append {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What was written may not survive a power cut.
    #[error("session file {path}: can't be synced to the disk")]
    Sync {
        /// The file, or its folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another program cut the file short or wrote over it. What is left was read again.
    #[error(
        "session file {path}: another program cut it short or wrote over it; {} lost{}",
        counted(*.lost),
        left_at(.aside.as_deref())
    )]
    Cut {
        /// The file.
        path: PathBuf,
        /// Entries that are no longer in it.
        lost: usize,
        /// Where the rest is, when it was no session any more and had to make way.
        aside: Option<PathBuf>,
    },
    /// Line 1 is not a session header.
    #[error("session file {path}, line 1: {what}")]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The log is of a version that this tiller only reads, or doesn't read at all.
    #[error(
        "session file {path}: version {version} of the log can't be {action} by this tiller, which writes version 3"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
        /// `read` or `written`.
        action: &'static str,
    },
    /// Another process is writing to it.
    #[error("session file {path}: another tiller has it open{}", by(.holder.as_ref()))]
    Held {
        /// The file.
        path: PathBuf,
        /// Who, if that can be told.
        holder: Option<LockHolder>,
    },
    /// A log of another program can't be imported.
    #[error("{path}, line {line}: {what}")]
    Foreign {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        what: String,
    },
    /// No entry goes by that id.
    #[error("no entry `{0}` in this session")]
    NoEntry(EntryId),
    /// The branch that was to be hidden is the one in use.
    #[error("entry {0} lies on the branch in use, which can't be hidden")]
    InUse(EntryId),
    /// A file can't be taken back from the trash.
    #[error("session file {path}: can't be taken back from the trash ({reason})")]
    NotTakenBack {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// There is no trash to move the file to.
    #[error("session file {path}: there is no trash to move it to ({reason})")]
    NoTrash {
        /// The file.
        path: PathBuf,
        /// Why there is none.
        reason: String,
    },
    /// The entry's line is there, but what it says can't be read.
    #[error("session file {path}, line {line}: entry {id} is damaged")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The entry.
        id: EntryId,
        /// Why it can't be read.
        source: serde_json::Error,
    },
    /// What is known of many logs can't be kept, neither in its file nor in a passing one.
    #[error("the catalog of sessions can't be used")]
    Catalog(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Nothing, or more than one, goes by a person's words.
    #[error("{0}")]
    NotFound(String),
}

impl SessionError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Held { .. } => {
                Some("close the other one, or go on in a copy: tiller --fork with the session's id")
            }
            Self::Append { .. } => Some(
                "nothing already written is damaged; make room or mend the disk, then send the message again",
            ),
            Self::Header { .. } => {
                Some("the file is left as it is; if it is a session, its first line was lost")
            }
            Self::Version { .. } => Some("a newer tiller may read it"),
            Self::NotFound(_) => Some("`tiller sessions list` shows what there is"),
            Self::Damaged { .. } => Some("the line is kept as it is; entries before and after it are intact"),
            Self::Sync { .. } => {
                Some("it is written, but a power cut may lose it; mend the disk, then send the message again")
            }
            Self::Cut { aside: None, .. } => {
                Some("a backup may have what was lost; the next message goes on after what is left")
            }
            Self::Cut { aside: Some(_), .. } => {
                Some("what is left and backups may have what was lost; the next message begins the file anew")
            }
            Self::Io { .. } => {
                Some("see that it is there, that you may read and write it, and that the disk works")
            }
            Self::InUse(_) => Some(
                "move to another branch first: /tree, or `tiller sessions branch` with an entry of that one",
            ),
            Self::Catalog(_) => Some("is there room in the folder for temporary files?"),
            Self::NotTakenBack { .. } => Some("look for it in the trash of your desktop"),
            Self::NoTrash { .. } => Some("--permanently deletes it for good"),
            Self::NoEntry(_) => Some("`tiller sessions tree` shows the entries of a session"),
            Self::Foreign { .. } => Some(
                "the file is left as it is; name the logs to import one by one if this isn't one of them",
            ),
        }
    }
}

fn by(holder: Option<&LockHolder>) -> String {
    holder.map(|holder| format!(" ({holder})")).unwrap_or_default()
}

fn counted(lost: usize) -> String {
    if lost == 1 { "1 entry is".to_owned() } else { format!("{lost} entries are") }
}

fn left_at(aside: Option<&Path>) -> String {
    aside
        .map(|aside| format!("; what is left is no session and is kept as {}", aside.display()))
        .unwrap_or_default()
}

/// An error and what caused it, on one line.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
