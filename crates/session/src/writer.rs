//! The writer of a log.
//!
//! An entry is in the tree only after its complete line is in the file. Entries such as a model change don't
//! create the file: they are buffered here until one that does (a prompt, a `!` command), except after
//! [`Writer::keep_empty`]. Changes by other programs are detected before each append: [`external_change`].

mod external_change;
mod file_check;

use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use tiller_core::entry_line::EntryLine;
use tiller_core::id::{EntryId, QueueId};
use tiller_core::unit::UnixMs;

use super::entry::{self, Entry, EntryBody, Header, TillerEntry};
use super::error::SessionError;
use super::fs::{Fs, FsFile, OsFs};
use super::id_gen::IdGenerator;
use super::line_scan::LineHead;
use super::lines::LogLine;
use super::log::Log;
use super::reader::{Reader, SharedLog};

pub use external_change::ExternalChange;

/// The only writer of a log.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<SharedLog>,
    id_gen: IdGenerator,
    unwritten: Vec<EntryBody>,
    /// True if every entry creates the file.
    keeps_empty: bool,
    /// The expected length of the file in bytes; `None` if the file must be read again first.
    length: Option<u64>,
    /// True if the last line has no newline; the next append closes it.
    is_torn: bool,
    external_changes: Vec<ExternalChange>,
}

/// An entry that was just written to the log.
#[derive(Clone, Debug)]
pub struct AppendedEntry {
    /// The entry's id.
    pub id: EntryId,
    /// The content.
    pub body: EntryBody,
    /// The line as written.
    pub line: EntryLine,
}

/// A line to append, complete with its newline.
struct NewLine<'a> {
    bytes: &'a [u8],
    /// Its head; `None` if it must be read from the line.
    head: Option<LineHead<'a>>,
}

impl Writer {
    /// Creates a new log without writing to disk.
    pub(super) fn create(header: Header, log: Log, id_gen: IdGenerator) -> Self {
        Self::with_shared(SharedLog::new(header, log), id_gen, 0)
    }

    fn with_shared(shared: SharedLog, id_gen: IdGenerator, length: u64) -> Self {
        let external_changes = Vec::new();
        Self {
            shared: Arc::new(shared),
            id_gen,
            unwritten: Vec::new(),
            keeps_empty: false,
            length: Some(length),
            is_torn: false,
            external_changes,
        }
    }

