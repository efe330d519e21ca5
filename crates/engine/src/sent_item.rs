//! Queued messages as they are sent to front ends in other processes.

use serde::{Deserialize, Serialize};
use tiller_core::event::{QueueItem, QueueKind};
use tiller_core::id::QueueId;
use tiller_core::message::Image;

/// A queued message with its images; in the JSON of events, images are only counted.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct WireQueueItem {
    id: QueueId,
    kind: QueueKind,
    text: String,
    typed: Option<String>,
    images: Vec<Image>,
    held: bool,
}

impl From<&QueueItem> for WireQueueItem {
    fn from(item: &QueueItem) -> Self {
        let QueueItem { id, kind, text, typed, images, held } = item.clone();
        Self { id, kind, text, typed, images: images.to_vec(), held }
    }
}

impl From<WireQueueItem> for QueueItem {
    fn from(WireQueueItem { id, kind, text, typed, images, held }: WireQueueItem) -> Self {
        Self { id, kind, text, typed, images: images.into(), held }
    }
}

/// Prepares queued messages for sending.
pub(crate) fn sent_items<'a>(items: impl IntoIterator<Item = &'a QueueItem>) -> Vec<WireQueueItem> {
    items.into_iter().map(WireQueueItem::from).collect()
}

/// Returns the received messages.
pub(crate) fn queue_items(items: Vec<WireQueueItem>) -> Vec<QueueItem> {
    items.into_iter().map(QueueItem::from).collect()
}

/// Serialization of fields with queued messages: `#[serde(with = "sent_item::list")]`.
pub(crate) mod list {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use tiller_core::event::QueueItem;

    pub(crate) fn serialize<S: Serializer>(items: &[QueueItem], serializer: S) -> Result<S::Ok, S::Error> {
        super::sent_items(items).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<QueueItem>, D::Error> {
        Vec::deserialize(deserializer).map(super::queue_items)
    }
}
