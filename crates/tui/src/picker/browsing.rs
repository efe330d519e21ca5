//! A list of sessions: its scope and order, its search hits, opening and renaming.

use std::path::{Path, PathBuf};

use tiller_session::SessionScope;

use crate::message::SessionsResult;
use crate::picker::Picker;
use crate::picker::browser::{PendingOpen, SessionBrowser};
use crate::picker::item::PickerChoice;
use crate::picker::line_prompt::{LinePrompt, StatusText};
use crate::picker::session_lists::SessionSource;
use crate::picker::session_query::{SearchRequest, SessionQueryId};
use crate::picker::sessions::SortOrder;

impl Picker {
    /// A session list that is still loading, with a filter.
    pub(crate) fn browser(words: &str, query_id: SessionQueryId) -> Self {
        let picker = Self::waiting(&SessionSource).with_filter(words);
        picker.in_scope(SessionScope::ThisDirectory, query_id)
    }

    fn in_scope(self, scope: SessionScope, query_id: SessionQueryId) -> Self {
        let browser = SessionBrowser::new(scope, query_id);
        Self { title: browser.title().to_owned(), browser: Some(browser), ..self }
    }

    /// Switches between this directory's sessions and all sessions.
    pub(crate) fn switch_scope(&mut self) {
        let Some(browser) = &self.browser else { return };
        let (order, query_id, can_undo) = (browser.order, browser.query_id, browser.can_undo);
        let scope = match browser.scope {
            SessionScope::ThisDirectory => SessionScope::Everywhere,
            SessionScope::Everywhere => SessionScope::ThisDirectory,
        };
        let filter = std::mem::take(&mut self.filter);
        let (area, id) = (self.area, self.id);
        *self = Self { filter, area, id, ..Self::browser("", query_id) }.in_scope(scope, query_id);
        self.browser = Some(SessionBrowser { order, can_undo, ..SessionBrowser::new(scope, query_id) });
    }

    /// Records that a session is being opened; returns false if one is already being opened.
    pub(super) fn begin_opening(&mut self, path: &Path) -> bool {
        self.set_status(Some(StatusText::note("opening…")));
        let filter = self.filter.text().to_owned();
        let Some(browser) = &mut self.browser else { return true };
        let is_new = browser.opening.as_ref().is_none_or(|opening| opening.path != path);
        if is_new {
            browser.opening = Some(PendingOpen { path: path.to_owned(), filter });
        }
        is_new
    }

    pub(super) fn is_opening(&self) -> bool {
        self.browser.as_ref().is_some_and(|browser| browser.opening.is_some())
    }

    /// Cancels opening; returns the text typed in the meantime.
    pub(crate) fn cancel_open(&mut self) -> Option<String> {
        let PendingOpen { filter, .. } = self.browser.as_mut()?.opening.take()?;
        let typed = self.filter.text().strip_prefix(filter.as_str())?;
        Some(typed.to_owned()).filter(|typed| !typed.is_empty())
    }

    /// Prompts for a name, starting with the current one.
    pub(super) fn ask_for_name(&mut self, path: PathBuf) {
        let name = self.chosen().and_then(|item| item.tag.as_ref()?.name.clone()).unwrap_or_default();
        let blank = match name.as_str() {
            "" => "no name; the first message is shown instead",
            _ => "empty: show the first message instead",
        };
        self.set_prompt(LinePrompt::new(PickerChoice::Open(path), "name", &name).with_blank_hint(blank));
    }

    /// Reopens the prompt with the typed name after renaming failed, unless the user has continued in the
    /// meantime.
    pub(crate) fn ask_for_name_again(&mut self, path: &Path, name: &str) {
        let chosen = self.chosen().map(|item| &item.choice);
        let is_unchanged = chosen.is_some_and(|choice| *choice == PickerChoice::Open(path.to_owned()));
        if self.prompt().is_none() && is_unchanged {
            self.ask_for_name(path.to_owned());
            self.edit(|line| *line = name.into());
        }
    }

    /// Switches between threads of forks and a flat list.
    pub(super) fn switch_order(&mut self) {
        let chosen = self.chosen().map(|item| item.choice.clone());
        let Some(browser) = &mut self.browser else { return };
        browser.order = match browser.order {
            SortOrder::Threads => SortOrder::Newest,
            SortOrder::Newest => SortOrder::Threads,
        };
        self.items = browser.sessions.items(browser.order).into();
        self.refilter(chosen.as_ref());
    }

