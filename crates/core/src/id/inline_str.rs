//! A string that is stored inline while it is short. Used for ids: a long session has hundreds of thousands
//! of them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// Capacity of the inline storage in bytes: a ULID has 26, and call ids are rarely longer. With length and
/// discriminant the type takes 32 bytes.
const INLINE_CAPACITY: usize = 30;

/// An immutable string that is cheap to clone.
#[derive(Clone)]
pub(super) enum InlineStr {
    Inline { length: u8, bytes: [u8; INLINE_CAPACITY] },
    Heap(Arc<str>),
}

impl InlineStr {
    pub(super) fn new(text: &str) -> Self {
        let mut bytes = [0; INLINE_CAPACITY];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(inline), Ok(length)) => {
                inline.copy_from_slice(text.as_bytes());
                Self::Inline { length, bytes }
            }
            _ => Self::Heap(text.into()),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Inline { .. } => str::from_utf8(self.as_bytes()).expect("the bytes come from a str"),
            Self::Heap(text) => text,
        }
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Inline { length, bytes } => &bytes[..usize::from(*length)],
            Self::Heap(text) => text.as_bytes(),
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
        struct InlineStrVisitor;

        impl Visitor<'_> for InlineStrVisitor {
            type Value = InlineStr;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<InlineStr, E> {
                Ok(InlineStr::new(text))
            }
        }

        deserializer.deserialize_str(InlineStrVisitor)
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn inline_str_text_is_unchanged_inline_or_on_the_heap() {
        for length in [0, 1, 26, INLINE_CAPACITY - 1, INLINE_CAPACITY, INLINE_CAPACITY + 1, 300] {
            let text = "x".repeat(length);
            let inline_str = InlineStr::new(&text);
            assert_eq!(inline_str.as_str(), text);
            assert_eq!(matches!(inline_str, InlineStr::Inline { .. }), length <= INLINE_CAPACITY, "{length}");
            let json = serde_json::to_string(&inline_str).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<InlineStr>(&json).unwrap().as_str(), text);
        }
        assert_eq!(InlineStr::new("ö€").as_str(), "ö€");
        assert_eq!(size_of::<InlineStr>(), 32);
    }

    #[test]
    fn inline_str_compares_like_str() {
        let texts =
            ["", "a", "a\0", "ab", &"a".repeat(INLINE_CAPACITY), &"a".repeat(INLINE_CAPACITY + 1), "b", "ö"];
        let state = std::hash::RandomState::new();
        for one in texts {
            for other in texts {
                let (a, b) = (InlineStr::new(one), InlineStr::new(other));
                assert_eq!(a.cmp(&b), one.cmp(other), "{one:?} and {other:?}");
                assert_eq!((a == b, state.hash_one(&a) == state.hash_one(&b)), (one == other, one == other));
            }
        }
    }

    #[test]
    fn inline_str_deserialize_other_type_is_an_error() {
        assert!(serde_json::from_str::<InlineStr>("7").is_err());
        assert_eq!(serde_json::from_str::<InlineStr>(r#""\u00f6""#).unwrap().as_str(), "ö");
    }
}
