//! The summary in progress.

use serde::{Deserialize, Serialize};
use tiller_core::event::CompactionReason;
use tiller_core::unit::UnixMs;

use crate::turn::RetryAnnouncement;

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryInProgress {
    /// Subject of the summary.
    pub of: SummarySubject,
    /// Start time.
    pub since: UnixMs,
    /// The latest retry of a failed request.
    pub retry: Option<RetryAnnouncement>,
    /// The error, if it failed and the user is asked what to do.
    pub failed: Option<String>,
}

/// Subject of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SummarySubject {
    /// The older part of the context.
    Context(CompactionReason),
    /// A branch that is about to be left.
    Branch,
}
