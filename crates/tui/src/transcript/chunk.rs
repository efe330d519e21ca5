//! The chunks of the path. Only chunks near the screen are in memory.
//!
//! Chunks and blocks keep their numbers while others are read or dropped, so positions stay valid. State
//! outside of the log (notices from tiller, fold states) is kept when a chunk is dropped.

use tiller_core::id::EntryId;
use tiller_session::Section;

use super::super::block::{Block, FoldState};

/// Entries per chunk, the unit of reading; reading one takes a few milliseconds.
pub(crate) const ENTRIES: usize = 100;

/// A block's position: its part and its number in the part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BlockPos {
    pub(crate) part: usize,
    pub(crate) block: usize,
}

/// A chunk of the path.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// The chunk's entries; `None` if it has none.
    section: Option<Section>,
    pub(super) content: ChunkContent,
    retained: RetainedState,
}

/// The loading state of a chunk.
#[derive(Debug, Default)]
pub(super) enum ChunkContent {
    #[default]
    Unread,
    Asked,
    Read(Vec<Block>),
}

/// A chunk's state outside of the log, by block number.
#[derive(Debug, Default)]
struct RetainedState {
    asides: Vec<(usize, Block)>,
    folds: Vec<(usize, FoldState)>,
}

impl Chunk {
    /// A chunk that isn't read yet.
    pub(super) fn unread(section: Section) -> Self {
        Self { section: Some(section), ..Self::default() }
    }

    /// A chunk in memory, without blocks.
    pub(super) fn read(section: Option<Section>) -> Self {
        Self { section, content: ChunkContent::Read(Vec::new()), ..Self::default() }
    }

    pub(super) fn section(&self) -> Option<&Section> {
        self.section.as_ref()
    }

    /// Number of entries.
    pub(super) fn count(&self) -> usize {
        self.section.as_ref().map_or(0, |section| section.count)
    }

    /// Appends an entry to its section.
    pub(super) fn append_entry(&mut self, id: &EntryId) {
        self.section = Some(Section { last: id.clone(), count: self.count() + 1 });
    }

    /// Returns the section to read, unless it is in memory or requested.
    pub(super) fn ask(&mut self) -> Option<Section> {
        let section = self.section.as_ref().filter(|_| matches!(self.content, ChunkContent::Unread))?;
        self.content = ChunkContent::Asked;
        Some(section.clone())
    }

    /// Returns the chunk's blocks if they are in memory.
    pub(super) fn blocks(&self) -> Option<&[Block]> {
        match &self.content {
            ChunkContent::Read(blocks) => Some(blocks),
            ChunkContent::Unread | ChunkContent::Asked => None,
        }
    }

    pub(super) fn blocks_mut(&mut self) -> Option<&mut Vec<Block>> {
        match &mut self.content {
            ChunkContent::Read(blocks) => Some(blocks),
            ChunkContent::Unread | ChunkContent::Asked => None,
        }
    }

    /// Returns the blocks outside of the log, whether in memory or retained.
    pub(super) fn unlogged_blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        let read = match &mut self.content {
            ChunkContent::Read(blocks) => blocks.as_mut_slice(),
            ChunkContent::Unread | ChunkContent::Asked => &mut [],
        };
        let retained = self.retained.asides.iter_mut().map(|(_, block)| block);
        read.iter_mut().filter(|block| block.entry.is_none()).chain(retained)
    }

    /// Sets the blocks that were read, and applies the retained state.
    pub(super) fn fill(&mut self, mut blocks: Vec<Block>) {
        let RetainedState { asides, folds } = std::mem::take(&mut self.retained);
        for (at, block) in asides {
            blocks.insert(at.min(blocks.len()), block);
        }
        for (at, fold) in folds {
            if let Some(block) = blocks.get_mut(at) {
                block.fold = fold;
            }
        }
        self.content = ChunkContent::Read(blocks);
    }

    /// Drops the blocks, which can be read again.
    pub(super) fn forget(&mut self) {
        let ChunkContent::Read(blocks) = std::mem::take(&mut self.content) else { return };
        for (at, block) in blocks.into_iter().enumerate() {
            if block.fold != FoldState::Inherit {
                self.retained.folds.push((at, block.fold));
            }
            if block.entry.is_none() {
                self.retained.asides.push((at, block));
            }
        }
    }

    /// Removes the blocks' own fold states.
    pub(super) fn fold_alike(&mut self) {
        self.retained.folds.clear();
        self.blocks_mut().into_iter().flatten().for_each(|block| block.fold = FoldState::Inherit);
    }
}
