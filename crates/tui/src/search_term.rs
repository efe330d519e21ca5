//! Smart-case search terms: letter case is significant only if the term has an uppercase letter.

use std::ops::Range;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SearchTerm {
    text: String,
    case: CaseMode,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CaseMode {
    #[default]
    Insensitive,
    Sensitive,
}

impl SearchTerm {
    pub(super) fn new(typed: &str) -> Self {
        match typed.chars().any(char::is_uppercase) {
            true => Self { text: typed.to_owned(), case: CaseMode::Sensitive },
            false => Self { text: typed.to_owned(), case: CaseMode::Insensitive },
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Number of occurrences in a string.
    pub(super) fn count(&self, text: &str) -> usize {
        self.find(text).len()
    }

    /// Byte ranges of the occurrences, not overlapping.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        if self.is_empty() {
            return Vec::new();
        }
        match self.case {
            CaseMode::Sensitive => ranges(text, &self.text),
            CaseMode::Insensitive if text.is_ascii() => ranges(&text.to_ascii_lowercase(), &self.text),
            CaseMode::Insensitive => self.find_folded(text),
        }
    }

    /// Finds occurrences regardless of case. Case folding may change the length of a letter, so each
    /// character is folded to one.
    fn find_folded(&self, text: &str) -> Vec<Range<usize>> {
        let fold = |c: char| c.to_lowercase().next().unwrap_or(c);
        let folded: String = text.chars().map(fold).collect();
        let found = ranges(&folded, &self.text.chars().map(fold).collect::<String>());
        if folded.len() == text.len() {
            return found;
        }
        let mut at =
            folded.char_indices().map(|(at, _)| at).zip(text.char_indices().map(|(at, _)| at)).peekable();
        let mut original = |offset: usize| {
            while at.peek().is_some_and(|(folded, _)| *folded < offset) {
                at.next();
            }
            at.peek().map_or(text.len(), |(_, original)| *original)
        };
        found.into_iter().map(|range| original(range.start)..original(range.end)).collect()
    }
}

fn ranges(text: &str, term: &str) -> Vec<Range<usize>> {
    text.match_indices(term).map(|(at, found)| at..at + found.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(words: &str, text: &'a str) -> Vec<&'a str> {
        SearchTerm::new(words).find(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn search_term_uppercase_makes_it_case_sensitive() {
        assert_eq!(found("lexer", "Lexer lexer LEXER"), ["Lexer", "lexer", "LEXER"]);
        assert_eq!(found("Lexer", "Lexer lexer LEXER"), ["Lexer"]);
        assert!(found("", "abc").is_empty());
    }

    #[test]
    fn search_term_folded_length_keeps_offsets() {
        assert_eq!(found("straße", "Die STRAßE und İ und straße"), ["STRAßE", "straße"]);
        assert_eq!(found("ünd", "İ ÜND Ünd"), ["ÜND", "Ünd"]);
    }
}
