//! Verification of a log: every line, every body, and the relations between entries.
//!
//! One pass over the lines collects each entry's id, location and references; then one walk visits the tree.
//! A *note* is a problem that tiller handles without loss; an *error* means lost or contradictory data. The
//! file isn't changed.

mod body;
mod checked_entry;
mod findings;
mod walk;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::ControlFlow;
use std::path::Path;

use serde::de::IgnoredAny;
use serde_json::Value;
use tiller_core::id::{CallId, EntryId};
use tiller_core::json_error::without_position;
use tiller_core::message::{AssistantMessage, Message, StopReason};
use tiller_core::unit::UnixMs;

use super::entry::{Compaction, EntryBody, Header, TillerEntry, VERSION, strip_bom};
use super::entry_kind::EntryKind;
use super::error::SessionError;
use super::line_scan::LineHead;
use super::lines::LogLine;
use super::log::Log;
use super::migrate::Migration;

use checked_entry::{CheckedEntry, EntryRelation};
use findings::{Findings, LineLocation};
pub use findings::{GradedFinding, Severity};

/// Number of consecutive unreadable lines to report individually; a file that isn't a log may have a million.
const MAX_NAMED_LINES: usize = 1_000;

/// Types of the entries about agents and races, which the engine defines. Their data isn't checked.
const AGENT_ENTRIES: [&str; 4] = ["tiller.agent", "tiller.agent_end", "tiller.race", "tiller.race_end"];

/// A verification's result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Number of entries whose head (id, parent and type) can be read.
    pub entries: usize,
    /// The findings, in the order of the lines.
    pub findings: Vec<GradedFinding>,
}

/// Verifies a log. Memory grows with the number of entries and their ids, not with their content.
///
/// # Errors
/// If the file can't be opened or read. All other problems are findings.
pub fn verify(path: &Path) -> Result<VerifyReport, SessionError> {
    let mut check = Checker::default();
    Log::open_to_read(path)?.scan(|line| {
        check.check_line(line);
        ControlFlow::Continue(())
    })?;
    Ok(check.finish())
}

/// An unreadable line. Later lines determine the report.
#[derive(Debug)]
struct UnreadableLine {
    location: LineLocation,
    reason: String,
    /// True if it is the start of an entry.
    is_partial: bool,
    closed: bool,
    /// Number of further unreadable lines directly after it.
    more: u64,
}

/// A note that may apply to every line of a file; reported once with a count.
#[derive(Debug)]
struct RepeatedNote {
    first: LineLocation,
    count: u64,
}

#[derive(Default)]
struct Checker {
    is_fork: bool,
    /// Migrates a log of an older version, whose lines are checked in migrated form.
    migration: Option<Migration>,
    entries: Vec<CheckedEntry>,
    by_id: HashMap<EntryId, IdPositions>,
    findings: Findings,
    unreadable: Vec<UnreadableLine>,
    /// Entries whose parent is not on an earlier line, with the parent's id.
    orphans: Vec<(usize, EntryId)>,
    repeated: BTreeMap<String, RepeatedNote>,
    /// True if the last entry's line isn't JSON: the next entry's parent may have been lost with its end.
    is_last_body_broken: bool,
    /// Started `!` commands without a record yet.
    commands: HashMap<String, VecDeque<LineLocation>>,
    has_started: bool,
}

/// Positions of the entries with one id.
#[derive(Clone, Copy, Debug)]
struct IdPositions {
    first: usize,
    latest: usize,
}

impl Checker {
    /// Returns findings for entries whose parent isn't on an earlier line.
    fn report_orphans(&self, visits: &walk::VisitTimes) -> Vec<(usize, String)> {
        let report = |(position, parent): &(usize, tiller_core::id::EntryId)| {
            let what = match self.by_id.get(parent).map(|positions| positions.first) {
                None => format!("its parent {parent} is not in the file; the entry becomes a root"),
                Some(at) if at == *position => "the entry is its own parent; it becomes a root".to_owned(),
                Some(at) => {
                    let line = self.entries[at].location.line;
                    let circle =
                        if visits.is_descendant(at, *position) { ", and is its descendant" } else { "" };
                    format!(
                        "its parent {parent} comes later, on line {line}{circle}; the entry becomes a root"
                    )
                }
            };
            (*position, what)
        };
        self.orphans.iter().map(report).collect()
    }

    fn check_line(&mut self, line: &LogLine<'_>) {
        if std::mem::replace(&mut self.has_started, true) {
            self.check_entry_line(line);
        } else {
            self.check_header(line);
        }
    }

