//! Going to places that may have to be read first, and the block that keys are for.

use super::super::block::{Block, BlockKind, Fold};
use super::super::layout::RenderContext;
use super::chunk::Chunk;
use super::viewport::TranscriptRow;
use super::{BlockPos, FoldStep, Transcript};

/// Rows above a place that somebody went to, where there are any.
const CONTEXT: usize = 3;

/// Up or down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Older,
    Newer,
}

/// Where somebody wants to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JumpTarget {
    /// The beginning.
    Top,
    /// The nearest prompt before or after a place.
    Prompt { from: BlockPos, toward: Direction },
    /// A row of a block.
    Row { at: BlockPos, row: usize },
    /// A part in which something was found.
    Hit { part: usize },
    /// The part in which is what was on top before all was read anew.
    Former { part: usize },
}

impl JumpTarget {
    /// The part in which it is, as far as is known.
    pub(super) fn part(&self) -> usize {
        match self {
            Self::Top => 0,
            Self::Prompt { from, .. } => from.part,
            Self::Row { at, .. } => at.part,
            Self::Hit { part } | Self::Former { part } => *part,
        }
    }
}

impl Transcript {
    /// Goes somewhere, as soon as it is read; what is on the screen stays until then.
    pub(crate) fn go(&mut self, goal: JumpTarget) {
        self.view.goal = Some(goal);
    }

    /// Goes to the prompt before the one on top of the screen, or to the one after it.
    pub(crate) fn go_to_prompt(&mut self, toward: Direction) {
        let Some((at, row)) = self.top() else { return };
        let from = match (&self.view.goal, toward) {
            // Pressed again before it was read.
            (Some(JumpTarget::Prompt { from, .. }), _) => *from,
            // In the middle of a prompt its own beginning is the one before.
            (_, Direction::Older) if row <= usize::from(self.gap(at)) => at,
            (_, Direction::Older | Direction::Newer) => BlockPos { block: at.block + 1, ..at },
        };
        self.go(JumpTarget::Prompt { from, toward });
    }

    fn is_prompt(&self, at: BlockPos) -> bool {
        self.block(at).is_some_and(|block| matches!(block.kind, BlockKind::User { .. }))
    }

    /// Shows what somebody wanted to go to, if it is in memory by now.
    pub(super) fn reach_goal(&mut self) {
        match self.view.goal.take() {
            None => {}
            Some(JumpTarget::Top)
                if self.count(0).is_some() && (self.parts.len() == 1 || self.count(1).is_some()) =>
            {
                self.stay(BlockPos::default(), 0);
            }
            Some(JumpTarget::Prompt { from, toward }) => self.reach_prompt(from, toward),
            Some(JumpTarget::Row { at, row }) if self.count(at.part).is_some() => self.stay(at, row),
            Some(JumpTarget::Former { part }) if self.count(part).is_some() => self.reach_former(part),
            // The search shows a hit: it knows the line.
            Some(
                goal @ (JumpTarget::Hit { .. }
                | JumpTarget::Row { .. }
                | JumpTarget::Top
                | JumpTarget::Former { .. }),
            ) => {
                self.view.goal = Some(goal);
            }
        }
    }

    fn reach_prompt(&mut self, from: BlockPos, toward: Direction) {
        let mut step = match toward {
            Direction::Older => self.before(from),
            Direction::Newer => self.from(from),
        };
        loop {
            match (step, toward) {
                (FoldStep::To(at), _) if self.is_prompt(at) => return self.stay(at, 0),
                (FoldStep::To(at), Direction::Older) => step = self.before(at),
                (FoldStep::To(at), Direction::Newer) => step = self.after(at),
                (FoldStep::Unread(part), Direction::Older) => {
                    let from = BlockPos { part: part + 1, block: 0 };
                    self.view.goal = Some(JumpTarget::Prompt { from, toward });
                    return;
                }
                (FoldStep::Unread(part), Direction::Newer) => {
                    self.view.goal = Some(JumpTarget::Prompt { from: BlockPos { part, block: 0 }, toward });
                    return;
                }
                (FoldStep::End, Direction::Older) => return self.stay(BlockPos::default(), 0),
                (FoldStep::End, Direction::Newer) => return self.follow(),
            }
        }
    }

