//! What front ends have been told: which beginnings still lack their ends.

use std::sync::Arc;

use tiller_core::event::{CompactionReason, EventKind};
use tiller_core::message::Message;
use tiller_core::unit::UnixMs;

/// What front ends were told begins and were not told ends.
#[derive(Clone, Debug, Default)]
pub struct OpenEvents {
    /// Since when a run is going on, pauses before another try included.
    pub since: Option<UnixMs>,
    /// Whether an end of it was told, with the promise that it goes on.
    pub is_paused: bool,
    /// Whether its true end was told; it isn't settled yet.
    pub has_ended: bool,
    /// Its messages that no end has named.
    pub messages: Vec<Arc<Message>>,
    /// The try that was announced.
    pub retry: Option<AnnouncedRetry>,
    /// The compaction that was announced.
    pub compaction: Option<CompactionReason>,
}

/// Another try of a failed request, as it was announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnouncedRetry {
    /// Which try, from 1.
    pub attempt: u32,
    /// Most tries.
    pub most: u32,
    /// When it goes out, or went out.
    pub at: UnixMs,
    /// Why the one before failed.
    pub why: String,
}

impl AnnouncedRetry {
    /// The try that `attempt` of `most` is, told at a moment to go out after a delay.
    #[must_use]
    pub fn told((attempt, most): (u32, u32), now: UnixMs, delay_ms: u64, why: &str) -> Self {
        Self { attempt, most, at: UnixMs(now.0.saturating_add_unsigned(delay_ms)), why: why.to_owned() }
    }
}

impl OpenEvents {
    /// Takes note of an event that is told.
    pub fn hear(&mut self, event: &EventKind, now: UnixMs) {
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
                    Some(AnnouncedRetry::told((*attempt, *max_attempts), now, *delay_ms, error_message));
            }
            EventKind::AutoRetryEnd { .. } => self.retry = None,
            EventKind::CompactionStart { reason } => self.compaction = Some(*reason),
            EventKind::CompactionEnd { .. } => self.compaction = None,
            // Everything else has no end, or ends with its run.
            _ => {}
        }
    }
}
