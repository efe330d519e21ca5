//! The bytes of a log: appended whole lines, read by position.
//!
//! It knows lines, not entries. One line is one `write(2)` on a descriptor opened for appending; what is written in part
//! stays as it is. Whether the file is still the one at its path: [`place`].

mod path_check;

use std::io::{self, Read, Write};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::error::SessionError;
use super::fs::{FileIdentity, Fs, FsFile, OsFs};
use super::lines::{self, Line};
use super::lock::Lock;

pub(super) use path_check::PathState;

/// Where a log's bytes are.
#[derive(Debug)]
pub(super) struct Log {
    disk: Arc<dyn Fs>,
    path: Option<PathBuf>,
    bytes: RwLock<Bytes>,
}

#[derive(Debug)]
enum Bytes {
    /// Nothing was worth a file yet.
    Nowhere,
    Disk(Open),
    Memory(Vec<u8>),
    /// What the file will begin with, once there is something to put behind it.
    Staged(Vec<u8>),
}

/// An open file.
#[derive(Debug)]
struct Open {
    file: Arc<dyn FsFile>,
    identity: FileIdentity,
    /// `None` for who only reads, and where the file system has no locks.
    lock: Option<Lock>,
}

impl Open {
    fn new(path: &Path, file: Arc<dyn FsFile>, lock: Option<Lock>) -> Result<Self, SessionError> {
        let identity = file.facts().map_err(io_error(path, "be measured"))?.identity;
        Ok(Self { file, identity, lock })
    }
}

impl Log {
    /// A log that lives in memory and dies with its last reader.
    pub(super) fn in_memory() -> Self {
        Self { disk: Arc::new(OsFs), path: None, bytes: RwLock::new(Bytes::Memory(Vec::new())) }
    }

    /// A log whose file is made by the first write.
    pub(super) fn planned(disk: Arc<dyn Fs>, path: PathBuf) -> Self {
        Self { disk, path: Some(path), bytes: RwLock::new(Bytes::Nowhere) }
    }

    /// Opens a file to look at it; nothing is changed.
    pub(super) fn open_to_read(path: &Path) -> Result<Self, SessionError> {
        let disk: Arc<dyn Fs> = Arc::new(OsFs);
        let file = disk.open_to_read(path).map_err(io_error(path, "be opened"))?;
        let open = Open::new(path, file, None)?;
        Ok(Self { disk, path: Some(path.to_owned()), bytes: RwLock::new(Bytes::Disk(open)) })
    }

    /// Opens a file to append to it, alone.
    pub(super) fn open_to_write(disk: Arc<dyn Fs>, path: &Path) -> Result<Self, SessionError> {
        let file = disk.open_to_append(path).map_err(io_error(path, "be opened for writing"))?;
        let lock = Lock::take(&disk, path, &file)?;
        let open = Open::new(path, file, lock)?;
        Ok(Self { disk, path: Some(path.to_owned()), bytes: RwLock::new(Bytes::Disk(open)) })
    }

    /// The same log as the present version has it. It is looked at in memory; its file stays as it is.
    pub(super) fn migrated(self, lines: Vec<u8>) -> Self {
        Self { bytes: RwLock::new(Bytes::Memory(lines)), ..self }
    }

