//! The search bar: the typed text, the hits, and the hit on the screen.
//!
//! The newest part of the path and the arriving answer are in memory and searched at once. Older parts are read and
//! searched in the background, newest first; their hits arrive part by part. A hit is identified by its part and the
//! block's number among the part's log blocks.

use crate::transcript_pane::lookup::{Lookup, SearchHits, hits};
use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::action::{Action, BackgroundJob};
use crate::component::{Context, Outcome, ViewContext};
use crate::keymap;
use crate::keymap::KeyCommand;
use crate::log_blocks::PathContext;
use crate::picker::line_input::LineInput;
use crate::search_term::SearchTerm;
use crate::transcript::Transcript;
use crate::transcript::chunk::BlockPos;
use crate::transcript::jump::{Direction, JumpTarget};
use crate::transcript_pane::TranscriptPane;

/// A block with hits: its part, and its number among the part's log blocks.
type HitPosition = (usize, usize);

/// A running search.
#[derive(Debug)]
pub(crate) struct SearchBar {
    typed: String,
    number: u64,
    hits: BTreeMap<HitPosition, usize>,
    /// True if parts remain to be searched.
    is_running: bool,
    /// The current hit: its block, and the occurrence in it.
    current: Option<(HitPosition, usize)>,
    /// Screen position of the current hit: block, line, first column.
    shown: Option<(BlockPos, usize, usize)>,
    /// A block unfolded to show a hit.
    opened: Option<BlockPos>,
    /// The view before the search.
    origin: SearchOrigin,
    tail: SearchTail,
}

/// The in-memory end of the path.
#[derive(Clone, Copy, Debug, Default)]
struct SearchTail {
    /// Its first part.
    from: usize,
    /// Number of added blocks and length of the arriving answer at the last search; `None` before the first.
    seen: Option<(usize, usize)>,
}

/// The view before the search.
#[derive(Clone, Copy, Debug)]
struct SearchOrigin {
    goal: Option<JumpTarget>,
    /// The last block on the screen; the search starts above it.
    bottom: BlockPos,
}

