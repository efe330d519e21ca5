//! Where every entry of a log lies and what it follows: offsets and links, no bodies.
//!
//! Built by one pass over the lines and extended by every append. A line costs an error only itself: what can't be read is
//! named in the findings, and the tree goes on around it.

use std::collections::HashMap;
use std::ops::Range;

use super::entry::Head;
use super::log::Line;
use super::mint;
use crate::id::EntryId;
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
    pub(super) parent: Option<usize>,
    pub(super) kind: EntryKind,
    pub(super) timestamp: UnixMs,
    pub(super) line: u64,
    pub(super) offset: u64,
    pub(super) length: usize,
}

impl Indexed {
    /// Offset of the line's newline.
    fn end(&self) -> u64 {
        self.offset + self.length as u64
    }
}

/// All entries of a log in the order of their lines.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: Vec<Indexed>,
    by_id: HashMap<EntryId, usize>,
    findings: Vec<Finding>,
    /// Whether the line before this one could not be read.
    gap: bool,
    lines: u64,
}

impl Index {
    pub(super) fn entries(&self) -> &[Indexed] {
        &self.entries
    }

    pub(super) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Lines seen, the header's among them.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    pub(super) fn position(&self, id: &EntryId) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The newest ULID, after which new ones are minted.
    pub(super) fn greatest_id(&self) -> Option<&EntryId> {
        self.entries.iter().map(|entry| &entry.id).filter(|id| mint::can_go_on_after(id)).max()
    }

    /// Bytes of the entry's line without its newline, and of the lines between it and its parent if no entry is in them.
    pub(super) fn span_with_gap(&self, at: usize) -> Range<u64> {
        let entry = &self.entries[at];
        let parent = entry.parent.filter(|parent| parent + 1 == at).map(|parent| &self.entries[parent]);
        let start = parent.map_or(entry.offset, |parent| parent.end() + 1);
        start..entry.end()
    }

    /// Positions from the root to `leaf`.
    pub(super) fn path(&self, leaf: usize) -> Vec<usize> {
        let mut path: Vec<usize> =
            std::iter::successors(Some(leaf), |&at| self.entries.get(at).and_then(|entry| entry.parent))
                .collect();
        path.reverse();
        path
    }

    /// Takes the header's line, which is no entry.
    pub(super) fn pass_header(&mut self) {
        self.lines += 1;
    }

    /// Takes the next line: an entry, or a finding. Blank lines are neither.
    pub(super) fn take(&mut self, line: &Line<'_>) {
        self.lines = line.number;
        let bytes = line.bytes.trim_ascii();
        if bytes.is_empty() {
            return;
        }
        match serde_json::from_slice::<Head>(bytes) {
            Ok(head) => self.take_head(head, line),
            Err(error) => {
                let what = if line.closed { "not readable" } else { "torn: it ends in the middle" };
                self.find(line, format!("{what} ({error}); the line is kept and passed over"));
                self.gap = true;
            }
        }
    }

    fn take_head(&mut self, head: Head, line: &Line<'_>) {
        let parent = head.parent_id.as_ref().and_then(|parent| self.parent_position(parent, line));
        let moment = head.moment();
        let position = self.entries.len();
        if self.by_id.insert(head.id.clone(), position).is_some() {
            self.find(line, format!("the id {} stands for an earlier entry too", head.id));
        }
        self.entries.push(Indexed {
            id: head.id,
            parent,
            kind: EntryKind::parse(&head.kind),
            timestamp: moment,
            line: line.number,
            offset: line.offset,
            length: line.bytes.len(),
        });
        self.gap = false;
    }

    /// A parent names an earlier line. One that is lost with the lines directly before is bridged to the last entry
    /// before them; any other unknown one makes a root.
    fn parent_position(&mut self, parent: &EntryId, line: &Line<'_>) -> Option<usize> {
        if let Some(position) = self.position(parent) {
            return Some(position);
        }
        let bridge = if self.gap { self.entries.len().checked_sub(1) } else { None };
        let what = match bridge {
            Some(at) => format!(
                "its parent {parent} is lost with the unreadable lines before it; it follows {} instead",
                self.entries[at].id
            ),
            None => format!("its parent {parent} is not in the lines before it; it is taken for a root"),
        };
        self.find(line, what);
        bridge
    }

    fn find(&mut self, line: &Line<'_>, what: String) {
        self.findings.push(Finding { line: line.number, byte: line.offset, what });
    }
}
