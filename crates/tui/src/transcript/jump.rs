//! Jumps to positions that may have to be read first, and the focused block.

use crate::block::{Block, BlockKind, FoldState};
use crate::layout::RenderContext;
use crate::transcript::chunk::{BlockPos, Chunk};
use crate::transcript::jump_target::{Direction, JumpTarget};
use crate::transcript::row::TranscriptRow;
use crate::transcript::{BlockStep, Transcript};

/// Rows shown above a jump target.
const CONTEXT: usize = 3;

impl Transcript {
    /// Starts a jump; the screen doesn't move until the target is in memory.
    pub(crate) fn jump_to(&mut self, goal: JumpTarget) {
        self.view.goal = Some(goal);
    }

    /// Jumps to the previous or next prompt, relative to the top of the screen.
    pub(crate) fn go_to_prompt(&mut self, toward: Direction) {
        let Some((at, row)) = self.top() else { return };
        let from = match (&self.view.goal, toward) {
            // Pressed again before the target was read.
            (Some(JumpTarget::Prompt { from, .. }), _) => *from,
            // Inside a prompt, the previous one is its start.
            (_, Direction::Older) if row <= usize::from(self.has_blank_row_above(at)) => at,
            (_, Direction::Older | Direction::Newer) => BlockPos { block: at.block + 1, ..at },
        };
        self.jump_to(JumpTarget::Prompt { from, toward });
    }

    fn is_prompt(&self, at: BlockPos) -> bool {
        self.block(at).is_some_and(|block| matches!(block.kind, BlockKind::User { .. }))
    }

    /// Completes a jump if its target is in memory.
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
            // The search scrolls to its hit, because it knows the line.
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
                (BlockStep::To(at), _) if self.is_prompt(at) => return self.stay(at, 0),
                (BlockStep::To(at), Direction::Older) => step = self.before(at),
                (BlockStep::To(at), Direction::Newer) => step = self.after(at),
                (BlockStep::Unread(part), Direction::Older) => {
                    let from = BlockPos { part: part + 1, block: 0 };
                    self.view.goal = Some(JumpTarget::Prompt { from, toward });
                    return;
                }
                (BlockStep::Unread(part), Direction::Newer) => {
                    self.view.goal = Some(JumpTarget::Prompt { from: BlockPos { part, block: 0 }, toward });
                    return;
                }
                (BlockStep::End, Direction::Older) => return self.stay(BlockPos::default(), 0),
                (BlockStep::End, Direction::Newer) => return self.follow(),
            }
        }
    }

    /// Scrolls to a line of a block in memory, with some context above it, unless it is on the screen.
    pub(crate) fn show(&mut self, at: BlockPos, line: usize, height: usize, ctx: &RenderContext) {
        let has_row =
            self.view.rows.contains(&TranscriptRow::Line { at, line }) && self.view.rows.len() <= height;
        self.view.goal = None;
        if !(has_row && self.is_laid_out(ctx)) {
            // The top line isn't preserved.
            self.view.mark = None;
            self.height(at, ctx);
            self.stay(at, line + usize::from(self.has_blank_row_above(at)));
            self.scroll_up(CONTEXT.min(height / 3), ctx);
        }
    }

    pub(crate) fn focus(&self) -> Option<BlockPos> {
        self.view.focus
    }

    pub(crate) fn set_focus(&mut self, at: Option<BlockPos>) {
        self.view.focus = at;
    }

    /// Moves the focus to the next block in a direction, starting with the last block on the screen.
    pub(crate) fn move_focus(&mut self, toward: Direction, height: usize, ctx: &RenderContext) {
        let Some((_, last)) = self.on_screen() else { return };
        let Some(at) = self.view.focus else {
            self.view.focus = Some(last);
            return;
        };
        let mut step = self.next(at, toward);
        while let BlockStep::To(at) = step {
            if self.height(at, ctx) > 0 {
                self.view.focus = Some(at);
                return self.scroll_into_view(at, height, ctx);
            }
            step = self.next(at, toward);
        }
    }

    pub(super) fn next(&self, at: BlockPos, toward: Direction) -> BlockStep {
        match toward {
            Direction::Older => self.before(at),
            Direction::Newer => self.after(at),
        }
    }

    /// Scrolls as little as necessary to show a block.
    fn scroll_into_view(&mut self, at: BlockPos, height: usize, ctx: &RenderContext) {
        let Some((first, last)) = self.on_screen() else { return };
        let own = self.height(at, ctx);
        if at <= first {
            self.stay(at, 0);
        } else if at >= last && !self.follows() {
            let rows = self.rows_up(BlockPos { block: at.block + 1, ..at }, height.max(1), ctx);
            if own >= height {
                self.stay(at, 0);
            } else if let Some(TranscriptRow::Line { at, line }) =
                rows.iter().find(|row| **row != TranscriptRow::Blank)
            {
                self.stay(*at, *line + usize::from(self.has_blank_row_above(*at)));
            }
        }
    }

    /// Toggles a block's fold state and preserves the top line. Returns false if the block can't be folded.
    pub(crate) fn toggle(&mut self, at: BlockPos, ctx: &RenderContext) -> bool {
        if !self.block(at).is_some_and(Block::can_fold) {
            return false;
        }
        self.stay_at_top();
        self.mark_top_line();
        self.view.selection = None;
        if let Some(block) = self.block_mut(at) {
            block.toggle(ctx.folds);
        }
        true
    }

    /// Unfolds a block; returns false if it is already unfolded or can't be folded.
    pub(crate) fn open(&mut self, at: BlockPos, ctx: &RenderContext) -> bool {
        self.mark_top_line();
        let Some(block) = self.block_mut(at).filter(|block| block.can_fold()) else { return false };
        let before = block.fold;
        block.open(ctx.folds);
        let is_open = block.fold != before;
        if is_open {
            self.invalidate_layout();
        }
        is_open
    }

    /// Returns the position of the top line, to return to it; `None` at the end.
    pub(crate) fn place(&self) -> Option<JumpTarget> {
        match self.view.scroll {
            crate::transcript::row::Scroll::Follows => None,
            crate::transcript::row::Scroll::From { at, row } => Some(JumpTarget::Row { at, row }),
        }
    }

    /// The last block on the screen.
    pub(crate) fn bottom(&self) -> BlockPos {
        self.on_screen().map_or(self.end(), |(_, last)| last)
    }

    /// Removes all blocks' own fold states.
    pub(crate) fn reset_folds(&mut self) {
        self.mark_top_line();
        self.parts.iter_mut().for_each(Chunk::fold_alike);
        self.live.iter_mut().for_each(|block| block.fold = FoldState::Inherit);
    }
}
