//! A change to another session or entry.

use std::path::PathBuf;

use tiller_core::id::EntryId;
use tiller_engine::BranchSummary;

/// A change to another session or entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Navigate {
    New,
    Open(PathBuf),
    Fork(EntryId),
    /// Starts a new session with all entries of the session at this path.
    ForkOf(PathBuf),
    /// Creates a session with the path up to this entry, without switching to it.
    ForkBeside(EntryId),
    /// Starts a new session with the path of the current one.
    Clone,
    /// Goes to this entry, after asking how to summarize the abandoned branch, if there is one.
    AskForSummary(EntryId),
    ToEntry(EntryId, BranchSummary),
}
