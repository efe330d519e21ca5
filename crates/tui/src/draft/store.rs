//! Drafts on disk: a file each, named for the working directory, so that none takes another's place.
//!
//! None of it is worth a failure: what can't be read isn't there, what can't be written is lost. The file of a draft is locked for as
//! long as its tiller is at it; whoever comes later to the same directory has a file of its own.

use std::fs::{self, File, TryLockError};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use tiller_files as files;

/// Drafts of one directory, at most: as many tillers may be at work in it and keep what they were about to say.
const PLACES: usize = 9;

/// Files of all directories, at most; then those that were written first go.
const MOST: usize = 200;

/// Longest part of a directory's own name in that of its draft, in characters.
const LONGEST_NAME: usize = 40;

/// What the user was about to say, and where.
#[derive(Serialize, Deserialize)]
struct StoredDraft {
    cwd: String,
    text: String,
}

/// The file of a draft, locked: the draft is this process's for as long as it is kept open. The lock ends with the process, so
/// what a crash leaves is free.
#[derive(Debug)]
pub(super) struct DraftLock {
    path: PathBuf,
    file: File,
}

impl DraftLock {
    /// `None` where another process has it.
    fn of(path: PathBuf, file: File) -> Option<Self> {
        is_free(&file).then_some(Self { path, file })
    }
}

