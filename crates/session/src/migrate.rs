//! Versions 1 and 2 of the log, read as version 3. In memory only: the file stays as it is.
//!
//! Version 1 is a list without ids, whose compactions name what they keep by its place in the file; version 2 has the tree, but calls the role
//! `custom` `hookMessage`. An entry without an id gets one made from the session's id and its line, so it is the same at every opening.

use std::fmt::Write;
use std::ops::Range;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::entry::Header;
use super::index::{Indexed, is_json};
use super::lines::Line;
use super::lossy::repaired;

/// Bytes of the digest that make an id: enough that no two of a session's entries share one.
const ID_BYTES: usize = 8;

/// A log of an older version on its way to the present one, line by line.
pub(super) struct Migration {
    version: u64,
    session: String,
    /// The lines so far, as version 3 has them.
    lines: Vec<u8>,
    /// Where the last of them is.
    last: Range<usize>,
    /// Of version 1: the ids of the readable lines in their order, the header's place among them.
    ids: Vec<Option<String>>,
}

impl Migration {
    /// A migration of the log with this header, if it needs one. `begin` is what the lines are put behind.
    pub(super) fn of(header: &Header, begin: impl FnOnce() -> Vec<u8>) -> Option<Self> {
        let version = header.version;
        let session = header.id.to_string();
        (version < super::entry::VERSION).then(|| Self {
            version,
            session,
            lines: begin(),
            last: 0..0,
            ids: vec![None],
        })
    }

    /// Takes the next line over.
    pub(super) fn take(&mut self, line: &Line<'_>) {
        let start = self.lines.len();
        match self.migrated(line) {
            Some(text) => self.lines.extend(text.into_bytes()),
            None => self.lines.extend(line.bytes),
        }
        self.last = start..self.lines.len();
        if line.closed {
            self.lines.push(b'\n');
        }
    }

    /// The line that was taken over last, as it is now.
    pub(super) fn line(&self, taken: &Line<'_>) -> Line<'_> {
        let Line { number, offset, closed, .. } = *taken;
        Line { bytes: &self.lines[self.last.clone()], stored: self.last.start as u64, number, offset, closed }
    }

    /// Whether an entry's line is JSON to its end, as it was taken over.
    pub(super) fn is_whole(&self, entry: &Indexed) -> bool {
        let start = usize::try_from(entry.stored).unwrap_or(usize::MAX);
        self.lines.get(start..start.saturating_add(entry.length)).is_some_and(is_json)
    }

    /// Lets go of the lines so far, for whoever only looks at them one by one.
    pub(super) fn forget_lines(&mut self) {
        self.lines.clear();
        self.last = 0..0;
    }

    /// The log of version 3.
    pub(super) fn finish(self) -> Vec<u8> {
        self.lines
    }

    /// The line as version 3 has it; `None` if that is how it stands, or it can't be read.
    fn migrated(&mut self, line: &Line<'_>) -> Option<String> {
        let spells_differently = memchr::memmem::find(line.bytes, b"hookMessage").is_some();
        if self.version > 1 && !spells_differently {
            return None;
        }
        let mut entry = object(line.bytes)?;
        if let Some(role) = entry.get_mut("message").and_then(|message| message.get_mut("role"))
            && role == "hookMessage"
        {
            *role = "custom".into();
        }
        if self.version <= 1 {
            entry = self.placed(entry, line.number);
        }
        serde_json::to_string(&entry).ok()
    }

    /// The entry with its id, behind the one before it.
    fn placed(&mut self, mut entry: Map<String, Value>, line: u64) -> Map<String, Value> {
        let id = match entry.shift_remove("id") {
            Some(Value::String(id)) => id,
            Some(_) | None => self.id_of(line),
        };
        let parent = self.ids.last().cloned().flatten();
        let mut placed = Map::new();
        if let Some(kind) = entry.shift_remove("type") {
            placed.insert("type".into(), kind);
        }
        placed.insert("id".into(), id.clone().into());
        placed.insert("parentId".into(), parent.map_or(Value::Null, Value::from));
        if let Some(index) = entry.shift_remove("firstKeptEntryIndex") {
            let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
            let kept = index.and_then(|index| self.ids.get(index).cloned().flatten());
            // A number that leads nowhere becomes an id that does so too: nothing is kept, and a check can tell.
            let astray = || index.map_or("entry ?".to_owned(), |index| format!("entry {index}"));
            placed.insert("firstKeptEntryId".into(), kept.unwrap_or_else(astray).into());
        }
        placed.extend(entry.into_iter().filter(|(key, _)| key != "parentId"));
        self.ids.push(Some(id));
        placed
    }

    fn id_of(&self, line: u64) -> String {
        let digest = Sha256::digest(format!("{}\n{line}", self.session));
        digest.iter().take(ID_BYTES).fold(String::new(), |mut id, byte| {
            let _ = write!(id, "{byte:02x}");
            id
        })
    }
}

fn object(line: &[u8]) -> Option<Map<String, Value>> {
    let parse = |bytes: &[u8]| serde_json::from_slice::<Map<String, Value>>(bytes).ok();
    parse(line).or_else(|| parse(repaired(line)?.as_bytes()))
}
