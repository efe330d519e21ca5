//! Child programs with piped stdio, such as extensions. The supervisor starts them, so that none outlives
//! tiller.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::exit_report::ExitReport;
use super::{Exit, ProcessError, Runner, supervisor};

/// A program to start with piped stdio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The executable: an absolute path, or a name on `PATH`.
    pub path: PathBuf,
    /// The program's arguments.
    pub arguments: Vec<String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// Names of environment variables that are removed because they hold secrets.
    pub withheld: Vec<String>,
    /// Additional environment variables.
    pub variables: Vec<(String, String)>,
}

/// A running program. When `stdin` is dropped, the program has 500 ms to end; then it is killed with all its
/// descendants.
#[derive(Debug)]
pub struct PipedChild {
    /// The program's stdin.
    pub stdin: ChildStdin,
    /// The program's stdout.
    pub stdout: ChildStdout,
    /// The program's stderr, followed by one line that describes its end: see [`PipedChild::end`].
    pub stderr: ChildStderr,
    /// The supervisor's process; tokio reaps it if it is dropped.
    pub supervisor: Child,
}

impl Runner {
    /// Starts a program with piped stdio. Call it within a tokio runtime.
    ///
    /// # Errors
    /// If the directory is missing or the supervisor can't be started. If the program itself can't be
    /// started, its end reports that.
    pub fn start_piped(&self, program: &Program) -> Result<PipedChild, ProcessError> {
        if !program.cwd.is_dir() {
            return Err(ProcessError::NoDir { path: program.cwd.clone() });
        }
        let mut command = tokio::process::Command::new(&self.launcher.program);
        command.arg(supervisor::NAME).arg(supervisor::CONVERSE).args(self.sandbox_words());
        command.arg(&program.path).args(&program.arguments).current_dir(&program.cwd);
        for name in &program.withheld {
            command.env_remove(name);
        }
        command.envs(program.variables.iter().map(|(name, value)| (name, value)));
        let mut supervisor = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| ProcessError::Start { program: self.launcher.program.clone(), source })?;
        Ok(PipedChild {
            stdin: supervisor.stdin.take().expect("stdin is piped"),
            stdout: supervisor.stdout.take().expect("stdout is piped"),
            stderr: supervisor.stderr.take().expect("stderr is piped"),
            supervisor,
        })
    }
}

impl PipedChild {
    /// Parses the program's end from the last line of `stderr`, without its newline.
    ///
    /// # Errors
    /// If the program could not be started, or the supervisor was killed.
    pub fn end(last_line: &str) -> Result<Exit, ProcessError> {
        match ExitReport::parse(&format!("{last_line}\n")) {
            Some(ExitReport::Ended(exit)) => Ok(exit),
            Some(ExitReport::Failed(reason)) => Err(ProcessError::Shell { reason }),
            None => Err(ProcessError::Lost),
        }
    }
}
