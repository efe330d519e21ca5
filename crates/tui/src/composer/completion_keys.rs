//! Completion of the text in the editor.

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;

use crate::action::Action;
use crate::attach;
use crate::completion::candidate::OnAccept;
use crate::completion::files::RankedFiles;
use crate::completion::paths::{PathKind, PathListing, common};
use crate::completion::word::path;
use crate::completion::{CompletionKey, EditedText, EnterMeaning, list_paths_action};
use crate::component::{Context, Outcome, ViewContext};
use crate::composer::Composer;
use crate::composer::view::max_candidates;
use crate::list_click::ClickableList;
use crate::message::CompletionResult;
use crate::navigate::Navigate;

impl ClickableList for Composer {
    fn rows_area(&self, _view: &ViewContext<'_>) -> Rect {
        self.completion_area
    }

    fn visible_rows(&self, view: &ViewContext<'_>) -> Range<usize> {
        self.completion.visible_rows(max_candidates(view))
    }

    fn select_row(&mut self, row: usize, view: &ViewContext<'_>) -> bool {
        self.completion.click(row, max_candidates(view))
    }

    /// Accepts the selected candidate. If this sends the text, it is sent for its current purpose: as a
    /// prompt, an edited queued message, or the reason of a denial.
    fn accept_selected(&mut self, cx: &mut Context<'_>) {
        if !self.completion.is_stale() && self.enter_candidate(cx) == Outcome::Ignored {
            self.handle_without_completion(KeyEvent::from(KeyCode::Enter), cx);
        }
    }

    fn turn_wheel(&mut self, rows: isize, _cx: &mut Context<'_>) {
        self.completion.step_within(rows);
    }
}

impl Composer {
    /// Updates the candidates if the text before the cursor has changed.
    pub(super) fn update_completion(&mut self, cx: &mut Context<'_>) {
        let text = EditedText {
            before: self.editor.line_before_cursor(),
            begins_command: self.editor.begins_command(),
            is_unedited: self.editor.is_unedited(),
        };
        self.completion.update(&text, cx);
    }

    /// Handles a key while there are candidates, and Tab after a path.
    pub(super) fn completion_key(&mut self, key: KeyEvent, cx: &mut Context<'_>) -> Outcome {
        match self.completion.handle(key) {
            CompletionKey::Consumed => Outcome::Consumed,
            CompletionKey::Ignored => Outcome::Ignored,
            CompletionKey::Insert => match self.insert_selected(cx) {
                Some(_) => Outcome::Consumed,
                None => Outcome::Ignored,
            },
            CompletionKey::Accept => self.enter_candidate(cx),
            CompletionKey::CompletePath => self.list_paths(cx),
        }
    }

    /// Accepts the selected candidate like Enter; ignored if that sends the text.
    pub(super) fn enter_candidate(&mut self, cx: &mut Context<'_>) -> Outcome {
        match self.completion.enter(&cx.model.info.commands) {
            EnterMeaning::Send => return Outcome::Ignored,
            EnterMeaning::Insert => _ = self.insert_selected(cx),
            EnterMeaning::Accept => {
                match self.insert_selected(cx) {
                    // The caller sends it.
                    Some(OnAccept::Send) | None => return Outcome::Ignored,
                    Some(OnAccept::GoOn) => {}
                    Some(OnAccept::Open(path)) => {
                        self.editor.take_text();
                        cx.push(Action::Navigate(Navigate::Open(path)));
                    }
                }
            }
        }
        Outcome::Consumed
    }

    /// Inserts the selected candidate; returns its effect on Enter. An image is attached: the job that reads
    /// it inserts its placeholder, or the name again if it isn't an image.
    fn insert_selected(&mut self, cx: &mut Context<'_>) -> Option<OnAccept> {
        let (candidate, typed) = self.completion.take_selected()?;
        let is_file = self.completion.is_of_files() && self.accepts_images();
        let images = attach::mentions::mentioned_images(&candidate.insert, cx.ui.home.as_deref());
        match images.into_iter().next().filter(|_| is_file) {
            Some(image) => {
                self.editor.replace_before(typed, "");
                cx.push(Action::Attach(image, candidate.insert));
            }
            None => self.editor.replace_before(typed, &candidate.insert),
        }
        Some(candidate.then)
    }

    /// Accepts the best candidate if Tab was pressed before it arrived.
    fn accept_awaited(&mut self, cx: &mut Context<'_>) {
        if self.completion.take_awaited() {
            self.insert_selected(cx);
        }
    }

    pub(super) fn apply_completion(&mut self, result: CompletionResult, cx: &mut Context<'_>) {
        match result {
            CompletionResult::ArgumentValues { of, items } => self.completion.show_argument_values(of, items),
            CompletionResult::Files(files) => self.completion.set_project_files(files, cx),
            CompletionResult::Ranked(ranked) => self.show_ranked_files(ranked, cx),
            CompletionResult::Paths(listing) => self.show_listed_paths(listing, cx),
        }
    }

    /// Shows ranked files if the query is unchanged.
    fn show_ranked_files(&mut self, ranked: RankedFiles, cx: &mut Context<'_>) {
        if self.completion.show_ranked_files(ranked) {
            self.accept_awaited(cx);
        }
    }

    /// Handles a directory listing: inserts a single name; for several names, inserts their common prefix and
    /// shows them.
    fn show_listed_paths(&mut self, listing: PathListing, cx: &mut Context<'_>) {
        let is_current = self.completion.expects_paths(listing.purpose);
        if self.editor.line_before_cursor() != listing.before || !is_current {
            return;
        }
        if listing.purpose != PathKind::Word {
            self.completion.show_paths(listing.candidates);
            return self.accept_awaited(cx);
        }
        let typed = listing.typed.chars().count();
        match listing.candidates.as_slice() {
            [] => cx.flash("No matching path."),
            [only] => self.editor.replace_before(typed, &only.insert),
            several => {
                let common = common(several);
                if common.len() > listing.typed.len() {
                    self.editor.replace_before(typed, &common);
                }
                let before = self.editor.line_before_cursor();
                self.completion.show_path_word(before, common, listing.candidates);
            }
        }
    }

    fn list_paths(&mut self, cx: &mut Context<'_>) -> Outcome {
        let before = self.editor.line_before_cursor();
        let Some(typed) = path(before) else { return Outcome::Ignored };
        cx.push(list_paths_action(PathKind::Word, before, typed, cx));
        Outcome::Consumed
    }
}

#[cfg(test)]
mod tests;
