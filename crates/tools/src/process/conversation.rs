//! Programs that tiller talks with: started through the helper, so that none outlives tiller either.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::report::Report;
use super::{Exit, ProcessError, Runner, helper};

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
pub struct Conversation {
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it says.
    pub stdout: ChildStdout,
    /// What it complains of, and at the very end how it ended: see [`Conversation::end`].
    pub stderr: ChildStderr,
    /// Waited for by the runtime when dropped.
    pub helper: Child,
}

impl Runner {
    /// Starts a program to talk with. Call it within a tokio runtime.
    ///
    /// # Errors
    /// When the folder is missing or the helper can't be started. That the program itself can't be is told at its end.
    pub fn converse(&self, program: &Program) -> Result<Conversation, ProcessError> {
        if !program.cwd.is_dir() {
            return Err(ProcessError::NoFolder { path: program.cwd.clone() });
        }
        let mut command = tokio::process::Command::new(&self.launcher.program);
        command.arg(helper::NAME).arg(helper::CONVERSE).arg(&program.path).current_dir(&program.cwd);
        for name in &program.withheld {
            command.env_remove(name);
        }
        command.envs(program.variables.iter().map(|(name, value)| (name, value)));
        let mut helper = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| ProcessError::Start { helper: self.launcher.program.clone(), source })?;
        Ok(Conversation {
            stdin: helper.stdin.take().expect("stdin is piped"),
            stdout: helper.stdout.take().expect("stdout is piped"),
            stderr: helper.stderr.take().expect("stderr is piped"),
            helper,
        })
    }
}

impl Conversation {
    /// How the program ended, from the last line that came on `stderr`, without its newline.
    ///
    /// # Errors
    /// When it could not be started, or the helper was killed.
    pub fn end(last_line: &str) -> Result<Exit, ProcessError> {
        match Report::parse(&format!("{last_line}\n")) {
            Some(Report::Ended(exit)) => Ok(exit),
            Some(Report::Failed(reason)) => Err(ProcessError::Shell { reason }),
            None => Err(ProcessError::Lost),
        }
    }
}
