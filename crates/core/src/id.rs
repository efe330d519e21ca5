//! Names of things: sessions, entries, tool calls, queued messages.
//!
//! An id read from a log is an opaque string (a ULID, eight hex digits, a UUID, anything); only what tiller
//! mints itself is a ULID. Minting needs a clock and lives in `session`. See docs/session-format.md.

mod inline_str;

use std::fmt;

use serde::{Deserialize, Serialize};

use inline_str::InlineStr;

/// Fewest characters by which a person may name a session or an entry.
pub const SHORTEST_FRAGMENT: usize = 4;

/// How many of an id's last characters lists show.
const SHOWN: usize = 6;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(InlineStr);

        impl $name {
            /// Takes the text as it stands.
            pub fn new(text: impl AsRef<str>) -> Self {
                Self(InlineStr::of(text.as_ref()))
            }

            /// The whole id.
            #[must_use]
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }

            /// The last six characters, as lists show it.
            #[must_use]
            pub fn short(&self) -> &str {
                last_chars(self.as_str(), SHOWN)
            }

            /// Whether a person's `fragment` (a prefix or suffix of at least four characters, or the whole id,
            /// letter case aside) names this id.
            #[must_use]
            pub fn matches(&self, fragment: &str) -> bool {
                fragment_matches(self.as_str(), fragment)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.as_str())
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

id!(
    /// Names a session: the `id` of a log's header.
    SessionId
);
id!(
    /// Names an entry of a session's tree.
    EntryId
);
id!(
    /// Names a tool call; the provider makes it up.
    CallId
);
id!(
    /// Names a message that waits in a queue.
    QueueId
);

fn last_chars(text: &str, count: usize) -> &str {
    let start = text.char_indices().rev().nth(count.saturating_sub(1)).map_or(0, |(at, _)| at);
    &text[start..]
}

fn fragment_matches(id: &str, fragment: &str) -> bool {
    if id == fragment {
        return true;
    }
    if fragment.chars().count() < SHORTEST_FRAGMENT {
        return false;
    }
    let (id, fragment) = (id.to_ascii_lowercase(), fragment.to_ascii_lowercase());
    id.starts_with(&fragment) || id.ends_with(&fragment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_of_four_characters_names_an_id_from_either_end() {
        let id = SessionId::new("01JD6X9QWERTY");
        assert!(id.matches("01jd"));
        assert!(id.matches("erty"));
        assert!(!id.matches("6X9Q"));
        assert!(!id.matches("rty"));
    }

    #[test]
    fn a_short_id_of_another_program_is_named_whole() {
        assert!(EntryId::new("ab").matches("ab"));
        assert_eq!(EntryId::new("ab").short(), "ab");
        assert_eq!(EntryId::new("1234567ö").short(), "34567ö");
    }
}
