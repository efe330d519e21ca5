//! Looking things up in a log while somebody else may be appending to it.

mod derived;
mod section;

pub(super) use derived::waiting;
pub use section::Section;

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use tiller_core::id::{EntryId, SessionId};
use tiller_core::message::Message;

use super::entry::{self, Entry, EntryBody, Header};
use super::error::{SessionError, chain};
use super::index::{Finding, Index, Indexed, is_json};
use super::line_scan::LineRole;
use super::lines::Line;
use super::log::Log;
use super::migrate::Migration;
use super::tree::{Tree, TreeNode};

/// A view of one log that grows with it. Cheap to clone; positioned reads, so no reader waits for another.
#[derive(Clone, Debug)]
pub struct Reader {
    pub(super) shared: Arc<Shared>,
}

/// What a log's writer and its readers have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) header: Header,
    pub(super) log: Log,
    pub(super) index: RwLock<Index>,
}

impl Shared {
    pub(super) fn new(header: Header, log: Log) -> Self {
        Self { header, log, index: RwLock::default() }
    }

    /// Reads header and index from a log's bytes. An older version is read as the present one, from memory; `begin` is what its
    /// lines are put behind there.
    pub(super) fn load(log: Log, begin: impl FnOnce(&Header) -> Vec<u8>) -> Result<Self, SessionError> {
        let Read { header, index, migrated } = read(&log, begin)?;
        let log = match migrated {
            Some(lines) => log.migrated(lines),
            None => log,
        };
        Ok(Self { header, log, index: RwLock::new(index) })
    }

    /// The same log in a new file, which isn't made yet and whose first line is `header`.
    pub(super) fn succeeded(self, header: Header) -> Self {
        let path = self.log.path_shown().with_file_name(header.file_name());
        Self { header, log: self.log.staged(path), index: self.index }
    }

    /// Reads the index again, because the file is no longer what it was; answers with the old one.
    pub(super) fn reread(&self) -> Result<Index, SessionError> {
        let Read { index, .. } = read(&self.log, |_| Vec::new())?;
        Ok(self.replace_index(index))
    }

    /// Takes in the lines of a part of the file that follows what is known of it.
    pub(super) fn take_in(&self, part: Range<u64>) -> Result<(), SessionError> {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        let next = index.lines() + 1;
        self.log.scan_part(part, next, |line| {
            index.take(line, |entry| is_whole(&self.log, entry));
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

/// What one pass over a log yields.
struct Read {
    header: Header,
    index: Index,
    /// The lines as the present version has them, if the log is of an older one.
    migrated: Option<Vec<u8>>,
}

fn read(log: &Log, begin: impl FnOnce(&Header) -> Vec<u8>) -> Result<Read, SessionError> {
    let (mut index, mut header) = (Index::default(), None);
    let (mut migration, mut begin) = (None, Some(begin));
    log.scan(|line| match &header {
        None => {
            let parsed = parse_header(log, line);
            if let (Ok(parsed), Some(begin)) = (&parsed, begin.take()) {
                migration = Migration::of(parsed, || begin(parsed));
            }
            let is_header = parsed.is_ok();
            header = Some(parsed);
            index.pass_header();
            if is_header { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }
        Some(_) => {
            match &mut migration {
                Some(migration) => {
                    migration.take(line);
                    index.take(&migration.line(line), |entry| migration.is_whole(entry));
                }
                None => index.take(line, |entry| is_whole(log, entry)),
            }
            ControlFlow::Continue(())
        }
    })?;
    let empty = || SessionError::Header { path: log.path_shown(), what: "the file is empty".into() };
    Ok(Read { header: header.ok_or_else(empty)??, index, migrated: migration.map(Migration::finish) })
}

fn parse_header(log: &Log, line: &Line<'_>) -> Result<Header, SessionError> {
    Header::parse(line.bytes).map_err(|error| SessionError::Header {
        path: log.path_shown(),
        what: format!("not the header of a session ({error})"),
    })
}

/// Whether an entry's line is JSON to its end, where the file has it.
fn is_whole(log: &Log, entry: &Indexed) -> bool {
    log.read_at(entry.offset, entry.length).is_ok_and(|line| is_json(&line))
}

impl Reader {
    /// Opens a log to look at it; the file isn't changed.
    ///
    /// # Errors
    /// When the file can't be read, or its first line is no session header.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        Ok(Self { shared: Arc::new(Shared::load(Log::open_to_read(path)?, |_| Vec::new())?) })
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.shared.header
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.shared.header.id
    }

    /// Where the file is or will be; `None` for a session in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.shared.log.path()
    }

    /// Whether this is its file, by whatever name: through a link, or from another directory.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        let Some(own) = self.path() else { return false };
        let real = |path: &Path| path.canonicalize().ok();
        own == path || real(own).is_some_and(|own| real(path) == Some(own))
    }

    /// Whether anything has been written yet.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.shared.log.exists()
    }

    /// Whether it can be opened again: something has been written, and not in memory alone.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.path().is_some() && self.exists()
    }

    /// The entry where the next one attaches: the last of the file.
    #[must_use]
    pub fn leaf(&self) -> Option<EntryId> {
        self.shared.index().leaf().cloned()
    }

    /// How many entries there are, on all branches.
    #[must_use]
    pub fn entry_count(&self) -> usize {
        self.shared.index().entries().len()
    }

