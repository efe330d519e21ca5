//! Session search while the user types. It runs on a separate thread and answers the newest request.
//!
//! Indexed sessions appear immediately; unindexed logs are read in between, and their results follow.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use tiller_core::id::SessionId;
use tiller_session::{Catalog, IndexQueue, PageRequest, SessionError, SessionSummary};

use crate::clock::now;
use crate::executor::result_sender::ResultSender;
use crate::message::{ListResult, SessionsResult, TaskResult};
use crate::picker::session_query::SearchRequest;
use crate::picker::sessions::{hits, session_items, sessions_by_id};

/// Number of sessions in the first answer, more than a screen shows.
const FIRST: usize = 60;

/// Maximum number of sessions in a text search.
const MAX_HITS: usize = 50;

/// Maximum number of sessions for part of an id; if there are more, the part is too short.
const MAX_NAMED: usize = 10;

/// Interval between progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// Interval between list updates during indexing.
const LIST_INTERVAL: Duration = Duration::from_secs(2);

/// The reason to end the thread.
enum SearchStop {
    /// The picker or the receiver of results is gone.
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
    request: SearchRequest,
    backlog: IndexQueue,
    reported: Instant,
    renewed: Instant,
    /// Sends to the list that made the request.
    reports: ResultSender,
    /// The open session.
    current: SessionId,
}

/// Answers requests until the sender is gone; marks `current` in the results.
pub(super) fn browse(
    catalog: Catalog,
    current: SessionId,
    requests: &Receiver<(ResultSender, SearchRequest)>,
) {
    let Ok((reports, request)) = requests.recv() else { return };
    let (reported, renewed) = (Instant::now(), Instant::now());
    let mut browser = SearchThread {
        catalog,
        request,
        backlog: IndexQueue::default(),
        reported,
        renewed,
        reports,
        current,
    };
    if let Err(SearchStop::Failed(error)) = browser.answer(requests) {
        let (message, hint) = (error.to_string(), error.hint().map(str::to_owned));
        // The receiver may be gone.
        let _ = browser.reports.blocking_send(TaskResult::Failed { message, hint, text: None });
    }
}

impl SearchThread {
    fn answer(&mut self, requests: &Receiver<(ResultSender, SearchRequest)>) -> Result<(), SearchStop> {
        self.begin()?;
        loop {
            let next = if self.backlog.is_empty() {
                requests.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                requests.try_recv()
            };
            match next {
                // Only the newest request is relevant.
                Ok(request) => self.accept(requests.try_iter().last().unwrap_or(request))?,
                Err(TryRecvError::Empty) => self.read()?,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
    }

    fn accept(&mut self, (reports, request): (ResultSender, SearchRequest)) -> Result<(), SearchStop> {
        self.reports = reports;
        let scope_changed = request.scope != self.request.scope;
        self.request = request;
        if scope_changed { self.begin() } else { self.search() }
    }

    /// Sends the newest sessions, then all indexed ones, then search results.
    fn begin(&mut self) -> Result<(), SearchStop> {
        let first = PageRequest { offset: 0, limit: Some(FIRST) };
        let listing = self.catalog.page(self.request.scope, first)?;
        self.send_sessions(&listing.sessions)?;
        if listing.more {
            self.renew()?;
        }
        self.backlog = self.catalog.index_queue(self.request.scope)?;
        self.send_progress()?;
        self.search()
    }

    /// Indexes a batch of the pending logs.
    fn read(&mut self) -> Result<(), SearchStop> {
        self.catalog.index_next(&mut self.backlog)?;
        if self.backlog.is_empty() || self.renewed.elapsed() >= LIST_INTERVAL {
            self.renew()?;
            self.search()?;
        }
        if self.backlog.is_empty() || self.reported.elapsed() >= PROGRESS_INTERVAL {
            self.send_progress()?;
        }
        Ok(())
    }

    fn renew(&mut self) -> Result<(), SearchStop> {
        let known = self.catalog.indexed_sessions(self.request.scope)?;
        self.renewed = Instant::now();
        self.send_sessions(&known)
    }

    fn search(&mut self) -> Result<(), SearchStop> {
        let words = self.request.words.clone();
        // An id matches in every directory.
        let by_id = self.catalog.sessions_by_id(words.trim(), MAX_NAMED)?;
        let mut found = self.catalog.search_sessions(&words, self.request.scope, MAX_HITS)?;
        found.retain(|hit| by_id.iter().all(|session| session.path != hit.session.path));
        let items = sessions_by_id(&by_id, now()).into_iter().chain(hits(&found, now())).collect();
        self.send(SessionsResult::Hits { words, items })
    }

    fn send_sessions(&self, list: &[SessionSummary]) -> Result<(), SearchStop> {
        self.send(SessionsResult::Sessions(
            session_items(list, self.request.scope, now()).mark_open(&self.current),
        ))
    }

    fn send_progress(&mut self) -> Result<(), SearchStop> {
        let progress = self.backlog.progress();
        self.reported = Instant::now();
        let left = (!self.backlog.is_empty()).then_some((progress.done, progress.files));
        self.send(SessionsResult::Indexing(left))
    }

    fn send(&self, result: SessionsResult) -> Result<(), SearchStop> {
        let report = TaskResult::List(ListResult::Sessions {
            query_id: self.request.query_id,
            scope: self.request.scope,
            result,
        });
        self.reports.blocking_send(report).map_err(|_| SearchStop::Gone)
    }
}
