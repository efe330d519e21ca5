//! Makes entries of what a source says: derives their ids, and passes over those that the session has already.
//!
//! An entry's id comes from the session, the entry it follows, and its *mark*, which names the place in the source that
//! it was made from. So the same source makes the same entries every time, and what follows something that has changed
//! since is another entry: it becomes a branch, and nothing in the session has to be altered.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use sha2::{Digest, Sha256};
use tiller_core::id::{EntryId, SessionId};
use tiller_core::unit::UnixMs;
use ulid::Ulid;

use super::{About, End};
use crate::entry::{self, Entry, EntryBody};
use crate::error::SessionError;
use crate::log::io_error;

/// The latest moment that an id can hold without using up the room for those made after it: the year 9999.
const LATEST_MS: u64 = 253_402_300_799_999;

/// An entry that has no id yet.
pub(super) struct Draft {
    pub(super) parent: Option<EntryId>,
    /// Names the place in the source.
    pub(super) mark: String,
    pub(super) timestamp: UnixMs,
    /// A compaction that keeps nothing names `""` as the first entry it keeps.
    pub(super) body: EntryBody,
}

impl Draft {
    pub(super) fn new(
        parent: Option<EntryId>,
        mark: impl Into<String>,
        timestamp: UnixMs,
        body: EntryBody,
    ) -> Self {
        Self { parent, mark: mark.into(), timestamp, body }
    }
}

/// A line of a session that is written as it stands.
pub(super) type Written = (EntryId, Vec<u8>);

/// Where new lines go.
pub(super) enum Out<'a> {
    /// Nowhere; they are only counted.
    Counted,
    /// Into a file, one after the other.
    File(&'a mut dyn Write, &'a Path),
    /// Into memory, to be appended together.
    Kept(Vec<Written>),
}

/// What is in the session already.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// How many entries go by each id.
    pub(super) ids: HashMap<EntryId, usize>,
    pub(super) tip: Tip,
    pub(super) name: Option<String>,
}

/// How the session ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Tip {
    /// There is no session yet.
    #[default]
    New,
    /// With the facts of the last import, the first of which follows `base` and the last of which is `last`.
    Imported { base: Option<EntryId>, last: EntryId },
    /// Somebody has gone on with it since; this was the leaf.
    GoneOn { leaf: EntryId },
}

/// Takes what a source says and makes entries of it.
pub(super) struct Sink<'a> {
    session: SessionId,
    out: Out<'a>,
    known: Known,
    /// The entries made, each with how many of the same parent, mark and moment came after it.
    made: HashMap<EntryId, u64>,
    added: usize,
    said: usize,
    latest: UnixMs,
}

impl<'a> Sink<'a> {
    pub(super) fn new(session: &SessionId, known: Known, out: Out<'a>) -> Self {
        let made = HashMap::new();
        Self { session: session.clone(), out, known, made, added: 0, said: 0, latest: UnixMs(0) }
    }

    /// How many entries the session didn't have.
    pub(super) fn added(&self) -> usize {
        self.added
    }

    /// How many messages and summaries the source has.
    pub(super) fn said(&self) -> usize {
        self.said
    }

    /// The moment of the newest entry; the end of the conversation, as far as is known.
    pub(super) fn latest(&self) -> UnixMs {
        self.latest
    }

    /// The new lines, if they were kept.
    pub(super) fn into_lines(self) -> Vec<Written> {
        match self.out {
            Out::Kept(lines) => lines,
            Out::Counted | Out::File(..) => Vec::new(),
        }
    }

    /// Takes an entry, unless the session has it, and answers with its id.
    pub(super) fn put(&mut self, draft: Draft) -> Result<EntryId, SessionError> {
        let id = self.derive(&draft);
        let Draft { parent, timestamp, mut body, .. } = draft;
        if let EntryBody::Compaction(compaction) = &mut body
            && compaction.first_kept_entry_id.as_str().is_empty()
        {
            compaction.first_kept_entry_id = id.clone();
        }
        self.note(&body, timestamp);
        if self.is_new(&id) {
            let entry = Entry { id: id.clone(), parent: self.grafted(parent), timestamp, body };
            self.write(id.clone(), entry::encode(&entry).into_bytes())?;
        }
        Ok(id)
    }

