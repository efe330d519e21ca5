//! The map from ids to entries.
//!
//! tiller's ids are ascending ULIDs, found by binary search in the entries themselves. From the first entry
//! that breaks the order on, positions are in a hash table.

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use tiller_core::id::EntryId;

use super::entries::{Entries, IdQuery};

/// Positions by id; for duplicate ids the last entry's.
#[derive(Debug, Default)]
pub(super) struct IdMap {
    /// Number of entries at the start whose ids are ascending ULIDs.
    ascending: usize,
    /// Positions of the other entries.
    unsorted: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl IdMap {
    pub(super) fn find(&self, entries: &Entries, id: &str) -> Option<usize> {
        let query = IdQuery::new(id);
        let other = || {
            let is = |position: &u32| entries.has_id(*position as usize, &query);
            self.unsorted.find(hash(&self.hasher, &query), is).map(|position| *position as usize)
        };
        // The table may have a later entry with the same id.
        if self.unsorted.is_empty() { None } else { other() }.or_else(|| self.find_ascending(entries, &query))
    }

    fn find_ascending(&self, entries: &Entries, query: &IdQuery<'_>) -> Option<usize> {
        entries.find_ascending(query.ulid()?, self.ascending)
    }

    /// Maps `id` to the newest entry; returns true if it was mapped to another one.
    pub(super) fn insert(&mut self, entries: &Entries, position: u32, id: &str) -> bool {
        let at = position as usize;
        let before = at.checked_sub(1).and_then(|before| entries.ulid(before));
        if self.ascending == at && entries.ulid(at).is_some_and(|ulid| Some(ulid) > before) {
            self.ascending += 1;
            return false;
        }
        let query = IdQuery::new(id);
        let Self { unsorted, hasher, .. } = self;
        let is = |other: &u32| entries.has_id(*other as usize, &query);
        let hash_at = |other: &u32| match entries.packed_id(*other as usize) {
            Some(name) => hasher.hash_one(name),
            None => hasher.hash_one(entries.id(*other as usize).as_ref().map_or("", EntryId::as_str)),
        };
        match unsorted.entry(hash(hasher, &query), is, hash_at) {
            Entry::Occupied(mut other) => {
                *other.get_mut() = position;
                true
            }
            Entry::Vacant(free) => {
                free.insert(position);
                self.find_ascending(entries, &query).is_some()
            }
        }
    }
}

#[cfg(test)]
impl IdMap {
    /// Returns true if the table is empty.
    pub(super) fn is_in_order(&self) -> bool {
        self.unsorted.is_empty()
    }
}

/// Hash of an id, the same whether its entry is packed or not.
fn hash(hasher: &DefaultHashBuilder, query: &IdQuery<'_>) -> u64 {
    match query.packed {
        Some(name) => hasher.hash_one(name),
        None => hasher.hash_one(query.id),
    }
}
