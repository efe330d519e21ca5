//! The message queue: steering messages for the next gap, follow-ups for the end of the run. Pure.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;
use tiller_core::setting::DeliveryMode;

use tiller_core::event::{EventKind, QueueItem, QueueKind};
use tiller_core::id::QueueId;
use tiller_core::message::Image;
use tiller_core::unit::UnixMs;
use tiller_session::EntryBody;
use tiller_session::entry::{Entry, QueueChange, QueueHistory, TillerEntry};

/// Maximum number of messages in the queue: more than a person would queue, and few enough for events and
/// memory.
pub const MAX_WAITING: usize = 1_000;

/// A change to a queued message; `None` keeps the current value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueEdit {
    /// New text.
    pub text: Option<String>,
    /// New images.
    pub images: Option<Vec<Image>>,
    /// New kind.
    pub kind: Option<QueueKind>,
    /// New position: the number of messages before it; larger numbers mean last. By default, a message with a
    /// new kind goes after the other messages of that kind.
    pub place: Option<usize>,
}

/// The queued messages, in the order of delivery within each kind.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// Shared with the events that contain them.
    items: Vec<Arc<QueueItem>>,
    /// The history of each message.
    histories: HashMap<QueueId, MessageHistory>,
}

/// The history of a queued message, for its receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MessageHistory {
    queued_at: UnixMs,
    queued_as: QueueKind,
    edited: bool,
    was_held: bool,
}

