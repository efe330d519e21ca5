//! Building of entries from a source: derives their ids, and skips those that the session already has.
//!
//! An entry's id is derived from the session, its parent, and its *source key*, which identifies its position
//! in the source. So the same source gives the same entries every time. An entry after a changed one gets
//! another id and becomes a branch; the session's existing entries never change.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use sha2::{Digest, Sha256};
use tiller_core::id::{EntryId, SessionId};
use tiller_core::unit::UnixMs;
use ulid::Ulid;

use super::source_info::SourceInfo;
use crate::entry::{self, Entry, EntryBody};
use crate::error::{SessionError, io_error};

/// The maximum time of a derived id, which leaves room for later ids: the end of the year 9999.
const LATEST_MS: u64 = 253_402_300_799_999;

/// An entry without an id.
pub(super) struct EntryDraft {
    pub(super) parent: Option<EntryId>,
    /// Identifies the position in the source.
    pub(super) source_key: String,
    pub(super) timestamp: UnixMs,
    /// The content. A compaction that keeps no entry has an empty first kept id.
    pub(super) body: EntryBody,
}

impl EntryDraft {
    pub(super) fn new(
        parent: Option<EntryId>,
        source_key: impl Into<String>,
        timestamp: UnixMs,
        body: EntryBody,
    ) -> Self {
        Self { parent, source_key: source_key.into(), timestamp, body }
    }
}

/// A conversion's result.
#[derive(Debug, Default)]
pub(super) struct ConversionEnd {
    /// The entry where the source would continue.
    pub(super) leaf: Option<EntryId>,
    pub(super) name: Option<String>,
}

/// An entry's id and its encoded line.
pub(super) type EncodedLine = (EntryId, Vec<u8>);

pub(super) enum LineOutput<'a> {
    /// Lines are only counted.
    CountOnly,
    /// Lines are written to a file.
    File(&'a mut dyn Write, &'a Path),
    /// Lines are collected, to be appended together.
    Memory(Vec<EncodedLine>),
}

/// The state of the session before the import.
#[derive(Debug, Default)]
pub(super) struct ExistingSession {
    /// Number of entries with each id.
    pub(super) ids: HashMap<EntryId, usize>,
    pub(super) end: SessionEnd,
    pub(super) name: Option<String>,
}

/// The end of the session before the import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum SessionEnd {
    /// The session doesn't exist yet.
    #[default]
    New,
    /// The last import's final entries: the first is the child of `base`, the last one is `last`.
    Imported { base: Option<EntryId>, last: EntryId },
    /// The user has continued the session; this is the leaf.
    Continued { leaf: EntryId },
}

/// Builds entries and writes the new ones.
pub(super) struct EntryBuilder<'a> {
    session: SessionId,
    output: LineOutput<'a>,
    existing: ExistingSession,
    /// The derived ids, each with the last number used for an entry with the same parent, source key and
    /// time.
    derived_ids: HashMap<EntryId, u64>,
    added: usize,
    message_count: usize,
    latest: UnixMs,
}

impl<'a> EntryBuilder<'a> {
    pub(super) fn new(session: &SessionId, existing: ExistingSession, out: LineOutput<'a>) -> Self {
        let derived_ids = HashMap::new();
        Self {
            session: session.clone(),
            output: out,
            existing,
            derived_ids,
            added: 0,
            message_count: 0,
            latest: UnixMs(0),
        }
    }

    /// Number of new entries.
    pub(super) fn added(&self) -> usize {
        self.added
    }

    /// Number of messages and summaries in the source.
    pub(super) fn message_count(&self) -> usize {
        self.message_count
    }

    /// The greatest timestamp so far.
    pub(super) fn latest(&self) -> UnixMs {
        self.latest
    }

    /// The new lines, if they were collected.
    pub(super) fn into_lines(self) -> Vec<EncodedLine> {
        match self.output {
            LineOutput::Memory(lines) => lines,
            LineOutput::CountOnly | LineOutput::File(..) => Vec::new(),
        }
    }

    /// Adds an entry unless the session has it, and returns its id.
    pub(super) fn add(&mut self, draft: EntryDraft) -> Result<EntryId, SessionError> {
        let id = self.derive_id(&draft);
        let EntryDraft { parent, timestamp, mut body, .. } = draft;
        if let EntryBody::Compaction(compaction) = &mut body
            && compaction.first_kept_entry_id.as_str().is_empty()
        {
            compaction.first_kept_entry_id = id.clone();
        }
        self.track(&body, timestamp);
        if self.is_new(&id) {
            let entry = Entry { id: id.clone(), parent: self.graft(parent), timestamp, body };
            self.write(id.clone(), entry::encode(&entry).into_bytes())?;
        }
        Ok(id)
    }

