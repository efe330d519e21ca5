//! What the index knows of one entry in 40 bytes, as far as it fits. What doesn't is kept whole, beside: see [`super::entries`].

use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;
use ulid::{ULID_LEN, Ulid};

use super::{EntryKind, Indexed};
use crate::line_scan::LineRole;

/// Bytes of an id that is no ULID and yet is packed: eight hex digits are the usual.
const SHORT: usize = 15;

/// Bits beside the moment; 56 are left for that, which is a million years either way.
const MARKS: u32 = 8;

/// The parent of an entry that has none.
const NO_PARENT: u32 = u32::MAX;

/// The length of an entry that isn't packed.
const APART: u32 = u32::MAX;

/// An id in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    /// A ULID as tiller writes them.
    Ulid(u128),
    /// Another text of up to 15 bytes, with its length before it.
    Short([u8; SHORT + 1]),
}

impl Name {
    /// The id's name, if it has one: every id has at most one, and no two have the same.
    pub(super) fn of(id: &str) -> Option<Self> {
        let mut bytes = [0; SHORT + 1];
        if let (Some(room), Ok(length)) = (bytes[1..].get_mut(..id.len()), u8::try_from(id.len())) {
            room.copy_from_slice(id.as_bytes());
            bytes[0] = length;
            return Some(Self::Short(bytes));
        }
        let ulid = Ulid::from_string(id).ok()?;
        // Small letters, and some that look like digits, are read too.
        (ulid.array_to_str(&mut [0; ULID_LEN]) == id).then_some(Self::Ulid(ulid.0))
    }

    pub(super) fn id(self) -> EntryId {
        match self {
            Self::Ulid(number) => EntryId::new(Ulid(number).array_to_str(&mut [0; ULID_LEN])),
            Self::Short([length, text @ ..]) => {
                let text = &text[..usize::from(length)];
                EntryId::new(str::from_utf8(text).expect("it was made of a text"))
            }
        }
    }
}

/// An entry whose log was written by tiller, or in its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed {
    /// The halves of the name: a `u128` would be aligned to 16 bytes.
    name: [u64; 2],
    offset: u64,
    /// Milliseconds, and in the last bits what kind of entry, who speaks, and what kind of name.
    moment: i64,
    parent: u32,
    length: u32,
}

impl Packed {
    /// Stands where an entry is that didn't fit.
    pub(super) const APART: Self =
        Self { name: [0; 2], offset: 0, moment: 0, parent: NO_PARENT, length: APART };

    /// Packs an entry; `None` if it doesn't fit. Its line is not in it.
    pub(super) fn of(name: Name, entry: &Indexed) -> Option<Self> {
        let moment = entry.timestamp.0 << MARKS;
        let fits = moment >> MARKS == entry.timestamp.0 && entry.stored == entry.offset;
        let length = u32::try_from(entry.length).ok().filter(|length| fits && *length != APART)?;
        let (number, is_ulid) = match name {
            Name::Ulid(number) => (number, 1),
            Name::Short(bytes) => (u128::from_be_bytes(bytes), 0),
        };
        let role = entry.role.map_or(0, |role| role as i64 + 1);
        Some(Self {
            name: [(number >> 64) as u64, number as u64],
            offset: entry.offset,
            moment: moment | (entry.kind as i64) << 4 | role << 1 | is_ulid,
            parent: entry.parent.unwrap_or(NO_PARENT),
            length,
        })
    }

    pub(super) fn is_apart(&self) -> bool {
        self.length == APART
    }

    /// The entry, whose line is `line`.
    pub(super) fn unpacked(&self, line: u64) -> Indexed {
        let (kind, role) = self.speaker();
        Indexed {
            parent: self.parent(),
            kind,
            role,
            timestamp: UnixMs(self.moment >> MARKS),
            line,
            offset: self.offset,
            stored: self.offset,
            length: self.length as usize,
        }
    }

