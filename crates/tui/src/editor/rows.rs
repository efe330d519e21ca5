//! Screen rows of a text: wrapping, and mapping between text positions and rows.

use std::borrow::Cow;
use std::ops::Range;

use tiller_render::{ControlChars, sanitize};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Width of a tab stop.
const TAB: usize = 4;

/// The rows of a text at a given width.
#[derive(Debug, Default)]
pub(super) struct EditorRows {
    rows: Vec<Range<usize>>,
    /// Width and text revision of `rows`.
    layout_key: Option<(usize, u64)>,
}

impl EditorRows {
    /// Wraps the text, unless width and revision are unchanged.
    pub(super) fn lay_out(&mut self, text: &str, revision: u64, width: usize) {
        let width = width.max(1);
        if self.layout_key == Some((width, revision)) {
            return;
        }
        self.rows.clear();
        let mut start = 0;
        for line in text.split('\n') {
            wrap(line, width, |row| self.rows.push(start + row.start..start + row.end));
            start += line.len() + 1;
        }
        self.layout_key = Some((width, revision));
    }

    pub(super) fn is_laid_out(&self) -> bool {
        self.layout_key.is_some()
    }

    /// Wraps the text again at the last width.
    pub(super) fn refresh(&mut self, text: &str, revision: u64) {
        let width = self.layout_key.map_or(usize::MAX, |(width, _)| width);
        self.lay_out(text, revision, width);
    }

    pub(super) fn count(&self) -> usize {
        self.rows.len().max(1)
    }

    pub(super) fn row(&self, at: usize) -> Range<usize> {
        self.rows.get(at).cloned().unwrap_or_default()
    }

    /// Row and column of a position. A position between two rows of a line belongs to the second.
    pub(super) fn place(&self, text: &str, at: usize) -> (usize, usize) {
        let row = self.rows.partition_point(|row| row.start <= at).saturating_sub(1);
        let before = text.get(self.row(row).start..at).unwrap_or_default();
        (row, width(before))
    }

    /// Returns the position in a row that is nearest to a column, but not beyond it.
    pub(super) fn at(&self, text: &str, row: usize, column: usize) -> usize {
        let range = self.row(row.min(self.count() - 1));
        let (mut at, mut used) = (range.start, 0);
        let is_wrapped = self.rows.get(row + 1).is_some_and(|next| next.start == range.end);
        for grapheme in text[range.clone()].graphemes(true) {
            let next = used + columns(grapheme, used);
            // The next row starts after the last character of a wrapped row.
            if next > column || (is_wrapped && at + grapheme.len() == range.end) {
                break;
            }
            used = next;
            at += grapheme.len();
        }
        at
    }
}

/// The displayed text of a row: tabs expanded, control characters made visible.
pub(super) fn row_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut column = 0;
    for grapheme in text.graphemes(true) {
        let glyph = shown(grapheme, column);
        column += glyph.width();
        out.push_str(&glyph);
    }
    out
}

fn width(text: &str) -> usize {
    text.graphemes(true).fold(0, |column, grapheme| column + columns(grapheme, column))
}

/// Width of a grapheme that starts at a column.
fn columns(grapheme: &str, column: usize) -> usize {
    match grapheme.as_bytes() {
        [b' '..=b'~'] => 1,
        _ => shown(grapheme, column).width(),
    }
}

/// The displayed form of a grapheme that starts at a column.
fn shown(grapheme: &str, column: usize) -> Cow<'_, str> {
    match grapheme {
        "\t" => Cow::Owned(" ".repeat(TAB - column % TAB)),
        // A lone escape would be taken for the start of a sequence.
        "\u{1b}" => Cow::Borrowed("␛"),
        _ => sanitize(grapheme, ControlChars::Visible),
    }
}

/// Passes the rows of one line to `row`: broken after blanks if possible, else between any two graphemes.
/// Blanks at the end of a row may exceed its width.
fn wrap(line: &str, max_columns: usize, mut row: impl FnMut(Range<usize>)) {
    let is_plain = line.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if is_plain && line.len() <= max_columns {
        row(0..line.len());
    } else if is_plain {
        // Every byte is a character; the grapheme search would take most of the time.
        wrap_characters(line.len(), (0..line.len()).map(|at| (at, &line[at..=at])), max_columns, row);
    } else {
        wrap_characters(line.len(), line.grapheme_indices(true), max_columns, row);
    }
}

