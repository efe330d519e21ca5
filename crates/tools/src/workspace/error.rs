//! The error of a path that can't be accessed.

use std::io;
use std::path::PathBuf;

/// The reason a path can't be accessed. The messages are for the model.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The working directory can't be used.
    #[error("working directory {path}: not a readable directory")]
    NoRoot {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The path leads out of the workspace.
    #[error(
        "{path} is outside the working directory {root}, and tools can't access it; start tiller with --add-dir DIR to \
         add the directory"
    )]
    Outside {
        /// The path as given.
        path: String,
        /// The working directory.
        root: PathBuf,
    },
    /// The path is read-only.
    #[error("{path} is read-only")]
    ReadOnly {
        /// The path as given.
        path: String,
    },
    /// The path is in one of tiller's own directories.
    #[error("{path} is one of tiller's own files, which tools can't access; ask the user to change it")]
    Protected {
        /// The path as given.
        path: String,
    },
    /// A link in the path is broken, so the file that a write through it would create isn't known.
    #[error("{path} is a dangling symbolic link")]
    BrokenLink {
        /// The link.
        path: PathBuf,
    },
    /// A link in the path leads to a target that can't be written without approval, which the path itself doesn't show.
    #[error(
        "{path} is a symbolic link to a file that can't be written without approval; use its real path: {real}"
    )]
    HiddenTarget {
        /// The path as given.
        path: String,
        /// The path with links resolved.
        real: PathBuf,
    },
    /// A file system error.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}
