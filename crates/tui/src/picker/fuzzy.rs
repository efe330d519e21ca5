//! Which texts fit what was typed, how well, and which of their characters it was.
//!
//! Words count in any order and each must fit; one without capitals fits both. How a word fits depends on what is looked through:
//! names and paths by their letters in order, the best first; what people wrote by whole parts of it, in the order it was in.

use std::borrow::Cow;

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use unicode_segmentation::UnicodeSegmentation;

/// How typed words are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MatchMode {
    /// Letters in order, the best fit first: for names.
    #[default]
    Names,
    /// As names, with slashes between their parts.
    Paths,
    /// As they stand, in the order of the list: for what people wrote, where letters in order would be found everywhere.
    Prose,
}

/// What is looked for.
pub(crate) struct FuzzyQuery {
    words: Vec<QueryTerm>,
    way: MatchMode,
    matcher: Matcher,
    buffer: Vec<char>,
}

struct QueryTerm {
    letters: Atom,
    part: Atom,
}

impl FuzzyQuery {
    pub(crate) fn new(typed: &str, way: MatchMode) -> Self {
        let atom = |word: &str, kind| Atom::new(word, CaseMatching::Smart, Normalization::Smart, kind, false);
        let word = |word: &str| QueryTerm {
            letters: atom(word, AtomKind::Fuzzy),
            part: atom(word, AtomKind::Substring),
        };
        let config = if way == MatchMode::Paths { Config::DEFAULT.match_paths() } else { Config::DEFAULT };
        let words = typed.split_whitespace().map(word).collect();
        Self { words, way, matcher: Matcher::new(config), buffer: Vec::new() }
    }

    /// The positions of the items that fit, the best first; those that fit equally well stay in their order. `texts` are what an item
    /// is called and what else is said of it: in that only whole parts count.
    pub(crate) fn rank<'a, T>(
        &mut self,
        items: &'a [T],
        texts: impl Fn(&'a T) -> (&'a str, &'a str),
    ) -> Vec<usize> {
        if self.words.is_empty() {
            return (0..items.len()).collect();
        }
        let fitting = items.iter().enumerate();
        let fitting = fitting.filter_map(|(at, item)| Some((self.score(texts(item))?, at)));
        let mut found: Vec<(u32, usize)> = fitting.collect();
        if self.way != MatchMode::Prose {
            found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        }
        found.into_iter().map(|(_, at)| at).collect()
    }

    fn score(&mut self, (name, about): (&str, &str)) -> Option<u32> {
        let Self { words, way, matcher, buffer } = self;
        let (name, about) = (ended(name), ended(about));
        let mut sum = 0;
        for word in words {
            let atom = if *way == MatchMode::Prose { &word.part } else { &word.letters };
            let score = atom.score(Utf32Str::new(&name, buffer), matcher).or_else(|| {
                let beside = word.part.score(Utf32Str::new(&about, buffer), matcher)?;
                Some(beside / 2)
            })?;
            sum += u32::from(score);
        }
        Some(sum)
    }

    /// Which graphemes of a text fit, ascending.
    pub(crate) fn marks(&mut self, text: &str) -> Vec<usize> {
        let Self { words, way, matcher, buffer } = self;
        let (text, mut marks) = (ended(text), Vec::new());
        for word in words {
            let mut here = Vec::new();
            let text = Utf32Str::new(&text, buffer);
            let atom = if *way == MatchMode::Prose { &word.part } else { &word.letters };
            atom.indices(text, matcher, &mut here);
            marks.extend(here.into_iter().map(|at| at as usize));
        }
        marks.sort_unstable();
        marks.dedup();
        marks
    }
}

/// A text with a blank behind it where that is needed: nucleo-matcher 0.3.1 finds no part at the very end of one that isn't ASCII.
fn ended(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { text.into() } else { format!("{text} ").into() }
}

/// A text in pieces: those that fit, and those between them.
pub(crate) fn pieces(text: &str, marks: &[usize]) -> Vec<(String, bool)> {
    let mut pieces: Vec<(String, bool)> = Vec::new();
    for (at, grapheme) in text.graphemes(true).enumerate() {
        let marked = marks.binary_search(&at).is_ok();
        match pieces.last_mut() {
            Some((piece, same)) if *same == marked => piece.push_str(grapheme),
            _ => pieces.push((grapheme.to_owned(), marked)),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_at_the_very_end_fits_in_any_script() {
        let texts = [("größer und schöner", "2 messages · 3m · VC79G8")];
        for (typed, marks) in [("schöner", (11..18).collect()), ("VC79G8", Vec::new())] {
            let mut query = FuzzyQuery::new(typed, MatchMode::Prose);
            assert_eq!(query.rank(&texts, |text| *text), [0], "{typed}");
            assert_eq!(query.marks(texts[0].0), marks, "{typed}");
        }
    }

    fn ranked<'a>(typed: &str, way: MatchMode, names: &[&'a str]) -> Vec<&'a str> {
        let found = FuzzyQuery::new(typed, way).rank(names, |name| (name, ""));
        found.into_iter().map(|at| names[at]).collect()
    }

    #[test]
    fn the_best_fit_comes_first_and_equals_stay_in_their_order() {
        let files = ["src/tui/amp.rs", "docs/map.md", "src/mantrap.rs", "src/map.rs"];
        assert_eq!(ranked("map", MatchMode::Paths, &files), ["docs/map.md", "src/map.rs", "src/mantrap.rs"]);
        assert_eq!(ranked("", MatchMode::Paths, &files), files);
        assert_eq!(ranked("map", MatchMode::Prose, &files), ["docs/map.md", "src/map.rs"]);
    }

    #[test]
    fn words_fit_in_any_order_and_capitals_count_only_where_they_are_typed() {
        let names = ["Fix the Lexer", "the lexer is fixed", "parser"];
        assert_eq!(ranked("lexer fix", MatchMode::Names, &names).len(), 2);
        assert_eq!(ranked("Lexer", MatchMode::Names, &names), ["Fix the Lexer"]);
        assert_eq!(ranked("lexer nothing", MatchMode::Names, &names), [""; 0]);
    }

    #[test]
    fn prose_fits_where_it_holds_the_words_as_they_stand() {
        let said = ["open the window", "wind up"];
        assert_eq!(ranked("wind", MatchMode::Prose, &said), said);
        assert_eq!(ranked("wndw", MatchMode::Prose, &said), [""; 0]);
        assert_eq!(ranked("ow wi", MatchMode::Prose, &said), ["open the window"]);
    }

    #[test]
    fn what_is_said_beside_a_name_counts_as_a_whole_and_less() {
        let items = [("haiku", "thinks"), ("think-9", "")];
        let mut query = FuzzyQuery::new("think", MatchMode::Names);
        assert_eq!(query.rank(&items, |item| *item), [1, 0]);
        assert_eq!(FuzzyQuery::new("tnks", MatchMode::Names).rank(&items, |item| *item), [0; 0]);
    }

    #[test]
    fn a_part_is_found_at_the_end_of_a_text_that_is_not_plain_too() {
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