impl SearchBar {
    fn new(transcript: &Transcript, number: u64) -> Self {
        let origin = SearchOrigin { goal: transcript.place(), bottom: transcript.bottom() };
        Self {
            typed: String::new(),
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
        &self.typed
    }

    pub(crate) fn words(&self) -> SearchTerm {
        SearchTerm::new(&self.typed)
    }

    /// The current hit's number, the number of hits, and whether more may follow.
    pub(crate) fn count(&self) -> (usize, usize, bool) {
        let before = |hit: HitPosition| self.hits.range(..hit).map(|(_, count)| count).sum::<usize>();
        let nth = self.current.map_or(0, |(hit, nth)| before(hit) + nth + 1);
        (nth, self.hits.values().sum(), self.is_running)
    }

    /// Returns true if this position is the current hit.
    pub(crate) fn is_current(&self, place: (BlockPos, usize, usize)) -> bool {
        self.shown == Some(place)
    }

    fn add(&mut self, (part, first): HitPosition, hits: &[(usize, usize)]) {
        self.hits.extend(hits.iter().map(|(index, count)| ((part, first + index), *count)));
    }

    /// Replaces the hits of a part from one block on.
    fn replace(&mut self, first: HitPosition, hits: &[(usize, usize)]) {
        let outdated: Vec<HitPosition> =
            self.hits.range(first..(first.0 + 1, 0)).map(|(hit, _)| *hit).collect();
        outdated.iter().for_each(|hit| _ = self.hits.remove(hit));
        self.add(first, hits);
    }

    /// Searches what is in memory, unless it is unchanged.
    fn search_tail(&mut self, transcript: &Transcript) {
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

    /// Corrects the current hit after the hits have changed: its answer may have been aborted, or its block
    /// renumbered.
    fn update_current(&mut self, transcript: &Transcript) {
        let Some((hit, _)) = self.current else { return };
        if !self.hits.contains_key(&hit) {
            let before = self.hits.range(..hit).next_back();
            self.current = before.map(|(hit, count)| (*hit, count - 1));
            self.shown = None;
        } else if self.shown.is_some_and(|(at, ..)| transcript.logged(hit) != Some(at)) {
            self.shown = None;
        }
    }

    /// Chooses the first current hit: the nearest above the bottom of the screen, else the first below.
    fn choose(&mut self, transcript: &Transcript) -> bool {
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

impl TranscriptPane {
    /// Reports whether the search bar is open.
    pub(crate) fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    /// Opens the search bar.
    pub(super) fn begin_search(&mut self) {
        self.searches += 1;
        self.search = Some(SearchBar::new(&self.transcript, self.searches));
        self.transcript.set_focus(None);
    }

    /// Handles a key while the search bar is open.
    pub(super) fn search_key(&mut self, key: KeyEvent, cx: &mut Context<'_>) -> Outcome {
        match cx.ui.keymap.command(keymap::Context::Search, key) {
            Some(KeyCommand::SearchOlder) => self.step_search(Direction::Older, cx),
            Some(KeyCommand::SearchNewer) => self.step_search(Direction::Newer, cx),
            Some(KeyCommand::SearchStay) => self.accept_search(cx),
            Some(KeyCommand::SearchClear) => self.edit_search(String::clear, cx),
            Some(KeyCommand::SearchBack) => self.cancel_search(cx),
            _ => return self.search_text_key(key, cx),
        }
        Outcome::Consumed
    }

    /// Edits the search text; keys that scroll, fold or suspend are passed on.
    fn search_text_key(&mut self, key: KeyEvent, cx: &mut Context<'_>) -> Outcome {
        let is_plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        match key.code {
            KeyCode::Char(c) if is_plain => self.edit_search(|typed| typed.push(c), cx),
            KeyCode::Backspace if self.search.as_ref().is_some_and(|search| search.typed.is_empty()) => {
                self.cancel_search(cx);
            }
            KeyCode::Backspace => self.edit_search(|typed| _ = typed.pop(), cx),
            _ => {
                let passes_on = matches!(
                    cx.ui.keymap.command(keymap::Context::Main, key),
                    Some(
                        KeyCommand::PageUp
                            | KeyCommand::PageDown
                            | KeyCommand::UnfoldOutput
                            | KeyCommand::UnfoldThinking
                            | KeyCommand::Suspend
                    )
                );
                return if passes_on { Outcome::Ignored } else { Outcome::Consumed };
            }
        }
        Outcome::Consumed
    }

    /// Pastes into the search bar.
    pub(super) fn paste_into_search(&mut self, text: &str, cx: &mut Context<'_>) {
        // A line copied from elsewhere may include its line break.
        let line = LineInput::from(text.trim_matches(['\r', '\n']).replace("\r\n", "\n").as_str());
        self.edit_search(|typed| typed.push_str(line.text()), cx);
    }

    fn edit_search(&mut self, change: impl FnOnce(&mut String), cx: &mut Context<'_>) {
        if let Some(search) = &mut self.search {
            change(&mut search.typed);
            self.restart_search(cx);
        }
    }

    /// Restarts the search after the search text or the transcript has changed.
    pub(crate) fn restart_search(&mut self, cx: &mut Context<'_>) {
        self.fold_opened();
        let Some(search) = &mut self.search else { return };
        self.searches += 1;
        search.number = self.searches;
        search.hits.clear();
        (search.current, search.shown) = (None, None);
        let parts = if search.typed.is_empty() { Vec::new() } else { self.transcript.unseen() };
        search.is_running = !parts.is_empty();
        search.tail = SearchTail { from: self.transcript.newest_part(), seen: None };
        let context = self.transcript.context().clone();
        let lookup = Lookup { number: search.number, words: search.words(), parts, context };
        self.follow_search(cx);
        cx.push(Action::Background(BackgroundJob::Search(lookup)));
    }

    /// Adds the hits of a part.
    pub(crate) fn add_search_hits(&mut self, found: &SearchHits) {
        let Some(search) = self.search.as_mut().filter(|search| search.number == found.number) else {
            return;
        };
        search.add((found.part, 0), &found.hits);
        search.is_running &= !found.is_complete;
    }

    /// Ends the search and restores the view before it.
    fn cancel_search(&mut self, cx: &mut Context<'_>) {
        self.fold_opened();
        match self.search.take().and_then(|search| search.origin.goal) {
            Some(goal) => self.transcript.jump_to(goal),
            None => self.transcript.follow(),
        }
        self.end_lookup(cx);
    }

    /// Ends the search at its current hit, whose block gets the focus.
    fn accept_search(&mut self, cx: &mut Context<'_>) {
        let search = self.search.take();
        self.transcript.set_focus(search.and_then(|search| search.shown).map(|(at, ..)| at));
        self.end_lookup(cx);
    }

    fn end_lookup(&mut self, cx: &mut Context<'_>) {
        self.searches += 1;
        cx.push(Action::Background(BackgroundJob::Search(Lookup {
            number: self.searches,
            words: SearchTerm::new(""),
            parts: Vec::new(),
            context: PathContext::default(),
        })));
    }

    fn step_search(&mut self, toward: Direction, view: &ViewContext<'_>) {
        if let Some(search) = &mut self.search
            && search.step(toward)
        {
            search.shown = None;
        }
        self.follow_search(view);
    }

    /// Updates the search: searches new blocks in memory, chooses the first hit, scrolls to the current one.
    pub(super) fn follow_search(&mut self, view: &ViewContext<'_>) {
        let Some(search) = &mut self.search else { return };
        search.search_tail(&self.transcript);
        search.choose(&self.transcript);
        let Some((hit, nth)) = search.current.filter(|_| search.shown.is_none()) else { return };
        if !self.transcript.is_read(hit.0) {
            return self.transcript.jump_to(JumpTarget::Hit { part: hit.0 });
        }
        if let Some(at) = self.transcript.logged(hit) {
            self.show_hit(at, nth, hit, view);
        }
    }

    fn show_hit(&mut self, at: BlockPos, nth: usize, hit: HitPosition, view: &ViewContext<'_>) {
        let ctx = self.render_context(view);
        let Some(search) = &mut self.search else { return };
        let term = search.words();
        let counted = search.hits.get(&hit).copied().unwrap_or(0);
        let opened = search.opened.filter(|opened| *opened != at);
        if let Some(opened) = opened {
            self.transcript.fold_default(opened);
            search.opened = None;
        }
        let mut places = self.transcript.places_of(at, &term, &ctx);
        if places.len() < counted && self.transcript.open(at, &ctx) {
            search.opened = Some(at);
            places = self.transcript.places_of(at, &term, &ctx);
        }
        let (line, column) = places.get(nth).or(places.last()).copied().unwrap_or_default();
        search.shown = Some((at, line, column));
        self.transcript.show(at, line, usize::from(self.area.height), &ctx);
    }

    /// Folds the block that was unfolded to show a hit.
    fn fold_opened(&mut self) {
        if let Some(at) = self.search.as_mut().and_then(|search| search.opened.take()) {
            self.transcript.fold_default(at);
        }
    }
}
