//! Words to be looked for in texts: as they stand, letter case counting only when some of them is large.

use std::ops::Range;

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SearchTerm {
    text: String,
    case: CaseMode,
}

/// Whether letter case counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CaseMode {
    #[default]
    Ignored,
    Counts,
}

impl SearchTerm {
    /// Words as they were typed.
    pub(super) fn new(typed: &str) -> Self {
        match typed.chars().any(char::is_uppercase) {
            true => Self { text: typed.to_owned(), case: CaseMode::Counts },
            false => Self { text: typed.to_owned(), case: CaseMode::Ignored },
        }
    }

    /// Whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// How often they are in a text.
    pub(super) fn count(&self, text: &str) -> usize {
        self.find(text).len()
    }

    /// Where they are in a text, in bytes; none overlaps another.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        if self.is_empty() {
            return Vec::new();
        }
        match self.case {
            CaseMode::Counts => ranges(text, &self.text),
            CaseMode::Ignored if text.is_ascii() => ranges(&text.to_ascii_lowercase(), &self.text),
            CaseMode::Ignored => self.find_folded(text),
        }
    }

    /// As a letter and its small one may differ in length, each character is folded to one.
    fn find_folded(&self, text: &str) -> Vec<Range<usize>> {
        let fold = |c: char| c.to_lowercase().next().unwrap_or(c);
        let folded: String = text.chars().map(fold).collect();
        let found = ranges(&folded, &self.text.chars().map(fold).collect::<String>());
        if folded.len() == text.len() {
            return found;
        }
        let mut at =
            folded.char_indices().map(|(at, _)| at).zip(text.char_indices().map(|(at, _)| at)).peekable();
        let mut original = |wanted: usize| {
            while at.peek().is_some_and(|(folded, _)| *folded < wanted) {
                at.next();
            }
            at.peek().map_or(text.len(), |(_, original)| *original)
        };
        found.into_iter().map(|range| original(range.start)..original(range.end)).collect()
    }
}

fn ranges(text: &str, words: &str) -> Vec<Range<usize>> {
    text.match_indices(words).map(|(at, found)| at..at + found.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(words: &str, text: &'a str) -> Vec<&'a str> {
        SearchTerm::new(words).find(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn letter_case_counts_when_a_large_letter_is_typed() {
        assert_eq!(found("lexer", "Lexer lexer LEXER"), ["Lexer", "lexer", "LEXER"]);
        assert_eq!(found("Lexer", "Lexer lexer LEXER"), ["Lexer"]);
        assert!(found("", "abc").is_empty());
    }

    #[test]
    fn letters_that_change_their_length_lead_to_the_right_place() {
        assert_eq!(found("straße", "Die STRAßE und İ und straße"), ["STRAßE", "straße"]);
        assert_eq!(found("ünd", "İ ÜND Ünd"), ["ÜND", "Ünd"]);
    }
}
