//! The handle's word on summaries: of the older part of the context, and of a branch that is left.

use tiller_core::event::{CompactionChoice, CompactionReason, CompactionResult};
use tiller_core::unit::UnixMs;

use super::command::SessionCommand;
use super::{AgentError, AgentSession};
use crate::turn::AnnouncedRetry;

/// What the model is told of a branch that is left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BranchSummary {
    /// Nothing.
    #[default]
    None,
    /// This.
    Text(String),
    /// What a model says of it.
    Made {
        /// What matters in it, in the user's words.
        instructions: Option<String>,
    },
}

/// A summary at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summarizing {
    /// What is summed up.
    pub of: SummaryOf,
    /// Since when.
    pub since: UnixMs,
    /// The try that a failed request waits for, or waited for.
    pub retry: Option<AnnouncedRetry>,
    /// Why it could not be made; somebody is to say what now.
    pub failed: Option<String>,
}

/// What is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryOf {
    /// The older part of the context.
    Context(CompactionReason),
    /// A branch that is about to be left.
    Branch,
}

impl AgentSession {
    /// Puts a summary in the place of the older part of the context; `instructions` say what matters in it. While the agent works
    /// the summary is made beside it and takes its place at the end of the turn.
    ///
    /// Answers when it is in the log.
    ///
    /// # Errors
    /// When there is nothing to compact, when one is being made already, or when none could be made.
    pub async fn compact(&self, instructions: Option<String>) -> Result<CompactionResult, AgentError> {
        self.ask(|reply| SessionCommand::Compact { instructions, reply }).await
    }

    /// Leaves the older part of the context out, without a summary; no model is asked.
    ///
    /// Answers when that is in the log.
    ///
    /// # Errors
    /// When there is nothing to leave out, or a summary is being made.
    pub async fn truncate(&self) -> Result<CompactionResult, AgentError> {
        self.ask(|reply| SessionCommand::Truncate { reply }).await
    }

    /// Stops the summary of the context that is being made, or the question that waits because none could be made.
    ///
    /// # Errors
    /// When there is none.
    pub async fn abort_compaction(&self) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::AbortCompaction { reply }).await
    }

    /// Says what to do after [`CompactionFailed`](tiller_core::event::EventKind::CompactionFailed).
    ///
    /// # Errors
    /// When nobody asks any more.
    pub async fn resolve_compaction(&self, choice: CompactionChoice) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::ResolveCompaction { choice, reply }).await
    }
}
