//! The one list that everything is chosen from: narrowed by typing, the chosen row kept, a preview beside it.
//!
//! Whoever wants something chosen makes items ([`Item::new`]) and puts a [`Picker`] of them on the stack of popups; Enter carries
//! out the item's [`Choice`]. A list that is gathered anew, that previews what is chosen or that knows keys of its own names what it
//! is by a [`List`]; `deeds` says what follows from keys, from a choice that moved and from a list that was left.

mod actions;
mod agent_options;
mod browser;
mod fuzzy;
mod inline_prompt;
mod item;
mod line_input;
mod models;
mod sessions;
mod settings;
#[cfg(test)]
mod tests;
mod theme_list;

use std::sync::Arc;

use tiller_render::Line;

use super::app::ListKind;
use super::keymap::KeyCommand;

pub(super) use agent_options::{Levels, levels, mode_about, modes, permissions, tools};
pub(super) use browser::SessionBrowser;
pub(super) use fuzzy::{FuzzyQuery, MatchMode, pieces};
pub(super) use inline_prompt::{EchoMode, PromptKind, StatusText};
pub(super) use item::{Extract, MARKS, PickerChoice, PickerItem};
pub(super) use line_input::LineInput;
pub(super) use models::{Models, models};
pub(super) use sessions::{Sessions, SortOrder, age, extract, hits, named, newest, sessions};
pub(super) use settings::settings;
pub(super) use theme_list::{ThemeItem, ThemeList};

use inline_prompt::InlinePrompt;

/// Items up to which narrowing is done at once: a few milliseconds. More are ranked elsewhere, while the list goes on showing what it
/// showed.
const AT_ONCE: usize = 5_000;

/// A list to choose from, narrowed by typing.
#[derive(Debug)]
pub(super) struct Picker {
    pub(super) title: String,
    pub(super) items: Arc<[PickerItem]>,
    filter: LineInput,
    way: MatchMode,
    /// Positions of the items that the filter lets through; those after the last item are hits of the browser.
    matches: Vec<usize>,
    place: ItemPosition,
    /// Whether the items are still being gathered.
    pub(super) waiting: bool,
    /// What it lists, if that can be gathered anew.
    pub(super) list: Option<ListKind>,
    /// What a picker of sessions has besides.
    browser: Option<SessionBrowser>,
    preview: ItemPreview,
    /// Whether the matches are those of an earlier filter, and whether somebody was asked for the right ones.
    owed: PendingQuery,
    talk: InlinePrompt,
}

/// Which of the matches is chosen.
#[derive(Clone, Debug, Default)]
struct ItemPosition {
    row: usize,
    /// Whether it was gone to: then typing doesn't leave it while it fits.
    is_held: bool,
    /// Whether a click or a key of the user's chose it, and not only what the list begins with or fits best: then a click takes it.
    is_users: bool,
    /// The first row on the screen when one was clicked on: the rows stay where they are under the mouse.
    top: Option<usize>,
    /// The choice that was told of last, and what was to be shown of it.
    told: Option<(PickerChoice, Extract)>,
}

/// What is to be read beside the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum ItemPreview {
    /// Nothing ever.
    #[default]
    None,
    /// It is being gathered.
    Waiting,
    /// This.
    Lines {
        /// What is known of it.
        detail: Arc<[Line]>,
        /// What was read besides.
        more: Vec<Line>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingQuery {
    Nothing,
    Unasked,
    Asked,
}

/// A list that is to be narrowed elsewhere, for it is long.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NarrowingJob {
    items: Arc<[PickerItem]>,
    words: String,
    way: MatchMode,
}

impl NarrowingJob {
    /// Does it; takes a while.
    pub(super) fn done(self) -> NarrowedList {
        let matches = fitting(&self.items, &self.words, self.way);
        NarrowedList { of: self, matches }
    }
}

/// What came of a [`Narrowing`].
#[derive(Debug)]
pub(super) struct NarrowedList {
    of: NarrowingJob,
    matches: Vec<usize>,
}

/// The positions of the items that fit, the best first. Whoever types a part of a session's id means that one before all others.
pub(super) fn fitting(items: &[PickerItem], words: &str, way: MatchMode) -> Vec<usize> {
    let others = FuzzyQuery::new(words, way).rank(items, |item| (&item.label, &item.note));
    let goes_by = |item: &PickerItem| item.tag.as_ref().is_some_and(|tag| tag.id.matches(words.trim()));
    let mut matches: Vec<usize> = (0..items.len()).filter(|at| goes_by(&items[*at])).collect();
    let named = matches.len();
    matches.extend(others.into_iter().filter(|at| named == 0 || !goes_by(&items[*at])));
    matches
}

