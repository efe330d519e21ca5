//! Text that JSON allows and Rust doesn't: half of a surrogate pair, bytes that are no UTF-8. Both read as U+FFFD; the file stays as it is.

use std::borrow::Cow;

use tiller_core::surrogates::replace_lone;

/// What a line says when its broken characters are taken for U+FFFD; `None` when it has none.
pub(super) fn repaired(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let changed = matches!(text, Cow::Owned(_));
    match replace_lone(&text) {
        Some(text) => Some(text),
        None => changed.then(|| text.into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_characters_become_the_replacement_character() {
        assert_eq!(repaired(br#"{"a":"\ud83d"}"#).as_deref(), Some(r#"{"a":"\uFFFD"}"#));
        assert_eq!(repaired(b"\"a\xffb\\ud800\"").as_deref(), Some("\"a\u{fffd}b\\uFFFD\""));
        assert_eq!(repaired("\"ö\"".as_bytes()), None);
    }
}
