//! What may lie over the transcript: one stack of pickers and pages to read.

use std::path::PathBuf;

use super::app::{Action, Browsed, List};
use super::browse::Ask;
use crate::agent::BranchSummary;
use crate::event::CompactionChoice;
use crate::id::EntryId;
use crate::render::{Line, Role};
use crate::session::{Scope, Visibility};

/// Signs around a part of a label that stands out.
pub(super) const MARKS: [char; 2] = ['\u{2}', '\u{3}'];

/// Something over the transcript.
#[derive(Debug)]
pub(super) enum Popup {
    Pick(Picker),
    Read(Page),
}

/// A list to choose from, narrowed by typing.
#[derive(Debug)]
pub(super) struct Picker {
    pub(super) title: String,
    items: Vec<Item>,
    filter: String,
    /// Positions of the items that the filter lets through; those after the last item are hits of the browser.
    matches: Vec<usize>,
    /// Which of the matches is chosen.
    selected: usize,
    /// Whether the items are still being gathered.
    pub(super) waiting: bool,
    /// What it lists, if that can be gathered anew.
    pub(super) list: Option<List>,
    /// What a picker of sessions has besides.
    browser: Option<Browser>,
}

/// A look through sessions.
#[derive(Debug)]
pub(super) struct Browser {
    pub(super) scope: Scope,
    /// How many of how many logs are read; `None` when all are.
    pub(super) indexing: Option<(usize, usize)>,
    /// Sessions in which the filter's words were said.
    hits: Vec<Item>,
}

/// One thing to choose.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// What is drawn before it: the branches of a tree.
    pub(super) lead: String,
    /// What stands between [`MARKS`] stands out.
    pub(super) label: String,
    /// What stands at the right end.
    pub(super) note: String,
    pub(super) role: Role,
    pub(super) choice: Choice,
}

/// What a choice means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Go on from this entry.
    Navigate(EntryId),
    /// Do so, and tell the model this of what is left behind.
    Leave(EntryId, BranchSummary),
    /// Do so once the user has said what matters in the summary of what is left behind.
    Instruct(EntryId),
    /// Do this after a summary could not be made.
    AfterFailure(CompactionChoice),
    /// Take this entry and what follows it out of the tree.
    Hide(EntryId),
    /// Bring this entry and what follows it back into the tree.
    Show(EntryId),
    /// Leave everything as it is.
    Nothing,
    /// Make a session that ends before this entry.
    Fork(EntryId),
    /// Go to this session.
    Open(PathBuf),
    /// Let this model answer.
    Model(String),
    /// Put this prompt into the editor.
    Prompt(String),
}

/// A text to read.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) lines: Vec<Line>,
    pub(super) top: usize,
}

