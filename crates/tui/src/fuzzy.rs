//! Fuzzy matching: finds the items that match a query, ranks them, and marks the matching characters.
//!
//! All words of the query must match, in any order; case is significant only for uppercase letters. Names and
//! paths match by letters in order, ranked by score; prose matches by substrings and keeps its order.

use std::borrow::Cow;

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MatchMode {
    /// Letters in order, best match first.
    #[default]
    Names,
    /// Like `Names`, with slashes as separators.
    Paths,
    /// Substrings, in the order of the list. Intended for prose, where letters in order would match
    /// everywhere.
    Prose,
}

/// A search query.
pub(crate) struct FuzzyQuery {
    terms: Vec<QueryTerm>,
    mode: MatchMode,
    matcher: Matcher,
    buffer: Vec<char>,
}

struct QueryTerm {
    letters: Atom,
    part: Atom,
}

impl FuzzyQuery {
    pub(crate) fn new(typed: &str, mode: MatchMode) -> Self {
        let atom = |word: &str, kind| Atom::new(word, CaseMatching::Smart, Normalization::Smart, kind, false);
        let term = |word: &str| QueryTerm {
            letters: atom(word, AtomKind::Fuzzy),
            part: atom(word, AtomKind::Substring),
        };
        let config = if mode == MatchMode::Paths { Config::DEFAULT.match_paths() } else { Config::DEFAULT };
        let terms = typed.split_whitespace().map(term).collect();
        Self { terms, mode, matcher: Matcher::new(config), buffer: Vec::new() }
    }

    /// Returns the indexes of the matching items, best first; items with equal scores keep their order.
    /// `texts` returns an item's name and its description; descriptions match only by substrings.
    pub(crate) fn rank<'a, T>(
        &mut self,
        items: &'a [T],
        texts: impl Fn(&'a T) -> (&'a str, &'a str),
    ) -> Vec<usize> {
        if self.terms.is_empty() {
            return (0..items.len()).collect();
        }
        let scored = items.iter().enumerate();
        let scored = scored.filter_map(|(at, item)| Some((self.score(texts(item))?, at)));
        let mut ranked: Vec<(u32, usize)> = scored.collect();
        if self.mode != MatchMode::Prose {
            ranked.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        }
        ranked.into_iter().map(|(_, at)| at).collect()
    }

    fn score(&mut self, (name, about): (&str, &str)) -> Option<u32> {
        let Self { terms, mode, matcher, buffer } = self;
        let (name, about) = (padded(name), padded(about));
        let mut sum = 0;
        for term in terms {
            let atom = if *mode == MatchMode::Prose { &term.part } else { &term.letters };
            let score = atom.score(Utf32Str::new(&name, buffer), matcher).or_else(|| {
                let about_score = term.part.score(Utf32Str::new(&about, buffer), matcher)?;
                Some(about_score / 2)
            })?;
            sum += u32::from(score);
        }
        Some(sum)
    }

    /// Returns the indexes of the matching graphemes of a text, ascending.
    pub(crate) fn marks(&mut self, text: &str) -> Vec<usize> {
        let Self { terms, mode, matcher, buffer } = self;
        let (text, mut marks) = (padded(text), Vec::new());
        for term in terms {
            let mut indexes = Vec::new();
            let text = Utf32Str::new(&text, buffer);
            let atom = if *mode == MatchMode::Prose { &term.part } else { &term.letters };
            atom.indices(text, matcher, &mut indexes);
            marks.extend(indexes.into_iter().map(|at| at as usize));
        }
        marks.sort_unstable();
        marks.dedup();
        marks
    }
}

/// Appends a blank to non-ASCII texts, because nucleo-matcher 0.3.1 finds no substring at their very end.
fn padded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { text.into() } else { format!("{text} ").into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::match_marks::pieces;

    #[test]
    fn fuzzy_match_at_end_of_any_script() {
        let texts = [("größer und schöner", "2 messages · 3m · VC79G8")];
        for (typed, marks) in [("schöner", (11..18).collect()), ("VC79G8", Vec::new())] {
            let mut query = FuzzyQuery::new(typed, MatchMode::Prose);
            assert_eq!(query.rank(&texts, |text| *text), [0], "{typed}");
            assert_eq!(query.marks(texts[0].0), marks, "{typed}");
        }
    }

    fn ranked<'a>(typed: &str, mode: MatchMode, names: &[&'a str]) -> Vec<&'a str> {
        let found = FuzzyQuery::new(typed, mode).rank(names, |name| (name, ""));
        found.into_iter().map(|at| names[at]).collect()
    }

    #[test]
    fn rank_best_first_and_stable() {
        let files = ["src/tui/amp.rs", "docs/map.md", "src/mantrap.rs", "src/map.rs"];
        assert_eq!(ranked("map", MatchMode::Paths, &files), ["docs/map.md", "src/map.rs", "src/mantrap.rs"]);
        assert_eq!(ranked("", MatchMode::Paths, &files), files);
        assert_eq!(ranked("map", MatchMode::Prose, &files), ["docs/map.md", "src/map.rs"]);
    }

    #[test]
    fn rank_any_word_order_smart_case() {
        let names = ["Fix the Lexer", "the lexer is fixed", "parser"];
        assert_eq!(ranked("lexer fix", MatchMode::Names, &names).len(), 2);
        assert_eq!(ranked("Lexer", MatchMode::Names, &names), ["Fix the Lexer"]);
        assert_eq!(ranked("lexer nothing", MatchMode::Names, &names), [""; 0]);
    }

    #[test]
    fn rank_prose_matches_substrings() {
        let said = ["open the window", "wind up"];
        assert_eq!(ranked("wind", MatchMode::Prose, &said), said);
        assert_eq!(ranked("wndw", MatchMode::Prose, &said), [""; 0]);
        assert_eq!(ranked("ow wi", MatchMode::Prose, &said), ["open the window"]);
    }

    #[test]
    fn rank_description_counts_less() {
        let items = [("haiku", "thinks"), ("think-9", "")];
        let mut query = FuzzyQuery::new("think", MatchMode::Names);
        assert_eq!(query.rank(&items, |item| *item), [1, 0]);
        assert_eq!(FuzzyQuery::new("tnks", MatchMode::Names).rank(&items, |item| *item), [0; 0]);
    }

    #[test]
    fn rank_substring_at_end_of_non_ascii() {
        let items = [("the café window", "2 messages · 5m ago · 9GHJKL")];
        for typed in ["9GHJKL", "ghjkl", "window", "café", "w"] {
            assert_eq!(FuzzyQuery::new(typed, MatchMode::Prose).rank(&items, |item| *item), [0], "{typed}");
        }
        let marks = FuzzyQuery::new("dow", MatchMode::Prose).marks("café window");
        assert_eq!(marks, [8, 9, 10]);
    }

    #[test]
    fn marks_count_graphemes() {
        let mut query = FuzzyQuery::new("né", MatchMode::Names);
        let text = "日e\u{301}n-né";
        let shown: Vec<(String, bool)> = pieces(text, &query.marks(text));
        assert_eq!(shown, [("日e\u{301}n-".to_owned(), false), ("né".to_owned(), true)]);
    }
}
