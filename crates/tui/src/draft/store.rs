//! Draft files: one for each process in a working directory, so that none overwrites another.
//!
//! Drafts are best effort: an unreadable file counts as missing, and a failed write is ignored. A process
//! keeps its draft file locked; other processes in the same directory use other files.

use std::fs::{self, File, TryLockError};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use tiller_files as files;

/// Maximum number of drafts of one directory, and so of processes that save drafts there.
const MAX_PER_DIRECTORY: usize = 9;

/// Maximum number of draft files of all directories; beyond it, the oldest are deleted.
const MAX_FILES: usize = 200;

/// Maximum length of the directory's name within the file name, in characters.
const MAX_NAME: usize = 40;

/// The content of a draft file.
#[derive(Serialize, Deserialize)]
struct StoredDraft {
    cwd: String,
    text: String,
}

/// A locked draft file. The lock ends with the process, so a draft left by a crash is free.
#[derive(Debug)]
pub(super) struct DraftLock {
    path: PathBuf,
    file: File,
}

impl DraftLock {
    /// Locks the file; `None` if another process holds the lock.
    fn acquire(path: PathBuf, file: File) -> Option<Self> {
        try_lock(&file).then_some(Self { path, file })
    }
}

/// Locks a file; returns false if another process holds the lock. On a file system without locks, all files
/// are free.
fn try_lock(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Takes over a draft in `cwd` that no running process holds.
pub(super) fn load(dir: &Path, cwd: &Path) -> Option<(String, DraftLock)> {
    draft_paths(dir, cwd).find_map(|path| read(path, cwd))
}

fn read(path: PathBuf, cwd: &Path) -> Option<(String, DraftLock)> {
    let lock = DraftLock::acquire(path.clone(), files::open(&path).ok()?)?;
    let draft: StoredDraft = serde_json::from_reader(BufReader::new(&lock.file)).ok()?;
    (draft.cwd == path_text(cwd) && !draft.text.trim().is_empty()).then_some((draft.text, lock))
}

/// Saves a draft in place of the draft `before`; an empty text deletes the file.
pub(super) fn save(dir: &Path, cwd: &Path, text: &str, before: Option<DraftLock>) -> Option<DraftLock> {
    if text.trim().is_empty() {
        before.into_iter().for_each(|lock| _ = fs::remove_file(&lock.path));
        return None;
    }
    let Some(lock) = write(dir, cwd, text, before.as_ref()) else { return before };
    // After a change of directory, the file is moved.
    let gone = before.filter(|before| before.path != lock.path);
    gone.into_iter().for_each(|gone| _ = fs::remove_file(&gone.path));
    Some(lock)
}

fn write(dir: &Path, cwd: &Path, text: &str, before: Option<&DraftLock>) -> Option<DraftLock> {
    let bytes = serde_json::to_vec(&StoredDraft { cwd: path_text(cwd), text: text.to_owned() }).ok()?;
    let own_path = before.map(|lock| lock.path.clone());
    match own_path.filter(|own_path| draft_paths(dir, cwd).any(|place| place == *own_path)) {
        Some(path) => persist(write_temporary(dir, &bytes).ok()?, path),
        None => {
            let _ = files::make_private_dir(dir);
            remove_oldest(dir);
            write_first(dir, cwd, write_temporary(dir, &bytes).ok()?)
        }
    }
}

/// Persists a file at the first free path. If all are taken, replaces a draft whose process is gone.
fn write_first(dir: &Path, cwd: &Path, mut file: NamedTempFile) -> Option<DraftLock> {
    for path in draft_paths(dir, cwd) {
        match file.persist_noclobber(&path) {
            Ok(file) => return Some(DraftLock { path, file }),
            Err(error) => file = error.file,
        }
    }
    let is_left = |path: &PathBuf| files::open(path).is_ok_and(|file| try_lock(&file));
    persist(file, draft_paths(dir, cwd).find(is_left)?)
}

fn persist(file: NamedTempFile, path: PathBuf) -> Option<DraftLock> {
    let file = file.persist(&path).ok()?;
    Some(DraftLock { path, file })
}

/// Writes a temporary file. Readers of the final path see the old or the new file, complete and locked.
fn write_temporary(dir: &Path, bytes: &[u8]) -> std::io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in(dir)?;
    file.write_all(bytes)?;
    // No other process knows the file yet, so the lock is free.
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Returns the paths of a directory's drafts, built from its readable name, a hash that makes it unique, and
/// a number.
fn draft_paths(dir: &Path, cwd: &Path) -> impl Iterator<Item = PathBuf> {
    let name = cwd.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
    let name: String = name.chars().take(MAX_NAME).map(plain).collect();
    let digest = Sha256::digest(cwd.as_os_str().as_encoded_bytes());
    let hash: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let dir = dir.to_owned();
    (1..=MAX_PER_DIRECTORY).map(move |number| dir.join(format!("{name}-{hash}-{number}.json")))
}

fn path_text(cwd: &Path) -> String {
    cwd.display().to_string()
}

/// Deletes the oldest drafts, from directories that are no longer used, if there are too many.
fn remove_oldest(dir: &Path) {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let age = |path: &Path| path.metadata().and_then(|facts| facts.modified()).ok();
    let mut files: Vec<(Option<SystemTime>, PathBuf)> =
        entries.map(|entry| (age(&entry.path()), entry.path())).collect();
    if files.len() < MAX_FILES {
        return;
    }
    files.sort();
    let old = files.len() + 1 - MAX_FILES;
    for (_, path) in files.into_iter().take(old) {
        if files::open(&path).is_ok_and(|file| try_lock(&file)) {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// Returns the draft that a new process in a directory takes over.
    fn load_text(dir: &TempDir, cwd: &str) -> Option<String> {
        load(dir.path(), Path::new(cwd)).map(|(text, _)| text)
    }

    fn save_text(dir: &TempDir, cwd: &str, text: &str, before: Option<DraftLock>) -> Option<DraftLock> {
        save(dir.path(), Path::new(cwd), text, before)
    }

    fn count(dir: &TempDir) -> usize {
        fs::read_dir(dir.path()).unwrap().count()
    }

    #[test]
    fn drafts_are_separate_by_directory_and_deleted_when_sent() {
        let dir = TempDir::new().unwrap();
        let first = save_text(&dir, "/a/b", "half a thought", None);
        let second = save_text(&dir, "/c/b", "another one", None);
        drop(first);
        assert_eq!(load_text(&dir, "/a/b").as_deref(), Some("half a thought"));
        assert_eq!(load_text(&dir, "/d/b"), None);
        assert_eq!(load_text(&dir, "/c/b"), None, "locked by a process");
        assert!(save_text(&dir, "/c/b", " ", second).is_none());
        assert_eq!((load_text(&dir, "/c/b"), count(&dir)), (None, 1));
    }

    #[test]
    fn drafts_of_two_processes_in_one_directory_are_separate() {
        let dir = TempDir::new().unwrap();
        let first = save_text(&dir, "/a", "mine", None);
        let second = save_text(&dir, "/a", "his", None);
        assert!(first.is_some() && second.is_some() && load_text(&dir, "/a").is_none());
        let first = save_text(&dir, "/a", "mine, longer", first);
        drop((first, second));
        let (text, first) = load(dir.path(), Path::new("/a")).unwrap();
        assert_eq!(text, "mine, longer");
        assert_eq!(load_text(&dir, "/a").as_deref(), Some("his"), "the first is taken");
        drop(save_text(&dir, "/a", "", Some(first)));
        assert_eq!((load_text(&dir, "/a").as_deref(), count(&dir)), (Some("his"), 1));
    }

    #[test]
    fn draft_moves_along_to_another_directory() {
        let dir = TempDir::new().unwrap();
        let lock = save_text(&dir, "/a", "half a thought", None);
        drop(save_text(&dir, "/b", "half a thought", lock));
        assert_eq!((load_text(&dir, "/a"), load_text(&dir, "/b").is_some(), count(&dir)), (None, true, 1));
    }

    #[test]
    fn draft_failed_write_leaves_the_previous_one() {
        let dir = TempDir::new().unwrap();
        let before = save_text(&dir, "/a", "half a thought", None);
        let unwritable = dir.path().join("no/where");
        fs::write(dir.path().join("no"), "").unwrap();
        let lock = save(&unwritable, Path::new("/a"), "more of it", before);
        assert!(load_text(&dir, "/a").is_none(), "still locked by this process");
        drop(lock);
        assert_eq!(load_text(&dir, "/a").as_deref(), Some("half a thought"));
    }

    #[test]
    fn drafts_of_unused_directories_are_deleted_beyond_the_limit() {
        let dir = TempDir::new().unwrap();
        let lock = save_text(&dir, "/held", "mine", None);
        for number in 0..=MAX_FILES {
            drop(save_text(&dir, &format!("/{number}"), "left", None));
        }
        assert!(count(&dir) <= MAX_FILES + 1, "{}", count(&dir));
        assert!(lock.is_some_and(|lock| lock.path.exists()), "a locked draft stays");
        assert!(load_text(&dir, &format!("/{MAX_FILES}")).is_some());
        // The number of drafts of one directory is limited, too.
        let alone = TempDir::new().unwrap();
        (0..=MAX_PER_DIRECTORY).for_each(|number| drop(save_text(&alone, "/a", &number.to_string(), None)));
        assert_eq!(count(&alone), MAX_PER_DIRECTORY);
        assert_eq!(
            load_text(&alone, "/a"),
            Some(MAX_PER_DIRECTORY.to_string()),
            "the newest replaced an old one"
        );
    }

    #[test]
    fn draft_broken_file_or_other_directory_is_ignored() {
        let dir = TempDir::new().unwrap();
        let path = draft_paths(dir.path(), Path::new("/a")).next().unwrap();
        for text in ["", "{", r#"{"cwd":"/b","text":"x"}"#, r#"{"cwd":"/a","text":" "}"#] {
            fs::write(&path, text).unwrap();
            assert_eq!(load_text(&dir, "/a"), None, "{text}");
        }
    }
}
