//! The newest events of an open session, for any number of watchers.
//!
//! Events are encoded once. Each watcher reads from the buffer at its own pace; one that falls behind the buffer's
//! beginning must take a snapshot. So a watcher costs the session nothing, and memory is bounded.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::Instant;

/// Maximum number of buffered events: some seconds of a fast stream.
const MAX_EVENTS: usize = 4_096;

/// Maximum bytes of buffered events at rest. The newest event stays, regardless of its size.
const MAX_BYTES: usize = 1 << 20;

/// Maximum bytes of buffered events while all of them are recent. The end of a run is several events in a
/// row, each with all messages of the run or with a long answer; watchers must have time to read them.
const MAX_RECENT_BYTES: usize = 16 << 20;

/// Time for which an event is recent.
pub(crate) const RECENT: Duration = Duration::from_secs(2);

/// Maximum number of events that a watcher takes at a time.
const MAX_BATCH: usize = 64;

/// The events of an open session, after a start.
pub(crate) struct EventFeed {
    epoch: String,
    buffer: Mutex<EventBuffer>,
    head: watch::Sender<FeedHead>,
}

/// The feed's end.
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
    events: VecDeque<BufferedEvent>,
    bytes: usize,
}

struct BufferedEvent {
    event: Bytes,
    at: Instant,
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
    pub(crate) fn push(&self, seq: u64, event: Bytes, now: Instant) {
        let mut buffer = self.lock();
        if seq != buffer.end() {
            *buffer = EventBuffer { start: seq, events: VecDeque::new(), bytes: 0 };
        }
        buffer.bytes += event.len();
        buffer.events.push_back(BufferedEvent { event, at: now });
        buffer.trim(now);
        drop(buffer);
        self.head.send_modify(|head| head.seq = seq);
    }

    /// Drops events that are no longer recent, beyond the bytes at rest.
    pub(crate) fn trim(&self, now: Instant) {
        self.lock().trim(now);
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
        let buffered = buffer.events.iter().skip(skipped).take(MAX_BATCH);
        let events: Vec<Bytes> = buffered.map(|BufferedEvent { event, .. }| event.clone()).collect();
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

    fn trim(&mut self, now: Instant) {
        while let Some(oldest) = self.events.front().filter(|_| self.events.len() > 1) {
            let is_recent = now.duration_since(oldest.at) < RECENT;
            let max_bytes = if is_recent { MAX_RECENT_BYTES } else { MAX_BYTES };
            if self.events.len() <= MAX_EVENTS && self.bytes <= max_bytes {
                break;
            }
            self.bytes -= oldest.event.len();
            self.start += 1;
            self.events.pop_front();
        }
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
        let now = Instant::now();
        feed.push(6, event("a"), now);
        feed.push(7, event("b"), now);
        assert_eq!(feed.read(6), FeedRead::Events(vec![event("a"), event("b")]));
        assert_eq!(feed.read(7), FeedRead::Events(vec![event("b")]));
        assert_eq!((feed.read(8), feed.read(9)), (FeedRead::Wait, FeedRead::Wait));
        assert_eq!((feed.read(5), feed.last_event_id().as_str()), (FeedRead::Lost, "e-7"));
    }

    #[test]
    fn feed_old_events_are_dropped_by_number_and_size() {
        let feed = EventFeed::new("e".into(), 0);
        let now = Instant::now();
        for seq in 1..=MAX_EVENTS as u64 + 2 {
            feed.push(seq, event("x"), now);
        }
        assert_eq!(feed.read(2), FeedRead::Lost);
        assert!(matches!(feed.read(3), FeedRead::Events(events) if events.len() == MAX_BATCH));
        let next = MAX_EVENTS as u64 + 3;
        feed.push(next, Bytes::from(vec![b'x'; MAX_RECENT_BYTES + 1]), now);
        assert_eq!(feed.read(next - 1), FeedRead::Lost);
        assert!(matches!(feed.read(next), FeedRead::Events(events) if events.len() == 1));
    }

    #[test]
    fn feed_large_events_stay_while_they_are_recent() {
        let feed = EventFeed::new("e".into(), 0);
        let start = Instant::now();
        for seq in 1..=4 {
            feed.push(seq, Bytes::from(vec![b'x'; MAX_BYTES]), start);
        }
        feed.push(5, event("end"), start + RECENT / 2);
        assert!(matches!(feed.read(1), FeedRead::Events(events) if events.len() == 5));
        feed.trim(start + RECENT);
        assert_eq!((feed.read(4), feed.read(5)), (FeedRead::Lost, FeedRead::Events(vec![event("end")])));
    }

    #[test]
    fn feed_gap_drops_the_events_before_it() {
        let feed = EventFeed::new("e".into(), 0);
        let now = Instant::now();
        feed.push(1, event("a"), now);
        feed.push(4, event("d"), now);
        assert_eq!((feed.read(1), feed.read(2)), (FeedRead::Lost, FeedRead::Lost));
        assert_eq!(feed.read(4), FeedRead::Events(vec![event("d")]));
    }
}
