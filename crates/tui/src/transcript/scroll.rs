//! Layout of the rows on the screen, and scrolling.
//!
//! At the end, the last row is at the bottom of the screen. Elsewhere, the top line stays in place when text
//! is appended, read, folded or wrapped again.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::block::Block;
use crate::layout::RenderContext;
use crate::transcript::chunk::{BlockPos, Chunk, ChunkContent};
use crate::transcript::jump_target::{Direction, JumpTarget};
use crate::transcript::row::{Scroll, ShownRows, TranscriptRow};
use crate::transcript::selection::Selection;
use crate::transcript::viewport::UnseenBlocks;
use crate::transcript::{BlockStep, Transcript};

/// Distance in blocks at which an unloaded part is read.
const NEAR: usize = 20;

/// Number of parts kept in memory on each side of the screen.
const STAY: usize = 2;

impl Transcript {
    /// Lays out the rows for a screen of `height` rows.
    pub(crate) fn lay_out(&mut self, height: usize, ctx: &RenderContext) {
        self.reach_goal();
        self.keep_top_line(ctx);
        match self.view.scroll {
            Scroll::Follows => self.view.rows = self.rows_up(self.end(), height, ctx),
            // The screen doesn't move until the part is read.
            Scroll::From { at, .. } if self.count(at.part).is_none() => return,
            Scroll::From { at, row } => self.lay_out_from(at, row, height, ctx),
        }
        self.drop_distant();
    }

    fn lay_out_from(&mut self, at: BlockPos, row: usize, height: usize, ctx: &RenderContext) {
        let (rows, end) = self.rows_from(at, row, height, ctx);
        if rows.len() >= height {
            self.view.rows = rows;
            return;
        }
        let (bottom, is_end) = match end {
            BlockStep::Unread(part) => (BlockPos { part, block: 0 }, false),
            BlockStep::To(_) | BlockStep::End => (self.end(), true),
        };
        self.view.rows = self.rows_up(bottom, height, ctx);
        if is_end {
            self.follow();
        } else if let Some((at, row)) = self.first_row() {
            self.stay(at, row);
        }
    }

    /// Makes the current top line fixed.
    pub(super) fn stay_at_top(&mut self) {
        if let Some((at, row)) = self.top() {
            self.stay(at, row);
        }
    }

    /// Makes a row the fixed top line.
    pub(super) fn stay(&mut self, at: BlockPos, row: usize) {
        if self.view.scroll == Scroll::Follows {
            self.view.new_below = UnseenBlocks { known: self.blocks(), any: false };
        }
        self.view.scroll = Scroll::From { at, row };
    }

    /// Preserves the top line's text position when its block is laid out again with another width or fold
    /// state.
    fn keep_top_line(&mut self, ctx: &RenderContext) {
        let by = Some((ctx.width, ctx.folds));
        if self.view.laid != by {
            self.view.laid = by;
            self.view.selection = None;
            self.mark_top_line();
        }
        let (Some(mark), Scroll::From { at, .. }) = (self.view.mark.take(), self.view.scroll) else { return };
        let gap = usize::from(self.has_blank_row_above(at));
        let line = self.block_mut(at).map_or(0, |block| {
            block.lay_out(ctx);
            block.line_of(mark)
        });
        self.view.scroll = Scroll::From { at, row: line + gap };
        self.view.found = Some((self.view.scroll, mark));
    }

    /// Returns true if the rows of the last layout are still valid.
    pub(super) fn is_laid_out(&self, ctx: &RenderContext) -> bool {
        self.view.laid == Some((ctx.width, ctx.folds))
    }

    /// Invalidates the layout after a block was folded or unfolded.
    pub(super) fn invalidate_layout(&mut self) {
        self.view.laid = None;
    }

    /// Records the text position of the top line.
    pub(super) fn mark_top_line(&mut self) {
        let Scroll::From { at, row } = self.view.scroll else { return };
        let line = row.checked_sub(usize::from(self.has_blank_row_above(at)));
        let first = self.view.found.filter(|(scroll, _)| *scroll == self.view.scroll).map(|(_, mark)| mark);
        self.view.mark = self.view.mark.or(first).or(line.and_then(|line| self.block(at)?.mark(line)));
    }

    /// Ends the streaming answer, which is now in the log. Positions move to the log's blocks, which are the
    /// same except for empty ones.
    pub(crate) fn end_streaming(&mut self) {
        self.mark_top_line();
        let live = std::mem::take(&mut self.live);
        let first = self.end();
        let moved = |at: BlockPos| match at.block.checked_sub(first.block) {
            Some(index) if at.part == first.part => {
                let index = live.iter().take(index).filter(|block| !block.is_blank()).count();
                BlockPos { block: first.block + index, ..at }
            }
            _ => at,
        };
        self.view.move_places(moved);
    }

