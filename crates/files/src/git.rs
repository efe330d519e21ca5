//! Files of a git repository that tiller reads directly, so that branch names and remotes don't require git.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use super::{CONFIG_LIMIT, open_beneath, read_limited, read_text};

/// Returns the root of the repository that contains `cwd`: the nearest directory with a `.git`.
pub(crate) fn root(cwd: &Path) -> Option<&Path> {
    cwd.ancestors().find(|dir| dir.join(".git").exists())
}

/// Finds the `.git` of the repository that contains `cwd`: a directory, or in a worktree or submodule a file
/// with the path of one.
#[must_use]
pub fn find(cwd: &Path) -> Option<PathBuf> {
    Some(root(cwd)?.join(".git"))
}

/// Returns the current branch of the repository that contains `cwd`, or the abbreviated commit hash if HEAD
/// is detached.
#[must_use]
pub fn branch(cwd: &Path) -> Option<String> {
    let head = read_file(&dir(&find(cwd)?)?, "HEAD")?;
    let head = head.trim();
    match head.strip_prefix("ref: ") {
        Some(name) => Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
        None => head.get(..7).map(str::to_owned),
    }
}

/// Returns the directory with the state of this working tree (`HEAD`), given its `.git`. `None` if `.git` is
/// a symbolic link or has other content.
#[must_use]
pub fn dir(git: &Path) -> Option<PathBuf> {
    let kind = git.symlink_metadata().ok()?.file_type();
    if kind.is_dir() {
        return Some(git.to_owned());
    }
    let text = if kind.is_file() { read_text(git, CONFIG_LIMIT).ok()? } else { return None };
    Some(git.parent()?.join(text.strip_prefix("gitdir:")?.trim()))
}

/// Returns the directory that all working trees share (`config`, `info/exclude`), given a `.git`.
#[must_use]
pub fn common_dir(git: &Path) -> Option<PathBuf> {
    let dir = dir(git)?;
    match read_file(&dir, "commondir") {
        Some(common) => Some(dir.join(common.trim())),
        None => Some(dir),
    }
}

/// Reads a text file by its path in a directory from [`dir`] or [`common_dir`].
#[must_use]
pub fn read_file(dir: &Path, name: &str) -> Option<String> {
    let dir = open_beneath::open_root(dir).ok()?;
    let file = open_beneath::open_at(&dir, Path::new(name), OFlag::O_RDONLY).ok()?;
    let is_regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
    let bytes = is_regular.then(|| read_limited(file, CONFIG_LIMIT).ok()).flatten()?;
    String::from_utf8(bytes).ok()
}

/// Lists the directory and its ancestors up to the root of its repository, nearest first; outside a
/// repository, only the directory itself. As in git, a repository that belongs to another user doesn't count:
/// any user can create one in a world-writable directory.
#[must_use]
pub fn up_to_repository(cwd: &Path) -> Vec<&Path> {
    up_to_repository_of(cwd, nix::unistd::geteuid().as_raw())
}

fn up_to_repository_of(cwd: &Path, user: u32) -> Vec<&Path> {
    let is_owned =
        |root: &&Path| root.join(".git").symlink_metadata().is_ok_and(|metadata| metadata.uid() == user);
    let top = root(cwd).filter(is_owned).unwrap_or(cwd);
    cwd.ancestors().take_while(|dir| dir.starts_with(top)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn branch_is_read_from_files_also_in_worktree() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("repo/.git/worktrees/w")).unwrap();
        fs::create_dir_all(root.join("repo/src")).unwrap();
        fs::create_dir_all(root.join("w")).unwrap();
        fs::write(root.join("repo/.git/HEAD"), "ref: refs/heads/fix/crlf\n").unwrap();
        fs::write(root.join("repo/.git/worktrees/w/HEAD"), "0123456789abcdef\n").unwrap();
        fs::write(root.join("w/.git"), "gitdir: ../repo/.git/worktrees/w\n").unwrap();
        assert_eq!(branch(&root.join("repo/src")).as_deref(), Some("fix/crlf"));
        assert_eq!(branch(&root.join("w")).as_deref(), Some("0123456"));
    }

    #[test]
    fn up_to_repository_of_another_user_is_none() {
        let dir = tempfile::TempDir::new().unwrap();
        let inner = dir.path().join("a");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(dir.path().join(".git")).unwrap();
        let user = dir.path().metadata().unwrap().uid();
        assert_eq!(up_to_repository_of(&inner, user), [&*inner, dir.path()]);
        assert_eq!(up_to_repository_of(&inner, user + 1), [&*inner]);
    }
}
