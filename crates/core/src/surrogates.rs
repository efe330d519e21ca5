//! Unpaired surrogates in JSON text: `"\ud83d"` is valid JSON and not valid Unicode, and `serde_json` refuses
//! it in a `String`.
//!
//! There are two workarounds: [`replace_lone`] replaces unpaired surrogates in log lines with U+FFFD, and
//! [`Wtf8`] and [`SurrogateJoiner`] join the halves of a pair that arrive in two deltas of a streamed answer.

use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Bytes of `\uXXXX`.
const ESCAPE: usize = 6;

/// Bytes of a surrogate in WTF-8.
const WIDTH: usize = 3;

/// Returns JSON text whose unpaired surrogate escapes are replaced with `\uFFFD`; `None` when it has none.
#[must_use]
pub fn replace_lone(json: &str) -> Option<String> {
    let mut replaced = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(backslash) = memchr::memchr(b'\\', &json.as_bytes()[at..]) {
        at += backslash;
        match escaped_unit(json, at) {
            Some(0xD800..=0xDBFF) if matches!(escaped_unit(json, at + ESCAPE), Some(0xDC00..=0xDFFF)) => {
                at += 2 * ESCAPE;
            }
            Some(0xD800..=0xDFFF) => {
                replaced.push_str(&json[copied..at]);
                replaced.push_str("\\uFFFD");
                at += ESCAPE;
                copied = at;
            }
            Some(_) => at += ESCAPE,
            // Another escape: skip its character, because a second backslash starts no escape.
            None => at = json.len().min(at + 2),
        }
    }
    if copied == 0 {
        return None;
    }
    replaced.push_str(&json[copied..]);
    Some(replaced)
}

fn escaped_unit(json: &str, at: usize) -> Option<u32> {
    let digits = json.as_bytes().get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

/// The value of a JSON string that may hold unpaired surrogates, in WTF-8
/// (<https://simonsapin.github.io/wtf-8>).
///
/// Deserializes from `serde_json` with borrowed input only, and not inside tagged or flattened types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wtf8(Vec<u8>);

impl Wtf8 {
    /// Parses a JSON string.
    ///
    /// # Errors
    /// If the text isn't a JSON string.
    pub fn parse(json: &RawValue) -> serde_json::Result<Self> {
        serde_json::Deserializer::from_str(json.get()).deserialize_byte_buf(Wtf8Visitor)
    }

    /// Checks whether the string is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for Wtf8 {
    /// Goes through [`RawValue`], which checks the syntax: reading bytes alone would let control characters
    /// pass.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(<&RawValue>::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

struct Wtf8Visitor;

impl Visitor<'_> for Wtf8Visitor {
    type Value = Wtf8;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Wtf8, E> {
        Ok(Wtf8(bytes.to_owned()))
    }
}

/// Joins the fragments of one text. A high surrogate at the end of a fragment waits for the next fragment.
#[derive(Debug, Default)]
pub struct SurrogateJoiner {
    pending: Option<[u8; WIDTH]>,
}

impl SurrogateJoiner {
    /// Returns the fragment as text: a pending half is joined with its other half, and a half without one
    /// becomes U+FFFD.
    pub fn push(&mut self, fragment: Wtf8) -> String {
        let bytes = match self.pending.take() {
            Some(previous) if fragment.is_empty() => {
                self.pending = Some(previous);
                return String::new();
            }
            Some(previous) => [previous.as_slice(), &fragment.0].concat(),
            None => fragment.0,
        };
        String::from_utf8(bytes).unwrap_or_else(|error| self.decode(error.as_bytes()))
    }

    /// Ends the text; returns U+FFFD for a pending half.
    pub fn finish(&mut self) -> Option<String> {
        self.pending.take().map(|_| char::REPLACEMENT_CHARACTER.to_string())
    }

    fn decode(&mut self, mut bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len());
        while let Err(error) = str::from_utf8(bytes) {
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            text.push_str(&String::from_utf8_lossy(valid));
            bytes = match (surrogate(rest), rest.get(WIDTH..).and_then(surrogate)) {
                (Some(high @ 0xD800..=0xDBFF), Some(low @ 0xDC00..=0xDFFF)) => {
                    text.extend(char::decode_utf16([high, low]).flatten());
                    &rest[2 * WIDTH..]
                }
                (Some(0xD800..=0xDBFF), None) if rest.len() == WIDTH => {
                    self.pending = rest.try_into().ok();
                    &[]
                }
                (Some(_), _) => {
                    text.push(char::REPLACEMENT_CHARACTER);
                    &rest[WIDTH..]
                }
                // JSON text is UTF-8, so only surrogates can be invalid.
                (None, _) => {
                    text.push(char::REPLACEMENT_CHARACTER);
                    &rest[error.error_len().unwrap_or(rest.len())..]
                }
            };
        }
        text.push_str(&String::from_utf8_lossy(bytes));
        text
    }
}

