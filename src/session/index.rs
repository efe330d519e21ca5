//! Where every entry of a log lies and what it follows: offsets and links, no bodies.
//!
//! Built by one pass over the lines and extended by every append. A line costs an error only itself: what can't be read is
//! named in the findings, and the tree goes on around it.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use serde::de::IgnoredAny;

use super::error::SessionError;
use super::head::{Head, Role};
use super::lines::Line;
use super::mint;
use crate::id::EntryId;
use crate::message::Usage;
use crate::unit::UnixMs;

/// Something about a log that isn't as it should be.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The line, from 1.
    pub line: u64,
    /// Byte offset of the line's beginning.
    pub byte: u64,
    /// What is wrong.
    pub what: String,
}

/// Kinds of entry, as far as a line's head tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the entry types")]
pub enum EntryKind {
    Message,
    ModelChange,
    ThinkingLevelChange,
    Compaction,
    BranchSummary,
    ContextEdit,
    Custom,
    CustomMessage,
    Label,
    SessionInfo,
    Usage,
    Unknown,
}

impl EntryKind {
    pub(super) fn parse(name: &str) -> Self {
        match name {
            "message" => Self::Message,
            "model_change" => Self::ModelChange,
            "thinking_level_change" => Self::ThinkingLevelChange,
            "compaction" => Self::Compaction,
            "branch_summary" => Self::BranchSummary,
            "context_edit" => Self::ContextEdit,
            "custom" => Self::Custom,
            "custom_message" => Self::CustomMessage,
            "label" => Self::Label,
            "session_info" => Self::SessionInfo,
            "usage" => Self::Usage,
            _ => Self::Unknown,
        }
    }
}

/// One entry's place.
#[derive(Clone, Debug)]
pub(super) struct Indexed {
    pub(super) id: EntryId,
    pub(super) parent: Option<u32>,
    pub(super) kind: EntryKind,
    pub(super) role: Option<Role>,
    pub(super) timestamp: UnixMs,
    pub(super) line: u64,
    /// Where the file has it.
    pub(super) offset: u64,
    /// Where it is read from: the same, but for a log that was migrated.
    pub(super) stored: u64,
    pub(super) length: usize,
}

impl Indexed {
    pub(super) fn parent(&self) -> Option<usize> {
        self.parent.map(|parent| parent as usize)
    }

    /// Where the line's newline is read from.
    fn end(&self) -> u64 {
        self.stored + self.length as u64
    }
}

/// Unreadable lines in a row that are named one by one.
const LONGEST_RUN: u64 = 100;

/// A finding, and how many lines directly after it are not readable either.
#[derive(Debug)]
struct Found {
    finding: Finding,
    more: u64,
}

impl Found {
    fn told(&self) -> Finding {
        let mut finding = self.finding.clone();
        if self.more > 0 {
            finding.what += &format!("; so are the {} lines after it", self.more);
        }
        finding
    }
}

/// Where an id leads. The hash is kept so that the table grows without looking at the ids again.
#[derive(Clone, Copy, Debug)]
struct Place {
    hash: u64,
    position: u32,
}

impl Place {
    fn at(&self) -> usize {
        self.position as usize
    }
}

/// All entries of a log in the order of their lines.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: Vec<Indexed>,
    /// Positions by id; of entries with the same id the last one's.
    by_id: HashTable<Place>,
    hasher: DefaultHashBuilder,
    /// Positions of the entries with facts of tiller's own that are looked for later.
    own: Vec<u32>,
    /// What all entries cost.
    usage: Usage,
    findings: Vec<Found>,
    /// How many lines directly before this one could not be read.
    gap: u64,
    lines: u64,
}

impl Index {
    pub(super) fn entries(&self) -> &[Indexed] {
        &self.entries
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        self.findings.iter().map(Found::told).collect()
    }

    pub(super) fn own(&self) -> &[u32] {
        &self.own
    }

