//! Which entry an id means.
//!
//! Tiller's ids are ULIDs that ascend, and are found where they stand, by halving. From the first entry on that breaks the order the
//! rest have a table, of positions alone.

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use tiller_core::id::EntryId;

use super::entries::{Entries, Wanted};

/// Positions by id; of entries with the same id the last one's.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The ids of so many entries at the beginning are ULIDs, each greater than the one before.
    ascending: usize,
    /// Positions of the others.
    others: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Names {
    pub(super) fn find(&self, entries: &Entries, id: &str) -> Option<usize> {
        let wanted = Wanted::of(id);
        let other = || {
            let is = |position: &u32| entries.is(*position as usize, &wanted);
            self.others.find(hash(&self.hasher, &wanted), is).map(|position| *position as usize)
        };
        // A later entry of the same id is among the others.
        if self.others.is_empty() { None } else { other() }.or_else(|| self.find_ascending(entries, &wanted))
    }

    fn find_ascending(&self, entries: &Entries, wanted: &Wanted<'_>) -> Option<usize> {
        entries.find_ascending(wanted.ulid()?, self.ascending)
    }

    /// Lets the id of the newest entry, which is `id`, mean that one; answers whether it meant another.
    pub(super) fn take(&mut self, entries: &Entries, position: u32, id: &str) -> bool {
        let at = position as usize;
        let before = at.checked_sub(1).and_then(|before| entries.ulid(before));
        if self.ascending == at && entries.ulid(at).is_some_and(|ulid| Some(ulid) > before) {
            self.ascending += 1;
            return false;
        }
        let wanted = Wanted::of(id);
        let Self { others, hasher, .. } = self;
        let is = |other: &u32| entries.is(*other as usize, &wanted);
        let hash_at = |other: &u32| match entries.name(*other as usize) {
            Some(name) => hasher.hash_one(name),
            None => hasher.hash_one(entries.id(*other as usize).as_ref().map_or("", EntryId::as_str)),
        };
        match others.entry(hash(hasher, &wanted), is, hash_at) {
            Entry::Occupied(mut other) => {
                *other.get_mut() = position;
                true
            }
            Entry::Vacant(free) => {
                free.insert(position);
                self.find_ascending(entries, &wanted).is_some()
            }
        }
    }
}

#[cfg(test)]
impl Names {
    /// Whether all ids are found where they stand.
    pub(super) fn is_in_order(&self) -> bool {
        self.others.is_empty()
    }
}

/// The same for every entry of this id, whether it is packed or not.
fn hash(hasher: &DefaultHashBuilder, wanted: &Wanted<'_>) -> u64 {
    match wanted.name {
        Some(name) => hasher.hash_one(name),
        None => hasher.hash_one(wanted.id),
    }
}
