//! Paths in sections, for callers that can't hold all ids of a path.

use tiller_core::id::EntryId;

use super::Reader;
use crate::error::SessionError;

/// A section of a path, identified by its last entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The last entry.
    pub last: EntryId,
    /// The number of entries; at least 1.
    pub count: usize,
}

impl Reader {
    /// Divides the path from the root to `leaf` into sections of `size` entries; the last one may have fewer.
    ///
    /// # Errors
    /// If there is no entry `leaf`.
    pub fn sections(&self, leaf: &EntryId, size: usize) -> Result<Vec<Section>, SessionError> {
        let (index, size) = (self.shared.index(), size.max(1));
        let leaf = index.position_of(leaf)?;
        let mut end = index.ancestry(leaf).count();
        let mut sections = Vec::with_capacity(end.div_ceil(size));
        let mut ancestry = index.ancestry(leaf);
        while let Some(last) = ancestry.next().and_then(|at| index.entries().id(at)) {
            let count = (end - 1) % size + 1;
            sections.push(Section { last, count });
            end -= count;
            if count > 1 {
                ancestry.nth(count - 2);
            }
        }
        sections.reverse();
        Ok(sections)
    }

    /// Returns the ids of a section, oldest first.
    ///
    /// # Errors
    /// If its last entry no longer exists.
    pub fn ids(&self, section: &Section) -> Result<Vec<EntryId>, SessionError> {
        let index = self.shared.index();
        let last = index.position_of(&section.last)?;
        let ids = index.ancestry(last).take(section.count).filter_map(|at| index.entries().id(at));
        let mut ids: Vec<EntryId> = ids.collect();
        ids.reverse();
        Ok(ids)
    }
}
