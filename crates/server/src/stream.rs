//! The event stream of a session, as server-sent events.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tiller_engine::views::SnapshotView;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::app_state::AppState;
use crate::event_frame::{SNAPSHOT, frame, seq_of};
use crate::feed::{FeedHead, FeedRead};
use crate::metrics::Metrics;
use crate::open_session::OpenSession;
use crate::problem::Problem;
use crate::watchers::WatcherPermit;

/// Time without events after which a comment shows that the connection lives; proxies close idle ones after 30 to 60 s.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The comment.
const PING: &[u8] = b": ping\n\n";

/// The first line of a stream: a browser reconnects after 0.5 s instead of 3 s.
const RETRY: &[u8] = b"retry: 500\n\n";

/// The header of a reconnecting client.
pub(crate) const LAST_EVENT_ID: &str = "last-event-id";

/// A client that reads a session's events at its own pace.
struct Watcher {
    session: Arc<OpenSession>,
    head: watch::Receiver<FeedHead>,
    /// Number of the next event; without one, a snapshot is sent first.
    next: Option<u64>,
    metrics: Arc<Metrics>,
    _permit: WatcherPermit,
}

/// Opens a stream: after the event that the client names, or with a snapshot.
pub(crate) fn open(
    state: &AppState,
    session: Arc<OpenSession>,
    headers: &HeaderMap,
    parameter: Option<&str>,
) -> Result<Response, Problem> {
    let permit = state.watchers.acquire()?;
    let head = session.feed.watch();
    let named = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()).or(parameter);
    let seen = named.and_then(|id| seq_of(session.feed.epoch(), id)).filter(|seq| *seq <= head.borrow().seq);
    let next = seen.map(|seq| seq + 1);
    let watcher = Watcher { session, head, next, metrics: Arc::clone(&state.metrics), _permit: permit };
    let events = stream::unfold(watcher, async |mut watcher| {
        let bytes = watcher.next_bytes().await?;
        Some((Ok::<_, std::convert::Infallible>(bytes), watcher))
    });
    let retry = stream::iter([Ok(Bytes::from_static(RETRY))]);
    let mut response = Response::new(Body::from_stream(retry.chain(events)));
    let fields = [
        (header::CONTENT_TYPE, "text/event-stream"),
        // nginx would collect the events otherwise.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    for (name, value) in fields {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

impl Watcher {
    /// Returns the next events or a heartbeat; `None` after the session's end.
    async fn next_bytes(&mut self) -> Option<Bytes> {
        loop {
            let Some(next) = self.next else { return self.snapshot().await };
            // Noted before reading, so that an event in between isn't missed.
            let is_closed = self.head.borrow_and_update().is_closed;
            match self.session.feed.read(next) {
                FeedRead::Events(events) => {
                    self.next = Some(next + events.len() as u64);
                    return Some(Bytes::from(events.concat()));
                }
                FeedRead::Lost => {
                    self.metrics.count_resync();
                    self.next = None;
                }
                FeedRead::Wait if is_closed => return None,
                FeedRead::Wait => match timeout(HEARTBEAT, self.head.changed()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => return None,
                    Err(_) => return Some(Bytes::from_static(PING)),
                },
            }
        }
    }

    /// Returns the state as an event, which the events after it continue.
    async fn snapshot(&mut self) -> Option<Bytes> {
        let snapshot = self.session.agent.snapshot().await.ok()?;
        self.next = Some(snapshot.seq + 1);
        Some(frame(self.session.feed.epoch(), snapshot.seq, SNAPSHOT, &SnapshotView::from(&*snapshot)))
    }
}
