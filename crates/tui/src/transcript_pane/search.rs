//! A search's state: its text, its hits, and the current one.

use std::collections::BTreeMap;

use crate::line_input::LineInput;
use crate::search_term::SearchTerm;
use crate::transcript::Transcript;
use crate::transcript::chunk::BlockPos;
use crate::transcript::jump_target::{Direction, JumpTarget};
use crate::transcript_pane::lookup::hits;

/// A block with hits: its part and its number among the part's log blocks.
pub(crate) type HitPosition = (usize, usize);

/// A running search.
#[derive(Debug)]
pub(crate) struct SearchBar {
    pub(crate) typed: LineInput,
    pub(crate) number: u64,
    pub(crate) hits: BTreeMap<HitPosition, usize>,
    /// True if there are more parts to search.
    pub(crate) is_running: bool,
    /// The current hit: its block, and the occurrence in it.
    pub(crate) current: Option<(HitPosition, usize)>,
    /// Screen position of the current hit: block, line, first column.
    pub(crate) shown: Option<(BlockPos, usize, usize)>,
    /// A block unfolded to show a hit.
    pub(crate) opened: Option<BlockPos>,
    /// The view before the search.
    pub(crate) origin: SearchOrigin,
    pub(crate) tail: SearchTail,
}

/// The in-memory end of the path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SearchTail {
    /// The first part in memory.
    pub(crate) from: usize,
    /// Number of added blocks and length of the streaming answer at the last search; `None` before the first.
    pub(crate) seen: Option<(usize, usize)>,
}

/// The view before the search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchOrigin {
    pub(crate) goal: Option<JumpTarget>,
    /// The last block on the screen; the search starts above it.
    pub(crate) bottom: BlockPos,
}

impl SearchBar {
    pub(crate) fn new(transcript: &Transcript, number: u64) -> Self {
        let origin = SearchOrigin { goal: transcript.place(), bottom: transcript.bottom() };
        Self {
            typed: LineInput::default(),
            number,
            hits: BTreeMap::new(),
            is_running: false,
            current: None,
            shown: None,
            opened: None,
            origin,
            tail: SearchTail::default(),
        }
    }

    pub(crate) fn typed(&self) -> &str {
        self.typed.text()
    }

    pub(crate) fn words(&self) -> SearchTerm {
        SearchTerm::new(self.typed())
    }

    /// Returns the current hit's number, the number of hits, and whether more may follow.
    pub(crate) fn count(&self) -> (usize, usize, bool) {
        let before = |hit: HitPosition| self.hits.range(..hit).map(|(_, count)| count).sum::<usize>();
        let nth = self.current.map_or(0, |(hit, nth)| before(hit) + nth + 1);
        (nth, self.hits.values().sum(), self.is_running)
    }

    /// Returns true if this position is the current hit.
    pub(crate) fn is_current(&self, place: (BlockPos, usize, usize)) -> bool {
        self.shown == Some(place)
    }

    pub(crate) fn add(&mut self, (part, first): HitPosition, hits: &[(usize, usize)]) {
        self.hits.extend(hits.iter().map(|(index, count)| ((part, first + index), *count)));
    }

    /// Replaces the hits of a part, starting with a block.
    pub(crate) fn replace(&mut self, first: HitPosition, hits: &[(usize, usize)]) {
        let outdated: Vec<HitPosition> =
            self.hits.range(first..(first.0 + 1, 0)).map(|(hit, _)| *hit).collect();
        outdated.iter().for_each(|hit| _ = self.hits.remove(hit));
        self.add(first, hits);
    }

    /// Searches the blocks in memory, unless they are unchanged.
    pub(crate) fn search_tail(&mut self, transcript: &Transcript) {
        let now = Some((transcript.added(), transcript.arrived()));
        if self.tail.seen == now || self.typed.is_empty() {
            return;
        }
        let only_answer_grew = self.tail.seen.map(|(added, _)| added) == now.map(|(added, _)| added);
        self.tail.seen = now;
        let term = self.words();
        if only_answer_grew {
            let (first, blocks) = transcript.arriving();
            self.replace(first, &hits(blocks, &term));
        } else {
            for (part, blocks) in transcript.tail(self.tail.from) {
                self.replace((part, 0), &hits(blocks, &term));
            }
        }
        self.update_current(transcript);
    }

    /// Corrects the current hit after the hits have changed, because its answer may have been aborted, or its
    /// block renumbered.
    pub(crate) fn update_current(&mut self, transcript: &Transcript) {
        let Some((hit, _)) = self.current else { return };
        if !self.hits.contains_key(&hit) {
            let before = self.hits.range(..hit).next_back();
            self.current = before.map(|(hit, count)| (*hit, count - 1));
            self.shown = None;
        } else if self.shown.is_some_and(|(at, ..)| transcript.logged(hit) != Some(at)) {
            self.shown = None;
        }
    }

    /// Selects the first current hit: the nearest above the bottom of the screen, or else the first below.
    pub(crate) fn choose(&mut self, transcript: &Transcript) -> bool {
        if self.current.is_some() {
            return false;
        }
        let above = |hit: &HitPosition| {
            transcript.logged(*hit).unwrap_or(BlockPos { part: hit.0, block: hit.1 }) <= self.origin.bottom
        };
        let nearest =
            self.hits.iter().rev().find(|(hit, _)| above(hit)).map(|(hit, count)| (*hit, count - 1));
        let below = || self.hits.keys().next().filter(|_| !self.is_running).map(|hit| (*hit, 0));
        self.current = nearest.or_else(below);
        self.current.is_some()
    }

    /// Moves to the next hit in a direction, wrapping around.
    pub(crate) fn step(&mut self, toward: Direction) -> bool {
        let Some((hit, nth)) = self.current else { return false };
        let count = self.hits.get(&hit).copied().unwrap_or(1);
        let first = |(hit, _): (&HitPosition, &usize)| (*hit, 0);
        let last = |(hit, count): (&HitPosition, &usize)| (*hit, count - 1);
        let after = (std::ops::Bound::Excluded(hit), std::ops::Bound::Unbounded);
        self.current = match toward {
            Direction::Older if nth > 0 => Some((hit, nth - 1)),
            Direction::Newer if nth + 1 < count => Some((hit, nth + 1)),
            Direction::Older => self.hits.range(..hit).next_back().or(self.hits.iter().next_back()).map(last),
            Direction::Newer => self.hits.range(after).next().or(self.hits.iter().next()).map(first),
        };
        true
    }
}
