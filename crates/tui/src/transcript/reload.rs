//! A session that is read anew while it is on the screen, as when events were missed: what somebody was reading stays there.

use std::ops::Range;

use tiller_core::id::EntryId;

use super::chunk::Chunk;
use super::{Block, BlockPos, JumpTarget, Transcript};

/// What a transcript leaves to the one that takes its place.
#[derive(Debug)]
pub(crate) struct ScrollAnchor {
    /// Blocks of the answer that was arriving.
    pub(crate) live: Vec<Block>,
    /// The line on top, unless the end was followed.
    top: Option<TopRow>,
}

/// What is to be on the screen when all is read anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NextTop {
    /// The end.
    #[default]
    End,
    /// What is there now.
    Same,
}

/// A line, by what the log says of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TopRow {
    of: AnchorBlock,
    row: usize,
    /// How many entries of the path stood before the part it was in, and before the one after that. They do so on every path that has
    /// the entry.
    before: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
enum AnchorBlock {
    /// The block of an entry with this number.
    Entry(EntryId, usize),
    /// The same, of the answer that arrives.
    Live(usize),
}

impl Transcript {
    /// What the transcript that takes the place of this one needs of it.
    pub(super) fn leave(&mut self) -> ScrollAnchor {
        // What isn't read yet is still to be on top.
        let top = self.view.former.take().or_else(|| self.named_top());
        let top = top.filter(|_| self.view.next == NextTop::Same);
        ScrollAnchor { top, live: std::mem::take(&mut self.live) }
    }

    /// Events were missed: what is read anew is this transcript, and more.
    pub(crate) fn expect_same(&mut self) {
        self.view.next = NextTop::Same;
    }

    /// Somebody went elsewhere: what is read anew is shown from its end.
    pub(crate) fn expect_other(&mut self) {
        self.view.next = NextTop::End;
    }

    fn named_top(&self) -> Option<TopRow> {
        let (at, row) = self.top().filter(|_| !self.follows())?;
        let blocks = self.parts.get(at.part)?.blocks()?;
        let of = match blocks.get(at.block) {
            None => AnchorBlock::Live(at.block - blocks.len()),
            // A word of tiller's stands where the entry before it does.
            Some(_) => {
                let entry = blocks[..=at.block].iter().rev().find_map(|block| block.entry.as_ref())?;
                let first = blocks.iter().position(|block| block.entry.as_ref() == Some(entry))?;
                AnchorBlock::Entry(entry.clone(), at.block - first)
            }
        };
        Some(TopRow { of, row, before: self.entries_before(at.part) })
    }

    /// Shows the line that was on top of the former transcript, as soon as it is read. One that is gone is not looked for.
    pub(crate) fn return_to(&mut self, former: ScrollAnchor) {
        let Some(top) = former.top else { return };
        let part = match &top.of {
            AnchorBlock::Live(_) => Some(self.last()),
            AnchorBlock::Entry(..) => self.with_place_for(&top).next(),
        };
        if let Some(part) = part {
            self.view.former = Some(top);
            self.go(JumpTarget::Former { part });
            self.reach_goal();
        }
    }

    /// How many entries of the path stand before a part, and before the one after it.
    fn entries_before(&self, part: usize) -> Range<usize> {
        let before = self.parts[..part].iter().map(Chunk::count).sum();
        before..before + self.parts[part].count()
    }

    /// The parts that the entry may be in.
    fn with_place_for(&self, top: &TopRow) -> impl Iterator<Item = usize> {
        let ends = self.parts.iter().scan(0, |end, part| {
            *end += part.count();
            Some((*end - part.count(), *end))
        });
        let parts =
            ends.enumerate().filter(|(_, (start, end))| *start < top.before.end && top.before.start < *end);
        parts.map(|(part, _)| part)
    }

    /// A part is in memory in which what was on top may be.
    pub(super) fn reach_former(&mut self, part: usize) {
        let Some(top) = self.view.former.take() else { return };
        let blocks = self.parts[part].blocks().unwrap_or_default();
        let block = match &top.of {
            AnchorBlock::Live(index) => blocks.len() + index,
            AnchorBlock::Entry(entry, index) => {
                let first = blocks.iter().position(|block| block.entry.as_ref() == Some(entry));
                match first {
                    Some(first) => first + index,
                    None => return self.look_further(top, part),
                }
            }
        };
        let row = top.row;
        let at = BlockPos { part, block };
        if self.block(at).is_some() {
            self.stay(at, row);
        }
    }

    /// It wasn't in a part.
    fn look_further(&mut self, top: TopRow, part: usize) {
        let next = self.with_place_for(&top).find(|other| *other > part);
        if let Some(part) = next {
            self.view.former = Some(top);
            self.go(JumpTarget::Former { part });
            self.reach_goal();
        }
    }
}
