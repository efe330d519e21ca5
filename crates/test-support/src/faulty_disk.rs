//! A file system for tests that counts operations and injects faults.
//!
//! It uses the real file system, but skips the syncs, which would only take time.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use nix::errno::Errno;
use tiller_session::{FileMetadata, Fs, FsFile, OsFs};

/// A fault of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// ENOSPC; nothing is written.
    Full,
    /// EIO; nothing is written.
    Broken,
    /// A short write of this many bytes.
    Short(usize),
    /// This many bytes are written, and the result is EIO anyway.
    BrokenAfter(usize),
    /// Another program appends this first; the write itself succeeds.
    Overtaken(String),
}

/// The file system; clones share their state.
#[derive(Clone, Debug, Default)]
pub struct FaultyDisk {
    state: Arc<DiskState>,
}

#[derive(Debug, Default)]
struct DiskState {
    writes: AtomicUsize,
    syncs: AtomicUsize,
    dir_syncs: AtomicUsize,
    fault: Mutex<Option<(usize, Fault)>>,
    fails_syncs: AtomicBool,
    fails_dir_syncs: AtomicBool,
    lacks_locks: AtomicBool,
    slow_sync_ms: AtomicUsize,
}

impl FaultyDisk {
    /// Fails one write to a log, after this many others.
    pub fn fail_write_after(&self, others: usize, fault: Fault) {
        *self.state.fault.lock().unwrap() = Some((self.writes() + others, fault));
    }

    pub fn fail_syncs(&self, fails: bool) {
        self.state.fails_syncs.store(fails, Ordering::Relaxed);
    }

    pub fn slow_syncs(&self, ms: usize) {
        self.state.slow_sync_ms.store(ms, Ordering::Relaxed);
    }

    pub fn fail_dir_syncs(&self, fails: bool) {
        self.state.fails_dir_syncs.store(fails, Ordering::Relaxed);
    }

    pub fn without_locks(self) -> Self {
        self.state.lacks_locks.store(true, Ordering::Relaxed);
        self
    }

    /// Number of writes to logs, including failed ones.
    pub fn writes(&self) -> usize {
        self.state.writes.load(Ordering::Relaxed)
    }

    pub fn syncs(&self) -> usize {
        self.state.syncs.load(Ordering::Relaxed)
    }

    pub fn dir_syncs(&self) -> usize {
        self.state.dir_syncs.load(Ordering::Relaxed)
    }

    fn file(&self, path: &Path, file: io::Result<Arc<dyn FsFile>>) -> io::Result<Arc<dyn FsFile>> {
        let is_note = path.extension().is_some_and(|extension| extension == "lock");
        let state = Arc::clone(&self.state);
        file.map(|file| if is_note { file } else { Arc::new(FaultyFile { file, state }) as Arc<dyn FsFile> })
    }
}

impl Fs for FaultyDisk {
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        OsFs.create_dir(dir)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn FsFile>> {
        self.file(path, OsFs.create(path))
    }

    fn open_to_read(&self, path: &Path) -> io::Result<Arc<dyn FsFile>> {
        self.file(path, OsFs.open_to_read(path))
    }

    fn open_to_append(&self, path: &Path) -> io::Result<Arc<dyn FsFile>> {
        self.file(path, OsFs.open_to_append(path))
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        OsFs.metadata(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        OsFs.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        OsFs.remove(path)
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        self.state.dir_syncs.fetch_add(1, Ordering::Relaxed);
        fail_if(&self.state.fails_dir_syncs)
    }
}

#[derive(Debug)]
struct FaultyFile {
    file: Arc<dyn FsFile>,
    state: Arc<DiskState>,
}

impl FsFile for FaultyFile {
    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let number = self.state.writes.fetch_add(1, Ordering::Relaxed);
        let fault = self.state.fault.lock().unwrap().take_if(|(at, _)| *at == number);
        match fault.map(|(_, fault)| fault) {
            None => self.file.append(bytes),
            Some(Fault::Full) => Err(Errno::ENOSPC.into()),
            Some(Fault::Broken) => Err(Errno::EIO.into()),
            Some(Fault::Short(count)) => self.file.append(&bytes[..count]),
            Some(Fault::BrokenAfter(count)) => self.file.append(&bytes[..count]).and(Err(Errno::EIO.into())),
            Some(Fault::Overtaken(others)) => {
                self.file.append(others.as_bytes())?;
                self.file.append(bytes)
            }
        }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn metadata(&self) -> io::Result<FileMetadata> {
        self.file.metadata()
    }

    fn sync(&self) -> io::Result<()> {
        self.state.syncs.fetch_add(1, Ordering::Relaxed);
        let ms = self.state.slow_sync_ms.load(Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(ms as u64));
        fail_if(&self.state.fails_syncs)
    }

    fn lock(&self) -> io::Result<()> {
        if self.state.lacks_locks.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.file.lock()
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }
}

fn fail_if(fails: &AtomicBool) -> io::Result<()> {
    if fails.load(Ordering::Relaxed) { Err(Errno::EIO.into()) } else { Ok(()) }
}
