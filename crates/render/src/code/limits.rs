//! How far the words of a block of code are told, and how the block is known again.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::backend::LanguageId;
use super::cache::Key;
use super::{LARGEST_BLOCK, LONGEST_LINE};

/// The lines of a block whose words are told, from the first one on.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    hasher: DefaultHasher,
    bytes: usize,
    is_full: bool,
}

impl Extent {
    pub(super) fn new(language: &LanguageId) -> Self {
        let mut hasher = DefaultHasher::new();
        language.hash(&mut hasher);
        Self { hasher, bytes: 0, is_full: false }
    }

    /// Of clean code that is all there.
    pub(super) fn of(language: &LanguageId, code: &str) -> Self {
        let mut extent = Self::new(language);
        code.lines().take_while(|line| extent.takes(line)).for_each(drop);
        extent
    }

    /// Whether the words of the next line are told, too.
    pub(super) fn takes(&mut self, line: &str) -> bool {
        let bytes = self.bytes + line.len().min(LONGEST_LINE) + 1;
        self.is_full |= bytes > LARGEST_BLOCK;
        if !self.is_full {
            self.bytes = bytes;
            line.hash(&mut self.hasher);
        }
        !self.is_full
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn key(&self) -> Key {
        Key(self.hasher.finish())
    }
}

/// What of a line is given to whoever tells its words: of one that is too long enough to see that it is.
pub(super) fn sent(line: &str) -> &str {
    &line[..line.ceil_char_boundary(LONGEST_LINE + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_told_up_to_its_limit_and_known_by_what_is_told_of_it() {
        let tongue = LanguageId::Named("rust".into());
        let line = "x".repeat(LONGEST_LINE - 1);
        let (mut one, mut other) = (Extent::new(&tongue), Extent::new(&tongue));
        let taken = std::iter::repeat_with(|| one.takes(&line)).take_while(|takes| *takes).count();
        assert_eq!(taken, LARGEST_BLOCK / LONGEST_LINE);
        assert!(!one.takes("") && one.bytes() <= LARGEST_BLOCK);
        assert!((0..taken).all(|_| other.takes(&line)));
        assert_eq!(one.key(), other.key());
        assert!(Extent::new(&tongue).key() != Extent::new(&LanguageId::Named("c".into())).key());
    }

    #[test]
    fn of_a_long_line_only_that_it_is_long_is_sent() {
        assert_eq!(sent("ü"), "ü");
        let long = "ü".repeat(LONGEST_LINE);
        assert!(sent(&long).len() > LONGEST_LINE && sent(&long).len() < LONGEST_LINE + 4);
    }
}
