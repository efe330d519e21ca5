//! The search bar: the typed text, the hits, and the current hit on the screen.
//!
//! The newest part of the path and the streaming answer are in memory and searched immediately. Older parts
//! are read and searched in the background, newest first; their hits arrive part by part. A hit is identified
//! by its part and the block's number among the part's log blocks.

use crossterm::event::{KeyCode, KeyEvent};

use crate::action::{Action, BackgroundJob};
use crate::component::{Context, Outcome, ViewContext};
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::line_input::{LineInput, typed_char};
use crate::log_blocks::PathContext;
use crate::search_term::SearchTerm;
use crate::transcript::chunk::BlockPos;
use crate::transcript::jump_target::{Direction, JumpTarget};
use crate::transcript_pane::TranscriptPane;
use crate::transcript_pane::lookup::{SearchHits, SearchJob};
use crate::transcript_pane::search::{HitPosition, SearchBar, SearchTail};

impl TranscriptPane {
    /// Returns true if the search bar is open.
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
        match cx.ui.keymap.command(KeyContext::Search, key) {
            Some(KeyCommand::SearchOlder) => self.step_search(Direction::Older, cx),
            Some(KeyCommand::SearchNewer) => self.step_search(Direction::Newer, cx),
            Some(KeyCommand::SearchStay) => self.accept_search(cx),
            Some(KeyCommand::SearchClear) => self.edit_search(LineInput::clear, cx),
            Some(KeyCommand::SearchBack) => self.cancel_search(cx),
            _ => return self.search_text_key(key, cx),
        }
        Outcome::Consumed
    }

    /// Edits the search text; keys that scroll, fold or suspend are passed on.
    fn search_text_key(&mut self, key: KeyEvent, cx: &mut Context<'_>) -> Outcome {
        match key.code {
            _ if typed_char(key).is_some() => self.edit_search(|typed| _ = typed.edit(key, None), cx),
            KeyCode::Backspace if self.search.as_ref().is_some_and(|search| search.typed.is_empty()) => {
                self.cancel_search(cx);
            }
            KeyCode::Backspace => self.edit_search(LineInput::pop, cx),
            _ => {
                let passes_on = matches!(
                    cx.ui.keymap.command(KeyContext::Main, key),
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
    pub(super) fn paste_into_search(&mut self, text: &str, cx: &mut Context<'_>) -> Outcome {
        // A copied line may include its line break.
        let line = text.trim_matches(['\r', '\n']).replace("\r\n", "\n");
        self.edit_search(|typed| typed.push(&line), cx);
        Outcome::Consumed
    }

    fn edit_search(&mut self, change: impl FnOnce(&mut LineInput), cx: &mut Context<'_>) {
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
        let lookup = SearchJob { number: search.number, words: search.words(), parts, context };
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
        cx.push(Action::Background(BackgroundJob::Search(SearchJob {
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

    /// Updates the search: searches new blocks in memory, selects the first hit, and scrolls to the current
    /// one.
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
