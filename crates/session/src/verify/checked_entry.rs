//! The data that the check keeps for an entry.

use tiller_core::id::{CallId, EntryId};

use super::findings::LineLocation;

/// The data kept for an entry.
#[derive(Debug)]
pub(super) struct CheckedEntry {
    pub(super) location: LineLocation,
    /// Position of the first entry with the same id, which represents the id.
    pub(super) first_with_id: usize,
    pub(super) parent: Option<usize>,
    pub(super) relation: EntryRelation,
}

/// Relation of an entry to others on its path.
#[derive(Debug)]
pub(super) enum EntryRelation {
    None,
    /// An answer with these calls; `needs_results` is false if they were never run.
    Calls {
        ids: Vec<CallId>,
        needs_results: bool,
    },
    /// The result of this call.
    Result(CallId),
    /// A compaction that keeps the entries starting with this one; `None` if that doesn't exist.
    Compaction(Option<usize>, EntryId),
}