    fn check_header(&mut self, line: &LogLine<'_>) {
        let location = LineLocation::from(line);
        let bytes = strip_bom(line.bytes);
        if bytes.len() < line.bytes.len() {
            self.findings.note(location, "begins with a byte order mark, which is ignored");
        }
        self.note_line_end(line);
        let header = match Header::parse(bytes) {
            Ok(header) => header,
            Err(error) => {
                let problem = without_position(&error);
                self.findings.error(
                    location,
                    format!("not a session header ({problem}); tiller can't open this file"),
                );
                if LineHead::parse(bytes).is_ok() {
                    self.check_entry_line(line);
                }
                return;
            }
        };
        self.migration = Migration::for_header(&header, Vec::new);
        self.is_fork = header.parent_session.is_some();
        if header.version < VERSION {
            let version = header.version;
            self.findings.note(
                location,
                format!("version {version} of the format; this version of tiller writes version {VERSION}"),
            );
        } else if header.version > VERSION {
            let version = header.version;
            self.findings.note(
                location,
                format!("version {version} of the format is newer than this tiller's {VERSION}; the log is read-only"),
            );
        }
        if let Some(problem) = body::header_type_error(bytes) {
            self.findings.error(location, format!("ignoring {problem}"));
        }
        let timestamp = body::key_value(bytes, "timestamp").unwrap_or_default();
        self.check_timestamp(location, Some(&timestamp).filter(|timestamp| !timestamp.is_null()));
    }

    fn check_entry_line(&mut self, line: &LogLine<'_>) {
        let location = LineLocation::from(line);
        if line.bytes.trim_ascii().is_empty() {
            return self.note_once("blank line, ignored", location);
        }
        self.note_line_end(line);
        match self.migration.take() {
            Some(mut migration) => {
                migration.migrate_line(line);
                self.check_current_line(&migration.last_line(line));
                migration.clear_lines();
                self.migration = Some(migration);
            }
            None => self.check_current_line(line),
        }
    }

    fn check_current_line(&mut self, line: &LogLine<'_>) {
        match head(line) {
            Ok(head) => self.check_head(head, line),
            Err(error) => {
                let location = LineLocation::from(line);
                let ends_in_character =
                    std::str::from_utf8(line.bytes).is_err_and(|error| error.error_len().is_none());
                let is_partial =
                    line.bytes.trim_ascii_start().starts_with(b"{") && (error.is_eof() || ends_in_character);
                let reason = body::invalid_utf8(line.bytes).unwrap_or_else(|| without_position(&error));
                let are_many = self.unreadable.len() >= MAX_NAMED_LINES;
                match self.unreadable.last_mut() {
                    Some(last) if are_many => last.more += 1,
                    _ => self.unreadable.push(UnreadableLine {
                        location,
                        reason,
                        is_partial,
                        closed: line.closed,
                        more: 0,
                    }),
                }
            }
        }
    }

    fn check_head(&mut self, head: LineHead<'_>, line: &LogLine<'_>) {
        let (location, position) = (LineLocation::from(line), self.entries.len());
        let id = EntryId::new(&head.id);
        let parent = self.parent(head.parent.as_deref().map(EntryId::new), location);
        if head.id.is_empty() {
            self.findings.error(location, "its id is empty, so other entries can't refer to it reliably");
        }
        // An unreadable timestamp is read as zero.
        if head.timestamp == UnixMs(0) {
            self.check_timestamp(location, body::key_value(line.bytes, "timestamp").as_ref());
        }
        let earlier = self.by_id.get(&id).copied();
        if let Some(earlier) = earlier {
            let at = self.entries[earlier.latest].location.line;
            self.findings.error(
                location,
                format!(
                    "duplicate id {id}, also on line {at}; later references mean the nearest earlier entry"
                ),
            );
        }
        let relation = self.read_relation(&id, &head, line);
        let name = earlier.map_or(position, |earlier| earlier.first);
        self.by_id.insert(id, IdPositions { first: name, latest: position });
        self.entries.push(CheckedEntry { location, first_with_id: name, parent, relation });
    }

