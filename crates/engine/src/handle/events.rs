//! The event stream of a front end.

use std::sync::Arc;

use tiller_core::event::Event;
use tokio::sync::broadcast;

/// A stream of events.
pub struct EventStream {
    pub(super) events: broadcast::Receiver<Arc<Event>>,
}

/// The front end was too slow, and some events were dropped: take a snapshot and read the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lag(
    /// Number of dropped events.
    pub u64,
);

impl EventStream {
    /// Returns the next event; `None` after the session's end.
    ///
    /// # Errors
    /// If events were dropped because this front end lagged; the next call continues with the remaining events.
    pub async fn next(&mut self) -> Option<Result<Arc<Event>, Lag>> {
        match self.events.recv().await {
            Ok(event) => Some(Ok(event)),
            Err(broadcast::error::RecvError::Lagged(count)) => Some(Err(Lag(count))),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// Returns the next event if one is available.
    pub fn try_next(&mut self) -> Option<Result<Arc<Event>, Lag>> {
        match self.events.try_recv() {
            Ok(event) => Some(Ok(event)),
            Err(broadcast::error::TryRecvError::Lagged(count)) => Some(Err(Lag(count))),
            Err(broadcast::error::TryRecvError::Closed | broadcast::error::TryRecvError::Empty) => None,
        }
    }
}
