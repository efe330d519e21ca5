//! The entries of an index, packed in one vector.
//!
//! Memory per entry matters in long sessions: nearly all entries take 40 bytes and no separate allocation.

use std::collections::HashMap;

use tiller_core::id::EntryId;

use super::index_entry::IndexEntry;
use super::packed::{PackedEntry, PackedId};
use crate::entry_kind::EntryKind;
use crate::line_scan::LineRole;

/// All entries of a log in line order.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    packed: Vec<PackedEntry>,
    /// Entries that don't fit into the packed form, by position.
    unpacked: HashMap<usize, (EntryId, IndexEntry)>,
    /// Lines that aren't entries, in order.
    skipped: Vec<SkippedLines>,
}

/// The number of lines that aren't entries before the entry `from`, in total.
#[derive(Clone, Copy, Debug)]
struct SkippedLines {
    from: usize,
    lines: u64,
}

/// An id to look up.
pub(super) struct IdQuery<'a> {
    pub(super) id: &'a str,
    pub(super) packed: Option<PackedId>,
}

impl<'a> IdQuery<'a> {
    pub(super) fn new(id: &'a str) -> Self {
        Self { id, packed: PackedId::parse(id) }
    }

    pub(super) fn ulid(&self) -> Option<u128> {
        match self.packed? {
            PackedId::Ulid(number) => Some(number),
            PackedId::Short(_) => None,
        }
    }
}

impl Entries {
    pub(crate) fn len(&self) -> usize {
        self.packed.len()
    }

    pub(crate) fn at(&self, position: usize) -> Option<IndexEntry> {
        let packed = self.packed.get(position)?;
        if packed.is_placeholder() {
            return self.unpacked.get(&position).map(|(_, entry)| *entry);
        }
        let skipped = self.skipped.partition_point(|skipped| skipped.from <= position);
        let skipped = skipped.checked_sub(1).map_or(0, |at| self.skipped[at].lines);
        Some(packed.unpack(position as u64 + 1 + skipped))
    }

    pub(crate) fn kind_and_role(&self, position: usize) -> (EntryKind, Option<LineRole>) {
        match self.packed.get(position) {
            Some(packed) if !packed.is_placeholder() => packed.kind_and_role(),
            _ => self.at(position).map_or((EntryKind::Unknown, None), |entry| (entry.kind, entry.role)),
        }
    }

    pub(crate) fn id(&self, position: usize) -> Option<EntryId> {
        let packed = self.packed.get(position)?;
        if packed.is_placeholder() {
            return self.unpacked.get(&position).map(|(id, _)| id.clone());
        }
        Some(packed.packed_id().to_id())
    }

    /// Returns the packed id of the entry at a position, if it can be packed.
    pub(super) fn packed_id(&self, position: usize) -> Option<PackedId> {
        match self.packed.get(position)? {
            packed if packed.is_placeholder() => PackedId::parse(self.unpacked.get(&position)?.0.as_str()),
            packed => Some(packed.packed_id()),
        }
    }

    /// Returns the position of the parent of the entry at a position.
    pub(crate) fn parent(&self, position: usize) -> Option<usize> {
        let packed = self.packed.get(position)?;
        let parent = if packed.is_placeholder() { self.at(position)?.parent } else { packed.parent() };
        parent.map(|parent| parent as usize)
    }

