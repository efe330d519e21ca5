//! The versions of files that the model has seen, so that it doesn't replace a file that has changed since.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of files; all are forgotten when it is reached, which only weakens the check.
const MAX_FILES: usize = 10_000;

/// The files that the model has read or written. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct SeenFiles(Arc<Mutex<HashMap<PathBuf, FileVersion>>>);

/// A version of a file: every change of its content changes at least one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileVersion {
    inode: u64,
    bytes: u64,
    /// Time of the last change, in nanoseconds since the epoch.
    modified_ns: i128,
}

impl From<&Metadata> for FileVersion {
    fn from(metadata: &Metadata) -> Self {
        let modified_ns = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        Self { inode: metadata.ino(), bytes: metadata.len(), modified_ns }
    }
}

impl SeenFiles {
    /// Records that the model knows this version of a file.
    pub(super) fn record(&self, path: &Path, metadata: &Metadata) {
        let mut files = self.lock();
        if files.len() >= MAX_FILES {
            files.clear();
        }
        files.insert(path.to_owned(), metadata.into());
    }

    /// Reports whether a file that the model has seen is another version now.
    pub(super) fn has_changed(&self, path: &Path, metadata: &Metadata) -> bool {
        self.lock().get(path).is_some_and(|seen| *seen != FileVersion::from(metadata))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, FileVersion>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
