//! The list component for all choices: filtering by typing, a stable selection, and a preview.
//!
//! Each list is a [`ListSource`], which defines the effects of Enter and of the list's own keys. `keys`
//! handles keys, `view` draws.

pub(crate) mod agent_options;
pub(crate) mod agents;
pub(crate) mod approval_modes;
pub(crate) mod browser;
mod browsing;
pub(crate) mod choices;
mod click;
pub(crate) mod command_jobs;
pub(crate) mod credentials;
pub(crate) mod detail_lines;
pub(crate) mod foreign_logs;
mod input_rows;
pub(crate) mod item;
mod keys;
pub(crate) mod line_prompt;
pub(crate) mod list_sources;
pub(crate) mod models;
pub(crate) mod narrowing;
mod prompts;
pub(crate) mod race;
mod results;
pub(crate) mod rule_form;
mod session_lists;
pub(crate) mod session_query;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod source;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod themes;
pub(crate) mod view;

use std::sync::Arc;

use ratatui::layout::Rect;
use tiller_core::id::CallId;
use tiller_core::proposed_rules::ProposedRules;
use tiller_render::Line;

use crate::address::OverlayId;
use crate::fuzzy::FuzzyQuery;
use crate::keymap::table::KeyCommand;
use crate::line_input::LineInput;
use crate::list_cursor::ListCursor;
use crate::list_kind::ListKind;
use crate::pattern_subject::PatternSubject;
use crate::picker::browser::SessionBrowser;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::line_prompt::{InlinePrompt, LinePrompt, StatusText};
use crate::picker::narrowing::{NarrowedList, NarrowingJob, with_match_mode};
use crate::picker::session_query::SessionExcerpt;
use crate::picker::source::ListSource;
use crate::text::one_line;

/// Maximum number of items that are filtered synchronously, within a few milliseconds. Longer lists are
/// filtered in the background while the previous matches stay visible.
const AT_ONCE: usize = 5_000;

/// A filterable list.
#[derive(Debug)]
pub(super) struct Picker {
    pub(super) title: String,
    pub(super) items: Arc<[PickerItem]>,
    filter: LineInput,
    /// The list's definition: title, keys, and the action of Enter.
    source: &'static dyn ListSource,
    /// Indexes of the matching items; indexes after the last item refer to the browser's search hits.
    matches: Vec<usize>,
    cursor: ListCursor,
    /// True if the user moved the selection; typing keeps it as long as it matches.
    is_moved: bool,
    /// The index, choice and excerpt of the item in the last preview; several items can have the same choice.
    previewed: Option<(usize, PickerChoice, SessionExcerpt)>,
    pub(super) waiting: bool,
    /// Commands given while the items are loading; they apply to the loaded items.
    queued_commands: Vec<KeyCommand>,
    /// Additional state of session lists.
    browser: Option<SessionBrowser>,
    preview: ItemPreview,
    /// The state of the running query. Until it is done, the matches may belong to an earlier filter.
    pending_query: PendingQuery,
    prompt: InlinePrompt,
    /// The area of the last layout.
    area: Rect,
    pub(super) id: OverlayId,
}

