//! Text that JSON allows and Rust doesn't: half of a surrogate pair, bytes that are no UTF-8. Both read as U+FFFD; the file stays as it is.

use std::borrow::Cow;

/// What a line says when its broken characters are taken for U+FFFD; `None` when it has none.
pub(super) fn repaired(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let changed = matches!(text, Cow::Owned(_));
    match without_lone_surrogates(&text) {
        Some(text) => Some(text),
        None => changed.then(|| text.into_owned()),
    }
}

fn without_lone_surrogates(text: &str) -> Option<String> {
    let mut repaired = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', &text.as_bytes()[at..]) {
        at += found;
        match escaped_unit(text, at) {
            Some(0xD800..=0xDBFF) if matches!(escaped_unit(text, at + ESCAPE), Some(0xDC00..=0xDFFF)) => {
                at += 2 * ESCAPE;
            }
            Some(0xD800..=0xDFFF) => {
                repaired.push_str(&text[copied..at]);
                repaired.push_str("\\uFFFD");
                at += ESCAPE;
                copied = at;
            }
            Some(_) => at += ESCAPE,
            // Another escape: what follows the backslash belongs to it, a second backslash above all.
            None => at = text.len().min(at + 2),
        }
    }
    if copied == 0 {
        return None;
    }
    repaired.push_str(&text[copied..]);
    Some(repaired)
}

/// Bytes of `\uXXXX`.
const ESCAPE: usize = 6;

fn escaped_unit(text: &str, at: usize) -> Option<u32> {
    let digits = text.as_bytes().get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_becomes_the_replacement_character() {
        for (line, expected) in [
            (r#"{"a":"\ud83d"}"#, Some(r#"{"a":"\uFFFD"}"#)),
            (r#"{"a":"\ude00\ud83d\ude00"}"#, Some(r#"{"a":"\uFFFD\ud83d\ude00"}"#)),
            (r#"{"a":"\ud83d\ud83d\uDE00 é"}"#, Some(r#"{"a":"\uFFFD\ud83d\uDE00 é"}"#)),
            (r#"{"a":"\ud83d\ude00"}"#, None),
            (r#"{"a":"\\ud83d"}"#, None),
            (r#"{"a":"\\\ud83d"}"#, Some(r#"{"a":"\\\uFFFD"}"#)),
            (r#"{"a":"\u00e9\"#, None),
            (r#"{"a":"\ud8"#, None),
        ] {
            assert_eq!(repaired(line.as_bytes()).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn bytes_that_are_no_utf_8_become_the_replacement_character() {
        assert_eq!(repaired(b"\"a\xffb\\ud800\"").as_deref(), Some("\"a\u{fffd}b\\uFFFD\""));
        assert_eq!(repaired("\"ö\"".as_bytes()), None);
    }
}