    pub(super) fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Lines seen, the header's among them.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    pub(super) fn position(&self, id: &str) -> Option<usize> {
        // Nearly always it is the entry that was written last.
        if self.entries.last().is_some_and(|last| last.id.as_str() == id) {
            return Some(self.entries.len() - 1);
        }
        let hash = self.hasher.hash_one(id);
        let same = |place: &Place| place.hash == hash && self.entries[place.at()].id.as_str() == id;
        self.by_id.find(hash, same).map(Place::at)
    }

    /// The newest ULID, after which new ones are minted.
    pub(super) fn greatest_id(&self) -> Option<&EntryId> {
        // From the newest on hardly any other one is greater, and only those have to be looked into.
        self.entries.iter().rev().map(|entry| &entry.id).fold(None, |greatest: Option<&EntryId>, id| {
            let is_greater = greatest.is_none_or(|greatest| id > greatest) && mint::can_go_on_after(id);
            if is_greater { Some(id) } else { greatest }
        })
    }

    /// Bytes of the entry's line without its newline, and of the lines between it and its parent if no entry is in them.
    pub(super) fn span_with_gap(&self, at: usize) -> Range<u64> {
        let entry = &self.entries[at];
        let parent = entry.parent().filter(|parent| parent + 1 == at).map(|parent| &self.entries[parent]);
        let start = parent.map_or(entry.stored, |parent| parent.end() + 1);
        start..entry.end()
    }

    /// Positions from the root to the entry with this id.
    pub(super) fn path_to(&self, leaf: &EntryId) -> Result<Vec<usize>, SessionError> {
        let position = self.position(leaf.as_str()).ok_or_else(|| SessionError::NoEntry(leaf.clone()))?;
        Ok(self.path(position))
    }

    /// Positions from the root to `leaf`.
    pub(super) fn path(&self, leaf: usize) -> Vec<usize> {
        let mut path: Vec<usize> =
            std::iter::successors(Some(leaf), |&at| self.entries.get(at).and_then(Indexed::parent)).collect();
        path.reverse();
        path
    }

    /// Takes the header's line, which is no entry.
    pub(super) fn pass_header(&mut self) {
        self.lines += 1;
    }

    /// Takes the next line: an entry, or a finding. Blank lines are neither. `is_whole` is asked, rarely, whether an entry's line is
    /// JSON to its end.
    pub(super) fn take(&mut self, line: &Line<'_>, is_whole: impl Fn(&Indexed) -> bool) {
        self.lines = line.number;
        let bytes = line.bytes.trim_ascii();
        if bytes.is_empty() {
            return;
        }
        match Head::parse(bytes) {
            // The end of a line that nobody closed may be missing; then its head alone proves nothing.
            Ok(_) if !line.closed && !is_json(bytes) => self.pass_over(line, "torn: it ends in the middle"),
            Ok(head) => self.take_head(head, line, is_whole),
            Err(error) if line.closed => self.pass_over(line, &format!("not readable ({error})")),
            Err(error) => self.pass_over(line, &format!("torn: it ends in the middle ({error})")),
        }
    }

    /// Names a line that can't be read. Of many in a row the rest is counted: a file full of them must not fill the memory.
    fn pass_over(&mut self, line: &Line<'_>, what: &str) {
        self.gap += 1;
        if self.gap <= LONGEST_RUN {
            self.find(line, format!("{what}; the line is kept and passed over"));
        } else if let Some(last) = self.findings.last_mut() {
            last.more += 1;
        }
    }

    fn take_head(&mut self, head: Head<'_>, line: &Line<'_>, is_whole: impl Fn(&Indexed) -> bool) {
        let parent = head.parent.as_deref().and_then(|parent| self.parent_position(parent, line, is_whole));
        let position = u32::try_from(self.entries.len()).expect("a log has fewer than 2^32 entries");
        self.entries.push(Indexed {
            id: EntryId::new(&head.id),
            parent,
            kind: head.kind,
            role: head.role,
            timestamp: head.timestamp,
            line: line.number,
            offset: line.offset,
            stored: line.stored,
            length: line.bytes.len(),
        });
        if self.name(position) {
            self.find(line, format!("the id {} stands for an earlier entry too", head.id));
        }
        if head.own {
            self.own.push(position);
        }
        if let Some(usage) = &head.usage {
            self.usage.add(usage);
        }
        self.gap = 0;
    }

    /// Lets the id of the entry at `position` mean that one; answers whether it meant another.
    fn name(&mut self, position: u32) -> bool {
        let Self { entries, by_id, hasher, .. } = self;
        let id = entries[position as usize].id.as_str();
        let place = Place { hash: hasher.hash_one(id), position };
        let same = |other: &Place| other.hash == place.hash && entries[other.at()].id.as_str() == id;
        match by_id.entry(place.hash, same, |other| other.hash) {
            Entry::Occupied(mut other) => {
                *other.get_mut() = place;
                true
            }
            Entry::Vacant(free) => {
                free.insert(place);
                false
            }
        }
    }

    /// A parent names an earlier line. One that is lost with the lines directly before, or with the end of the last entry's line, is
    /// bridged to the last entry before it; any other unknown one makes a root.
    fn parent_position(
        &mut self,
        parent: &str,
        line: &Line<'_>,
        is_whole: impl Fn(&Indexed) -> bool,
    ) -> Option<u32> {
        if let Some(position) = self.position(parent) {
            return u32::try_from(position).ok();
        }
        let last = self.entries.last();
        // Another program may have written this parent behind what was left of a torn line.
        let is_lost = self.gap > 0 || last.is_some_and(|last| !is_whole(last));
        let bridge = last.filter(|_| is_lost).map(|last| last.id.clone());
        let what = match &bridge {
            Some(id) => format!(
                "its parent {parent} is lost with the unreadable lines before it; it follows {id} instead"
            ),
            None => format!("its parent {parent} is not in the lines before it; it is taken for a root"),
        };
        self.find(line, what);
        bridge.and_then(|_| u32::try_from(self.entries.len() - 1).ok())
    }

    fn find(&mut self, line: &Line<'_>, what: String) {
        self.findings
            .push(Found { finding: Finding { line: line.number, byte: line.offset, what }, more: 0 });
    }
}

/// Whether these bytes are JSON to the end.
pub(super) fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}
