//! An index entry packed into 40 bytes. Entries that don't fit are stored unpacked: see [`super::entries`].

use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;
use ulid::{ULID_LEN, Ulid};

use super::index_entry::IndexEntry;
use crate::entry_kind::EntryKind;
use crate::line_scan::LineRole;

/// Maximum bytes of a packed id that isn't a ULID; eight hex digits are common.
const MAX_SHORT_ID: usize = 15;

/// Number of bits for flags. The other 56 are enough for a million years before and after 1970.
const FLAG_BITS: u32 = 8;

/// Marks an entry without a parent.
const NO_PARENT: u32 = u32::MAX;

/// Length that marks the placeholder of an unpacked entry.
const UNPACKED: u32 = u32::MAX;

/// An id in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PackedId {
    /// A ULID as tiller writes them.
    Ulid(u128),
    /// Another string of up to 15 bytes, preceded by its length.
    Short([u8; MAX_SHORT_ID + 1]),
}

impl PackedId {
    /// Packs an id if it fits. Different ids have different packed forms.
    pub(super) fn parse(id: &str) -> Option<Self> {
        let mut bytes = [0; MAX_SHORT_ID + 1];
        if let (Some(room), Ok(length)) = (bytes[1..].get_mut(..id.len()), u8::try_from(id.len())) {
            room.copy_from_slice(id.as_bytes());
            bytes[0] = length;
            return Some(Self::Short(bytes));
        }
        let ulid = Ulid::from_string(id).ok()?;
        // The parser accepts lowercase letters and look-alikes of digits, which wouldn't round-trip.
        (ulid.array_to_str(&mut [0; ULID_LEN]) == id).then_some(Self::Ulid(ulid.0))
    }

