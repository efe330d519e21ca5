//! Text out of bytes that come in pieces.

/// Takes the text out of bytes as they come; a character that is cut off at the end of a piece waits for the next one.
#[derive(Clone, Debug, Default)]
pub struct AnsiDecoder {
    /// Bytes of a character that isn't whole yet.
    torn: Vec<u8>,
}

impl AnsiDecoder {
    /// At the beginning.
    #[must_use]
    pub const fn new() -> Self {
        Self { torn: Vec::new() }
    }

    /// Adds the next bytes to a text. What is no UTF-8 becomes replacement characters.
    pub fn decode(&mut self, bytes: &[u8], text: &mut String) {
        let joined;
        let bytes = if self.torn.is_empty() {
            bytes
        } else {
            joined = [self.torn.as_slice(), bytes].concat();
            self.torn.clear();
            joined.as_slice()
        };
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            let is_torn = chunks.peek().is_none()
                && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if is_torn {
                self.torn = invalid.to_vec();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    /// Whether a character waits for the rest of its bytes.
    #[must_use]
    pub fn waits(&self) -> bool {
        !self.torn.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_cut_in_two_arrives_whole() {
        let mut decoder = AnsiDecoder::new();
        let told = [&b"gr\xc3"[..], b"\xbc\xc3\x9fe", b"\xff!\xc3", b"\xbc", b"\xe2\x82"].map(|bytes| {
            let mut text = String::new();
            decoder.decode(bytes, &mut text);
            text
        });
        assert_eq!(told, ["gr", "üße", "\u{fffd}!", "ü", ""]);
        assert!(decoder.waits());
    }
}
