//! Commands: start one, stream what it prints, stop it with everything it started.
//!
//! A [`Runner`] starts commands through the [`helper`], a small process of our own binary that outlives tiller just long
//! enough to clean up; on Linux it has a watchdog of its own. Three pipes join the two: the helper's stdin is its lifeline (closed means stop, whoever closed
//! it), its stdout is what the command prints, its stderr carries one report. One may be started ahead of its command
//! ([`Runner::start_standby`]). What a command may do is the policy's
//! business, not decided here. A program to talk with ([`Runner::converse`]) gets what is written to that lifeline.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::time::Instant;

mod exit_report;
mod launcher;
mod order;
mod piped_child;
pub mod supervisor;

use exit_report::ExitReport;
use launcher::{Launcher, Standby, Supervisor};
use order::CommandOrder;
pub use piped_child::{PipedChild, Program};

/// How long output is still read after the helper has ended. Then nothing of the command is left, and the pipe ends at
/// once; only a process that the helper may not kill (another user's, through sudo) can hold it open longer.
const DRAIN: Duration = Duration::from_secs(1);

/// Bytes read at once.
const CHUNK: usize = 16 * 1024;

/// Why a command could not be run, or its end not be learnt.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// Nobody said how commands are run.
    #[error("commands can't be run here: there is no helper for them")]
    NoHelper,
    /// The folder to run it in isn't there.
    #[error("working directory {path}: not a folder")]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// There is no such shell.
    #[error("shell {shell}: there is no such program; give its absolute path, or a name that is on PATH")]
    NoShell {
        /// As it was named.
        shell: String,
    },
    /// The helper could not be started.
    #[error("helper {helper}: cannot start")]
    Start {
        /// The helper's program.
        helper: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The helper could not start the shell.
    #[error("{reason}")]
    Shell {
        /// The helper's words.
        reason: String,
    },
    /// The helper ended without a report: somebody killed it.
    #[error("the process that watched over the command was killed")]
    Lost,
}

/// Starts commands.
#[derive(Clone, Debug)]
pub struct Runner {
    launcher: Launcher,
    standby: Arc<Standby>,
    shell: PathBuf,
    /// Stands before every line.
    prefix: Option<String>,
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    /// A line for the shell.
    pub line: String,
    /// Where to run it.
    pub cwd: PathBuf,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The shell's own end.
    pub status: ExitStatus,
    /// Processes it left behind, which were killed.
    pub leftovers: usize,
}

/// How the shell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// By itself, with this code.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
}

impl ExitStatus {
    /// The exit code; none if a signal killed it.
    #[must_use]
    pub const fn code(self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(code),
            Self::Signal(_) => None,
        }
    }
}

impl Runner {
    /// Runs commands with the running program as the helper; its `main` has to hand over to [`supervisor::main`].
    ///
    /// # Errors
    /// When the system can't name the running program (never on Linux).
    pub fn this_program() -> io::Result<Self> {
        Ok(Self::with_helper(this_program()?))
    }

    /// Runs nothing: every command ends before it begins, with an error that says so.
    #[must_use]
    pub fn none() -> Self {
        Self::with_helper(PathBuf::new())
    }

    /// Runs commands with another program as the helper, one that hands over to [`supervisor::main`] when its first
    /// argument is [`supervisor::NAME`]. The path has to be absolute.
    #[must_use]
    pub fn with_helper(supervisor: impl Into<PathBuf>) -> Self {
        let launcher = Launcher { program: supervisor.into(), withheld: Arc::default() };
        Self { launcher, standby: Arc::default(), shell: find_shell(), prefix: None }
    }

    /// Runs commands in another shell: a path, or a program of that name on `PATH`. It has to take `-c LINE`.
    ///
    /// # Errors
    /// When there is no such program.
    pub fn in_shell(self, shell: &str) -> Result<Self, ProcessError> {
        let path = if shell.contains('/') {
            Some(PathBuf::from(shell)).filter(|path| path.is_absolute() && path.is_file())
        } else {
            on_path(shell)
        };
        let shell = path.ok_or_else(|| ProcessError::NoShell { shell: shell.to_owned() })?;
        Ok(Self { shell, ..self })
    }

