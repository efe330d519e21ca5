//! Which rows of the transcript are on the screen, and scrolling.
//!
//! While it follows, the last row is at the bottom. Scrolled up, the line on top stays on top whatever arrives, is read, folded or
//! wrapped anew.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use tiller_render::Line;

use super::super::block::{Block, Mark};
use super::super::layout::{Folds, RenderContext};
use super::chunk::{Chunk, ChunkContent};
use super::reload::{NextTop, TopRow};
use super::selection::Selection;
use super::{BlockPos, Direction, FoldStep, JumpTarget, Transcript};

/// Blocks between the screen and what isn't in memory, below which that is read.
const NEAR: usize = 20;

/// Parts on either side of the screen that stay in memory.
const STAY: usize = 2;

/// What of the transcript is on the screen.
#[derive(Debug, Default)]
pub(super) struct Viewport {
    pub(super) scroll: Scroll,
    pub(super) rows: Vec<TranscriptRow>,
    /// Where the line on top is, when its block is about to be laid out anew.
    pub(super) mark: Option<Mark>,
    /// By what it was laid out; `None` when a block was folded or unfolded since.
    laid: Option<(usize, Folds)>,
    /// What the line on top was taken for when it was last found again: however often, it is still looked for by what it was first.
    found: Option<(Scroll, Mark)>,
    /// Where somebody wants to go, as soon as it is read.
    pub(super) goal: Option<JumpTarget>,
    /// What was on top before all was read anew, until it is read.
    pub(super) former: Option<TopRow>,
    /// What is to be on top when all is read anew.
    pub(super) next: NextTop,
    /// The block that keys are for.
    pub(super) focus: Option<BlockPos>,
    pub(super) selection: Option<Selection>,
    news: UnseenNotice,
}

/// What arrived below the screen.
#[derive(Clone, Copy, Debug, Default)]
struct UnseenNotice {
    /// Blocks there were when the end was left.
    known: usize,
    any: bool,
}

/// Which part of the transcript is on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scroll {
    /// Its end, whatever is added.
    #[default]
    Follows,
    /// From this row of this block on; the free row above a block is its first.
    From { at: BlockPos, row: usize },
}

/// A row of the screen: a block's line, or free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TranscriptRow {
    Free,
    Line { at: BlockPos, line: usize },
}

/// A row as it is drawn.
pub(crate) struct ShownRows<'a> {
    pub(crate) at: BlockPos,
    /// Its number in the block.
    pub(crate) number: usize,
    /// Columns left free.
    pub(crate) inset: usize,
    pub(crate) line: &'a Line,
}

impl Transcript {
    /// Lays out the `height` rows that are on the screen.
    pub(crate) fn lay_out(&mut self, height: usize, ctx: &RenderContext) {
        self.reach_goal();
        self.keep_place(ctx);
        match self.view.scroll {
            Scroll::Follows => self.view.rows = self.rows_up(self.end(), height, ctx),
            // What is on the screen stays until it is read.
            Scroll::From { at, .. } if self.count(at.part).is_none() => return,
            Scroll::From { at, row } => self.lay_out_from(at, row, height, ctx),
        }
        self.forget_far();
    }

    fn lay_out_from(&mut self, at: BlockPos, row: usize, height: usize, ctx: &RenderContext) {
        let (rows, end) = self.rows_from(at, row, height, ctx);
        if rows.len() >= height {
            self.view.rows = rows;
            return;
        }
        let (bottom, is_end) = match end {
            FoldStep::Unread(part) => (BlockPos { part, block: 0 }, false),
            FoldStep::To(_) | FoldStep::End => (self.end(), true),
        };
        self.view.rows = self.rows_up(bottom, height, ctx);
        if is_end {
            self.follow();
        } else if let Some((at, row)) = self.first_row() {
            self.stay(at, row);
        }
    }

    /// The line on top is where scrolling begins from now on.
    pub(super) fn stay_at_top(&mut self) {
        if let Some((at, row)) = self.top() {
            self.stay(at, row);
        }
    }

