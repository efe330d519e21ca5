//! Child processes: starts commands, streams their output, and stops them with all their descendants.
//!
//! A [`Runner`] starts each command through the [`supervisor`], a small process of the same binary that
//! outlives tiller just long enough to clean up; on Linux the supervisor has a watchdog. Three pipes connect
//! the two: the supervisor's stdin is its lifeline (when it closes, for whatever reason, the command is
//! stopped), its stdout carries the command's output, and its stderr carries one exit report. A supervisor
//! can be started ahead of its command ([`Runner::start_standby`]). A program with piped stdio
//! ([`Runner::start_piped`]) gets the bytes that are written to the lifeline. This module doesn't decide
//! which commands may run; the policy does.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::time::Instant;

mod exit;
mod exit_report;
mod launcher;
mod order;
mod piped_child;
mod program_path;
mod sandbox;
pub mod supervisor;

pub use exit::{Exit, ExitStatus};
use exit_report::ExitReport;
use launcher::{Launcher, Standby, Supervisor};
use order::CommandOrder;
pub use piped_child::{PipedChild, Program};
pub use program_path::this_program;
pub use sandbox::{NetworkAccess, SandboxProfile, SandboxSupport};

/// Maximum time for which output is read after the supervisor has ended. Usually no process of the command is
/// left and the pipe ends immediately; only a process that the supervisor may not kill (another user's,
/// through sudo) can keep it open.
const DRAIN: Duration = Duration::from_secs(1);

/// Read buffer size, in bytes.
const CHUNK: usize = 16 * 1024;

/// An error that prevents a command from running, or hides its exit status.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// No supervisor program is configured.
    #[error("commands can't be run: no supervisor program is configured")]
    NoSupervisor,
    /// The working directory doesn't exist or isn't a directory.
    #[error("working directory {path}: not a directory")]
    NoDir {
        /// The directory.
        path: PathBuf,
    },
    /// The shell doesn't exist.
    #[error("shell {shell}: program not found; use an absolute path or a name on PATH")]
    NoShell {
        /// The configured name or path.
        shell: String,
    },
    /// The supervisor could not be started.
    #[error("can't start the supervisor {program}")]
    Start {
        /// The supervisor's program.
        program: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The supervisor could not start the shell.
    #[error("{reason}")]
    Shell {
        /// The supervisor's message.
        reason: String,
    },
    /// The supervisor was killed and ended without a report.
    #[error("the command's supervisor was killed")]
    Lost,
}

/// Starts commands.
#[derive(Clone, Debug)]
pub struct Runner {
    launcher: Launcher,
    standby: Arc<Standby>,
    shell: PathBuf,
    /// A shell line that runs before every command.
    prefix: Option<String>,
    sandbox: Option<SandboxProfile>,
}

/// A command line and its working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    /// The line for the shell.
    pub line: String,
    /// The working directory.
    pub cwd: PathBuf,
}

impl Runner {
    /// Creates a runner with the current program as the supervisor; its `main` has to call [`supervisor::main`].
    ///
    /// # Errors
    /// If the system can't determine the path of the program (never on Linux).
    pub fn this_program() -> io::Result<Self> {
        Ok(Self::with_supervisor(this_program()?))
    }

    /// Creates a runner without a supervisor. Every command fails to start.
    #[must_use]
    pub fn none() -> Self {
        Self::with_supervisor(PathBuf::new())
    }

    /// Creates a runner with another program as the supervisor. The program must call [`supervisor::main`] if
    /// its first argument is [`supervisor::NAME`]. The path must be absolute.
    #[must_use]
    pub fn with_supervisor(supervisor: impl Into<PathBuf>) -> Self {
        let launcher = Launcher { program: supervisor.into(), withheld: Arc::default() };
        Self { launcher, standby: Arc::default(), shell: find_shell(), prefix: None, sandbox: None }
    }

