//! Worktrees for agents. Each starts with the files of the working directory, including changed and new ones,
//! and leaves its changes on a branch.
//!
//! A worktree is next to the repository, so that relative paths to other projects stay valid. The process
//! that uses it holds a lock on a file in the repository; a worktree whose lock isn't held was left by a
//! crash.
//!
//! The agent may write anything in its worktree, including its `.git` file, so the location of the repository
//! is always passed to git, and its configuration is read again before each use.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tiller_core::counted::counted;
use tiller_files::git;
use tokio::sync::Mutex;

use super::{assignment, find_special_file, no_prompts, reading};
use crate::process::{ExitStatus, Runner};

/// Prefix of the branches.
const BRANCH_PREFIX: &str = "tiller/";

/// Separates the names of the repository and the worktree in the directory name.
const DIR_INFIX: &str = ".tiller-";

/// The locked file, in git's own directory for the worktree. It contains the commit that the worktree started with.
const LOCK_FILE: &str = "tiller.lock";

/// Minimum age at which a worktree without a lock file counts as left by a crash, and not as being created.
const CREATION_TIME: Duration = Duration::from_secs(60);

/// Mode of an entry for a repository in a tree of git.
const GITLINK_MODE: &[u8] = b"160000";

/// Time limit of a git command: a checkout of a large repository takes a minute.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Maximum bytes of git's output, which is held in memory: a list of all files, or a diff.
const MAX_OUTPUT: usize = 256 * 1024 * 1024;

/// Held while a worktree is added or removed, because git then reads the records of all worktrees, and fails
/// on one that another git process is writing ("failed to read …/commondir: Success").
static ADMINISTRATION: Mutex<()> = Mutex::const_new(());

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

/// The changes made in a worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeChanges {
    /// The branch with the changes; `None` without changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Number of changed files.
    pub files: usize,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// The changes as a patch for `git apply`.
    #[serde(skip)]
    pub patch: Arc<[u8]>,
}

/// The reason an operation on a worktree has failed.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// The working directory isn't in a repository.
    #[error("{} is not in a Git repository", .0.display())]
    NoRepository(PathBuf),
    /// The repository has no commit.
    #[error("the repository has no commits yet; make one first")]
    NoCommit,
    /// Git has failed.
    #[error("git {command} failed: {output}")]
    Git {
        /// The command.
        command: String,
        /// The output of git.
        output: String,
    },
    /// Git could not be run.
    #[error("git can't be run: {0}")]
    Start(String),
    /// Git didn't end in time.
    #[error("git {0} took too long")]
    TimedOut(String),
    /// Git's output is too long to keep.
    #[error("the output of git {0} is longer than 256 MiB")]
    TooLong(String),
    /// The directory that corresponds to the working directory can't be created.
    #[error("{} can't be created: {reason}", path.display())]
    NoRoot {
        /// The directory.
        path: PathBuf,
        /// The reason.
        reason: std::io::Error,
    },
    /// Git is too old: it can't be prevented from running programs that the repository names.
    #[error("worktrees need git 2.31 or later")]
    OldGit,
    /// The worktree's process is alive.
    #[error("the worktree of the branch {0} is in use")]
    InUse(String),
    /// There is no such branch.
    #[error("the branch {0} is gone")]
    NoBranch(String),
    /// Git would block on a pipe.
    #[error("{} is not a regular file; git would block on it", .0.display())]
    SpecialFile(PathBuf),
    /// A repository in the worktree, such as a submodule: a commit of the worktree has only its commit id, not
    /// its files.
    #[error("{} is a Git repository of its own, whose changes can't be committed to the branch", .0.display())]
    EmbeddedRepository(PathBuf),
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

/// Creates the locked file of a worktree. The file gets its name once it is locked, so that no process finds
/// it unlocked.
fn create_locked(admin: &Path, base: &str) -> std::io::Result<File> {
    let unnamed = admin.join(format!("{LOCK_FILE}.new"));
    let mut lock = tiller_files::open_lock(&unnamed)?;
    lock.try_lock()?;
    lock.write_all(base.as_bytes())?;
    std::fs::rename(&unnamed, admin.join(LOCK_FILE))?;
    Ok(lock)
}