    /// Ends the import: the session's name, if it has got another one, and the fact that says where it is from. A session
    /// that somebody has gone on with keeps its own, and an older copy of the source has nothing to say of the end.
    pub(super) fn finish(&mut self, end: End, fact: EntryBody) -> Result<(), SessionError> {
        match &self.known.tip {
            Tip::GoneOn { .. } => return Ok(()),
            Tip::Imported { base, .. } if self.added == 0 && !self.has_come_by(base.as_ref()) => {
                return Ok(());
            }
            Tip::New | Tip::Imported { .. } => {}
        }
        let End { leaf, name } = end;
        let mark = format!("end {}", name.as_deref().unwrap_or_default());
        let id = self.derive(&Draft::new(leaf.clone(), mark, self.latest, EntryBody::Unknown));
        let mut parent = self.grafted(leaf.clone());
        if let Some(name) = name.filter(|name| self.known.name.as_ref() != Some(name)) {
            let mark = format!("name {name}");
            let body = EntryBody::SessionInfo { name: Some(name) };
            parent = Some(self.put(Draft::new(leaf, mark, self.latest, body))?);
        }
        if self.is_new(&id) {
            let entry = Entry { id: id.clone(), parent, timestamp: self.latest, body: fact };
            self.write(id, entry::encode(&entry).into_bytes())?;
        }
        Ok(())
    }

    /// Takes an entry as it is: its id, and its line without the newline if that is to be kept.
    pub(super) fn put_as_is(&mut self, entry: Entry, line: Option<&[u8]>) -> Result<(), SessionError> {
        self.note(&entry.body, entry.timestamp);
        if !self.is_new(&entry.id) {
            return Ok(());
        }
        let id = entry.id.clone();
        let line = line.map_or_else(|| entry::encode(&entry).into_bytes(), |line| [line, b"\n"].concat());
        self.write(id, line)
    }

    fn note(&mut self, body: &EntryBody, timestamp: UnixMs) {
        self.latest = self.latest.max(timestamp);
        self.said += usize::from(body.creates_the_file());
    }

    /// Whether the session lacks one more entry of that id.
    fn is_new(&mut self, id: &EntryId) -> bool {
        match self.known.ids.get_mut(id) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            Some(_) | None => true,
        }
    }

    /// Whether the source has this entry of the session.
    fn has_come_by(&self, id: Option<&EntryId>) -> bool {
        id.is_none_or(|id| self.known.ids.get(id) == Some(&0))
    }

    /// What follows the end of the last import follows its facts too, so that they make no branch of their own.
    pub(super) fn grafted(&self, parent: Option<EntryId>) -> Option<EntryId> {
        match &self.known.tip {
            Tip::Imported { base, last } if *base == parent => Some(last.clone()),
            Tip::New | Tip::Imported { .. } | Tip::GoneOn { .. } => parent,
        }
    }

    fn write(&mut self, id: EntryId, line: Vec<u8>) -> Result<(), SessionError> {
        self.added += 1;
        match &mut self.out {
            Out::Counted => Ok(()),
            Out::File(file, path) => file.write_all(&line).map_err(io_error(path, "be written")),
            Out::Kept(lines) => {
                lines.push((id, line));
                Ok(())
            }
        }
    }

    fn derive(&mut self, draft: &Draft) -> EntryId {
        let id = self.numbered(draft, 0);
        let Some(&after) = self.made.get(&id) else {
            self.made.insert(id.clone(), 0);
            return id;
        };
        // Goes on where the last one ended: a damaged log may say the same thing thousands of times.
        for again in after + 1.. {
            let other = self.numbered(draft, again);
            if !self.made.contains_key(&other) {
                self.made.insert(id, again);
                self.made.insert(other.clone(), 0);
                return other;
            }
        }
        unreachable!("fewer than 2^64 entries have the same parent and mark")
    }

    fn numbered(&self, draft: &Draft, again: u64) -> EntryId {
        let again = if again == 0 { String::new() } else { again.to_string() };
        let parent = draft.parent.as_ref().map_or("", EntryId::as_str);
        EntryId::new(derived(draft.timestamp, &[self.session.as_str(), parent, &draft.mark, &again]))
    }
}

/// The id of the session that a source becomes.
pub(super) fn session_id(about: &About) -> SessionId {
    SessionId::new(derived(about.start, &[about.origin.name(), &about.session]))
}

/// A ULID of that moment whose random part is a digest of `parts`.
fn derived(moment: UnixMs, parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    let random =
        digest.finalize().iter().take(10).fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    Ulid::from_parts(u64::try_from(moment.0).unwrap_or(0).min(LATEST_MS), random).to_string()
}
