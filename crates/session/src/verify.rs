//! Checking a log to its last byte: every line, every body, and what entries say of each other.
//!
//! One pass over the lines, which keeps of each entry its id, its place and the ids that it names; then one walk over the
//! tree. What tiller copes with by itself is a *note*; an *error* means that something was lost or contradicts itself.
//! The file is only read.

mod body;
mod walk;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::ControlFlow;
use std::path::Path;

use serde::de::IgnoredAny;
use serde_json::Value;
use tiller_core::id::{CallId, EntryId};
use tiller_core::message::{AssistantMessage, Message, StopReason};
use tiller_core::unit::UnixMs;

use super::entry::{Compaction, EntryBody, Header, TillerEntry, VERSION, without_mark};
use super::error::SessionError;
use super::index::EntryKind;
use super::line_scan::LineHead;
use super::lines::Line;
use super::log::Log;
use super::migrate::Migration;

/// Unreadable lines in a row that are named one by one; a file that is no log at all has a million of them.
const NAMED: usize = 1_000;

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something is lost, or contradicts itself.
    Error,
    /// Something out of the ordinary that costs nothing.
    Note,
}

impl Severity {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Note => "note",
        }
    }
}

/// Something about a log that isn't as it should be, with how much that matters.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct GradedFinding {
    /// The line, from 1.
    pub line: u64,
    /// Byte offset of the line's beginning.
    pub byte: u64,
    /// What is wrong, and what tiller does about it.
    pub what: String,
    /// How much it matters.
    pub severity: Severity,
}

/// What a check came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// How many entries could be read, at least their heads.
    pub entries: usize,
    /// What was found, in the order of the lines.
    pub findings: Vec<GradedFinding>,
}

/// Checks a log. Memory grows with the number of entries and their ids, not with what they say.
///
/// # Errors
/// When the file can't be opened or read. Whatever else is wrong with it is a finding.
pub fn verify(path: &Path) -> Result<VerifyReport, SessionError> {
    let mut check = Check::default();
    Log::open_to_read(path)?.scan(|line| {
        check.take(line);
        ControlFlow::Continue(())
    })?;
    Ok(check.finish())
}

/// Where a line is.
#[derive(Clone, Copy, Debug)]
struct Place {
    line: u64,
    byte: u64,
}

impl From<&Line<'_>> for Place {
    fn from(line: &Line<'_>) -> Self {
        Self { line: line.number, byte: line.offset }
    }
}

/// Findings as they are made.
#[derive(Debug, Default)]
struct Found(Vec<GradedFinding>);

impl Found {
    fn error(&mut self, place: Place, what: impl Into<String>) {
        self.add(place, Severity::Error, what.into());
    }

    fn note(&mut self, place: Place, what: impl Into<String>) {
        self.add(place, Severity::Note, what.into());
    }

    fn add(&mut self, Place { line, byte }: Place, severity: Severity, what: String) {
        self.0.push(GradedFinding { line, byte, what, severity });
    }
}

/// What is kept of an entry.
#[derive(Debug)]
struct Known {
    place: Place,
    /// Position of the first entry with the same id, which stands for the id.
    name: usize,
    parent: Option<usize>,
    says: Says,
}

/// What an entry says of others on its path.
#[derive(Debug)]
enum Says {
    Nothing,
    /// It makes these calls; whether they want results.
    Calls {
        ids: Vec<CallId>,
        wanted: bool,
    },
    /// It is the result of this call.
    Result(CallId),
    /// It keeps the entries from this one on; `None` for one that isn't there.
    Keeps(Option<usize>, EntryId),
}

/// An unreadable line, until what follows tells what became of it.
#[derive(Debug)]
struct Unread {
    place: Place,
    why: String,
    /// Whether it is the beginning of an entry.
    begins: bool,
    closed: bool,
    /// How many lines directly after it can't be read either.
    more: u64,
}

/// Something that a whole file may be full of: told once.
#[derive(Debug)]
struct Habit {
    first: Place,
    count: u64,
}

#[derive(Default)]
struct Check {
    is_fork: bool,
    /// Of an older version: its lines are checked as the present one has them.
    migration: Option<Migration>,
    entries: Vec<Known>,
    by_id: HashMap<EntryId, Positions>,
    found: Found,
    unread: Vec<Unread>,
    /// Entries whose parent stands on no earlier line, with its id.
    orphans: Vec<(usize, EntryId)>,
    habits: BTreeMap<String, Habit>,
    /// Whether the last entry's line is no JSON: what should stand behind it may have gone with its end.
    broken: bool,
    /// `!` commands that have begun and have no record yet.
    commands: HashMap<String, VecDeque<Place>>,
    begun: bool,
}

