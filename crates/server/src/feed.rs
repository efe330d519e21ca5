//! The newest events of an open session, for any number of watchers.
//!
//! Events are encoded once. Each watcher reads from the buffer at its own pace; one that falls behind the buffer's
//! beginning must take a snapshot. So a watcher costs the session nothing, and memory is bounded.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::watch;

/// Maximum number of buffered events: some seconds of a fast stream.
const MAX_EVENTS: usize = 4_096;

/// Maximum bytes of buffered events. The newest event stays, regardless of its size.
const MAX_BYTES: usize = 1 << 20;

/// Maximum number of events that a watcher takes at a time.
const MAX_BATCH: usize = 64;

/// The events of an open session, after a start.
pub(crate) struct EventFeed {
    epoch: String,
    buffer: Mutex<EventBuffer>,
    head: watch::Sender<FeedHead>,
}

/// The end of the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FeedHead {
    /// Number of the newest event.
    pub(crate) seq: u64,
    /// True if no event will follow.
    pub(crate) is_closed: bool,
}

struct EventBuffer {
    /// Number of the first buffered event, or of the next one.
    start: u64,
    events: VecDeque<Bytes>,
    bytes: usize,
}

/// Events for a watcher.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FeedRead {
    /// The next events, at least one.
    Events(Vec<Bytes>),
    /// There is none yet.
    Wait,
    /// Some are no longer there.
    Lost,
}

impl EventFeed {
    /// Creates a feed for the events after `seq`. The epoch distinguishes its ids from other feeds'.
    pub(crate) fn new(epoch: String, seq: u64) -> Self {
        let buffer = Mutex::new(EventBuffer { start: seq + 1, events: VecDeque::new(), bytes: 0 });
        Self { epoch, buffer, head: watch::channel(FeedHead { seq, is_closed: false }).0 }
    }

    pub(crate) fn epoch(&self) -> &str {
        &self.epoch
    }

    /// Subscribes to changes of the end.
    pub(crate) fn watch(&self) -> watch::Receiver<FeedHead> {
        self.head.subscribe()
    }

    /// Number of watchers.
    pub(crate) fn watchers(&self) -> usize {
        self.head.receiver_count()
    }

    /// Id of the newest event.
    pub(crate) fn last_event_id(&self) -> String {
        format!("{}-{}", self.epoch, self.head.borrow().seq)
    }

    /// Appends an event. If some before it were lost, so are those in the buffer: a watcher must not miss them
    /// silently.
    pub(crate) fn push(&self, seq: u64, event: Bytes) {
        let mut buffer = self.lock();
        if seq != buffer.end() {
            *buffer = EventBuffer { start: seq, events: VecDeque::new(), bytes: 0 };
        }
        buffer.bytes += event.len();
        buffer.events.push_back(event);
        while buffer.events.len() > 1 && (buffer.events.len() > MAX_EVENTS || buffer.bytes > MAX_BYTES) {
            let dropped = buffer.events.pop_front().map_or(0, |event| event.len());
            buffer.bytes -= dropped;
            buffer.start += 1;
        }
        drop(buffer);
        self.head.send_modify(|head| head.seq = seq);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.head.borrow().is_closed
    }

    /// Ends the feed.
    pub(crate) fn close(&self) {
        self.head.send_modify(|head| head.is_closed = true);
    }

    /// Reads events starting with this number.
    pub(crate) fn read(&self, from: u64) -> FeedRead {
        let buffer = self.lock();
        let Some(skipped) = from.checked_sub(buffer.start) else { return FeedRead::Lost };
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let events: Vec<Bytes> = buffer.events.iter().skip(skipped).take(MAX_BATCH).cloned().collect();
        if events.is_empty() { FeedRead::Wait } else { FeedRead::Events(events) }
    }

    fn lock(&self) -> MutexGuard<'_, EventBuffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventBuffer {
    /// Number of the event after the newest one.
    fn end(&self) -> u64 {
        self.start + self.events.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    #[test]
    fn feed_read_continues_after_the_last_event() {
        let feed = EventFeed::new("e".into(), 5);
        assert_eq!((feed.last_event_id().as_str(), feed.read(6)), ("e-5", FeedRead::Wait));
        feed.push(6, event("a"));
        feed.push(7, event("b"));
        assert_eq!(feed.read(6), FeedRead::Events(vec![event("a"), event("b")]));
        assert_eq!(feed.read(7), FeedRead::Events(vec![event("b")]));
        assert_eq!((feed.read(8), feed.read(9)), (FeedRead::Wait, FeedRead::Wait));
        assert_eq!((feed.read(5), feed.last_event_id().as_str()), (FeedRead::Lost, "e-7"));
    }

    #[test]
    fn feed_old_events_are_dropped_by_number_and_size() {
        let feed = EventFeed::new("e".into(), 0);
        for seq in 1..=MAX_EVENTS as u64 + 2 {
            feed.push(seq, event("x"));
        }
        assert_eq!(feed.read(2), FeedRead::Lost);
        assert!(matches!(feed.read(3), FeedRead::Events(events) if events.len() == MAX_BATCH));
        let next = MAX_EVENTS as u64 + 3;
        feed.push(next, Bytes::from(vec![b'x'; MAX_BYTES + 1]));
        assert_eq!(feed.read(next - 1), FeedRead::Lost);
        assert!(matches!(feed.read(next), FeedRead::Events(events) if events.len() == 1));
    }

    #[test]
    fn feed_gap_drops_the_events_before_it() {
        let feed = EventFeed::new("e".into(), 0);
        feed.push(1, event("a"));
        feed.push(4, event("d"));
        assert_eq!((feed.read(1), feed.read(2)), (FeedRead::Lost, FeedRead::Lost));
        assert_eq!(feed.read(4), FeedRead::Events(vec![event("d")]));
    }
}
