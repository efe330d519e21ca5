//! The viewport's state: the rows on the screen, the scroll position, the focused block and the
//! selection.

use crate::block::Mark;
use crate::layout::FoldDefaults;
use crate::transcript::anchor::{NextTop, TopRow};
use crate::transcript::chunk::BlockPos;
use crate::transcript::jump_target::JumpTarget;
use crate::transcript::row::{Scroll, TranscriptRow};
use crate::transcript::selection::Selection;

/// The rows on the screen and the scroll state.
#[derive(Debug, Default)]
pub(super) struct Viewport {
    pub(super) scroll: Scroll,
    pub(super) rows: Vec<TranscriptRow>,
    /// The text position of the top line, kept while its block is laid out again.
    pub(super) mark: Option<Mark>,
    /// Width and folds of the last layout; `None` after a block was folded or unfolded.
    pub(super) laid: Option<(usize, FoldDefaults)>,
    /// The scroll position found for a mark at the last layout; repeated layouts use the original mark.
    pub(super) found: Option<(Scroll, Mark)>,
    /// A pending jump.
    pub(super) goal: Option<JumpTarget>,
    /// The top line before a reload, until it is read.
    pub(super) former: Option<TopRow>,
    /// The position after the next reload.
    pub(super) next: NextTop,
    pub(super) focus: Option<BlockPos>,
    pub(super) selection: Option<Selection>,
    pub(super) new_below: UnseenBlocks,
}

/// Output below the screen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnseenBlocks {
    /// Number of blocks at the time when the end was left.
    pub(super) known: usize,
    pub(super) any: bool,
}

impl Viewport {
    /// Updates positions of blocks that moved.
    pub(super) fn move_places(&mut self, moved: impl Fn(BlockPos) -> BlockPos) {
        if let Scroll::From { at, .. } = &mut self.scroll {
            *at = moved(*at);
        }
        if let Some(at) = &mut self.focus {
            *at = moved(*at);
        }
        if let Some(selection) = &mut self.selection {
            selection.move_places(&moved);
        }
    }
}
