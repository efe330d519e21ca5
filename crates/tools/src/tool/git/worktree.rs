//! Worktrees for agents. Each starts with the files of the working directory, including changed and new ones,
//! and leaves its changes on a branch.
//!
//! A worktree is next to the repository, so that relative paths to other projects stay valid. The process
//! that uses it holds a lock on a file in the repository; a worktree whose lock isn't held was left by a
//! crash.
//!
//! The agent may write anything in its worktree, including its `.git` file, so the location of the repository
//! is always passed to git, and its configuration is read again before each use.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tiller_files::git;

use super::repository_git::{
    BRANCH_PREFIX, DIR_INFIX, LOCK_FILE, RepositoryGit, branch_ref, create_locked, words,
};
use super::worktree_changes::WorktreeChanges;
use super::worktree_error::WorktreeError;
use crate::process::Runner;

/// Minimum age at which a worktree without a lock file counts as left by a crash, and not as being created.
const CREATION_TIME: Duration = Duration::from_secs(60);

/// A worktree with its own branch.
#[derive(Clone, Debug)]
pub struct Worktree {
    git: RepositoryGit,
    /// Git's administrative directory for the worktree, in the repository.
    admin: PathBuf,
    /// The worktree's directory.
    dir: PathBuf,
    /// The directory in the worktree that corresponds to the working directory.
    root: PathBuf,
    branch: String,
    /// The commit that the worktree started with.
    base: String,
    /// Held as long as the worktree is in use.
    _lock: Arc<File>,
}

/// A worktree whose process has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverWorktree {
    /// The worktree's directory.
    pub dir: PathBuf,
    /// The worktree's branch.
    pub branch: String,
    /// Git's administrative directory for the worktree.
    admin: PathBuf,
}

impl Worktree {
    /// Creates a worktree for the repository of a working directory. The name of the directory and the branch
    /// is `stem` with the first free number.
    ///
    /// # Errors
    /// Without a repository, or if git fails, for instance because the repository has no commit.
    pub async fn create(cwd: &Path, stem: &str, runner: &Runner) -> Result<Self, WorktreeError> {
        let git = RepositoryGit::find(cwd, runner).await?;
        let base = git.snapshot().await?;
        let stem: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let stem = match stem.trim_start_matches('-') {
            "" => "agent",
            stem => stem,
        };
        let (branch, dir) = git.add_worktree(stem, &base).await?;
        let admin = git.admin_dir(&dir)?;
        let lock = create_locked(&admin, &base).map_err(|error| WorktreeError::Start(error.to_string()))?;
        let root = match create_root(&git, &dir, cwd) {
            Ok(root) => root,
            Err(error) => {
                git.remove(&admin, &dir).await?;
                git.delete_branch(&branch).await?;
                return Err(error);
            }
        };
        Ok(Self { git, admin, dir, root, branch, base, _lock: Arc::new(lock) })
    }

    /// Checks that worktrees can be made for a working directory.
    ///
    /// # Errors
    /// Without a repository, if it has no commit, or if git fails, for instance on a file that can't be read.
    pub async fn check_repository(cwd: &Path, runner: &Runner) -> Result<(), WorktreeError> {
        RepositoryGit::find(cwd, runner).await?.snapshot().await.map(drop)
    }

    /// Opens the worktree of a branch that [`Worktree::create`] has made from the commit `base`: the one left
    /// by a crash, with its uncommitted changes, or else a new one at the same path.
    ///
    /// # Errors
    /// If the branch is gone, a process uses its worktree, or git fails.
    pub async fn reopen(
        cwd: &Path,
        branch: &str,
        base: &str,
        runner: &Runner,
    ) -> Result<Self, WorktreeError> {
        let git = RepositoryGit::find(cwd, runner).await?;
        let gone = || WorktreeError::NoBranch(branch.to_owned());
        let name = worktree_name(branch).ok_or_else(gone)?;
        if !is_plain(base) || !git.has_branch(branch).await {
            return Err(gone());
        }
        let dir = git.worktree_dir(name);
        let (admin, lock) = git.take_over(&dir, branch, base).await?;
        let root = create_root(&git, &dir, cwd)?;
        let (branch, base) = (branch.to_owned(), base.to_owned());
        Ok(Self { git, admin, dir, root, branch, base, _lock: Arc::new(lock) })
    }

    /// Returns the directory that corresponds to the working directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the worktree's directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the branch.
    #[must_use]
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Returns the commit that the branch began with.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Commits the changes to the branch and returns them. The worktree isn't removed.
    ///
    /// # Errors
    /// If git fails, or the worktree contains another repository that was created in it.
    pub async fn commit(&self, message: &str) -> Result<WorktreeChanges, WorktreeError> {
        let git = RepositoryGit::in_worktree(&self.admin, &self.dir, &self.git.runner).await?;
        let head = git.commit_to(&self.branch, message, &self.base).await?;
        if head == self.base {
            return Ok(WorktreeChanges::default());
        }
        git.changes(&self.branch, [&self.base, &head]).await
    }

    /// Removes the worktree, and its branch if the branch has no changes.
    ///
    /// # Errors
    /// If git fails.
    pub async fn remove(self) -> Result<(), WorktreeError> {
        self.git.remove(&self.admin, &self.dir).await?;
        if self.git.revision(&branch_ref(&self.branch)).await.is_ok_and(|tip| tip == self.base) {
            self.git.delete_branch(&self.branch).await?;
        }
        Ok(())
    }
}

