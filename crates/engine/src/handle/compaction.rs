//! Methods for compaction and branch summaries.

use tiller_core::event::{CompactionChoice, CompactionReason, CompactionResult};
use tiller_core::unit::UnixMs;

use super::command::DriverCommand;
use super::{AgentError, AgentSession};
use crate::turn::AnnouncedRetry;

/// Summary of a branch that is left, for the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BranchSummary {
    /// No summary.
    #[default]
    None,
    /// This text.
    Text(String),
    /// Made by the model.
    Made {
        /// The user's instructions on its focus.
        instructions: Option<String>,
    },
}

/// A summary in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summarizing {
    /// Subject of the summary.
    pub of: SummaryOf,
    /// Start time.
    pub since: UnixMs,
    /// The latest retry of a failed request.
    pub retry: Option<AnnouncedRetry>,
    /// The error, if it failed and the user is asked what to do.
    pub failed: Option<String>,
}

/// Subject of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryOf {
    /// The older part of the context.
    Context(CompactionReason),
    /// A branch that is about to be left.
    Branch,
}

impl AgentSession {
    /// Replaces the older part of the context by a summary; `instructions` set its focus. During a run the summary
    /// is made in the background and appended at the end of the turn.
    ///
    /// Returns when it is in the log.
    ///
    /// # Errors
    /// When there is nothing to compact, when a compaction is in progress, or when it failed.
    pub async fn compact(&self, instructions: Option<String>) -> Result<CompactionResult, AgentError> {
        self.send(|reply| DriverCommand::Compact { instructions, reply }).await
    }

    /// Leaves the older part of the context out, without a summary and without a request.
    ///
    /// Returns when that is in the log.
    ///
    /// # Errors
    /// When there is nothing to leave out, or a summary is in progress.
    pub async fn truncate(&self) -> Result<CompactionResult, AgentError> {
        self.send(|reply| DriverCommand::Truncate { reply }).await
    }

    /// Stops the compaction in progress, or dismisses the question after a failed one.
    ///
    /// # Errors
    /// When there is none.
    pub async fn abort_compaction(&self) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::AbortCompaction { reply }).await
    }

    /// Answers [`CompactionFailed`](tiller_core::event::EventKind::CompactionFailed).
    ///
    /// # Errors
    /// When the question is no longer pending.
    pub async fn resolve_compaction(&self, choice: CompactionChoice) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::ResolveCompaction { choice, reply }).await
    }
}
