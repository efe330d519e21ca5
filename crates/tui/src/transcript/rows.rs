//! Which rows of the transcript are on the screen, and scrolling.
//!
//! While it follows, the last row is at the bottom. Scrolled up, the line on top stays on top whatever arrives, is read, folded or
//! wrapped anew.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use tiller_render::Line;

use super::super::block::{Block, Mark};
use super::super::layout::{Ctx, Folds};
use super::anew::{NextTop, Top};
use super::part::{Content, Part};
use super::select::Selection;
use super::{At, Goal, Step, Toward, Transcript};

/// Blocks between the screen and what isn't in memory, below which that is read.
const NEAR: usize = 20;

/// Parts on either side of the screen that stay in memory.
const STAY: usize = 2;

/// What of the transcript is on the screen.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) scroll: Scroll,
    pub(super) rows: Vec<Row>,
    /// Where the line on top is, when its block is about to be laid out anew.
    pub(super) mark: Option<Mark>,
    /// By what it was laid out; `None` when a block was folded or unfolded since.
    laid: Option<(usize, Folds)>,
    /// What the line on top was taken for when it was last found again: however often, it is still looked for by what it was first.
    found: Option<(Scroll, Mark)>,
    /// Where somebody wants to go, as soon as it is read.
    pub(super) goal: Option<Goal>,
    /// What was on top before all was read anew, until it is read.
    pub(super) former: Option<Top>,
    /// What is to be on top when all is read anew.
    pub(super) next: NextTop,
    /// The block that keys are for.
    pub(super) focus: Option<At>,
    pub(super) selection: Option<Selection>,
    news: News,
}

/// What arrived below the screen.
#[derive(Clone, Copy, Debug, Default)]
struct News {
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
    From { at: At, row: usize },
}

/// A row of the screen: a block's line, or free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    Free,
    Line { at: At, line: usize },
}

/// A row as it is drawn.
pub(crate) struct Shown<'a> {
    pub(crate) at: At,
    /// Its number in the block.
    pub(crate) number: usize,
    /// Columns left free.
    pub(crate) inset: usize,
    pub(crate) line: &'a Line,
}