    fn parent(&mut self, parent_id: Option<EntryId>, location: LineLocation) -> Option<usize> {
        let unread = std::mem::take(&mut self.unreadable);
        let missing_parent = parent_id.clone().filter(|parent| !self.by_id.contains_key(parent));
        let bridge = match &missing_parent {
            Some(_) if !unread.is_empty() || self.is_last_body_broken => self.entries.len().checked_sub(1),
            Some(_) | None => None,
        };
        for unread in unread {
            self.report_unreadable(unread, bridge.is_some());
        }
        match (missing_parent, bridge) {
            (None, _) => self.earlier(&parent_id?),
            (Some(missing_parent), Some(bridge)) => {
                let line = self.entries[bridge].location.line;
                self.findings.note(location, format!("its parent {missing_parent} was lost with the unreadable lines before it; the entry on line {line} is used instead"));
                Some(bridge)
            }
            (Some(missing_parent), None) => {
                self.orphans.push((self.entries.len(), missing_parent));
                None
            }
        }
    }

    /// Reports an unreadable line. `has_lost_entry` is true if it contained the parent of a later entry; then it
    /// isn't merely the torn start of a line.
    fn report_unreadable(
        &mut self,
        UnreadableLine { location, mut reason, is_partial, closed, more }: UnreadableLine,
        has_lost_entry: bool,
    ) {
        if more > 0 {
            reason += &format!("; so are the {more} lines after it");
        }
        match (is_partial && !has_lost_entry, closed) {
            (true, true) => {
                self.findings.note(
                    location,
                    format!(
                        "torn: the line is incomplete ({reason}) and was closed later; it is kept and ignored"
                    ),
                );
            }
            (true, false) => {
                self.findings.note(location, format!("torn: the file ends within this line ({reason}); it is closed when the session continues"));
            }
            (false, _) => {
                self.findings.error(location, format!("not readable ({reason}); it is kept and ignored"));
            }
        }
    }

    fn earlier(&self, id: &EntryId) -> Option<usize> {
        self.by_id.get(id).map(|positions| positions.latest)
    }

    fn check_timestamp(&mut self, location: LineLocation, timestamp: Option<&Value>) {
        match timestamp {
            Some(Value::String(text)) if UnixMs::from_iso(text).is_some() => {}
            Some(timestamp) if timestamp != "" => {
                self.findings.error(location, format!("invalid timestamp {timestamp}; using the Unix epoch"));
            }
            Some(_) | None => self.findings.error(location, "no timestamp; using the Unix epoch"),
        }
    }

    fn note_line_end(&mut self, line: &LogLine<'_>) {
        if line.bytes.ends_with(b"\r") {
            self.note_once("ends in CR LF, which is read as LF", line.into());
        }
    }

    fn note_once(&mut self, what: impl Into<String>, location: LineLocation) {
        self.repeated.entry(what.into()).or_insert(RepeatedNote { first: location, count: 0 }).count += 1;
    }

    /// Checks a body; returns the entry's relation to others.
    fn read_relation(&mut self, id: &EntryId, head: &LineHead<'_>, line: &LogLine<'_>) -> EntryRelation {
        let location = LineLocation::from(line);
        let read = body::check(head, line.bytes);
        self.is_last_body_broken = read.body.as_ref().is_err_and(|error| error.is_eof() || error.is_syntax());
        if read.lone_surrogates {
            self.findings.note(location, "contains a lone surrogate escape; it is read as U+FFFD");
        }
        if let Some(reason) = read.invalid_utf8 {
            self.findings.error(location, format!("{reason}; invalid bytes are read as U+FFFD"));
        }
        if let Some(problem) = read.invalid_usage {
            self.findings.error(location, format!("invalid usage: {problem}; its cost is not counted"));
        }
        if let Some(problem) = body::entry_type_error(line.bytes).filter(|_| read.body.is_ok()) {
            self.findings.error(location, format!("ignoring {problem}"));
        }
        match read.body {
            Ok(_) if head.kind == EntryKind::Unknown => {
                let name = body::key_value(line.bytes, "type").unwrap_or_default();
                let what = format!("unknown entry type {name}; it is kept and ignored");
                self.note_once(what, location);
                EntryRelation::None
            }
            Ok(body) => self.check_body(id, &body, location),
            Err(error) if error.is_eof() => {
                let problem = without_position(&error);
                let what = format!(
                    "torn: the line is incomplete ({problem}) and was closed later; its content is ignored"
                );
                self.findings.note(location, what);
                EntryRelation::None
            }
            Err(error) => {
                let problem = without_position(&error);
                self.findings.error(
                    location,
                    format!(
                        "damaged: {problem}; the entry keeps its place in the tree, but its content is ignored"
                    ),
                );
                EntryRelation::None
            }
        }
    }

