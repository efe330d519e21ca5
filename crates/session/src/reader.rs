//! Readers of a log, to which another process or the writer may append at the same time.

mod derived;
mod section;

pub(super) use derived::queued_ids;
pub use section::Section;

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use tiller_core::id::{EntryId, MIN_FRAGMENT, SessionId};
use tiller_core::json_error::without_position;
use tiller_core::message::Message;

use super::agents_dir::agents_dir;
use super::entry::{self, Entry, EntryBody, Header};
use super::error::{SessionError, chain, too_short};
use super::index::{Finding, Index, IndexEntry};
use super::line_scan::LineRole;
use super::line_scan::is_json;
use super::lines::LogLine;
use super::log::Log;
use super::migrate::Migration;
use super::tree::{Tree, TreeNode};

/// A live view of a log. Cheap to clone; reads are positioned, so readers don't block each other.
#[derive(Clone, Debug)]
pub struct Reader {
    pub(super) shared: Arc<SharedLog>,
}

/// State shared by a log's writer and readers.
#[derive(Debug)]
pub(super) struct SharedLog {
    pub(super) header: Header,
    pub(super) log: Log,
    pub(super) index: RwLock<Index>,
}

impl SharedLog {
    pub(super) fn new(header: Header, log: Log) -> Self {
        Self { header, log, index: RwLock::default() }
    }

    /// Reads header and index from a log. An older version is migrated in memory; `read_beginning` returns
    /// the bytes before its first migrated line.
    pub(super) fn load(
        log: Log,
        read_beginning: impl FnOnce(&Header) -> Vec<u8>,
    ) -> Result<Self, SessionError> {
        let ParsedLog { header, index, migrated } = parse_log(&log, read_beginning)?;
        let log = match migrated {
            Some(lines) => log.with_migrated_lines(lines),
            None => log,
        };
        Ok(Self { header, log, index: RwLock::new(index) })
    }

    /// Returns the same log in a new file with this header, created by the next append.
    pub(super) fn with_successor(self, header: Header) -> Self {
        let path = self.log.display_path().with_file_name(header.file_name());
        Self { header, log: self.log.staged(path), index: self.index }
    }

    /// Builds the index again after the file has changed; returns the old one.
    pub(super) fn reread(&self) -> Result<Index, SessionError> {
        let ParsedLog { index, .. } = parse_log(&self.log, |_| Vec::new())?;
        Ok(self.replace_index(index))
    }

    /// Indexes the lines in a range of the file that follows the indexed part.
    pub(super) fn index_range(&self, part: Range<u64>) -> Result<(), SessionError> {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        let next = index.lines() + 1;
        self.log.scan_range(part, next, |line| {
            index.add_line(line, |entry| is_complete_json(&self.log, entry));
            ControlFlow::Continue(())
        })
    }

    pub(super) fn replace_index(&self, index: Index) -> Index {
        std::mem::replace(&mut self.index.write().unwrap_or_else(PoisonError::into_inner), index)
    }

