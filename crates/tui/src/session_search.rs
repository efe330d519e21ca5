//! Looking through sessions while the user types: on a thread of its own, the newest question first.
//!
//! What is known is shown at once; logs that are not are read in between, and what they add is shown as it comes.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use tiller_core::id::SessionId;
use tiller_session::{Catalog, IndexQueue, PageRequest, SessionError, SessionScope, SessionSummary};
use tokio::sync::mpsc;

use super::app::{ListResult, SessionsResult, TaskResult};
use super::executor::now;
use super::picker::{ThemeItem, hits, named, sessions};

/// Sessions that are shown before everything else is looked at: more than a screen.
const FIRST: usize = 60;

/// Most sessions in which words are found.
const MOST_HITS: usize = 50;

/// Most sessions that are offered for a part of their id: more, and the part is too short to mean one.
const MOST_NAMED: usize = 10;

/// Time between two words on how far the reading is.
const TELL: Duration = Duration::from_millis(250);

/// Time between two lists while logs are being read.
const RENEW: Duration = Duration::from_secs(2);

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SearchRequest {
    /// Which look it belongs to: what is found is told with it.
    pub(super) look: ThemeItem,
    pub(super) scope: SessionScope,
    /// What was typed so far.
    pub(super) words: String,
}

/// Why the looking is over.
enum SearchStop {
    /// Nobody asks, or nobody is told.
    Gone,
    Failed(SessionError),
}

impl From<SessionError> for SearchStop {
    fn from(error: SessionError) -> Self {
        Self::Failed(error)
    }
}

struct SearchThread {
    catalog: Catalog,
    ask: SearchRequest,
    backlog: IndexQueue,
    told: Instant,
    renewed: Instant,
    reports: mpsc::Sender<TaskResult>,
    /// The session that is open here.
    here: SessionId,
}

/// Answers questions until nobody asks any more; `here` is marked among what is found.
pub(super) fn browse(
    catalog: Catalog,
    here: SessionId,
    asks: &Receiver<SearchRequest>,
    reports: mpsc::Sender<TaskResult>,
) {
    let Ok(ask) = asks.recv() else { return };
    let (told, renewed) = (Instant::now(), Instant::now());
    let mut browser =
        SearchThread { catalog, ask, backlog: IndexQueue::default(), told, renewed, reports, here };
    if let Err(SearchStop::Failed(error)) = browser.answer(asks) {
        let (what, hint) = (error.to_string(), error.hint().map(str::to_owned));
        // Whoever would read it may be gone.
        let _ = browser.reports.blocking_send(TaskResult::Failed { what, hint, text: None });
    }
}

impl SearchThread {
    fn answer(&mut self, asks: &Receiver<SearchRequest>) -> Result<(), SearchStop> {
        self.begin()?;
        loop {
            let next = if self.backlog.is_empty() {
                asks.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                asks.try_recv()
            };
            match next {
                // Only the newest question still wants an answer.
                Ok(ask) => self.take(asks.try_iter().last().unwrap_or(ask))?,
                Err(TryRecvError::Empty) => self.read()?,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
    }

    fn take(&mut self, ask: SearchRequest) -> Result<(), SearchStop> {
        let is_elsewhere = ask.scope != self.ask.scope;
        self.ask = ask;
        if is_elsewhere { self.begin() } else { self.search() }
    }

    /// Shows the newest sessions, then all that are known, and what was said in them.
    fn begin(&mut self) -> Result<(), SearchStop> {
        let first = PageRequest { offset: 0, limit: Some(FIRST) };
        let listing = self.catalog.page(self.ask.scope, first)?;
        self.tell_sessions(&listing.sessions)?;
        if listing.more {
            self.renew()?;
        }
        self.backlog = self.catalog.backlog(self.ask.scope)?;
        self.tell_progress()?;
        self.search()
    }

    /// Reads some of the logs that aren't known yet.
    fn read(&mut self) -> Result<(), SearchStop> {
        self.catalog.work(&mut self.backlog)?;
        if self.backlog.is_empty() || self.renewed.elapsed() >= RENEW {
            self.renew()?;
            self.search()?;
        }
        if self.backlog.is_empty() || self.told.elapsed() >= TELL {
            self.tell_progress()?;
        }
        Ok(())
    }

    fn renew(&mut self) -> Result<(), SearchStop> {
        let known = self.catalog.known(self.ask.scope)?;
        self.renewed = Instant::now();
        self.tell_sessions(&known)
    }

    fn search(&mut self) -> Result<(), SearchStop> {
        let words = self.ask.words.clone();
        // An id means its session wherever that is.
        let by_id = self.catalog.sessions_named(words.trim(), MOST_NAMED)?;
        let mut found = self.catalog.sessions_saying(&words, self.ask.scope, MOST_HITS)?;
        found.retain(|hit| by_id.iter().all(|session| session.path != hit.session.path));
        let items = named(&by_id, now()).into_iter().chain(hits(&found, now())).collect();
        self.tell(SessionsResult::Hits { words, items })
    }

    fn tell_sessions(&self, list: &[SessionSummary]) -> Result<(), SearchStop> {
        self.tell(SessionsResult::Sessions(sessions(list, self.ask.scope, now()).marking(&self.here)))
    }

    fn tell_progress(&mut self) -> Result<(), SearchStop> {
        let progress = self.backlog.progress();
        self.told = Instant::now();
        let left = (!self.backlog.is_empty()).then_some((progress.done, progress.files));
        self.tell(SessionsResult::Indexing(left))
    }

    fn tell(&self, what: SessionsResult) -> Result<(), SearchStop> {
        let report =
            TaskResult::List(ListResult::Browsed { look: self.ask.look, scope: self.ask.scope, what });
        self.reports.blocking_send(report).map_err(|_| SearchStop::Gone)
    }
}
