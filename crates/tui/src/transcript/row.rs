//! Rows of the transcript on the screen.

use tiller_render::Line;

use crate::transcript::chunk::BlockPos;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scroll {
    /// Follows the end.
    #[default]
    Follows,
    /// Starts at this row of a block. The blank row above a block is its row 0.
    From { at: BlockPos, row: usize },
}

/// A row of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TranscriptRow {
    Blank,
    Line { at: BlockPos, line: usize },
}

/// A row to draw.
pub(crate) struct ShownRows<'a> {
    pub(crate) at: BlockPos,
    /// Line number in the block.
    pub(crate) number: usize,
    /// Indentation in columns.
    pub(crate) inset: usize,
    pub(crate) line: &'a Line,
}
