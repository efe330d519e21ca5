//! Inspection of the working directory's Git repository, to find out if Git's reading commands only read.

use std::path::Path;

use tiller_files::git;
use tiller_tools::policy::{RepositoryState, is_harmless_git_config};

/// Hooks that Git's reading commands run: `git status` rewrites the index.
const HOOKS: &[&str] = &["post-index-change", "reference-transaction"];

/// Inspects the repository whose `.git` lies in a directory. It is harmless if Git recognizes it as a repository, every
/// key of its configuration is known to run nothing, and it has neither submodules, which have configurations of
/// their own, nor a hook that reading commands run.
pub(super) fn inspect(root: &Path) -> RepositoryState {
    match find_harmless(root) {
        Some(()) => RepositoryState::Harmless,
        None => RepositoryState::Unknown,
    }
}

fn find_harmless(root: &Path) -> Option<()> {
    let exists = |path: &Path| path.symlink_metadata().is_ok();
    let dot_git = root.join(".git");
    let (git_dir, common) = (git::dir(&dot_git)?, git::common_dir(&dot_git)?);
    // Without these files, Git doesn't recognize the repository and searches the parent directories.
    let is_head = is_head(&git::read_file(&git_dir, "HEAD")?);
    let has_dir = |name: &str| common.join(name).symlink_metadata().is_ok_and(|facts| facts.is_dir());
    let is_repository = is_head && ["objects", "refs"].into_iter().all(has_dir);
    let mut configs = vec![git::read_file(&common, "config")?];
    if exists(&git_dir.join("config.worktree")) {
        configs.push(git::read_file(&git_dir, "config.worktree")?);
    }
    let has_submodules = exists(&root.join(".gitmodules")) || exists(&common.join("modules"));
    let has_hook = HOOKS.iter().any(|hook| exists(&common.join("hooks").join(hook)));
    let is_harmless = is_repository
        && !has_submodules
        && !has_hook
        && configs.iter().all(|text| is_harmless_git_config(text));
    is_harmless.then_some(())
}

/// Returns true for a valid `HEAD`: a branch reference or a commit.
fn is_head(text: &str) -> bool {
    let text = text.trim_end();
    let is_commit = [40, 64].contains(&text.len()) && text.chars().all(|c| c.is_ascii_hexdigit());
    text.starts_with("ref: refs/") || is_commit
}
