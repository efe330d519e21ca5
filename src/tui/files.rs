//! The few files of the front end's own, but for the prompts of earlier times: the unsent draft, other keys; and the branch that git is
//! on.
//!
//! None of them is worth a failure: what can't be read isn't there, what can't be written is lost.

use std::fs::{self, File, TryLockError};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::keymap::Keymap;

/// Reads which keys do what, where that isn't as it was made.
pub(super) fn load_keymap(path: &Path) -> Keymap {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    Keymap::read(&fs::read_to_string(path).unwrap_or_default(), &name)
}

/// What the user was about to say, and where.
#[derive(Serialize, Deserialize)]
struct Draft {
    cwd: PathBuf,
    text: String,
}

/// The file of a draft, locked: the draft is this process's for as long as it is kept open. The lock ends with the process, so
/// what a crash leaves is free.
#[derive(Debug)]
pub(super) struct Claim {
    _file: File,
}

impl Claim {
    /// `None` where another process has it. A file system without locks refuses nobody.
    fn of(file: File) -> Option<Self> {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => None,
            Ok(()) | Err(TryLockError::Error(_)) => Some(Self { _file: file }),
        }
    }
}

/// Takes up the draft that was left in `cwd`, unless a process that is at work has it.
pub(super) fn load_draft(path: &Path, cwd: &Path) -> Option<(String, Claim)> {
    let file = File::open(path).ok()?;
    let draft: Draft = serde_json::from_reader(BufReader::new(&file)).ok()?;
    let is_left = draft.cwd == cwd && !draft.text.is_empty();
    Claim::of(file).filter(|_| is_left).map(|claim| (draft.text, claim))
}

/// Keeps the draft, as this process's; an empty one takes away what was kept for the same folder. The draft that was kept before
/// it has to be given up first.
pub(super) fn store_draft(path: &Path, cwd: &Path, text: &str) -> Option<Claim> {
    if text.trim().is_empty() {
        if load_draft(path, cwd).is_some() {
            let _ = fs::remove_file(path);
        }
        return None;
    }
    if let Some(folder) = path.parent() {
        let _ = fs::create_dir_all(folder);
    }
    let draft = Draft { cwd: cwd.to_owned(), text: text.to_owned() };
    let file = replace(path, serde_json::to_string(&draft).unwrap_or_default().as_bytes());
    file.ok().and_then(Claim::of)
}

/// Puts a file in the place of another: whoever reads it meets the one or the other, whole.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<File> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    Ok(file.persist(path).map_err(|error| error.error)?)
}

/// The branch that `cwd` is on, or the beginning of the commit where it is on none.
pub(super) fn git_branch(cwd: &Path) -> Option<String> {
    let git = cwd.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    // In a worktree `.git` is a file that says where the folder is.
    let folder = match fs::read_to_string(&git) {
        Ok(text) => git.parent()?.join(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => git,
    };
    let head = fs::read_to_string(folder.join("HEAD")).ok()?;
    let head = head.trim();
    match head.strip_prefix("ref: ") {
        Some(name) => Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
        None => head.get(..7).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_for_its_own_folder_and_goes_when_it_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/draft.json");
        let left = |cwd: &str| load_draft(&path, Path::new(cwd)).map(|(text, _)| text);
        drop(store_draft(&path, Path::new("/a"), "half a thought"));
        assert_eq!(left("/b"), None);
        store_draft(&path, Path::new("/b"), "");
        assert_eq!(left("/a").as_deref(), Some("half a thought"));
        store_draft(&path, Path::new("/a"), " ");
        assert_eq!(left("/a"), None);
    }

    #[test]
    fn a_draft_that_somebody_is_at_is_not_taken_up_by_another_nor_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let (path, cwd) = (folder.path().join("draft.json"), Path::new("/a"));
        let written = store_draft(&path, cwd, "half a thought");
        assert!(written.is_some() && load_draft(&path, cwd).is_none());
        store_draft(&path, cwd, "");
        drop(written);
        let (text, claim) = load_draft(&path, cwd).unwrap();
        assert_eq!(text, "half a thought");
        assert!(load_draft(&path, cwd).is_none(), "whoever took it up has it");
        drop(claim);
        assert!(load_draft(&path, cwd).is_some());
    }

    #[test]
    fn the_branch_is_read_from_the_files_also_in_a_worktree() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("repo/.git/worktrees/w")).unwrap();
        fs::create_dir_all(root.join("repo/src")).unwrap();
        fs::create_dir_all(root.join("w")).unwrap();
        fs::write(root.join("repo/.git/HEAD"), "ref: refs/heads/fix/crlf\n").unwrap();
        fs::write(root.join("repo/.git/worktrees/w/HEAD"), "0123456789abcdef\n").unwrap();
        fs::write(root.join("w/.git"), "gitdir: ../repo/.git/worktrees/w\n").unwrap();
        assert_eq!(git_branch(&root.join("repo/src")).as_deref(), Some("fix/crlf"));
        assert_eq!(git_branch(&root.join("w")).as_deref(), Some("0123456"));
    }
}
