//! Incremental UTF-8 decoding.

/// Decodes bytes that arrive in chunks; an incomplete character at the end of a chunk is completed by the
/// next one.
#[derive(Clone, Debug, Default)]
pub struct Utf8Decoder {
    /// Bytes of an incomplete character.
    incomplete: Vec<u8>,
}

impl Utf8Decoder {
    /// Creates a decoder.
    #[must_use]
    pub const fn new() -> Self {
        Self { incomplete: Vec::new() }
    }

    /// Decodes the next bytes and appends them to `text`. Invalid UTF-8 becomes replacement characters.
    pub fn decode(&mut self, bytes: &[u8], text: &mut String) {
        let joined;
        let bytes = if self.incomplete.is_empty() {
            bytes
        } else {
            joined = [self.incomplete.as_slice(), bytes].concat();
            self.incomplete.clear();
            joined.as_slice()
        };
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            let is_incomplete = chunks.peek().is_none()
                && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if is_incomplete {
                self.incomplete = invalid.to_vec();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    /// Returns true if an incomplete character is pending.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        !self.incomplete.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_character_cut_in_two_is_whole() {
        let mut decoder = Utf8Decoder::new();
        let texts = [&b"gr\xc3"[..], b"\xbc\xc3\x9fe", b"\xff!\xc3", b"\xbc", b"\xe2\x82"].map(|bytes| {
            let mut text = String::new();
            decoder.decode(bytes, &mut text);
            text
        });
        assert_eq!(texts, ["gr", "üße", "\u{fffd}!", "ü", ""]);
        assert!(decoder.is_incomplete());
    }
}