    /// A log in memory, on its way to a file that the next write makes.
    pub(super) fn staged(self, path: PathBuf) -> Self {
        let bytes = match self.bytes.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Bytes::Memory(lines) => Bytes::Staged(lines),
            bytes => bytes,
        };
        Self { disk: self.disk, path: Some(path), bytes: RwLock::new(bytes) }
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
        !matches!(*self.bytes(), Bytes::Nowhere | Bytes::Staged(_))
    }

    /// Whether nobody can be kept from writing to the file as well.
    pub(super) fn lacks_lock(&self) -> bool {
        matches!(&*self.bytes(), Bytes::Disk(Open { lock: None, .. }))
    }

    fn bytes(&self) -> RwLockReadGuard<'_, Bytes> {
        self.bytes.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes_mut(&self) -> RwLockWriteGuard<'_, Bytes> {
        self.bytes.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Visits every line from the first on, reading the file once, until the visitor has seen enough.
    pub(super) fn scan(
        &self,
        mut visit: impl FnMut(&Line<'_>) -> ControlFlow<()>,
    ) -> Result<(), SessionError> {
        let file = match &*self.bytes() {
            Bytes::Nowhere => return Ok(()),
            Bytes::Memory(bytes) | Bytes::Staged(bytes) => {
                return lines::visit(bytes.as_slice(), 0, 1, &mut visit).map_err(self.io("be read"));
            }
            Bytes::Disk(open) => Arc::clone(&open.file),
        };
        lines::visit(Positioned { file: &*file, at: 0 }, 0, 1, &mut visit).map_err(self.io("be read"))
    }

    /// Visits the lines of a part of the file that begins with the line `number`.
    pub(super) fn scan_part(
        &self,
        part: Range<u64>,
        number: u64,
        mut visit: impl FnMut(&Line<'_>) -> ControlFlow<()>,
    ) -> Result<(), SessionError> {
        let Some(file) = self.file() else { return Ok(()) };
        let bytes = Positioned { file: &*file, at: part.start }.take(part.end - part.start);
        lines::visit(bytes, part.start, number, &mut visit).map_err(self.io("be read"))
    }

    /// Reads one line's bytes.
    pub(super) fn read_at(&self, offset: u64, length: usize) -> Result<Vec<u8>, SessionError> {
        let file = match &*self.bytes() {
            Bytes::Nowhere => return Err(self.io("be read")(io::ErrorKind::UnexpectedEof.into())),
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
        Positioned { file: &*file, at: offset }.read_exact(&mut buffer).map_err(self.io("be read"))?;
        Ok(buffer)
    }

    /// Appends whole lines in one write, making the file (0600) and its folder (0700) where there is none.
    pub(super) fn append(&self, lines: &[u8]) -> Result<(), SessionError> {
        let mut bytes = self.bytes_mut();
        let begin = match &*bytes {
            Bytes::Nowhere => Some(lines.to_vec()),
            Bytes::Staged(staged) => Some([staged, lines].concat()),
            Bytes::Memory(_) | Bytes::Disk(_) => None,
        };
        if let (Some(begin), Some(path)) = (begin, &self.path) {
            *bytes = Bytes::Disk(self.make(path, &begin)?);
            return Ok(());
        }
        let wrote = match &mut *bytes {
            Bytes::Nowhere | Bytes::Staged(_) => Err(io::Error::other("the log has no place")),
            Bytes::Memory(memory) => memory.write_all(lines),
            Bytes::Disk(open) => write_once(&*open.file, lines),
        };
        wrote.map_err(|source| SessionError::Append { path: self.path_shown(), source })
    }

    /// Makes the file with its first lines, whole or not at all, so that it can be tried again.
    fn make(&self, path: &Path, lines: &[u8]) -> Result<Open, SessionError> {
        let folder = folder_of(path);
        self.disk.make_folder(folder).map_err(io_error(folder, "be made as a folder"))?;
        let file = self.disk.create(path).map_err(io_error(path, "be made"))?;
        let made = Lock::take(&self.disk, path, &file).and_then(|lock| {
            write_once(&*file, lines)
                .map_err(|source| SessionError::Append { path: path.to_owned(), source })?;
            self.sync_folder(folder)?;
            Open::new(path, file, lock)
        });
        if made.is_err() {
            // A file without a whole header would be no session, and in the way of the next try.
            let _ = self.disk.remove(path);
        }
        made
    }

    /// The name itself must survive a power cut, not only what is written under it.
    fn sync_folder(&self, folder: &Path) -> Result<(), SessionError> {
        match self.disk.sync_folder(folder) {
            Ok(()) => Ok(()),
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
            {
                tracing::warn!(folder = %folder.display(), "this filesystem doesn't sync folders");
                Ok(())
            }
            Err(source) => Err(SessionError::Sync { path: folder.to_owned(), source }),
        }
    }

    /// Lets others write. Whoever still holds the file only reads or syncs it.
    pub(super) fn unlock(&self) {
        if let Bytes::Disk(open) = &mut *self.bytes_mut() {
            open.lock = None;
        }
    }

    /// The file, for syncing it on another thread.
    pub(super) fn file(&self) -> Option<Arc<dyn FsFile>> {
        match &*self.bytes() {
            Bytes::Disk(open) => Some(Arc::clone(&open.file)),
            Bytes::Nowhere | Bytes::Memory(_) | Bytes::Staged(_) => None,
        }
    }

    /// The length in bytes.
    pub(super) fn length(&self) -> Result<u64, SessionError> {
        match &*self.bytes() {
            Bytes::Nowhere => Ok(0),
            Bytes::Memory(memory) | Bytes::Staged(memory) => Ok(memory.len() as u64),
            Bytes::Disk(open) => open.file.facts().map(|facts| facts.length).map_err(self.io("be measured")),
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
    file: &'a dyn FsFile,
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

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
