//! Emoji of several characters. Terminals don't agree on how many columns they take (tmux and screen show a flag as two letters, a family
//! as four people), so what they leave behind may lie anywhere behind them on their row.
//!
//! Where one was written, or is to be, and anything of its row changes, the screen is written whole; the rest of the row is erased behind
//! each of them before it is written. What stands elsewhere costs nothing.

use std::collections::BTreeSet;

use ratatui::buffer::Cell;
use unicode_width::UnicodeWidthStr as _;

/// A cell with its column and its row.
pub(super) type PlacedGrapheme<'a> = (u16, u16, &'a Cell);

/// The rows that have such emoji.
#[derive(Debug, Default)]
pub(super) struct WideGraphemes {
    rows: BTreeSet<u16>,
    writing: WriteMode,
}

/// What of the screen is being written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WriteMode {
    #[default]
    Changes,
    /// All of it: there is nothing on it yet.
    Whole,
    /// Nothing: all of it is to be written instead.
    Nothing,
}

impl WideGraphemes {
    /// From here on the screen is written whole.
    pub(super) fn begin_whole(&mut self) {
        self.rows.clear();
        self.writing = WriteMode::Whole;
    }

    /// Learns what is to be written; whether it may be, or everything has to.
    pub(super) fn may_write(&mut self, cells: &[PlacedGrapheme<'_>]) -> bool {
        let mut rows = cells.iter().filter(|cell| is_disputed(cell)).map(|(_, row, _)| *row).peekable();
        if self.writing == WriteMode::Whole {
            self.rows.extend(rows);
        } else if rows.peek().is_some() || cells.iter().any(|(_, row, _)| self.rows.contains(row)) {
            self.writing = WriteMode::Nothing;
        }
        self.writing != WriteMode::Nothing
    }

    /// Whether everything has to be written.
    pub(super) fn want_whole(&self) -> bool {
        self.writing == WriteMode::Nothing
    }

    /// The frame is over.
    pub(super) fn finish(&mut self) {
        self.writing = WriteMode::Changes;
    }
}

/// Whether terminals may not agree on how wide a cell's text is.
pub(super) fn is_disputed((.., cell): &PlacedGrapheme<'_>) -> bool {
    let text = cell.symbol();
    let mut characters = text.chars();
    let (Some(_), Some(_)) = (characters.next(), characters.next()) else { return false };
    // What joins letters or stands above them does no harm.
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
        is_disputed(&(0, 0, &cell))
    }

    #[test]
    fn only_emoji_of_several_characters_are_disputed() {
        for text in ["🇨🇭", "👩‍👩‍👧", "👍🏽", "❤\u{fe0f}", "🏳\u{fe0f}‍🌈"] {
            assert!(disputed(text), "{text}");
        }
        for text in [" ", "a", "日", "🦀", "e\u{301}", "क\u{94d}", "ﷺ"] {
            assert!(!disputed(text), "{text}");
        }
    }

    #[test]
    fn a_row_that_has_one_is_written_only_with_the_whole_screen() {
        let (mut flag, plain) = (Cell::default(), Cell::default());
        flag.set_symbol("🇨🇭");
        let mut clusters = WideGraphemes::default();
        assert!(clusters.may_write(&[(0, 1, &plain)]) && !clusters.want_whole());
        assert!(!clusters.may_write(&[(0, 1, &plain), (4, 1, &flag)]) && clusters.want_whole());
        clusters.begin_whole();
        assert!(clusters.may_write(&[(0, 1, &plain), (4, 1, &flag)]) && !clusters.want_whole());
        clusters.finish();
        assert!(clusters.may_write(&[(9, 2, &plain)]), "another row");
        assert!(!clusters.may_write(&[(9, 1, &plain)]), "what is behind it");
        clusters.begin_whole();
        assert!(clusters.may_write(&[(9, 1, &plain)]));
        clusters.finish();
        assert!(clusters.may_write(&[(9, 1, &plain)]), "it is gone");
    }
}