/// Decodes the surrogate at the beginning of WTF-8 bytes.
fn surrogate(bytes: &[u8]) -> Option<u16> {
    match bytes {
        [0xED, second @ 0xA0..=0xBF, third @ 0x80..=0xBF, ..] => {
            Some(0xD000 | u16::from(second & 0x3F) << 6 | u16::from(third & 0x3F))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn replace_lone_half_of_a_pair_becomes_u_fffd() {
        for (json, expected) in [
            (r#"{"a":"\ud83d"}"#, Some(r#"{"a":"\uFFFD"}"#)),
            (r#"{"a":"\ude00\ud83d\ude00"}"#, Some(r#"{"a":"\uFFFD\ud83d\ude00"}"#)),
            (r#"{"a":"\ud83d\ud83d\uDE00 é"}"#, Some(r#"{"a":"\uFFFD\ud83d\uDE00 é"}"#)),
            (r#"{"a":"\ud83d\ude00"}"#, None),
            (r#"{"a":"\\ud83d"}"#, None),
            (r#"{"a":"\\\ud83d"}"#, Some(r#"{"a":"\\\uFFFD"}"#)),
            (r#"{"a":"\u00e9\"#, None),
            (r#"{"a":"\ud8"#, None),
        ] {
            assert_eq!(replace_lone(json).as_deref(), expected, "{json}");
        }
    }

    fn join(fragments: &[&str]) -> String {
        let mut joiner = SurrogateJoiner::default();
        let mut text: String = fragments
            .iter()
            .map(|fragment| joiner.push(serde_json::from_str(&format!("\"{fragment}\"")).unwrap()))
            .collect();
        text.extend(joiner.finish());
        text
    }

    #[test]
    fn joiner_halves_of_two_fragments_are_one_character() {
        for (fragments, expected) in [
            (&[r"a\ud83d", r"\ude00b"][..], "a😀b"),
            (&[r"\ud83d", "", r"\ude00"], "😀"),
            (&[r"\ud83d\ude00\ud83d", r"\ude01"], "😀😁"),
            (&[r"\ud83d", "b"], "\u{fffd}b"),
            (&[r"\ud83d", r"\ud83d", r"\ude00"], "\u{fffd}😀"),
            (&[r"\ude00", r"\ud83d"], "\u{fffd}\u{fffd}"),
            (&[r"a\ud83db", "c"], "a\u{fffd}bc"),
            (&["plain ä", "\\n"], "plain ä\n"),
        ] {
            assert_eq!(join(fragments), expected, "{fragments:?}");
        }
    }

    #[test]
    fn wtf8_control_characters_and_other_values_are_refused() {
        for json in ["\"a\u{1}b\"", "\"a\nb\"", "[1]", "7", "{}", r#""\uZZZZ""#, r#""\ud83d"#] {
            assert!(serde_json::from_str::<Wtf8>(json).is_err(), "{json:?}");
        }
    }

    proptest! {
        #[test]
        fn joiner_any_cut_of_utf_16_gives_the_same_text(text in "[a😀é\u{10FFFF}]{0,8}", cuts: u16) {
            let units: Vec<u16> = text.encode_utf16().collect();
            let mut fragments = vec![String::new()];
            for (at, unit) in units.iter().enumerate() {
                if cuts >> (at % 16) & 1 == 1 {
                    fragments.push(String::new());
                }
                fragments.last_mut().unwrap().push_str(&format!("\\u{unit:04x}"));
            }
            let fragments: Vec<&str> = fragments.iter().map(String::as_str).collect();
            prop_assert_eq!(join(&fragments), text);
        }
    }
}
