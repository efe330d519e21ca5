//! An open session: its agent, and the feed of its events.

use std::any::Any;
use std::sync::Arc;

use tiller_core::event::Event;
use tiller_core::id::SessionId;
use tiller_engine::{AgentError, AgentSession, EventStream, Lag};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::event_frame;
use crate::feed::{EventFeed, RECENT};
use crate::host::HostedSession;
use crate::metrics::Metrics;

/// An open session.
pub(crate) struct OpenSession {
    pub(crate) id: SessionId,
    pub(crate) agent: AgentSession,
    pub(crate) feed: Arc<EventFeed>,
    /// Held while a client replaces the queue that it has read.
    pub(crate) queue_turn: Mutex<()>,
    /// Ends with the session's last event.
    _pump: JoinHandle<()>,
    _resources: Box<dyn Any + Send + Sync>,
}

impl OpenSession {
    /// Begins to feed the session's events. The epoch is unique to this opening.
    pub(crate) async fn start(
        hosted: HostedSession,
        epoch: String,
        metrics: Arc<Metrics>,
    ) -> Result<Self, AgentError> {
        let HostedSession { agent, resources } = hosted;
        let events = agent.subscribe();
        let seq = agent.snapshot().await?.seq;
        let feed = Arc::new(EventFeed::new(epoch, seq));
        let pump = tokio::spawn(pump(events, Arc::clone(&feed), seq, metrics));
        Ok(Self {
            id: agent.reader().id().clone(),
            agent,
            feed,
            queue_turn: Mutex::new(()),
            _pump: pump,
            _resources: resources,
        })
    }
}

/// Encodes events into the feed until the session is closed. Events up to `seen` happened before the feed began.
async fn pump(mut events: EventStream, feed: Arc<EventFeed>, seen: u64, metrics: Arc<Metrics>) {
    while let Some(event) = next_event(&mut events, &feed).await {
        // Lost events leave a gap, which the feed notices.
        let Ok(event) = event else { continue };
        if event.seq > seen {
            metrics.count_event();
            feed.push(event.seq, event_frame::encode(feed.epoch(), &event), Instant::now());
        }
    }
    feed.close();
}

/// Returns the next event. Trims the feed when its newest event is no longer recent.
async fn next_event(events: &mut EventStream, feed: &EventFeed) -> Option<Result<Arc<Event>, Lag>> {
    if let Ok(event) = timeout(RECENT, events.next()).await {
        return event;
    }
    feed.trim(Instant::now());
    events.next().await
}