    /// Sets the shell: a path, or the name of a program on `PATH`. It must accept `-c LINE`.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn with_shell(self, shell: &str) -> Result<Self, ProcessError> {
        let path = if shell.contains('/') {
            Some(PathBuf::from(shell)).filter(|path| path.is_absolute() && path.is_file())
        } else {
            on_path(shell)
        };
        let shell = path.ok_or_else(|| ProcessError::NoShell { shell: shell.to_owned() })?;
        Ok(Self { shell, ..self })
    }

    /// Sets a shell line that runs before every command: `source ~/.venv/bin/activate`. Its failure doesn't affect the
    /// command.
    #[must_use]
    pub fn with_prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: Some(prefix.into()), ..self }
    }

    /// Runs all processes that are started later in this sandbox.
    #[must_use]
    pub fn with_sandbox(self, profile: SandboxProfile) -> Self {
        Self { sandbox: Some(profile), ..self }
    }

    /// Removes variables of tiller's environment from the environment of commands.
    #[must_use]
    pub fn without_variables(self, names: impl IntoIterator<Item = String>) -> Self {
        let launcher = Launcher { withheld: names.into_iter().collect(), ..self.launcher };
        // A waiting supervisor has the previous environment.
        Self { launcher, standby: Arc::default(), ..self }
    }

    /// Returns the shell that commands run in: bash if it is installed, else sh.
    #[must_use]
    pub fn shell(&self) -> &Path {
        &self.shell
    }

    /// Starts a supervisor ahead of the next command, unless one is already waiting, so that the command
    /// starts sooner. Call it within a tokio runtime.
    pub fn start_standby(&self) {
        self.standby.start(&self.launcher);
    }

    /// Starts the next supervisor if one was requested earlier, because another command is likely to follow.
    pub fn renew_standby(&self) {
        if self.standby.is_requested() {
            self.standby.start(&self.launcher);
        }
    }

    /// Ends the supervisor that waits for a command.
    pub fn end_standby(&self) {
        self.standby.end();
    }

    /// Starts a command without a terminal and with an empty stdin. Call it within a tokio runtime.
    ///
    /// # Errors
    /// If the directory is missing or the supervisor can't be started.
    pub fn start(&self, command: &ShellCommand) -> Result<RunningCommand, ProcessError> {
        let arguments: [OsString; 2] = ["-c".into(), self.line(command).into()];
        self.start_program(&command.cwd, self.shell.as_os_str(), &arguments)
    }

    /// Starts a program like [`Runner::start`] starts a command. The program is found on `PATH` unless it is
    /// given by its path.
    ///
    /// # Errors
    /// Returns the same errors as [`Runner::start`].
    pub fn start_program(
        &self,
        cwd: &Path,
        program: &OsStr,
        arguments: &[OsString],
    ) -> Result<RunningCommand, ProcessError> {
        if self.launcher.program.as_os_str().is_empty() {
            return Err(ProcessError::NoSupervisor);
        }
        if !cwd.is_dir() {
            return Err(ProcessError::NoDir { path: cwd.to_owned() });
        }
        let mut words = self.sandbox_words();
        words.push(program.to_owned());
        words.extend_from_slice(arguments);
        let supervisor = match self.standby.take(&CommandOrder { cwd, words: &words }) {
            Some(supervisor) => supervisor,
            None => self.start_supervisor(cwd, &words)?,
        };
        let Supervisor { lifeline, output, reports, process } = supervisor;
        Ok(RunningCommand {
            lifeline: Some(lifeline),
            output,
            reports,
            supervisor: process,
            drain_until: None,
        })
    }

    fn start_supervisor(&self, cwd: &Path, words: &[OsString]) -> Result<Supervisor, ProcessError> {
        self.launcher
            .start(words, cwd)
            .map_err(|source| ProcessError::Start { program: self.launcher.program.clone(), source })
    }

    /// Returns the supervisor's arguments before the program.
    fn sandbox_words(&self) -> Vec<OsString> {
        self.sandbox.as_ref().map(SandboxProfile::words).unwrap_or_default()
    }

    /// Returns the line for the shell's `-c`.
    fn line(&self, command: &ShellCommand) -> String {
        match &self.prefix {
            Some(prefix) => format!("{prefix}\n{}", command.line),
            None => command.line.clone(),
        }
    }
}

fn find_shell() -> PathBuf {
    on_path("bash").unwrap_or_else(|| "/bin/sh".into())
}

/// Finds a program on `PATH`, as a shell does.
#[must_use]
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates = std::env::split_paths(&path).map(|dir| dir.join(program));
    candidates.find(|path| path.is_absolute() && path.is_file())
}

/// A running command. Dropping it kills the command and all its descendants within moments.
#[derive(Debug)]
pub struct RunningCommand {
    lifeline: Option<OwnedFd>,
    output: ChildStdout,
    reports: ChildStderr,
    supervisor: Child,
    drain_until: Option<Instant>,
}

impl RunningCommand {
    /// Returns the next output of stdout and stderr, in the order written; `None` when no process is left
    /// that could print. Cancel-safe.
    pub async fn chunk(&mut self) -> Option<Bytes> {
        let mut buffer = BytesMut::with_capacity(CHUNK);
        loop {
            let deadline = self.drain_until.unwrap_or_else(Instant::now);
            tokio::select! {
                biased;
                read = self.output.read_buf(&mut buffer) => match read {
                    Ok(count) if count > 0 => return Some(buffer.freeze()),
                    Ok(_) | Err(_) => return None,
                },
                _ = self.supervisor.wait(), if self.drain_until.is_none() => {
                    self.drain_until = Some(Instant::now() + DRAIN);
                }
                () = tokio::time::sleep_until(deadline), if self.drain_until.is_some() => return None,
            }
        }
    }

    /// Requests that the command and all its descendants be killed. Chunks and the exit status can still be read.
    pub fn stop(&mut self) {
        self.lifeline = None;
    }

    /// Waits for the end and drops the remaining output.
    ///
    /// # Errors
    /// If the shell could not be started, or the supervisor was killed.
    pub async fn wait(mut self) -> Result<Exit, ProcessError> {
        while self.chunk().await.is_some() {}
        let mut text = String::new();
        // Only the supervisor holds the other end, so this returns when the supervisor ends.
        let _ = self.reports.read_to_string(&mut text).await;
        match ExitReport::parse(&text) {
            Some(ExitReport::Ended(exit)) => Ok(exit),
            Some(ExitReport::Failed(reason)) => Err(ProcessError::Shell { reason }),
            None => Err(ProcessError::Lost),
        }
    }
}