impl Picker {
    /// A list that isn't there yet.
    pub(super) fn waiting(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            items: Vec::new(),
            filter: String::new(),
            matches: Vec::new(),
            selected: 0,
            waiting: true,
            list: None,
            browser: None,
        }
    }

    /// A list of sessions that isn't there yet, narrowed to these words.
    pub(super) fn browser(words: &str) -> Self {
        let browser = Browser { scope: Scope::ThisDirectory, indexing: None, hits: Vec::new() };
        let picker = Self { filter: words.to_owned(), browser: Some(browser), ..Self::waiting("") };
        picker.in_scope(Scope::ThisDirectory)
    }

    fn in_scope(mut self, scope: Scope) -> Self {
        let words = match scope {
            Scope::ThisDirectory => "sessions of this directory",
            Scope::Everywhere => "sessions of all directories",
        };
        words.clone_into(&mut self.title);
        self
    }

    /// Looks at the sessions of all directories, or again at those of this one only.
    pub(super) fn switch_scope(&mut self) {
        let Some(browser) = &self.browser else { return };
        let scope = match browser.scope {
            Scope::ThisDirectory => Scope::Everywhere,
            Scope::Everywhere => Scope::ThisDirectory,
        };
        let browser = Browser { scope, indexing: None, hits: Vec::new() };
        let filter = std::mem::take(&mut self.filter);
        *self = Self { filter, browser: Some(browser), ..Self::waiting("") }.in_scope(scope);
    }

    /// What is looked for, if sessions are.
    pub(super) fn ask(&self) -> Option<Ask> {
        self.browser.as_ref().map(|browser| Ask { scope: browser.scope, words: self.filter.clone() })
    }

    /// The look through sessions that this is, if it is one.
    pub(super) fn browsing(&self) -> Option<&Browser> {
        self.browser.as_ref()
    }

    /// Takes what a look through the sessions found, if that is still what is wanted.
    pub(super) fn browsed(&mut self, scope: Scope, what: &Browsed) {
        let chosen = self.chosen().filter(|_| self.selected > 0).map(|item| item.choice.clone());
        let Some(browser) = self.browser.as_mut().filter(|browser| browser.scope == scope) else { return };
        match what {
            Browsed::Sessions(items) => {
                self.items.clone_from(items);
                self.waiting = false;
                self.narrow_anew(chosen.as_ref());
            }
            Browsed::Hits { words, items } if *words == self.filter => {
                browser.hits.clone_from(items);
                self.narrow_anew(chosen.as_ref());
            }
            Browsed::Hits { .. } => {}
            Browsed::Indexing(left) => browser.indexing = *left,
        }
    }

    /// Narrows items that are others than before; what was chosen stays chosen wherever it is now.
    fn narrow_anew(&mut self, chosen: Option<&Choice>) {
        self.matches.clear();
        self.narrow();
        let is_chosen = |at: &usize| Some(&self.item(*at).choice) == chosen;
        self.selected = self.matches.iter().position(is_chosen).unwrap_or(0);
    }

    fn item(&self, at: usize) -> &Item {
        let hit = || self.browser.as_ref().map(|browser| &browser.hits[at - self.items.len()]);
        self.items.get(at).or_else(hit).expect("a match is an item or a hit")
    }

    /// The same, with what is to be gathered for it.
    pub(super) fn waiting_for(title: &str, list: List) -> Self {
        Self { list: Some(list), ..Self::waiting(title) }
    }

    /// A list that is there.
    pub(super) fn of(title: &str, items: Vec<Item>) -> Self {
        let mut picker = Self::waiting(title);
        picker.fill(items, 0);
        picker
    }

    /// Gets its items; `selected` is where it begins.
    pub(super) fn fill(&mut self, items: Vec<Item>, selected: usize) {
        self.items = items;
        self.waiting = false;
        self.narrow();
        if self.filter.is_empty() {
            self.selected = selected.min(self.matches.len().saturating_sub(1));
        }
    }

    /// What keys do in it.
    pub(super) fn keys(&self) -> &'static str {
        match self.list {
            Some(List::Tree) => "type to narrow · enter goes there · ctrl+x hide · ctrl+a hidden too · esc",
            Some(List::WholeTree) => {
                "enter goes there, or brings back what is hidden · ctrl+a without it · esc"
            }
            Some(List::Models | List::Forks) | None => match self.browsing().map(|browser| browser.scope) {
                Some(Scope::ThisDirectory) => {
                    "type to narrow · ↑↓ choose · enter takes it · tab all directories · esc back"
                }
                Some(Scope::Everywhere) => {
                    "type to narrow · ↑↓ choose · enter takes it · tab this directory · esc back"
                }
                None => "type to narrow · ↑↓ choose · enter takes it · esc back",
            },
        }
    }

    pub(super) fn filter(&self) -> &str {
        &self.filter
    }

    pub(super) fn push(&mut self, c: char) {
        self.filter.push(c);
        self.narrow();
    }

    /// Takes back the last character; false when there is none.
    pub(super) fn pop(&mut self) -> bool {
        let had = self.filter.pop().is_some();
        self.narrow();
        had
    }

    pub(super) fn clear(&mut self) {
        self.filter.clear();
        self.narrow();
    }

    /// Moves the choice by `rows`, stopping at the ends.
    pub(super) fn step(&mut self, rows: isize) {
        let last = self.matches.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(rows).min(last);
    }

    pub(super) fn chosen(&self) -> Option<&Item> {
        Some(self.item(*self.matches.get(self.selected)?))
    }

    /// Hides what is chosen, or brings it back, if this is a tree.
    pub(super) fn hide(&self) -> Vec<Action> {
        match (self.list, self.chosen().map(|item| &item.choice)) {
            (Some(List::Tree | List::WholeTree), Some(Choice::Navigate(entry))) => {
                vec![Action::AskToHide(entry.clone())]
            }
            (Some(List::Tree | List::WholeTree), Some(Choice::Show(entry))) => {
                vec![Action::Hide(entry.clone(), Visibility::Shown)]
            }
            _ => Vec::new(),
        }
    }

    /// The matches that fit into `height` rows with the chosen one among them, and whether each is chosen.
    pub(super) fn window(&self, height: usize) -> impl Iterator<Item = (&Item, bool)> {
        let most = self.matches.len().saturating_sub(height);
        let top = self.selected.saturating_sub(height / 2).min(most);
        let shown = self.matches.iter().enumerate().skip(top).take(height);
        shown.map(|(place, at)| (self.item(*at), place == self.selected))
    }

    /// How many of how many are let through.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.matches.len(), self.items.len())
    }

    /// Every word must occur; if that leaves nothing, its letters in order are enough.
    fn narrow(&mut self) {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let texts: Vec<String> =
            self.items.iter().map(|item| format!("{} {}", item.label, item.note).to_lowercase()).collect();
        let matching = |fits: fn(&str, &str) -> bool| -> Vec<usize> {
            let all_fit = |text: &String| words.iter().all(|word| fits(text, word));
            texts.iter().enumerate().filter(|(_, text)| all_fit(text)).map(|(at, _)| at).collect()
        };
        let chosen = self.matches.get(self.selected).copied();
        self.matches = matching(|text, word| text.contains(word));
        if let Some(browser) = &self.browser {
            // A session that its name or its first prompt shows already needn't be shown for what was said in it.
            let shown: Vec<&Choice> = self.matches.iter().map(|at| &self.items[*at].choice).collect();
            let hits = browser.hits.iter().enumerate().filter(|(_, hit)| !shown.contains(&&hit.choice));
            let hits: Vec<usize> = hits.map(|(at, _)| self.items.len() + at).collect();
            self.matches.extend(hits.into_iter().filter(|_| !words.is_empty()));
        } else if self.matches.is_empty() {
            self.matches = matching(has_letters);
        }
        self.selected = chosen.and_then(|at| self.matches.iter().position(|m| *m == at)).unwrap_or(0);
    }
}