impl Picker {
    /// A list that isn't there yet.
    pub(super) fn waiting(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            items: Arc::default(),
            filter: LineInput::default(),
            way: MatchMode::Names,
            matches: Vec::new(),
            place: ItemPosition::default(),
            waiting: true,
            list: None,
            browser: None,
            preview: ItemPreview::None,
            owed: PendingQuery::Nothing,
            talk: InlinePrompt::default(),
        }
    }

    /// The same, with what is to be gathered for it.
    pub(super) fn waiting_for(title: &str, list: ListKind) -> Self {
        Self { list: Some(list), ..Self::waiting(title) }
    }

    /// A list that is there.
    pub(super) fn of(title: &str, items: Vec<PickerItem>) -> Self {
        let mut picker = Self::waiting(title);
        picker.fill(items, 0);
        picker
    }

    /// The same, with words looked for in this way.
    pub(super) fn fitting(self, way: MatchMode) -> Self {
        Self { way, ..self }
    }

    /// The same narrowed to these words.
    pub(super) fn narrowed_to(self, words: &str) -> Self {
        Self { filter: words.into(), ..self }
    }

    /// The same with room for a preview; until it is told what to say there, it says what the chosen item does.
    pub(super) fn previewing(self) -> Self {
        Self { preview: ItemPreview::Waiting, ..self }
    }

    /// Gets its items; `selected` is where it begins. One that had items before keeps what was chosen.
    pub(super) fn fill(&mut self, items: Vec<PickerItem>, selected: usize) {
        let before = if self.waiting { None } else { self.chosen().map(|item| item.choice.clone()) };
        let is_as_long = items.len() == self.items.len();
        self.items = items.into();
        match (before, std::mem::take(&mut self.waiting)) {
            (Some(chosen), _) => {
                let (row, was_users) = (self.place.row, self.place.is_users);
                self.narrow_anew(Some(&chosen));
                if self.chosen().is_none_or(|item| item.choice != chosen) {
                    self.place.row = row.min(self.matches.len().saturating_sub(1));
                    // It is the same one, with another value; in a shorter list it is the one that came in its place.
                    self.place.is_users = was_users && is_as_long;
                }
            }
            (None, _) => {
                self.narrow_anew(None);
                if self.filter.is_empty() {
                    self.place.row = selected.min(self.matches.len().saturating_sub(1));
                }
            }
        }
        // What is known of the chosen one may have changed with it.
        self.place.told = None;
        self.go_on_to_key();
    }

    pub(super) fn filter(&self) -> &str {
        self.filter.text()
    }

    /// Whether what was typed narrows it. On the way to a session that is typed for the session.
    fn is_narrowed(&self) -> bool {
        !self.filter.is_empty() && !self.is_opening()
    }

    /// Moves the choice by `rows`, stopping at the ends.
    pub(super) fn step(&mut self, rows: isize) {
        self.go_to(self.place.row.saturating_add_signed(rows));
        self.place.top = None;
    }

    /// Whether a row stands on this line of so many on the screen.
    pub(super) fn has_line(&self, line: usize, height: usize) -> bool {
        line < height && self.top(height) + line < self.matches.len()
    }

    /// Goes to the row on this line of so many on the screen; says whether the user had chosen it already.
    pub(super) fn click(&mut self, line: usize, height: usize) -> bool {
        let (top, before, was_users) = (self.top(height), self.place.row, self.place.is_users);
        self.go_to(top + line);
        self.place.top = Some(top);
        was_users && self.place.row == before
    }

    fn go_to(&mut self, row: usize) {
        self.place.row = row.min(self.matches.len().saturating_sub(1));
        (self.place.is_held, self.place.is_users) = (true, true);
        self.stop_awaiting();
    }

    pub(super) fn chosen(&self) -> Option<&PickerItem> {
        Some(self.item(*self.matches.get(self.place.row)?))
    }

    /// The choice, if it is another than when this was asked last; `Some(None)` when nothing is left to choose.
    pub(super) fn moved(&mut self) -> Option<Option<PickerChoice>> {
        let now = self.chosen().map(|item| (item.choice.clone(), item.extract()));
        if now == self.place.told {
            return None;
        }
        self.place.told.clone_from(&now);
        Some(now.map(|(choice, _)| choice))
    }

    /// What the preview is to show of the chosen session.
    fn extract(&self) -> Extract {
        self.chosen().map(PickerItem::extract).unwrap_or_default()
    }

    /// What is to be read beside the list, if there is room for that.
    pub(super) fn preview(&self) -> &ItemPreview {
        &self.preview
    }

    /// Shows of what is chosen what is known, and, if that is what `of` names still, what was read besides.
    pub(super) fn show(&mut self, of: &PickerChoice, more: Vec<Line>) {
        if self.preview == ItemPreview::None {
            return;
        }
        if let Some(item) = self.chosen().filter(|item| item.choice == *of) {
            self.preview = ItemPreview::Lines { detail: Arc::clone(&item.detail), more };
        }
    }

    /// Shows what is known of the chosen one now, if it is the one that was shown; what was read besides stays.
    fn renew_detail(&mut self) {
        let is_shown =
            |item: &&PickerItem| self.place.told.as_ref().is_some_and(|(choice, _)| *choice == item.choice);
        let now = self.chosen().filter(is_shown).map(|item| Arc::clone(&item.detail));
        if let (Some(now), ItemPreview::Lines { detail, .. }) = (now, &mut self.preview) {
            *detail = now;
        }
    }

    /// There is nothing chosen to be read of.
    pub(super) fn show_nothing(&mut self) {
        if self.preview != ItemPreview::None {
            self.preview = ItemPreview::Lines { detail: Arc::default(), more: Vec::new() };
        }
    }

    /// The matches that fit into `height` rows with the chosen one among them, and whether each is chosen.
    pub(super) fn window(&self, height: usize) -> impl Iterator<Item = (&PickerItem, bool)> {
        let shown = self.matches.iter().enumerate().skip(self.top(height)).take(height);
        shown.map(|(place, at)| (self.item(*at), place == self.place.row))
    }

    /// The first of the matches in a window of this height.
    fn top(&self, height: usize) -> usize {
        let row = self.place.row;
        let most = self.matches.len().saturating_sub(height);
        let kept = self.place.top.map(|top| top.clamp((row + 1).saturating_sub(height), row));
        kept.unwrap_or(row.saturating_sub(height / 2)).min(most)
    }

    /// How many of how many are let through.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.matches.len(), self.items.len())
    }

    /// What shows which characters of a label fit.
    pub(super) fn query(&self) -> FuzzyQuery {
        FuzzyQuery::new(self.filter.text(), self.way)
    }

    /// What keys do in it, beside moving: the most important first.
    pub(super) fn hints(&self) -> Vec<(KeyCommand, &'static str)> {
        actions::hints(self)
    }

    /// The narrowing that somebody else is to do, once.
    fn ask_to_narrow(&mut self) -> Option<NarrowingJob> {
        if self.owed != PendingQuery::Unasked {
            return None;
        }
        self.owed = PendingQuery::Asked;
        Some(NarrowingJob { items: Arc::clone(&self.items), words: self.filter().to_owned(), way: self.way })
    }

    /// Takes what somebody else's narrowing came to, if it is still wanted.
    pub(super) fn narrowed(&mut self, done: &NarrowedList) {
        let is_same = Arc::ptr_eq(&self.items, &done.of.items) && self.filter.text() == done.of.words;
        if is_same && self.owed == PendingQuery::Asked {
            self.take(done.matches.clone());
        }
    }

    /// Narrows at once, whatever that takes: something is about to be chosen.
    fn settle(&mut self) {
        if self.owed != PendingQuery::Nothing {
            self.take(fitting(&self.items, self.filter(), self.way));
        }
    }

    fn narrow(&mut self) {
        if self.items.len() > AT_ONCE && !self.filter.is_empty() {
            self.owed = PendingQuery::Unasked;
        } else {
            self.take(fitting(&self.items, self.filter(), self.way));
        }
    }

    /// Takes new matches; what was gone to stays chosen if it is among them.
    fn take(&mut self, mut matches: Vec<usize>) {
        self.owed = PendingQuery::Nothing;
        let held = self.matches.get(self.place.row).copied().filter(|_| self.place.is_held);
        self.add_hits(&mut matches);
        self.matches = matches;
        let row = held.and_then(|at| self.matches.iter().position(|m| *m == at));
        self.place.is_held = row.is_some();
        self.place.is_users &= row.is_some();
        self.place.row = row.unwrap_or(0);
    }

    /// Narrows items that are others than before; what was chosen stays chosen wherever it is now.
    fn narrow_anew(&mut self, chosen: Option<&PickerChoice>) {
        let was_users = self.place.is_users;
        self.matches.clear();
        self.narrow();
        // The matches of other items mean nothing.
        self.settle();
        let is_chosen = |at: &usize| Some(&self.item(*at).choice) == chosen;
        let row = self.matches.iter().position(is_chosen);
        self.place.is_held = row.is_some();
        self.place.is_users = was_users && row.is_some();
        self.place.row = row.unwrap_or(0);
    }

    /// What was gone to.
    fn kept(&self) -> Option<PickerChoice> {
        self.chosen().filter(|_| self.place.is_held).map(|item| item.choice.clone())
    }

    fn item(&self, at: usize) -> &PickerItem {
        let hit = || self.browser.as_ref().map(|browser| &browser.hits[at - self.items.len()]);
        self.items.get(at).or_else(hit).expect("a match is an item or a hit")
    }
}