    pub(super) fn to_id(self) -> EntryId {
        match self {
            Self::Ulid(number) => EntryId::new(Ulid(number).array_to_str(&mut [0; ULID_LEN])),
            Self::Short([length, text @ ..]) => {
                let text = &text[..usize::from(length)];
                EntryId::new(str::from_utf8(text).expect("it was made of a string"))
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PackedEntry {
    /// The halves of the id; a `u128` would require an alignment of 16 bytes.
    id_halves: [u64; 2],
    offset: u64,
    /// Milliseconds in the high bits; in the low bits the kind of entry, the role, and the kind of id.
    timestamp_and_flags: i64,
    parent: u32,
    length: u32,
}

impl PackedEntry {
    /// The placeholder of an unpacked entry.
    pub(super) const UNPACKED: Self =
        Self { id_halves: [0; 2], offset: 0, timestamp_and_flags: 0, parent: NO_PARENT, length: UNPACKED };

    /// Packs an entry without its line number; `None` if it doesn't fit.
    pub(super) fn pack(name: PackedId, entry: &IndexEntry) -> Option<Self> {
        let timestamp = entry.timestamp.0 << FLAG_BITS;
        let is_packable = timestamp >> FLAG_BITS == entry.timestamp.0 && entry.stored == entry.offset;
        let length = u32::try_from(entry.length).ok().filter(|length| is_packable && *length != UNPACKED)?;
        let (number, is_ulid) = match name {
            PackedId::Ulid(number) => (number, 1),
            PackedId::Short(bytes) => (u128::from_be_bytes(bytes), 0),
        };
        let role = entry.role.map_or(0, |role| role as i64 + 1);
        Some(Self {
            id_halves: [(number >> 64) as u64, number as u64],
            offset: entry.offset,
            timestamp_and_flags: timestamp | (entry.kind as i64) << 4 | role << 1 | is_ulid,
            parent: entry.parent.unwrap_or(NO_PARENT),
            length,
        })
    }

    pub(super) fn is_placeholder(&self) -> bool {
        self.length == UNPACKED
    }

    /// Unpacks the entry, with its line number.
    pub(super) fn unpack(&self, line: u64) -> IndexEntry {
        let (kind, role) = self.kind_and_role();
        IndexEntry {
            parent: self.parent(),
            kind,
            role,
            timestamp: UnixMs(self.timestamp_and_flags >> FLAG_BITS),
            line,
            offset: self.offset,
            stored: self.offset,
            length: self.length as usize,
        }
    }

    pub(super) fn kind_and_role(&self) -> (EntryKind, Option<LineRole>) {
        let role = (self.timestamp_and_flags >> 1 & 0x7) as usize;
        let role = role.checked_sub(1).and_then(|role| LineRole::ALL.get(role)).copied();
        (EntryKind::ALL[(self.timestamp_and_flags >> 4 & 0xf) as usize], role)
    }

    pub(super) fn parent(&self) -> Option<u32> {
        (self.parent != NO_PARENT).then_some(self.parent)
    }

    pub(super) fn packed_id(&self) -> PackedId {
        self.ulid().map_or_else(|| PackedId::Short(self.number().to_be_bytes()), PackedId::Ulid)
    }

    /// The id, if it is a ULID.
    pub(super) fn ulid(&self) -> Option<u128> {
        (self.timestamp_and_flags & 1 == 1).then(|| self.number())
    }

    fn number(&self) -> u128 {
        u128::from(self.id_halves[0]) << 64 | u128::from(self.id_halves[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> IndexEntry {
        IndexEntry {
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

    fn round_trip(entry: &IndexEntry) -> Option<IndexEntry> {
        Some(PackedEntry::pack(PackedId::parse("7303e144")?, entry)?.unpack(entry.line))
    }

    #[test]
    fn packed_entry_round_trips() {
        let roles = LineRole::ALL.into_iter().map(Some).chain([None]);
        for (kind, role) in
            EntryKind::ALL.into_iter().flat_map(|kind| roles.clone().map(move |role| (kind, role)))
        {
            let entry = IndexEntry { kind, role, ..entry() };
            assert_eq!(round_trip(&entry), Some(entry));
        }
        for parent in [0, 1, u32::MAX - 1] {
            let entry = IndexEntry { parent: Some(parent), ..entry() };
            assert_eq!(round_trip(&entry), Some(entry));
        }
        for text in ["-009999-01-02T01:59:59.999Z", "1969-12-31T23:59:59.999Z", "9999-12-30T22:00:00.999Z"] {
            let timestamp = UnixMs::from_iso(text).unwrap();
            let entry = IndexEntry { timestamp, ..entry() };
            assert_eq!(round_trip(&entry), Some(entry), "{text}");
        }
        assert_eq!(size_of::<PackedEntry>(), 40);
    }

    #[test]
    fn packed_entry_values_out_of_range_are_rejected() {
        let longest = u32::MAX as usize - 1;
        assert!(round_trip(&IndexEntry { length: longest, ..entry() }).is_some());
        let odd = [
            IndexEntry { length: longest + 1, ..entry() },
            IndexEntry { length: 5 << 32, ..entry() },
            IndexEntry { stored: 3, ..entry() },
            IndexEntry { timestamp: UnixMs(i64::MAX), ..entry() },
            IndexEntry { timestamp: UnixMs(i64::MIN), ..entry() },
        ];
        for entry in odd {
            assert_eq!(round_trip(&entry), None);
        }
    }

    #[test]
    fn packed_id_round_trips_or_is_none() {
        let ulids = ["01JD6X9QWERTY0000000000000".replace(['W', 'Y'], "7"), "7".to_owned() + &"Z".repeat(25)];
        for id in ulids.iter().map(String::as_str) {
            let name = PackedId::parse(id).unwrap();
            assert!(matches!(name, PackedId::Ulid(_)), "{id}");
            assert_eq!(name.to_id().as_str(), id);
        }
        for id in ["", "a", "7303e144", "fünfzehn bytes"] {
            let name = PackedId::parse(id).unwrap();
            assert!(matches!(name, PackedId::Short(_)), "{id}");
            assert_eq!(name.to_id().as_str(), id);
        }
        let other_flags =
            ["8".to_owned() + &"Z".repeat(25), ulids[0].to_lowercase(), "sixteen bytes it".to_owned()];
        for id in other_flags {
            assert_eq!(PackedId::parse(&id), None, "{id}");
        }
        assert_ne!(PackedId::parse("a"), PackedId::parse("a\0"));
    }
}