    /// Shifts positions after a block is inserted.
    pub(super) fn make_room(&mut self, from: BlockPos) {
        let moved = |at: BlockPos| match at.part == from.part && at.block >= from.block {
            true => BlockPos { block: at.block + 1, ..at },
            false => at,
        };
        self.view.move_places(moved);
    }

    /// Shifts positions after a block is removed.
    pub(super) fn close_gap(&mut self, removed: BlockPos) {
        let moved = |at: BlockPos| match at.part == removed.part && at.block > removed.block {
            true => BlockPos { block: at.block - 1, ..at },
            false => at,
        };
        self.view.move_places(moved);
        self.view.new_below.known = self.view.new_below.known.min(self.blocks());
    }

    /// Records that the streaming answer grew or something followed it.
    pub(crate) fn note_growth(&mut self) {
        self.view.new_below.any |= self.view.scroll != Scroll::Follows;
    }

    /// Number of new blocks below the screen; `None` if there is no new output.
    pub(crate) fn new_below(&self) -> Option<usize> {
        self.view.new_below.any.then(|| self.blocks().saturating_sub(self.view.new_below.known))
    }

    /// Number of blocks added at the end and not removed.
    fn blocks(&self) -> usize {
        self.added - self.removed + self.live.iter().filter(|block| !block.is_blank()).count()
    }

    /// Returns true if the screen follows the end.
    pub(crate) fn follows(&self) -> bool {
        self.view.scroll == Scroll::Follows
    }

    /// Scrolls to the end and follows it.
    pub(crate) fn follow(&mut self) {
        self.view.scroll = Scroll::Follows;
        self.view.new_below = UnseenBlocks::default();
    }

    /// Returns true if a block on the screen changes with time.
    pub(crate) fn is_alive(&self) -> bool {
        self.any_on_screen(Block::is_animated)
    }

    /// Returns true if a block on the screen has text that its lines don't show yet.
    pub(crate) fn lags(&self) -> bool {
        self.any_on_screen(Block::lags)
    }

    fn any_on_screen(&self, which: fn(&Block) -> bool) -> bool {
        self.view.rows.iter().any(|row| match row {
            TranscriptRow::Line { at, .. } => self.block(*at).is_some_and(which),
            TranscriptRow::Blank => false,
        })
    }

    /// Number of rows of a block, including the blank row above.
    pub(super) fn height(&mut self, at: BlockPos, ctx: &RenderContext) -> usize {
        let lines = self.block_mut(at).map_or(0, |block| block.lay_out(ctx));
        lines + usize::from(lines > 0 && self.has_blank_row_above(at))
    }

    /// Scrolls up by `count` rows, as far as blocks are in memory.
    pub(crate) fn scroll_up(&mut self, mut count: usize, ctx: &RenderContext) {
        let Some((mut at, mut row)) = self.top() else { return };
        while count > row {
            let BlockStep::To(above) = self.before(at) else {
                count = row;
                break;
            };
            count -= row;
            at = above;
            row = self.height(at, ctx);
        }
        self.view.goal = None;
        self.stay(at, row - count);
    }

    /// Scrolls down by `count` rows; follows the end again when it is reached.
    pub(crate) fn scroll_down(&mut self, count: usize, ctx: &RenderContext) {
        let Scroll::From { mut at, row } = self.view.scroll else { return };
        let mut row = row + count;
        loop {
            let height = self.height(at, ctx);
            if row < height {
                break;
            }
            let BlockStep::To(below) = self.after(at) else {
                row = row.min(height.saturating_sub(1));
                break;
            };
            row -= height;
            at = below;
        }
        self.view.goal = None;
        self.view.scroll = Scroll::From { at, row };
    }

    /// The top line: its block and row.
    pub(super) fn top(&self) -> Option<(BlockPos, usize)> {
        match self.view.scroll {
            Scroll::From { at, row } => Some((at, row)),
            Scroll::Follows => self.first_row(),
        }
    }

    fn first_row(&self) -> Option<(BlockPos, usize)> {
        match *self.view.rows.first()? {
            TranscriptRow::Line { at, line } => Some((at, line + usize::from(self.has_blank_row_above(at)))),
            TranscriptRow::Blank => match *self.view.rows.get(1)? {
                TranscriptRow::Line { at, .. } => Some((at, 0)),
                TranscriptRow::Blank => None,
            },
        }
    }