    /// What kind of entry, and who speaks.
    pub(super) fn speaker(&self) -> (EntryKind, Option<LineRole>) {
        let role = (self.moment >> 1 & 0x7) as usize;
        let role = role.checked_sub(1).and_then(|role| LineRole::ALL.get(role)).copied();
        (EntryKind::ALL[(self.moment >> 4 & 0xf) as usize], role)
    }

    pub(super) fn parent(&self) -> Option<u32> {
        (self.parent != NO_PARENT).then_some(self.parent)
    }

    pub(super) fn name(&self) -> Name {
        self.ulid().map_or_else(|| Name::Short(self.number().to_be_bytes()), Name::Ulid)
    }

    /// The id, if it is a ULID.
    pub(super) fn ulid(&self) -> Option<u128> {
        (self.moment & 1 == 1).then(|| self.number())
    }

    fn number(&self) -> u128 {
        u128::from(self.name[0]) << 64 | u128::from(self.name[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Indexed {
        Indexed {
            parent: None,
            kind: EntryKind::Message,
            role: Some(LineRole::User),
            timestamp: UnixMs(1_795_231_018_249),
            line: 7,
            offset: 1 << 60,
            stored: 1 << 60,
            length: 12,
        }
    }

    fn again(entry: &Indexed) -> Option<Indexed> {
        Some(Packed::of(Name::of("7303e144")?, entry)?.unpacked(entry.line))
    }

    #[test]
    fn an_entry_is_the_same_when_it_was_packed() {
        let roles = LineRole::ALL.into_iter().map(Some).chain([None]);
        for (kind, role) in
            EntryKind::ALL.into_iter().flat_map(|kind| roles.clone().map(move |role| (kind, role)))
        {
            let entry = Indexed { kind, role, ..entry() };
            assert_eq!(again(&entry), Some(entry));
        }
        for parent in [0, 1, u32::MAX - 1] {
            let entry = Indexed { parent: Some(parent), ..entry() };
            assert_eq!(again(&entry), Some(entry));
        }
        for moment in ["-009999-01-02T01:59:59.999Z", "1969-12-31T23:59:59.999Z", "9999-12-30T22:00:00.999Z"]
        {
            let timestamp = UnixMs::from_iso(moment).unwrap();
            let entry = Indexed { timestamp, ..entry() };
            assert_eq!(again(&entry), Some(entry), "{moment}");
        }
        assert_eq!(size_of::<Packed>(), 40);
    }

    #[test]
    fn what_does_not_fit_is_not_packed() {
        let longest = u32::MAX as usize - 1;
        assert!(again(&Indexed { length: longest, ..entry() }).is_some());
        let odd = [
            Indexed { length: longest + 1, ..entry() },
            Indexed { length: 5 << 32, ..entry() },
            Indexed { stored: 3, ..entry() },
            Indexed { timestamp: UnixMs(i64::MAX), ..entry() },
            Indexed { timestamp: UnixMs(i64::MIN), ..entry() },
        ];
        for entry in odd {
            assert_eq!(again(&entry), None);
        }
    }

    #[test]
    fn an_id_has_one_name_or_none() {
        let ulids = ["01JD6X9QWERTY0000000000000".replace(['W', 'Y'], "7"), "7".to_owned() + &"Z".repeat(25)];
        for id in ulids.iter().map(String::as_str) {
            let name = Name::of(id).unwrap();
            assert!(matches!(name, Name::Ulid(_)), "{id}");
            assert_eq!(name.id().as_str(), id);
        }
        for id in ["", "a", "7303e144", "fünfzehn bytes"] {
            let name = Name::of(id).unwrap();
            assert!(matches!(name, Name::Short(_)), "{id}");
            assert_eq!(name.id().as_str(), id);
        }
        let others =
            ["8".to_owned() + &"Z".repeat(25), ulids[0].to_lowercase(), "sixteen bytes it".to_owned()];
        for id in others {
            assert_eq!(Name::of(&id), None, "{id}");
        }
        assert_ne!(Name::of("a"), Name::of("a\0"));
    }
}