    /// What is wrong with the lines, as far as their heads tell.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.shared.index().findings()
    }

    /// What whoever goes on with it in this directory should know, a sentence each: that it is of another one, and what is wrong
    /// with its lines.
    #[must_use]
    pub fn remarks(&self, cwd: &Path) -> Vec<String> {
        let home = Path::new(&self.header().cwd);
        let elsewhere = (home != cwd && home.exists()).then(|| {
            let (home, cwd) = (home.display(), cwd.display());
            format!("this session is of {home} and stays in its list; commands run in {cwd}")
        });
        let findings = self.findings();
        let findings = findings.iter().map(|finding| {
            format!("session log, line {} (byte {}): {}", finding.line, finding.byte, finding.what)
        });
        elsewhere.into_iter().chain(findings).collect()
    }

    /// One entry.
    ///
    /// # Errors
    /// When there is none of that id, or what it says can't be read.
    pub fn entry(&self, id: &EntryId) -> Result<Entry, SessionError> {
        let position = self.position(id)?;
        self.entry_at(position)
    }

    /// Ids from the root to `leaf`, both among them.
    ///
    /// # Errors
    /// When there is no entry `leaf`.
    pub fn path_to(&self, leaf: &EntryId) -> Result<Vec<EntryId>, SessionError> {
        let index = self.shared.index();
        Ok(index.path_to(leaf)?.into_iter().filter_map(|at| index.entries().id(at)).collect())
    }

    /// Entries from the root to `leaf`; damaged ones are left out and named in the findings.
    ///
    /// # Errors
    /// When there is no entry `leaf`, or the file can't be read.
    pub fn branch(&self, leaf: &EntryId) -> Result<(Vec<Entry>, Vec<Finding>), SessionError> {
        let path = self.shared.index().path_to(leaf)?;
        self.entries_at(path)
    }

    /// Every entry in the order of the file; damaged ones are left out and named in the findings.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn entries(&self) -> Result<(Vec<Entry>, Vec<Finding>), SessionError> {
        let all = 0..self.entry_count();
        self.entries_at(all)
    }

    /// Visits the entries from the position `from` (counted from 0) on in the order of the file, one at a time; a damaged
    /// one as a finding.
    ///
    /// # Errors
    /// When the file can't be read.
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

    /// The entry that a person's words name: an id, or a prefix or suffix of one.
    ///
    /// # Errors
    /// When none or several go by it.
    pub fn find(&self, fragment: &str) -> Result<EntryId, SessionError> {
        let index = self.shared.index();
        let ids: Vec<EntryId> = index.entries().ids().filter(|id| id.matches(fragment)).collect();
        match ids.as_slice() {
            // Of entries with the same id the newest is meant, as everywhere.
            [id, others @ ..] if others.iter().all(|other| other == id) => Ok(id.clone()),
            [] => Err(SessionError::NoEntry(fragment.into())),
            several => several.iter().find(|id| id.as_str() == fragment).cloned().ok_or_else(|| {
                SessionError::NotFound(format!("`{fragment}` names {} entries", several.len()))
            }),
        }
    }

    /// The tree of entries, without what they say.
    #[must_use]
    pub fn tree(&self) -> Tree {
        let index = self.shared.index();
        let node = |(id, entry): (EntryId, Indexed)| TreeNode {
            id,
            parent: entry.parent(),
            kind: entry.kind,
            role: entry.role,
            timestamp: entry.timestamp,
        };
        Tree::new(index.entries().ids().zip(index.entries().iter()).map(node).collect())
    }

    /// The session's name: what the last `session_info` says.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.last_of(super::EntryKind::SessionInfo).and_then(|body| match body {
            EntryBody::SessionInfo { name } => name.filter(|name| !name.is_empty()),
            _ => None,
        })
    }

    /// The first thing the user said, on any branch.
    #[must_use]
    pub fn first_prompt(&self) -> Option<String> {
        let prompts: Vec<usize> = {
            let index = self.shared.index();
            let said = index.entries().iter().enumerate();
            said.filter(|(_, entry)| entry.role == Some(LineRole::User)).map(|(at, _)| at).collect()
        };
        prompts.into_iter().find_map(|at| match self.entry_at(at).ok()?.body.as_message()?.as_ref() {
            Message::User(user) => Some(user.as_typed()),
            _ => None,
        })
    }

    /// The lines of the path to `leaf` exactly as they stand in the file, each with its newline. Unreadable lines that a
    /// bridge leads across are among them: without them its upper end would be an unknown parent.
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

    fn last_of(&self, kind: super::EntryKind) -> Option<EntryBody> {
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
                let byte = self.indexed(position)?.0.offset;
                Ok(Err(Finding { line, byte, what: chain(&error) }))
            }
            Err(error) => Err(error),
        }
    }

    /// An entry's place, its id, and its parent's. Positions end to stand for entries when a log is cut short.
    fn indexed(&self, position: usize) -> Result<(Indexed, EntryId, Option<EntryId>), SessionError> {
        let index = self.shared.index();
        let entries = index.entries();
        let Some((entry, id)) = entries.at(position).zip(entries.id(position)) else {
            let source = std::io::ErrorKind::UnexpectedEof.into();
            return Err(SessionError::Io { path: self.shared.log.path_shown(), action: "be read", source });
        };
        Ok((entry, id, entry.parent().and_then(|parent| entries.id(parent))))
    }

    /// The entry at a position, counted from 0 in the order of the file.
    ///
    /// # Errors
    /// When there are fewer, or what it says can't be read.
    pub fn entry_at(&self, position: usize) -> Result<Entry, SessionError> {
        let (at, id, parent) = self.indexed(position)?;
        let bytes = self.shared.log.read_at(at.stored, at.length)?;
        let damaged = |source| SessionError::Damaged {
            path: self.path().map_or_else(PathBuf::new, Path::to_path_buf),
            line: at.line,
            id: id.clone(),
            source,
        };
        let body = entry::parse_body(at.kind, at.role, &bytes).map_err(damaged)?;
        Ok(Entry { timestamp: at.timestamp, id, parent, body })
    }
}
