//! The index of a log: offset, parent and kind of every entry, without bodies.
//!
//! It is built in one pass over the lines and extended by every append. A bad line affects only itself: it is
//! reported in the findings, and the tree continues around it. [`entries`] holds the entries, [`id_map`]
//! finds them by id.

mod entries;
mod id_map;
mod index_entry;
mod packed;
#[cfg(test)]
mod tests;

use std::ops::Range;

use tiller_core::id::EntryId;
use tiller_core::json_error::without_position;
use tiller_core::message::Usage;
use ulid::Ulid;

use super::error::SessionError;
use super::id_gen;
use super::line_scan::{LineHead, LineRole, is_json, job_number};
use super::lines::LogLine;

use entries::{Entries, IdQuery};
use id_map::IdMap;
pub(super) use index_entry::IndexEntry;

/// A problem in a log.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The line, from 1.
    pub line: u64,
    /// Byte offset of the line.
    pub byte: u64,
    /// The problem.
    pub what: String,
}

/// Number of consecutive unreadable lines that are reported individually.
const MAX_NAMED_RUN: u64 = 100;

/// A finding, and the number of further unreadable lines directly after it.
#[derive(Debug)]
struct FindingRun {
    finding: Finding,
    more: u64,
}

impl FindingRun {
    fn to_finding(&self) -> Finding {
        let mut finding = self.finding.clone();
        if self.more > 0 {
            finding.what += &format!("; so are the {} lines after it", self.more);
        }
        finding
    }
}

