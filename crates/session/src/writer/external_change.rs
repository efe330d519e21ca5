//! A change by another program to a log that is open for writing.

use std::fmt;
use std::path::PathBuf;

use tiller_core::counted::counted;

/// A change by another program to a log that is open for writing. Appending still works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternalChange {
    /// Another program appended lines. They were indexed before the next append.
    Appended {
        /// The file.
        path: PathBuf,
        /// Number of new entries.
        entries: usize,
    },
    /// The file was missing at its path and was written again.
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Another file was at the path. It was renamed, and the log was written again.
    Replaced {
        /// The file.
        path: PathBuf,
        /// New path of the other file.
        backup: PathBuf,
    },
    /// The file system has no locks.
    NoLocks {
        /// The file.
        path: PathBuf,
    },
}

impl ExternalChange {
    /// Advice for the user.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Appended { .. } => {
                "new entries follow it; let only one program write to a session at a time"
            }
            Self::Missing { .. } => "if it was moved on purpose, close this session and open the moved file",
            Self::Replaced { .. } => "compare the two files; to use the other one, close this session first",
            Self::NoLocks { .. } => {
                "don't open the session twice, or use --session-dir for a directory on another disk"
            }
        }
    }

    /// Returns true if entries were added.
    #[must_use]
    pub fn changes_entries(&self) -> bool {
        matches!(self, Self::Appended { .. })
    }
}

impl fmt::Display for ExternalChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Appended { path, entries } => {
                let entries = counted(*entries, "entry", "entries");
                write!(f, "session file {}: another program appended to it ({entries})", path.display())
            }
            Self::Missing { path } => {
                write!(
                    f,
                    "session file {}: it was removed or moved, and has been written again",
                    path.display()
                )
            }
            Self::Replaced { path, backup } => write!(
                f,
                "session file {}: another file replaced it; that file is now {}, and the session has been written \
                 again",
                path.display(),
                backup.display()
            ),
            Self::NoLocks { path } => write!(
                f,
                "session file {}: this file system has no locks, so another tiller can write to it too",
                path.display()
            ),
        }
    }
}
