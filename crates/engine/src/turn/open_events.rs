//! Operations with an emitted start event but no end event.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use tiller_core::event::{CompactionReason, EventKind};
use tiller_core::message::Message;
use tiller_core::unit::UnixMs;

/// Unfinished operations, according to the emitted events.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenEvents {
    /// Start of the current run, including pauses before retries.
    pub since: Option<UnixMs>,
    /// True if an end of the run was emitted with the announcement of a retry.
    pub is_paused: bool,
    /// True if the run's final end was emitted, but not yet its settling.
    pub has_ended: bool,
    /// The run's messages that no end event has included yet.
    pub messages: Vec<Arc<Message>>,
    /// The announced retry.
    pub retry: Option<RetryAnnouncement>,
    /// The announced compaction.
    pub compaction: Option<CompactionReason>,
}

/// An announced retry of a failed request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryAnnouncement {
    /// Number of the retry, from 1.
    pub attempt: u32,
    /// Maximum number of retries.
    pub max_attempts: u32,
    /// Time when the retry is or was sent.
    pub due: UnixMs,
    /// The error of the previous attempt.
    pub error: String,
}

impl RetryAnnouncement {
    /// Creates retry `attempt` of `max_attempts`, announced at `now` and due after a delay.
    #[must_use]
    pub fn new((attempt, max_attempts): (u32, u32), now: UnixMs, delay_ms: u64, error: &str) -> Self {
        Self {
            attempt,
            max_attempts,
            due: UnixMs(now.0.saturating_add_unsigned(delay_ms)),
            error: error.to_owned(),
        }
    }
}

impl OpenEvents {
    /// Updates the state with an emitted event.
    pub(crate) fn update(&mut self, event: &EventKind, now: UnixMs) {
        match event {
            EventKind::AgentStart => {
                self.since.get_or_insert(now);
                (self.is_paused, self.has_ended) = (false, false);
                self.messages.clear();
            }
            EventKind::AgentEnd { will_retry, .. } => {
                (self.is_paused, self.has_ended) = (*will_retry, !will_retry);
                self.messages.clear();
            }
            EventKind::AgentSettled => self.since = None,
            EventKind::MessageEnd { message } => self.messages.push(Arc::clone(message)),
            EventKind::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => {
                self.retry =
                    Some(RetryAnnouncement::new((*attempt, *max_attempts), now, *delay_ms, error_message));
            }
            EventKind::AutoRetryEnd { .. } => self.retry = None,
            EventKind::CompactionStart { reason } => self.compaction = Some(*reason),
            EventKind::CompactionEnd { .. } => self.compaction = None,
            // Other events have no end, or end with their run.
            _ => {}
        }
    }
}
