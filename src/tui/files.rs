//! The few files of the front end's own, but for the prompts of earlier times: the unsent draft, other keys; and the branch that git is
//! on.
//!
//! None of them is worth a failure: what can't be read isn't there, what can't be written is lost.

use std::fs;
use std::io::Write;
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

/// Reads the draft that was left in `cwd`.
pub(super) fn load_draft(path: &Path, cwd: &Path) -> Option<String> {
    let draft: Draft = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    (draft.cwd == cwd && !draft.text.is_empty()).then_some(draft.text)
}

/// Keeps the draft; an empty one takes away what was kept for the same folder.
pub(super) fn store_draft(path: &Path, cwd: &Path, text: &str) {
    if text.trim().is_empty() {
        if load_draft(path, cwd).is_some() {
            let _ = fs::remove_file(path);
        }
        return;
    }
    if let Some(folder) = path.parent() {
        let _ = fs::create_dir_all(folder);
    }
    let draft = Draft { cwd: cwd.to_owned(), text: text.to_owned() };
    let _ = replace(path, serde_json::to_string(&draft).unwrap_or_default().as_bytes());
}

/// Puts a file in the place of another: whoever reads it meets the one or the other, whole.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
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
        store_draft(&path, Path::new("/a"), "half a thought");
        assert_eq!(load_draft(&path, Path::new("/b")), None);
        store_draft(&path, Path::new("/b"), "");
        assert_eq!(load_draft(&path, Path::new("/a")).as_deref(), Some("half a thought"));
        store_draft(&path, Path::new("/a"), " ");
        assert_eq!(load_draft(&path, Path::new("/a")), None);
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
