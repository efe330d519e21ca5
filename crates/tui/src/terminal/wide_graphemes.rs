//! Emoji of several characters. Terminals disagree on their width (tmux and screen show a flag as two
//! letters, a family as four people), so remains of such an emoji may be anywhere to the right in the row.
//!
//! When anything changes in a row with such an emoji, the whole screen is redrawn, and the rest of the row is
//! erased before each emoji is written. Other rows aren't affected.

use std::collections::BTreeSet;

use ratatui::buffer::Cell;
use unicode_width::UnicodeWidthStr as _;

/// A cell with its column and row.
pub(super) type PlacedCell<'a> = (u16, u16, &'a Cell);

/// The rows with emoji of several characters.
#[derive(Debug, Default)]
pub(super) struct WideGraphemes {
    rows: BTreeSet<u16>,
    writing: WriteMode,
}

/// The part of the screen that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WriteMode {
    #[default]
    Changes,
    /// The whole screen, which was cleared.
    Full,
    /// Nothing, because a full redraw is required instead.
    Nothing,
}

impl WideGraphemes {
    /// Starts a full redraw.
    pub(super) fn begin_full(&mut self) {
        self.rows.clear();
        self.writing = WriteMode::Full;
    }

    /// Checks the cells to write; returns false if a full redraw is required instead.
    pub(super) fn may_write(&mut self, cells: &[PlacedCell<'_>]) -> bool {
        let mut rows =
            cells.iter().filter(|cell| has_disputed_width(cell)).map(|(_, row, _)| *row).peekable();
        if self.writing == WriteMode::Full {
            self.rows.extend(rows);
        } else if rows.peek().is_some() || cells.iter().any(|(_, row, _)| self.rows.contains(row)) {
            self.writing = WriteMode::Nothing;
        }
        self.writing != WriteMode::Nothing
    }

    /// Returns true if a full redraw is required.
    pub(super) fn needs_full_redraw(&self) -> bool {
        self.writing == WriteMode::Nothing
    }

    /// Ends the frame.
    pub(super) fn finish(&mut self) {
        self.writing = WriteMode::Changes;
    }
}

/// Returns true if terminals may disagree on the width of a cell's text.
pub(super) fn has_disputed_width((.., cell): &PlacedCell<'_>) -> bool {
    let text = cell.symbol();
    let mut characters = text.chars();
    let (Some(_), Some(_)) = (characters.next(), characters.next()) else { return false };
    // Combining marks and joiners of letters are harmless.
    text.width() > 1
        && text.chars().any(
            |c| matches!(c, '\u{200d}' | '\u{fe0f}' | '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f3fb}'..='\u{1f3ff}'),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disputed(text: &str) -> bool {
        let mut cell = Cell::default();
        cell.set_symbol(text);
        has_disputed_width(&(0, 0, &cell))
    }

    #[test]
    fn has_disputed_width_only_for_emoji_sequences() {
        for text in ["🇨🇭", "👩‍👩‍👧", "👍🏽", "❤\u{fe0f}", "🏳\u{fe0f}‍🌈"] {
            assert!(disputed(text), "{text}");
        }
        for text in [" ", "a", "日", "🦀", "e\u{301}", "क\u{94d}", "ﷺ"] {
            assert!(!disputed(text), "{text}");
        }
    }

    #[test]
    fn wide_graphemes_row_requires_full_redraw() {
        let (mut flag, plain) = (Cell::default(), Cell::default());
        flag.set_symbol("🇨🇭");
        let mut clusters = WideGraphemes::default();
        assert!(clusters.may_write(&[(0, 1, &plain)]) && !clusters.needs_full_redraw());
        assert!(!clusters.may_write(&[(0, 1, &plain), (4, 1, &flag)]) && clusters.needs_full_redraw());
        clusters.begin_full();
        assert!(clusters.may_write(&[(0, 1, &plain), (4, 1, &flag)]) && !clusters.needs_full_redraw());
        clusters.finish();
        assert!(clusters.may_write(&[(9, 2, &plain)]), "another row");
        assert!(!clusters.may_write(&[(9, 1, &plain)]), "the row with the emoji");
        clusters.begin_full();
        assert!(clusters.may_write(&[(9, 1, &plain)]));
        clusters.finish();
        assert!(clusters.may_write(&[(9, 1, &plain)]), "the emoji is gone");
    }
}
