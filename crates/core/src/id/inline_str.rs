//! Text that is held in place as long as it is short, as ids are: a long session has hundreds of thousands of them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// Bytes that are held in place: a ULID has 26, and the ids of calls are hardly longer. With its length and the word on where it is a text
/// takes 32.
const ROOM: usize = 30;

/// A text that doesn't change and is cheap to clone.
#[derive(Clone)]
pub(super) enum InlineStr {
    InPlace { length: u8, bytes: [u8; ROOM] },
    Apart(Arc<str>),
}

impl InlineStr {
    pub(super) fn of(text: &str) -> Self {
        let mut bytes = [0; ROOM];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(room), Ok(length)) => {
                room.copy_from_slice(text.as_bytes());
                Self::InPlace { length, bytes }
            }
            _ => Self::Apart(text.into()),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::InPlace { .. } => str::from_utf8(self.as_bytes()).expect("it was made of a text"),
            Self::Apart(text) => text,
        }
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::InPlace { length, bytes } => &bytes[..usize::from(*length)],
            Self::Apart(text) => text.as_bytes(),
        }
    }
}

impl PartialEq for InlineStr {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for InlineStr {}

impl PartialOrd for InlineStr {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for InlineStr {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for InlineStr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl Serialize for InlineStr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for InlineStr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reads;

        impl Visitor<'_> for Reads {
            type Value = InlineStr;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<InlineStr, E> {
                Ok(InlineStr::of(text))
            }
        }

        deserializer.deserialize_str(Reads)
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn a_text_reads_as_it_was_whether_it_is_in_place_or_not() {
        for length in [0, 1, 26, ROOM - 1, ROOM, ROOM + 1, 300] {
            let text = "x".repeat(length);
            let held = InlineStr::of(&text);
            assert_eq!(held.as_str(), text);
            assert_eq!(matches!(held, InlineStr::InPlace { .. }), length <= ROOM, "{length}");
            let json = serde_json::to_string(&held).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<InlineStr>(&json).unwrap().as_str(), text);
        }
        assert_eq!(InlineStr::of("ö€").as_str(), "ö€");
        assert_eq!(size_of::<InlineStr>(), 32);
    }

    #[test]
    fn texts_compare_as_what_they_say() {
        let texts = ["", "a", "a\0", "ab", &"a".repeat(ROOM), &"a".repeat(ROOM + 1), "b", "ö"];
        let state = std::hash::RandomState::new();
        for one in texts {
            for other in texts {
                let (a, b) = (InlineStr::of(one), InlineStr::of(other));
                assert_eq!(a.cmp(&b), one.cmp(other), "{one:?} and {other:?}");
                assert_eq!((a == b, state.hash_one(&a) == state.hash_one(&b)), (one == other, one == other));
            }
        }
    }

    #[test]
    fn what_is_no_string_is_no_text() {
        assert!(serde_json::from_str::<InlineStr>("7").is_err());
        assert_eq!(serde_json::from_str::<InlineStr>(r#""\u00f6""#).unwrap().as_str(), "ö");
    }
}
