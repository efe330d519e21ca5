//! Looking for words in the transcript: what was typed, where it was found, and which of those places is shown.
//!
//! The newest part of the path is in memory and looked through at once, and so is what is arriving; the rest is read elsewhere, newest first, and what is found
//! comes in as it is found. A place is known by its part and its number among the blocks that the log makes.

use std::collections::BTreeMap;
use std::sync::Arc;

use tiller_session::BranchPoints;

use super::app::{Action, App, BackgroundJob};
use super::block::Block;
use super::search_term::SearchTerm;
use super::transcript::{BlockPos, Direction, JumpTarget, Transcript, UnseenBelow};

/// What is looked for, and where.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lookup {
    /// Newer ones have higher numbers.
    pub(super) number: u64,
    pub(super) words: SearchTerm,
    /// The parts of the path, in the order they are to be looked through.
    pub(super) parts: Vec<UnseenBelow>,
    /// The path's branch points.
    pub(super) points: Arc<BranchPoints>,
}

/// What was found in a part: numbers of blocks with how often it is there.
#[derive(Debug)]
pub(super) struct SearchHits {
    pub(super) number: u64,
    pub(super) part: usize,
    pub(super) hits: Vec<(usize, usize)>,
    /// Nothing more will come.
    pub(super) is_last: bool,
}

/// A block that the words are in: its part, and its number among those of the log.
type HitPosition = (usize, usize);

/// A search that is going on.
#[derive(Debug)]
pub(super) struct SearchBar {
    typed: String,
    number: u64,
    hits: BTreeMap<HitPosition, usize>,
    /// Whether some parts are still to be looked through.
    looking: bool,
    /// The place that is shown, or gone to: its block, and which of the occurrences there.
    current: Option<(HitPosition, usize)>,
    /// Where on the screen it is: a block, its line, the first column.
    shown: Option<(BlockPos, usize, usize)>,
    /// A block that was unfolded to show it.
    opened: Option<BlockPos>,
    /// Where one was.
    origin: SearchOrigin,
    tail: SearchTail,
}

/// What is looked through in memory.
#[derive(Clone, Copy, Debug, Default)]
struct SearchTail {
    /// The first part.
    from: usize,
    /// How many blocks had been added when it was, and how much had arrived of the answer; `None` before.
    seen: Option<(usize, usize)>,
}

/// Where one was before the search.
#[derive(Clone, Copy, Debug)]
struct SearchOrigin {
    goal: Option<JumpTarget>,
    /// The last block on the screen: the first hit is the nearest one above.
    bottom: BlockPos,
}

impl SearchBar {
    fn at(transcript: &Transcript, number: u64) -> Self {
        let origin = SearchOrigin { goal: transcript.place(), bottom: transcript.bottom() };
        Self {
            typed: String::new(),
            number,
            hits: BTreeMap::new(),
            looking: false,
            current: None,
            shown: None,
            opened: None,
            origin,
            tail: SearchTail::default(),
        }
    }

    /// What was typed.
    pub(super) fn typed(&self) -> &str {
        &self.typed
    }

    /// What is looked for.
    pub(super) fn words(&self) -> SearchTerm {
        SearchTerm::new(&self.typed)
    }

    /// Which of how many places is shown, and whether more may be found.
    pub(super) fn count(&self) -> (usize, usize, bool) {
        let before = |hit: HitPosition| self.hits.range(..hit).map(|(_, count)| count).sum::<usize>();
        let nth = self.current.map_or(0, |(hit, nth)| before(hit) + nth + 1);
        (nth, self.hits.values().sum(), self.looking)
    }

    /// Whether this is the place that is shown.
    pub(super) fn is_current(&self, place: (BlockPos, usize, usize)) -> bool {
        self.shown == Some(place)
    }

    fn add(&mut self, (part, first): HitPosition, hits: &[(usize, usize)]) {
        self.hits.extend(hits.iter().map(|(index, count)| ((part, first + index), *count)));
    }

    /// Puts what was found from one block on to the end of its part in the place of what was known.
    fn replace(&mut self, first: HitPosition, hits: &[(usize, usize)]) {
        let gone: Vec<HitPosition> = self.hits.range(first..(first.0 + 1, 0)).map(|(hit, _)| *hit).collect();
        gone.iter().for_each(|hit| _ = self.hits.remove(hit));
        self.add(first, hits);
    }

    /// Looks through what is in memory, unless nothing has changed there.
    fn look_through_tail(&mut self, transcript: &Transcript) {
        let now = Some((transcript.added(), transcript.arrived()));
        if self.tail.seen == now || self.typed.is_empty() {
            return;
        }
        let has_only_grown = self.tail.seen.map(|(added, _)| added) == now.map(|(added, _)| added);
        self.tail.seen = now;
        let words = self.words();
        if has_only_grown {
            let (first, blocks) = transcript.arriving();
            self.replace(first, &hits(blocks, &words));
        } else {
            for (part, blocks) in transcript.tail(self.tail.from) {
                self.replace((part, 0), &hits(blocks, &words));
            }
        }
        self.keep_place(transcript);
    }

    /// The place that is shown may be gone with an answer that broke off, or its block have another number.
    fn keep_place(&mut self, transcript: &Transcript) {
        let Some((hit, _)) = self.current else { return };
        if !self.hits.contains_key(&hit) {
            let before = self.hits.range(..hit).next_back();
            self.current = before.map(|(hit, count)| (*hit, count - 1));
            self.shown = None;
        } else if self.shown.is_some_and(|(at, ..)| transcript.logged(hit) != Some(at)) {
            self.shown = None;
        }
    }

