//! The marks of matches in the rows of lists and of the tree.

use tiller_render::{Span, Style, truncate_to};
use unicode_segmentation::UnicodeSegmentation;

/// Splits a text into matching and other pieces.
pub(crate) fn pieces(text: &str, marks: &[usize]) -> Vec<(String, bool)> {
    if marks.is_empty() {
        return vec![(text.to_owned(), false)];
    }
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

/// Indexes of the graphemes where a word of the query occurs, in any case, ascending.
pub(crate) fn occurrences(text: &str, query: &str) -> Vec<usize> {
    if query.trim().is_empty() {
        return Vec::new();
    }
    let lower = text.to_lowercase();
    // Matches of the lowercase text only apply if its length is the same.
    if lower.len() != text.len() {
        return Vec::new();
    }
    let mut is_marked = vec![false; text.len()];
    for word in query.split_whitespace().map(str::to_lowercase) {
        for (at, found) in lower.match_indices(&word) {
            is_marked[at..at + found.len()].fill(true);
        }
    }
    let graphemes = text.grapheme_indices(true).enumerate();
    graphemes.filter(|(_, (at, _))| is_marked[*at]).map(|(index, _)| index).collect()
}

/// The pieces of a text cut to `room` columns, matching ones in the style `found`.
pub(crate) fn spans(pieces: Vec<(String, bool)>, style: Style, found: Style, mut room: usize) -> Vec<Span> {
    let mut spans = Vec::new();
    for (piece, is_found) in pieces {
        let text = truncate_to(&piece, room);
        let is_cut = text != piece;
        let span = Span::new(text, if is_found { found } else { style });
        room = room.saturating_sub(span.width());
        spans.push(span);
        if room == 0 || is_cut {
            break;
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use tiller_render::{Emphasis, Role};

    use super::*;

    #[test]
    fn occurrences_of_all_words_in_any_case() {
        let text = "The Lexer, the lexer";
        let shown = pieces(text, &occurrences(text, "LEXER t"));
        let bright: Vec<&str> =
            shown.iter().filter(|(_, is_found)| *is_found).map(|(piece, _)| piece.as_str()).collect();
        assert_eq!(bright, ["T", "Lexer", "t", "lexer"]);
        assert_eq!(occurrences("İstanbul", "i"), [0; 0]);
        assert_eq!(occurrences(text, ""), [0; 0]);
    }

    #[test]
    fn spans_are_cut_to_their_room() {
        let (style, found) = (Style::from(Role::Text), Style::from(Role::Text).with(Emphasis::BOLD));
        let parts = || vec![("ab".to_owned(), false), ("cdef".to_owned(), true), ("g".to_owned(), false)];
        let shown = |room| spans(parts(), style, found, room);
        assert_eq!(shown(7), [Span::new("ab", style), Span::new("cdef", found), Span::new("g", style)]);
        assert_eq!(shown(4), [Span::new("ab", style), Span::new("c…", found)]);
    }
}
