//! The bytes of a log: appended whole lines, read by position.
//!
//! It knows lines, not entries. One line is one `write(2)` on a descriptor opened for appending; a line that went in
//! only partly is closed with a newline before the next, so it costs itself alone.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::error::SessionError;
use super::lines::{self, Line};

/// Where a log's bytes are.
#[derive(Debug)]
pub(super) struct Log {
    path: Option<PathBuf>,
    bytes: RwLock<Bytes>,
}

#[derive(Debug)]
enum Bytes {
    /// Nothing was worth a file yet.
    Nowhere,
    Disk(Arc<File>),
    Memory(Vec<u8>),
}

impl Log {
    /// A log that lives in memory and dies with its last reader.
    pub(super) fn in_memory() -> Self {
        Self { path: None, bytes: RwLock::new(Bytes::Memory(Vec::new())) }
    }

    /// A log whose file is made by the first write.
    pub(super) fn planned(path: PathBuf) -> Self {
        Self { path: Some(path), bytes: RwLock::new(Bytes::Nowhere) }
    }

    /// Opens a file to look at it; nothing is changed.
    pub(super) fn open_to_read(path: &Path) -> Result<Self, SessionError> {
        let file = File::open(path).map_err(io_error(path, "be opened"))?;
        Ok(Self::on_disk(path, file))
    }

    /// Opens a file to append to it, alone.
    pub(super) fn open_to_write(path: &Path) -> Result<Self, SessionError> {
        let open = OpenOptions::new().read(true).append(true).open(path);
        let file = open.map_err(io_error(path, "be opened for writing"))?;
        lock(path, &file)?;
        Ok(Self::on_disk(path, file))
    }