/// All entries of a log in line order.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: Entries,
    id_map: IdMap,
    /// The id of the last entry, which is nearly always the parent of the next one.
    leaf: Option<EntryId>,
    /// Positions of entries that are specific to tiller and looked up later.
    tiller_entries: Vec<u32>,
    /// Usage of all entries.
    usage: Usage,
    /// The highest background-job number in tool results; 0 if there is none.
    last_job: u64,
    findings: Vec<FindingRun>,
    /// Number of unreadable lines directly before the next one.
    unreadable_before: u64,
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
        self.findings.iter().map(FindingRun::to_finding).collect()
    }

    pub(super) fn tiller_entries(&self) -> &[u32] {
        &self.tiller_entries
    }

    pub(super) fn usage(&self) -> &Usage {
        &self.usage
    }

    pub(super) fn last_job(&self) -> u64 {
        self.last_job
    }

    /// The number of lines, including the header.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    pub(super) fn position(&self, id: &str) -> Option<usize> {
        if self.leaf.as_ref().is_some_and(|leaf| leaf.as_str() == id) {
            return Some(self.entries.len() - 1);
        }
        self.id_map.find(&self.entries, id)
    }

    /// Returns a predicate for positions that is true if the entry there has this id.
    pub(super) fn matches_id<'a>(&'a self, id: &'a str) -> impl Fn(usize) -> bool {
        let query = IdQuery::new(id);
        move |position| self.entries.has_id(position, &query)
    }

    /// Returns the greatest ULID that can have a successor; new ids must be greater.
    pub(super) fn greatest_id(&self) -> Option<EntryId> {
        let greatest = self.entries.ulids().map(Ulid).filter(id_gen::has_time_left).max();
        greatest.map(|ulid| EntryId::new(ulid.to_string()))
    }

    /// Returns the byte range of an entry's line without its newline, and of unreadable lines directly before
    /// it.
    pub(super) fn span_with_gap(&self, at: usize) -> Range<u64> {
        let Some(entry) = self.entries.at(at) else { return 0..0 };
        let parent =
            entry.parent().filter(|parent| parent + 1 == at).and_then(|parent| self.entries.at(parent));
        let start = parent.map_or(entry.stored, |parent| parent.end() + 1);
        start..entry.end()
    }

    pub(super) fn position_of(&self, id: &EntryId) -> Result<usize, SessionError> {
        self.position(id.as_str()).ok_or_else(|| SessionError::NoEntry(id.clone()))
    }

    /// Positions from the root to the entry with this id.
    pub(super) fn path_to(&self, leaf: &EntryId) -> Result<Vec<usize>, SessionError> {
        Ok(self.path(self.position_of(leaf)?))
    }

    /// Positions from the root to `leaf`.
    pub(super) fn path(&self, leaf: usize) -> Vec<usize> {
        // Walking a long path twice is better than a growing vector, which would take several times the
        // memory.
        let mut path = Vec::with_capacity(self.ancestry(leaf).count());
        path.extend(self.ancestry(leaf));
        path.reverse();
        path
    }

    /// Positions from `leaf` to the root.
    pub(super) fn ancestry(&self, leaf: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(leaf), |&at| self.entries.parent(at))
    }

    /// Counts the header's line, which isn't an entry.
    pub(super) fn count_header(&mut self) {
        self.lines += 1;
    }

    /// Adds the next line: an entry, or a finding. Blank lines are skipped. `is_complete_json`, which is rarely
    /// called, checks that an entry's line is complete JSON.
    pub(super) fn add_line(&mut self, line: &LogLine<'_>, is_complete_json: impl Fn(&IndexEntry) -> bool) {
        self.lines = line.number;
        let bytes = line.bytes.trim_ascii();
        if bytes.is_empty() {
            return;
        }
        match LineHead::parse(bytes) {
            // An unclosed line may be incomplete even if its head can be read.
            Ok(_) if !line.closed && !is_json(bytes) => {
                self.report_unreadable(line, "torn: the line is incomplete")
            }
            Ok(head) => self.add_entry(head, line, is_complete_json),
            Err(error) if line.closed => {
                self.report_unreadable(line, &format!("not readable ({})", without_position(&error)))
            }
            Err(error) => self.report_unreadable(
                line,
                &format!("torn: the line is incomplete ({})", without_position(&error)),
            ),
        }
    }

    /// Adds a line that this process has encoded, with its head.
    pub(super) fn add_encoded(&mut self, head: LineHead<'_>, line: &LogLine<'_>) {
        debug_assert!(head.matches_line(line.bytes), "{head:?} isn't the head of its line");
        self.lines = line.number;
        self.add_entry(head, line, |_| true);
    }

    /// Reports an unreadable line. After many in a row, further ones are only counted, to bound memory.
    fn report_unreadable(&mut self, line: &LogLine<'_>, what: &str) {
        self.unreadable_before += 1;
        if self.unreadable_before <= MAX_NAMED_RUN {
            self.report(line, format!("{what}; the line is kept and ignored"));
        } else if let Some(last) = self.findings.last_mut() {
            last.more += 1;
        }
    }

    fn add_entry(
        &mut self,
        head: LineHead<'_>,
        line: &LogLine<'_>,
        is_complete_json: impl Fn(&IndexEntry) -> bool,
    ) {
        let parent =
            head.parent.as_deref().and_then(|parent| self.parent_position(parent, line, is_complete_json));
        // `u32::MAX` means no entry.
        let position = u32::try_from(self.entries.len()).ok().filter(|position| *position < u32::MAX);
        let position = position.expect("a log has fewer than 2^32 - 1 entries");
        let entry = IndexEntry {
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
        if self.id_map.insert(&self.entries, position, &head.id) {
            self.report(line, format!("duplicate id {}, also used by an earlier entry", head.id));
        }
        if head.is_tiller_entry {
            self.tiller_entries.push(position);
        }
        if let Some(usage) = &head.usage {
            self.usage.add(usage);
        }
        if head.role == Some(LineRole::ToolResult) {
            self.last_job = self.last_job.max(job_number(line.bytes).unwrap_or_default());
        }
        self.unreadable_before = 0;
    }

    /// Returns the position of a parent, which must be on an earlier line. The last entry replaces a parent
    /// that was lost in the unreadable lines directly before, or at the end of the last entry's line; any
    /// other unknown parent makes the entry a root.
    fn parent_position(
        &mut self,
        parent: &str,
        line: &LogLine<'_>,
        is_complete_json: impl Fn(&IndexEntry) -> bool,
    ) -> Option<u32> {
        if let Some(position) = self.position(parent) {
            return u32::try_from(position).ok();
        }
        let last = self.entries.last();
        // Another program may have appended the line of this parent to a torn line.
        let is_lost = self.unreadable_before > 0 || last.is_some_and(|last| !is_complete_json(&last));
        let bridge = self.leaf.as_ref().filter(|_| is_lost);
        let what = match bridge {
            Some(id) => format!(
                "its parent {parent} was lost with the unreadable lines before it; {id} is used instead"
            ),
            None => format!("its parent {parent} is not on an earlier line; the entry becomes a root"),
        };
        let bridge = bridge.and_then(|_| u32::try_from(self.entries.len() - 1).ok());
        self.report(line, what);
        bridge
    }

    fn report(&mut self, line: &LogLine<'_>, what: String) {
        self.findings
            .push(FindingRun { finding: Finding { line: line.number, byte: line.offset, what }, more: 0 });
    }
}
