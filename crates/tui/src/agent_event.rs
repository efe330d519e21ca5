//! An agent event, with its entry parsed.

use tiller_core::event::{Event, EventKind};
use tiller_core::message::Message;
use tiller_core::unit::UnixMs;
use tiller_session::entry::TillerEntry;
use tiller_session::{Entry, EntryBody};

/// An agent event with the time of its arrival.
#[derive(Debug)]
pub(crate) struct AgentEvent<'a> {
    pub(crate) kind: &'a EventKind,
    pub(crate) seq: u64,
    pub(crate) time: UnixMs,
    /// Time of arrival.
    pub(crate) now: UnixMs,
    /// The appended entry; `None` if there is none or it can't be read.
    pub(crate) entry: Option<Entry>,
}

impl<'a> AgentEvent<'a> {
    /// Parses the entry of an event that appends one.
    pub(crate) fn parse(event: &'a Event, now: UnixMs) -> Self {
        let entry = match &event.kind {
            EventKind::EntryAppended { entry_id, entry } => {
                let body = serde_json::from_str::<EntryBody>(entry.get()).ok();
                body.map(|body| Entry { id: entry_id.clone(), parent: None, timestamp: event.time, body })
            }
            _ => None,
        };
        Self { kind: &event.kind, seq: event.seq, time: event.time, now, entry }
    }

    /// Returns true if the event appends an answer.
    pub(crate) fn is_answer(&self) -> bool {
        let message = self.entry.as_ref().and_then(|entry| entry.body.as_message());
        matches!(message.map(|message| &**message), Some(Message::Assistant(_)))
    }

    /// Returns true if the event hides a branch, or shows it again.
    pub(crate) fn hides(&self) -> bool {
        let entry = self.entry.as_ref().and_then(|entry| entry.body.as_tiller());
        matches!(entry, Some(TillerEntry::Hide { .. }))
    }
}
