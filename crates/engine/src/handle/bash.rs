//! The handle's word on commands of the user's own, `!` and `!!`.

use tiller_core::message::BashExecutionMessage;

use super::command::SessionCommand;
use super::prompt::BashContext;
use super::{AgentError, AgentSession};

impl AgentSession {
    /// Runs a command of the user's own.
    ///
    /// Returns once it is begun; what it prints comes as events.
    ///
    /// # Errors
    /// [`AgentError::BashRunning`] when one runs already; the log's error when its beginning could not be kept.
    pub async fn bash(&self, line: impl Into<String>, context: BashContext) -> Result<(), AgentError> {
        let line = line.into();
        self.ask(|reply| SessionCommand::Bash { line, context, reply }).await
    }

    /// As [`AgentSession::bash`], and returns its record when it is over, however it ended. While the agent works the record is
    /// in the log at the turn's end.
    ///
    /// # Errors
    /// As [`AgentSession::bash`].
    pub async fn execute_bash(
        &self,
        line: impl Into<String>,
        context: BashContext,
    ) -> Result<BashExecutionMessage, AgentError> {
        let line = line.into();
        self.ask(|reply| SessionCommand::ExecuteBash { line, context, reply }).await
    }

    /// Stops the user's own command with everything it started, and nothing else; what it printed is kept. Nothing happens if
    /// none runs.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn abort_bash(&self) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::AbortBash { reply }).await
    }
}
