//! Worktrees for agents: each begins with the files of the working directory, changed and new ones included, and leaves
//! its changes on a branch.
//!
//! A worktree stands beside the repository, so that relative paths to other projects stay valid. Git's own lock of a
//! worktree names the process that uses it; a worktree whose process is gone was left by a crash.

use std::ffi::OsString;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde::Serialize;
use tiller_files::git;

use super::{assignment, no_prompts, reading};
use crate::process::{ExitStatus, Runner};

/// Prefix of the branches.
const BRANCH_PREFIX: &str = "tiller/";

/// Separates the repository's name from that of the worktree in the name of the folder.
const FOLDER_INFIX: &str = ".tiller-";

/// First word of the reason for which a worktree is locked; the process id follows.
const LOCK_REASON: &str = "tiller";

/// Largest number in a name.
const MAX_NUMBER: usize = 10_000;

/// Maximum bytes of a diff.
const MAX_DIFF: usize = 16 * 1024 * 1024;

/// A worktree with a branch of its own.
#[derive(Clone, Debug)]
pub struct Worktree {
    git: RepositoryGit,
    /// Its folder.
    folder: PathBuf,
    /// The folder in it that corresponds to the working directory.
    root: PathBuf,
    branch: String,
    /// The commit that it began with.
    base: String,
}

/// The changes that were made in a worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeChanges {
    /// The branch that has them; `None` without changes.
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
    pub patch: Vec<u8>,
}

/// The reason why an operation on a worktree has failed.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// The working directory is in no repository.
    #[error("{} is in no Git repository", .0.display())]
    NoRepository(PathBuf),
    /// The repository has no commit.
    #[error("the repository has no commit yet: make one first")]
    NoCommit,
    /// Git has failed.
    #[error("git {command} failed: {output}")]
    Git {
        /// The command.
        command: String,
        /// Its output.
        output: String,
    },
    /// Git could not be run.
    #[error("git can't be run: {0}")]
    Start(String),
}

/// A worktree whose process is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverWorktree {
    /// Its folder.
    pub folder: PathBuf,
    /// Its branch.
    pub branch: String,
}

impl Worktree {
    /// Creates a worktree for the repository of a working directory. The first free number after `stem` makes the name,
    /// which the folder and the branch have.
    ///
    /// # Errors
    /// Without a repository, or if git fails, for instance because the repository has no commit.
    pub async fn create(cwd: &Path, stem: &str, runner: &Runner) -> Result<Self, WorktreeError> {
        let git = RepositoryGit::find(cwd, runner).await?;
        let base = git.snapshot().await?;
        let (branch, folder) = git.add_worktree(stem, &base).await?;
        let reason = format!("{LOCK_REASON} {}", std::process::id());
        let mut lock = words(["worktree", "lock", "--reason", &reason]);
        lock.push(folder.clone().into());
        git.run(&lock).await?;
        let below = cwd.strip_prefix(&git.root).unwrap_or(Path::new(""));
        let root = folder.join(below);
        Ok(Self { git, folder, root, branch, base })
    }

    /// Returns the folder that corresponds to the working directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Commits the changes to the branch and returns them; the worktree stays.
    ///
    /// # Errors
    /// If git fails.
    pub async fn commit(&self, message: &str) -> Result<WorktreeChanges, WorktreeError> {
        let git = self.git.at(&self.folder);
        git.commit_all(message).await?;
        let head = git.revision("HEAD").await?;
        if head == self.base {
            return Ok(WorktreeChanges::default());
        }
        let range = [self.base.as_str(), head.as_str()];
        let counts = git.run(&words(["diff", "--numstat", "-z", range[0], range[1]])).await?;
        let patch = git.diff(range).await?;
        Ok(WorktreeChanges { branch: Some(self.branch.clone()), patch, ..count(&counts) })
    }

    /// Removes the worktree, and its branch if it has no changes.
    ///
    /// # Errors
    /// If git fails.
    pub async fn remove(self) -> Result<(), WorktreeError> {
        let head = self.git.at(&self.folder).revision("HEAD").await?;
        self.git.remove(&self.folder).await?;
        if head == self.base {
            self.git.run(&words(["branch", "--quiet", "-D", &self.branch])).await?;
        }
        Ok(())
    }
}

