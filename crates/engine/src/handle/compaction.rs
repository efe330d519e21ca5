//! Methods for compaction and branch summaries.

use tiller_core::event::{CompactionChoice, CompactionResult};

use super::command::DriverCommand;
use super::{AgentError, AgentSession};

impl AgentSession {
    /// Replaces the older part of the context with a summary. `instructions` set the summary's focus. During
    /// a run the summary is created in the background and appended at the end of the turn.
    ///
    /// Returns when it is in the log.
    ///
    /// # Errors
    /// If there is nothing to compact, if a compaction is in progress, or if it failed.
    pub async fn compact(&self, instructions: Option<String>) -> Result<CompactionResult, AgentError> {
        self.send(|reply| DriverCommand::Compact { instructions, reply }).await
    }

    /// Removes the older part of the context, without a summary and without a request.
    ///
    /// Returns when the change is in the log.
    ///
    /// # Errors
    /// If there is nothing to remove, or a summary is in progress.
    pub async fn truncate(&self) -> Result<CompactionResult, AgentError> {
        self.send(|reply| DriverCommand::Truncate { reply }).await
    }

    /// Stops the compaction in progress, or dismisses the question after a failed compaction.
    ///
    /// # Errors
    /// If there is neither.
    pub async fn abort_compaction(&self) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::AbortCompaction { reply }).await
    }

    /// Answers [`CompactionFailed`](tiller_core::event::EventKind::CompactionFailed).
    ///
    /// # Errors
    /// If the question is no longer pending.
    pub async fn resolve_compaction(&self, choice: CompactionChoice) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::ResolveCompaction { choice, reply }).await
    }
}