/// Queues are equal if they contain the same messages in the same order.
impl PartialEq for Queue {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl Queue {
    /// Restores the queue from a log: messages that were added but neither removed nor delivered. They are
    /// held.
    #[must_use]
    pub fn restore<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut queue = Self::default();
        for entry in entries {
            match (&entry.body, entry.body.as_tiller()) {
                (
                    _,
                    Some(TillerEntry::Queue(QueueChange::Add { queue_id: id, kind, text, typed, images })),
                ) => {
                    let item = QueueItem { id, kind, text, typed, images: images.into(), held: true };
                    queue.add(item, entry.timestamp);
                }
                (_, Some(TillerEntry::Queue(QueueChange::Edit { queue_id, kind, text, images, order }))) => {
                    let edit =
                        QueueEdit { text: Some(text), images: Some(images), kind: Some(kind), place: order };
                    queue.edit(&queue_id, edit);
                }
                (_, Some(TillerEntry::Queue(QueueChange::Remove { queue_id }))) => {
                    drop(queue.remove(&queue_id))
                }
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

    /// Queues a message at the end.
    pub fn add(&mut self, item: QueueItem, at: UnixMs) {
        let history =
            MessageHistory { queued_at: at, queued_as: item.kind, edited: false, was_held: item.held };
        self.histories.insert(item.id.clone(), history);
        self.items.push(Arc::new(item));
    }

    /// Returns the history of a queued message.
    #[must_use]
    pub fn waited(&self, item: &QueueItem) -> QueueHistory {
        let Some(history) = self.histories.get(&item.id) else { return QueueHistory::default() };
        QueueHistory {
            queued_at: Some(history.queued_at),
            queued_as: (history.queued_as != item.kind).then_some(history.queued_as),
            edited: history.edited,
            released: history.was_held,
        }
    }

    /// Changes a queued message; returns the entry that records the change.
    pub fn edit(&mut self, id: &QueueId, edit: QueueEdit) -> Option<EntryBody> {
        let at = self.items.iter().position(|item| item.id == *id)?;
        let mut item = Arc::unwrap_or_clone(self.items.remove(at));
        let QueueEdit { text, images, kind, place: position } = edit;
        let (text, typed) = edited_text(&item, text);
        if let Some(history) = self.histories.get_mut(id) {
            history.edited |= text.as_ref().is_some_and(|text| *text != item.text);
        }
        item.typed = typed;
        item.text = text.unwrap_or(item.text);
        item.images = images.map_or(item.images, Arc::from);
        let new_kind = kind.filter(|kind| *kind != item.kind);
        item.kind = kind.unwrap_or(item.kind);
        // The message doesn't overtake others of its new kind.
        let position = position.or_else(|| {
            let last = self.items.iter().rposition(|queued| Some(queued.kind) == new_kind)?;
            Some(at.max(last + 1))
        });
        let change = QueueChange::Edit {
            queue_id: item.id.clone(),
            kind: item.kind,
            text: item.text.clone(),
            images: item.images.to_vec(),
            order: position,
        };
        self.items.insert(position.unwrap_or(at).min(self.items.len()), Arc::new(item));
        Some(EntryBody::from_tiller(&TillerEntry::Queue(change)))
    }

    /// Holds a message during editing; the receipt doesn't mention it.
    pub fn hold(&mut self, id: &QueueId) {
        for item in self.items.iter_mut().filter(|item| item.id == *id) {
            Arc::make_mut(item).held = true;
        }
    }

    /// Releases a held message for the next delivery.
    pub fn release(&mut self, id: &QueueId) {
        for item in self.items.iter_mut().filter(|item| item.id == *id) {
            Arc::make_mut(item).held = false;
        }
    }

    /// Removes a message, if it is queued.
    pub fn remove(&mut self, id: &QueueId) -> Option<QueueItem> {
        let at = self.items.iter().position(|item| item.id == *id)?;
        self.histories.remove(id);
        Some(Arc::unwrap_or_clone(self.items.remove(at)))
    }

    /// Removes the next messages of a kind for delivery, with their history; held messages stay.
    pub fn deliver(&mut self, kind: QueueKind, mode: DeliveryMode) -> Vec<(QueueItem, QueueHistory)> {
        let limit = match mode {
            DeliveryMode::OneAtATime => 1,
            DeliveryMode::All => usize::MAX,
        };
        let mut delivered = Vec::new();
        self.items.retain(|item| {
            let is_due = item.kind == kind && !item.held && delivered.len() < limit;
            if is_due {
                delivered.push(QueueItem::clone(item));
            }
            !is_due
        });
        let with_history = |item: QueueItem| {
            let waited = self.waited(&item);
            self.histories.remove(&item.id);
            (item, waited)
        };
        delivered.into_iter().map(with_history).collect()
    }

    /// Returns true if a message of this kind is waiting for delivery.
    #[must_use]
    pub(crate) fn has_waiting(&self, kind: QueueKind) -> bool {
        self.items.iter().any(|item| item.kind == kind && !item.held)
    }

    /// Holds all messages; they are delivered only on the user's request.
    pub(crate) fn hold_all(&mut self) {
        for item in &mut self.items {
            Arc::make_mut(item).held = true;
            if let Some(history) = self.histories.get_mut(&item.id) {
                history.was_held = true;
            }
        }
    }

    /// Returns all messages, including held ones.
    #[must_use]
    pub fn items(&self) -> &[Arc<QueueItem>] {
        &self.items
    }

    /// Returns clones of the messages that match a predicate.
    #[must_use]
    pub fn select(&self, pick: impl Fn(&QueueItem) -> bool) -> Vec<QueueItem> {
        self.items.iter().filter(|item| pick(item)).map(|item| QueueItem::clone(item)).collect()
    }

    /// Returns a clone of a message, if it is queued.
    #[must_use]
    pub fn find(&self, id: &QueueId) -> Option<QueueItem> {
        self.items.iter().find(|item| item.id == *id).map(|item| QueueItem::clone(item))
    }

    /// Returns the event with the queue's content.
    #[must_use]
    pub fn update(&self) -> EventKind {
        EventKind::queue_update(self.items.clone())
    }
}

/// Returns the entry of a queued message.
#[must_use]
pub fn added(item: &QueueItem) -> EntryBody {
    let QueueItem { id, kind, text, typed, images, .. } = item.clone();
    let change = QueueChange::Add { queue_id: id, kind, text, typed, images: images.to_vec() };
    EntryBody::from_tiller(&TillerEntry::Queue(change))
}

/// Returns the entry that records a removal.
#[must_use]
pub fn removed(id: &QueueId) -> EntryBody {
    EntryBody::from_tiller(&TillerEntry::Queue(QueueChange::Remove { queue_id: id.clone() }))
}

/// Returns the new text of an edited item, `None` if unchanged, and its text as typed. Attached files are
/// kept; the expansion of a template isn't.
fn edited_text(item: &QueueItem, text: Option<String>) -> (Option<String>, Option<String>) {
    let Some(text) = text.filter(|text| *text != item.text && item.typed.as_ref() != Some(text)) else {
        return (None, item.typed.clone());
    };
    let attached = item.typed.as_deref().and_then(|typed| item.text.strip_prefix(typed));
    match attached.filter(|attached| attached.starts_with("\n\n<")) {
        Some(attached) => (Some(format!("{}{attached}", text.trim())), Some(text.trim().to_owned())),
        None => (Some(text), None),
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::message::{Message, UserMessage};
    use tiller_session::entry::MessageEntry;

    use super::*;

    fn entry(body: EntryBody) -> Entry {
        Entry { id: "e".into(), parent: None, timestamp: UnixMs(0), body }
    }

    #[test]
    fn queue_edited_item_keeps_its_attachments() {
        let attached = "\n\n<file path=\"a\" lines=\"1\">\nx\n</file>";
        let item = QueueItem {
            typed: Some("see @a".into()),
            ..item("q1", QueueKind::Steer, &format!("see @a{attached}"))
        };
        let to = |text: &str| edited_text(&item, Some(text.to_owned()));
        assert_eq!(to("look at @a"), (Some(format!("look at @a{attached}")), Some("look at @a".into())));
        assert_eq!(to("see @a"), (None, Some("see @a".into())), "put back as it was");
        let template = QueueItem { text: "Ask me.".into(), typed: Some("/ask me".into()), ..item.clone() };
        assert_eq!(edited_text(&template, Some("other".into())), (Some("other".into()), None));
    }

    #[test]
    fn queue_restored_undelivered_messages_are_held() {
        let delivered = EntryBody::Message(MessageEntry {
            message: Arc::new(Message::User(UserMessage::text("one", UnixMs(0)))),
            tiller_queue_id: Some("q1".into()),
            tiller_receipt: None,
        });
        let log = [
            entry(added(&item("q1", QueueKind::Steer, "one"))),
            entry(added(&item("q2", QueueKind::FollowUp, "two"))),
            entry(added(&item("q3", QueueKind::FollowUp, "three"))),
            entry(delivered),
            entry(removed(&"q3".into())),
        ];
        let expected = [held_item("q2", QueueKind::FollowUp, "two", &[])];
        assert_eq!(Queue::restore(&log).select(|_| true), expected);
    }

    #[test]
    fn queue_long_queue_has_a_bounded_update() {
        let update = |count: usize, bytes: usize| {
            let mut queue = Queue::default();
            for at in 0..count {
                let text = "x".repeat(bytes);
                queue.add(item(&format!("q{at}"), QueueKind::FollowUp, &text), UnixMs(0));
            }
            let json = serde_json::to_value(queue.update()).unwrap();
            let listed = json["items"].as_array().unwrap().len();
            assert_eq!(
                (json["followUp"].as_array().unwrap().len(), json["steering"].as_array()),
                (listed, Some(&vec![]))
            );
            (listed, json["total"].as_u64().unwrap(), json.to_string().len())
        };
        for (count, bytes, expected) in
            [(3, 10, 3), (101, 10, 100), (1_000, 1_024, 64), (5, 40_000, 1), (1, 70_000, 0)]
        {
            let (listed, total, length) = update(count, bytes);
            assert_eq!((listed, total), (expected, count as u64), "{count} of {bytes}");
            assert!(length < 160 * 1024, "{length}");
        }
    }

    fn held_item(id: &str, kind: QueueKind, text: &str, images: &[Image]) -> QueueItem {
        QueueItem { id: id.into(), kind, text: text.into(), typed: None, images: images.into(), held: true }
    }

    fn item(id: &str, kind: QueueKind, text: &str) -> QueueItem {
        QueueItem { held: false, ..held_item(id, kind, text, &[]) }
    }

    #[test]
    fn queue_history_is_the_same_live_and_from_the_log() {
        let mut queue = Queue::default();
        queue.add(item("q1", QueueKind::FollowUp, "one"), UnixMs(5));
        let mut log =
            vec![Entry { timestamp: UnixMs(5), ..entry(added(&item("q1", QueueKind::FollowUp, "one"))) }];
        let changes =
            QueueEdit { text: Some("eins".into()), kind: Some(QueueKind::Steer), ..QueueEdit::default() };
        log.push(entry(queue.edit(&"q1".into(), changes).unwrap()));
        let mut read = Queue::restore(&log);
        read.release(&"q1".into());
        let expected = |released| QueueHistory {
            queued_at: Some(UnixMs(5)),
            queued_as: Some(QueueKind::FollowUp),
            edited: true,
            released,
        };
        for (mut queue, released) in [(queue, false), (read, true)] {
            let delivered = queue.deliver(QueueKind::Steer, DeliveryMode::OneAtATime);
            assert_eq!(
                delivered.into_iter().map(|(_, waited)| waited).collect::<Vec<_>>(),
                [expected(released)]
            );
        }
    }

    #[test]
    fn queue_edits_and_order_are_restored() {
        let picture = Image { data: "AA==".into(), mime_type: "image/png".into() };
        let mut queue = Queue::default();
        let mut log = Vec::new();
        for (id, text) in [("q1", "one"), ("q2", "two"), ("q3", "three")] {
            queue.add(item(id, QueueKind::FollowUp, text), UnixMs(5));
            log.push(entry(added(&item(id, QueueKind::FollowUp, text))));
        }
        let edits = [
            ("q3", QueueEdit { place: Some(0), ..QueueEdit::default() }),
            ("q1", QueueEdit { place: Some(99), kind: Some(QueueKind::Steer), ..QueueEdit::default() }),
            ("q2", QueueEdit { text: Some("zwei".into()), ..QueueEdit::default() }),
            ("q2", QueueEdit { images: Some(vec![picture.clone()]), ..QueueEdit::default() }),
        ];
        for (id, edit) in edits {
            log.push(entry(queue.edit(&id.into(), edit).unwrap()));
        }
        assert_eq!(queue.edit(&"q9".into(), QueueEdit::default()), None);
        queue.hold_all();
        let expected = [
            held_item("q3", QueueKind::FollowUp, "three", &[]),
            held_item("q2", QueueKind::FollowUp, "zwei", &[picture]),
            held_item("q1", QueueKind::Steer, "one", &[]),
        ];
        assert_eq!(queue.select(|_| true), expected);
        assert_eq!(Queue::restore(&log), queue);
    }

    #[test]
    fn queue_changed_kind_goes_behind_messages_of_that_kind() {
        let mut queue = Queue::default();
        let mut log = Vec::new();
        let all = [("q1", QueueKind::FollowUp), ("q2", QueueKind::Steer), ("q3", QueueKind::FollowUp)];
        for (id, kind) in all {
            queue.add(item(id, kind, id), UnixMs(5));
            log.push(entry(added(&item(id, kind, id))));
        }
        let order = |queue: &Queue, kind| -> Vec<String> {
            let of_kind = queue.items().iter().filter(|item| item.kind == kind);
            of_kind.map(|item| item.id.as_str().to_owned()).collect()
        };
        let steers = QueueEdit { kind: Some(QueueKind::Steer), ..QueueEdit::default() };
        log.push(entry(queue.edit(&"q1".into(), steers.clone()).unwrap()));
        assert_eq!(order(&queue, QueueKind::Steer), ["q2", "q1"]);
        // A change to the current kind moves nothing.
        log.push(entry(queue.edit(&"q2".into(), steers).unwrap()));
        assert_eq!(order(&queue, QueueKind::Steer), ["q2", "q1"]);
        let edit = QueueEdit { kind: Some(QueueKind::FollowUp), ..QueueEdit::default() };
        log.push(entry(queue.edit(&"q2".into(), edit).unwrap()));
        assert_eq!(order(&queue, QueueKind::FollowUp), ["q3", "q2"]);
        queue.hold_all();
        assert_eq!(Queue::restore(&log).items(), queue.items(), "and so it comes back");
    }

    #[test]
    fn queue_held_message_is_not_delivered() {
        let mut queue = Queue::default();
        queue.add(item("q1", QueueKind::Steer, "one"), UnixMs(5));
        queue.hold_all();
        queue.add(item("q2", QueueKind::Steer, "two"), UnixMs(5));
        let delivered = queue.deliver(QueueKind::Steer, DeliveryMode::All);
        assert_eq!(delivered.iter().map(|(item, _)| item.id.as_str()).collect::<Vec<_>>(), ["q2"]);
        assert_eq!(queue.items().len(), 1);
    }

    #[test]
    fn queue_typed_text_is_restored_until_the_text_changes() {
        let from_template =
            QueueItem { typed: Some("/ask me".into()), ..item("q1", QueueKind::Steer, "Ask me.") };
        let mut queue = Queue::default();
        queue.add(from_template.clone(), UnixMs(5));
        let mut log = vec![entry(added(&from_template))];
        let typed = |log: &[Entry]| Queue::restore(log).items()[0].as_typed();
        assert_eq!(typed(&log), "/ask me");
        let same = QueueEdit { kind: Some(QueueKind::FollowUp), ..QueueEdit::default() };
        log.push(entry(queue.edit(&"q1".into(), same).unwrap()));
        assert_eq!((typed(&log).as_str(), queue.items()[0].as_typed().as_str()), ("/ask me", "/ask me"));
        let edit = QueueEdit { text: Some("Ask her.".into()), ..QueueEdit::default() };
        log.push(entry(queue.edit(&"q1".into(), edit).unwrap()));
        assert_eq!((typed(&log).as_str(), queue.items()[0].as_typed().as_str()), ("Ask her.", "Ask her."));
    }
}