/// Entries of one id.
#[derive(Clone, Copy, Debug)]
struct Positions {
    first: usize,
    latest: usize,
}

impl Check {
    fn take(&mut self, line: &Line<'_>) {
        if std::mem::replace(&mut self.begun, true) {
            self.take_entry(line);
        } else {
            self.take_header(line);
        }
    }

    fn take_header(&mut self, line: &Line<'_>) {
        let place = Place::from(line);
        let bytes = without_mark(line.bytes);
        if bytes.len() < line.bytes.len() {
            self.found.note(place, "begins with a byte order mark, which is passed over");
        }
        self.note_line_end(line);
        let header = match Header::parse(bytes) {
            Ok(header) => header,
            Err(error) => {
                self.found.error(
                    place,
                    format!("not the header of a session ({error}); tiller doesn't open this file"),
                );
                if LineHead::parse(bytes).is_ok() {
                    self.take_entry(line);
                }
                return;
            }
        };
        self.migration = Migration::of(&header, Vec::new);
        self.is_fork = header.parent_session.is_some();
        if header.version < VERSION {
            let version = header.version;
            self.found.note(place, format!("version {version} of the format; this tiller writes {VERSION}"));
        } else if header.version > VERSION {
            let version = header.version;
            self.found.note(
                place,
                format!("version {version} is newer than the {VERSION} of this tiller, which only reads it"),
            );
        }
        if let Some(odd) = body::header_misfit(bytes) {
            self.found.error(place, format!("{odd}; it is read as absent"));
        }
        let moment = body::key(bytes, "timestamp").unwrap_or_default();
        self.check_moment(place, Some(&moment).filter(|moment| !moment.is_null()));
    }

    fn take_entry(&mut self, line: &Line<'_>) {
        let place = Place::from(line);
        if line.bytes.trim_ascii().is_empty() {
            return self.habit("a blank line, which is passed over", place);
        }
        self.note_line_end(line);
        match self.migration.take() {
            Some(mut migration) => {
                migration.take(line);
                self.take_current(&migration.line(line));
                migration.forget_lines();
                self.migration = Some(migration);
            }
            None => self.take_current(line),
        }
    }

    fn take_current(&mut self, line: &Line<'_>) {
        match head(line) {
            Ok(head) => self.take_head(head, line),
            Err(error) => {
                let place = Place::from(line);
                let cut = std::str::from_utf8(line.bytes).is_err_and(|error| error.error_len().is_none());
                let begins = line.bytes.trim_ascii_start().starts_with(b"{") && (error.is_eof() || cut);
                let why = body::no_utf_8(line.bytes).unwrap_or_else(|| error.to_string());
                let are_many = self.unread.len() >= NAMED;
                match self.unread.last_mut() {
                    Some(last) if are_many => last.more += 1,
                    _ => self.unread.push(Unread { place, why, begins, closed: line.closed, more: 0 }),
                }
            }
        }
    }

    fn take_head(&mut self, head: LineHead<'_>, line: &Line<'_>) {
        let (place, position) = (Place::from(line), self.entries.len());
        let id = EntryId::new(&head.id);
        let parent = self.parent(head.parent.as_deref().map(EntryId::new), place);
        if head.id.is_empty() {
            self.found.error(place, "its id is empty, so nothing can name it for certain");
        }
        // Zero is what a moment that can't be read is taken for.
        if head.timestamp == UnixMs(0) {
            self.check_moment(place, body::key(line.bytes, "timestamp").as_ref());
        }
        let earlier = self.by_id.get(&id).copied();
        if let Some(earlier) = earlier {
            let at = self.entries[earlier.latest].place.line;
            self.found.error(
                place,
                format!("the id {id} is that of line {at} too; what follows here means the nearer one"),
            );
        }
        let says = self.says(&id, &head, line);
        let name = earlier.map_or(position, |earlier| earlier.first);
        self.by_id.insert(id, Positions { first: name, latest: position });
        self.entries.push(Known { place, name, parent, says });
    }