    /// Shows this row on top, whatever is added.
    pub(super) fn stay(&mut self, at: BlockPos, row: usize) {
        if self.view.scroll == Scroll::Follows {
            self.view.news = UnseenNotice { known: self.blocks(), any: false };
        }
        self.view.scroll = Scroll::From { at, row };
    }

    /// Keeps the line on top where it is when its block is laid out anew: for another width, or unfolded.
    fn keep_place(&mut self, ctx: &RenderContext) {
        let by = Some((ctx.width, ctx.folds));
        if self.view.laid != by {
            self.view.laid = by;
            self.view.selection = None;
            self.mark_place();
        }
        let (Some(mark), Scroll::From { at, .. }) = (self.view.mark.take(), self.view.scroll) else { return };
        let gap = usize::from(self.gap(at));
        let line = self.block_mut(at).map_or(0, |block| {
            block.measure(ctx);
            block.line_of(mark)
        });
        self.view.scroll = Scroll::From { at, row: line + gap };
        self.view.found = Some((self.view.scroll, mark));
    }

    /// Whether the rows are those of the last time still: nothing was folded or unfolded since.
    pub(super) fn is_laid_out(&self, ctx: &RenderContext) -> bool {
        self.view.laid == Some((ctx.width, ctx.folds))
    }

    /// A block was folded or unfolded by itself: its rows are others.
    pub(super) fn refolded(&mut self) {
        self.view.laid = None;
    }

    /// Remembers which line is on top by what it says.
    pub(super) fn mark_place(&mut self) {
        let Scroll::From { at, row } = self.view.scroll else { return };
        let line = row.checked_sub(usize::from(self.gap(at)));
        let first = self.view.found.filter(|(scroll, _)| *scroll == self.view.scroll).map(|(_, mark)| mark);
        self.view.mark = self.view.mark.or(first).or(line.and_then(|line| self.block(at)?.mark(line)));
    }

    /// The answer that arrived is in the log: what was said of its blocks holds for those that take their place, which are as many
    /// but for the empty ones.
    pub(crate) fn end_live(&mut self) {
        self.mark_place();
        let live = std::mem::take(&mut self.live);
        let first = self.end();
        let moved = |at: BlockPos| match at.block.checked_sub(first.block) {
            Some(index) if at.part == first.part => {
                let said = live.iter().take(index).filter(|block| !block.is_blank()).count();
                BlockPos { block: first.block + said, ..at }
            }
            _ => at,
        };
        self.view.move_places(moved);
    }

    /// Blocks from a place on get numbers by one higher.
    pub(super) fn make_room(&mut self, from: BlockPos) {
        let moved = |at: BlockPos| match at.part == from.part && at.block >= from.block {
            true => BlockPos { block: at.block + 1, ..at },
            false => at,
        };
        self.view.move_places(moved);
    }

    /// A block is gone: those after it get numbers by one lower, and it was no news.
    pub(super) fn close_gap(&mut self, gone: BlockPos) {
        let moved = |at: BlockPos| match at.part == gone.part && at.block > gone.block {
            true => BlockPos { block: at.block - 1, ..at },
            false => at,
        };
        self.view.move_places(moved);
        self.view.news.known = self.view.news.known.min(self.blocks());
    }

    /// Something was added to the live blocks, or below them.
    pub(crate) fn grew(&mut self) {
        self.view.news.any |= self.view.scroll != Scroll::Follows;
    }

    /// How many blocks arrived below the screen; `None` when nothing did.
    pub(crate) fn news(&self) -> Option<usize> {
        self.view.news.any.then(|| self.blocks().saturating_sub(self.view.news.known))
    }

    /// Blocks that were added at the end so far and are there still.
    fn blocks(&self) -> usize {
        self.added - self.removed + self.live.iter().filter(|block| !block.is_blank()).count()
    }

