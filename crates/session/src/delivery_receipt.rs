//! Delivery receipts of queued messages: waiting time, edits, and effects on the running answer.

use serde::{Deserialize, Serialize};
use tiller_core::counted::counted;
use tiller_core::event::QueueKind;
use tiller_core::unit::UnixMs;

/// The delivery of a queued message, and its history in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeliveryReceipt {
    /// The delivery kind; steering if absent in the log.
    #[serde(skip_serializing_if = "is_steering")]
    pub kind: QueueKind,
    /// The number of calls of the answer that had ended.
    pub after_calls: usize,
    /// The number of calls that it skipped. Together with `after_calls`, this covers all calls of the answer.
    pub skipped_calls: usize,
    /// The number of calls that it stopped while they were running; they count as ended.
    #[serde(skip_serializing_if = "is_zero")]
    pub stopped_calls: usize,
    /// True if it cut off an answer that was still streaming.
    #[serde(skip_serializing_if = "is_false")]
    pub cut_off: bool,
    /// Its history in the queue.
    #[serde(flatten)]
    pub waited: QueueHistory,
}

/// The history of a message in the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueHistory {
    /// The time at which it was queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_at: Option<UnixMs>,
    /// The kind with which it was queued, if it was delivered with another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_as: Option<QueueKind>,
    /// True if its text was edited.
    #[serde(skip_serializing_if = "is_false")]
    pub edited: bool,
    /// True if it was held and then released by the user.
    #[serde(skip_serializing_if = "is_false")]
    pub released: bool,
}

fn is_steering(kind: &QueueKind) -> bool {
    *kind == QueueKind::Steer
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Default for DeliveryReceipt {
    /// Creates the receipt of a steering message without effects on calls.
    fn default() -> Self {
        Self {
            kind: QueueKind::Steer,
            after_calls: 0,
            skipped_calls: 0,
            stopped_calls: 0,
            cut_off: false,
            waited: QueueHistory::default(),
        }
    }
}

impl DeliveryReceipt {
    /// Returns the delivery kind as one word for display.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self.kind {
            QueueKind::Steer => "steered",
            QueueKind::FollowUp => "queued",
        }
    }

    /// Returns details for display, such as `after 2 of 5 calls, 3 skipped · edited`; often empty.
    #[must_use]
    pub fn details(&self) -> String {
        let total = self.after_calls + self.skipped_calls;
        let mut effects = Vec::new();
        if self.cut_off {
            effects.push("cut the answer off".to_owned());
        }
        let after_running = self.after_calls.saturating_sub(self.stopped_calls);
        let is_first = after_running == 0 && self.stopped_calls > 0;
        if total > 0 && self.kind == QueueKind::Steer {
            let calls = counted(total, "call", "calls");
            effects.push(match is_first {
                true => format!("{} of {calls} stopped", self.stopped_calls),
                false if after_running == 0 => "before the first call".to_owned(),
                false => format!("after {after_running} of {calls}"),
            });
        }
        let stopped = if is_first { 0 } else { self.stopped_calls };
        let counts = [(stopped, "stopped"), (self.skipped_calls, "skipped")];
        effects.extend(counts.iter().filter(|(n, _)| *n > 0).map(|(n, label)| format!("{n} {label}")));
        let was = match self.waited.queued_as {
            Some(QueueKind::FollowUp) => "queued as a follow-up",
            Some(QueueKind::Steer) => "queued to steer",
            None => "",
        };
        let edited = if self.waited.edited { "edited" } else { "" };
        let released = if self.waited.released { "held, then released" } else { "" };
        let parts = [effects.join(", "), was.to_owned(), edited.to_owned(), released.to_owned()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn receipt_details_list_skipped_and_stopped_calls() {
        let steered = DeliveryReceipt { after_calls: 2, skipped_calls: 3, ..DeliveryReceipt::default() };
        assert_eq!(steered.details(), "after 2 of 5 calls, 3 skipped");
        let now = DeliveryReceipt { after_calls: 1, stopped_calls: 1, ..DeliveryReceipt::default() };
        assert_eq!(now.details(), "1 of 1 call stopped");
        let third = DeliveryReceipt {
            after_calls: 3,
            stopped_calls: 1,
            skipped_calls: 2,
            ..DeliveryReceipt::default()
        };
        assert_eq!(
            third.details(),
            "after 2 of 5 calls, 1 stopped, 2 skipped",
            "one that was stopped isn't done"
        );
        let cut = DeliveryReceipt { cut_off: true, ..DeliveryReceipt::default() };
        assert_eq!(cut.details(), "cut the answer off");
        let waited = QueueHistory {
            queued_at: Some(UnixMs(1)),
            queued_as: Some(QueueKind::FollowUp),
            edited: true,
            released: true,
        };
        let long = DeliveryReceipt { waited, ..DeliveryReceipt::default() };
        assert_eq!(long.details(), "queued as a follow-up · edited · held, then released");
        let late =
            DeliveryReceipt { kind: QueueKind::FollowUp, after_calls: 4, ..DeliveryReceipt::default() };
        assert_eq!(late.details(), "", "what follows up comes after everything");
    }

    #[test]
    fn receipt_json_omits_defaults() {
        let plain = DeliveryReceipt { after_calls: 1, skipped_calls: 2, ..DeliveryReceipt::default() };
        assert_eq!(serde_json::to_value(&plain).unwrap(), json!({"afterCalls": 1, "skippedCalls": 2}));
        let read: DeliveryReceipt =
            serde_json::from_value(json!({"afterCalls": 1, "skippedCalls": 2})).unwrap();
        assert_eq!(read, plain);
        let waited = QueueHistory { queued_at: Some(UnixMs(7)), edited: true, ..QueueHistory::default() };
        let full = DeliveryReceipt { kind: QueueKind::FollowUp, waited, ..DeliveryReceipt::default() };
        let value =
            json!({"kind": "followUp", "afterCalls": 0, "skippedCalls": 0, "queuedAt": 7, "edited": true});
        assert_eq!(serde_json::to_value(&full).unwrap(), value);
        assert_eq!(serde_json::from_value::<DeliveryReceipt>(value).unwrap(), full);
    }
}
