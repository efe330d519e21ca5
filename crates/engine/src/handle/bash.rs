//! Methods for the user's shell commands, `!` and `!!`.

use tiller_core::message::BashExecutionMessage;

use super::command::DriverCommand;
use super::prompt::BashContext;
use super::{AgentError, AgentSession};

impl AgentSession {
    /// Runs a shell command for the user.
    ///
    /// Returns once the command has started; its output arrives as events.
    ///
    /// # Errors
    /// [`AgentError::BashRunning`] if a command is already running; the log's error if the start could not be
    /// stored.
    pub async fn bash(&self, line: impl Into<String>, context: BashContext) -> Result<(), AgentError> {
        let line = line.into();
        self.send(|reply| DriverCommand::Bash { line, context, reply }).await
    }

    /// Runs a command like [`AgentSession::bash`], but returns its record when it has ended for any reason.
    /// During a run the record is appended at the end of the turn.
    ///
    /// # Errors
    /// Returns the same errors as [`AgentSession::bash`].
    pub async fn execute_bash(
        &self,
        line: impl Into<String>,
        context: BashContext,
    ) -> Result<BashExecutionMessage, AgentError> {
        let line = line.into();
        self.send(|reply| DriverCommand::ExecuteBash { line, context, reply }).await
    }

    /// Stops the user's shell command and all its processes, and stores its output. Does nothing if no
    /// command is running.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn abort_bash(&self) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::AbortBash { reply }).await
    }
}