    /// The place to begin with: the nearest above what was on the screen, or when there is none the first below.
    fn choose(&mut self, transcript: &Transcript) -> bool {
        if self.current.is_some() {
            return false;
        }
        let above = |hit: &HitPosition| {
            transcript.logged(*hit).unwrap_or(BlockPos { part: hit.0, block: hit.1 }) <= self.origin.bottom
        };
        let nearest =
            self.hits.iter().rev().find(|(hit, _)| above(hit)).map(|(hit, count)| (*hit, count - 1));
        let below = || self.hits.keys().next().filter(|_| !self.looking).map(|hit| (*hit, 0));
        self.current = nearest.or_else(below);
        self.current.is_some()
    }

    /// Goes to the next place in a direction; after the last comes the first.
    fn step(&mut self, toward: Direction) -> bool {
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

/// In which of the log's blocks words are, and how often.
pub(super) fn hits<'a>(
    blocks: impl IntoIterator<Item = &'a Block>,
    words: &SearchTerm,
) -> Vec<(usize, usize)> {
    let counted = blocks.into_iter().map(|block| block.texts().iter().map(|text| words.count(text)).sum());
    counted.enumerate().filter(|(_, count)| *count > 0).collect()
}

impl App {
    /// Begins a search, or ends one and stays where it led.
    pub(super) fn begin_search(&mut self) -> Vec<Action> {
        self.moving.searches += 1;
        self.moving.search = Some(SearchBar::at(&self.transcript, self.moving.searches));
        self.transcript.set_focus(None);
        Vec::new()
    }

    /// Takes what was typed or erased.
    pub(super) fn search_for(&mut self, change: impl FnOnce(&mut String)) -> Vec<Action> {
        let Some(search) = &mut self.moving.search else { return Vec::new() };
        change(&mut search.typed);
        self.search_anew()
    }

    /// Looks for what is typed from the beginning: it is something else, or the transcript is.
    pub(super) fn search_anew(&mut self) -> Vec<Action> {
        self.shut_opened();
        let Some(search) = &mut self.moving.search else { return Vec::new() };
        self.moving.searches += 1;
        search.number = self.moving.searches;
        search.hits.clear();
        (search.current, search.shown) = (None, None);
        let parts = if search.typed.is_empty() { Vec::new() } else { self.transcript.unseen() };
        search.looking = !parts.is_empty();
        search.tail = SearchTail { from: self.transcript.newest_part(), seen: None };
        let points = Arc::clone(self.transcript.points());
        let lookup = Lookup { number: search.number, words: search.words(), parts, points };
        self.follow_search();
        vec![Action::Beside(BackgroundJob::Search(lookup))]
    }

    /// Takes what was found in a part.
    pub(super) fn found(&mut self, found: &SearchHits) {
        let Some(search) = self.moving.search.as_mut().filter(|search| search.number == found.number) else {
            return;
        };
        search.add((found.part, 0), &found.hits);
        search.looking &= !found.is_last;
    }

    /// Ends the search where one was before it.
    pub(super) fn leave_search(&mut self) -> Vec<Action> {
        self.shut_opened();
        match self.moving.search.take().and_then(|search| search.origin.goal) {
            Some(goal) => self.transcript.go(goal),
            None => self.transcript.follow(),
        }
        self.end_lookup()
    }

    /// Ends the search where it led; its block has the keys.
    pub(super) fn stay_at_hit(&mut self) -> Vec<Action> {
        let search = self.moving.search.take();
        self.transcript.set_focus(search.and_then(|search| search.shown).map(|(at, ..)| at));
        self.end_lookup()
    }

    fn end_lookup(&mut self) -> Vec<Action> {
        self.moving.searches += 1;
        vec![Action::Beside(BackgroundJob::Search(Lookup {
            number: self.moving.searches,
            words: SearchTerm::new(""),
            parts: Vec::new(),
            points: Arc::default(),
        }))]
    }

    pub(super) fn step_search(&mut self, toward: Direction) {
        if let Some(search) = &mut self.moving.search
            && search.step(toward)
        {
            search.shown = None;
        }
        self.follow_search();
    }

    /// Brings the search up to date: what is new in memory, the first place, and on the screen the one that is gone to.
    pub(super) fn follow_search(&mut self) {
        let Some(search) = &mut self.moving.search else { return };
        search.look_through_tail(&self.transcript);
        search.choose(&self.transcript);
        let Some((hit, nth)) = search.current.filter(|_| search.shown.is_none()) else { return };
        if !self.transcript.is_read(hit.0) {
            return self.transcript.go(JumpTarget::Hit { part: hit.0 });
        }
        if let Some(at) = self.transcript.logged(hit) {
            self.show_hit(at, nth, hit);
        }
    }

    fn show_hit(&mut self, at: BlockPos, nth: usize, hit: HitPosition) {
        let (ctx, height) = (self.ctx(), usize::from(super::view::ScreenAreas::of(self).transcript.height));
        let Some(search) = &mut self.moving.search else { return };
        let words = search.words();
        let counted = search.hits.get(&hit).copied().unwrap_or(0);
        let opened = search.opened.filter(|opened| *opened != at);
        if let Some(opened) = opened {
            self.transcript.shut(opened);
            search.opened = None;
        }
        let mut places = self.transcript.places_of(at, &words, &ctx);
        if places.len() < counted && self.transcript.open(at, &ctx) {
            search.opened = Some(at);
            places = self.transcript.places_of(at, &words, &ctx);
        }
        let (line, column) = places.get(nth).or(places.last()).copied().unwrap_or_default();
        search.shown = Some((at, line, column));
        self.transcript.show(at, line, height, &ctx);
    }

    /// Folds again what was only unfolded to show a place.
    fn shut_opened(&mut self) {
        if let Some(at) = self.moving.search.as_mut().and_then(|search| search.opened.take()) {
            self.transcript.shut(at);
        }
    }
}
