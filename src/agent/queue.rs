//! Messages that wait: steering for the next gap, follow-ups for the end. Pure.

use crate::event::{EventKind, QueueItem, QueueKind};
use crate::id::QueueId;
use crate::session::EntryBody;
use crate::session::entry::{Entry, OwnFact, QueueChange};

/// How many waiting messages go in at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeliveryMode {
    /// The oldest.
    #[default]
    OneAtATime,
    /// All of its kind.
    All,
}

/// The messages that wait, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queue {
    items: Vec<QueueItem>,
}

impl Queue {
    /// What still waits according to a log: added, neither removed nor delivered. It comes back held.
    #[must_use]
    pub fn left_over<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut queue = Self::default();
        for entry in entries {
            match (&entry.body, entry.body.as_own()) {
                (_, Some(OwnFact::Queue(QueueChange::Add { queue_id: id, kind, text }))) => {
                    queue.items.push(QueueItem { id, kind, text, held: true });
                }
                (_, Some(OwnFact::Queue(QueueChange::Remove { queue_id }))) => drop(queue.remove(&queue_id)),
                (EntryBody::Message(message), None) => {
                    if let Some(delivered) = &message.tiller_queue_id {
                        drop(queue.remove(delivered));
                    }
                }
                _ => {}
            }
        }
        queue
    }

    /// Lets a message wait.
    pub fn add(&mut self, id: QueueId, kind: QueueKind, text: String) {
        self.items.push(QueueItem { id, kind, text, held: false });
    }

    /// Takes one message out, if it waits.
    pub fn remove(&mut self, id: &QueueId) -> Option<QueueItem> {
        let at = self.items.iter().position(|item| item.id == *id)?;
        Some(self.items.remove(at))
    }

    /// Takes the next messages of a kind for delivery; held ones stay.
    pub fn take(&mut self, kind: QueueKind, mode: DeliveryMode) -> Vec<QueueItem> {
        let most = match mode {
            DeliveryMode::OneAtATime => 1,
            DeliveryMode::All => usize::MAX,
        };
        let mut taken = Vec::new();
        self.items.retain(|item| {
            let take = item.kind == kind && !item.held && taken.len() < most;
            if take {
                taken.push(item.clone());
            }
            !take
        });
        taken
    }

    /// Whether a message of this kind waits for delivery.
    #[must_use]
    pub fn waits(&self, kind: QueueKind) -> bool {
        self.items.iter().any(|item| item.kind == kind && !item.held)
    }

    /// Holds everything that waits: it is sent only when the user says so.
    pub fn hold_all(&mut self) {
        for item in &mut self.items {
            item.held = true;
        }
    }

    /// What waits, held or not.
    #[must_use]
    pub fn items(&self) -> &[QueueItem] {
        &self.items
    }

    /// Tells front ends what waits.
    #[must_use]
    pub fn update(&self) -> EventKind {
        let texts = |kind: QueueKind| {
            self.items.iter().filter(|item| item.kind == kind).map(|item| item.text.clone()).collect()
        };
        EventKind::QueueUpdate {
            steering: texts(QueueKind::Steer),
            follow_up: texts(QueueKind::FollowUp),
            items: self.items.clone(),
        }
    }
}

/// The entry that says that a message waits.
#[must_use]
pub fn added(id: &QueueId, kind: QueueKind, text: &str) -> EntryBody {
    let change = QueueChange::Add { queue_id: id.clone(), kind, text: text.to_owned() };
    EntryBody::own(&OwnFact::Queue(change))
}

/// The entry that says that a message no longer waits.
#[must_use]
pub fn removed(id: &QueueId) -> EntryBody {
    EntryBody::own(&OwnFact::Queue(QueueChange::Remove { queue_id: id.clone() }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::message::{Message, UserMessage};
    use crate::session::entry::MessageEntry;
    use crate::unit::UnixMs;

    fn entry(body: EntryBody) -> Entry {
        Entry { id: "e".into(), parent: None, timestamp: UnixMs(0), body }
    }

    #[test]
    fn what_was_neither_delivered_nor_removed_comes_back_held() {
        let delivered = EntryBody::Message(MessageEntry {
            message: Arc::new(Message::User(UserMessage::text("one", UnixMs(0)))),
            tiller_queue_id: Some("q1".into()),
            tiller_receipt: None,
        });
        let log = [
            entry(added(&"q1".into(), QueueKind::Steer, "one")),
            entry(added(&"q2".into(), QueueKind::FollowUp, "two")),
            entry(added(&"q3".into(), QueueKind::FollowUp, "three")),
            entry(delivered),
            entry(removed(&"q3".into())),
        ];
        let expected =
            [QueueItem { id: "q2".into(), kind: QueueKind::FollowUp, text: "two".into(), held: true }];
        assert_eq!(Queue::left_over(&log).items(), expected);
    }

    #[test]
    fn a_held_message_is_not_delivered() {
        let mut queue = Queue::default();
        queue.add("q1".into(), QueueKind::Steer, "one".into());
        queue.hold_all();
        queue.add("q2".into(), QueueKind::Steer, "two".into());
        let taken = queue.take(QueueKind::Steer, DeliveryMode::All);
        assert_eq!(taken.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["q2"]);
        assert_eq!(queue.items().len(), 1);
    }
}
