//! Checks that the open file is still the one at its path, and repairs the path if it isn't.
//!
//! The open file is the log, even if its name has changed. A file that replaced it is never deleted.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use tiller_core::unit::UnixMs;

use super::{Bytes, Log, OpenFile, dir_of};
use crate::error::{SessionError, dir_error, io_error};
use crate::fs::{FileIdentity, FsFile};
use crate::lock::{self, Lock};

/// Bytes copied at a time.
const COPY_CHUNK: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathState {
    /// The open file is at the path.
    Same,
    /// No file is at the path.
    Missing,
    /// Another file is at the path.
    Replaced,
}

impl Log {
    /// Returns the state of the path, and the log's length. One `stat` usually answers both.
    pub(crate) fn check_path(&self) -> Result<(PathState, u64), SessionError> {
        let (Bytes::Disk(open), Some(path)) = (&*self.bytes(), &self.path) else {
            return Ok((PathState::Same, self.length()?));
        };
        let state = match self.fs.metadata(path) {
            Ok(facts) if facts.identity == open.identity => return Ok((PathState::Same, facts.length)),
            Ok(_) => PathState::Replaced,
            Err(error) if is_not_found(&error) => PathState::Missing,
            Err(error) => return Err(io_error(path, "be checked")(error)),
        };
        let facts = open.file.metadata().map_err(io_error(path, "be inspected"))?;
        Ok((state, facts.length))
    }

    /// Renames the file at the path within its directory, and returns the new path.
    pub(crate) fn move_aside(&self, now: UnixMs) -> Result<Option<PathBuf>, SessionError> {
        let Some(path) = &self.path else { return Ok(None) };
        // If another process holds the lock on that file, it must not lose the file.
        let other = self.fs.open_to_append(path);
        if let Ok(other) = &other
            && other.metadata().is_ok_and(|facts| !self.is_open_file(facts.identity))
            && other.lock().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        {
            return Err(lock::lock_held_error(&*self.fs, path));
        }
        let backup = self.unused_name(path, now);
        match self.fs.rename(path, &backup) {
            Ok(()) => Ok(Some(backup)),
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) => Err(io_error(path, "be moved aside")(error)),
        }
    }

    fn is_open_file(&self, identity: FileIdentity) -> bool {
        matches!(&*self.bytes(), Bytes::Disk(open) if open.identity == identity)
    }

    fn unused_name(&self, path: &Path, now: UnixMs) -> PathBuf {
        let stamp = now.to_iso().replace([':', '.'], "-");
        let name = |number: u32| {
            let mut name = OsString::from(path);
            name.push(format!(".replaced-{stamp}"));
            if number > 1 {
                name.push(format!("-{number}"));
            }
            PathBuf::from(name)
        };
        let is_free = |name: &PathBuf| self.fs.metadata(name).is_err_and(|error| is_not_found(&error));
        (1..).map(name).find(is_free).expect("one of the names is free")
    }

    /// Copies the open file to its path, and continues with the copy.
    pub(crate) fn rewrite_file(&self) -> Result<(), SessionError> {
        let mut bytes = self.bytes_mut();
        let (Bytes::Disk(open), Some(path)) = (&mut *bytes, &self.path) else { return Ok(()) };
        let dir = dir_of(path);
        self.fs.create_dir(dir).map_err(dir_error(dir))?;
        let file = self.fs.create(path).map_err(io_error(path, "be recreated"))?;
        let copied = Lock::acquire(&self.fs, path, &file).and_then(|lock| {
            copy(&*open.file, &*file)
                .and_then(|()| file.sync())
                .map_err(|source| SessionError::Append { path: path.clone(), source })?;
            self.sync_dir(dir)?;
            OpenFile::new(path, file, lock)
        });
        match copied {
            Ok(copy) => {
                if let Some(lock) = &mut open.lock {
                    lock.abandon_note();
                }
                *open = copy;
                Ok(())
            }
            Err(error) => {
                // A partial copy would look like a complete log; the open file still has all of it.
                let _ = self.fs.remove(path);
                Err(error)
            }
        }
    }

    /// Closes the file: the next write creates another one.
    pub(crate) fn close(&self) {
        *self.bytes_mut() = Bytes::NotCreated;
    }
}

fn is_not_found(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn copy(from: &dyn FsFile, to: &dyn FsFile) -> io::Result<()> {
    let (mut buffer, mut at) = (vec![0; COPY_CHUNK], 0);
    loop {
        let count = from.read_at(&mut buffer, at)?;
        if count == 0 {
            return Ok(());
        }
        super::write_once(to, &buffer[..count])?;
        at += count as u64;
    }
}
