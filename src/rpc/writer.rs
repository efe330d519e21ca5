//! Writes lines: answers, and events in the manner the client asked for.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::id::Id;
use super::outbox::{OutboxItem, SendMode};
use crate::agent::Received;
use crate::event::{Event, EventKind};
use crate::id::EntryId;

/// Who writes.
pub(super) struct LineWriter<Out: Write> {
    out: io::BufWriter<Out>,
    deltas: bool,
    bashes: Vec<BashNotice>,
}

/// A command of the user's own that the client knows by an id.
struct BashNotice {
    line: String,
    id: Option<Id>,
    /// The entry that says it began, once it has.
    begun: Option<EntryId>,
}

/// An event of a command that the client named.
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
        Self { out: io::BufWriter::new(out), deltas: true, bashes: Vec::new() }
    }

    /// Writes until nothing more can come. What is written is read as it happens: nothing stays in the buffer while nothing
    /// follows.
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
            OutboxItem::Answer(answer) => answer.write_line(&mut self.out),
            OutboxItem::Heard(Received::Event(event)) => self.event(&event),
            OutboxItem::Heard(missed) => missed.write_lines(&mut self.out),
            OutboxItem::Manner(SendMode::Deltas(switch)) => {
                self.deltas = switch;
                Ok(())
            }
            OutboxItem::Manner(SendMode::Bash { line, id }) => {
                self.bashes.push(BashNotice { line, id, begun: None });
                Ok(())
            }
            OutboxItem::Manner(SendMode::BashOver { id }) => {
                if let Some(at) = self.bashes.iter().rposition(|bash| bash.id == id) {
                    self.bashes.remove(at);
                }
                Ok(())
            }
        }
    }

    fn event(&mut self, event: &std::sync::Arc<Event>) -> io::Result<()> {
        if !self.deltas && matches!(event.kind, EventKind::MessageUpdate { .. }) {
            return Ok(());
        }
        match self.name_of(&event.kind) {
            None => Received::Event(std::sync::Arc::clone(event)).write_lines(&mut self.out),
            Some((entry, id)) => {
                let Value::Object(event) = serde_json::to_value(event)? else { return Ok(()) };
                serde_json::to_writer(&mut self.out, &NamedEvent { event, id, entry })?;
                self.out.write_all(b"\n")
            }
        }
    }

    /// What the client calls the command of its own that an event tells of, if it named it.
    fn name_of(&mut self, event: &EventKind) -> Option<(EntryId, Id)> {
        let entry = match event {
            EventKind::BashExecutionStart { id, command, .. } => {
                let waits = |bash: &&mut BashNotice| bash.begun.is_none() && bash.line == *command;
                self.bashes.iter_mut().find(waits)?.begun = Some(id.clone());
                id
            }
            EventKind::BashExecutionUpdate { id, .. } | EventKind::BashExecutionEnd { id, .. } => id,
            _ => return None,
        };
        let bash = self.bashes.iter().find(|bash| bash.begun.as_ref() == Some(entry))?;
        Some((entry.clone(), bash.id.clone()?))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::event::AssistantDelta;
    use crate::message::Usage;
    use crate::unit::UnixMs;

    fn heard(kind: EventKind) -> OutboxItem {
        OutboxItem::Heard(Received::Event(Arc::new(Event { kind, seq: 1, time: UnixMs(2) })))
    }

    fn written(items: Vec<OutboxItem>) -> Vec<Value> {
        let mut scribe = LineWriter::new(Vec::new());
        for item in items {
            scribe.item(item).unwrap();
        }
        let out = String::from_utf8(scribe.out.into_inner().unwrap()).unwrap();
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn start(entry: &str, line: &str) -> OutboxItem {
        heard(EventKind::BashExecutionStart {
            id: entry.into(),
            command: line.into(),
            exclude_from_context: false,
        })
    }

    fn update(entry: &str) -> OutboxItem {
        heard(EventKind::BashExecutionUpdate { id: entry.into(), delta: "x".into() })
    }

    #[test]
    fn output_of_a_command_bears_the_id_that_the_client_gave_it() {
        let named = |line: &str, id: &str| {
            OutboxItem::Manner(SendMode::Bash { line: line.into(), id: Some(id.into()) })
        };
        let lines = written(vec![
            named("ls", "a"),
            // Refused, because the first one runs.
            named("ls", "b"),
            start("e1", "ls"),
            OutboxItem::Manner(SendMode::BashOver { id: Some("b".into()) }),
            update("e1"),
            OutboxItem::Manner(SendMode::BashOver { id: Some("a".into()) }),
            start("e2", "ls"),
            update("e2"),
        ]);
        let ids: Vec<_> = lines.iter().map(|line| (line["id"].clone(), line["entryId"].clone())).collect();
        let by = |id: &str, entry: Value| (Value::from(id), entry);
        let entry = Value::from("e1");
        assert_eq!(
            ids,
            [by("a", entry.clone()), by("a", entry), by("e2", Value::Null), by("e2", Value::Null)]
        );
    }

    #[test]
    fn an_id_that_is_a_huge_number_comes_back_to_the_letter() {
        let given = Id::of(serde_json::from_str("123456789012345678901234567890.10").unwrap());
        let mut scribe = LineWriter::new(Vec::new());
        scribe.item(OutboxItem::Manner(SendMode::Bash { line: "ls".into(), id: given })).unwrap();
        scribe.item(start("e1", "ls")).unwrap();
        let out = String::from_utf8(scribe.out.into_inner().unwrap()).unwrap();
        assert!(out.contains(r#""id":123456789012345678901234567890.10,"command":"ls""#), "{out}");
    }

    #[test]
    fn pieces_of_an_answer_can_be_left_out() {
        let piece = || {
            heard(EventKind::MessageUpdate {
                usage: Usage::default(),
                assistant_message_event: AssistantDelta::TextDelta { content_index: 0, delta: "x".into() },
            })
        };
        let deltas = |switch| OutboxItem::Manner(SendMode::Deltas(switch));
        let lines = written(vec![
            piece(),
            deltas(false),
            piece(),
            heard(EventKind::AgentSettled),
            deltas(true),
            piece(),
        ]);
        let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["message_update", "agent_settled", "message_update"]);
    }
}
