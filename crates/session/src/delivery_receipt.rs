//! What became of a queued message: how long it waited, what was done to it, and what it overtook.

use serde::{Deserialize, Serialize};
use tiller_core::event::QueueKind;
use tiller_core::unit::UnixMs;

/// At which point a queued message was delivered, and what had become of it until then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeliveryReceipt {
    /// As what it was delivered; a log that doesn't say so means steering.
    #[serde(skip_serializing_if = "is_steering")]
    pub kind: QueueKind,
    /// How many of the answer's calls were over.
    pub after_calls: usize,
    /// How many it skipped. With those that were over they are all the calls of the answer.
    pub skipped_calls: usize,
    /// How many of those that were over it stopped while they were at work.
    #[serde(skip_serializing_if = "is_zero")]
    pub stopped_calls: usize,
    /// Whether it cut off an answer that was still arriving.
    #[serde(skip_serializing_if = "is_false")]
    pub cut_off: bool,
    /// What became of it while it waited.
    #[serde(flatten)]
    pub waited: Waited,
}

/// What became of a message while it waited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Waited {
    /// Since when it had waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_at: Option<UnixMs>,
    /// As what it was queued, if it was delivered as something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_as: Option<QueueKind>,
    /// Whether it said something else at first.
    #[serde(skip_serializing_if = "is_false")]
    pub edited: bool,
    /// Whether it was held, and went in because the user let it.
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
    /// One of a steering message that overtook nothing.
    fn default() -> Self {
        Self {
            kind: QueueKind::Steer,
            after_calls: 0,
            skipped_calls: 0,
            stopped_calls: 0,
            cut_off: false,
            waited: Waited::default(),
        }
    }
}

impl DeliveryReceipt {
    /// How it was delivered, in a word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self.kind {
            QueueKind::Steer => "steered",
            QueueKind::FollowUp => "queued",
        }
    }

    /// What there is to tell of it beside when it was delivered: `after 2 of 5 calls, 3 skipped · edited`; often nothing.
    #[must_use]
    pub fn story(&self) -> String {
        let all = self.after_calls + self.skipped_calls;
        let mut overtaken = Vec::new();
        if self.cut_off {
            overtaken.push("cut the answer off".to_owned());
        }
        let done = self.after_calls.saturating_sub(self.stopped_calls);
        let is_first = done == 0 && self.stopped_calls > 0;
        if all > 0 && self.kind == QueueKind::Steer {
            let noun = if all == 1 { "call" } else { "calls" };
            overtaken.push(match is_first {
                true => format!("{} of {all} {noun} stopped", self.stopped_calls),
                false => format!("after {done} of {all} {noun}"),
            });
        }
        let stopped = if is_first { 0 } else { self.stopped_calls };
        let counts = [(stopped, "stopped"), (self.skipped_calls, "skipped")];
        overtaken.extend(counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")));
        let was = match self.waited.queued_as {
            Some(QueueKind::FollowUp) => "queued as a follow-up",
            Some(QueueKind::Steer) => "queued to steer",
            None => "",
        };
        let edited = if self.waited.edited { "edited" } else { "" };
        let released = if self.waited.released { "held, then released" } else { "" };
        let parts = [overtaken.join(", "), was.to_owned(), edited.to_owned(), released.to_owned()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_receipt_tells_what_was_overtaken_and_what_became_of_the_message() {
        let steered = DeliveryReceipt { after_calls: 2, skipped_calls: 3, ..DeliveryReceipt::default() };
        assert_eq!(steered.story(), "after 2 of 5 calls, 3 skipped");
        let now = DeliveryReceipt { after_calls: 1, stopped_calls: 1, ..DeliveryReceipt::default() };
        assert_eq!(now.story(), "1 of 1 call stopped");
        let third = DeliveryReceipt {
            after_calls: 3,
            stopped_calls: 1,
            skipped_calls: 2,
            ..DeliveryReceipt::default()
        };
        assert_eq!(
            third.story(),
            "after 2 of 5 calls, 1 stopped, 2 skipped",
            "one that was stopped isn't done"
        );
        let cut = DeliveryReceipt { cut_off: true, ..DeliveryReceipt::default() };
        assert_eq!(cut.story(), "cut the answer off");
        let waited = Waited {
            queued_at: Some(UnixMs(1)),
            queued_as: Some(QueueKind::FollowUp),
            edited: true,
            released: true,
        };
        let long = DeliveryReceipt { waited, ..DeliveryReceipt::default() };
        assert_eq!(long.story(), "queued as a follow-up · edited · held, then released");
        let late =
            DeliveryReceipt { kind: QueueKind::FollowUp, after_calls: 4, ..DeliveryReceipt::default() };
        assert_eq!(late.story(), "", "what follows up comes after everything");
    }

    #[test]
    fn what_a_receipt_needn_t_say_is_left_out_and_what_an_older_log_doesn_t_say_is_steering() {
        let plain = DeliveryReceipt { after_calls: 1, skipped_calls: 2, ..DeliveryReceipt::default() };
        assert_eq!(serde_json::to_value(&plain).unwrap(), json!({"afterCalls": 1, "skippedCalls": 2}));
        let read: DeliveryReceipt =
            serde_json::from_value(json!({"afterCalls": 1, "skippedCalls": 2})).unwrap();
        assert_eq!(read, plain);
        let waited = Waited { queued_at: Some(UnixMs(7)), edited: true, ..Waited::default() };
        let full = DeliveryReceipt { kind: QueueKind::FollowUp, waited, ..DeliveryReceipt::default() };
        let value =
            json!({"kind": "followUp", "afterCalls": 0, "skippedCalls": 0, "queuedAt": 7, "edited": true});
        assert_eq!(serde_json::to_value(&full).unwrap(), value);
        assert_eq!(serde_json::from_value::<DeliveryReceipt>(value).unwrap(), full);
    }
}
