//! Grafts: part of another session's path, after a common entry, as a branch of this session.
//!
//! The entries keep their ids, so that references to them stay valid. Entries about the other session, such
//! as its name, are omitted.

use serde_json::{Map, Value};
use tiller_core::id::EntryId;
use tiller_core::message::Usage;
use tiller_core::unit::UnixMs;

use super::error::SessionError;
use super::reader::Reader;
use super::writer::{AppendedEntry, Writer};

/// Types of the entries that make up a conversation.
const CONVERSATION: &[&str] = &[
    "message",
    "model_change",
    "thinking_level_change",
    "compaction",
    "branch_summary",
    "context_edit",
    "custom_message",
    "usage",
];

/// A branch to graft.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graft {
    lines: Vec<(EntryId, Vec<u8>)>,
}

impl Graft {
    /// Reads the conversation of a session's path after an entry; all of it without one. The graft doesn't have the
    /// usage of the entries up to `counted`, which the other session's totals include already.
    ///
    /// # Errors
    /// If the log can't be read.
    pub fn read(
        from: &Reader,
        after: Option<&EntryId>,
        counted: Option<&EntryId>,
    ) -> Result<Self, SessionError> {
        let Some(leaf) = from.leaf() else { return Ok(Self::default()) };
        let bytes = from.raw_path(&leaf)?;
        let mut lines = Vec::new();
        let mut parent = after.cloned();
        let (mut is_common, mut is_counted) = (after.is_some(), counted.is_some());
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(mut entry) = serde_json::from_slice::<Map<String, Value>>(line) else { continue };
            let Some(id) = entry.get("id").and_then(Value::as_str).map(EntryId::new) else { continue };
            let has_counted_usage = is_counted;
            is_counted &= counted != Some(&id);
            if is_common {
                is_common = after != Some(&id);
                continue;
            }
            let kind = entry.get("type").and_then(Value::as_str).unwrap_or_default();
            if !CONVERSATION.contains(&kind) || (has_counted_usage && kind == "usage") {
                continue;
            }
            if has_counted_usage {
                remove_usage(&mut entry);
            }
            let parent_id = parent.as_ref().map_or(Value::Null, |parent| parent.as_str().into());
            entry.insert("parentId".to_owned(), parent_id);
            let mut line = Value::Object(entry).to_string().into_bytes();
            line.push(b'\n');
            parent = Some(id.clone());
            lines.push((id, line));
        }
        Ok(Self { lines })
    }

    /// Returns the branch's leaf; `None` if it is empty.
    #[must_use]
    pub fn leaf(&self) -> Option<&EntryId> {
        self.lines.last().map(|(id, _)| id)
    }
}

/// Sets the usage of an answer to 0, because other programs expect one, and removes that of a summary.
fn remove_usage(entry: &mut Map<String, Value>) {
    entry.remove("usage");
    if let Some(usage) = entry.get_mut("message").and_then(|message| message.get_mut("usage")) {
        *usage = serde_json::to_value(Usage::default()).unwrap_or_default();
    }
}

impl Writer {
    /// Appends a branch without moving the leaf; returns the entry that restores the leaf.
    ///
    /// # Errors
    /// If it could not be written.
    pub fn graft(&mut self, graft: &Graft, now: UnixMs) -> Result<Vec<AppendedEntry>, SessionError> {
        if graft.lines.is_empty() {
            return Ok(Vec::new());
        }
        self.write_buffered(now)?;
        let leaf = self.reader().leaf();
        self.append_raw_lines(&graft.lines, now)?;
        self.branch(leaf.as_ref(), now)
    }
}
