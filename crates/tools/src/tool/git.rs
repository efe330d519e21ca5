//! The git tools and their shared code: running git without prompts, and for reading commands without any
//! other program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tiller_files::git;

use super::command_run::CommandLimits;
use super::sandboxed_run::SandboxedRunner;
use super::{ToolEnvironment, ToolOutput, ToolProgress};
use crate::process::{ExitStatus, Runner, RunningCommand};
use crate::workspace::{FileAccess, Workspace};

mod add;
mod branch;
mod commit;
mod diff;
mod log;
mod reading;
mod repository_git;
mod status;
mod worktree;
mod worktree_changes;
mod worktree_error;

pub(super) use add::GitAdd;
pub(super) use branch::GitBranch;
pub(super) use commit::GitCommit;
pub(super) use diff::GitDiff;
pub(super) use log::GitLog;
pub(super) use status::GitStatus;
pub use worktree::{LeftoverWorktree, Worktree, find_leftover_worktrees, remove_leftover_worktree};
pub use worktree_changes::WorktreeChanges;
pub use worktree_error::WorktreeError;

/// Maximum bytes of configuration to read.
const MAX_CONFIG: usize = 1024 * 1024;

/// Time limit of the search for pipes that git would block on. A second is enough for some hundred thousand
/// files.
const FILE_CHECK_TIME: Duration = Duration::from_secs(1);

/// Variables that prevent git from waiting for an answer or an editor.
const NO_PROMPTS: &[(&str, &str)] = &[
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", ":"),
    ("GIT_SEQUENCE_EDITOR", ":"),
    ("SSH_ASKPASS_REQUIRE", "never"),
];

/// Git in the working directory.
#[derive(Clone, Debug)]
struct Git {
    runner: SandboxedRunner,
    workspace: Workspace,
    limits: CommandLimits,
}

impl Git {
    /// Creates git for a tool.
    fn new(tool: &'static str, environment: &ToolEnvironment) -> Self {
        let workspace = environment.workspace.clone();
        Self { runner: environment.into(), workspace, limits: CommandLimits::new(tool, environment) }
    }

    /// Runs a git command with the repository's hooks and filters.
    async fn run(&self, arguments: Vec<OsString>, progress: &ToolProgress) -> ToolOutput {
        if let Err(reason) = self.check_files().await {
            return ToolOutput::error(reason);
        }
        let arguments =
            ["--no-pager", "-c", "color.ui=always"].map(OsString::from).into_iter().chain(arguments);
        self.start(no_prompts().collect(), arguments.collect(), progress).await
    }

    /// Runs a git command that only reads, so that nothing in the repository makes it start a program.
    /// Ignores changes inside submodules, because git would run in each of them.
    async fn read(
        &self,
        arguments: Vec<OsString>,
        empty_notice: &'static str,
        progress: &ToolProgress,
    ) -> ToolOutput {
        let Some(work_tree) = self.work_tree() else {
            return ToolOutput::error("the working directory is not in a Git repository");
        };
        if let Err(reason) = self.check_files().await {
            return ToolOutput::error(reason);
        }
        let config = match self.local_config().await {
            Ok(config) => config,
            Err(reason) => return ToolOutput::error(reason),
        };
        let variables = no_prompts().chain(reading::variables(&config).map(assignment)).collect();
        let mut command: Vec<OsString> = ["--no-pager", "--no-optional-locks"].map(Into::into).into();
        command.push(with_value("--work-tree=", work_tree));
        command.extend(arguments);
        let git = Self { limits: CommandLimits { empty_notice, ..self.limits.clone() }, ..self.clone() };
        git.start(variables, command, progress).await
    }

    /// Returns an error for a repository in which git would block on a pipe.
    async fn check_files(&self) -> Result<(), String> {
        let Some(dot_git) = git::find(self.workspace.root()) else { return Ok(()) };
        match find_special_file(dot_git).await {
            Some(path) => Err(format!("{} is not a regular file; git would block on it", path.display())),
            None => Ok(()),
        }
    }

    /// Returns the directory that contains `.git`, unless the repository's configuration names another one.
    fn work_tree(&self) -> Option<PathBuf> {
        Some(git::find(self.workspace.root())?.parent()?.to_owned())
    }

    async fn start(
        &self,
        variables: Vec<OsString>,
        arguments: Vec<OsString>,
        progress: &ToolProgress,
    ) -> ToolOutput {
        let line: Vec<OsString> = variables.into_iter().chain(["git".into()]).chain(arguments).collect();
        let start = |runner: &Runner| runner.start_program(self.workspace.root(), "env".as_ref(), &line);
        self.runner.run(start, &self.limits, progress).await
    }

