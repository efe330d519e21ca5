//! The mouse selection.
//!
//! A selection extends from one unit (character, word, line) to another. It belongs to the text, not to the
//! screen.

use std::ops::{Range, RangeInclusive};

use tiller_core::counted::counted;

use crate::transcript::chunk::BlockPos;

/// A position in a block: line and column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextPos {
    pub(crate) at: BlockPos,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// The unit of a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granularity {
    Character,
    Word,
    Line,
}

/// A selection between two units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(super) unit: Granularity,
    /// The first unit's range; the end is exclusive.
    pub(super) anchor: (TextPos, TextPos),
    pub(super) head: (TextPos, TextPos),
}

impl Selection {
    pub(super) fn range(&self) -> Range<TextPos> {
        self.anchor.0.min(self.head.0)..self.anchor.1.max(self.head.1)
    }

    /// Returns the parts of the path that the selection covers.
    pub(super) fn parts(&self) -> RangeInclusive<usize> {
        let range = self.range();
        range.start.at.part..=range.end.at.part
    }

    pub(super) fn move_places(&mut self, moved: impl Fn(BlockPos) -> BlockPos) {
        for spot in [&mut self.anchor.0, &mut self.anchor.1, &mut self.head.0, &mut self.head.1] {
            spot.at = moved(spot.at);
        }
    }
}

/// Describes the size of a text.
pub(crate) fn amount(text: &str) -> String {
    match text.lines().count() {
        0 | 1 => counted(text.chars().count(), "character", "characters"),
        count => format!("{count} lines"),
    }
}
