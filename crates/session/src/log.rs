//! The bytes of a log: appends of complete lines and reads by position.
//!
//! This module knows lines, not entries. Each append is one `write(2)` on a descriptor opened for appending;
//! a partially written line stays as it is. [`path_check`] checks that the open file is still the one at its
//! path.

mod path_check;

use std::io::{self, Read, Write};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::error::{SessionError, dir_error, io_error};
use super::fs::{FileIdentity, Fs, FsFile, OsFs};
use super::lines::{self, LogLine};
use super::lock::Lock;

pub(super) use path_check::PathState;

/// A log's bytes, on disk or in memory.
#[derive(Debug)]
pub(super) struct Log {
    fs: Arc<dyn Fs>,
    path: Option<PathBuf>,
    bytes: RwLock<Bytes>,
}

#[derive(Debug)]
enum Bytes {
    /// The file is created by the first write.
    NotCreated,
    Disk(OpenFile),
    Memory(Vec<u8>),
    /// The first lines of a file that the next append creates.
    Staged(Vec<u8>),
}

#[derive(Debug)]
struct OpenFile {
    file: Arc<dyn FsFile>,
    identity: FileIdentity,
    /// `None` for readers, and where the file system has no locks.
    lock: Option<Lock>,
}

impl OpenFile {
    fn new(path: &Path, file: Arc<dyn FsFile>, lock: Option<Lock>) -> Result<Self, SessionError> {
        let identity = file.metadata().map_err(io_error(path, "be inspected"))?.identity;
        Ok(Self { file, identity, lock })
    }
}

impl Log {
    /// Creates a log in memory, dropped with its last reader.
    pub(super) fn in_memory() -> Self {
        Self::in_memory_at(None)
    }

    /// Creates a log in memory that represents the one at a path.
    pub(super) fn in_memory_at(path: Option<PathBuf>) -> Self {
        Self { fs: Arc::new(OsFs), path, bytes: RwLock::new(Bytes::Memory(Vec::new())) }
    }

    /// Creates a log whose file is created by the first write.
    pub(super) fn with_path(fs: Arc<dyn Fs>, path: PathBuf) -> Self {
        Self { fs, path: Some(path), bytes: RwLock::new(Bytes::NotCreated) }
    }

    /// Opens a file for reading.
    pub(super) fn open_to_read(path: &Path) -> Result<Self, SessionError> {
        let fs: Arc<dyn Fs> = Arc::new(OsFs);
        let file = fs.open_to_read(path).map_err(io_error(path, "be opened"))?;
        let open = OpenFile::new(path, file, None)?;
        Ok(Self { fs, path: Some(path.to_owned()), bytes: RwLock::new(Bytes::Disk(open)) })
    }

    /// Opens a file for appending and locks it.
    pub(super) fn open_to_write(fs: Arc<dyn Fs>, path: &Path) -> Result<Self, SessionError> {
        let file = fs.open_to_append(path).map_err(io_error(path, "be opened for writing"))?;
        let lock = Lock::acquire(&fs, path, &file)?;
        let open = OpenFile::new(path, file, lock)?;
        Ok(Self { fs, path: Some(path.to_owned()), bytes: RwLock::new(Bytes::Disk(open)) })
    }

    /// Replaces the content with migrated lines in memory; the file is unchanged.
    pub(super) fn with_migrated_lines(self, lines: Vec<u8>) -> Self {
        Self { bytes: RwLock::new(Bytes::Memory(lines)), ..self }
    }

    /// Turns a log in memory into the start of a file that the next append creates.
    pub(super) fn staged(self, path: PathBuf) -> Self {
        let bytes = match self.bytes.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Bytes::Memory(lines) => Bytes::Staged(lines),
            bytes => bytes,
        };
        Self { fs: self.fs, path: Some(path), bytes: RwLock::new(bytes) }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the path for messages, or a placeholder for a log in memory.
    pub(super) fn display_path(&self) -> PathBuf {
        self.path.clone().unwrap_or_else(|| PathBuf::from("(in memory)"))
    }

    /// Returns true if the log has a file or is in memory.
    pub(super) fn exists(&self) -> bool {
        !matches!(*self.bytes(), Bytes::NotCreated | Bytes::Staged(_))
    }

    /// Returns true if the file is open without a lock.
    pub(super) fn is_unlocked(&self) -> bool {
        matches!(&*self.bytes(), Bytes::Disk(OpenFile { lock: None, .. }))
    }