    /// Puts a line of the shell's before each command's: `source ~/.venv/bin/activate`. Whether it fails makes no difference to the
    /// command.
    #[must_use]
    pub fn with_prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: Some(prefix.into()), ..self }
    }

    /// Keeps variables of tiller's own environment from commands.
    #[must_use]
    pub fn withholding(self, names: impl IntoIterator<Item = String>) -> Self {
        let launcher = Launcher { withheld: names.into_iter().collect(), ..self.launcher };
        // One that waits has the environment of before.
        Self { launcher, standby: Arc::default(), ..self }
    }

    /// The shell that commands run in: bash where there is one, else sh.
    #[must_use]
    pub fn shell(&self) -> &Path {
        &self.shell
    }

    /// Starts a supervisor for the next command, unless one waits already, so that the command starts sooner. Call it within
    /// a tokio runtime.
    pub fn start_standby(&self) {
        self.standby.keep(&self.launcher);
    }

    /// Starts the next supervisor if one was started ahead before: where there was a command, there may well be another.
    pub fn renew_standby(&self) {
        if self.standby.is_wanted() {
            self.standby.keep(&self.launcher);
        }
    }

    /// Ends the supervisor that waits for a command.
    pub fn end_standby(&self) {
        self.standby.end();
    }

    /// Starts a command with no terminal and nothing to read on stdin. Call it within a tokio runtime.
    ///
    /// # Errors
    /// When the folder is missing or the helper can't be started.
    pub fn start(&self, command: &ShellCommand) -> Result<Running, ProcessError> {
        if self.launcher.program.as_os_str().is_empty() {
            return Err(ProcessError::NoHelper);
        }
        if !command.cwd.is_dir() {
            return Err(ProcessError::NoFolder { path: command.cwd.clone() });
        }
        let arguments: [OsString; 2] = ["-c".into(), self.line(command).into()];
        let order =
            CommandOrder { cwd: &command.cwd, program: self.shell.as_os_str(), arguments: &arguments };
        let supervisor = match self.standby.take(&order) {
            Some(supervisor) => supervisor,
            None => self.start_supervisor(&order)?,
        };
        let Supervisor { lifeline, output, reports, process } = supervisor;
        Ok(Running { lifeline: Some(lifeline), output, reports, helper: process, drain_until: None })
    }

    fn start_supervisor(&self, order: &CommandOrder<'_>) -> Result<Supervisor, ProcessError> {
        let arguments = [order.program].into_iter().chain(order.arguments.iter().map(OsString::as_os_str));
        self.launcher
            .start(arguments, order.cwd)
            .map_err(|source| ProcessError::Start { helper: self.launcher.program.clone(), source })
    }

    /// What the shell is given.
    fn line(&self, command: &ShellCommand) -> String {
        match &self.prefix {
            Some(prefix) => format!("{prefix}\n{}", command.line),
            None => command.line.clone(),
        }
    }
}

/// The running program, to be started again as a helper.
///
/// # Errors
/// When the system can't name it (never on Linux).
pub fn this_program() -> io::Result<PathBuf> {
    // The link stays right when the file was replaced by an upgrade, which `current_exe` would not.
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

fn find_shell() -> PathBuf {
    on_path("bash").unwrap_or_else(|| "/bin/sh".into())
}

/// Where a program is, as a shell would look for it.
fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(program));
    places.find(|place| place.is_absolute() && place.is_file())
}

/// A command at work. Dropping it kills the command and everything it started, within moments.
#[derive(Debug)]
pub struct Running {
    lifeline: Option<OwnedFd>,
    output: ChildStdout,
    reports: ChildStderr,
    helper: Child,
    drain_until: Option<Instant>,
}

impl Running {
    /// What was printed next, to stdout or stderr, in the order it was written; `None` when nothing that could print is
    /// left. Cancel-safe.
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
                _ = self.helper.wait(), if self.drain_until.is_none() => {
                    self.drain_until = Some(Instant::now() + DRAIN);
                }
                () = tokio::time::sleep_until(deadline), if self.drain_until.is_some() => return None,
            }
        }
    }

    /// Orders the command and everything it started to be killed. Chunks and the exit are still to be had.
    pub fn stop(&mut self) {
        self.lifeline = None;
    }

    /// Waits for the end and drops what is still printed.
    ///
    /// # Errors
    /// When the shell could not be started, or the helper was killed.
    pub async fn wait(mut self) -> Result<Exit, ProcessError> {
        while self.chunk().await.is_some() {}
        let mut text = String::new();
        // The helper alone holds the other end, so this ends when the helper does.
        let _ = self.reports.read_to_string(&mut text).await;
        match ExitReport::parse(&text) {
            Some(ExitReport::Ended(exit)) => Ok(exit),
            Some(ExitReport::Failed(reason)) => Err(ProcessError::Shell { reason }),
            None => Err(ProcessError::Lost),
        }
    }
}