    fn parent(&mut self, named: Option<EntryId>, place: Place) -> Option<usize> {
        let unread = std::mem::take(&mut self.unread);
        let lost = named.clone().filter(|parent| !self.by_id.contains_key(parent));
        let bridge = match &lost {
            Some(_) if !unread.is_empty() || self.broken => self.entries.len().checked_sub(1),
            Some(_) | None => None,
        };
        for unread in unread {
            self.tell_unread(unread, bridge.is_some());
        }
        match (lost, bridge) {
            (None, _) => self.earlier(&named?),
            (Some(lost), Some(bridge)) => {
                let line = self.entries[bridge].place.line;
                self.found.note(place, format!("its parent {lost} is lost with the unreadable lines before it; it follows the entry of line {line} instead"));
                Some(bridge)
            }
            (Some(lost), None) => {
                self.orphans.push((self.entries.len(), lost));
                None
            }
        }
    }

    /// An unreadable line. What follows tells whether an entry was lost with it: a torn one was never taken up.
    fn tell_unread(&mut self, Unread { place, mut why, begins, closed, more }: Unread, entry_lost: bool) {
        if more > 0 {
            why += &format!("; so are the {more} lines after it");
        }
        match (begins && !entry_lost, closed) {
            (true, true) => {
                self.found.note(
                    place,
                    format!(
                        "torn: it ends in the middle ({why}) and was closed later; it is kept and passed over"
                    ),
                );
            }
            (true, false) => {
                self.found.note(place, format!("torn: the file ends in the middle of it ({why}); it is closed when the session goes on"));
            }
            (false, _) => {
                self.found.error(place, format!("not readable ({why}); it is kept and passed over"));
            }
        }
    }

    fn earlier(&self, id: &EntryId) -> Option<usize> {
        self.by_id.get(id).map(|positions| positions.latest)
    }

    fn check_moment(&mut self, place: Place, moment: Option<&Value>) {
        match moment {
            Some(Value::String(text)) if UnixMs::from_iso(text).is_some() => {}
            Some(moment) if moment != "" => {
                self.found.error(place, format!("its timestamp {moment} is no moment; it is taken for 1970"));
            }
            Some(_) | None => self.found.error(place, "it has no timestamp; it is taken for 1970"),
        }
    }

    fn note_line_end(&mut self, line: &Line<'_>) {
        if line.bytes.ends_with(b"\r") {
            self.habit("ends in CR LF, which is read like LF", line.into());
        }
    }

    fn habit(&mut self, what: impl Into<String>, place: Place) {
        self.habits.entry(what.into()).or_insert(Habit { first: place, count: 0 }).count += 1;
    }

    /// Reads the body; what it says of other entries.
    fn says(&mut self, id: &EntryId, head: &LineHead<'_>, line: &Line<'_>) -> Says {
        let place = Place::from(line);
        let read = body::read(head, line.bytes);
        self.broken = read.body.as_ref().is_err_and(|error| error.is_eof() || error.is_syntax());
        if read.lone_surrogates {
            self.found.note(place, "holds half a surrogate pair as an escape; it is read as U+FFFD");
        }
        if let Some(why) = read.no_utf_8 {
            self.found.error(place, format!("{why}; what is no character is read as U+FFFD"));
        }
        if let Some(odd) = read.usage {
            self.found
                .error(place, format!("its usage is not in numbers: {odd}; what it cost is not counted"));
        }
        if let Some(odd) = body::entry_misfit(line.bytes).filter(|_| read.body.is_ok()) {
            self.found.error(place, format!("{odd}; it is read as absent"));
        }
        match read.body {
            Ok(_) if head.kind == EntryKind::Unknown => {
                let name = body::key(line.bytes, "type").unwrap_or_default();
                let what =
                    format!("an entry of type {name}, which tiller doesn't know; it is kept and passed over");
                self.habit(what, place);
                Says::Nothing
            }
            Ok(body) => self.take_body(id, &body, place),
            Err(error) if error.is_eof() => {
                let what = format!(
                    "torn: it ends in the middle ({error}) and was closed later; nobody reads what is left of it"
                );
                self.found.note(place, what);
                Says::Nothing
            }
            Err(error) => {
                self.found.error(
                    place,
                    format!(
                        "damaged: {error}; it keeps its place in the tree, but nobody reads what it says"
                    ),
                );
                Says::Nothing
            }
        }
    }

