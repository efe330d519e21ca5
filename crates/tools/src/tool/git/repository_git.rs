//! Git commands in the repository of a working directory or of an agent's worktree.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tiller_files::git;
use tokio::sync::Mutex;

use super::worktree_changes::{WorktreeChanges, count};
use super::worktree_error::WorktreeError;
use super::{assignment, find_special_file, no_prompts, reading};
use crate::process::{ExitStatus, Runner};

/// Prefix of the branches.
pub(super) const BRANCH_PREFIX: &str = "tiller/";

/// Separates the names of the repository and the worktree in the directory name.
pub(super) const DIR_INFIX: &str = ".tiller-";

/// The locked file, in git's own directory for the worktree. It contains the commit that the worktree started with.
pub(super) const LOCK_FILE: &str = "tiller.lock";

/// Mode of an entry for a repository in a tree of git.
const GITLINK_MODE: &[u8] = b"160000";

/// Time limit of a git command: a checkout of a large repository takes a minute.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Maximum bytes of git's output, which is held in memory: a list of all files, or a diff.
const MAX_OUTPUT: usize = 256 * 1024 * 1024;

/// Held while a worktree is added or removed, because git then reads the records of all worktrees, and fails
/// on one that another git process is writing ("failed to read …/commondir: Success").
static ADMINISTRATION: Mutex<()> = Mutex::const_new(());

/// Git for the repository of a working directory, without prompts, hooks and programs named by the
/// repository.
#[derive(Clone, Debug)]
pub(super) struct RepositoryGit {
    pub(super) runner: Runner,
    /// The directory that contains `.git`.
    pub(super) root: PathBuf,
    /// Assignments that set the repository's location; empty if git finds it.
    location: Vec<OsString>,
    /// Assignments of environment variables.
    variables: Vec<OsString>,
}

impl RepositoryGit {
    pub(super) async fn find(cwd: &Path, runner: &Runner) -> Result<Self, WorktreeError> {
        let dot_git = git::find(cwd).ok_or_else(|| WorktreeError::NoRepository(cwd.to_owned()))?;
        let root = dot_git.parent().unwrap_or(cwd).to_owned();
        if let Some(path) = find_special_file(dot_git).await {
            return Err(WorktreeError::SpecialFile(path));
        }
        Self::read_config(Self { runner: runner.clone(), root, location: Vec::new(), variables: Vec::new() })
            .await
    }

    /// Creates git for a worktree whose `.git` isn't trusted.
    pub(super) async fn in_worktree(
        admin: &Path,
        dir: &Path,
        runner: &Runner,
    ) -> Result<Self, WorktreeError> {
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
    pub(super) fn worktrees(&self) -> Vec<(PathBuf, PathBuf)> {
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

    pub(super) fn admin_dir(&self, dir: &Path) -> Result<PathBuf, WorktreeError> {
        let found = self.worktrees().into_iter().find(|(_, found)| found == dir);
        let missing = || WorktreeError::Start(format!("git has no worktree {}", dir.display()));
        found.map(|(admin, _)| admin).ok_or_else(missing)
    }

    fn with(&self, name: &str, value: impl Into<OsString>) -> Self {
        let variables = self.variables.iter().cloned().chain([assignment((name.to_owned(), value.into()))]);
        Self { variables: variables.collect(), ..self.clone() }
    }

    pub(super) fn worktree_dir(&self, name: &str) -> PathBuf {
        let repository = self.root.file_name().unwrap_or_default().to_string_lossy();
        let beside = self.root.parent().unwrap_or(&self.root);
        beside.join(format!("{repository}{DIR_INFIX}{name}"))
    }

    /// Adds a worktree under a free name; returns its branch and its directory.
    pub(super) async fn add_worktree(
        &self,
        stem: &str,
        base: &str,
    ) -> Result<(String, PathBuf), WorktreeError> {
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
    pub(super) async fn take_over(
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
    pub(super) async fn delete_branch(&self, branch: &str) -> Result<(), WorktreeError> {
        self.run(&words(["update-ref", "-d", &branch_ref(branch)])).await.map(drop)
    }

    pub(super) async fn has_branch(&self, branch: &str) -> bool {
        self.revision(&branch_ref(branch)).await.is_ok()
    }

    /// Returns a commit with the current files, without changing the index or HEAD. Without changes, this is
    /// HEAD itself.
    pub(super) async fn snapshot(&self) -> Result<String, WorktreeError> {
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
    pub(super) async fn commit_to(
        &self,
        branch: &str,
        message: &str,
        base: &str,
    ) -> Result<String, WorktreeError> {
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
    pub(super) async fn changes(
        &self,
        branch: &str,
        [base, head]: [&str; 2],
    ) -> Result<WorktreeChanges, WorktreeError> {
        let diff = ["diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv"];
        let command = |option: &[&str]| -> Vec<OsString> {
            diff.iter().chain(option).chain(&[base, head]).map(OsString::from).collect()
        };
        let counts = self.run(&command(&["--numstat", "-z"])).await?;
        let patch = self.run_for_bytes(&command(&["--binary", "--no-color"])).await?.into();
        Ok(WorktreeChanges { branch: Some(branch.to_owned()), patch, ..count(&counts) })
    }

    pub(super) async fn remove(&self, admin: &Path, dir: &Path) -> Result<(), WorktreeError> {
        restore_dot_git(admin, dir).map_err(|error| WorktreeError::Start(error.to_string()))?;
        let mut remove = words(["worktree", "remove", "--force", "--force"]);
        remove.push(dir.into());
        let _turn = ADMINISTRATION.lock().await;
        self.run(&remove).await.map(drop)
    }

    pub(super) async fn revision(&self, name: &str) -> Result<String, WorktreeError> {
        Ok(last_line(&self.run(&words(["rev-parse", "--verify", "--quiet", name])).await?))
    }

    /// Sets the author of tiller's commits, which don't need the user's identity.
    fn identified(&self) -> Self {
        ["AUTHOR", "COMMITTER"].iter().fold(self.clone(), |git, role| {
            git.with(&format!("GIT_{role}_NAME"), "tiller")
                .with(&format!("GIT_{role}_EMAIL"), "tiller@localhost")
        })
    }

    pub(super) async fn run(&self, arguments: &[OsString]) -> Result<String, WorktreeError> {
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

/// Creates the locked file of a worktree. The file gets its name once it is locked, so that no process finds
/// it unlocked.
pub(super) fn create_locked(admin: &Path, base: &str) -> std::io::Result<File> {
    let unnamed = admin.join(format!("{LOCK_FILE}.new"));
    let mut lock = tiller_files::open_lock(&unnamed)?;
    lock.try_lock()?;
    lock.write_all(base.as_bytes())?;
    std::fs::rename(&unnamed, admin.join(LOCK_FILE))?;
    Ok(lock)
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

pub(super) fn words<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.map(OsString::from).into()
}

/// Returns the last line that isn't blank; warnings precede it.
fn last_line(output: &str) -> String {
    output.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

/// Returns the full name of a branch.
pub(super) fn branch_ref(branch: &str) -> String {
    format!("refs/heads/{branch}")
}
