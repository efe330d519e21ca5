//! What a list of sessions has besides: whose they are, and what was said in them.

use std::path::PathBuf;

use tiller_session::SessionScope;

use super::{Picker, PickerChoice, PickerItem, Sessions, SortOrder, StatusText, ThemeItem};
use crate::app::{Action, ListAction, Navigate, SessionsResult};
use crate::session_search::SearchRequest;

/// A look through sessions.
#[derive(Debug)]
pub(crate) struct SessionBrowser {
    pub(crate) scope: SessionScope,
    /// The look that it shows what is found by.
    pub(super) look: ThemeItem,
    /// How many of how many logs are read; `None` when all are.
    pub(crate) indexing: Option<(usize, usize)>,
    /// Sessions in which words were said, and these words.
    pub(super) hits: Vec<PickerItem>,
    hits_for: String,
    sessions: Sessions,
    order: SortOrder,
    /// Whether there is something in the trash to be brought back.
    pub(super) can_undo: bool,
    /// What comes back from the trash: once it is there it is chosen.
    pub(super) awaited: Option<PickerChoice>,
    opening: Option<BrowserStart>,
}

/// A session that was chosen to be opened.
#[derive(Debug)]
struct BrowserStart {
    path: PathBuf,
    /// What narrowed the list then: what is typed from there on is for the session.
    filter: String,
}

impl SessionBrowser {
    fn of(scope: SessionScope, look: ThemeItem) -> Self {
        let (sessions, order) = (Sessions::default(), SortOrder::default());
        let (hits, hits_for) = (Vec::new(), String::new());
        let (awaited, opening) = (None, None);
        let (indexing, can_undo) = (None, false);
        Self { scope, look, indexing, hits, hits_for, sessions, order, can_undo, awaited, opening }
    }

    /// What the list is called.
    const fn title(&self) -> &'static str {
        match self.scope {
            SessionScope::ThisDirectory => "sessions of this directory",
            SessionScope::Everywhere => "sessions of all directories",
        }
    }
}

impl Picker {
    /// A list of sessions that isn't there yet, narrowed to these words.
    pub(crate) fn browser(words: &str, look: ThemeItem) -> Self {
        let mut picker = Self::waiting("").fitting(super::MatchMode::Prose).previewing();
        picker.filter = words.into();
        picker.in_scope(SessionScope::ThisDirectory, look)
    }

    fn in_scope(self, scope: SessionScope, look: ThemeItem) -> Self {
        let browser = SessionBrowser::of(scope, look);
        Self { title: browser.title().to_owned(), browser: Some(browser), ..self }
    }

    /// Looks at the sessions of all directories, or again at those of this one only.
    pub(crate) fn switch_scope(&mut self) {
        let Some(browser) = &self.browser else { return };
        let (order, look, can_undo) = (browser.order, browser.look, browser.can_undo);
        let scope = match browser.scope {
            SessionScope::ThisDirectory => SessionScope::Everywhere,
            SessionScope::Everywhere => SessionScope::ThisDirectory,
        };
        let filter = std::mem::take(&mut self.filter);
        *self = Self { filter, ..Self::browser("", look) }.in_scope(scope, look);
        self.browser = Some(SessionBrowser { order, can_undo, ..SessionBrowser::of(scope, look) });
    }

    /// A session is to be opened, which may take a while; nothing is to be done when it is already.
    pub(super) fn open(&mut self, path: PathBuf) -> Vec<Action> {
        self.say(Some(StatusText::note("opening…")));
        let filter = self.filter.text().to_owned();
        if let Some(browser) = &mut self.browser {
            if browser.opening.as_ref().is_some_and(|opening| opening.path == path) {
                return Vec::new();
            }
            browser.opening = Some(BrowserStart { path: path.clone(), filter });
        }
        vec![Action::Go(Navigate::Open(path))]
    }

    /// Whether a session is being opened.
    pub(super) fn is_opening(&self) -> bool {
        self.browser.as_ref().is_some_and(|browser| browser.opening.is_some())
    }

    /// No session is being opened any more; what was typed since one was.
    pub(crate) fn stay(&mut self) -> Option<String> {
        let BrowserStart { filter, .. } = self.browser.as_mut()?.opening.take()?;
        let typed = self.filter.text().strip_prefix(filter.as_str())?;
        Some(typed.to_owned()).filter(|typed| !typed.is_empty())
    }

    /// Asks for a name of the chosen session, beginning with the one it has.
    pub(super) fn ask_for_name(&mut self, path: PathBuf) {
        let name = self.chosen().and_then(|item| item.tag.as_ref()?.name.clone()).unwrap_or_default();
        self.ask_for(PickerChoice::Open(path), "name", &name);
        self.say_of_blank(match name.as_str() {
            "" => "it has none; what was said first stands for it",
            _ => "with none it goes by what was said first",
        });
    }

