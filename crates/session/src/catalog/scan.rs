//! The files of a folder of sessions: where they are, how long, and when they were last written to.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tiller_core::unit::UnixMs;

use crate::SessionError;
use crate::log::io_error;

/// Length, last change and identity of a file: while they stay, what is known of it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: u64,
    /// Nanoseconds since 1970.
    pub(super) modified_ns: i64,
    /// The inode's number, as SQLite keeps it.
    pub(super) inode: i64,
}

/// A file that should be a log.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
}

impl Stamp {
    pub(super) fn of(facts: &Metadata) -> Self {
        let since =
            facts.modified().ok().and_then(|moment| moment.duration_since(SystemTime::UNIX_EPOCH).ok());
        let modified_ns = since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0);
        Self { size: facts.len(), modified_ns, inode: facts.ino().cast_signed() }
    }

    /// Whether the file may only have grown since it was `before`. One that changed and is no longer than it was did not.
    pub(super) fn may_be_growth_of(&self, before: &Self) -> bool {
        self.inode == before.inode && self.size > before.size
    }

    pub(super) fn modified(&self) -> UnixMs {
        UnixMs(self.modified_ns / 1_000_000)
    }
}

/// What is in some folders.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The logs, the one written to last first; of those written to at one moment the one with the later name.
    pub(super) files: Vec<File>,
    /// Folders that can't be listed, with the reason.
    pub(super) closed: Vec<(PathBuf, SessionError)>,
}

/// Every log in these folders. One that can't be listed costs itself alone.
pub(super) fn files(folders: &[PathBuf]) -> Found {
    let mut found = Found::default();
    for folder in folders {
        match entries(folder) {
            Ok(entries) => found.files.extend(entries.iter().filter_map(file)),
            Err(error) => found.closed.push((folder.clone(), error)),
        }
    }
    found.files.sort_by(|a, b| {
        b.stamp
            .modified_ns
            .cmp(&a.stamp.modified_ns)
            .then_with(|| b.path.file_name().cmp(&a.path.file_name()))
    });
    found
}

/// The log that this is; `None` when it is something else.
fn file(entry: &DirEntry) -> Option<File> {
    let path = entry.path();
    if path.extension().is_none_or(|ending| ending != "jsonl") {
        return None;
    }
    // What went away since it was listed is not there, and opening a pipe would wait for ever.
    let facts = fs::metadata(&path).ok().filter(|facts| facts.is_file() || facts.is_dir())?;
    Some(File { stamp: Stamp::of(&facts), path })
}

/// What is in a folder; nothing if there is none.
pub(super) fn entries(folder: &Path) -> Result<Vec<DirEntry>, SessionError> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(entries.filter_map(Result::ok).collect()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(io_error(folder, "be listed")(error)),
    }
}

/// The id in a log's name, `<timestamp>_<id>.jsonl`; `None` when it is named otherwise.
pub(super) fn id_in_name(path: &Path) -> Option<&str> {
    let (stamp, id) = path.file_stem()?.to_str()?.split_once('_')?;
    let is_stamp =
        stamp.len() >= 20 && stamp.starts_with(|c: char| c.is_ascii_digit()) && stamp.ends_with('Z');
    (is_stamp && !id.is_empty()).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_listed_costs_itself_alone() {
        let good = tempfile::tempdir().unwrap();
        fs::write(good.path().join("a.jsonl"), "").unwrap();
        // No name has a zero byte in it; that stops even root, whom permissions don't.
        let found = files(&["/s/\0".into(), good.path().to_owned()]);
        assert_eq!(found.files.len(), 1);
        assert_eq!(found.closed.iter().map(|(folder, _)| folder).collect::<Vec<_>>(), [Path::new("/s/\0")]);
    }

    #[test]
    fn a_name_tells_the_id_if_it_is_one_that_tiller_or_pi_gave() {
        let id = |name: &str| id_in_name(Path::new(name)).map(str::to_owned);
        assert_eq!(id("/s/2026-11-21T03-16-58-249Z_01ABC.jsonl").as_deref(), Some("01ABC"));
        assert_eq!(id("2026-11-21T03-16-58-249Z_a_b.jsonl").as_deref(), Some("a_b"));
        assert_eq!(id("old_session.jsonl"), None);
        assert_eq!(id("log.jsonl"), None);
    }
}
