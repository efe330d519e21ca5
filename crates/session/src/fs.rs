//! The file system operations for writing logs.
//!
//! [`OsFs`] is the real file system. An embedder or a test may replace it with
//! [`SessionManager::with_fs`](super::SessionManager::with_fs) to store logs elsewhere, count operations or
//! inject failures. Listing directories and reading logs that have no writer in this process always use the
//! real one.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use tiller_files as files;

/// A file system for logs that are open for writing.
pub trait Fs: Debug + Send + Sync {
    /// Creates a directory and its parents (mode 0700). An existing directory is not an error.
    ///
    /// # Errors
    /// If it can't be created.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;

    /// Creates a file (mode 0600) for reading and appending.
    ///
    /// # Errors
    /// If it can't be created; `AlreadyExists` if the name is taken.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn FsFile>>;

    /// Opens a file for reading.
    ///
    /// # Errors
    /// If it can't be opened.
    fn open_to_read(&self, path: &Path) -> io::Result<Arc<dyn FsFile>>;

    /// Opens a file for reading and appending.
    ///
    /// # Errors
    /// If it can't be opened.
    fn open_to_append(&self, path: &Path) -> io::Result<Arc<dyn FsFile>>;

    /// Identity and length of the file at a path.
    ///
    /// # Errors
    /// `NotFound` if there is no file.
    fn metadata(&self, path: &Path) -> io::Result<FileMetadata>;

    /// Renames a file within its directory.
    ///
    /// # Errors
    /// If it can't be renamed.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// If it can't be removed.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Syncs a directory's entries to the disk.
    ///
    /// # Errors
    /// If the disk fails; `InvalidInput` or `Unsupported` if directories can't be synced.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
}

/// An open file. Its operations work even after the file is removed from its directory.
pub trait FsFile: Debug + Send + Sync {
    /// Appends in one write and returns the number of bytes written, which may be fewer.
    ///
    /// # Errors
    /// If it can't be written.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Reads from an offset and returns the number of bytes read: 0 only at the end of the file.
    ///
    /// # Errors
    /// If it can't be read.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Identity and length of a file.
    ///
    /// # Errors
    /// If they can't be determined.
    fn metadata(&self) -> io::Result<FileMetadata>;

    /// Syncs appended data to the disk. Blocks.
    ///
    /// # Errors
    /// If the disk fails.
    fn sync(&self) -> io::Result<()>;

    /// Acquires the file's lock without waiting. The lock is released when the process exits, or earlier.
    ///
    /// # Errors
    /// `WouldBlock` if another process holds it, `Unsupported` if the file system has no locks.
    fn lock(&self) -> io::Result<()>;

    /// Releases the lock.
    ///
    /// # Errors
    /// If it can't be released.
    fn unlock(&self) -> io::Result<()>;
}

/// Identity and length of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMetadata {
    /// The file's identity.
    pub identity: FileIdentity,
    /// Its length in bytes.
    pub length: u64,
}

/// The identity of a file, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// Device number.
    pub device: u64,
    /// Inode number on the device.
    pub inode: u64,
}

impl From<fs::Metadata> for FileMetadata {
    fn from(metadata: fs::Metadata) -> Self {
        let identity = FileIdentity { device: metadata.dev(), inode: metadata.ino() };
        Self { identity, length: metadata.len() }
    }
}

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OsFs;

impl Fs for OsFs {
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn FsFile>> {
        let open = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path);
        Ok(Arc::new(open?))
    }

    fn open_to_read(&self, path: &Path) -> io::Result<Arc<dyn FsFile>> {
        Ok(Arc::new(files::open(path)?))
    }

    fn open_to_append(&self, path: &Path) -> io::Result<Arc<dyn FsFile>> {
        Ok(Arc::new(files::open_with(path, OpenOptions::new().read(true).append(true))?))
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        Ok(fs::metadata(path)?.into())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }
}

impl FsFile for File {
    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self;
        loop {
            match file.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn metadata(&self) -> io::Result<FileMetadata> {
        Ok(self.metadata()?.into())
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn lock(&self) -> io::Result<()> {
        match self.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            // A network file system without a lock service has its own error number.
            Err(TryLockError::Error(error)) if error.raw_os_error() == Some(NO_LOCK_SERVICE) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, error))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn unlock(&self) -> io::Result<()> {
        File::unlock(self)
    }
}

/// The error number of a file system without a lock service.
const NO_LOCK_SERVICE: i32 = nix::errno::Errno::ENOLCK as i32;
