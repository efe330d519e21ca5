//! Repair of text that can't be stored in a Rust string: lone surrogate escapes and bytes that aren't UTF-8.
//! Both become U+FFFD in memory; the file is unchanged.

use std::borrow::Cow;

use tiller_core::surrogates::replace_lone;

/// Returns the line with its broken characters replaced by U+FFFD; `None` if it has none.
pub(super) fn repair_text(line: &[u8]) -> Option<String> {
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
    fn repair_text_replaces_broken_characters() {
        assert_eq!(repair_text(br#"{"a":"\ud83d"}"#).as_deref(), Some(r#"{"a":"\uFFFD"}"#));
        assert_eq!(repair_text(b"\"a\xffb\\ud800\"").as_deref(), Some("\"a\u{fffd}b\\uFFFD\""));
        assert_eq!(repair_text("\"ö\"".as_bytes()), None);
    }
}