/// Returns true for letters, digits and `-`, the characters in names of worktrees and commits.
fn is_plain(name: &str) -> bool {
    !name.starts_with('-') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns the name of a worktree, from its branch.
fn worktree_name(branch: &str) -> Option<&str> {
    branch.strip_prefix(BRANCH_PREFIX).filter(|name| is_plain(name))
}

/// Returns the full name of a branch.
fn branch_ref(branch: &str) -> String {
    format!("refs/heads/{branch}")
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

/// Git for the repository of a working directory, without prompts, hooks and programs named by the
/// repository.
#[derive(Clone, Debug)]
struct RepositoryGit {
    runner: Runner,
    /// The directory that contains `.git`.
    root: PathBuf,
    /// Assignments that set the repository's location; empty if git finds it.
    location: Vec<OsString>,
    /// Assignments of environment variables.
    variables: Vec<OsString>,
}

impl RepositoryGit {
    async fn find(cwd: &Path, runner: &Runner) -> Result<Self, WorktreeError> {
        let dot_git = git::find(cwd).ok_or_else(|| WorktreeError::NoRepository(cwd.to_owned()))?;
        let root = dot_git.parent().unwrap_or(cwd).to_owned();
        if let Some(path) = find_special_file(dot_git).await {
            return Err(WorktreeError::SpecialFile(path));
        }
        Self::read_config(Self { runner: runner.clone(), root, location: Vec::new(), variables: Vec::new() })
            .await
    }

    /// Creates git for a worktree whose `.git` isn't trusted.
    async fn in_worktree(admin: &Path, dir: &Path, runner: &Runner) -> Result<Self, WorktreeError> {
        let location = [("GIT_DIR", admin), ("GIT_WORK_TREE", dir)];
        let location = location.map(|(name, path)| assignment((name.to_owned(), path.into()))).into();
        let (runner, root) = (runner.clone(), dir.to_owned());
        Self::read_config(Self { runner, root, location, variables: Vec::new() }).await
    }

    /// Overrides the programs in the configuration.
    async fn read_config(mut git: Self) -> Result<Self, WorktreeError> {
        git.variables = no_prompts().chain(reading::variables(&[]).map(assignment)).collect();
        let config = git.run(&words(["config", "--list", "--includes", "--show-scope", "-z"])).await?;
        if !reading::are_adopted(config.as_bytes()) {
            return Err(WorktreeError::OldGit);
        }
        git.variables = no_prompts().chain(reading::variables(config.as_bytes()).map(assignment)).collect();
        Ok(git)
    }

    /// Returns the worktrees of the repository: git's administrative directory and the working directory of
    /// each.
    fn worktrees(&self) -> Vec<(PathBuf, PathBuf)> {
        let dot_git = self.root.join(".git");
        let Some(common) = git::dir(&dot_git).and_then(|_| git::common_dir(&dot_git)) else {
            return Vec::new();
        };
        let admins = std::fs::read_dir(common.join("worktrees")).into_iter().flatten();
        let dir = |admin: &Path| {
            let dot_git = git::read_file(admin, "gitdir")?;
            Some(Path::new(dot_git.trim_end()).parent()?.to_owned())
        };
        let admins = admins.filter_map(|admin| Some(admin.ok()?.path()));
        admins.filter_map(|admin| dir(&admin).map(|dir| (admin, dir))).collect()
    }

    fn admin_dir(&self, dir: &Path) -> Result<PathBuf, WorktreeError> {
        let found = self.worktrees().into_iter().find(|(_, found)| found == dir);
        let missing = || WorktreeError::Start(format!("git has no worktree {}", dir.display()));
        found.map(|(admin, _)| admin).ok_or_else(missing)
    }

    fn with(&self, name: &str, value: impl Into<OsString>) -> Self {
        let variables = self.variables.iter().cloned().chain([assignment((name.to_owned(), value.into()))]);
        Self { variables: variables.collect(), ..self.clone() }
    }

    fn worktree_dir(&self, name: &str) -> PathBuf {
        let repository = self.root.file_name().unwrap_or_default().to_string_lossy();
        let beside = self.root.parent().unwrap_or(&self.root);
        beside.join(format!("{repository}{DIR_INFIX}{name}"))
    }

    /// Adds a worktree under a free name; returns its branch and its directory.
    async fn add_worktree(&self, stem: &str, base: &str) -> Result<(String, PathBuf), WorktreeError> {
        let mut number = 0;
        let (branch, dir) = loop {
            number += 1;
            let name = format!("{stem}-{number}");
            let (branch, dir) = (format!("{BRANCH_PREFIX}{name}"), self.worktree_dir(&name));
            if dir.exists() || self.has_branch(&branch).await {
                continue;
            }
            // The empty value makes the command fail if the branch exists.
            match self.run(&words(["update-ref", &branch_ref(&branch), base, ""])).await {
                Ok(_) => break (branch, dir),
                // Another agent has taken the name in the meantime.
                Err(_) if self.has_branch(&branch).await => {}
                Err(error) => return Err(error),
            }
        };
        let mut add = words(["worktree", "add", "--quiet"]);
        add.extend([dir.clone().into(), branch.clone().into()]);
        let _turn = ADMINISTRATION.lock().await;
        if let Err(error) = self.run(&add).await {
            let _ = self.delete_branch(&branch).await;
            return Err(error);
        }
        Ok((branch, dir))
    }

    /// Locks the worktree in a directory, or adds one for the branch; returns git's administrative directory
    /// for it and the lock.
    async fn take_over(
        &self,
        dir: &Path,
        branch: &str,
        base: &str,
    ) -> Result<(PathBuf, File), WorktreeError> {
        let start = |error: std::io::Error| WorktreeError::Start(error.to_string());
        if let Ok(admin) = self.admin_dir(dir) {
            let lock = tiller_files::open_lock(&admin.join(LOCK_FILE)).map_err(start)?;
            lock.try_lock().map_err(|_| WorktreeError::InUse(branch.to_owned()))?;
            if dir.is_dir() {
                return Ok((admin, lock));
            }
            self.remove(&admin, dir).await?;
        }
        let mut add = words(["worktree", "add", "--quiet"]);
        add.extend([dir.into(), branch.into()]);
        {
            let _turn = ADMINISTRATION.lock().await;
            self.run(&add).await?;
        }
        let admin = self.admin_dir(dir)?;
        let lock = create_locked(&admin, base).map_err(start)?;
        Ok((admin, lock))
    }

    /// Deletes a branch. Unlike `git branch -D`, this doesn't change the configuration; such changes are
    /// reported for agents.
    async fn delete_branch(&self, branch: &str) -> Result<(), WorktreeError> {
        self.run(&words(["update-ref", "-d", &branch_ref(branch)])).await.map(drop)
    }

    async fn has_branch(&self, branch: &str) -> bool {
        self.revision(&branch_ref(branch)).await.is_ok()
    }

    /// Returns a commit with the current files, without changing the index or HEAD. Without changes, this is
    /// HEAD itself.
    async fn snapshot(&self) -> Result<String, WorktreeError> {
        let head = self.revision("HEAD").await.map_err(|_| WorktreeError::NoCommit)?;
        let index = self.root.join(last_line(&self.run(&words(["rev-parse", "--git-path", "index"])).await?));
        let start = |error: std::io::Error| WorktreeError::Start(error.to_string());
        let dir = tempfile::tempdir_in(index.parent().unwrap_or(&self.root)).map_err(start)?;
        let own = dir.path().join("index");
        // A copy, because it records which files are unchanged. Without an index, git starts a new one.
        let _ = tiller_files::open(&index)
            .and_then(|mut index| std::io::copy(&mut index, &mut tiller_files::create_private(&own)?));
        let git = self.with("GIT_INDEX_FILE", own);
        git.run(&words(["add", "--all"])).await?;
        let tree = last_line(&git.run(&words(["write-tree"])).await?);
        if tree == self.revision("HEAD^{tree}").await? {
            return Ok(head);
        }
        let command = words(["commit-tree", &tree, "-p", &head, "-m", "Uncommitted changes"]);
        Ok(last_line(&self.identified().run(&command).await?))
    }

    /// Commits the files of a worktree that started with the commit `base`, and moves its branch there: the agent
    /// may have left it. Returns the commit.
    async fn commit_to(&self, branch: &str, message: &str, base: &str) -> Result<String, WorktreeError> {
        self.commit_all(message, base).await?;
        let head = self.revision("HEAD").await?;
        if head != base {
            self.run(&words(["update-ref", &branch_ref(branch), &head])).await?;
        }
        Ok(head)
    }

    async fn commit_all(&self, message: &str, base: &str) -> Result<(), WorktreeError> {
        self.run(&words(["add", "--all"])).await?;
        let changed = match self.embedded_repository(base).await? {
            Some(repository) => Some(repository),
            None => self.changed_submodule().await?,
        };
        if let Some(repository) = changed {
            return Err(WorktreeError::EmbeddedRepository(repository));
        }
        if self.run(&words(["diff", "--cached", "--quiet", "--ignore-submodules=dirty"])).await.is_ok() {
            return Ok(());
        }
        let command = words(["commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m", message]);
        self.identified().run(&command).await.map(drop)
    }

    /// Returns a repository in the worktree whose commit isn't that in `base`; the commit may exist only there.
    async fn embedded_repository(&self, base: &str) -> Result<Option<PathBuf>, WorktreeError> {
        // A `.gitmodules` of the agent could hide it otherwise.
        let shown = "--ignore-submodules=dirty";
        let command =
            words(["diff", "--cached", "--raw", "-z", "--no-renames", "--no-ext-diff", shown, base]);
        let changes = self.run_for_bytes(&command).await?;
        let mut fields = changes.split(|byte| *byte == 0);
        while let (Some(change), Some(path)) = (fields.next(), fields.next()) {
            // `:OLD_MODE NEW_MODE …`.
            if change.split(|byte| *byte == b' ').nth(1) == Some(GITLINK_MODE) {
                return Ok(Some(self.root.join(OsStr::from_bytes(path))));
            }
        }
        Ok(None)
    }

    /// Returns a submodule with files that no commit has. Without the agent's doing, submodules are empty.
    async fn changed_submodule(&self) -> Result<Option<PathBuf>, WorktreeError> {
        let files = self.run_for_bytes(&words(["ls-files", "--stage", "-z"])).await?;
        for file in files.split(|byte| *byte == 0).filter(|file| file.starts_with(GITLINK_MODE)) {
            // `MODE OBJECT STAGE\tPATH`.
            let Some(tab) = file.iter().position(|byte| *byte == b'\t') else { continue };
            let dir = self.root.join(OsStr::from_bytes(&file[tab + 1..]));
            let commit = file[..tab].split(|byte| *byte == b' ').nth(1).unwrap_or_default();
            let commit = String::from_utf8_lossy(commit);
            if std::fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_some())
                && Box::pin(Self::has_changes(&dir, &commit, &self.runner)).await?
            {
                return Ok(Some(dir));
            }
        }
        Ok(None)
    }

    /// Returns true if the directory of a submodule at a commit isn't a repository of its own, or has changes, other
    /// commits that no remote has, or submodules with changes.
    async fn has_changes(dir: &Path, commit: &str, runner: &Runner) -> Result<bool, WorktreeError> {
        let git = Self::find(dir, runner).await?;
        if git.root != dir {
            return Ok(true);
        }
        let status = words(["status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all"]);
        let new_commits = words(["rev-list", "--max-count=1", "--all", "HEAD", "--not", "--remotes", commit]);
        Ok(!git.run(&status).await?.is_empty()
            || !git.run(&new_commits).await?.is_empty()
            || git.changed_submodule().await?.is_some())
    }

    /// Returns the changes between two commits, as those of a branch. The user's settings for diffs don't apply.
    async fn changes(&self, branch: &str, [base, head]: [&str; 2]) -> Result<WorktreeChanges, WorktreeError> {
        let diff = ["diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv"];
        let command = |option: &[&str]| -> Vec<OsString> {
            diff.iter().chain(option).chain(&[base, head]).map(OsString::from).collect()
        };
        let counts = self.run(&command(&["--numstat", "-z"])).await?;
        let patch = self.run_for_bytes(&command(&["--binary", "--no-color"])).await?.into();
        Ok(WorktreeChanges { branch: Some(branch.to_owned()), patch, ..count(&counts) })
    }

    async fn remove(&self, admin: &Path, dir: &Path) -> Result<(), WorktreeError> {
        restore_dot_git(admin, dir).map_err(|error| WorktreeError::Start(error.to_string()))?;
        let mut remove = words(["worktree", "remove", "--force", "--force"]);
        remove.push(dir.into());
        let _turn = ADMINISTRATION.lock().await;
        self.run(&remove).await.map(drop)
    }

    async fn revision(&self, name: &str) -> Result<String, WorktreeError> {
        Ok(last_line(&self.run(&words(["rev-parse", "--verify", "--quiet", name])).await?))
    }

    /// Sets the author of tiller's commits, which don't need the user's identity.
    fn identified(&self) -> Self {
        ["AUTHOR", "COMMITTER"].iter().fold(self.clone(), |git, role| {
            git.with(&format!("GIT_{role}_NAME"), "tiller")
                .with(&format!("GIT_{role}_EMAIL"), "tiller@localhost")
        })
    }

    async fn run(&self, arguments: &[OsString]) -> Result<String, WorktreeError> {
        Ok(String::from_utf8_lossy(&self.run_for_bytes(arguments).await?).into_owned())
    }

    async fn run_for_bytes(&self, arguments: &[OsString]) -> Result<Vec<u8>, WorktreeError> {
        let command = || arguments.first().unwrap_or(&OsString::new()).to_string_lossy().into_owned();
        let ran = tokio::time::timeout(TIMEOUT, self.run_to_end(arguments)).await;
        let (output, status) = ran.map_err(|_| WorktreeError::TimedOut(command()))??;
        match status {
            ExitStatus::Code(0) if output.len() > MAX_OUTPUT => Err(WorktreeError::TooLong(command())),
            ExitStatus::Code(0) => Ok(output),
            _ => {
                let output = String::from_utf8_lossy(&output).trim().to_owned();
                Err(WorktreeError::Git { command: command(), output })
            }
        }
    }

    async fn run_to_end(&self, arguments: &[OsString]) -> Result<(Vec<u8>, ExitStatus), WorktreeError> {
        let variables = self.location.iter().chain(&self.variables).cloned();
        let line = variables.chain(words(["git", "--no-pager", "-c", "color.ui=never"]));
        let line: Vec<OsString> = line.chain(arguments.iter().cloned()).collect();
        let start = |error: crate::process::ProcessError| WorktreeError::Start(error.to_string());
        let mut running = self.runner.start_program(&self.root, "env".as_ref(), &line).map_err(start)?;
        let mut output = Vec::new();
        while let Some(chunk) = running.chunk().await {
            if output.len() <= MAX_OUTPUT {
                output.extend_from_slice(&chunk);
            }
        }
        Ok((output, running.wait().await.map_err(start)?.status))
    }
}

/// Restores the `.git` of a worktree if the agent has replaced it, because git removes only worktrees that
/// point back to it.
fn restore_dot_git(admin: &Path, dir: &Path) -> std::io::Result<()> {
    let (dot_git, expected) = (dir.join(".git"), format!("gitdir: {}\n", admin.display()));
    if !dir.is_dir() || git::read_file(dir, ".git").as_deref() == Some(expected.as_str()) {
        return Ok(());
    }
    match dot_git.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => std::fs::remove_dir_all(&dot_git)?,
        Ok(_) => std::fs::remove_file(&dot_git)?,
        Err(_) => {}
    }
    tiller_files::create_private(&dot_git)?.write_all(expected.as_bytes())
}

fn words<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.map(OsString::from).into()
}

/// Returns the last line that isn't blank; warnings precede it.
fn last_line(output: &str) -> String {
    output.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

/// Sums up the output of `git diff --numstat -z`. Binary files count without lines.
fn count(numstat: &str) -> WorktreeChanges {
    let mut changes = WorktreeChanges::default();
    for record in numstat.split('\0') {
        let mut fields = record.split('\t');
        let (Some(added), Some(removed)) = (fields.next(), fields.next()) else { continue };
        changes.files += 1;
        changes.added += added.parse::<usize>().unwrap_or(0);
        changes.removed += removed.parse::<usize>().unwrap_or(0);
    }
    changes
}

impl fmt::Display for WorktreeChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, added, removed, .. } = self;
        f.pad(&format!("{}, +{added} −{removed}", counted(*files, "file", "files")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_sums_over_files() {
        let changes = count("1\t2\ta.rs\x003\t0\tb.rs\0-\t-\tc.png\0");
        assert_eq!(changes.to_string(), "3 files, +4 −2");
    }
}
