//! Migration of versions 1 and 2 of the log to version 3, in memory only: the file is unchanged.
//!
//! Version 1 is a list without ids, whose compactions refer to the first kept entry by its index in the file.
//! Version 2 has the tree, but its name for the role `custom` is `hookMessage`. An entry without an id gets
//! one derived from the session's id and its line number, so it is the same at every opening.

use std::fmt::Write;
use std::ops::Range;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::entry::Header;
use super::index::IndexEntry;
use super::line_scan::is_json;
use super::lines::LogLine;
use super::lossy::repair_text;

/// Bytes of the digest that form an id: enough to be unique within a session.
const ID_BYTES: usize = 8;

/// Migrates a log of an older version line by line.
pub(super) struct Migration {
    version: u64,
    session: String,
    /// The migrated lines so far.
    lines: Vec<u8>,
    /// Range of the last line in `lines`.
    last: Range<usize>,
    /// Version 1 only: the ids of the readable lines, in order; `None` for the header.
    ids: Vec<Option<String>>,
}

impl Migration {
    /// Returns the migration for a log with this header, if it needs one. `read_beginning` returns the bytes
    /// before the first line.
    pub(super) fn for_header(header: &Header, read_beginning: impl FnOnce() -> Vec<u8>) -> Option<Self> {
        let version = header.version;
        let session = header.id.to_string();
        (version < super::entry::VERSION).then(|| Self {
            version,
            session,
            lines: read_beginning(),
            last: 0..0,
            ids: vec![None],
        })
    }

    pub(super) fn migrate_line(&mut self, line: &LogLine<'_>) {
        let start = self.lines.len();
        match self.converted(line) {
            Some(text) => self.lines.extend(text.into_bytes()),
            None => self.lines.extend(line.bytes),
        }
        self.last = start..self.lines.len();
        if line.closed {
            self.lines.push(b'\n');
        }
    }

    /// Returns the last line in its migrated form.
    pub(super) fn last_line(&self, line: &LogLine<'_>) -> LogLine<'_> {
        let LogLine { number, offset, closed, .. } = *line;
        LogLine {
            bytes: &self.lines[self.last.clone()],
            stored: self.last.start as u64,
            number,
            offset,
            closed,
        }
    }

    /// Returns true if the migrated line of an entry is complete JSON.
    pub(super) fn is_complete_json(&self, entry: &IndexEntry) -> bool {
        let start = usize::try_from(entry.stored).unwrap_or(usize::MAX);
        self.lines.get(start..start.saturating_add(entry.length)).is_some_and(is_json)
    }

    /// Frees the lines so far, for a caller that handles them one by one.
    pub(super) fn clear_lines(&mut self) {
        self.lines.clear();
        self.last = 0..0;
    }

    /// Returns the log as version 3.
    pub(super) fn finish(self) -> Vec<u8> {
        self.lines
    }

    /// Converts a line; `None` if it needs no change or can't be read.
    fn converted(&mut self, line: &LogLine<'_>) -> Option<String> {
        let has_hook_message = memchr::memmem::find(line.bytes, b"hookMessage").is_some();
        if self.version > 1 && !has_hook_message {
            return None;
        }
        let mut entry = parse_object(line.bytes)?;
        if let Some(role) = entry.get_mut("message").and_then(|message| message.get_mut("role"))
            && role == "hookMessage"
        {
            *role = "custom".into();
        }
        if self.version <= 1 {
            entry = self.with_id_and_parent(entry, line.number);
        }
        serde_json::to_string(&entry).ok()
    }

    /// Adds an id to an entry, and the entry before it as its parent.
    fn with_id_and_parent(&mut self, mut entry: Map<String, Value>, line: u64) -> Map<String, Value> {
        let id = match entry.shift_remove("id") {
            Some(Value::String(id)) => id,
            Some(_) | None => self.derived_id(line),
        };
        let parent = self.ids.last().cloned().flatten();
        let mut linked = Map::new();
        if let Some(kind) = entry.shift_remove("type") {
            linked.insert("type".into(), kind);
        }
        linked.insert("id".into(), id.clone().into());
        linked.insert("parentId".into(), parent.map_or(Value::Null, Value::from));
        if let Some(index) = entry.shift_remove("firstKeptEntryIndex") {
            let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
            let first_kept = index.and_then(|index| self.ids.get(index).cloned().flatten());
            // An index without an entry becomes an unknown id: nothing is kept, and verification reports it.
            let missing = || index.map_or("entry ?".to_owned(), |index| format!("entry {index}"));
            linked.insert("firstKeptEntryId".into(), first_kept.unwrap_or_else(missing).into());
        }
        linked.extend(entry.into_iter().filter(|(key, _)| key != "parentId"));
        self.ids.push(Some(id));
        linked
    }

    fn derived_id(&self, line: u64) -> String {
        let digest = Sha256::digest(format!("{}\n{line}", self.session));
        digest.iter().take(ID_BYTES).fold(String::new(), |mut id, byte| {
            let _ = write!(id, "{byte:02x}");
            id
        })
    }
}

fn parse_object(line: &[u8]) -> Option<Map<String, Value>> {
    let parse = |bytes: &[u8]| serde_json::from_slice::<Map<String, Value>>(bytes).ok();
    parse(line).or_else(|| parse(repair_text(line)?.as_bytes()))
}
