//! Deletion of sessions: to the trash, or permanently on explicit request.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::agents_dir::agents_dir;
use super::error::{SessionError, io_error};
use super::fs::OsFs;
use super::log::Log;

/// The way to delete a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteMode {
    /// Moved to the user's trash, from which it can be restored.
    ToTrash,
    /// Deleted permanently.
    Permanently,
}

/// A session about to be deleted, locked so that no process can start writing to it.
#[derive(Debug)]
pub struct PendingDelete {
    path: PathBuf,
    /// Holds the lock.
    _log: Log,
}

impl PendingDelete {
    /// Locks a file. Its content is not read, so that a file that isn't a valid session can be deleted too.
    ///
    /// # Errors
    /// If another process has it open for writing, or it can't be opened.
    pub fn lock(path: &Path) -> Result<Self, SessionError> {
        Ok(Self { path: path.to_owned(), _log: Log::open_to_write(Arc::new(OsFs), path)? })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Deletes the file, and the lock's note with it.
    ///
    /// # Errors
    /// [`SessionError::NoTrash`] if it can't be moved to the trash and so is still there.
    /// [`SessionError::Io`] if it can't be deleted.
    pub fn remove(self, mode: DeleteMode) -> Result<PathBuf, SessionError> {
        let agents = Some(agents_dir(&self.path)).filter(|dir| dir.is_dir());
        match mode {
            DeleteMode::ToTrash => {
                let no_trash = |error: trash::Error| SessionError::NoTrash {
                    path: self.path.clone(),
                    reason: reason(&error),
                };
                trash::delete_all(agents.iter().chain([&self.path])).map_err(no_trash)?;
            }
            DeleteMode::Permanently => {
                fs::remove_file(&self.path).map_err(io_error(&self.path, "be deleted"))?;
                if let Some(dir) = &agents {
                    fs::remove_dir_all(dir).map_err(io_error(dir, "be deleted"))?;
                }
            }
        }
        Ok(self.path)
    }
}

/// Restores a file from the user's trash: the last one deleted at this path.
///
/// # Errors
/// [`SessionError::NotRestored`] if it isn't in the trash, another file is at its path, or the system has no
/// way to restore it.
pub fn restore_from_trash(path: &Path) -> Result<(), SessionError> {
    let not_restored = |reason: String| SessionError::NotRestored { path: path.to_owned(), reason };
    if path.exists() {
        return Err(not_restored("another file exists at its path".to_owned()));
    }
    restore_newest(path).map_err(not_restored)?;
    // Most sessions have no agents.
    let _ = restore_newest(&agents_dir(path));
    Ok(())
}

#[cfg(not(target_os = "macos"))]
fn restore_newest(path: &Path) -> Result<(), String> {
    let items = trash::os_limited::list().map_err(|error| reason(&error))?;
    let location = original_location(path);
    let candidates = items.into_iter().filter(|item| item.original_path() == location);
    let newest = candidates.max_by_key(|item| item.time_deleted).ok_or("it is no longer in the trash")?;
    trash::os_limited::restore_all([newest]).map_err(|error| reason(&error))
}

/// Returns the path under which the trash lists a deleted file: that in the real path of its directory.
#[cfg(not(target_os = "macos"))]
fn original_location(path: &Path) -> PathBuf {
    let dir = path.parent().and_then(|dir| dir.canonicalize().ok());
    match (dir, path.file_name()) {
        (Some(dir), Some(name)) => dir.join(name),
        _ => path.to_owned(),
    }
}

#[cfg(target_os = "macos")]
fn restore_newest(_path: &Path) -> Result<(), String> {
    Err("on macOS only the Finder can restore files".to_owned())
}

/// Returns a short message for the user; the `trash` crate's own messages are for programmers.
fn reason(error: &trash::Error) -> String {
    match error {
        trash::Error::Unknown { description } | trash::Error::Os { description, .. } => description.clone(),
        #[cfg(target_os = "linux")]
        trash::Error::FileSystem { path, source } => format!("{}: {source}", path.display()),
        other => other.to_string(),
    }
}

#[cfg(all(test, not(target_os = "macos")))]
mod tests {
    use super::*;

    #[test]
    fn original_location_resolves_dir_links() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap().join("real");
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, dir.path().join("link")).unwrap();
        assert_eq!(original_location(&dir.path().join("link/a.jsonl")), real.join("a.jsonl"));
        assert_eq!(original_location(&dir.path().join("gone/a.jsonl")), dir.path().join("gone/a.jsonl"));
    }
}
