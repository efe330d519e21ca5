//! The lock on a log, and the note beside it that says who has it.
//!
//! The lock is the system's own, on the log itself, so it ends with its process however that ends. The note,
//! `<file>.lock`, is for people: it is written once the lock is taken, and believed only while somebody has the lock.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::{Pid, gethostname};
use serde::{Deserialize, Serialize};
use tiller_core::unit::UnixMs;
use tiller_files as files;

use super::error::SessionError;
use super::fs::{Fs, FsFile};
use super::log::io_error;

/// More than any note is long, in bytes.
const LONGEST_NOTE: usize = 4_096;

/// Who has a log open for writing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    /// The process.
    pub pid: i32,
    /// The machine it runs on.
    pub host: String,
    /// Since when it has the log, ISO-8601 UTC.
    pub since: String,
}

impl LockHolder {
    fn this_process() -> Self {
        let since = UnixMs::from(SystemTime::now()).to_iso();
        Self { pid: Pid::this().as_raw(), host: this_host(), since }
    }

    /// Whether it can't be the holder: its note outlived it, and the one who has the lock now has yet to write one.
    fn is_over(&self) -> bool {
        self.host == this_host() && kill(Pid::from_raw(self.pid), None) == Err(Errno::ESRCH)
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} on {}, since {}", self.pid, self.host, self.since)
    }
}

fn this_host() -> String {
    gethostname().map_or_else(|_| "an unnamed host".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The right to write to a log; given back when dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: Arc<dyn FsFile>,
    disk: Arc<dyn Fs>,
    /// `None` once the note tells of another lock on a file of the same name.
    note: Option<PathBuf>,
}

impl Lock {
    /// Takes the lock on the file at `path` and says so in the note; `None` where the file system has no locks.
    pub(super) fn take(
        disk: &Arc<dyn Fs>,
        path: &Path,
        file: &Arc<dyn FsFile>,
    ) -> Result<Option<Self>, SessionError> {
        match file.lock() {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(held(&**disk, path)),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(None),
            Err(error) => return Err(io_error(path, "be locked")(error)),
        }
        let note = note_of(path);
        if let Err(error) = write_note(&**disk, &note) {
            // The lock counts, not the note.
            tracing::warn!(path = %note.display(), %error, "nobody can be told who has the session open");
        }
        Ok(Some(Self { file: Arc::clone(file), disk: Arc::clone(disk), note: Some(note) }))
    }

    /// Leaves the note to the lock on the file that has come in this one's place.
    pub(super) fn leave_note(&mut self) {
        self.note = None;
    }
}

/// The note goes first: once the file is free, a note may be somebody else's.
impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(note) = &self.note {
            let _ = self.disk.remove(note);
        }
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "a session could not be unlocked");
        }
    }
}

/// Whether some process has the log at `path` open for writing. Where that can't be known, one has.
#[must_use]
pub fn is_held(path: &Path) -> bool {
    match files::open(path).map(|file| file.try_lock_shared()) {
        // It is given back as the file is closed.
        Ok(Ok(())) => false,
        Ok(Err(_)) | Err(_) => true,
    }
}

/// The refusal that names who has the log at `path`.
pub(super) fn held(disk: &dyn Fs, path: &Path) -> SessionError {
    let holder = read_note(disk, &note_of(path)).filter(|holder| !holder.is_over());
    SessionError::Held { path: path.to_owned(), holder }
}

fn note_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn write_note(disk: &dyn Fs, path: &Path) -> io::Result<()> {
    let note = serde_json::to_vec(&LockHolder::this_process())?;
    let file = match disk.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            disk.remove(path)?;
            disk.create(path)?
        }
        made => made?,
    };
    file.append(&note).map(drop)
}

fn read_note(disk: &dyn Fs, path: &Path) -> Option<LockHolder> {
    let mut note = vec![0; LONGEST_NOTE];
    let length = disk.open_to_read(path).and_then(|file| file.read_at(&mut note, 0)).ok()?;
    serde_json::from_slice(&note[..length]).ok()
}
