//! The queue: delivery, changes and removal of messages.

use std::sync::Arc;
use tiller_core::setting::{DeliveryMode, SteeringPoint};

use tiller_core::event::{QueueItem, QueueKind};
use tiller_core::id::QueueId;
use tiller_core::message::{Message, UserMessage};
use tiller_core::unit::UnixMs;
use tiller_session::entry::{DeliveryReceipt, MessageEntry};

use super::effect::Effects;
use super::{Effect, Turn, TurnPrompt};
use crate::queue::{self, QueueEdit};

impl Turn {
    pub(super) fn enqueue(&mut self, prompt: TurnPrompt, out: &mut Effects) {
        let kind = prompt.kind;
        self.add_to_queue(prompt, out);
        self.deny_if_steered(kind, out);
    }

    pub(super) fn add_to_queue(&mut self, prompt: TurnPrompt, out: &mut Effects) {
        let TurnPrompt { text, typed, images, kind, id } = prompt;
        let item = QueueItem { id, kind, text, typed, images: images.into(), held: false };
        out.append(queue::added(&item));
        self.queue.add(item, out.now);
        out.emit(self.queue.update());
    }

    /// Queues a removed message again; it is held if the agent is idle.
    pub(super) fn put_back(&mut self, item: QueueItem, position: usize, out: &mut Effects) {
        if self.queue.items().iter().any(|waiting| waiting.id == item.id) {
            return;
        }
        let (id, kind) = (item.id.clone(), item.kind);
        let added = queue::added(&item);
        let held = item.held || !self.is_running();
        self.queue.add(QueueItem { held, ..item }, out.now);
        let edit = self.queue.edit(&id, QueueEdit { place: Some(position), ..QueueEdit::default() });
        out.effects.push(Effect::AppendAll([added].into_iter().chain(edit).collect()));
        out.emit(self.queue.update());
        if !held {
            self.deny_if_steered(kind, out);
        }
    }

    /// Denies a pending approval request if a steering message arrives.
    fn deny_if_steered(&mut self, kind: QueueKind, out: &mut Effects) {
        if kind == QueueKind::Steer && self.options.steering_point == SteeringPoint::BetweenTools {
            self.deny_for_steering(out);
        }
    }

    pub(super) fn unqueue(&mut self, ids: &[QueueId], out: &mut Effects) {
        let removed: Vec<&QueueId> = ids.iter().filter(|id| self.queue.remove(id).is_some()).collect();
        if !removed.is_empty() {
            out.effects.push(Effect::AppendAll(removed.into_iter().map(queue::removed).collect()));
        }
        out.emit(self.queue.update());
    }

    pub(super) fn edit_queued(&mut self, id: &QueueId, edit: QueueEdit, out: &mut Effects) {
        let promoted = edit.kind;
        if let Some(entry) = self.queue.edit(id, edit) {
            out.append(entry);
            out.emit(self.queue.update());
            if let Some(kind) = promoted.filter(|_| self.queue.has_waiting(QueueKind::Steer)) {
                self.deny_if_steered(kind, out);
            }
        }
    }

    /// Holds a message until it is released. Holds aren't logged, because every message restored from a log
    /// is held.
    pub(super) fn hold(&mut self, id: &QueueId, out: &mut Effects) {
        self.queue.hold(id);
        out.emit(self.queue.update());
    }

    /// Releases a message: during a run it is delivered in order; otherwise it starts a run.
    pub(super) fn release(&mut self, id: &QueueId, out: &mut Effects) {
        if self.is_running() {
            self.queue.release(id);
            out.emit(self.queue.update());
            let kind = self.queue.items().iter().find(|item| item.id == *id).map(|item| item.kind);
            if let Some(kind) = kind {
                self.deny_if_steered(kind, out);
            }
        } else if let Some(item) = self.queue.find(id) {
            // The message starts a run, so it overtakes nothing, and its kind doesn't matter any more.
            let item = QueueItem { kind: QueueKind::FollowUp, ..item };
            let waited = self.queue.waited(&item);
            let receipt = DeliveryReceipt { kind: item.kind, waited, ..DeliveryReceipt::default() };
            drop(self.queue.remove(id));
            self.begin_with(delivery(item, receipt, out.now), out);
            out.emit(self.queue.update());
        }
    }

    /// Delivers the next queued messages of a kind. Each delivery is a single write: the message itself.
    pub(super) fn deliver(
        &mut self,
        kind: QueueKind,
        mode: DeliveryMode,
        receipt: &DeliveryReceipt,
        out: &mut Effects,
    ) {
        for (item, waited) in self.queue.deliver(kind, mode) {
            let receipt = DeliveryReceipt { kind, waited, ..receipt.clone() };
            self.append_message(delivery(item, receipt, out.now), out);
        }
        out.emit(self.queue.update());
    }
}

fn delivery(item: QueueItem, receipt: DeliveryReceipt, now: UnixMs) -> MessageEntry {
    let user_message = UserMessage::with_images(item.text, &item.images, now).typed_as(item.typed);
    let message = Arc::new(Message::User(user_message));
    MessageEntry { message, tiller_queue_id: Some(item.id), tiller_receipt: Some(receipt) }
}
