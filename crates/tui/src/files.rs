//! Reads the keymap file and the current git branch.
//!
//! Both are best effort: an unreadable file counts as missing.

use std::path::Path;

use tiller_files::{CONFIG_LIMIT, git, read_text};

use super::keymap::Keymap;

/// Reads the user's keymap file.
pub(super) fn load_keymap(path: &Path) -> Keymap {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    Keymap::parse(&read_text(path, CONFIG_LIMIT).unwrap_or_default(), &name)
}

/// The current branch of `cwd`, or the start of the commit's hash without one.
pub(super) fn git_branch(cwd: &Path) -> Option<String> {
    let head = git::read_file(&git::folder(&git::find(cwd)?)?, "HEAD")?;
    let head = head.trim();
    match head.strip_prefix("ref: ") {
        Some(name) => Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
        None => head.get(..7).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn git_branch_is_read_from_files_also_in_worktree() {
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