    fn on_disk(path: &Path, file: File) -> Self {
        Self { path: Some(path.to_owned()), bytes: RwLock::new(Bytes::Disk(Arc::new(file))) }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The path, or a stand-in for messages about a log in memory.
    pub(super) fn path_shown(&self) -> PathBuf {
        self.path.clone().unwrap_or_else(|| PathBuf::from("(in memory)"))
    }

    /// Whether there is a file, or a place in memory, already.
    pub(super) fn exists(&self) -> bool {
        !matches!(*self.bytes.read().unwrap_or_else(PoisonError::into_inner), Bytes::Nowhere)
    }

    /// Visits every line from the first on, reading the file once.
    pub(super) fn scan(&self, mut visit: impl FnMut(&Line<'_>)) -> Result<(), SessionError> {
        let file = match &*self.bytes.read().unwrap_or_else(PoisonError::into_inner) {
            Bytes::Nowhere => return Ok(()),
            Bytes::Memory(bytes) => {
                return lines::visit(bytes.as_slice(), 0, 1, &mut visit).map_err(self.io("be read"));
            }
            Bytes::Disk(file) => Arc::clone(file),
        };
        lines::visit(Positioned { file: &file, at: 0 }, 0, 1, &mut visit).map_err(self.io("be read"))
    }

    /// Reads one line's bytes.
    pub(super) fn read_at(&self, offset: u64, length: usize) -> Result<Vec<u8>, SessionError> {
        let file = match &*self.bytes.read().unwrap_or_else(PoisonError::into_inner) {
            Bytes::Nowhere => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            Bytes::Memory(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let range = bytes.get(start..start.saturating_add(length));
                return range
                    .map(<[u8]>::to_vec)
                    .ok_or_else(|| self.io("be read")(io::ErrorKind::UnexpectedEof.into()));
            }
            Bytes::Disk(file) => Ok(Arc::clone(file)),
        };
        let mut buffer = vec![0; length];
        file.and_then(|file| file.read_exact_at(&mut buffer, offset)).map_err(self.io("be read"))?;
        Ok(buffer)
    }

    /// Appends whole lines in one write, making the file (0600) and its folder (0700) where there is none.
    pub(super) fn append(&self, lines: &[u8]) -> Result<(), SessionError> {
        let mut bytes = self.bytes.write().unwrap_or_else(PoisonError::into_inner);
        if let (Bytes::Nowhere, Some(path)) = (&*bytes, &self.path) {
            *bytes = Bytes::Disk(Arc::new(make(path, lines)?));
            return Ok(());
        }
        let wrote = match &mut *bytes {
            Bytes::Nowhere => Err(io::Error::other("the log has no place")),
            Bytes::Memory(memory) => memory.write_all(lines),
            Bytes::Disk(file) => write_once(file, lines),
        };
        wrote.map_err(|source| SessionError::Append { path: self.path_shown(), source })
    }

    /// Lets others write. Whoever still holds the file only reads or syncs it.
    pub(super) fn unlock(&self) {
        if let Some(file) = self.file()
            && let Err(error) = file.unlock()
        {
            tracing::warn!(path = %self.path_shown().display(), %error, "the session could not be unlocked");
        }
    }

    /// The file, for syncing it on another thread.
    pub(super) fn file(&self) -> Option<Arc<File>> {
        match &*self.bytes.read().unwrap_or_else(PoisonError::into_inner) {
            Bytes::Disk(file) => Some(Arc::clone(file)),
            Bytes::Nowhere | Bytes::Memory(_) => None,
        }
    }

    /// The length in bytes.
    pub(super) fn length(&self) -> Result<u64, SessionError> {
        match &*self.bytes.read().unwrap_or_else(PoisonError::into_inner) {
            Bytes::Nowhere => Ok(0),
            Bytes::Memory(memory) => Ok(memory.len() as u64),
            Bytes::Disk(file) => file.metadata().map(|facts| facts.len()).map_err(self.io("be measured")),
        }
    }

    fn io(&self, action: &'static str) -> impl FnOnce(io::Error) -> SessionError {
        io_error(&self.path_shown(), action)
    }
}

pub(super) fn io_error(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> SessionError + use<> {
    let path = path.to_owned();
    move |source| SessionError::Io { path, action, source }
}

/// A file read from a position of its own, so that readers never disturb each other or the writer.
struct Positioned<'a> {
    file: &'a File,
    at: u64,
}

impl Read for Positioned<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// One `write(2)`; what it leaves over is an error, never a second write.
fn write_once(mut file: &File, lines: &[u8]) -> io::Result<()> {
    let written = loop {
        match file.write(lines) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => break result?,
        }
    };
    if written == lines.len() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::WriteZero,
        format!("only {written} of {} bytes fit; is the disk full?", lines.len()),
    ))
}

/// Makes a log with its first lines, whole or not at all, so that it can be tried again.
fn make(path: &Path, lines: &[u8]) -> Result<File, SessionError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(io_error(folder, "be made as a folder"))?;
    let open = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path);
    let file = open.map_err(io_error(path, "be made"))?;
    let begun = lock(path, &file)
        .and_then(|()| {
            write_once(&file, lines).map_err(|source| SessionError::Append { path: path.to_owned(), source })
        })
        .and_then(|()| {
            // The name itself must survive a power cut, not only what is written under it.
            match File::open(folder).and_then(|folder| folder.sync_all()) {
                Ok(()) => Ok(()),
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
                {
                    tracing::warn!(folder = %folder.display(), "this filesystem doesn't sync folders");
                    Ok(())
                }
                Err(error) => Err(io_error(folder, "be synced")(error)),
            }
        });
    if begun.is_err() {
        // A file without a whole header would be no session, and in the way of the next try.
        let _ = fs::remove_file(path);
    }
    begun.map(|()| file)
}

fn lock(path: &Path, file: &File) -> Result<(), SessionError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(SessionError::Held { path: path.to_owned() }),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
            tracing::warn!(path = %path.display(), "this filesystem has no locks; don't open the session twice");
            Ok(())
        }
        Err(TryLockError::Error(error)) => Err(io_error(path, "be locked")(error)),
    }
}
