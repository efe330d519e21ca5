//! Whether the file that is open is still the one at its path, and what is done when it isn't.
//!
//! The open file is the log, whatever became of its name. Nothing that stands in its place is destroyed.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use tiller_core::unit::UnixMs;

use super::{Bytes, Log, Open, folder_of, io_error};
use crate::error::SessionError;
use crate::fs::{FileIdentity, FsFile};
use crate::lock::{self, Lock};

/// How much is copied at a time, in bytes.
const PIECE: usize = 1 << 20;

/// What stands at a log's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathState {
    /// The log.
    Kept,
    /// Nothing.
    Empty,
    /// Another file.
    Taken,
}

impl Log {
    /// What stands at the path, and how long the log is. One look at the path answers both as a rule.
    pub(crate) fn look(&self) -> Result<(PathState, u64), SessionError> {
        let (Bytes::Disk(open), Some(path)) = (&*self.bytes(), &self.path) else {
            return Ok((PathState::Kept, self.length()?));
        };
        let place = match self.disk.facts(path) {
            Ok(facts) if facts.identity == open.identity => return Ok((PathState::Kept, facts.length)),
            Ok(_) => PathState::Taken,
            Err(error) if is_absence(&error) => PathState::Empty,
            Err(error) => return Err(io_error(path, "be looked for")(error)),
        };
        let facts = open.file.facts().map_err(io_error(path, "be measured"))?;
        Ok((place, facts.length))
    }

    /// Gives whatever stands at the path another name beside it, and answers with that name.
    pub(crate) fn set_aside(&self, now: UnixMs) -> Result<Option<PathBuf>, SessionError> {
        let Some(path) = &self.path else { return Ok(None) };
        // Another tiller that writes to it must not lose it.
        let other = self.disk.open_to_append(path);
        if let Ok(other) = &other
            && other.facts().is_ok_and(|facts| !self.is_open(facts.identity))
            && other.lock().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        {
            return Err(lock::held(&*self.disk, path));
        }
        let aside = self.free_name(path, now);
        match self.disk.rename(path, &aside) {
            Ok(()) => Ok(Some(aside)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(io_error(path, "be moved aside")(error)),
        }
    }

    fn is_open(&self, identity: FileIdentity) -> bool {
        matches!(&*self.bytes(), Bytes::Disk(open) if open.identity == identity)
    }

    fn free_name(&self, path: &Path, now: UnixMs) -> PathBuf {
        let stamp = now.to_iso().replace([':', '.'], "-");
        let name = |number: u32| {
            let mut name = OsString::from(path);
            name.push(format!(".replaced-{stamp}"));
            if number > 1 {
                name.push(format!("-{number}"));
            }
            PathBuf::from(name)
        };
        let is_free = |name: &PathBuf| self.disk.facts(name).is_err_and(|error| is_absence(&error));
        (1..).map(name).find(is_free).expect("one of the names is free")
    }

    /// Writes the log anew at its path, from the file that is open, and goes on there.
    pub(crate) fn put_back(&self) -> Result<(), SessionError> {
        let mut bytes = self.bytes_mut();
        let (Bytes::Disk(open), Some(path)) = (&mut *bytes, &self.path) else { return Ok(()) };
        let folder = folder_of(path);
        self.disk.make_folder(folder).map_err(io_error(folder, "be made as a folder"))?;
        let file = self.disk.create(path).map_err(io_error(path, "be made anew"))?;
        let copied = Lock::take(&self.disk, path, &file).and_then(|lock| {
            copy(&*open.file, &*file)
                .and_then(|()| file.sync())
                .map_err(|source| SessionError::Append { path: path.clone(), source })?;
            self.sync_folder(folder)?;
            Open::new(path, file, lock)
        });
        match copied {
            Ok(copy) => {
                if let Some(lock) = &mut open.lock {
                    lock.leave_note();
                }
                *open = copy;
                Ok(())
            }
            Err(error) => {
                // A part of a log would be taken for the whole; the open file still has all of it.
                let _ = self.disk.remove(path);
                Err(error)
            }
        }
    }

    /// Lets go of the file: the next write makes another.
    pub(crate) fn let_go(&self) {
        *self.bytes_mut() = Bytes::Nowhere;
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn copy(from: &dyn FsFile, to: &dyn FsFile) -> io::Result<()> {
    let (mut piece, mut at) = (vec![0; PIECE], 0);
    loop {
        let count = from.read_at(&mut piece, at)?;
        if count == 0 {
            return Ok(());
        }
        super::write_once(to, &piece[..count])?;
        at += count as u64;
    }
}
