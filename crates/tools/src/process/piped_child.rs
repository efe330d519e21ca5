//! Programs that tiller talks with: started through the supervisor, so that none outlives tiller either.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::exit_report::ExitReport;
use super::{Exit, ProcessError, Runner, supervisor};

/// A program to talk with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The executable; absolute.
    pub path: PathBuf,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Names of environment variables that it doesn't get: secrets.
    pub withheld: Vec<String>,
    /// Environment variables that it gets besides tiller's own.
    pub variables: Vec<(String, String)>,
}

/// A program at work. When `stdin` is dropped it has a moment to end by itself; then it is killed with everything it started.
#[derive(Debug)]
pub struct PipedChild {
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it says.
    pub stdout: ChildStdout,
    /// What it complains of, and at the very end how it ended: see [`Conversation::end`].
    pub stderr: ChildStderr,
    /// Waited for by the runtime when dropped.
    pub supervisor: Child,
}

impl Runner {
    /// Starts a program to talk with. Call it within a tokio runtime.
    ///
    /// # Errors
    /// When the folder is missing or the supervisor can't be started. That the program itself can't be is told at its end.
    pub fn converse(&self, program: &Program) -> Result<PipedChild, ProcessError> {
        if !program.cwd.is_dir() {
            return Err(ProcessError::NoFolder { path: program.cwd.clone() });
        }
        let mut command = tokio::process::Command::new(&self.launcher.program);
        command.arg(supervisor::NAME).arg(supervisor::CONVERSE).arg(&program.path).current_dir(&program.cwd);
        for name in &program.withheld {
            command.env_remove(name);
        }
        command.envs(program.variables.iter().map(|(name, value)| (name, value)));
        let mut supervisor = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| ProcessError::Start { helper: self.launcher.program.clone(), source })?;
        Ok(PipedChild {
            stdin: supervisor.stdin.take().expect("stdin is piped"),
            stdout: supervisor.stdout.take().expect("stdout is piped"),
            stderr: supervisor.stderr.take().expect("stderr is piped"),
            supervisor,
        })
    }
}

impl PipedChild {
    /// How the program ended, from the last line that came on `stderr`, without its newline.
    ///
    /// # Errors
    /// When it could not be started, or the supervisor was killed.
    pub fn end(last_line: &str) -> Result<Exit, ProcessError> {
        match ExitReport::parse(&format!("{last_line}\n")) {
            Some(ExitReport::Ended(exit)) => Ok(exit),
            Some(ExitReport::Failed(reason)) => Err(ProcessError::Shell { reason }),
            None => Err(ProcessError::Lost),
        }
    }
}
