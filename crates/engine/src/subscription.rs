//! Subscription to a session's events that recovers lost events from the log.
//!
//! For front ends that only forward events: print mode, the JSON-lines protocol, the plain REPL. A front end that
//! draws uses a [`Snapshot`](super::Snapshot) instead.

use std::collections::HashSet;
use std::io::{self, Write};
use std::mem;
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use tiller_core::event::{Event, EventKind};
use tiller_core::id::EntryId;
use tiller_core::message::Message;
use tiller_session::{Entry, Reader};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::handle::{AgentSession, EventStream, Lag};

/// Capacity of the buffer for a slow subscriber (some 20 MB). When it is full, events are dropped, the
/// subscriber gets a notice, and the log is read instead.
const BUFFER_CAPACITY: usize = 65_536;

/// A subscription to a session.
pub struct Subscription {
    events: EventStream,
    reader: watch::Receiver<Reader>,
    ledger: DeliveryLog,
}

/// A subscription that reads events in a separate task, so that a burst doesn't overrun a slow consumer.
pub struct BufferedSubscription {
    received: mpsc::Receiver<SubscriptionItem>,
    _forwarder: JoinSet<()>,
}

/// An item of a subscription.
#[derive(Clone, Debug)]
pub enum SubscriptionItem {
    /// An event.
    Event(Arc<Event>),
    /// Events were dropped because the subscriber was too slow.
    Missed {
        /// Number of dropped events.
        events: u64,
        /// The messages of the dropped events, read from the log, in log order; their own `message_end` events
        /// are skipped.
        messages: Vec<Arc<Message>>,
    },
}

impl SubscriptionItem {
    /// Writes the item as JSON lines: an event is one line; a gap is a `trace` named `lagged`, and a `message_end`
    /// for each message.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_lines(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Event(event) => write_line(event, out),
            Self::Missed { events, messages } => {
                let lagged = json!({"type": "trace", "name": "lagged", "data": {"events": events}});
                write_line(&lagged, out)?;
                let end = |message| json!({"type": "message_end", "message": message});
                messages.iter().try_for_each(|message| write_line(&end(message), out))
            }
        }
    }
}