impl WorktreeChanges {
    /// Applies the changes to the files of a working directory's repository; its index stays as it is.
    ///
    /// # Errors
    /// When the files have changed at the same places meanwhile; nothing is changed then.
    pub async fn apply(&self, cwd: &Path, runner: &Runner) -> Result<(), WorktreeError> {
        if self.patch.is_empty() {
            return Ok(());
        }
        let git = RepositoryGit::find(cwd, runner).await?;
        let start = |error: std::io::Error| WorktreeError::Start(error.to_string());
        let mut file = tempfile::NamedTempFile::new().map_err(start)?;
        file.write_all(&self.patch).map_err(start)?;
        let mut command = words(["apply", "--whitespace=nowarn"]);
        command.push(file.path().into());
        git.run(&command).await.map(drop)
    }
}

/// Lists the worktrees that were left by a crash in the repository of a working directory; empty without a repository.
pub async fn find_leftover_worktrees(cwd: &Path, runner: &Runner) -> Vec<LeftoverWorktree> {
    let Ok(git) = RepositoryGit::find(cwd, runner).await else { return Vec::new() };
    let list = git.run(&words(["worktree", "list", "--porcelain"])).await.unwrap_or_default();
    list.split("\n\n")
        .filter_map(parse_leftover)
        .filter(|(_, process)| !is_alive(*process))
        .map(|(it, _)| it)
        .collect()
}

/// Commits the changes in a leftover worktree to its branch, and removes it.
///
/// # Errors
/// If git fails.
pub async fn remove_leftover_worktree(
    leftover: &LeftoverWorktree,
    cwd: &Path,
    runner: &Runner,
) -> Result<(), WorktreeError> {
    let git = RepositoryGit::find(cwd, runner).await?;
    if leftover.folder.is_dir() {
        git.at(&leftover.folder).commit_all("Changes of an interrupted agent").await?;
    }
    git.remove(&leftover.folder).await
}

/// Git for the repository of a working directory, without prompts, hooks and programs that the repository names.
#[derive(Clone, Debug)]
struct RepositoryGit {
    runner: Runner,
    /// The folder that holds `.git`.
    root: PathBuf,
    /// Assignments of environment variables.
    variables: Vec<OsString>,
}

impl RepositoryGit {
    async fn find(cwd: &Path, runner: &Runner) -> Result<Self, WorktreeError> {
        let root = git::find(cwd).and_then(|dot_git| dot_git.parent().map(Path::to_owned));
        let root = root.ok_or_else(|| WorktreeError::NoRepository(cwd.to_owned()))?;
        let mut git = Self { runner: runner.clone(), root, variables: no_prompts().collect() };
        let overrides: Vec<OsString> = reading::variables(&[]).map(assignment).collect();
        git.variables.extend(overrides);
        let config = git.run(&words(["config", "--list", "--includes", "--show-scope", "-z"])).await?;
        git.variables = no_prompts().chain(reading::variables(config.as_bytes()).map(assignment)).collect();
        Ok(git)
    }

    fn at(&self, root: &Path) -> Self {
        Self { root: root.to_owned(), ..self.clone() }
    }

    fn with(&self, name: &str, value: impl Into<OsString>) -> Self {
        let variables = self.variables.iter().cloned().chain([assignment((name.to_owned(), value.into()))]);
        Self { variables: variables.collect(), ..self.clone() }
    }

    fn worktree_folder(&self, name: &str) -> PathBuf {
        let repository = self.root.file_name().unwrap_or_default().to_string_lossy();
        let beside = self.root.parent().unwrap_or(&self.root);
        beside.join(format!("{repository}{FOLDER_INFIX}{name}"))
    }