    fn take_body(&mut self, id: &EntryId, body: &EntryBody, place: Place) -> Says {
        match body {
            EntryBody::Label { target_id, .. } => self.check_target("label", target_id, place),
            EntryBody::ContextEdit { target_id, .. } => self.check_target("edit", target_id, place),
            EntryBody::Compaction(compaction) => return self.keeps(id, compaction),
            EntryBody::Message(said) => return self.take_message(&said.message),
            EntryBody::Custom { custom_type, .. } if custom_type.starts_with("tiller.") => {
                self.take_fact(custom_type, body, place);
            }
            _ => {}
        }
        Says::Nothing
    }

    fn keeps(&self, id: &EntryId, compaction: &Compaction) -> Says {
        let kept = &compaction.first_kept_entry_id;
        if kept == id {
            return Says::Nothing;
        }
        Says::Keeps(self.earlier(kept).map(|at| self.entries[at].name), kept.clone())
    }

    fn take_message(&mut self, message: &Message) -> Says {
        match message {
            Message::Assistant(answer) => calls(answer),
            Message::ToolResult(result) => Says::Result(result.tool_call_id.clone()),
            Message::BashExecution(record) => {
                self.commands.get_mut(&record.command).and_then(VecDeque::pop_front);
                Says::Nothing
            }
            Message::User(_) | Message::System(_) => Says::Nothing,
        }
    }

    fn take_fact(&mut self, custom_type: &str, body: &EntryBody, place: Place) {
        match body.as_own() {
            Some(TillerEntry::Hide { target_id, .. }) => self.check_target("hiding", &target_id, place),
            Some(TillerEntry::Bash { command, .. }) => {
                self.commands.entry(command).or_default().push_back(place);
            }
            Some(_) => {}
            None => {
                let what = format!(
                    "a fact {custom_type:?}, which this tiller doesn't understand; it is kept and passed over"
                );
                self.habit(what, place);
            }
        }
    }

    /// What is said of an entry that isn't there says nothing. A fork has only its own path of what its parent spoke of.
    fn check_target(&mut self, what: &str, target: &EntryId, place: Place) {
        if self.by_id.contains_key(target) {
            return;
        }
        if self.is_fork {
            let text = format!(
                "its {what} is about {target}, which stayed behind when this session was forked; it has no effect"
            );
            self.found.note(place, text);
        } else {
            let text = format!(
                "its {what} is about {target}, which is not in the lines before it; it has no effect"
            );
            self.found.error(place, text);
        }
    }

    fn finish(mut self) -> VerifyReport {
        if !self.begun {
            let place = Place { line: 1, byte: 0 };
            self.found.error(place, "the file is empty; tiller doesn't open it");
        }
        for unread in std::mem::take(&mut self.unread) {
            self.tell_unread(unread, false);
        }
        for (what, Habit { first, count }) in std::mem::take(&mut self.habits) {
            let more = match count {
                1 => String::new(),
                2 => " (and another line is the same)".to_owned(),
                count => format!(" (and {} other lines are the same)", count - 1),
            };
            self.found.note(first, what + &more);
        }
        for place in self.commands.values().flatten() {
            self.found.note(*place, "a command of the user's own began here and has no record; one that says it was cut off is written when the session goes on");
        }
        let orphans = walk::walk(&self.entries, &mut self.found).tell_orphans(&self);
        for (position, what) in orphans {
            self.found.error(self.entries[position].place, what);
        }
        let mut findings = self.found.0;
        findings.sort_by_key(|finding| finding.line);
        VerifyReport { entries: self.entries.len(), findings }
    }
}

/// The head of an entry, as a reader takes it: the end of a line that nobody closed must be there as well.
fn head<'a>(line: &Line<'a>) -> serde_json::Result<LineHead<'a>> {
    let bytes = line.bytes.trim_ascii();
    if !line.closed {
        serde_json::from_slice::<IgnoredAny>(bytes)?;
    }
    LineHead::parse(bytes)
}

/// The calls of an answer. Those of a failed or stopped one were never run, and want no results.
fn calls(answer: &AssistantMessage) -> Says {
    let mut seen = HashSet::new();
    let ids: Vec<CallId> =
        answer.tool_calls().map(|call| call.id.clone()).filter(|id| seen.insert(id.clone())).collect();
    let wanted = !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
    if ids.is_empty() { Says::Nothing } else { Says::Calls { ids, wanted } }
}