fn write_line(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

impl Subscription {
    /// Subscribes to new events.
    #[must_use]
    pub fn new(agent: &AgentSession) -> Self {
        let events = agent.subscribe();
        let reader = agent.reader.clone();
        let ledger = DeliveryLog::after(reader.borrow().leaf());
        Self { events, reader, ledger }
    }

    /// Returns the next item; `None` after the session's end. Cancel-safe.
    pub async fn next(&mut self) -> Option<SubscriptionItem> {
        loop {
            let received = self.events.next().await?;
            if let Some(received) = self.receive(received) {
                return Some(received);
            }
        }
    }

    /// Returns the next item if one is available.
    pub fn try_next(&mut self) -> Option<SubscriptionItem> {
        loop {
            let received = self.events.try_next()?;
            if let Some(received) = self.receive(received) {
                return Some(received);
            }
        }
    }

    /// Moves the subscription to its own task, on the current tokio runtime.
    #[must_use]
    pub fn buffered(mut self) -> BufferedSubscription {
        let (sender, received) = mpsc::channel(BUFFER_CAPACITY);
        let mut forwarder = JoinSet::new();
        forwarder.spawn(async move {
            while let Some(received) = self.next().await {
                if sender.send(received).await.is_err() {
                    return;
                }
            }
        });
        BufferedSubscription { received, _forwarder: forwarder }
    }

    fn receive(&mut self, received: Result<Arc<Event>, Lag>) -> Option<SubscriptionItem> {
        let reader = self.reader.borrow();
        match received {
            Ok(event) => {
                self.ledger.should_deliver(&event.kind, &reader).then_some(SubscriptionItem::Event(event))
            }
            Err(Lag(events)) => {
                Some(SubscriptionItem::Missed { events, messages: self.ledger.recover(&reader) })
            }
        }
    }
}

impl BufferedSubscription {
    /// Returns the next item; `None` after the session's end. Cancel-safe.
    pub async fn next(&mut self) -> Option<SubscriptionItem> {
        self.received.recv().await
    }

    /// Returns the next item if one is available.
    pub fn try_next(&mut self) -> Option<SubscriptionItem> {
        self.received.try_recv().ok()
    }
}

/// The entry of the message whose end comes next. The message's `EntryAppended` event precedes it.
enum NextEntry {
    Nothing,
    Entry(EntryId),
    /// Events were lost since then. A message that ends now was in the log before its event was sent, and was
    /// recovered from there.
    Lost,
}

/// Tracks delivered messages, so that each is delivered once.
struct DeliveryLog {
    /// The newest delivered entry, from which to recover.
    last_delivered: Option<EntryId>,
    announced: NextEntry,
    /// Messages that were recovered from the log and whose own events may still arrive.
    recovered: HashSet<EntryId>,
}

impl DeliveryLog {
    fn after(last_entry: Option<EntryId>) -> Self {
        Self { last_delivered: last_entry, announced: NextEntry::Nothing, recovered: HashSet::new() }
    }

    /// Returns true for an event to deliver: all except the end of a message that was recovered from the log.
    fn should_deliver(&mut self, event: &EventKind, reader: &Reader) -> bool {
        match event {
            EventKind::EntryAppended { entry_id, .. } => self.announced = NextEntry::Entry(entry_id.clone()),
            EventKind::MessageEnd { .. } => return !self.was_recovered(),
            EventKind::SessionChanged { .. } => *self = Self::after(reader.leaf()),
            _ => {}
        }
        true
    }

    /// Returns true if the message that ends was recovered from the log.
    fn was_recovered(&mut self) -> bool {
        match mem::replace(&mut self.announced, NextEntry::Nothing) {
            NextEntry::Lost => true,
            NextEntry::Entry(entry) if self.recovered.remove(&entry) => true,
            NextEntry::Entry(entry) => {
                self.last_delivered = Some(entry);
                false
            }
            NextEntry::Nothing => false,
        }
    }

    /// Returns the messages of the lost events from the log.
    fn recover(&mut self, reader: &Reader) -> Vec<Arc<Message>> {
        self.announced = NextEntry::Lost;
        let Some(leaf) = reader.leaf() else { return Vec::new() };
        let missed = entries_after(reader, &leaf, self.last_delivered.replace(leaf.clone()).as_ref());
        let messages = missed.iter().filter_map(|entry| {
            let message = Arc::clone(entry.body.as_message()?);
            self.recovered.insert(entry.id.clone());
            Some(message)
        });
        messages.collect()
    }
}

/// Returns the entries of the path to `leaf` after `last`; none if `last` isn't on the path, because it
/// belongs to another branch or session.
fn entries_after(reader: &Reader, leaf: &EntryId, last: Option<&EntryId>) -> Vec<Entry> {
    let path = reader.path_to(leaf).unwrap_or_default();
    let from = match last {
        Some(last) => path.iter().rposition(|id| id == last).map_or(path.len(), |at| at + 1),
        None => 0,
    };
    path[from..].iter().filter_map(|id| reader.entry(id).ok()).collect()
}

#[cfg(test)]
mod tests {
    use tiller_core::event::SessionChange;
    use tiller_core::message::UserMessage;
    use tiller_core::unit::UnixMs;
    use tiller_session::{EntryBody, Placement, SessionManager, Writer};

    use super::*;

    fn user(text: &str) -> Arc<Message> {
        Arc::new(Message::User(UserMessage::text(text.to_owned(), UnixMs(0))))
    }

    fn memory() -> Writer {
        SessionManager::new(Placement::Memory, "/".into()).create(UnixMs(0))
    }

    /// Appends a message; returns its events.
    fn append(writer: &mut Writer, text: &str) -> [EventKind; 2] {
        let message = user(text);
        let entry =
            writer.append(EntryBody::message(Arc::clone(&message)), UnixMs(0)).unwrap().pop().unwrap();
        [
            EventKind::EntryAppended { entry_id: entry.id, entry: entry.line },
            EventKind::MessageEnd { message },
        ]
    }

    /// Handles an event; records the message that it ends, if the event is to be delivered.
    fn collect(
        ledger: &mut DeliveryLog,
        event: &EventKind,
        writer: &Writer,
        delivered: &mut Vec<Arc<Message>>,
    ) {
        if let (true, EventKind::MessageEnd { message }) =
            (ledger.should_deliver(event, &writer.reader()), event)
        {
            delivered.push(Arc::clone(message));
        }
    }

    #[test]
    fn subscription_delivers_each_message_once_after_any_loss() {
        // Events `from..to` of the six are lost; the log is read after all of it is written.
        for (from, to) in (0..6).flat_map(|from| (from + 1..=6).map(move |to| (from, to))) {
            let mut writer = memory();
            append(&mut writer, "of an earlier run");
            let mut ledger = DeliveryLog::after(writer.reader().leaf());
            let events: Vec<_> =
                ["one", "two", "three"].iter().flat_map(|text| append(&mut writer, text)).collect();
            let mut delivered = Vec::new();
            for event in &events[..from] {
                collect(&mut ledger, event, &writer, &mut delivered);
            }
            delivered.extend(ledger.recover(&writer.reader()));
            for event in &events[to..] {
                collect(&mut ledger, event, &writer, &mut delivered);
            }
            delivered.extend(ledger.recover(&writer.reader()));
            assert_eq!(delivered, ["one", "two", "three"].map(user), "{from}..{to}");
        }
    }

    #[test]
    fn subscription_earlier_session_is_not_recovered() {
        let (mut first, mut second) = (memory(), memory());
        let mut ledger = DeliveryLog::after(None);
        let mut delivered = Vec::new();
        for event in append(&mut first, "here") {
            collect(&mut ledger, &event, &first, &mut delivered);
        }
        append(&mut second, "long ago");
        let reader = second.reader();
        let change =
            EventKind::SessionChanged { reason: SessionChange::Open, session_id: reader.id().clone() };
        // The change of session may have been delivered, or lost with the rest.
        let mut unaware =
            DeliveryLog { last_delivered: ledger.last_delivered.clone(), ..DeliveryLog::after(None) };
        assert_eq!(unaware.recover(&reader), []);
        assert!(ledger.should_deliver(&change, &reader));
        append(&mut second, "just now");
        assert_eq!(ledger.recover(&second.reader()), [user("just now")]);
        assert_eq!(unaware.recover(&second.reader()), [user("just now")]);
    }
}