    /// Shows a line of a block that is in memory, some rows of what stands before it above it, unless it is on the screen.
    pub(crate) fn show(&mut self, at: BlockPos, line: usize, height: usize, ctx: &RenderContext) {
        let has_row =
            self.view.rows.contains(&TranscriptRow::Line { at, line }) && self.view.rows.len() <= height;
        self.view.goal = None;
        if !(has_row && self.is_laid_out(ctx)) {
            // What was on top doesn't stay there.
            self.view.mark = None;
            self.height(at, ctx);
            self.stay(at, line + usize::from(self.gap(at)));
            self.scroll_up(CONTEXT.min(height / 3), ctx);
        }
    }

    /// The block that keys are for.
    pub(crate) fn focus(&self) -> Option<BlockPos> {
        self.view.focus
    }

    /// Puts the keys to a block.
    pub(crate) fn set_focus(&mut self, at: Option<BlockPos>) {
        self.view.focus = at;
    }

    /// Moves the keys to the next block in a direction; the first one is the last on the screen.
    pub(crate) fn move_focus(&mut self, toward: Direction, height: usize, ctx: &RenderContext) {
        let Some((_, last)) = self.on_screen() else { return };
        let Some(at) = self.view.focus else {
            self.view.focus = Some(last);
            return;
        };
        let mut step = self.next(at, toward);
        while let FoldStep::To(at) = step {
            if self.height(at, ctx) > 0 {
                self.view.focus = Some(at);
                return self.bring_in(at, height, ctx);
            }
            step = self.next(at, toward);
        }
    }

    pub(super) fn next(&self, at: BlockPos, toward: Direction) -> FoldStep {
        match toward {
            Direction::Older => self.before(at),
            Direction::Newer => self.after(at),
        }
    }

    /// Scrolls no further than it takes for the block to be on the screen.
    fn bring_in(&mut self, at: BlockPos, height: usize, ctx: &RenderContext) {
        let Some((first, last)) = self.on_screen() else { return };
        let own = self.height(at, ctx);
        if at <= first {
            self.stay(at, 0);
        } else if at >= last && !self.follows() {
            let rows = self.rows_up(BlockPos { block: at.block + 1, ..at }, height.max(1), ctx);
            if own >= height {
                self.stay(at, 0);
            } else if let Some(TranscriptRow::Line { at, line }) =
                rows.iter().find(|row| **row != TranscriptRow::Free)
            {
                self.stay(*at, *line + usize::from(self.gap(*at)));
            }
        }
    }

    /// Folds a block, or unfolds it; what is above it on the screen stays. False when there is nothing to fold.
    pub(crate) fn toggle(&mut self, at: BlockPos, ctx: &RenderContext) -> bool {
        if !self.block(at).is_some_and(Block::can_fold) {
            return false;
        }
        self.stay_at_top();
        self.mark_place();
        self.view.selection = None;
        if let Some(block) = self.block_mut(at) {
            block.toggle(ctx.folds);
        }
        true
    }

    /// Unfolds a block; false when there is nothing to unfold.
    pub(crate) fn open(&mut self, at: BlockPos, ctx: &RenderContext) -> bool {
        self.mark_place();
        let Some(block) = self.block_mut(at).filter(|block| block.can_fold()) else { return false };
        let before = block.fold;
        block.open(ctx.folds);
        let is_open = block.fold != before;
        if is_open {
            self.refolded();
        }
        is_open
    }

    /// Where the screen begins, to come back to; `None` at the end.
    pub(crate) fn place(&self) -> Option<JumpTarget> {
        match self.view.scroll {
            super::viewport::Scroll::Follows => None,
            super::viewport::Scroll::From { at, row } => Some(JumpTarget::Row { at, row }),
        }
    }

    /// The last block on the screen.
    pub(crate) fn bottom(&self) -> BlockPos {
        self.on_screen().map_or(self.end(), |(_, last)| last)
    }

    /// No block is folded apart from all others any more.
    pub(crate) fn fold_alike(&mut self) {
        self.mark_place();
        self.parts.iter_mut().for_each(Chunk::fold_alike);
        self.live.iter_mut().for_each(|block| block.fold = Fold::AsAll);
    }
}
