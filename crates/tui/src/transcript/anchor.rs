//! The top line of the screen, in a form that identifies it after a reload.

use std::ops::Range;

use tiller_core::id::EntryId;

use crate::block::Block;

/// State for the transcript that replaces this one.
#[derive(Debug)]
pub(crate) struct ScrollAnchor {
    /// Blocks of the streaming answer.
    pub(crate) live: Vec<Block>,
    /// The top line; `None` at the end.
    pub(super) top: Option<TopRow>,
}

/// The position after the reload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NextTop {
    #[default]
    End,
    /// The same top line.
    Same,
}

/// A line, identified by its log entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TopRow {
    pub(super) of: AnchorBlock,
    pub(super) row: usize,
    /// Number of entries before the line's part and before the next part. They precede it on every path that
    /// contains the entry.
    pub(super) before: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum AnchorBlock {
    /// A block of the entry, with its number.
    Entry(EntryId, usize),
    /// A block of the streaming answer, with its number.
    Live(usize),
}