/// Locks a file, unless another process has it. A file system without locks refuses nobody.
fn is_free(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Takes up a draft that was left in `cwd`, unless processes that are at work have all of them.
pub(super) fn take_up(folder: &Path, cwd: &Path) -> Option<(String, DraftLock)> {
    let left = places(folder, cwd).find_map(|path| read(path, cwd));
    left.or_else(|| take_over(folder, cwd))
}

/// The draft of a version that kept one for all directories.
fn take_over(folder: &Path, cwd: &Path) -> Option<(String, DraftLock)> {
    let (text, old) = read(folder.parent()?.join("draft.json"), cwd)?;
    // Only when it is safe in its new place.
    let claim = put(folder, cwd, &text, None)?;
    let _ = fs::remove_file(&old.path);
    Some((text, claim))
}

fn read(path: PathBuf, cwd: &Path) -> Option<(String, DraftLock)> {
    let claim = DraftLock::of(path.clone(), files::open(&path).ok()?)?;
    let draft: StoredDraft = serde_json::from_reader(BufReader::new(&claim.file)).ok()?;
    (draft.cwd == name_of(cwd) && !draft.text.trim().is_empty()).then_some((draft.text, claim))
}

/// Keeps a draft as this process's, in the place of the one that it has a claim to; an empty one takes its file away.
pub(super) fn put(folder: &Path, cwd: &Path, text: &str, before: Option<DraftLock>) -> Option<DraftLock> {
    if text.trim().is_empty() {
        before.into_iter().for_each(|claim| _ = fs::remove_file(&claim.path));
        return None;
    }
    let Some(claim) = write(folder, cwd, text, before.as_ref()) else { return before };
    // Elsewhere since then, it is a draft of that directory.
    let gone = before.filter(|before| before.path != claim.path);
    gone.into_iter().for_each(|gone| _ = fs::remove_file(&gone.path));
    Some(claim)
}

fn write(folder: &Path, cwd: &Path, text: &str, before: Option<&DraftLock>) -> Option<DraftLock> {
    let bytes = serde_json::to_vec(&StoredDraft { cwd: name_of(cwd), text: text.to_owned() }).ok()?;
    let mine = before.map(|claim| claim.path.clone());
    match mine.filter(|mine| places(folder, cwd).any(|place| place == *mine)) {
        Some(path) => persisted(written(folder, &bytes).ok()?, path),
        None => {
            let _ = files::make_private_folder(folder);
            clear(folder);
            write_first(folder, cwd, written(folder, &bytes).ok()?)
        }
    }
}

/// Puts a file in the first place that nobody has; when all are taken, in that of a draft that nobody is at.
fn write_first(folder: &Path, cwd: &Path, mut file: NamedTempFile) -> Option<DraftLock> {
    for path in places(folder, cwd) {
        match file.persist_noclobber(&path) {
            Ok(file) => return Some(DraftLock { path, file }),
            Err(taken) => file = taken.file,
        }
    }
    let is_left = |path: &PathBuf| files::open(path).is_ok_and(|file| is_free(&file));
    persisted(file, places(folder, cwd).find(is_left)?)
}

fn persisted(file: NamedTempFile, path: PathBuf) -> Option<DraftLock> {
    let file = file.persist(&path).ok()?;
    Some(DraftLock { path, file })
}

/// A file that holds all of it, before it has its name: whoever reads a draft meets the one or the other, whole and locked.
fn written(folder: &Path, bytes: &[u8]) -> std::io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    // Nobody knows it yet.
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Where drafts of a directory may be: what it is called for whoever looks into the folder, and a number that is its own.
fn places(folder: &Path, cwd: &Path) -> impl Iterator<Item = PathBuf> {
    let called = cwd.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
    let called: String = called.chars().take(LONGEST_NAME).map(plain).collect();
    let digest = Sha256::digest(cwd.as_os_str().as_encoded_bytes());
    let own: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let folder = folder.to_owned();
    (1..=PLACES).map(move |place| folder.join(format!("{called}-{own}-{place}.json")))
}

fn name_of(cwd: &Path) -> String {
    cwd.display().to_string()
}

/// Takes away what was written first, where there is too much: drafts of directories to which nobody came back.
fn clear(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let age = |path: &Path| path.metadata().and_then(|facts| facts.modified()).ok();
    let mut files: Vec<(Option<SystemTime>, PathBuf)> =
        entries.map(|entry| (age(&entry.path()), entry.path())).collect();
    if files.len() < MOST {
        return;
    }
    files.sort();
    let old = files.len() + 1 - MOST;
    for (_, path) in files.into_iter().take(old) {
        if files::open(&path).is_ok_and(|file| is_free(&file)) {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// What the next tiller in a directory finds, and then has.
    fn left(folder: &TempDir, cwd: &str) -> Option<String> {
        take_up(folder.path(), Path::new(cwd)).map(|(text, _)| text)
    }

    fn kept(folder: &TempDir, cwd: &str, text: &str, before: Option<DraftLock>) -> Option<DraftLock> {
        put(folder.path(), Path::new(cwd), text, before)
    }

    fn count(folder: &TempDir) -> usize {
        fs::read_dir(folder.path()).unwrap().count()
    }

    #[test]
    fn every_directory_has_a_draft_of_its_own_and_it_goes_when_it_is_sent() {
        let folder = TempDir::new().unwrap();
        let first = kept(&folder, "/a/b", "half a thought", None);
        let second = kept(&folder, "/c/b", "another one", None);
        drop(first);
        assert_eq!(left(&folder, "/a/b").as_deref(), Some("half a thought"));
        assert_eq!(left(&folder, "/d/b"), None);
        assert_eq!(left(&folder, "/c/b"), None, "somebody is at it");
        assert!(kept(&folder, "/c/b", " ", second).is_none());
        assert_eq!((left(&folder, "/c/b"), count(&folder)), (None, 1));
    }

    #[test]
    fn two_in_one_directory_keep_a_draft_each_and_what_they_leave_is_found_one_after_the_other() {
        let folder = TempDir::new().unwrap();
        let first = kept(&folder, "/a", "mine", None);
        let second = kept(&folder, "/a", "his", None);
        assert!(first.is_some() && second.is_some() && left(&folder, "/a").is_none());
        let first = kept(&folder, "/a", "mine, longer", first);
        drop((first, second));
        let (text, first) = take_up(folder.path(), Path::new("/a")).unwrap();
        assert_eq!(text, "mine, longer");
        assert_eq!(left(&folder, "/a").as_deref(), Some("his"), "whoever took it up has it");
        drop(kept(&folder, "/a", "", Some(first)));
        assert_eq!((left(&folder, "/a").as_deref(), count(&folder)), (Some("his"), 1));
    }

    #[test]
    fn whoever_goes_to_another_directory_takes_the_draft_along() {
        let folder = TempDir::new().unwrap();
        let here = kept(&folder, "/a", "half a thought", None);
        drop(kept(&folder, "/b", "half a thought", here));
        assert_eq!((left(&folder, "/a"), left(&folder, "/b").is_some(), count(&folder)), (None, true, 1));
    }

    #[test]
    fn a_draft_that_cant_be_written_leaves_the_one_before_it() {
        let folder = TempDir::new().unwrap();
        let before = kept(&folder, "/a", "half a thought", None);
        let nowhere = folder.path().join("no/where");
        fs::write(folder.path().join("no"), "").unwrap();
        let claim = put(&nowhere, Path::new("/a"), "more of it", before);
        assert!(left(&folder, "/a").is_none(), "it is this one's still");
        drop(claim);
        assert_eq!(left(&folder, "/a").as_deref(), Some("half a thought"));
    }

    #[test]
    fn one_that_an_earlier_version_kept_is_taken_over_once_by_its_directory() {
        let root = TempDir::new().unwrap();
        let (old, drafts) = (root.path().join("draft.json"), root.path().join("drafts"));
        fs::write(&old, r#"{"cwd":"/a","text":"half a thought"}"#).unwrap();
        assert!(take_up(&drafts, Path::new("/b")).is_none() && old.exists());
        let (text, claim) = take_up(&drafts, Path::new("/a")).unwrap();
        assert_eq!((text.as_str(), old.exists()), ("half a thought", false));
        drop(claim);
        assert!(take_up(&drafts, Path::new("/a")).is_some(), "it is in its new place");
    }

    #[test]
    fn drafts_of_directories_to_which_nobody_comes_back_do_not_pile_up() {
        let folder = TempDir::new().unwrap();
        let held = kept(&folder, "/held", "mine", None);
        for number in 0..=MOST {
            drop(kept(&folder, &format!("/{number}"), "left", None));
        }
        assert!(count(&folder) <= MOST + 1, "{}", count(&folder));
        assert!(held.is_some_and(|held| held.path.exists()), "not what somebody is at");
        assert!(left(&folder, &format!("/{MOST}")).is_some());
        // In one directory there are no more than so many.
        let alone = TempDir::new().unwrap();
        (0..=PLACES).for_each(|number| drop(kept(&alone, "/a", &number.to_string(), None)));
        assert_eq!(count(&alone), PLACES);
        assert_eq!(left(&alone, "/a"), Some(PLACES.to_string()), "the newest took an old one's place");
    }

    #[test]
    fn a_broken_file_and_one_for_another_directory_are_nothing() {
        let folder = TempDir::new().unwrap();
        let path = places(folder.path(), Path::new("/a")).next().unwrap();
        for text in ["", "{", r#"{"cwd":"/b","text":"x"}"#, r#"{"cwd":"/a","text":" "}"#] {
            fs::write(&path, text).unwrap();
            assert_eq!(left(&folder, "/a"), None, "{text}");
        }
    }
}