    /// Whether the end is on the screen, whatever is added.
    pub(crate) fn follows(&self) -> bool {
        self.view.scroll == Scroll::Follows
    }

    /// Goes to the end and stays there.
    pub(crate) fn follow(&mut self) {
        self.view.scroll = Scroll::Follows;
        self.view.news = UnseenNotice::default();
    }

    /// Whether some block on the screen changes by itself.
    pub(crate) fn is_alive(&self) -> bool {
        self.shows_one(Block::is_alive)
    }

    /// Whether some block on the screen has text that its lines don't show yet.
    pub(crate) fn lags(&self) -> bool {
        self.shows_one(Block::lags)
    }

    fn shows_one(&self, which: fn(&Block) -> bool) -> bool {
        self.view.rows.iter().any(|row| match row {
            TranscriptRow::Line { at, .. } => self.block(*at).is_some_and(which),
            TranscriptRow::Free => false,
        })
    }

    /// Rows of a block, the free one above it among them.
    pub(super) fn height(&mut self, at: BlockPos, ctx: &RenderContext) -> usize {
        let lines = self.block_mut(at).map_or(0, |block| block.measure(ctx));
        lines + usize::from(lines > 0 && self.gap(at))
    }

    /// Whether the row above a block is free. What isn't in memory is taken for what mostly stands before such a block.
    pub(super) fn gap(&self, at: BlockPos) -> bool {
        let Some(block) = self.block(at) else { return false };
        let mut above = self.before(at);
        while let FoldStep::To(silent) = above
            && self.block(silent).is_some_and(Block::is_silent)
        {
            above = self.before(silent);
        }
        match above {
            FoldStep::To(above) => self.block(above).is_some_and(|above| block.stands_apart(above)),
            FoldStep::Unread(_) => !block.is_call(),
            FoldStep::End => false,
        }
    }