impl WorktreeChanges {
    /// Reads the changes on the branch of a removed worktree that began with the commit `base`.
    ///
    /// # Errors
    /// If the branch is gone, or git fails.
    pub async fn read(cwd: &Path, branch: &str, base: &str, runner: &Runner) -> Result<Self, WorktreeError> {
        let git = RepositoryGit::find(cwd, runner).await?;
        let gone = || WorktreeError::NoBranch(branch.to_owned());
        if worktree_name(branch).is_none() || !is_plain(base) {
            return Err(gone());
        }
        let head = git.revision(&branch_ref(branch)).await.map_err(|_| gone())?;
        git.changes(branch, [base, &head]).await
    }

    /// Applies the changes to the files of a working directory's repository. Doesn't change the index.
    ///
    /// # Errors
    /// If the same parts of the files have changed in the meantime; then nothing is changed.
    pub async fn apply(&self, cwd: &Path, runner: &Runner) -> Result<(), WorktreeError> {
        self.run_apply(cwd, runner, &["--whitespace=nowarn"]).await
    }

    /// Checks that the changes can be applied, without changing files.
    ///
    /// # Errors
    /// Returns the same errors as [`WorktreeChanges::apply`].
    pub async fn check(&self, cwd: &Path, runner: &Runner) -> Result<(), WorktreeError> {
        self.run_apply(cwd, runner, &["--whitespace=nowarn", "--check"]).await
    }

    async fn run_apply(&self, cwd: &Path, runner: &Runner, options: &[&str]) -> Result<(), WorktreeError> {
        if self.patch.is_empty() {
            return Ok(());
        }
        let git = RepositoryGit::find(cwd, runner).await?;
        let start = |error: std::io::Error| WorktreeError::Start(error.to_string());
        let mut file = tempfile::NamedTempFile::new().map_err(start)?;
        file.write_all(&self.patch).map_err(start)?;
        let mut command = words(["apply"]);
        command.extend(options.iter().map(OsString::from));
        command.push(file.path().into());
        git.run(&command).await.map(drop)
    }
}

/// Returns the directory in a worktree that corresponds to the working directory; creates it if no file of the
/// repository is in it. Follows no links, which an agent may have made.
fn create_root(git: &RepositoryGit, dir: &Path, cwd: &Path) -> Result<PathBuf, WorktreeError> {
    let mut root = dir.to_owned();
    for part in cwd.strip_prefix(&git.root).unwrap_or(Path::new("")) {
        root.push(part);
        let is_dir = root.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        let created = if is_dir { Ok(()) } else { std::fs::create_dir(&root) };
        created.map_err(|reason| WorktreeError::NoRoot { path: root.clone(), reason })?;
    }
    Ok(root)
}

/// Returns true for letters, digits and `-`, the characters in names of worktrees and commits.
fn is_plain(name: &str) -> bool {
    !name.starts_with('-') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns the name of a worktree, from its branch.
fn worktree_name(branch: &str) -> Option<&str> {
    branch.strip_prefix(BRANCH_PREFIX).filter(|name| is_plain(name))
}

/// Lists the worktrees that were left by a crash in the repository of a working directory; empty without a repository.
pub async fn find_leftover_worktrees(cwd: &Path, runner: &Runner) -> Vec<LeftoverWorktree> {
    let Ok(git) = RepositoryGit::find(cwd, runner).await else { return Vec::new() };
    git.worktrees().into_iter().filter_map(|(admin, dir)| find_leftover(admin, dir)).collect()
}

/// Commits the changes in a leftover worktree to its branch, and removes it.
///
/// # Errors
/// If git fails, or the worktree contains another repository that was created in it.
pub async fn remove_leftover_worktree(
    leftover: &LeftoverWorktree,
    cwd: &Path,
    runner: &Runner,
) -> Result<(), WorktreeError> {
    let git = RepositoryGit::find(cwd, runner).await?;
    if leftover.dir.is_dir() {
        let own = RepositoryGit::in_worktree(&leftover.admin, &leftover.dir, runner).await?;
        let base = git::read_file(&leftover.admin, LOCK_FILE).filter(|base| is_plain(base));
        let base = base.as_deref().unwrap_or("HEAD");
        own.commit_to(&leftover.branch, "Changes of an interrupted agent", base).await?;
    }
    git.remove(&leftover.admin, &leftover.dir).await
}

/// Returns an agent's worktree if no process uses it.
fn find_leftover(admin: PathBuf, dir: PathBuf) -> Option<LeftoverWorktree> {
    let (_, name) = dir.file_name()?.to_str()?.rsplit_once(DIR_INFIX).filter(|(_, name)| is_plain(name))?;
    let branch = format!("{BRANCH_PREFIX}{name}");
    let lock = admin.join(LOCK_FILE);
    let is_unused = if lock.exists() {
        tiller_files::open_lock(&lock).is_ok_and(|lock| lock.try_lock().is_ok())
    } else {
        let is_on_branch = git::read_file(&admin, "HEAD")?.trim() == format!("ref: {}", branch_ref(&branch));
        is_on_branch && admin.metadata().ok()?.modified().ok()?.elapsed().is_ok_and(|age| age > CREATION_TIME)
    };
    is_unused.then_some(LeftoverWorktree { dir, branch, admin })
}
