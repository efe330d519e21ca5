//! The path in parts, of which only those near the screen are in memory.
//!
//! A part keeps its number, and its blocks theirs, whatever is read or forgotten before it: a place in the transcript stays
//! valid. What the log doesn't know (a word of tiller's, what was unfolded) is kept when a part is forgotten.

use tiller_core::id::EntryId;
use tiller_session::Section;

use super::super::block::{Block, Fold};

/// Entries of a part: what is read at once when the screen comes near, some milliseconds' work.
pub(crate) const ENTRIES: usize = 100;

/// A block's place: the number of its part, and its number in there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BlockPos {
    pub(crate) part: usize,
    pub(crate) block: usize,
}

/// A stretch of the path.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// Which entries; `None` while there are none.
    section: Option<Section>,
    pub(super) content: ChunkContent,
    kept: CachedRows,
}

/// How much of a part is in memory.
#[derive(Debug, Default)]
pub(super) enum ChunkContent {
    #[default]
    Unread,
    /// It is being read.
    Asked,
    Read(Vec<Block>),
}

/// What a part has that the log doesn't, each with the number of its block.
#[derive(Debug, Default)]
struct CachedRows {
    asides: Vec<(usize, Block)>,
    folds: Vec<(usize, Fold)>,
}

impl Chunk {
    /// One that is not read yet.
    pub(super) fn unread(section: Section) -> Self {
        Self { section: Some(section), ..Self::default() }
    }

    /// One that is, whose blocks are yet to come.
    pub(super) fn read(section: Option<Section>) -> Self {
        Self { section, content: ChunkContent::Read(Vec::new()), ..Self::default() }
    }

    /// Which entries; `None` while there are none.
    pub(super) fn section(&self) -> Option<&Section> {
        self.section.as_ref()
    }

    /// How many entries.
    pub(super) fn count(&self) -> usize {
        self.section.as_ref().map_or(0, |section| section.count)
    }

    /// Takes another entry at its end.
    pub(super) fn lengthen(&mut self, id: &EntryId) {
        self.section = Some(Section { last: id.clone(), count: self.count() + 1 });
    }

    /// What is to be read of it, if it isn't read yet, nor being read.
    pub(super) fn ask(&mut self) -> Option<Section> {
        let section = self.section.as_ref().filter(|_| matches!(self.content, ChunkContent::Unread))?;
        self.content = ChunkContent::Asked;
        Some(section.clone())
    }

    /// Its blocks, as far as they are in memory.
    pub(super) fn blocks(&self) -> Option<&[Block]> {
        match &self.content {
            ChunkContent::Read(blocks) => Some(blocks),
            ChunkContent::Unread | ChunkContent::Asked => None,
        }
    }

    /// The same, to be changed.
    pub(super) fn blocks_mut(&mut self) -> Option<&mut Vec<Block>> {
        match &mut self.content {
            ChunkContent::Read(blocks) => Some(blocks),
            ChunkContent::Unread | ChunkContent::Asked => None,
        }
    }

    /// What it has that the log doesn't, in memory or kept.
    pub(super) fn asides_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        let read = match &mut self.content {
            ChunkContent::Read(blocks) => blocks.as_mut_slice(),
            ChunkContent::Unread | ChunkContent::Asked => &mut [],
        };
        let kept = self.kept.asides.iter_mut().map(|(_, block)| block);
        read.iter_mut().filter(|block| block.entry.is_none()).chain(kept)
    }

    /// Takes its blocks as they were read; what was kept is put back among them.
    pub(super) fn fill(&mut self, mut blocks: Vec<Block>) {
        let CachedRows { asides, folds } = std::mem::take(&mut self.kept);
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

    /// Forgets its blocks; they can be read again.
    pub(super) fn forget(&mut self) {
        let ChunkContent::Read(blocks) = std::mem::take(&mut self.content) else { return };
        for (at, block) in blocks.into_iter().enumerate() {
            if block.fold != Fold::AsAll {
                self.kept.folds.push((at, block.fold));
            }
            if block.entry.is_none() {
                self.kept.asides.push((at, block));
            }
        }
    }

    /// No block is folded apart from all others any more.
    pub(super) fn fold_alike(&mut self) {
        self.kept.folds.clear();
        self.blocks_mut().into_iter().flatten().for_each(|block| block.fold = Fold::AsAll);
    }
}
