//! Where every entry of a log lies and what it follows: offsets and links, no bodies.
//!
//! Built by one pass over the lines and extended by every append. A line costs an error only itself: what can't be read is
//! named in the findings, and the tree goes on around it. [`entries`] holds what is known of each, [`names`] finds them by id.

mod entries;
mod id_map;
mod packed;
#[cfg(test)]
mod tests;

use std::ops::Range;

use serde::de::IgnoredAny;
use tiller_core::id::EntryId;
use tiller_core::message::Usage;
use tiller_core::unit::UnixMs;
use ulid::Ulid;

use super::error::SessionError;
use super::id_gen;
use super::line_scan::{LineHead, LineRole};
use super::lines::Line;

use entries::{Entries, Wanted};
use id_map::Names;

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
    /// Each at the place of its number.
    const ALL: [Self; 12] = [
        Self::Message,
        Self::ModelChange,
        Self::ThinkingLevelChange,
        Self::Compaction,
        Self::BranchSummary,
        Self::ContextEdit,
        Self::Custom,
        Self::CustomMessage,
        Self::Label,
        Self::SessionInfo,
        Self::Usage,
        Self::Unknown,
    ];

    /// Returns whether the context has a message for such an entry. (A compaction's summary stands before all of them.)
    pub(super) fn makes_message(self) -> bool {
        matches!(self, Self::Message | Self::BranchSummary | Self::CustomMessage)
    }

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

/// One entry's place, and what its head says but for its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Indexed {
    pub(super) parent: Option<u32>,
    pub(super) kind: EntryKind,
    pub(super) role: Option<LineRole>,
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

/// All entries of a log in the order of their lines.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: Entries,
    names: Names,
    /// The id of the last entry, which the next one nearly always follows.
    leaf: Option<EntryId>,
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
    pub(super) fn entries(&self) -> &Entries {
        &self.entries
    }

    /// The id of the last entry.
    pub(super) fn leaf(&self) -> Option<&EntryId> {
        self.leaf.as_ref()
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
        if self.leaf.as_ref().is_some_and(|leaf| leaf.as_str() == id) {
            return Some(self.entries.len() - 1);
        }
        self.names.find(&self.entries, id)
    }

    /// Tells of positions whether the entry there has this id.
    pub(super) fn bears<'a>(&'a self, id: &'a str) -> impl Fn(usize) -> bool {
        let wanted = Wanted::of(id);
        move |position| self.entries.is(position, &wanted)
    }

    /// The newest ULID, after which new ones are minted.
    pub(super) fn greatest_id(&self) -> Option<EntryId> {
        let greatest = self.entries.ulids().map(Ulid).filter(id_gen::has_time_left).max();
        greatest.map(|ulid| EntryId::new(ulid.to_string()))
    }

    /// Bytes of the entry's line without its newline, and of the lines between it and its parent if no entry is in them.
    pub(super) fn span_with_gap(&self, at: usize) -> Range<u64> {
        let Some(entry) = self.entries.at(at) else { return 0..0 };
        let parent =
            entry.parent().filter(|parent| parent + 1 == at).and_then(|parent| self.entries.at(parent));
        let start = parent.map_or(entry.stored, |parent| parent.end() + 1);
        start..entry.end()
    }

    /// The position of the entry with this id.
    pub(super) fn position_of(&self, id: &EntryId) -> Result<usize, SessionError> {
        self.position(id.as_str()).ok_or_else(|| SessionError::NoEntry(id.clone()))
    }

    /// Positions from the root to the entry with this id.
    pub(super) fn path_to(&self, leaf: &EntryId) -> Result<Vec<usize>, SessionError> {
        Ok(self.path(self.position_of(leaf)?))
    }

    /// Positions from the root to `leaf`.
    pub(super) fn path(&self, leaf: usize) -> Vec<usize> {
        // Long paths are walked twice, for a list that grows takes several times its room.
        let mut path = Vec::with_capacity(self.ancestry(leaf).count());
        path.extend(self.ancestry(leaf));
        path.reverse();
        path
    }

    /// Positions from `leaf` to the root.
    pub(super) fn ancestry(&self, leaf: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(leaf), |&at| self.entries.parent(at))
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
        match LineHead::parse(bytes) {
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

    fn take_head(&mut self, head: LineHead<'_>, line: &Line<'_>, is_whole: impl Fn(&Indexed) -> bool) {
        let parent = head.parent.as_deref().and_then(|parent| self.parent_position(parent, line, is_whole));
        // The greatest number stands for no entry.
        let position = u32::try_from(self.entries.len()).ok().filter(|position| *position < u32::MAX);
        let position = position.expect("a log has fewer than 2^32 - 1 entries");
        let entry = Indexed {
            parent,
            kind: head.kind,
            role: head.role,
            timestamp: head.timestamp,
            line: line.number,
            offset: line.offset,
            stored: line.stored,
            length: line.bytes.len(),
        };
        self.entries.push(&head.id, entry);
        self.leaf = Some(EntryId::new(&head.id));
        if self.names.take(&self.entries, position, &head.id) {
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
        let is_lost = self.gap > 0 || last.is_some_and(|last| !is_whole(&last));
        let bridge = self.leaf.as_ref().filter(|_| is_lost);
        let what = match bridge {
            Some(id) => format!(
                "its parent {parent} is lost with the unreadable lines before it; it follows {id} instead"
            ),
            None => format!("its parent {parent} is not in the lines before it; it is taken for a root"),
        };
        let bridge = bridge.and_then(|_| u32::try_from(self.entries.len() - 1).ok());
        self.find(line, what);
        bridge
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