    /// Up to `height` rows starting at a position, and the reason if there are fewer.
    fn rows_from(
        &mut self,
        from: BlockPos,
        skip: usize,
        height: usize,
        ctx: &RenderContext,
    ) -> (Vec<TranscriptRow>, BlockStep) {
        let (mut rows, mut skip) = (Vec::new(), skip);
        let mut step = self.from(from);
        while rows.len() < height {
            let BlockStep::To(at) = step else { return (rows, step) };
            let count = self.height(at, ctx);
            skip = skip.min(if at == from { count.saturating_sub(1) } else { 0 });
            let last = count.min(skip + height - rows.len());
            rows.extend(self.rows_of(at, std::mem::take(&mut skip)..last));
            step = self.after(at);
        }
        (rows, step)
    }

    /// The last `height` rows before a position.
    pub(super) fn rows_up(
        &mut self,
        mut end: BlockPos,
        height: usize,
        ctx: &RenderContext,
    ) -> Vec<TranscriptRow> {
        let (mut parts, mut missing) = (Vec::new(), height);
        while missing > 0
            && let BlockStep::To(at) = self.before(end)
        {
            let count = self.height(at, ctx);
            let count_taken = count.min(missing);
            parts.push((at, count - count_taken..count));
            missing -= count_taken;
            end = at;
        }
        parts.into_iter().rev().flat_map(|(at, rows)| self.rows_of(at, rows)).collect()
    }

    /// Returns rows of a block that was laid out; row 0 may be the blank one. Only the requested rows are
    /// produced.
    fn rows_of(&self, at: BlockPos, rows: Range<usize>) -> impl Iterator<Item = TranscriptRow> + use<> {
        let gap = usize::from(self.has_blank_row_above(at));
        rows.map(move |row| {
            row.checked_sub(gap).map_or(TranscriptRow::Blank, |line| TranscriptRow::Line { at, line })
        })
    }

    /// The rows on the screen, top to bottom; `None` is a blank row.
    pub(crate) fn visible(&self) -> impl Iterator<Item = Option<ShownRows<'_>>> {
        self.view.rows.iter().map(|row| match *row {
            TranscriptRow::Blank => None,
            TranscriptRow::Line { at, line: number } => {
                let block = self.block(at)?;
                Some(ShownRows { at, number, inset: block.inset(), line: block.line(number)? })
            }
        })
    }

    /// The link targets on the screen, one for each piece of text.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Arc<str>> {
        let lines = self.visible().flatten().map(|row| row.line);
        lines.flat_map(|line| &line.spans).filter_map(|span| span.link.as_ref())
    }

    /// The first and the last block on the screen.
    pub(super) fn on_screen(&self) -> Option<(BlockPos, BlockPos)> {
        let position = |row: &TranscriptRow| match row {
            TranscriptRow::Line { at, .. } => Some(*at),
            TranscriptRow::Blank => None,
        };
        Some((self.view.rows.iter().find_map(position)?, self.view.rows.iter().rev().find_map(position)?))
    }

    /// Returns the parts that should be in memory: near the screen, and around a jump target.
    pub(super) fn near(&self) -> [Option<usize>; 5] {
        let (first, last) = self.on_screen().unwrap_or((self.end(), self.end()));
        let goal = self.view.goal.as_ref().map(JumpTarget::part);
        let near = [
            self.unread(first, Direction::Older),
            self.unread(last, Direction::Newer),
            goal,
            goal.and_then(|part| part.checked_sub(1)),
            goal.map(|part| part + 1),
        ];
        near.map(|part| part.filter(|part| *part < self.parts.len()))
    }

    /// Returns an unloaded part within a few blocks of a position.
    fn unread(&self, mut at: BlockPos, toward: Direction) -> Option<usize> {
        for _ in 0..NEAR {
            match self.next(at, toward) {
                BlockStep::To(next) => at = next,
                BlockStep::Unread(part) => return Some(part),
                BlockStep::End => break,
            }
        }
        None
    }

    /// Drops parts that are far from the screen.
    fn drop_distant(&mut self) {
        let Some((first, last)) = self.on_screen() else { return };
        let stays: BTreeSet<usize> =
            self.calls.values().copied().chain(self.focus()).map(|at| at.part).collect();
        let near = self.near();
        let selected = self.view.selection.as_ref().map(Selection::parts);
        let newest = self.parts.len().saturating_sub(STAY);
        for (number, part) in self.parts.iter_mut().enumerate().take(newest) {
            let is_near = number + STAY >= first.part && number <= last.part + STAY;
            let is_needed = near.contains(&Some(number)) || stays.contains(&number);
            let is_selected = selected.as_ref().is_some_and(|parts| parts.contains(&number));
            if matches!(part.content, ChunkContent::Read(_)) && !is_near && !is_needed && !is_selected {
                Chunk::forget(part);
            }
        }
    }
}