    /// Adds the entries that end an import: the session's name, if it changed, and the import entry. Nothing
    /// is added to a session that the user continued, or for an older copy of the source.
    pub(super) fn finish(&mut self, end: ConversionEnd, import_entry: EntryBody) -> Result<(), SessionError> {
        match &self.existing.end {
            SessionEnd::Continued { .. } => return Ok(()),
            SessionEnd::Imported { base, .. } if self.added == 0 && !self.is_in_source(base.as_ref()) => {
                return Ok(());
            }
            SessionEnd::New | SessionEnd::Imported { .. } => {}
        }
        let ConversionEnd { leaf, name } = end;
        let source_key = format!("end {}", name.as_deref().unwrap_or_default());
        let id = self.derive_id(&EntryDraft::new(leaf.clone(), source_key, self.latest, EntryBody::Unknown));
        let mut parent = self.graft(leaf.clone());
        if let Some(name) = name.filter(|name| self.existing.name.as_ref() != Some(name)) {
            let source_key = format!("name {name}");
            let body = EntryBody::SessionInfo { name: Some(name) };
            parent = Some(self.add(EntryDraft::new(leaf, source_key, self.latest, body))?);
        }
        if self.is_new(&id) {
            let entry = Entry { id: id.clone(), parent, timestamp: self.latest, body: import_entry };
            self.write(id, entry::encode(&entry).into_bytes())?;
        }
        Ok(())
    }

    /// Adds an entry under its own id; `line` is its original line without the newline, if that can be
    /// copied.
    pub(super) fn add_raw(&mut self, entry: Entry, line: Option<&[u8]>) -> Result<(), SessionError> {
        self.track(&entry.body, entry.timestamp);
        if !self.is_new(&entry.id) {
            return Ok(());
        }
        let id = entry.id.clone();
        let line = line.map_or_else(|| entry::encode(&entry).into_bytes(), |line| [line, b"\n"].concat());
        self.write(id, line)
    }

    fn track(&mut self, body: &EntryBody, timestamp: UnixMs) {
        self.latest = self.latest.max(timestamp);
        self.message_count += usize::from(body.creates_file());
    }

    /// Returns true if the session lacks an entry with this id, or one more of several.
    fn is_new(&mut self, id: &EntryId) -> bool {
        match self.existing.ids.get_mut(id) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            Some(_) | None => true,
        }
    }

    /// Returns true if the source contained this entry of the session.
    fn is_in_source(&self, id: Option<&EntryId>) -> bool {
        id.is_none_or(|id| self.existing.ids.get(id) == Some(&0))
    }

    /// Returns the parent for a new entry. A child of the last import's base becomes a child of that import's
    /// last entry, so that the final entries don't form a branch.
    pub(super) fn graft(&self, parent: Option<EntryId>) -> Option<EntryId> {
        match &self.existing.end {
            SessionEnd::Imported { base, last } if *base == parent => Some(last.clone()),
            SessionEnd::New | SessionEnd::Imported { .. } | SessionEnd::Continued { .. } => parent,
        }
    }

    fn write(&mut self, id: EntryId, line: Vec<u8>) -> Result<(), SessionError> {
        self.added += 1;
        match &mut self.output {
            LineOutput::CountOnly => Ok(()),
            LineOutput::File(file, path) => file.write_all(&line).map_err(io_error(path, "be written")),
            LineOutput::Memory(lines) => {
                lines.push((id, line));
                Ok(())
            }
        }
    }

    fn derive_id(&mut self, draft: &EntryDraft) -> EntryId {
        let id = self.numbered_id(draft, 0);
        let Some(&after) = self.derived_ids.get(&id) else {
            self.derived_ids.insert(id.clone(), 0);
            return id;
        };
        // Start at the last number used: a damaged log may repeat a line thousands of times.
        for repeat in after + 1.. {
            let other = self.numbered_id(draft, repeat);
            if !self.derived_ids.contains_key(&other) {
                self.derived_ids.insert(id, repeat);
                self.derived_ids.insert(other.clone(), 0);
                return other;
            }
        }
        unreachable!("fewer than 2^64 entries have the same parent and source key")
    }

    fn numbered_id(&self, draft: &EntryDraft, repeat: u64) -> EntryId {
        let repeat = if repeat == 0 { String::new() } else { repeat.to_string() };
        let parent = draft.parent.as_ref().map_or("", EntryId::as_str);
        EntryId::new(derived_ulid(
            draft.timestamp,
            &[self.session.as_str(), parent, &draft.source_key, &repeat],
        ))
    }
}

/// Derives the id of a source's session.
pub(super) fn session_id(info: &SourceInfo) -> SessionId {
    SessionId::new(derived_ulid(info.start, &[info.origin.name(), &info.session]))
}

/// Returns a ULID of this time, with a digest of `parts` as its random part.
fn derived_ulid(time: UnixMs, parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    let random =
        digest.finalize().iter().take(10).fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    Ulid::from_parts(u64::try_from(time.0).unwrap_or(0).min(LATEST_MS), random).to_string()
}