    /// Goes `count` rows up, or as far as there is something in memory.
    pub(crate) fn scroll_up(&mut self, mut count: usize, ctx: &RenderContext) {
        let Some((mut at, mut row)) = self.top() else { return };
        while count > row {
            let FoldStep::To(above) = self.before(at) else {
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

    /// Goes `count` rows down; at the end it follows again.
    pub(crate) fn scroll_down(&mut self, count: usize, ctx: &RenderContext) {
        let Scroll::From { mut at, row } = self.view.scroll else { return };
        let mut row = row + count;
        loop {
            let height = self.height(at, ctx);
            if row < height {
                break;
            }
            let FoldStep::To(below) = self.after(at) else {
                row = row.min(height.saturating_sub(1));
                break;
            };
            row -= height;
            at = below;
        }
        self.view.goal = None;
        self.view.scroll = Scroll::From { at, row };
    }

    /// The row on top: its block, and which of its rows.
    pub(super) fn top(&self) -> Option<(BlockPos, usize)> {
        match self.view.scroll {
            Scroll::From { at, row } => Some((at, row)),
            Scroll::Follows => self.first_row(),
        }
    }

    fn first_row(&self) -> Option<(BlockPos, usize)> {
        match *self.view.rows.first()? {
            TranscriptRow::Line { at, line } => Some((at, line + usize::from(self.gap(at)))),
            TranscriptRow::Free => match *self.view.rows.get(1)? {
                TranscriptRow::Line { at, .. } => Some((at, 0)),
                TranscriptRow::Free => None,
            },
        }
    }

    /// The `height` rows from one on, and what stopped it when there are fewer.
    fn rows_from(
        &mut self,
        from: BlockPos,
        skip: usize,
        height: usize,
        ctx: &RenderContext,
    ) -> (Vec<TranscriptRow>, FoldStep) {
        let (mut rows, mut skip) = (Vec::new(), skip);
        let mut step = self.from(from);
        while rows.len() < height {
            let FoldStep::To(at) = step else { return (rows, step) };
            let count = self.height(at, ctx);
            skip = skip.min(if at == from { count.saturating_sub(1) } else { 0 });
            let last = count.min(skip + height - rows.len());
            rows.extend(self.rows_of(at, std::mem::take(&mut skip)..last));
            step = self.after(at);
        }
        (rows, step)
    }

    /// The last `height` rows before a place.
    pub(super) fn rows_up(
        &mut self,
        mut end: BlockPos,
        height: usize,
        ctx: &RenderContext,
    ) -> Vec<TranscriptRow> {
        let (mut parts, mut missing) = (Vec::new(), height);
        while missing > 0
            && let FoldStep::To(at) = self.before(end)
        {
            let count = self.height(at, ctx);
            let taken = count.min(missing);
            parts.push((at, count - taken..count));
            missing -= taken;
            end = at;
        }
        parts.into_iter().rev().flat_map(|(at, rows)| self.rows_of(at, rows)).collect()
    }

    /// Rows of a block that was measured, the free one above it being the first: no more than are asked for, of a block however long.
    fn rows_of(&self, at: BlockPos, rows: Range<usize>) -> impl Iterator<Item = TranscriptRow> + use<> {
        let gap = usize::from(self.gap(at));
        rows.map(move |row| {
            row.checked_sub(gap).map_or(TranscriptRow::Free, |line| TranscriptRow::Line { at, line })
        })
    }

    /// What is on the screen, top to bottom; `None` is a free row.
    pub(crate) fn visible(&self) -> impl Iterator<Item = Option<ShownRows<'_>>> {
        self.view.rows.iter().map(|row| match *row {
            TranscriptRow::Free => None,
            TranscriptRow::Line { at, line: number } => {
                let block = self.block(at)?;
                Some(ShownRows { at, number, inset: block.inset(), line: block.line(number)? })
            }
        })
    }

    /// Where the links on the screen lead, once for each piece of text.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Arc<str>> {
        let lines = self.visible().flatten().map(|row| row.line);
        lines.flat_map(|line| &line.spans).filter_map(|span| span.link.as_ref())
    }

    /// The blocks on the screen, first and last.
    pub(super) fn on_screen(&self) -> Option<(BlockPos, BlockPos)> {
        let place = |row: &TranscriptRow| match row {
            TranscriptRow::Line { at, .. } => Some(*at),
            TranscriptRow::Free => None,
        };
        Some((self.view.rows.iter().find_map(place)?, self.view.rows.iter().rev().find_map(place)?))
    }

    /// Parts that should be in memory: those that the screen comes near, and those around where somebody wants to go.
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

    /// A part that isn't in memory within a few blocks of a place.
    fn unread(&self, mut at: BlockPos, toward: Direction) -> Option<usize> {
        for _ in 0..NEAR {
            match self.next(at, toward) {
                FoldStep::To(next) => at = next,
                FoldStep::Unread(part) => return Some(part),
                FoldStep::End => break,
            }
        }
        None
    }

    /// Forgets what is far from the screen and can be read again.
    fn forget_far(&mut self) {
        let Some((first, last)) = self.on_screen() else { return };
        let stays: BTreeSet<usize> =
            self.calls.values().copied().chain(self.focus()).map(|at| at.part).collect();
        let near = self.near();
        let marked = self.view.selection.as_ref().map(Selection::parts);
        let newest = self.parts.len().saturating_sub(STAY);
        for (number, part) in self.parts.iter_mut().enumerate().take(newest) {
            let is_near = number + STAY >= first.part && number <= last.part + STAY;
            let is_wanted = near.contains(&Some(number)) || stays.contains(&number);
            let is_marked = marked.as_ref().is_some_and(|parts| parts.contains(&number));
            if matches!(part.content, ChunkContent::Read(_)) && !is_near && !is_wanted && !is_marked {
                Chunk::forget(part);
            }
        }
    }
}

impl Viewport {
    fn move_places(&mut self, moved: impl Fn(BlockPos) -> BlockPos) {
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