    /// Reads the configuration with the scope of each entry, in the format of `git config --list --show-scope
    /// -z`.
    async fn local_config(&self) -> Result<Vec<u8>, String> {
        let command = ["git", "config", "--list", "--includes", "--show-scope", "-z"].map(OsString::from);
        let arguments: Vec<OsString> = reading::variables(&[]).map(assignment).chain(command).collect();
        let runner = self.runner.runner();
        let started = runner.start_program(self.workspace.root(), "env".as_ref(), &arguments);
        let mut running = started.map_err(|error| error.to_string())?;
        // The configuration may include a pipe that nobody writes to.
        let timeout = Duration::from_secs(self.limits.timeout_s);
        let output = tokio::time::timeout(timeout, read_config(&mut running)).await;
        let output = output.map_err(|_| "git config took too long; use bash".to_owned())??;
        let exit = running.wait().await.map_err(|error| error.to_string())?;
        match exit.status {
            ExitStatus::Code(0) if reading::are_adopted(&output) => Ok(output),
            ExitStatus::Code(0) => Err("read-only git tools need git 2.31 or later; use bash".into()),
            _ => Err(format!("git config failed: {}", String::from_utf8_lossy(&output).trim_end())),
        }
    }

    /// Returns a pathspec for a path that tools may access. A symbolic link means the link itself, as git
    /// tracks links.
    fn pathspec(&self, path: &str) -> Result<OsString, String> {
        let resolve = |path: &str| {
            let resolved = self.workspace.resolve(path, FileAccess::Read);
            resolved.map(|resolved| resolved.path()).map_err(|error| error.to_string())
        };
        let named = self.workspace.root().join(path);
        let real = match (named.is_symlink(), Path::new(path).parent(), named.file_name()) {
            (true, Some(dir), Some(name)) => resolve(&dir.to_string_lossy())?.join(name),
            _ => resolve(path)?,
        };
        Ok(with_value(":(literal)", real))
    }

    /// Runs a command that only reads, limited to a path if there is one.
    async fn read_path(
        &self,
        mut arguments: Vec<OsString>,
        path: Option<&str>,
        empty_notice: &'static str,
        progress: &ToolProgress,
    ) -> ToolOutput {
        match self.limit_to(path) {
            Ok(path) => {
                arguments.extend(path);
                self.read(arguments, empty_notice, progress).await
            }
            Err(reason) => ToolOutput::error(reason),
        }
    }

    /// Returns the final arguments of a command that is limited to a path. Without the separator, git could
    /// take a revision for a path.
    fn limit_to(&self, path: Option<&str>) -> Result<Vec<OsString>, String> {
        let pathspec = path.map(|path| self.pathspec(path)).transpose()?;
        Ok(["--".into()].into_iter().chain(pathspec).collect())
    }
}

/// Finds a pipe that git would block on, given a `.git`.
async fn find_special_file(dot_git: PathBuf) -> Option<PathBuf> {
    let find = move || tiller_files::find_special_file(&dot_git, Instant::now() + FILE_CHECK_TIME);
    // Only a panic ends it without a result.
    tokio::task::spawn_blocking(find).await.ok().flatten()
}

async fn read_config(running: &mut RunningCommand) -> Result<Vec<u8>, String> {
    let mut output = Vec::new();
    while let Some(chunk) = running.chunk().await {
        output.extend_from_slice(&chunk);
        if output.len() > MAX_CONFIG {
            return Err("git's configuration is longer than 1 MiB; use bash".into());
        }
    }
    Ok(output)
}

fn assignment((name, value): (String, OsString)) -> OsString {
    let mut assignment = OsString::from(name + "=");
    assignment.push(value);
    assignment
}

fn no_prompts() -> impl Iterator<Item = OsString> {
    NO_PROMPTS.iter().map(|(name, value)| format!("{name}={value}").into())
}

fn with_value(name: &str, value: impl AsRef<Path>) -> OsString {
    let mut argument = OsString::from(name);
    argument.push(value.as_ref());
    argument
}

/// Checks that git can't take an argument for an option.
fn check_name(argument: &str, name: &str) -> Result<(), String> {
    match name {
        "" => Err(format!("argument `{argument}`: must not be empty")),
        name if name.starts_with('-') => Err(format!("argument `{argument}`: must not begin with `-`")),
        name if name.contains('\0') => Err(format!("argument `{argument}`: must not contain NUL characters")),
        _ => Ok(()),
    }
}
