//! The data that the verification keeps for each entry.

use tiller_core::id::{CallId, EntryId};

use super::findings::LineLocation;

/// The data of an entry for the checks of its relations.
#[derive(Debug)]
pub(super) struct CheckedEntry {
    pub(super) location: LineLocation,
    /// Position of the first entry with the same id.
    pub(super) first_with_id: usize,
    pub(super) parent: Option<usize>,
    pub(super) relation: EntryRelation,
}

/// An entry's relation to others on its path.
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
    /// A compaction that keeps the entries from this one on; `None` if that doesn't exist.
    Compaction(Option<usize>, EntryId),
}