    pub(crate) fn last(&self) -> Option<IndexEntry> {
        self.at(self.len().checked_sub(1)?)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = IndexEntry> + ExactSizeIterator {
        (0..self.len()).map(|position| self.at(position).expect("positions are without gaps"))
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = EntryId> {
        (0..self.len()).filter_map(|position| self.id(position))
    }

    /// The ULIDs among the ids, in no order.
    pub(super) fn ulids(&self) -> impl Iterator<Item = u128> {
        let unpacked = self.unpacked.values().filter_map(|(id, _)| match PackedId::parse(id.as_str())? {
            PackedId::Ulid(number) => Some(number),
            PackedId::Short(_) => None,
        });
        self.packed.iter().filter_map(PackedEntry::ulid).chain(unpacked)
    }

    /// Returns the id at a position, if it is a ULID and packed.
    pub(super) fn ulid(&self, position: usize) -> Option<u128> {
        self.packed.get(position)?.ulid()
    }

    /// Returns the position of a ULID among the first `count` ids, which must be ascending ULIDs.
    pub(super) fn find_ascending(&self, ulid: u128, count: usize) -> Option<usize> {
        self.packed[..count].binary_search_by(|entry| entry.ulid().cmp(&Some(ulid))).ok()
    }

    /// Returns true if the entry at a position has this id.
    pub(super) fn has_id(&self, position: usize, query: &IdQuery<'_>) -> bool {
        match self.packed.get(position) {
            Some(packed) if !packed.is_placeholder() => query.packed == Some(packed.packed_id()),
            Some(_) => self.unpacked.get(&position).is_some_and(|(id, _)| id.as_str() == query.id),
            None => false,
        }
    }

    pub(super) fn push(&mut self, id: &str, entry: IndexEntry) {
        let position = self.len();
        let skipped = entry.line.saturating_sub(position as u64 + 1);
        if self.skipped.last().map_or(0, |skipped| skipped.lines) != skipped {
            self.skipped.push(SkippedLines { from: position, lines: skipped });
        }
        let packed = PackedId::parse(id).and_then(|name| PackedEntry::pack(name, &entry));
        if packed.is_none() {
            self.unpacked.insert(position, (EntryId::new(id), entry));
        }
        self.packed.push(packed.unwrap_or(PackedEntry::UNPACKED));
    }
}

#[cfg(test)]
impl Entries {
    /// Returns the number of entries, and of records outside the packed vector.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.packed.len(), self.unpacked.len() + self.skipped.len().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::unit::UnixMs;

    use super::*;

    fn entry(line: u64, length: usize) -> IndexEntry {
        IndexEntry {
            parent: None,
            kind: EntryKind::Custom,
            role: None,
            timestamp: UnixMs(5),
            line,
            offset: line * 100,
            stored: line * 100,
            length,
        }
    }

    #[test]
    fn entries_packed_and_unpacked_round_trip() {
        let uuid = "0193b3a4-7f6e-7b1c-9a55-3c1f0e2d4b6a";
        let ids_and_entries = [
            ("7303e144", entry(2, 10)),
            (uuid, entry(3, 10)),
            ("01JD6X9Q00000000000000000A", entry(9, 20)),
            ("long", IndexEntry { parent: Some(2), ..entry(10, 6 << 32) }),
            ("elsewhere", IndexEntry { parent: Some(3), stored: 1, ..entry(17, 4) }),
            ("last", IndexEntry { parent: Some(4), ..entry(18, 4) }),
        ];
        let mut entries = Entries::default();
        ids_and_entries.iter().for_each(|(id, entry)| entries.push(id, *entry));
        assert_eq!(entries.iter().collect::<Vec<_>>(), ids_and_entries.map(|(_, entry)| entry));
        assert_eq!(
            entries.ids().map(|id| id.to_string()).collect::<Vec<_>>(),
            ids_and_entries.map(|(id, _)| id)
        );
        let parents: Vec<_> = (0..entries.len()).map(|at| entries.parent(at)).collect();
        assert_eq!(parents, [None, None, None, Some(2), Some(3), Some(4)]);
        for (at, (id, _)) in ids_and_entries.iter().enumerate() {
            let is = |(query_id, _): &(&str, IndexEntry)| entries.has_id(at, &IdQuery::new(query_id));
            assert_eq!(
                ids_and_entries.iter().filter(|pair| is(pair)).map(|pair| pair.0).collect::<Vec<_>>(),
                [*id]
            );
        }
        assert_eq!(entries.unpacked.len(), 3);
        assert_eq!((entries.at(6), entries.id(6), entries.parent(6)), (None, None, None));
    }
}
