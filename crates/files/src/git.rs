//! Files of a git repository that tiller reads directly, so that branch names and remotes need no git.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{CONFIG_LIMIT, open_beneath, read_limited, read_text};

/// Finds the `.git` of the repository that contains `cwd`: a folder, or in a worktree or submodule a file that names
/// one.
#[must_use]
pub fn find(cwd: &Path) -> Option<PathBuf> {
    cwd.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())
}

/// Returns the folder with this working tree's own state (`HEAD`), given its `.git`. `None` if `.git` is a symbolic
/// link or has other content.
#[must_use]
pub fn folder(git: &Path) -> Option<PathBuf> {
    let kind = git.symlink_metadata().ok()?.file_type();
    if kind.is_dir() {
        return Some(git.to_owned());
    }
    let text = if kind.is_file() { read_text(git, CONFIG_LIMIT).ok()? } else { return None };
    Some(git.parent()?.join(text.strip_prefix("gitdir:")?.trim()))
}

/// Returns the folder that all working trees share (`config`, `info/exclude`), given a `.git`.
#[must_use]
pub fn common_folder(git: &Path) -> Option<PathBuf> {
    let folder = folder(git)?;
    match read_file(&folder, "commondir") {
        Some(common) => Some(folder.join(common.trim())),
        None => Some(folder),
    }
}

/// Reads a text file by its path in a folder from [`folder`] or [`common_folder`].
#[must_use]
pub fn read_file(folder: &Path, name: &str) -> Option<String> {
    let file = open_beneath::open(folder, Path::new(name)).ok()?;
    let is_regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
    let bytes = is_regular.then(|| read_limited(file, CONFIG_LIMIT).ok()).flatten()?;
    String::from_utf8(bytes).ok()
}

/// Lists the directory and its ancestors up to the root of its repository, nearest first; only the directory itself
/// outside of one. As for git, a repository that belongs to another user doesn't count: any user can create one in a
/// world-writable folder.
#[must_use]
pub fn up_to_repository(cwd: &Path) -> Vec<&Path> {
    up_to_repository_of(cwd, nix::unistd::geteuid().as_raw())
}

fn up_to_repository_of(cwd: &Path, user: u32) -> Vec<&Path> {
    let at = cwd.ancestors().position(|folder| folder.join(".git").exists());
    let is_owned =
        |folder: &Path| folder.join(".git").symlink_metadata().is_ok_and(|metadata| metadata.uid() == user);
    let depth = at.filter(|at| cwd.ancestors().nth(*at).is_some_and(is_owned)).unwrap_or(0);
    cwd.ancestors().take(depth + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_to_repository_of_another_user_is_none() {
        let folder = tempfile::TempDir::new().unwrap();
        let inner = folder.path().join("a");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        let user = folder.path().metadata().unwrap().uid();
        assert_eq!(up_to_repository_of(&inner, user), [&*inner, folder.path()]);
        assert_eq!(up_to_repository_of(&inner, user + 1), [&*inner]);
    }
}