    /// The order of a session list; `None` for other lists.
    pub(crate) fn order(&self) -> Option<SortOrder> {
        self.browser.as_ref().map(|browser| browser.order)
    }

    /// The search request for the current filter.
    pub(crate) fn search_request(&self) -> Option<SearchRequest> {
        let words = || self.filter.text().to_owned();
        self.browser.as_ref().map(|browser| SearchRequest {
            query_id: browser.query_id,
            scope: browser.scope,
            words: words(),
        })
    }

    /// Records whether a session can be restored; returns false if this isn't a session list.
    pub(crate) fn set_can_undo(&mut self, can_undo: bool) -> bool {
        self.browser.as_mut().map(|browser| browser.can_undo = can_undo).is_some()
    }

    /// Selects a session, which is being restored, as soon as it appears.
    pub(crate) fn await_session(&mut self, path: &Path) {
        if let Some(browser) = &mut self.browser {
            browser.awaited = Some(PickerChoice::Open(path.to_owned()));
        }
    }

    /// Returns a request that repeats the search; `None` if this isn't a session list.
    pub(crate) fn search_again(&mut self, query: SessionQueryId) -> Option<SearchRequest> {
        self.browser.as_mut()?.query_id = query;
        self.search_request()
    }

    pub(crate) fn session_browser(&self) -> Option<&SessionBrowser> {
        self.browser.as_ref()
    }

    /// Shows the results of a search if they are current.
    pub(crate) fn browsed(&mut self, query_id: SessionQueryId, scope: SessionScope, result: &SessionsResult) {
        let awaited = self.browser.as_ref().and_then(|browser| browser.awaited.clone());
        let (chosen, row) = (awaited.clone().or_else(|| self.moved_choice()), self.cursor.row);
        let is_current =
            |browser: &&mut SessionBrowser| (browser.query_id, browser.scope) == (query_id, scope);
        let Some(browser) = self.browser.as_mut().filter(is_current) else { return };
        match result {
            SessionsResult::Sessions(sessions) => {
                browser.sessions = sessions.clone();
                self.items = sessions.items(browser.order).into();
                self.waiting = false;
                self.refilter(chosen.as_ref());
            }
            SessionsResult::Hits { words, items } if *words == self.filter.text() => {
                browser.hits.clone_from(items);
                browser.hits_query.clone_from(words);
                self.refilter(chosen.as_ref());
            }
            SessionsResult::Hits { .. } => return,
            SessionsResult::Indexing(left) => {
                browser.indexing = *left;
                return;
            }
        }
        // Skip the open session in the initial selection.
        if chosen.is_none() && self.filter.is_empty() {
            let first_other = self.matches.iter().position(|at| !self.item(*at).is_open());
            self.cursor.row = first_other.unwrap_or(0);
        }
        if awaited.is_some() && self.moved_choice() == awaited {
            self.forget_awaited();
        }
        self.refresh_detail();
        // The selected session was trashed: select its successor, not the newest session.
        if chosen.is_some() && self.moved_choice() != chosen {
            self.cursor.row = row.min(self.matches.len().saturating_sub(1));
            self.is_moved = true;
        }
    }

    /// Clears the restored session when the user moves the selection.
    pub(super) fn forget_awaited(&mut self) {
        if let Some(browser) = &mut self.browser {
            browser.awaited = None;
        }
    }

    /// Appends the hits for the filter, or until they arrive, for a prefix of it. Omits sessions that already
    /// match by name or first prompt.
    pub(super) fn add_hits(&self, matches: &mut Vec<usize>) {
        let typed = self.filter.text();
        let is_usable =
            |browser: &&SessionBrowser| !typed.is_empty() && typed.starts_with(&browser.hits_query);
        let Some(browser) = self.browser.as_ref().filter(is_usable) else { return };
        let shown: Vec<&PickerChoice> = matches.iter().map(|at| &self.items[*at].choice).collect();
        let hits = browser.hits.iter().enumerate().filter(|(_, hit)| !shown.contains(&&hit.choice));
        let hits: Vec<usize> = hits.map(|(at, _)| self.items.len() + at).collect();
        matches.extend(hits);
    }
}
