//! The lock on a log, and the note next to it that identifies its holder.
//!
//! The lock is the operating system's, on the log itself, so it is released however the process ends. The
//! note, `<file>.lock`, is only informative: it is written after the lock was acquired, and read only while
//! the lock is held.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tiller_files as files;

use super::error::{SessionError, io_error};
use super::fs::{Fs, FsFile, OsFs};
use super::lock_holder::LockHolder;

/// Maximum length of a note, in bytes, far above that of real ones.
const MAX_NOTE_LENGTH: usize = 4_096;

/// The exclusive right to write to a log; released on drop.
#[derive(Debug)]
pub(super) struct Lock {
    file: Arc<dyn FsFile>,
    fs: Arc<dyn Fs>,
    /// The note; `None` after it was left to another lock on a file of the same name.
    note: Option<PathBuf>,
}

impl Lock {
    /// Acquires the lock on the file at `path` and writes the note; `None` where the file system has no
    /// locks.
    pub(super) fn acquire(
        fs: &Arc<dyn Fs>,
        path: &Path,
        file: &Arc<dyn FsFile>,
    ) -> Result<Option<Self>, SessionError> {
        match file.lock() {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(lock_held_error(&**fs, path));
            }
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(None),
            Err(error) => return Err(io_error(path, "be locked")(error)),
        }
        let note = note_path(path);
        if let Err(error) = write_note(&**fs, &note) {
            // The lock is held even without a note, which is only informative.
            tracing::warn!(path = %note.display(), %error, "the note that names the lock's holder could not be written");
        }
        Ok(Some(Self { file: Arc::clone(file), fs: Arc::clone(fs), note: Some(note) }))
    }

    /// Leaves the note to the lock on the file that replaced this one.
    pub(super) fn abandon_note(&mut self) {
        self.note = None;
    }
}

/// Removes the note before releasing the lock: afterwards the note may be another process's.
impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(note) = &self.note {
            let _ = self.fs.remove(note);
        }
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the session could not be unlocked");
        }
    }
}

/// Returns true if a process has the log at `path` open for writing, or if that can't be determined.
#[must_use]
pub fn is_locked(path: &Path) -> bool {
    match files::open(path).map(|file| file.try_lock_shared()) {
        // Closing the file releases the shared lock.
        Ok(Ok(())) => false,
        Ok(Err(_)) | Err(_) => true,
    }
}

/// Returns the process that has the log at `path` open for writing; `None` if there is none, or if it is
/// unknown.
#[must_use]
pub fn lock_holder(path: &Path) -> Option<LockHolder> {
    is_locked(path).then(|| read_note(&OsFs, &note_path(path))).flatten().filter(|holder| !holder.is_stale())
}

/// Creates the error for a log that another process holds, with the holder if the note identifies it.
pub(super) fn lock_held_error(fs: &dyn Fs, path: &Path) -> SessionError {
    let holder = read_note(fs, &note_path(path)).filter(|holder| !holder.is_stale());
    SessionError::Locked { path: path.to_owned(), holder }
}

fn note_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn write_note(fs: &dyn Fs, path: &Path) -> io::Result<()> {
    let note = serde_json::to_vec(&LockHolder::this_process())?;
    let file = match fs.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs.remove(path)?;
            fs.create(path)?
        }
        created => created?,
    };
    file.append(&note).map(drop)
}

fn read_note(fs: &dyn Fs, path: &Path) -> Option<LockHolder> {
    let mut note = vec![0; MAX_NOTE_LENGTH];
    let length = fs.open_to_read(path).and_then(|file| file.read_at(&mut note, 0)).ok()?;
    serde_json::from_slice(&note[..length]).ok()
}
