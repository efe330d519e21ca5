//! Grafts: part of another session's path, after a common entry, as a branch of this session.
//!
//! The entries keep their ids, so that references to them stay valid. Entries about the other session, such
//! as its name, are omitted.

use serde_json::{Map, Value};
use tiller_core::id::EntryId;
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graft {
    lines: Vec<(EntryId, Vec<u8>)>,
}

impl Graft {
    /// Reads the conversation of a session's path after an entry, or the entire conversation if `after` is
    /// `None`.
    ///
    /// # Errors
    /// If the log can't be read.
    pub fn read(from: &Reader, after: Option<&EntryId>) -> Result<Self, SessionError> {
        let Some(leaf) = from.leaf() else { return Ok(Self { lines: Vec::new() }) };
        let bytes = from.raw_path(&leaf)?;
        let mut lines = Vec::new();
        let mut parent = after.cloned();
        let mut is_common = after.is_some();
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(mut entry) = serde_json::from_slice::<Map<String, Value>>(line) else { continue };
            let Some(id) = entry.get("id").and_then(Value::as_str).map(EntryId::new) else { continue };
            if is_common {
                is_common = after != Some(&id);
                continue;
            }
            let kind = entry.get("type").and_then(Value::as_str).unwrap_or_default();
            if !CONVERSATION.contains(&kind) {
                continue;
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