    fn bytes(&self) -> RwLockReadGuard<'_, Bytes> {
        self.bytes.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes_mut(&self) -> RwLockWriteGuard<'_, Bytes> {
        self.bytes.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Visits every line from the first, reading the file once, until the visitor breaks.
    pub(super) fn scan(
        &self,
        mut visit: impl FnMut(&LogLine<'_>) -> ControlFlow<()>,
    ) -> Result<(), SessionError> {
        let file = match &*self.bytes() {
            Bytes::NotCreated => return Ok(()),
            Bytes::Memory(bytes) | Bytes::Staged(bytes) => {
                return lines::visit(bytes.as_slice(), 0, 1, &mut visit).map_err(self.io("be read"));
            }
            Bytes::Disk(open) => Arc::clone(&open.file),
        };
        lines::visit(PositionedReader { file: &*file, at: 0 }, 0, 1, &mut visit).map_err(self.io("be read"))
    }

    /// Visits the lines of a range of the file; its first line has the number `number`.
    pub(super) fn scan_range(
        &self,
        part: Range<u64>,
        number: u64,
        mut visit: impl FnMut(&LogLine<'_>) -> ControlFlow<()>,
    ) -> Result<(), SessionError> {
        let Some(file) = self.file() else { return Ok(()) };
        let bytes = PositionedReader { file: &*file, at: part.start }.take(part.end - part.start);
        lines::visit(bytes, part.start, number, &mut visit).map_err(self.io("be read"))
    }

    /// Reads one line's bytes.
    pub(super) fn read_at(&self, offset: u64, length: usize) -> Result<Vec<u8>, SessionError> {
        let file = match &*self.bytes() {
            Bytes::NotCreated => return Err(self.io("be read")(io::ErrorKind::UnexpectedEof.into())),
            Bytes::Memory(bytes) | Bytes::Staged(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let range = bytes.get(start..start.saturating_add(length));
                return range
                    .map(<[u8]>::to_vec)
                    .ok_or_else(|| self.io("be read")(io::ErrorKind::UnexpectedEof.into()));
            }
            Bytes::Disk(open) => Arc::clone(&open.file),
        };
        let mut buffer = vec![0; length];
        PositionedReader { file: &*file, at: offset }.read_exact(&mut buffer).map_err(self.io("be read"))?;
        Ok(buffer)
    }

    /// Appends complete lines in one write, creating the file (0600) and its directory (0700) if needed.
    pub(super) fn append(&self, lines: &[u8]) -> Result<(), SessionError> {
        let mut bytes = self.bytes_mut();
        let first_lines = match &*bytes {
            Bytes::NotCreated => Some(lines.to_vec()),
            Bytes::Staged(staged) => Some([staged, lines].concat()),
            Bytes::Memory(_) | Bytes::Disk(_) => None,
        };
        if let (Some(first_lines), Some(path)) = (first_lines, &self.path) {
            *bytes = Bytes::Disk(self.create_file(path, &first_lines)?);
            return Ok(());
        }
        let written = match &mut *bytes {
            Bytes::NotCreated | Bytes::Staged(_) => Err(io::Error::other("the log has no path")),
            Bytes::Memory(memory) => memory.write_all(lines),
            Bytes::Disk(open) => write_once(&*open.file, lines),
        };
        written.map_err(|source| SessionError::Append { path: self.display_path(), source })
    }

    /// Creates the file with its first lines, completely or not at all, so that it can be retried.
    fn create_file(&self, path: &Path, lines: &[u8]) -> Result<OpenFile, SessionError> {
        let dir = dir_of(path);
        self.fs.create_dir(dir).map_err(dir_error(dir))?;
        let file = self.fs.create(path).map_err(io_error(path, "be created"))?;
        let created = Lock::acquire(&self.fs, path, &file).and_then(|lock| {
            write_once(&*file, lines)
                .map_err(|source| SessionError::Append { path: path.to_owned(), source })?;
            self.sync_dir(dir)?;
            OpenFile::new(path, file, lock)
        });
        if created.is_err() {
            // A file without a complete header would not be a session, and would block the retry.
            let _ = self.fs.remove(path);
        }
        created
    }

    /// Syncs the directory: not only the content but also the name must survive a power failure.
    fn sync_dir(&self, dir: &Path) -> Result<(), SessionError> {
        match self.fs.sync_dir(dir) {
            Ok(()) => Ok(()),
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
            {
                tracing::warn!(dir = %dir.display(), "this file system can't sync directories");
                Ok(())
            }
            Err(source) => Err(SessionError::Sync { path: dir.to_owned(), source }),
        }
    }

    /// Releases the lock. The file stays open for readers and syncs.
    pub(super) fn unlock(&self) {
        if let Bytes::Disk(open) = &mut *self.bytes_mut() {
            open.lock = None;
        }
    }

    /// Returns the file, for syncing it on another thread.
    pub(super) fn file(&self) -> Option<Arc<dyn FsFile>> {
        match &*self.bytes() {
            Bytes::Disk(open) => Some(Arc::clone(&open.file)),
            Bytes::NotCreated | Bytes::Memory(_) | Bytes::Staged(_) => None,
        }
    }

    /// The length in bytes.
    pub(super) fn length(&self) -> Result<u64, SessionError> {
        match &*self.bytes() {
            Bytes::NotCreated => Ok(0),
            Bytes::Memory(memory) | Bytes::Staged(memory) => Ok(memory.len() as u64),
            Bytes::Disk(open) => {
                open.file.metadata().map(|facts| facts.length).map_err(self.io("be inspected"))
            }
        }
    }

    fn io(&self, action: &'static str) -> impl FnOnce(io::Error) -> SessionError {
        io_error(&self.display_path(), action)
    }
}

/// A reader with its own position, so that readers don't affect each other or the writer.
struct PositionedReader<'a> {
    file: &'a dyn FsFile,
    at: u64,
}

impl Read for PositionedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Appends with one `write(2)`; a short write is an error, never followed by a second one.
fn write_once(file: &dyn FsFile, lines: &[u8]) -> io::Result<()> {
    let written = file.append(lines)?;
    if written == lines.len() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::WriteZero,
        format!("only {written} of {} bytes fit; is the disk full?", lines.len()),
    ))
}

fn dir_of(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
