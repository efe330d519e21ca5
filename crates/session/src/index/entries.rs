//! The entries of an index, packed, one after the other.
//!
//! Of a long session everything that is kept for each entry counts: nearly all of them take 40 bytes, and none an allocation of its own.

use std::collections::HashMap;

use tiller_core::id::EntryId;

use super::packed::{Name, Packed};
use super::{EntryKind, Indexed};
use crate::line_scan::LineRole;

/// All entries of a log in the order of their lines.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    packed: Vec<Packed>,
    /// Those that are not packed, by their positions.
    apart: HashMap<usize, (EntryId, Indexed)>,
    /// Where lines stand that are no entries.
    passed: Vec<Passed>,
}

/// From some entry on so many lines before an entry are no entries.
#[derive(Clone, Copy, Debug)]
struct Passed {
    from: usize,
    lines: u64,
}

/// An id that is looked for.
pub(super) struct Wanted<'a> {
    pub(super) id: &'a str,
    pub(super) name: Option<Name>,
}

impl<'a> Wanted<'a> {
    pub(super) fn of(id: &'a str) -> Self {
        Self { id, name: Name::of(id) }
    }

    pub(super) fn ulid(&self) -> Option<u128> {
        match self.name? {
            Name::Ulid(number) => Some(number),
            Name::Short(_) => None,
        }
    }
}

impl Entries {
    pub(crate) fn len(&self) -> usize {
        self.packed.len()
    }

    /// The entry at a position.
    pub(crate) fn at(&self, position: usize) -> Option<Indexed> {
        let packed = self.packed.get(position)?;
        if packed.is_apart() {
            return self.apart.get(&position).map(|(_, entry)| *entry);
        }
        let passed = self.passed.partition_point(|passed| passed.from <= position);
        let passed = passed.checked_sub(1).map_or(0, |at| self.passed[at].lines);
        Some(packed.unpacked(position as u64 + 1 + passed))
    }

    /// What kind of entry is at a position, and who speaks.
    pub(crate) fn speaker(&self, position: usize) -> (EntryKind, Option<LineRole>) {
        match self.packed.get(position) {
            Some(packed) if !packed.is_apart() => packed.speaker(),
            _ => self.at(position).map_or((EntryKind::Unknown, None), |entry| (entry.kind, entry.role)),
        }
    }

    /// The id of the entry at a position.
    pub(crate) fn id(&self, position: usize) -> Option<EntryId> {
        let packed = self.packed.get(position)?;
        if packed.is_apart() {
            return self.apart.get(&position).map(|(id, _)| id.clone());
        }
        Some(packed.name().id())
    }

    /// The name of the id at a position, if it has one.
    pub(super) fn name(&self, position: usize) -> Option<Name> {
        match self.packed.get(position)? {
            packed if packed.is_apart() => Name::of(self.apart.get(&position)?.0.as_str()),
            packed => Some(packed.name()),
        }
    }

    /// Position of the entry that the one at a position follows.
    pub(crate) fn parent(&self, position: usize) -> Option<usize> {
        let packed = self.packed.get(position)?;
        let parent = if packed.is_apart() { self.at(position)?.parent } else { packed.parent() };
        parent.map(|parent| parent as usize)
    }

    pub(crate) fn last(&self) -> Option<Indexed> {
        self.at(self.len().checked_sub(1)?)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Indexed> + ExactSizeIterator {
        (0..self.len()).map(|position| self.at(position).expect("positions are without gaps"))
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = EntryId> {
        (0..self.len()).filter_map(|position| self.id(position))
    }

    /// The ULIDs among the ids, in no order.
    pub(super) fn ulids(&self) -> impl Iterator<Item = u128> {
        let apart = self.apart.values().filter_map(|(id, _)| match Name::of(id.as_str())? {
            Name::Ulid(number) => Some(number),
            Name::Short(_) => None,
        });
        self.packed.iter().filter_map(Packed::ulid).chain(apart)
    }

    /// The id at a position, if it is a ULID and packed.
    pub(super) fn ulid(&self, position: usize) -> Option<u128> {
        self.packed.get(position)?.ulid()
    }

    /// The position of a ULID among the first `count` ids, if those are ULIDs and ascend.
    pub(super) fn find_ascending(&self, ulid: u128, count: usize) -> Option<usize> {
        self.packed[..count].binary_search_by(|entry| entry.ulid().cmp(&Some(ulid))).ok()
    }

    /// Whether the entry at a position has this id.
    pub(super) fn is(&self, position: usize, wanted: &Wanted<'_>) -> bool {
        match self.packed.get(position) {
            Some(packed) if !packed.is_apart() => wanted.name == Some(packed.name()),
            Some(_) => self.apart.get(&position).is_some_and(|(id, _)| id.as_str() == wanted.id),
            None => false,
        }
    }

    pub(super) fn push(&mut self, id: &str, entry: Indexed) {
        let position = self.len();
        let passed = entry.line.saturating_sub(position as u64 + 1);
        if self.passed.last().map_or(0, |passed| passed.lines) != passed {
            self.passed.push(Passed { from: position, lines: passed });
        }
        let packed = Name::of(id).and_then(|name| Packed::of(name, &entry));
        if packed.is_none() {
            self.apart.insert(position, (EntryId::new(id), entry));
        }
        self.packed.push(packed.unwrap_or(Packed::APART));
    }
}

#[cfg(test)]
impl Entries {
    /// How many are kept, and how many of them apart or behind lines that are none.
    pub(super) fn kept(&self) -> (usize, usize) {
        (self.packed.len(), self.apart.len() + self.passed.len().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::unit::UnixMs;

    use super::*;

    fn entry(line: u64, length: usize) -> Indexed {
        Indexed {
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
    fn entries_are_what_they_were_whether_they_are_packed_or_not() {
        let uuid = "0193b3a4-7f6e-7b1c-9a55-3c1f0e2d4b6a";
        let taken = [
            ("7303e144", entry(2, 10)),
            (uuid, entry(3, 10)),
            ("01JD6X9Q00000000000000000A", entry(9, 20)),
            ("long", Indexed { parent: Some(2), ..entry(10, 6 << 32) }),
            ("elsewhere", Indexed { parent: Some(3), stored: 1, ..entry(17, 4) }),
            ("last", Indexed { parent: Some(4), ..entry(18, 4) }),
        ];
        let mut entries = Entries::default();
        taken.iter().for_each(|(id, entry)| entries.push(id, *entry));
        assert_eq!(entries.iter().collect::<Vec<_>>(), taken.map(|(_, entry)| entry));
        assert_eq!(entries.ids().map(|id| id.to_string()).collect::<Vec<_>>(), taken.map(|(id, _)| id));
        let parents: Vec<_> = (0..entries.len()).map(|at| entries.parent(at)).collect();
        assert_eq!(parents, [None, None, None, Some(2), Some(3), Some(4)]);
        for (at, (id, _)) in taken.iter().enumerate() {
            let is = |(other, _): &(&str, Indexed)| entries.is(at, &Wanted::of(other));
            assert_eq!(taken.iter().filter(|one| is(one)).map(|one| one.0).collect::<Vec<_>>(), [*id]);
        }
        assert_eq!(entries.apart.len(), 3);
        assert_eq!((entries.at(6), entries.id(6), entries.parent(6)), (None, None, None));
    }
}
