//! Listing of log files with their length and modification time.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tiller_core::unit::UnixMs;

use crate::SessionError;
use crate::agents_dir::is_agents_dir;
use crate::error::io_error;

/// Length, modification time and inode of a file: while they are unchanged, its record is valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) size: u64,
    /// Nanoseconds since 1970.
    pub(super) modified_ns: i64,
    /// The inode number, signed for SQLite.
    pub(super) inode: i64,
}

#[derive(Clone, Debug)]
pub(super) struct LogFile {
    pub(super) path: PathBuf,
    pub(super) stamp: FileStamp,
}

impl FileStamp {
    pub(super) fn new(metadata: &Metadata) -> Self {
        let age = metadata.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        let modified_ns = age.and_then(|age| i64::try_from(age.as_nanos()).ok()).unwrap_or(0);
        Self { size: metadata.len(), modified_ns, inode: metadata.ino().cast_signed() }
    }

    /// Returns true if the file may only have grown since `earlier`: same inode, and longer.
    pub(super) fn may_be_growth_of(&self, earlier: &Self) -> bool {
        self.inode == earlier.inode && self.size > earlier.size
    }

    pub(super) fn modified(&self) -> UnixMs {
        UnixMs(self.modified_ns / 1_000_000)
    }
}

/// Log files of some directories.
#[derive(Debug, Default)]
pub(super) struct ScannedDirs {
    /// The logs, most recently written first; for equal times by descending name.
    pub(super) files: Vec<LogFile>,
    /// Directories that can't be listed, with the error.
    pub(super) unlisted: Vec<(PathBuf, SessionError)>,
}

/// Lists the logs in these directories. A directory that can't be listed doesn't affect the others.
pub(super) fn scan_dirs(dirs: &[PathBuf]) -> ScannedDirs {
    let mut scanned = ScannedDirs::default();
    for dir in dirs {
        match list_dir(dir) {
            Ok(entries) => scanned.files.extend(entries.iter().filter_map(log_file)),
            Err(error) => scanned.unlisted.push((dir.clone(), error)),
        }
    }
    scanned.files.sort_by(|a, b| {
        b.stamp
            .modified_ns
            .cmp(&a.stamp.modified_ns)
            .then_with(|| b.path.file_name().cmp(&a.path.file_name()))
    });
    scanned
}

/// The log file of a directory entry; `None` for anything else.
fn log_file(entry: &DirEntry) -> Option<LogFile> {
    let path = entry.path();
    if path.extension().is_none_or(|extension| extension != "jsonl") {
        return None;
    }
    // The file may have been removed since. Only regular files count: opening a pipe would block.
    let metadata = fs::metadata(&path).ok().filter(|metadata| metadata.is_file() || metadata.is_dir())?;
    Some(LogFile { stamp: FileStamp::new(&metadata), path })
}

/// Lists a directory; empty if it doesn't exist.
pub(super) fn list_dir(dir: &Path) -> Result<Vec<DirEntry>, SessionError> {
    match fs::read_dir(dir) {
        Ok(entries) => Ok(entries.filter_map(Result::ok).collect()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(io_error(dir, "be listed")(error)),
    }
}

/// Returns the id in a log's file name, `<timestamp>_<id>.jsonl`; `None` for other names.
pub(super) fn id_from_name(path: &Path) -> Option<&str> {
    let (stamp, id) = path.file_stem()?.to_str()?.split_once('_')?;
    let is_stamp =
        stamp.len() >= 20 && stamp.starts_with(|c: char| c.is_ascii_digit()) && stamp.ends_with('Z');
    (is_stamp && !id.is_empty()).then_some(id)
}

/// All logs in these directories.
pub(crate) fn log_files(dirs: &[PathBuf]) -> Result<Vec<PathBuf>, SessionError> {
    let scanned = scan_dirs(dirs);
    match scanned.unlisted.into_iter().next() {
        Some((_, error)) => Err(error),
        None => Ok(scanned.files.into_iter().map(|file| file.path).collect()),
    }
}

/// The subdirectories of a directory.
pub(crate) fn subdirs(dir: &Path) -> Result<Vec<PathBuf>, SessionError> {
    let entries = list_dir(dir)?.into_iter();
    Ok(entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect())
}

/// Returns the directories of these directories' agent sessions, and of those agents' own agent sessions.
/// Directories that can't be listed are skipped.
pub(super) fn agents_dirs(mut dirs: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut agents = Vec::new();
    while let Some(dir) = dirs.pop() {
        let nested = subdirs(&dir).unwrap_or_default().into_iter().filter(|path| is_agents_dir(path));
        dirs.extend(nested.inspect(|path| agents.push(path.clone())));
    }
    agents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scan_dirs_unreadable_dir_is_reported() {
        let readable = tempfile::tempdir().unwrap();
        fs::write(readable.path().join("a.jsonl"), "").unwrap();
        // Unlike missing permissions, a zero byte in a path is an error even for root.
        let scanned = scan_dirs(&["/s/\0".into(), readable.path().to_owned()]);
        assert_eq!(scanned.files.len(), 1);
        assert_eq!(scanned.unlisted.iter().map(|(dir, _)| dir).collect::<Vec<_>>(), [Path::new("/s/\0")]);
    }

    #[test]
    fn id_from_name_other_names_have_none() {
        let id = |name: &str| id_from_name(Path::new(name)).map(str::to_owned);
        assert_eq!(id("/s/2026-11-21T03-16-58-249Z_01ABC.jsonl").as_deref(), Some("01ABC"));
        assert_eq!(id("2026-11-21T03-16-58-249Z_a_b.jsonl").as_deref(), Some("a_b"));
        assert_eq!(id("old_session.jsonl"), None);
        assert_eq!(id("log.jsonl"), None);
    }
}