    fn check_body(&mut self, id: &EntryId, body: &EntryBody, location: LineLocation) -> EntryRelation {
        match body {
            EntryBody::Label { target_id, .. } => self.check_target("label", target_id, location),
            EntryBody::ContextEdit { target_id, .. } => self.check_target("edit", target_id, location),
            EntryBody::Compaction(compaction) => return self.compaction_relation(id, compaction),
            EntryBody::Message(entry) => return self.check_message(&entry.message),
            EntryBody::Custom { custom_type, .. } if custom_type.starts_with("tiller.") => {
                self.check_tiller_entry(custom_type, body, location);
            }
            _ => {}
        }
        EntryRelation::None
    }

    fn compaction_relation(&self, id: &EntryId, compaction: &Compaction) -> EntryRelation {
        let kept = &compaction.first_kept_entry_id;
        if kept == id {
            return EntryRelation::None;
        }
        EntryRelation::Compaction(self.earlier(kept).map(|at| self.entries[at].first_with_id), kept.clone())
    }

    fn check_message(&mut self, message: &Message) -> EntryRelation {
        match message {
            Message::Assistant(answer) => calls(answer),
            Message::ToolResult(result) => EntryRelation::Result(result.tool_call_id.clone()),
            Message::BashExecution(record) => {
                self.commands.get_mut(&record.command).and_then(VecDeque::pop_front);
                EntryRelation::None
            }
            Message::User(_) | Message::System(_) => EntryRelation::None,
        }
    }

    fn check_tiller_entry(&mut self, custom_type: &str, body: &EntryBody, location: LineLocation) {
        match body.as_tiller() {
            Some(TillerEntry::Hide { target_id, .. }) => self.check_target("hiding", &target_id, location),
            Some(TillerEntry::Bash { command, .. }) => {
                self.commands.entry(command).or_default().push_back(location);
            }
            Some(_) => {}
            None if AGENT_ENTRIES.contains(&custom_type) => {}
            None => {
                let what = format!("unknown or invalid custom entry {custom_type:?}; it is kept and ignored");
                self.note_once(what, location);
            }
        }
    }

    /// Reports a reference to a missing entry. A fork may refer to entries of the original that weren't on
    /// the copied path.
    fn check_target(&mut self, what: &str, target: &EntryId, location: LineLocation) {
        if self.by_id.contains_key(target) {
            return;
        }
        if self.is_fork {
            let text = format!(
                "its {what} refers to {target}, which was not copied into this fork; it has no effect"
            );
            self.findings.note(location, text);
        } else {
            let text =
                format!("its {what} refers to {target}, which is not on an earlier line; it has no effect");
            self.findings.error(location, text);
        }
    }

    fn finish(mut self) -> VerifyReport {
        if !self.has_started {
            let location = LineLocation { line: 1, byte: 0 };
            self.findings.error(location, "the file is empty; tiller can't open it");
        }
        for unread in std::mem::take(&mut self.unreadable) {
            self.report_unreadable(unread, false);
        }
        for (what, RepeatedNote { first, count }) in std::mem::take(&mut self.repeated) {
            let more = match count {
                1 => String::new(),
                2 => " (and 1 more line)".to_owned(),
                count => format!(" (and {} more lines)", count - 1),
            };
            self.findings.note(first, what + &more);
        }
        for location in self.commands.values().flatten() {
            self.findings.note(*location, "a user command started here and has no result; it is recorded as interrupted when the session continues");
        }
        let orphans = {
            let visits = walk::walk(&self.entries, &mut self.findings);
            self.report_orphans(&visits)
        };
        for (position, what) in orphans {
            self.findings.error(self.entries[position].location, what);
        }
        let mut findings = self.findings.0;
        findings.sort_by_key(|finding| finding.line);
        VerifyReport { entries: self.entries.len(), findings }
    }
}

/// Parses the head of an entry as a reader does: an unclosed line must be complete JSON.
fn head<'a>(line: &LogLine<'a>) -> serde_json::Result<LineHead<'a>> {
    let bytes = line.bytes.trim_ascii();
    if !line.closed {
        serde_json::from_slice::<IgnoredAny>(bytes)?;
    }
    LineHead::parse(bytes)
}

/// Returns the calls of an answer. Those of a failed or aborted answer were never run and need no results.
fn calls(answer: &AssistantMessage) -> EntryRelation {
    let mut seen = HashSet::new();
    let ids: Vec<CallId> =
        answer.tool_calls().map(|call| call.id.clone()).filter(|id| seen.insert(id.clone())).collect();
    let needs_results = !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
    if ids.is_empty() { EntryRelation::None } else { EntryRelation::Calls { ids, needs_results } }
}
