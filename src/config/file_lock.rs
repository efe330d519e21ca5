//! The lock on a file that several tiller processes read, change and replace.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::files;

/// Maximum time to wait for another process; a change takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Time between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The exclusive right to replace a file. The lock is on a separate file next to it, which is removed on
/// drop.
#[derive(Debug)]
pub(super) struct FileLock {
    path: PathBuf,
    /// Kept open, because closing it releases the lock.
    _file: File,
}

impl FileLock {
    /// Locks a file, which may not exist, and creates its directory. `None` if the file system has no locks.
    pub(super) fn acquire(target: &Path) -> io::Result<Option<Self>> {
        Self::acquire_within(target, LOCK_TIMEOUT)
    }

    fn acquire_within(target: &Path, wait: Duration) -> io::Result<Option<Self>> {
        let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
        files::make_private_dir(target.parent().unwrap_or(Path::new(".")))?;
        let mut path = target.into_os_string();
        path.push(".lock");
        let path = PathBuf::from(path);
        let end = Instant::now() + wait;
        loop {
            let file = files::open_lock(&path)?;
            match file.try_lock() {
                // The previous holder may have removed the lock file in the meantime.
                Ok(()) if is_at(&file, &path) => return Ok(Some(Self { path, _file: file })),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(None);
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
            if Instant::now() >= end {
                let problem = format!("another tiller process is changing it; it holds {}", path.display());
                return Err(io::Error::new(io::ErrorKind::TimedOut, problem));
            }
            thread::sleep(RETRY_INTERVAL);
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    file.metadata().is_ok_and(|open| path.symlink_metadata().is_ok_and(|there| id(there) == id(open)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_lock_is_exclusive_and_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("new/settings.json");
        let held = FileLock::acquire(&target).unwrap().unwrap();
        let error = FileLock::acquire_within(&target, Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(FileLock::acquire_within(&dir.path().join("new/trust.json"), Duration::ZERO).is_ok());
        drop(held);
        drop(FileLock::acquire_within(&target, Duration::ZERO).unwrap().unwrap());
        assert_eq!(fs::read_dir(dir.path().join("new")).unwrap().count(), 0);
    }

    #[test]
    fn file_lock_follows_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let (target, elsewhere) = (dir.path().join("settings.json"), dir.path().join("elsewhere"));
        std::os::unix::fs::symlink(&elsewhere, dir.path().join("settings.json.lock")).unwrap();
        assert!(FileLock::acquire_within(&target, Duration::ZERO).is_err());
        assert!(!elsewhere.exists());
    }
}