fn wrap_characters<'a>(
    length: usize,
    characters: impl Iterator<Item = (usize, &'a str)>,
    max_columns: usize,
    mut row: impl FnMut(Range<usize>),
) {
    // The start of the row, the last possible break, and the columns up to each.
    let (mut start, mut gap) = (0, 0);
    let (mut used, mut used_at_gap) = (0, 0);
    for (at, grapheme) in characters {
        let columns = columns(grapheme, used);
        let is_blank = grapheme.chars().all(char::is_whitespace);
        while used + columns > max_columns && !is_blank && at > start {
            let end = if gap > start { gap } else { at };
            row(start..end);
            used -= if gap > start { used_at_gap } else { used };
            start = end;
        }
        used += columns;
        if is_blank {
            (gap, used_at_gap) = (at + grapheme.len(), used);
        }
    }
    row(start..length);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(text: &str, width: usize) -> Vec<&str> {
        let mut rows = EditorRows::default();
        rows.lay_out(text, 0, width);
        rows.rows.into_iter().map(|row| &text[row]).collect()
    }

    #[test]
    fn rows_break_at_blanks_or_inside_long_words() {
        assert_eq!(rows("one two three", 8), ["one two ", "three"]);
        assert_eq!(rows("one\n\ntwo", 8), ["one", "", "two"]);
        assert_eq!(rows("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(rows("a bcdefg", 4), ["a ", "bcde", "fg"]);
        assert_eq!(rows("ab   cd", 3), ["ab   ", "cd"]);
        assert_eq!(rows("日本語日本", 5), ["日本", "語日", "本"]);
        assert_eq!(rows("a 👩‍👩‍👧‍👦👩‍👩‍👧‍👦 b", 4), ["a ", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦 ", "b"]);
    }

    #[test]
    fn rows_column_and_position_round_trip() {
        let text = "日本語 ab\ncd";
        let mut rows = EditorRows::default();
        rows.lay_out(text, 0, 7);
        assert_eq!(rows.rows, [0..10, 10..12, 13..15]);
        assert_eq!(rows.place(text, 6), (0, 4));
        assert_eq!(rows.place(text, 10), (1, 0), "the end of a broken row is the beginning of the next");
        assert_eq!(rows.at(text, 0, 5), 6, "half of a wide character is none");
        assert_eq!(rows.at(text, 0, 99), 9);
        assert_eq!(rows.at(text, 1, 99), 12);
    }

    #[test]
    fn row_text_control_characters_are_visible() {
        assert_eq!(row_text("a\tb\u{1b}[2J\u{7}\u{202e}x"), "a   b␛[2J␇<U+202E>x");
        assert_eq!(width("a\tb"), 5);
    }

    proptest! {
        #[test]
        fn rows_cover_the_text_within_width(text in "(\\PC|[ \t\n]|日|é|👍🏽){0,60}", width in 2_usize..20) {
            let mut rows = EditorRows::default();
            rows.lay_out(&text, 0, width);
            let lost: String = text.chars().filter(|c| *c != '\n').collect();
            let kept: String = rows.rows.iter().map(|row| &text[row.clone()]).collect();
            prop_assert_eq!(kept, lost);
            for row in &rows.rows {
                let row = text[row.clone()].trim_end();
                prop_assert!(super::width(row) <= width || row.graphemes(true).count() == 1, "{row:?}");
            }
        }

        #[test]
        fn rows_every_position_has_a_place(text in "(\\PC|[ \t\n]){0,40}", width in 1_usize..12) {
            let mut rows = EditorRows::default();
            rows.lay_out(&text, 0, width);
            for (at, _) in text.grapheme_indices(true) {
                let (row, column) = rows.place(&text, at);
                prop_assert!(row < rows.count());
                let found = rows.at(&text, row, column);
                prop_assert_eq!(rows.place(&text, found), (row, column));
            }
        }
    }
}