    pub(super) fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of one pass over a log.
struct ParsedLog {
    header: Header,
    index: Index,
    /// The migrated lines of a log of an older version.
    migrated: Option<Vec<u8>>,
}

fn parse_log(log: &Log, read_beginning: impl FnOnce(&Header) -> Vec<u8>) -> Result<ParsedLog, SessionError> {
    let (mut index, mut header) = (Index::default(), None);
    let (mut migration, mut read_beginning) = (None, Some(read_beginning));
    log.scan(|line| match &header {
        None => {
            let parsed = parse_header(log, line);
            if let (Ok(parsed), Some(read_beginning)) = (&parsed, read_beginning.take()) {
                migration = Migration::for_header(parsed, || read_beginning(parsed));
            }
            let is_header = parsed.is_ok();
            header = Some(parsed);
            index.count_header();
            if is_header { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }
        Some(_) => {
            match &mut migration {
                Some(migration) => {
                    migration.migrate_line(line);
                    index.add_line(&migration.last_line(line), |entry| migration.is_complete_json(entry));
                }
                None => index.add_line(line, |entry| is_complete_json(log, entry)),
            }
            ControlFlow::Continue(())
        }
    })?;
    let empty = || SessionError::Header { path: log.display_path(), problem: "the file is empty".into() };
    Ok(ParsedLog { header: header.ok_or_else(empty)??, index, migrated: migration.map(Migration::finish) })
}

fn parse_header(log: &Log, line: &LogLine<'_>) -> Result<Header, SessionError> {
    Header::parse(line.bytes).map_err(|error| SessionError::Header {
        path: log.display_path(),
        problem: format!("not a session header ({})", without_position(&error)),
    })
}

/// Returns true if an entry's line in the file is complete JSON.
fn is_complete_json(log: &Log, entry: &IndexEntry) -> bool {
    log.read_at(entry.offset, entry.length).is_ok_and(|line| is_json(&line))
}

impl Reader {
    /// Opens a log for reading; the file isn't changed.
    ///
    /// # Errors
    /// If the file can't be read, or its first line is not a session header.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        Ok(Self { shared: Arc::new(SharedLog::load(Log::open_to_read(path)?, |_| Vec::new())?) })
    }

    /// The log's header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.shared.header
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.shared.header.id
    }

