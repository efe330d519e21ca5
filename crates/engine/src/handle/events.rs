//! Events as they come to a front end.

use std::sync::Arc;

use tiller_core::event::Event;
use tokio::sync::broadcast;

/// Events as they happen.
pub struct EventStream {
    pub(super) events: broadcast::Receiver<Arc<Event>>,
}

/// A front end was too slow, and some events are gone: take a snapshot and read the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lagged(
    /// How many events are gone.
    pub u64,
);

impl EventStream {
    /// The next event; `None` after the session's end.
    ///
    /// # Errors
    /// When events were lost because this front end lagged; the next call goes on with what is left.
    pub async fn next(&mut self) -> Option<Result<Arc<Event>, Lagged>> {
        match self.events.recv().await {
            Ok(event) => Some(Ok(event)),
            Err(broadcast::error::RecvError::Lagged(count)) => Some(Err(Lagged(count))),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// The next event if one is there already.
    pub fn try_next(&mut self) -> Option<Result<Arc<Event>, Lagged>> {
        match self.events.try_recv() {
            Ok(event) => Some(Ok(event)),
            Err(broadcast::error::TryRecvError::Lagged(count)) => Some(Err(Lagged(count))),
            Err(broadcast::error::TryRecvError::Closed | broadcast::error::TryRecvError::Empty) => None,
        }
    }
}