/// The content of the preview.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum ItemPreview {
    #[default]
    None,
    /// Loading.
    Waiting,
    Lines {
        /// Lines that the item already has.
        detail: Arc<[Line]>,
        /// Lines loaded in the background.
        more: Vec<Line>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingQuery {
    None,
    Unasked,
    Asked,
}

impl Picker {
    /// An empty list whose items are being loaded.
    pub(super) fn waiting(source: &'static dyn ListSource) -> Self {
        Self {
            title: source.facts().title.to_owned(),
            items: Arc::default(),
            filter: LineInput::default(),
            source,
            matches: Vec::new(),
            cursor: ListCursor::default(),
            is_moved: false,
            previewed: None,
            waiting: true,
            queued_commands: Vec::new(),
            browser: None,
            preview: if source.facts().has_preview { ItemPreview::Waiting } else { ItemPreview::None },
            pending_query: PendingQuery::None,
            prompt: InlinePrompt::default(),
            area: Rect::default(),
            id: OverlayId::default(),
        }
    }

    /// A list with its items.
    pub(super) fn with_items(
        source: &'static dyn ListSource,
        title: String,
        items: Vec<PickerItem>,
        selected: usize,
    ) -> Self {
        let mut picker = Self { title, ..Self::waiting(source) };
        picker.fill(items, selected);
        picker
    }

    /// Creates the list of providers with the key prompt for `provider`. The prompt is open before the
    /// providers are loaded, because a key that is pasted immediately must not be shown.
    pub(super) fn asking_for_key(provider: String) -> Self {
        let mut picker = Self::waiting(&credentials::LoginList).with_filter(&provider);
        picker.set_prompt(credentials::key_prompt(provider));
        picker
    }

    /// Creates the list of files that rules can be saved to, with the rules of a pending call to edit.
    pub(super) fn editing_rules(call: CallId, rules: &ProposedRules, subject: PatternSubject) -> Self {
        let mut picker = Self::waiting(&rule_form::RuleForm);
        picker.set_prompt(rule_form::rule_prompt(call, rules, subject));
        picker
    }

    pub(super) fn with_filter(self, words: &str) -> Self {
        Self { filter: words.into(), ..self }
    }

    /// The kind of list, if its items are loaded in the background.
    pub(super) fn kind(&self) -> Option<ListKind> {
        self.source.facts().kind
    }

    /// Sets the items with an initial selection; a refreshed list keeps its selection. If the selected item is
    /// gone, its row is kept, or [`ListFacts::returns_to_start`](source::ListFacts::returns_to_start) applies.
    pub(super) fn fill(&mut self, items: Vec<PickerItem>, selected: usize) {
        let before = if self.waiting { None } else { self.chosen().map(|item| item.identity().clone()) };
        let is_as_long = items.len() == self.items.len();
        let form = self.prompt().and_then(|prompt| rule_form::first_row(prompt, &items));
        let selected = form.unwrap_or(selected);
        let items = match self.prompt() {
            Some(prompt) => rule_form::with_pattern_syntax(prompt, items),
            None => items,
        };
        self.items = items.into();
        let returns_to_start = self.source.facts().returns_to_start;
        match (before, std::mem::take(&mut self.waiting)) {
            (Some(chosen), _) => {
                let (row, was_user_selected) = (self.cursor.row, self.cursor.is_user_selected);
                self.refilter(Some(&chosen));
                let is_gone = self.chosen().is_none_or(|item| *item.identity() != chosen);
                if is_gone && returns_to_start {
                    self.select_start(selected);
                } else if is_gone {
                    self.cursor.row = row.min(self.matches.len().saturating_sub(1));
                    // The same item with another value, or in a shorter list its successor.
                    self.cursor.is_user_selected = was_user_selected && is_as_long;
                }
            }
            (None, false) if returns_to_start => {
                self.refilter(None);
                self.select_start(selected);
            }
            (None, _) => {
                self.refilter(None);
                if self.filter.is_empty() {
                    self.cursor.row = selected.min(self.matches.len().saturating_sub(1));
                }
            }
        }
        // The selected item's detail may have changed.
        self.previewed = None;
        if self.chosen().is_none() {
            self.show_nothing();
        }
        self.continue_to_key();
    }

    /// Selects this item; nothing if it doesn't match the filter.
    fn select_start(&mut self, selected: usize) {
        let row = self.matches.iter().position(|at| *at == selected);
        self.cursor.row = row.unwrap_or(self.matches.len());
        (self.is_moved, self.cursor.is_user_selected) = (false, false);
    }

    /// Continues with the key prompt once the providers are loaded, for the provider that the typed name
    /// matches. If it matches none or several, the typed key is discarded.
    fn continue_to_key(&mut self) {
        let prompt = self.prompt().filter(|_| self.kind() == Some(ListKind::Logins));
        let Some(PickerChoice::Login(filter)) = prompt.map(|prompt| prompt.purpose.clone()) else { return };
        let named = PickerChoice::Login(filter.clone());
        let is_known = self.items.iter().any(|item| item.choice == named);
        let only = self.chosen().filter(|_| self.counts().0 == 1).map(|item| item.choice.clone());
        let provider = if is_known { Some(named) } else { only };
        match (provider, self.end_prompt()) {
            (Some(PickerChoice::Login(provider)), Some(prompt)) => {
                self.set_prompt(LinePrompt { typed: prompt.typed, ..credentials::key_prompt(provider) });
            }
            _ => {
                self.edit(LineInput::clear);
                self.set_status(Some(StatusText::error(format!("unknown provider `{}`", one_line(&filter)))));
            }
        }
    }

    pub(super) fn filter(&self) -> &str {
        self.filter.text()
    }

    /// Returns true if a filter is set. While a session is opening, typed text is meant for the session.
    fn is_narrowed(&self) -> bool {
        !self.filter.is_empty() && !self.is_opening()
    }

    /// Moves the selection, stopping at the ends.
    pub(super) fn step(&mut self, rows: isize) {
        self.cursor.step(rows, self.matches.len());
        self.selection_moved();
    }

    /// Records that the user moved the selection.
    fn selection_moved(&mut self) {
        self.is_moved = true;
        self.forget_awaited();
    }

    pub(super) fn chosen(&self) -> Option<&PickerItem> {
        Some(self.item(self.chosen_index()?))
    }

    fn chosen_index(&self) -> Option<usize> {
        self.matches.get(self.cursor.row).copied()
    }

    /// Returns the selected choice if it has changed since the last call; `Some(None)` if there is nothing to
    /// select.
    pub(super) fn take_moved_selection(&mut self) -> Option<Option<PickerChoice>> {
        let now = self.chosen_index().map(|at| {
            let item = self.item(at);
            (at, item.choice.clone(), item.extract())
        });
        if now == self.previewed {
            return None;
        }
        self.previewed.clone_from(&now);
        Some(now.map(|(_, choice, _)| choice))
    }

    /// The excerpt for the preview of the selected session.
    fn extract(&self) -> SessionExcerpt {
        self.chosen().map(PickerItem::extract).unwrap_or_default()
    }

    pub(super) fn preview(&self) -> &ItemPreview {
        &self.preview
    }

    /// Shows the selected item's detail, with loaded lines if they belong to it.
    pub(super) fn show_preview(&mut self, of: &PickerChoice, more: Vec<Line>) {
        if self.preview == ItemPreview::None {
            return;
        }
        if let Some(item) = self.chosen().filter(|item| item.choice == *of) {
            self.preview = ItemPreview::Lines { detail: Arc::clone(&item.detail), more };
        }
    }

    /// Updates the detail of the previewed item and keeps its loaded lines.
    fn refresh_detail(&mut self) {
        let is_shown =
            |item: &&PickerItem| self.previewed.as_ref().is_some_and(|(_, choice, _)| *choice == item.choice);
        let now = self.chosen().filter(is_shown).map(|item| Arc::clone(&item.detail));
        if let (Some(now), ItemPreview::Lines { detail, .. }) = (now, &mut self.preview) {
            *detail = now;
        }
    }

    /// Clears the preview.
    pub(super) fn show_nothing(&mut self) {
        if self.preview != ItemPreview::None {
            self.preview = ItemPreview::Lines { detail: Arc::default(), more: Vec::new() };
        }
    }

    /// Returns the matches in a window of `height` rows around the selection, with a flag for the selected
    /// one.
    pub(super) fn window(&self, height: usize) -> impl Iterator<Item = (&PickerItem, bool)> {
        let shown = self.matches.iter().enumerate().skip(self.top(height)).take(height);
        shown.map(|(place, at)| (self.item(*at), place == self.cursor.row))
    }

    /// The first visible match in a window of this height.
    fn top(&self, height: usize) -> usize {
        let max_top = self.matches.len().saturating_sub(height);
        self.cursor.top(self.cursor.row.saturating_sub(height / 2), height).min(max_top)
    }

    /// Number of matches and of items.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.matches.len(), self.items.len())
    }

    /// The query for highlighting matches.
    pub(super) fn query(&self) -> FuzzyQuery {
        FuzzyQuery::new(self.filter.text(), self.source.facts().match_mode)
    }

    /// Returns the filter job to start, once.
    fn take_filter_job(&mut self) -> Option<NarrowingJob> {
        if self.pending_query != PendingQuery::Unasked {
            return None;
        }
        self.pending_query = PendingQuery::Asked;
        Some(NarrowingJob {
            items: Arc::clone(&self.items),
            query: self.filter().to_owned(),
            match_mode: self.source.facts().match_mode,
        })
    }

    /// Applies the result of a filter job if it is current.
    pub(super) fn apply_narrowed(&mut self, done: &NarrowedList) {
        let is_same = Arc::ptr_eq(&self.items, &done.job.items) && self.filter.text() == done.job.query;
        if is_same && self.pending_query == PendingQuery::Asked {
            self.set_matches(done.matches.clone());
        }
    }

    /// Filters synchronously, because an item is about to be accepted.
    fn settle(&mut self) {
        if self.pending_query != PendingQuery::None {
            self.set_matches(with_match_mode(&self.items, self.filter(), self.source.facts().match_mode));
        }
    }

    fn narrow(&mut self) {
        if self.items.len() > AT_ONCE && !self.filter.is_empty() {
            self.pending_query = PendingQuery::Unasked;
        } else {
            self.set_matches(with_match_mode(&self.items, self.filter(), self.source.facts().match_mode));
        }
    }

    /// Sets new matches. A selection by the user is kept if it still matches.
    fn set_matches(&mut self, mut matches: Vec<usize>) {
        self.pending_query = PendingQuery::None;
        let selected = self.matches.get(self.cursor.row).copied().filter(|_| self.is_moved);
        self.add_hits(&mut matches);
        self.matches = matches;
        let row = selected.and_then(|at| self.matches.iter().position(|m| *m == at));
        self.is_moved = row.is_some();
        self.cursor.follow(row);
    }

    /// Filters changed items. The selection follows its item, the nearest one if several have the same
    /// identity.
    fn refilter(&mut self, chosen: Option<&PickerChoice>) {
        let row_before = self.cursor.row;
        let was_user_selected = self.cursor.is_user_selected;
        self.matches.clear();
        self.narrow();
        // Matches of the previous items are meaningless.
        self.settle();
        let is_chosen = |row: &usize| Some(self.item(self.matches[*row]).identity()) == chosen;
        let row = (0..self.matches.len()).filter(is_chosen).min_by_key(|row| row.abs_diff(row_before));
        self.is_moved = row.is_some();
        self.cursor.is_user_selected = was_user_selected;
        self.cursor.follow(row);
        if let (Some(row), Some(previewed)) = (row, &mut self.previewed) {
            previewed.0 = self.matches[row];
        }
    }

    /// The choice that the user moved to.
    fn moved_choice(&self) -> Option<PickerChoice> {
        self.chosen().filter(|_| self.is_moved).map(|item| item.choice.clone())
    }

    fn item(&self, at: usize) -> &PickerItem {
        let hit = || self.browser.as_ref().map(|browser| &browser.hits[at - self.items.len()]);
        self.items.get(at).or_else(hit).expect("a match is an item or a hit")
    }
}
