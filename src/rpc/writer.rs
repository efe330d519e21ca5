//! Encodes responses and events as lines, as configured by the client.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::id::Id;
use super::outbox_item::{OutboxItem, SendMode};
use crate::agent::SubscriptionItem;
use crate::event::{Event, EventKind};
use crate::id::EntryId;

/// Writes lines to the client.
pub(super) struct LineWriter<Out: Write> {
    out: io::BufWriter<Out>,
    deltas: bool,
    user_commands: Vec<NamedCommand>,
}

/// A user command, with the id that the client gave it.
struct NamedCommand {
    line: String,
    id: Option<Id>,
    /// The id of the command's start entry, after it has started.
    started: Option<EntryId>,
}

/// An event of a command that has a client id.
struct NamedEvent {
    event: Map<String, Value>,
    id: Id,
    entry: EntryId,
}

impl Serialize for NamedEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        for (name, value) in &self.event {
            match &**name {
                "id" => fields.serialize_entry(name, &self.id)?,
                name => fields.serialize_entry(name, value)?,
            }
        }
        fields.serialize_entry("entryId", &self.entry)?;
        fields.end()
    }
}

impl<Out: Write> LineWriter<Out> {
    pub(super) fn new(out: Out) -> Self {
        Self { out: io::BufWriter::new(out), deltas: true, user_commands: Vec::new() }
    }

    /// Writes items until the channel closes. Flushes whenever no further item is ready.
    pub(super) fn write(&mut self, items: &mut mpsc::Receiver<OutboxItem>) -> io::Result<()> {
        loop {
            let item = match items.try_recv() {
                Ok(item) => Some(item),
                Err(_) => {
                    self.out.flush()?;
                    items.blocking_recv()
                }
            };
            match item {
                Some(item) => self.item(item)?,
                None => return Ok(()),
            }
        }
    }

    fn item(&mut self, item: OutboxItem) -> io::Result<()> {
        match item {
            OutboxItem::Response(response) => response.write_line(&mut self.out),
            OutboxItem::Event(SubscriptionItem::Event(event)) => self.event(&event),
            OutboxItem::Event(missed) => missed.write_lines(&mut self.out),
            OutboxItem::SetMode(SendMode::Deltas(switch)) => {
                self.deltas = switch;
                Ok(())
            }
            OutboxItem::SetMode(SendMode::Bash { line, id }) => {
                self.user_commands.push(NamedCommand { line, id, started: None });
                Ok(())
            }
            OutboxItem::SetMode(SendMode::BashEnded { id }) => {
                if let Some(at) = self.user_commands.iter().rposition(|bash| bash.id == id) {
                    self.user_commands.remove(at);
                }
                Ok(())
            }
        }
    }

    fn event(&mut self, event: &std::sync::Arc<Event>) -> io::Result<()> {
        if !self.deltas && is_delta(&event.kind) {
            return Ok(());
        }
        match self.find_named_command(&event.kind) {
            None => SubscriptionItem::Event(std::sync::Arc::clone(event)).write_lines(&mut self.out),
            Some((entry, id)) => {
                let Value::Object(event) = serde_json::to_value(event)? else { return Ok(()) };
                serde_json::to_writer(&mut self.out, &NamedEvent { event, id, entry })?;
                self.out.write_all(b"\n")
            }
        }
    }

    /// Returns the entry and the client id of the user command that an event belongs to.
    fn find_named_command(&mut self, event: &EventKind) -> Option<(EntryId, Id)> {
        let entry = match event {
            EventKind::BashExecutionStart { id, command, .. } => {
                let is_unstarted = |bash: &&mut NamedCommand| bash.started.is_none() && bash.line == *command;
                self.user_commands.iter_mut().find(is_unstarted)?.started = Some(id.clone());
                id
            }
            EventKind::BashExecutionUpdate { id, .. } | EventKind::BashExecutionEnd { id, .. } => id,
            _ => return None,
        };
        let bash = self.user_commands.iter().find(|bash| bash.started.as_ref() == Some(entry))?;
        Some((entry.clone(), bash.id.clone()?))
    }
}

/// Returns true for a delta of an answer, in the session or in an agent at any depth.
fn is_delta(event: &EventKind) -> bool {
    match event {
        EventKind::MessageUpdate { .. } => true,
        EventKind::AgentEvent { event, .. } => is_delta(&event.kind),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::event::AssistantDelta;
    use crate::message::Usage;
    use crate::unit::UnixMs;

    fn event_item(kind: EventKind) -> OutboxItem {
        OutboxItem::Event(SubscriptionItem::Event(Arc::new(Event { kind, seq: 1, time: UnixMs(2) })))
    }

    fn write_items(items: Vec<OutboxItem>) -> Vec<Value> {
        let mut writer = LineWriter::new(Vec::new());
        for item in items {
            writer.item(item).unwrap();
        }
        let out = String::from_utf8(writer.out.into_inner().unwrap()).unwrap();
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn start(entry: &str, line: &str) -> OutboxItem {
        event_item(EventKind::BashExecutionStart {
            id: entry.into(),
            command: line.into(),
            exclude_from_context: false,
        })
    }

    fn update(entry: &str) -> OutboxItem {
        event_item(EventKind::BashExecutionUpdate { id: entry.into(), delta: "x".into() })
    }

    #[test]
    fn writer_command_output_has_client_id() {
        let named = |line: &str, id: &str| {
            OutboxItem::SetMode(SendMode::Bash { line: line.into(), id: Some(id.into()) })
        };
        let lines = write_items(vec![
            named("ls", "a"),
            // Refused, because the first one is still running.
            named("ls", "b"),
            start("e1", "ls"),
            OutboxItem::SetMode(SendMode::BashEnded { id: Some("b".into()) }),
            update("e1"),
            OutboxItem::SetMode(SendMode::BashEnded { id: Some("a".into()) }),
            start("e2", "ls"),
            update("e2"),
        ]);
        let ids: Vec<_> = lines.iter().map(|line| (line["id"].clone(), line["entryId"].clone())).collect();
        let tagged = |id: &str, entry: Value| (Value::from(id), entry);
        let entry = Value::from("e1");
        assert_eq!(
            ids,
            [
                tagged("a", entry.clone()),
                tagged("a", entry),
                tagged("e2", Value::Null),
                tagged("e2", Value::Null)
            ]
        );
    }

    #[test]
    fn writer_huge_number_as_id_is_unchanged() {
        let id = Id::from_field(serde_json::from_str("123456789012345678901234567890.10").unwrap());
        let mut writer = LineWriter::new(Vec::new());
        writer.item(OutboxItem::SetMode(SendMode::Bash { line: "ls".into(), id })).unwrap();
        writer.item(start("e1", "ls")).unwrap();
        let out = String::from_utf8(writer.out.into_inner().unwrap()).unwrap();
        assert!(out.contains(r#""id":123456789012345678901234567890.10,"command":"ls""#), "{out}");
    }

    #[test]
    fn writer_deltas_off_skips_message_updates() {
        let update = || {
            event_item(EventKind::MessageUpdate {
                usage: Usage::default(),
                assistant_message_event: AssistantDelta::TextDelta { content_index: 0, delta: "x".into() },
            })
        };
        let deltas = |switch| OutboxItem::SetMode(SendMode::Deltas(switch));
        let lines = write_items(vec![
            update(),
            deltas(false),
            update(),
            event_item(EventKind::AgentSettled),
            deltas(true),
            update(),
        ]);
        let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["message_update", "agent_settled", "message_update"]);
    }
}
