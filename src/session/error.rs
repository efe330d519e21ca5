//! What can go wrong with a log.

use std::io;
use std::path::PathBuf;

use crate::id::EntryId;

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
    #[error("session file {path}: another tiller has it open")]
    Held {
        /// The file.
        path: PathBuf,
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
            Self::Append { .. } => Some("free some space or mend the disk, then send the message again"),
            Self::Header { .. } => {
                Some("the file is left as it is; if it is a session, its first line was lost")
            }
            Self::Version { .. } => Some("a newer tiller may read it"),
            Self::NotFound(_) => Some("`tiller sessions list` shows what there is"),
            Self::Damaged { .. } => Some("the line is kept as it is; entries before and after it are intact"),
            Self::Foreign { .. } => Some(
                "the file is left as it is; name the logs to import one by one if this isn't one of them",
            ),
            Self::Io { .. } | Self::NoEntry(_) => None,
        }
    }
}
