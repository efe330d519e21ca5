//! Size limits for highlighting, and the cache keys of blocks.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::language::LanguageId;

/// Maximum length of a highlighted line, in bytes. Longer lines are data or minified code, for which grammars
/// are slow and of little use.
pub(super) const MAX_LINE_BYTES: usize = 1_000;

/// Maximum size of a highlighted block, in bytes. Highlighting takes a quarter of a millisecond per line.
pub(super) const MAX_BLOCK_BYTES: usize = 64 * 1024;

/// Cache key: a hash of the language and the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CacheKey(pub(super) u64);

/// Counts the leading lines of a block that are highlighted.
#[derive(Clone, Debug)]
pub(super) struct HighlightedPrefix {
    hasher: DefaultHasher,
    bytes: usize,
    is_full: bool,
}

impl HighlightedPrefix {
    pub(super) fn new(language: &LanguageId) -> Self {
        let mut hasher = DefaultHasher::new();
        language.hash(&mut hasher);
        Self { hasher, bytes: 0, is_full: false }
    }

    /// Creates the prefix of a complete block of sanitized code.
    pub(super) fn of_code(language: &LanguageId, code: &str) -> Self {
        let mut extent = Self::new(language);
        code.lines().take_while(|line| extent.add(line)).for_each(drop);
        extent
    }

    /// Adds a line; returns false if it exceeds the limit.
    pub(super) fn add(&mut self, line: &str) -> bool {
        let bytes = self.bytes + line.len().min(MAX_LINE_BYTES) + 1;
        self.is_full |= bytes > MAX_BLOCK_BYTES;
        if !self.is_full {
            self.bytes = bytes;
            line.hash(&mut self.hasher);
        }
        !self.is_full
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn key(&self) -> CacheKey {
        CacheKey(self.hasher.finish())
    }
}

/// Returns the part of a line that is sent to the highlighter: of a line that is too long, just enough to
/// tell.
pub(super) fn truncated(line: &str) -> &str {
    &line[..line.ceil_char_boundary(MAX_LINE_BYTES + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highlighted_prefix_ends_at_limit_and_has_a_key() {
        let language = LanguageId::Named("rust".into());
        let line = "x".repeat(MAX_LINE_BYTES - 1);
        let (mut one, mut other) = (HighlightedPrefix::new(&language), HighlightedPrefix::new(&language));
        let count = std::iter::repeat_with(|| one.add(&line)).take_while(|add| *add).count();
        assert_eq!(count, MAX_BLOCK_BYTES / MAX_LINE_BYTES);
        assert!(!one.add("") && one.bytes() <= MAX_BLOCK_BYTES);
        assert!((0..count).all(|_| other.add(&line)));
        assert_eq!(one.key(), other.key());
        assert!(
            HighlightedPrefix::new(&language).key()
                != HighlightedPrefix::new(&LanguageId::Named("c".into())).key()
        );
    }

    #[test]
    fn truncated_long_line_shows_its_length_only() {
        assert_eq!(truncated("ü"), "ü");
        let long_line = "ü".repeat(MAX_LINE_BYTES);
        assert!(
            truncated(&long_line).len() > MAX_LINE_BYTES && truncated(&long_line).len() < MAX_LINE_BYTES + 4
        );
    }
}
