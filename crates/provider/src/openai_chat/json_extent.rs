//! Detection of the end of a JSON object that arrives in pieces, such as the arguments of a call.

/// Counts the open brackets outside strings.
#[derive(Default)]
pub(super) struct JsonExtent {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    has_begun: bool,
}

impl JsonExtent {
    pub(super) fn push(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_in_string => self.is_escaped = true,
                b'"' => self.is_in_string = !self.is_in_string,
                _ if self.is_in_string => {}
                b'{' | b'[' => (self.depth, self.has_begun) = (self.depth + 1, true),
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Returns true after the last bracket of the object.
    pub(super) const fn is_complete(&self) -> bool {
        self.has_begun && self.depth == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_extent_ends_with_the_last_bracket() {
        let object = r#" {"a": [1, {"b\"}": "]\\"}]}"#;
        for split in 0..=object.len() {
            let mut extent = JsonExtent::default();
            extent.push(&object[..split]);
            assert_eq!(extent.is_complete(), split == object.len(), "{split}");
            extent.push(&object[split..]);
            assert!(extent.is_complete());
        }
    }
}