impl Popup {
    pub(super) fn as_picker(&mut self) -> Option<&mut Picker> {
        match self {
            Self::Pick(picker) => Some(picker),
            Self::Read(_) => None,
        }
    }

    /// Whether it asks what to do after a summary could not be made.
    pub(super) fn is_of_failure(&self) -> bool {
        let asks = |item: &Item| matches!(item.choice, Choice::AfterFailure(_));
        matches!(self, Self::Pick(picker) if picker.items.first().is_some_and(asks))
    }

    /// Whether it looks through sessions.
    pub(super) fn is_browser(&self) -> bool {
        matches!(self, Self::Pick(picker) if picker.browser.is_some())
    }
}

fn has_letters(text: &str, word: &str) -> bool {
    let mut rest = text.chars();
    word.chars().all(|wanted| rest.any(|c| c == wanted))
}

impl Page {
    pub(super) fn new(title: &str, lines: Vec<Line>) -> Self {
        Self { title: title.to_owned(), lines, top: 0 }
    }

    /// Scrolls by `rows`, stopping at the ends.
    pub(super) fn step(&mut self, rows: isize) {
        self.top = self.top.saturating_add_signed(rows).min(self.lines.len().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker(labels: &[&str]) -> Picker {
        let item = |label: &&str| Item {
            lead: String::new(),
            label: (*label).to_owned(),
            note: String::new(),
            role: Role::Text,
            choice: Choice::Model((*label).to_owned()),
        };
        let mut picker = Picker::waiting("t");
        picker.fill(labels.iter().map(item).collect(), 1);
        picker
    }

    fn shown(picker: &Picker, height: usize) -> Vec<(&str, bool)> {
        picker.window(height).map(|(item, chosen)| (item.label.as_str(), chosen)).collect()
    }

    #[test]
    fn typing_narrows_and_the_choice_stays_with_its_item() {
        let mut picker = picker(&["anthropic/haiku", "anthropic/sonnet", "openai/gpt"]);
        assert_eq!(picker.chosen().unwrap().label, "anthropic/sonnet");
        "anth".chars().for_each(|c| picker.push(c));
        assert_eq!(shown(&picker, 5), [("anthropic/haiku", false), ("anthropic/sonnet", true)]);
        " hai".chars().for_each(|c| picker.push(c));
        assert_eq!(shown(&picker, 5), [("anthropic/haiku", true)]);
    }

    #[test]
    fn the_choice_stays_with_its_session_when_more_is_found() {
        let session = |name: &str| Item {
            lead: String::new(),
            label: name.to_owned(),
            note: String::new(),
            role: Role::Text,
            choice: Choice::Open(name.into()),
        };
        let hits = |names: &[&str]| Browsed::Hits {
            words: "said".into(),
            items: names.iter().map(|name| session(name)).collect(),
        };
        let mut picker = Picker::browser("said");
        picker.browsed(Scope::ThisDirectory, &Browsed::Sessions(Vec::new()));
        picker.browsed(Scope::ThisDirectory, &hits(&["a", "b", "c"]));
        picker.step(1);
        picker.browsed(Scope::ThisDirectory, &hits(&["new", "a", "c", "b"]));
        assert_eq!(picker.chosen().unwrap().label, "b");
        picker.browsed(Scope::ThisDirectory, &Browsed::Sessions(vec![session("not it")]));
        assert_eq!(picker.chosen().unwrap().label, "b");
    }

    #[test]
    fn letters_in_order_are_enough_when_no_word_fits() {
        let mut picker = picker(&["anthropic/haiku", "openai/gpt"]);
        "ogpt".chars().for_each(|c| picker.push(c));
        assert_eq!(shown(&picker, 5), [("openai/gpt", true)]);
        "zzz".chars().for_each(|c| picker.push(c));
        assert_eq!(picker.chosen().map(|item| &item.label), None);
    }

    #[test]
    fn the_choice_stays_on_the_screen() {
        let mut picker = picker(&["a", "b", "c", "d", "e", "f"]);
        picker.step(100);
        assert_eq!(shown(&picker, 3), [("d", false), ("e", false), ("f", true)]);
        picker.step(-100);
        assert_eq!(shown(&picker, 3)[0], ("a", true));
    }
}