    /// Opens a log for appending, and ends a torn last line with a newline. A log of an older version is continued in a
    /// new file next to it, which the first append creates.
    ///
    /// # Errors
    /// If the file can't be read or written, isn't a session, has a newer version, or another process writes
    /// to it.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        Self::open_on(Arc::new(OsFs), path)
    }

    pub(super) fn open_on(fs: Arc<dyn Fs>, path: &Path) -> Result<Self, SessionError> {
        Self::from_log(Log::open_to_write(fs, path)?)
    }

    /// Creates the writer of a log that is open for writing.
    pub(super) fn from_log(log: Log) -> Result<Self, SessionError> {
        // Measured before reading, so that lines appended in between are found by the next append.
        let length = log.length()?;
        let (path, mut header) = (log.display_path(), None);
        let shared = SharedLog::load(log, |older| {
            header.insert(older.successor(&path, SystemTime::now().into())).line()
        })?;
        if shared.header.version > entry::VERSION {
            let version = shared.header.version;
            let path = shared.log.display_path();
            return Err(SessionError::Version { path, version, action: "written" });
        }
        let id_gen = IdGenerator::after(shared.index().greatest_id().as_ref());
        if let Some(header) = header {
            return Self::continue_older(shared.with_successor(header), id_gen);
        }
        let mut writer = Self::with_shared(shared, id_gen, length);
        if !writer.ends_closed(length)? {
            writer.shared.log.append(b"\n")?;
            writer.length = Some(length + 1);
        }
        writer.report_missing_lock();
        Ok(writer)
    }

    /// Continues a log of an older version in a new file, which isn't created yet.
    fn continue_older(shared: SharedLog, id_gen: IdGenerator) -> Result<Self, SessionError> {
        let length = shared.log.length()?;
        let mut writer = Self::with_shared(shared, id_gen, length);
        writer.is_torn = !writer.ends_closed(length)?;
        Ok(writer)
    }

    /// Returns a reader of this log.
    #[must_use]
    pub fn reader(&self) -> Reader {
        Reader { shared: Arc::clone(&self.shared) }
    }

    /// Lets every entry create the file, even if no message follows.
    pub fn keep_empty(&mut self) {
        self.keeps_empty = true;
    }

    /// Returns true if the next entry is written, whatever it is.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.keeps_empty || self.shared.index().lines() > 0
    }

    /// Generates an id for a message to queue.
    pub fn queue_id(&mut self, now: UnixMs) -> QueueId {
        self.id_gen.queue(now)
    }

    /// Appends an entry after the leaf and makes it the leaf.
    ///
    /// Returns the entries that were written: none while there is no file and no reason to create one,
    /// otherwise the entry, preceded by any buffered ones.
    ///
    /// # Errors
    /// If the line could not be written completely, or another program truncated the file. The entry is then
    /// not in the tree.
    pub fn append(&mut self, body: EntryBody, now: UnixMs) -> Result<Vec<AppendedEntry>, SessionError> {
        self.append_all(vec![body], now)
    }

    /// Appends entries in one write, each as the child of the one before: all or none. Otherwise like
    /// [`Writer::append`].
    ///
    /// # Errors
    /// Returns the same errors as [`Writer::append`].
    pub fn append_all(
        &mut self,
        bodies: Vec<EntryBody>,
        now: UnixMs,
    ) -> Result<Vec<AppendedEntry>, SessionError> {
        self.check_file(now)?;
        if !self.is_kept() && !bodies.iter().any(EntryBody::creates_file) {
            self.unwritten.extend(bodies);
            return Ok(Vec::new());
        }
        let leaf = self.reader().leaf();
        self.write(bodies, leaf, now)
    }

    /// Moves the leaf to an earlier entry, or before the first one, by appending an entry there.
    ///
    /// # Errors
    /// If there is no such entry, or the move could not be written.
    pub fn branch(&mut self, to: Option<&EntryId>, now: UnixMs) -> Result<Vec<AppendedEntry>, SessionError> {
        if self.shared.index().lines() == 0 && to.is_none() {
            // The log is empty, so the leaf is already before the first entry.
            return Ok(Vec::new());
        }
        self.append_to(to, EntryBody::from_tiller(&TillerEntry::Leaf {}), now)
    }

    /// Appends an entry as the child of an earlier one, or as a root, and makes it the leaf.
    pub(super) fn append_to(
        &mut self,
        parent: Option<&EntryId>,
        body: EntryBody,
        now: UnixMs,
    ) -> Result<Vec<AppendedEntry>, SessionError> {
        self.check_file(now)?;
        if let Some(missing) = parent.filter(|id| self.shared.index().position(id.as_str()).is_none()) {
            return Err(SessionError::NoEntry(missing.clone()));
        }
        if self.shared.index().lines() == 0 {
            return self.append(body, now);
        }
        self.write(vec![body], parent.cloned(), now)
    }

    /// Writes the buffered entries, creating the file if necessary.
    pub(super) fn write_buffered(&mut self, now: UnixMs) -> Result<(), SessionError> {
        self.check_file(now)?;
        let leaf = self.reader().leaf();
        self.write(Vec::new(), leaf, now).map(drop)
    }

    /// Appends encoded lines, each complete with its newline, in one write.
    pub(super) fn append_raw_lines(
        &mut self,
        lines: &[(EntryId, Vec<u8>)],
        now: UnixMs,
    ) -> Result<(), SessionError> {
        self.check_file(now)?;
        let Some((last, _)) = lines.last() else { return Ok(()) };
        let new_lines: Vec<NewLine<'_>> =
            lines.iter().map(|(_, line)| NewLine { bytes: line, head: None }).collect();
        self.append_lines(new_lines, last)
    }

    /// Returns the file, for syncing it on another thread; `None` before it is created.
    #[must_use]
    pub fn file(&self) -> Option<Arc<dyn FsFile>> {
        self.shared.log.file()
    }

    /// Returns and clears the changes by other programs that were detected since the last call.
    pub fn take_external_changes(&mut self) -> Vec<ExternalChange> {
        std::mem::take(&mut self.external_changes)
    }

    /// Writes the header if needed, buffered entries and these in one write, then indexes them.
    fn write(
        &mut self,
        bodies: Vec<EntryBody>,
        mut leaf: Option<EntryId>,
        now: UnixMs,
    ) -> Result<Vec<AppendedEntry>, SessionError> {
        let mut lines = Vec::with_capacity(bodies.len());
        for body in self.unwritten.iter().cloned().chain(bodies) {
            let entry = Entry { id: self.id_gen.entry(now), parent: leaf, timestamp: now, body };
            leaf = Some(entry.id.clone());
            let line = entry::encode(&entry);
            lines.push((entry, line));
        }
        if let Some((last, _)) = lines.last() {
            let new_lines = lines.iter().map(|(entry, line)| {
                let head = Some(LineHead::from(entry));
                NewLine { bytes: line.as_bytes(), head }
            });
            self.append_lines(new_lines.collect(), &last.id)?;
        }
        self.unwritten.clear();
        let appended = |(entry, line): (Entry, String)| AppendedEntry {
            id: entry.id,
            body: entry.body,
            line: EntryLine::new(line.trim_end()),
        };
        Ok(lines.into_iter().map(appended).collect())
    }

    /// Appends lines in one write, after the header if that is missing, and indexes them. `last` is the id of
    /// the last line's entry.
    fn append_lines(&mut self, lines: Vec<NewLine<'_>>, last: &EntryId) -> Result<(), SessionError> {
        let header = if self.shared.index().lines() == 0 { self.shared.header.line() } else { Vec::new() };
        let closing: &[u8] = if self.is_torn { b"\n" } else { b"" };
        let parts = [closing, &header].into_iter().chain(lines.iter().map(|line| line.bytes));
        let text = parts.collect::<Vec<_>>().concat();
        let existed = self.shared.log.exists();
        if let Err(error) = self.shared.log.append(&text) {
            return if self.was_written(last) { Ok(()) } else { Err(error) };
        }
        let before = self.length.unwrap_or_default();
        self.length = Some(before + text.len() as u64);
        self.is_torn = false;
        self.index_lines(before + (closing.len() + header.len()) as u64, !header.is_empty(), lines);
        if !existed {
            self.report_missing_lock();
        }
        Ok(())
    }

    fn index_lines(&self, mut offset: u64, after_header: bool, lines: Vec<NewLine<'_>>) {
        let mut index = self.shared.index.write().unwrap_or_else(PoisonError::into_inner);
        if after_header {
            index.count_header();
        }
        for NewLine { bytes, head } in lines {
            let (length, number) = (bytes.len() as u64, index.lines() + 1);
            let bytes = bytes.trim_ascii_end();
            let line = LogLine { bytes, number, offset, stored: offset, closed: true };
            match head {
                Some(head) => index.add_encoded(head, &line),
                None => index.add_line(&line, |_| true),
            }
            offset += length;
        }
    }
}

/// Releases the lock with the writer, even if a reader still has the file open.
impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.log.unlock();
    }
}

/// Syncs a log's data to the disk. Blocks; don't call it on an event loop.
///
/// # Errors
/// If the disk fails.
pub fn sync(file: &dyn FsFile) -> io::Result<()> {
    file.sync()
}