    /// The file's path, even before it is created; `None` for a session in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.shared.log.path()
    }

    /// The directory of this session's agent sessions, which exists after the first one. `None` for a session
    /// in memory.
    #[must_use]
    pub fn agents_dir(&self) -> Option<PathBuf> {
        self.path().map(agents_dir)
    }

    /// Returns true if `path` leads to this log's file, even through links or from another directory.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        let Some(own_path) = self.path() else { return false };
        let canonical = |path: &Path| path.canonicalize().ok();
        own_path == path || canonical(own_path).is_some_and(|own_path| canonical(path) == Some(own_path))
    }

    /// Returns true if anything has been written.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.shared.log.exists()
    }

    /// Returns true if the session can be opened again: it was written to a file.
    #[must_use]
    pub fn is_persistent(&self) -> bool {
        self.path().is_some() && self.exists()
    }

    /// The parent of the next entry, which is the last entry of the file.
    #[must_use]
    pub fn leaf(&self) -> Option<EntryId> {
        self.shared.index().leaf().cloned()
    }

    /// The number of entries on all branches.
    #[must_use]
    pub fn entry_count(&self) -> usize {
        self.shared.index().entries().len()
    }

    /// The highest background-job number in tool results, on any branch; 0 if there is none.
    #[must_use]
    pub fn last_job(&self) -> u64 {
        self.shared.index().last_job()
    }

    /// Problems found in the heads of lines.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.shared.index().findings()
    }

    /// Warnings for a user who resumes the session in `cwd`, one sentence each: a note if it belongs to
    /// another directory, and the findings.
    #[must_use]
    pub fn warnings(&self, cwd: &Path) -> Vec<String> {
        let session_cwd = Path::new(&self.header().cwd);
        let other_directory = (session_cwd != cwd && session_cwd.exists()).then(|| {
            let (session_cwd, cwd) = (session_cwd.display(), cwd.display());
            format!("this session belongs to {session_cwd} and stays listed there; commands run in {cwd}")
        });
        let findings = self.findings();
        let findings = findings.iter().map(|finding| {
            format!("session log, line {} (byte {}): {}", finding.line, finding.byte, finding.what)
        });
        other_directory.into_iter().chain(findings).collect()
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// If there is no entry with that id, or its body can't be read.
    pub fn entry(&self, id: &EntryId) -> Result<Entry, SessionError> {
        let position = self.position(id)?;
        self.entry_at(position)
    }

    /// Ids from the root to `leaf`, inclusive.
    ///
    /// # Errors
    /// If there is no entry `leaf`.
    pub fn path_to(&self, leaf: &EntryId) -> Result<Vec<EntryId>, SessionError> {
        let index = self.shared.index();
        Ok(index.path_to(leaf)?.into_iter().filter_map(|at| index.entries().id(at)).collect())
    }

    /// Entries from the root to `leaf`; damaged ones are returned as findings.
    ///
    /// # Errors
    /// If there is no entry `leaf`, or the file can't be read.
    pub fn branch(&self, leaf: &EntryId) -> Result<(Vec<Entry>, Vec<Finding>), SessionError> {
        let path = self.shared.index().path_to(leaf)?;
        self.entries_at(path)
    }

    /// All entries in file order; damaged ones are returned as findings.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn entries(&self) -> Result<(Vec<Entry>, Vec<Finding>), SessionError> {
        let all = 0..self.entry_count();
        self.entries_at(all)
    }

    /// Visits the entries from position `from` (counted from 0) in file order, one at a time; damaged ones as
    /// findings.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn visit(
        &self,
        from: usize,
        mut visitor: impl FnMut(Result<Entry, Finding>),
    ) -> Result<(), SessionError> {
        for position in from..self.entry_count() {
            visitor(self.entry_or_finding(position)?);
        }
        Ok(())
    }

    /// Reads the lines of the entries after an entry, unchanged, without their newlines.
    ///
    /// # Errors
    /// If there is no such entry, or the file can't be read.
    pub fn lines_after(&self, id: &EntryId) -> Result<Vec<Vec<u8>>, SessionError> {
        let line = |position| {
            let (at, ..) = self.index_entry(position)?;
            let mut line = self.shared.log.read_at(at.stored, at.length)?;
            line.truncate(line.trim_ascii_end().len());
            Ok(line)
        };
        (self.position(id)? + 1..self.entry_count()).map(line).collect()
    }

    /// Reads the lines of the log, unchanged, without their newlines: the header, then every entry that is
    /// written completely.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn lines(&self) -> Result<Vec<Vec<u8>>, SessionError> {
        let mut lines = Vec::new();
        self.shared.log.scan(|line| {
            if line.closed {
                lines.push(line.bytes.to_vec());
            }
            ControlFlow::Continue(())
        })?;
        if lines.is_empty() {
            lines.push(self.shared.header.line().trim_ascii_end().to_vec());
        }
        Ok(lines)
    }

    /// Finds an entry by its id, or by a prefix or suffix of the id.
    ///
    /// # Errors
    /// If no entry or several match.
    pub fn find(&self, fragment: &str) -> Result<EntryId, SessionError> {
        let index = self.shared.index();
        let ids: Vec<EntryId> = index.entries().ids().filter(|id| id.matches(fragment)).collect();
        match ids.as_slice() {
            // A duplicate id refers to the newest entry, as everywhere.
            [id, others @ ..] if others.iter().all(|other| other == id) => Ok(id.clone()),
            [] if fragment.chars().count() < MIN_FRAGMENT => {
                Err(SessionError::EntryNotFound(too_short(fragment)))
            }
            [] => Err(SessionError::NoEntry(fragment.into())),
            several => several.iter().find(|id| id.as_str() == fragment).cloned().ok_or_else(|| {
                let count = several.len();
                SessionError::EntryNotFound(format!(
                    "`{fragment}` matches {count} entries; give more of the id"
                ))
            }),
        }
    }

    /// The tree of entries, without bodies.
    #[must_use]
    pub fn tree(&self) -> Tree {
        let index = self.shared.index();
        let node = |(id, entry): (EntryId, IndexEntry)| TreeNode {
            id,
            parent: entry.parent(),
            kind: entry.kind,
            role: entry.role,
            timestamp: entry.timestamp,
        };
        Tree::new(index.entries().ids().zip(index.entries().iter()).map(node).collect())
    }

    /// The session's name, from the last `session_info`.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.last_body(super::EntryKind::SessionInfo).and_then(|body| match body {
            EntryBody::SessionInfo { name } => name.filter(|name| !name.is_empty()),
            _ => None,
        })
    }

    /// The first user message on any branch, as typed.
    #[must_use]
    pub fn first_prompt(&self) -> Option<String> {
        let prompts: Vec<usize> = {
            let index = self.shared.index();
            let entries = index.entries().iter().enumerate();
            entries.filter(|(_, entry)| entry.role == Some(LineRole::User)).map(|(at, _)| at).collect()
        };
        prompts.into_iter().find_map(|at| match self.entry_at(at).ok()?.body.as_message()?.as_ref() {
            Message::User(user) => Some(user.as_typed()),
            _ => None,
        })
    }

    /// The raw lines of the path to `leaf`, each with its newline. Unreadable lines between an entry and its
    /// assumed parent are included; without them the parent would be unknown.
    pub(super) fn raw_path(&self, leaf: &EntryId) -> Result<Vec<u8>, SessionError> {
        let spans: Vec<Range<u64>> = {
            let index = self.shared.index();
            index.path_to(leaf)?.into_iter().map(|at| index.span_with_gap(at)).collect()
        };
        let mut lines = Vec::new();
        for span in spans {
            let length = usize::try_from(span.end - span.start).unwrap_or(usize::MAX);
            lines.extend(self.shared.log.read_at(span.start, length)?);
            lines.push(b'\n');
        }
        Ok(lines)
    }

    fn last_body(&self, kind: super::EntryKind) -> Option<EntryBody> {
        let position = self.shared.index().entries().iter().rposition(|entry| entry.kind == kind)?;
        self.entry_at(position).ok().map(|entry| entry.body)
    }

    fn position(&self, id: &EntryId) -> Result<usize, SessionError> {
        self.shared.index().position_of(id)
    }

    fn entries_at(
        &self,
        positions: impl IntoIterator<Item = usize>,
    ) -> Result<(Vec<Entry>, Vec<Finding>), SessionError> {
        let (mut entries, mut findings) = (Vec::new(), Vec::new());
        for position in positions {
            match self.entry_or_finding(position)? {
                Ok(entry) => entries.push(entry),
                Err(finding) => findings.push(finding),
            }
        }
        Ok((entries, findings))
    }

    fn entry_or_finding(&self, position: usize) -> Result<Result<Entry, Finding>, SessionError> {
        match self.entry_at(position) {
            Ok(entry) => Ok(Ok(entry)),
            Err(error @ SessionError::Damaged { line, .. }) => {
                let byte = self.index_entry(position)?.0.offset;
                Ok(Err(Finding { line, byte, what: chain(&error) }))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns an index entry with its id and its parent's. A position may become invalid if the log is
    /// truncated.
    fn index_entry(&self, position: usize) -> Result<(IndexEntry, EntryId, Option<EntryId>), SessionError> {
        let index = self.shared.index();
        let entries = index.entries();
        let Some((entry, id)) = entries.at(position).zip(entries.id(position)) else {
            let source = std::io::ErrorKind::UnexpectedEof.into();
            return Err(SessionError::Io { path: self.shared.log.display_path(), action: "be read", source });
        };
        Ok((entry, id, entry.parent().and_then(|parent| entries.id(parent))))
    }

    /// The entry at a position, counted from 0 in the order of the file.
    ///
    /// # Errors
    /// If there are fewer entries, or the body can't be read.
    pub fn entry_at(&self, position: usize) -> Result<Entry, SessionError> {
        let (at, id, parent) = self.index_entry(position)?;
        let bytes = self.shared.log.read_at(at.stored, at.length)?;
        let damaged = |error| SessionError::Damaged {
            path: self.path().map_or_else(PathBuf::new, Path::to_path_buf),
            line: at.line,
            id: id.clone(),
            problem: without_position(&error),
        };
        let body = entry::parse_body(at.kind, at.role, &bytes).map_err(damaged)?;
        Ok(Entry { timestamp: at.timestamp, id, parent, body })
    }
}
