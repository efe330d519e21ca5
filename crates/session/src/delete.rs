//! Removing a session: to the trash where there is one, for good only when that was said.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::SessionError;
use super::fs::OsFs;
use super::log::{Log, io_error};

/// Where a removed session goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteMode {
    /// To the user's trash, from where it can be taken back.
    ToTrash,
    /// Nowhere: it is deleted.
    ForGood,
}

/// A session that is about to be removed, locked so that nobody begins to write to it meanwhile.
#[derive(Debug)]
pub struct PendingDelete {
    path: PathBuf,
    /// Holds the lock.
    _log: Log,
}

impl PendingDelete {
    /// Takes hold of a file. Nothing in it is read or changed, so that one that is no session any more can go too.
    ///
    /// # Errors
    /// When another process writes to it, or it can't be opened.
    pub fn hold(path: &Path) -> Result<Self, SessionError> {
        Ok(Self { path: path.to_owned(), _log: Log::open_to_write(Arc::new(OsFs), path)? })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file. The note that says who holds it goes with the lock.
    ///
    /// # Errors
    /// [`SessionError::NoTrash`] when it was to go to the trash and can't; it is then where it was. Otherwise when the system
    /// doesn't let it be removed.
    pub fn remove(self, farewell: DeleteMode) -> Result<PathBuf, SessionError> {
        match farewell {
            DeleteMode::ToTrash => trash::delete(&self.path)
                .map_err(|error| SessionError::NoTrash { path: self.path.clone(), reason: reason(&error) })?,
            DeleteMode::ForGood => fs::remove_file(&self.path).map_err(io_error(&self.path, "be deleted"))?,
        }
        Ok(self.path)
    }
}

/// Brings a file back from the user's trash: the one that was moved there last from that place.
///
/// # Errors
/// [`SessionError::NotTakenBack`] when it isn't there, something else has its place, or the system gives nothing back to programs.
pub fn take_back(path: &Path) -> Result<(), SessionError> {
    let no = |reason: String| SessionError::NotTakenBack { path: path.to_owned(), reason };
    if path.exists() {
        return Err(no("another file has its place".to_owned()));
    }
    newest_in_trash(path).map_err(no)
}

#[cfg(not(target_os = "macos"))]
fn newest_in_trash(path: &Path) -> Result<(), String> {
    let items = trash::os_limited::list().map_err(|error| reason(&error))?;
    let place = place_of(path);
    let from_here = items.into_iter().filter(|item| item.original_path() == place);
    let newest = from_here.max_by_key(|item| item.time_deleted).ok_or("it is not there any more")?;
    trash::os_limited::restore_all([newest]).map_err(|error| reason(&error))
}

/// How the trash names the place of a file that is gone: by its folder's real path.
#[cfg(not(target_os = "macos"))]
fn place_of(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

#[cfg(target_os = "macos")]
fn newest_in_trash(_path: &Path) -> Result<(), String> {
    Err("here only the Finder can do that".to_owned())
}

/// A few words for people; the crate's own are for programmers.
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
    fn a_file_that_is_gone_is_looked_for_by_the_real_path_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("real");
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, folder.path().join("link")).unwrap();
        assert_eq!(place_of(&folder.path().join("link/a.jsonl")), real.join("a.jsonl"));
        assert_eq!(place_of(&folder.path().join("gone/a.jsonl")), folder.path().join("gone/a.jsonl"));
    }
}
