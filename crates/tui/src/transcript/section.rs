//! Sections of the path, requests for them, and the newest one.

use tiller_core::id::EntryId;

use crate::log_blocks::{BlockBuilder, PathContext};
#[cfg(test)]
use tiller_session::Entry;
use tiller_session::Section;

#[cfg(test)]
use crate::transcript::chunk::ENTRIES;

/// A path whose newest entries are loaded.
#[derive(Debug, Default)]
pub(crate) struct LoadedPath {
    /// The sections before the loaded entries.
    pub(crate) older: Vec<Section>,
    /// The section of the newest entries; `None` if there are none.
    pub(crate) section: Option<Section>,
    /// Ids of the readable entries.
    pub(crate) ids: Vec<EntryId>,
    /// The blocks of the loaded entries.
    pub(crate) builder: BlockBuilder,
    /// The context of the blocks.
    pub(crate) context: PathContext,
}

#[cfg(test)]
impl LoadedPath {
    /// Creates a path from its entries and the ids of those before them.
    pub(crate) fn from_path(older: &[EntryId], entries: Vec<Entry>) -> Self {
        let section = |last: &EntryId, count| Section { last: last.clone(), count };
        Self {
            older: older.chunks(ENTRIES).map(|ids| section(&ids[ids.len() - 1], ids.len())).collect(),
            section: entries.last().map(|last| section(&last.id, entries.len())),
            ids: entries.iter().map(|entry| entry.id.clone()).collect(),
            builder: BlockBuilder::from_entries(&entries, &PathContext::default()),
            context: PathContext::default(),
        }
    }
}

/// A request to read a part of the path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SectionRequest {
    pub(crate) epoch: u64,
    pub(crate) part: usize,
    pub(crate) section: Section,
    /// The section after it, which may contain results of its calls.
    pub(crate) ahead: Option<Section>,
}

impl SectionRequest {
    pub(crate) fn part(&self) -> usize {
        self.part
    }
}

/// A section of the path to search.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PathSection {
    pub(crate) part: usize,
    pub(crate) section: Section,
}