    /// What is to be done with the name that was typed; the one that was there before changes nothing.
    pub(super) fn typed_name(&mut self, path: PathBuf, (before, typed): (&str, &str)) -> Vec<Action> {
        if before.trim() == typed.trim() {
            let word = if before.trim().is_empty() { "it has no name" } else { "its name is as it was" };
            self.say(Some(StatusText::note(word)));
            return Vec::new();
        }
        vec![Action::InList(ListAction::NameSession(path, typed.to_owned()))]
    }

    /// Puts sessions into threads of forks, or out of them.
    pub(super) fn switch_order(&mut self) {
        let chosen = self.chosen().map(|item| item.choice.clone());
        let Some(browser) = &mut self.browser else { return };
        browser.order = match browser.order {
            SortOrder::Threads => SortOrder::Newest,
            SortOrder::Newest => SortOrder::Threads,
        };
        self.items = browser.sessions.items(browser.order).into();
        self.narrow_anew(chosen.as_ref());
    }

    /// How sessions are put in order; `None` where there are none.
    pub(crate) fn order(&self) -> Option<SortOrder> {
        self.browser.as_ref().map(|browser| browser.order)
    }

    /// What is looked for, if sessions are.
    pub(crate) fn ask(&self) -> Option<SearchRequest> {
        let words = || self.filter.text().to_owned();
        self.browser.as_ref().map(|browser| SearchRequest {
            look: browser.look,
            scope: browser.scope,
            words: words(),
        })
    }

    /// The look through sessions that this is, if it is one.
    pub(crate) fn browsing(&self) -> Option<&SessionBrowser> {
        self.browser.as_ref()
    }

    /// Takes what a look through the sessions found, if that is still what is wanted.
    pub(super) fn browsed(&mut self, look: ThemeItem, scope: SessionScope, what: &SessionsResult) {
        let awaited = self.browser.as_ref().and_then(|browser| browser.awaited.clone());
        let (chosen, row) = (awaited.clone().or_else(|| self.kept()), self.place.row);
        let is_wanted = |browser: &&mut SessionBrowser| (browser.look, browser.scope) == (look, scope);
        let Some(browser) = self.browser.as_mut().filter(is_wanted) else { return };
        match what {
            SessionsResult::Sessions(sessions) => {
                browser.sessions = sessions.clone();
                self.items = sessions.items(browser.order).into();
                self.waiting = false;
                self.narrow_anew(chosen.as_ref());
            }
            SessionsResult::Hits { words, items } if *words == self.filter.text() => {
                browser.hits.clone_from(items);
                browser.hits_for.clone_from(words);
                self.narrow_anew(chosen.as_ref());
            }
            SessionsResult::Hits { .. } => return,
            SessionsResult::Indexing(left) => {
                browser.indexing = *left;
                return;
            }
        }
        // Nobody goes on with the session that is open already.
        if chosen.is_none() && self.filter.is_empty() {
            let elsewhere = self.matches.iter().position(|at| !self.item(*at).is_here());
            self.place.row = elsewhere.unwrap_or(0);
        }
        if awaited.is_some() && self.kept() == awaited {
            self.stop_awaiting();
        }
        self.renew_detail();
        // What was gone to went to the trash: whoever presses that key again means the next one, not the newest.
        if chosen.is_some() && self.kept() != chosen {
            self.place.row = row.min(self.matches.len().saturating_sub(1));
            self.place.is_held = true;
        }
    }

    /// Whoever goes elsewhere doesn't wait for what comes back.
    pub(super) fn stop_awaiting(&mut self) {
        if let Some(browser) = &mut self.browser {
            browser.awaited = None;
        }
    }

    /// Adds the sessions in which the words were said, or until these are known the beginning of the words; one that its name or its
    /// first prompt shows already needn't be shown for that.
    pub(super) fn add_hits(&self, matches: &mut Vec<usize>) {
        let typed = self.filter.text();
        let answers = |browser: &&SessionBrowser| !typed.is_empty() && typed.starts_with(&browser.hits_for);
        let Some(browser) = self.browser.as_ref().filter(answers) else { return };
        let shown: Vec<&PickerChoice> = matches.iter().map(|at| &self.items[*at].choice).collect();
        let hits = browser.hits.iter().enumerate().filter(|(_, hit)| !shown.contains(&&hit.choice));
        let hits: Vec<usize> = hits.map(|(at, _)| self.items.len() + at).collect();
        matches.extend(hits);
    }
}