    /// Adds a worktree under a free name; returns its branch and its folder.
    async fn add_worktree(&self, stem: &str, base: &str) -> Result<(String, PathBuf), WorktreeError> {
        let mut number = 0;
        loop {
            number += 1;
            let name = format!("{stem}-{number}");
            let (branch, folder) = (format!("{BRANCH_PREFIX}{name}"), self.worktree_folder(&name));
            if folder.exists() || self.has_branch(&branch).await {
                continue;
            }
            let mut add = words(["worktree", "add", "--quiet", "-b", &branch]);
            add.extend([folder.clone().into(), base.into()]);
            match self.run(&add).await {
                Ok(_) => return Ok((branch, folder)),
                // Another agent has taken the name meanwhile.
                Err(_) if number < MAX_NUMBER && self.has_branch(&branch).await => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn has_branch(&self, branch: &str) -> bool {
        self.revision(&format!("refs/heads/{branch}")).await.is_ok()
    }

    /// Returns a commit with the files as they are, without a change of the index or of HEAD: HEAD itself without changes.
    async fn snapshot(&self) -> Result<String, WorktreeError> {
        let head = self.revision("HEAD").await.map_err(|_| WorktreeError::NoCommit)?;
        let index = self.root.join(last_line(&self.run(&words(["rev-parse", "--git-path", "index"])).await?));
        let start = |error: std::io::Error| WorktreeError::Start(error.to_string());
        let folder = tempfile::tempdir_in(index.parent().unwrap_or(&self.root)).map_err(start)?;
        let own = folder.path().join("index");
        // A copy, because it knows which files are unchanged. Without an index, git begins a new one.
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

    async fn commit_all(&self, message: &str) -> Result<(), WorktreeError> {
        self.run(&words(["add", "--all"])).await?;
        if self.run(&words(["diff", "--cached", "--quiet"])).await.is_ok() {
            return Ok(());
        }
        let command = words(["commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m", message]);
        self.identified().run(&command).await.map(drop)
    }

    async fn diff(&self, range: [&str; 2]) -> Result<Vec<u8>, WorktreeError> {
        let command =
            ["diff", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", range[0], range[1]];
        self.run_for_bytes(&words(command)).await
    }

    async fn remove(&self, folder: &Path) -> Result<(), WorktreeError> {
        let mut remove = words(["worktree", "remove", "--force", "--force"]);
        remove.push(folder.into());
        self.run(&remove).await.map(drop)
    }

    async fn revision(&self, name: &str) -> Result<String, WorktreeError> {
        Ok(last_line(&self.run(&words(["rev-parse", "--verify", "--quiet", name])).await?))
    }

    /// Sets the author of commits that tiller makes, which need no identity of the user.
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
        let line = self.variables.iter().cloned().chain(words(["git", "--no-pager", "-c", "color.ui=never"]));
        let line: Vec<OsString> = line.chain(arguments.iter().cloned()).collect();
        let start = |error: crate::process::ProcessError| WorktreeError::Start(error.to_string());
        let mut running = self.runner.start_program(&self.root, "env".as_ref(), &line).map_err(start)?;
        let mut output = Vec::new();
        while let Some(chunk) = running.chunk().await {
            if output.len() < MAX_DIFF {
                output.extend_from_slice(&chunk);
            }
        }
        match running.wait().await.map_err(start)?.status {
            ExitStatus::Code(0) => Ok(output),
            _ => {
                let command = arguments.first().unwrap_or(&OsString::new()).to_string_lossy().into_owned();
                let output = String::from_utf8_lossy(&output).trim().to_owned();
                Err(WorktreeError::Git { command, output })
            }
        }
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.map(OsString::from).into()
}

/// Returns the last line that isn't blank: warnings come before it.
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

/// Parses a worktree of `git worktree list --porcelain` that an agent has used; returns it with the process.
fn parse_leftover(record: &str) -> Option<(LeftoverWorktree, u32)> {
    let field = |name: &str| record.lines().find_map(|line| line.strip_prefix(name));
    let branch = field("branch refs/heads/")?;
    let process = field("locked ")?.strip_prefix(LOCK_REASON)?.trim().parse().ok()?;
    branch.starts_with(BRANCH_PREFIX).then(|| {
        (
            LeftoverWorktree {
                folder: field("worktree ").unwrap_or_default().into(),
                branch: branch.to_owned(),
            },
            process,
        )
    })
}

fn is_alive(process: u32) -> bool {
    let Ok(process) = i32::try_from(process) else { return false };
    // A process of another user can't be signalled, but it is there.
    kill(Pid::from_raw(process), None) != Err(Errno::ESRCH)
}

impl fmt::Display for WorktreeChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, added, removed, .. } = self;
        let noun = if *files == 1 { "file" } else { "files" };
        f.pad(&format!("{files} {noun}, +{added} −{removed}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftover_is_a_locked_worktree_of_an_agent() {
        let record =
            "worktree /w/app.tiller-a1\nHEAD abc\nbranch refs/heads/tiller/a1\nlocked tiller 4000000\n";
        let folder = "/w/app.tiller-a1".into();
        let leftover = LeftoverWorktree { folder, branch: "tiller/a1".into() };
        assert_eq!(parse_leftover(record), Some((leftover, 4_000_000)));
        assert_eq!(parse_leftover("worktree /w/app\nHEAD abc\nbranch refs/heads/main\n"), None);
        assert_eq!(parse_leftover("worktree /w/b\nbranch refs/heads/tiller/b\nlocked by me\n"), None);
    }

    #[test]
    fn counts_are_summed_over_files() {
        let changes = count("1\t2\ta.rs\x003\t0\tb.rs\0-\t-\tc.png\0");
        assert_eq!(changes.to_string(), "3 files, +4 −2");
    }
}