impl Transcript {
    /// Lays out the `height` rows that are on the screen.
    pub(crate) fn lay_out(&mut self, height: usize, ctx: &Ctx) {
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

    fn lay_out_from(&mut self, at: At, row: usize, height: usize, ctx: &Ctx) {
        let (rows, end) = self.rows_from(at, row, height, ctx);
        if rows.len() >= height {
            self.view.rows = rows;
            return;
        }
        let (bottom, is_end) = match end {
            Step::Unread(part) => (At { part, block: 0 }, false),
            Step::To(_) | Step::End => (self.end(), true),
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
    pub(super) fn stay(&mut self, at: At, row: usize) {
        if self.view.scroll == Scroll::Follows {
            self.view.news = News { known: self.blocks(), any: false };
        }
        self.view.scroll = Scroll::From { at, row };
    }

    /// Keeps the line on top where it is when its block is laid out anew: for another width, or unfolded.
    fn keep_place(&mut self, ctx: &Ctx) {
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
    pub(super) fn is_laid_out(&self, ctx: &Ctx) -> bool {
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
        let moved = |at: At| match at.block.checked_sub(first.block) {
            Some(index) if at.part == first.part => {
                let said = live.iter().take(index).filter(|block| !block.is_blank()).count();
                At { block: first.block + said, ..at }
            }
            _ => at,
        };
        self.view.move_places(moved);
    }

    /// Blocks from a place on get numbers by one higher.
    pub(super) fn make_room(&mut self, from: At) {
        let moved = |at: At| match at.part == from.part && at.block >= from.block {
            true => At { block: at.block + 1, ..at },
            false => at,
        };
        self.view.move_places(moved);
    }

    /// A block is gone: those after it get numbers by one lower, and it was no news.
    pub(super) fn close_gap(&mut self, gone: At) {
        let moved = |at: At| match at.part == gone.part && at.block > gone.block {
            true => At { block: at.block - 1, ..at },
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
        self.view.news = News::default();
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
            Row::Line { at, .. } => self.block(*at).is_some_and(which),
            Row::Free => false,
        })
    }

    /// Rows of a block, the free one above it among them.
    pub(super) fn height(&mut self, at: At, ctx: &Ctx) -> usize {
        let lines = self.block_mut(at).map_or(0, |block| block.measure(ctx));
        lines + usize::from(lines > 0 && self.gap(at))
    }

    /// Whether the row above a block is free. What isn't in memory is taken for what mostly stands before such a block.
    pub(super) fn gap(&self, at: At) -> bool {
        let Some(block) = self.block(at) else { return false };
        let mut above = self.before(at);
        while let Step::To(silent) = above
            && self.block(silent).is_some_and(Block::is_silent)
        {
            above = self.before(silent);
        }
        match above {
            Step::To(above) => self.block(above).is_some_and(|above| block.stands_apart(above)),
            Step::Unread(_) => !block.is_call(),
            Step::End => false,
        }
    }

    /// Goes `count` rows up, or as far as there is something in memory.
    pub(crate) fn scroll_up(&mut self, mut count: usize, ctx: &Ctx) {
        let Some((mut at, mut row)) = self.top() else { return };
        while count > row {
            let Step::To(above) = self.before(at) else {
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
    pub(crate) fn scroll_down(&mut self, count: usize, ctx: &Ctx) {
        let Scroll::From { mut at, row } = self.view.scroll else { return };
        let mut row = row + count;
        loop {
            let height = self.height(at, ctx);
            if row < height {
                break;
            }
            let Step::To(below) = self.after(at) else {
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
    pub(super) fn top(&self) -> Option<(At, usize)> {
        match self.view.scroll {
            Scroll::From { at, row } => Some((at, row)),
            Scroll::Follows => self.first_row(),
        }
    }

    fn first_row(&self) -> Option<(At, usize)> {
        match *self.view.rows.first()? {
            Row::Line { at, line } => Some((at, line + usize::from(self.gap(at)))),
            Row::Free => match *self.view.rows.get(1)? {
                Row::Line { at, .. } => Some((at, 0)),
                Row::Free => None,
            },
        }
    }

    /// The `height` rows from one on, and what stopped it when there are fewer.
    fn rows_from(&mut self, from: At, skip: usize, height: usize, ctx: &Ctx) -> (Vec<Row>, Step) {
        let (mut rows, mut skip) = (Vec::new(), skip);
        let mut step = self.from(from);
        while rows.len() < height {
            let Step::To(at) = step else { return (rows, step) };
            let count = self.height(at, ctx);
            skip = skip.min(if at == from { count.saturating_sub(1) } else { 0 });
            let last = count.min(skip + height - rows.len());
            rows.extend(self.rows_of(at, std::mem::take(&mut skip)..last));
            step = self.after(at);
        }
        (rows, step)
    }

    /// The last `height` rows before a place.
    pub(super) fn rows_up(&mut self, mut end: At, height: usize, ctx: &Ctx) -> Vec<Row> {
        let (mut parts, mut missing) = (Vec::new(), height);
        while missing > 0
            && let Step::To(at) = self.before(end)
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
    fn rows_of(&self, at: At, rows: Range<usize>) -> impl Iterator<Item = Row> + use<> {
        let gap = usize::from(self.gap(at));
        rows.map(move |row| row.checked_sub(gap).map_or(Row::Free, |line| Row::Line { at, line }))
    }

    /// What is on the screen, top to bottom; `None` is a free row.
    pub(crate) fn visible(&self) -> impl Iterator<Item = Option<Shown<'_>>> {
        self.view.rows.iter().map(|row| match *row {
            Row::Free => None,
            Row::Line { at, line: number } => {
                let block = self.block(at)?;
                Some(Shown { at, number, inset: block.inset(), line: block.line(number)? })
            }
        })
    }

    /// Where the links on the screen lead, once for each piece of text.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Arc<str>> {
        let lines = self.visible().flatten().map(|row| row.line);
        lines.flat_map(|line| &line.spans).filter_map(|span| span.link.as_ref())
    }

    /// The blocks on the screen, first and last.
    pub(super) fn on_screen(&self) -> Option<(At, At)> {
        let place = |row: &Row| match row {
            Row::Line { at, .. } => Some(*at),
            Row::Free => None,
        };
        Some((self.view.rows.iter().find_map(place)?, self.view.rows.iter().rev().find_map(place)?))
    }

    /// Parts that should be in memory: those that the screen comes near, and those around where somebody wants to go.
    pub(super) fn near(&self) -> [Option<usize>; 5] {
        let (first, last) = self.on_screen().unwrap_or((self.end(), self.end()));
        let goal = self.view.goal.as_ref().map(Goal::part);
        let near = [
            self.unread(first, Toward::Older),
            self.unread(last, Toward::Newer),
            goal,
            goal.and_then(|part| part.checked_sub(1)),
            goal.map(|part| part + 1),
        ];
        near.map(|part| part.filter(|part| *part < self.parts.len()))
    }

    /// A part that isn't in memory within a few blocks of a place.
    fn unread(&self, mut at: At, toward: Toward) -> Option<usize> {
        for _ in 0..NEAR {
            match self.next(at, toward) {
                Step::To(next) => at = next,
                Step::Unread(part) => return Some(part),
                Step::End => break,
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
            if matches!(part.content, Content::Read(_)) && !is_near && !is_wanted && !is_marked {
                Part::forget(part);
            }
        }
    }
}

impl View {
    fn move_places(&mut self, moved: impl Fn(At) -> At) {
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
