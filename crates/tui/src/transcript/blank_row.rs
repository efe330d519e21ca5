//! The blank rows between the blocks of the transcript.

use crate::block::{Block, BlockKind};
use crate::transcript::chunk::BlockPos;
use crate::transcript::{BlockStep, Transcript};

impl Transcript {
    /// Returns true if a blank row precedes a block: between all blocks, but not above the first one, above
    /// images, or between a call and the model's output above it. If the block above isn't loaded, it is
    /// assumed to be the model's output.
    pub(super) fn has_blank_row_above(&self, at: BlockPos) -> bool {
        let Some(block) = self.block(at) else { return false };
        let mut step = self.before(at);
        while let BlockStep::To(silent) = step
            && self.block(silent).is_some_and(Block::is_silent)
        {
            step = self.before(silent);
        }
        let follows_output = match step {
            BlockStep::End => return false,
            BlockStep::Unread(_) => true,
            BlockStep::To(above) => self.block(above).is_some_and(is_model_output),
        };
        match block.kind {
            BlockKind::Images(_) => false,
            BlockKind::Call(_) => !follows_output,
            _ => true,
        }
    }
}

fn is_model_output(block: &Block) -> bool {
    matches!(
        block.kind,
        BlockKind::Answer(_)
            | BlockKind::StreamingAnswer(_)
            | BlockKind::Thinking(_)
            | BlockKind::StreamingThinking(_)
            | BlockKind::Call(_)
    )
}
