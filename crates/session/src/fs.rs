//! The few things that a log asks of a file system.
//!
//! [`FileSystem`] is the real one. An embedder or a test may put another in its place with
//! [`SessionManager::on_disk`](super::SessionManager::on_disk): to keep logs elsewhere, to count what is done, or to have it
//! fail. Looking through folders and reading logs that nobody here writes to is not asked of it.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use tiller_files as files;

/// Where the logs that are written to are kept.
pub trait Fs: Debug + Send + Sync {
    /// Makes a folder and those above it (mode 0700). One that is there already is fine.
    ///
    /// # Errors
    /// When it can't be made.
    fn make_folder(&self, folder: &Path) -> io::Result<()>;

    /// Makes a file (mode 0600) to read and append to.
    ///
    /// # Errors
    /// When it can't be made; `AlreadyExists` when there is something of that name.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn FsFile>>;

    /// Opens a file to read it.
    ///
    /// # Errors
    /// When it can't be opened.
    fn open_to_read(&self, path: &Path) -> io::Result<Arc<dyn FsFile>>;

    /// Opens a file to read it and append to it.
    ///
    /// # Errors
    /// When it can't be opened.
    fn open_to_append(&self, path: &Path) -> io::Result<Arc<dyn FsFile>>;

    /// What stands at a path now.
    ///
    /// # Errors
    /// `NotFound` when nothing does.
    fn facts(&self, path: &Path) -> io::Result<FileFacts>;

    /// Gives a file another name in the same folder.
    ///
    /// # Errors
    /// When it can't.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// When it can't.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Brings the names in a folder to the disk.
    ///
    /// # Errors
    /// When the disk says no; `InvalidInput` or `Unsupported` where folders can't be synced.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

/// A file that is open. What is done to it goes on working when its name is gone.
pub trait FsFile: Debug + Send + Sync {
    /// Appends in one write and answers with how many bytes went in, which may be fewer.
    ///
    /// # Errors
    /// When it can't.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Reads from an offset and answers with how many bytes it were: 0 only at the end.
    ///
    /// # Errors
    /// When it can't.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Which file it is and how long.
    ///
    /// # Errors
    /// When it can't be told.
    fn facts(&self) -> io::Result<FileFacts>;

    /// Brings what was appended to the disk. Blocks.
    ///
    /// # Errors
    /// When the disk says no.
    fn sync(&self) -> io::Result<()>;

    /// Takes the file's lock, which ends with the process at the latest.
    ///
    /// # Errors
    /// `WouldBlock` when another has it, `Unsupported` where there are no locks.
    fn lock(&self) -> io::Result<()>;

    /// Gives the lock back.
    ///
    /// # Errors
    /// When it can't.
    fn unlock(&self) -> io::Result<()>;
}

/// Which file it is and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// Which file.
    pub identity: FileIdentity,
    /// Its length in bytes.
    pub length: u64,
}

/// What tells a file from every other, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// The device it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

impl From<fs::Metadata> for FileFacts {
    fn from(metadata: fs::Metadata) -> Self {
        let identity = FileIdentity { device: metadata.dev(), inode: metadata.ino() };
        Self { identity, length: metadata.len() }
    }
}

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OsFs;

impl Fs for OsFs {
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
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

    fn facts(&self, path: &Path) -> io::Result<FileFacts> {
        Ok(fs::metadata(path)?.into())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
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

    fn facts(&self) -> io::Result<FileFacts> {
        Ok(self.metadata()?.into())
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn lock(&self) -> io::Result<()> {
        match self.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            // A network file system without its lock service says so in words of its own.
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

/// The error number of a file system that has no locks to give.
const NO_LOCK_SERVICE: i32 = nix::errno::Errno::ENOLCK as i32;
