//! The reason an operation on a worktree has failed.

use std::path::PathBuf;

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
