//! Reloading a session on the screen, for example after missed events, without moving the visible text.

use std::ops::Range;

use crate::transcript::Transcript;
use crate::transcript::anchor::{AnchorBlock, NextTop, ScrollAnchor, TopRow};
use crate::transcript::chunk::{BlockPos, Chunk};
use crate::transcript::jump_target::JumpTarget;

impl Transcript {
    /// Takes the state for the transcript that replaces this one.
    pub(super) fn leave(&mut self) -> ScrollAnchor {
        // The previous anchor applies if it isn't reached yet.
        let top = self.view.former.take().or_else(|| self.named_top());
        let top = top.filter(|_| self.view.next == NextTop::Same);
        ScrollAnchor { top, live: std::mem::take(&mut self.live) }
    }

    /// Prepares for a reload of the same session: preserves the top line.
    pub(crate) fn keep_anchor(&mut self) {
        self.view.next = NextTop::Same;
    }

    /// Prepares for a reload of another session: shows the end.
    pub(crate) fn drop_anchor(&mut self) {
        self.view.next = NextTop::End;
    }

    fn named_top(&self) -> Option<TopRow> {
        let (at, row) = self.top().filter(|_| !self.follows())?;
        let blocks = self.parts.get(at.part)?.blocks()?;
        let of = match blocks.get(at.block) {
            None => AnchorBlock::Live(at.block - blocks.len()),
            // A notice from tiller is identified by the entry before it.
            Some(_) => {
                let entry = blocks[..=at.block].iter().rev().find_map(|block| block.entry.as_ref())?;
                let first = blocks.iter().position(|block| block.entry.as_ref() == Some(entry))?;
                AnchorBlock::Entry(entry.clone(), at.block - first)
            }
        };
        Some(TopRow { of, row, before: self.entries_before(at.part) })
    }

    /// Returns to the former top line when it is read. An entry that no longer exists isn't searched for.
    pub(crate) fn restore_anchor(&mut self, anchor: ScrollAnchor) {
        let Some(top) = anchor.top else { return };
        let part = match &top.of {
            AnchorBlock::Live(_) => Some(self.last()),
            AnchorBlock::Entry(..) => self.candidate_parts(&top).next(),
        };
        if let Some(part) = part {
            self.view.former = Some(top);
            self.jump_to(JumpTarget::Former { part });
            self.reach_goal();
        }
    }

    /// Returns the number of entries before a part and before the next one.
    fn entries_before(&self, part: usize) -> Range<usize> {
        let before = self.parts[..part].iter().map(Chunk::count).sum();
        before..before + self.parts[part].count()
    }

    /// The parts that may contain the entry.
    fn candidate_parts(&self, top: &TopRow) -> impl Iterator<Item = usize> {
        let ends = self.parts.iter().scan(0, |end, part| {
            *end += part.count();
            Some((*end - part.count(), *end))
        });
        let parts =
            ends.enumerate().filter(|(_, (start, end))| *start < top.before.end && top.before.start < *end);
        parts.map(|(part, _)| part)
    }

    /// Continues the search for the former top line in a part that is in memory.
    pub(super) fn reach_former(&mut self, part: usize) {
        let Some(top) = self.view.former.take() else { return };
        let blocks = self.parts[part].blocks().unwrap_or_default();
        let block = match &top.of {
            AnchorBlock::Live(index) => blocks.len() + index,
            AnchorBlock::Entry(entry, index) => {
                let first = blocks.iter().position(|block| block.entry.as_ref() == Some(entry));
                match first {
                    Some(first) => first + index,
                    None => return self.search_next_part(top, part),
                }
            }
        };
        let row = top.row;
        let at = BlockPos { part, block };
        if self.block(at).is_some() {
            self.stay(at, row);
        }
    }

    /// Searches the next candidate part.
    fn search_next_part(&mut self, top: TopRow, part: usize) {
        let next = self.candidate_parts(&top).find(|other| *other > part);
        if let Some(part) = next {
            self.view.former = Some(top);
            self.jump_to(JumpTarget::Former { part });
            self.reach_goal();
        }
    }
}
