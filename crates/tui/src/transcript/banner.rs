//! The welcome banner above an empty session.

use crate::block::banner::Banner;
use crate::block::{Block, BlockKind};
use crate::transcript::Transcript;
use crate::transcript::chunk::{BlockPos, Chunk};

impl Transcript {
    /// Inserts a block at the start of an empty session; parts without visible blocks may precede it.
    pub(crate) fn insert_first(&mut self, block: Block) {
        if let Some(blocks) = self.parts.last_mut().and_then(Chunk::blocks_mut) {
            blocks.insert(0, block);
        }
    }

    pub(crate) fn has_banner(&self) -> bool {
        let first = self.parts.last().and_then(Chunk::blocks).and_then(<[Block]>::first);
        first.is_some_and(|block| matches!(block.kind, BlockKind::Banner(_)))
    }

    /// Replaces the banner.
    pub(crate) fn set_banner(&mut self, banner: Banner) {
        let blocks = self.parts.last_mut().and_then(Chunk::blocks_mut);
        if let Some(block) = blocks.and_then(|blocks| blocks.first_mut())
            && let BlockKind::Banner(shown) = &mut block.kind
            && **shown != banner
        {
            **shown = banner;
            block.invalidate();
        }
    }

    /// Removes the banner once there is a message.
    pub(crate) fn remove_banner(&mut self) {
        if self.has_banner()
            && let Some(blocks) = self.parts.last_mut().and_then(Chunk::blocks_mut)
        {
            blocks.remove(0);
            let part = self.last();
            self.calls.values_mut().filter(|call| call.part == part).for_each(|call| call.block -= 1);
            self.close_gap(BlockPos { part, block: 0 });
        }
    }
}
