//! Directories of a session's agent sessions.

use std::path::{Path, PathBuf};

/// The extension of these directories.
const EXTENSION: &str = "agents";

/// Returns the directory of the agent sessions of the session with this log.
pub(super) fn agents_dir(log: &Path) -> PathBuf {
    log.with_extension(EXTENSION)
}

/// Returns true if a path has the form of [`agents_dir`].
pub(super) fn is_agents_dir(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == EXTENSION)
}
