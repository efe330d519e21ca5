//! The one who appends to a log.
//!
//! An entry is in the tree only after its line is in the file, whole. Until something happens that is worth keeping (a
//! prompt, a `!` command), entries such as the choice of a model wait here, and no file is made. What other programs did
//! to the file meanwhile is looked for before each append: [`upkeep`].

mod external_change;

use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use serde_json::value::RawValue;
use tiller_core::id::{EntryId, QueueId};
use tiller_core::unit::UnixMs;

use super::entry::{self, Entry, EntryBody, Header, TillerEntry};
use super::error::SessionError;
use super::fs::{Fs, FsFile, OsFs};
use super::id_gen::IdGenerator;
use super::lines::Line;
use super::log::Log;
use super::reader::{Reader, Shared};

pub use external_change::ExternalChange;

/// Appends to one log, alone.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    mint: IdGenerator,
    waiting: Vec<EntryBody>,
    /// How long the file is, as far as this writer knows; `None` when it must be read again first.
    length: Option<u64>,
    /// Whether the last line has no newline: it is closed before the next.
    torn: bool,
    disturbances: Vec<ExternalChange>,
}

/// An entry that is in the log now.
#[derive(Clone, Debug)]
pub struct Appended {
    /// Its id.
    pub id: EntryId,
    /// Its line as written.
    pub line: Arc<RawValue>,
}

impl Writer {
    /// A new log. Nothing is written yet.
    pub(super) fn create(header: Header, log: Log, mint: IdGenerator) -> Self {
        Self::of(Shared::new(header, log), mint, 0)
    }

    fn of(shared: Shared, mint: IdGenerator, length: u64) -> Self {
        let disturbances = Vec::new();
        Self {
            shared: Arc::new(shared),
            mint,
            waiting: Vec::new(),
            length: Some(length),
            torn: false,
            disturbances,
        }
    }

    /// Opens a log of the machine's file system to go on with it, and closes a last line that was torn. A log of an older version
    /// goes on in a new file beside it, which is made by the first append.
    ///
    /// # Errors
    /// When it can't be read or written, isn't a session, is of a newer version, or another process writes to it.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        Self::open_on(Arc::new(OsFs), path)
    }

    pub(super) fn open_on(disk: Arc<dyn Fs>, path: &Path) -> Result<Self, SessionError> {
        Self::adopt(Log::open_to_write(disk, path)?)
    }

    /// Goes on with a log that is open for writing.
    pub(super) fn adopt(log: Log) -> Result<Self, SessionError> {
        // Before it is read: what comes in between is found to be new at the next append.
        let length = log.length()?;
        let (path, mut successor) = (log.path_shown(), None);
        let shared = Shared::load(log, |older| {
            successor.insert(older.succeeded(&path, SystemTime::now().into())).line()
        })?;
        if shared.header.version > entry::VERSION {
            let version = shared.header.version;
            let path = shared.log.path_shown();
            return Err(SessionError::Version { path, version, action: "written" });
        }
        let mint = IdGenerator::after(shared.index().greatest_id().as_ref());
        if let Some(header) = successor {
            return Self::succeed(shared.succeeded(header), mint);
        }
        let mut writer = Self::of(shared, mint, length);
        if !writer.ends_closed(length)? {
            writer.shared.log.append(b"\n")?;
            writer.length = Some(length + 1);
        }
        writer.tell_of_missing_lock();
        Ok(writer)
    }

    /// Goes on with a log of an older version, in a file that isn't made yet.
    fn succeed(shared: Shared, mint: IdGenerator) -> Result<Self, SessionError> {
        let length = shared.log.length()?;
        let mut writer = Self::of(shared, mint, length);
        writer.torn = !writer.ends_closed(length)?;
        Ok(writer)
    }

    /// A reader of this log.
    #[must_use]
    pub fn reader(&self) -> Reader {
        Reader { shared: Arc::clone(&self.shared) }
    }

    /// Makes an id for a message that is about to be queued.
    pub fn queue_id(&mut self, now: UnixMs) -> QueueId {
        self.mint.queue(now)
    }

    /// Appends an entry after the leaf and makes it the leaf.
    ///
    /// Returns what is in the log now that wasn't before: nothing while there is no reason yet to make a file, the entry, or
    /// the entry and those that waited for it.
    ///
    /// # Errors
    /// When the line could not be written whole, or another program cut the file short. The entry is then not in the tree.
    pub fn append(&mut self, body: EntryBody, now: UnixMs) -> Result<Vec<Appended>, SessionError> {
        self.append_all(vec![body], now)
    }

    /// Appends entries, each after the one before it, in one write: all of them or none. As [`Writer::append`] otherwise.
    ///
    /// # Errors
    /// As [`Writer::append`].
    pub fn append_all(&mut self, bodies: Vec<EntryBody>, now: UnixMs) -> Result<Vec<Appended>, SessionError> {
        self.look_after_file(now)?;
        let is_empty = self.shared.index().lines() == 0;
        if is_empty && !bodies.iter().any(EntryBody::creates_the_file) {
            self.waiting.extend(bodies);
            return Ok(Vec::new());
        }
        let leaf = self.reader().leaf();
        self.write(bodies, leaf, now)
    }

    /// Moves the leaf to an earlier entry, or before the first one, durably.
    ///
    /// # Errors
    /// When there is no such entry, or the move could not be written.
    pub fn branch(&mut self, to: Option<&EntryId>, now: UnixMs) -> Result<Vec<Appended>, SessionError> {
        if self.shared.index().lines() == 0 && to.is_none() {
            // Nothing is written yet, so the leaf is before the first entry already.
            return Ok(Vec::new());
        }
        self.append_to(to, EntryBody::own(&TillerEntry::Leaf {}), now)
    }

    /// Appends an entry after an earlier one, or as a root, and makes it the leaf.
    pub(super) fn append_to(
        &mut self,
        parent: Option<&EntryId>,
        body: EntryBody,
        now: UnixMs,
    ) -> Result<Vec<Appended>, SessionError> {
        self.look_after_file(now)?;
        if let Some(missing) = parent.filter(|id| self.shared.index().position(id.as_str()).is_none()) {
            return Err(SessionError::NoEntry(missing.clone()));
        }
        if self.shared.index().lines() == 0 {
            return self.append(body, now);
        }
        self.write(vec![body], parent.cloned(), now)
    }

    /// Appends lines that were made elsewhere, each whole and with its newline, in one write.
    pub(super) fn copy_in(&mut self, lines: &[(EntryId, Vec<u8>)], now: UnixMs) -> Result<(), SessionError> {
        self.look_after_file(now)?;
        let Some((last, _)) = lines.last() else { return Ok(()) };
        let bytes: Vec<&[u8]> = lines.iter().map(|(_, line)| line.as_slice()).collect();
        self.put(&bytes, last)
    }

    /// The file, for syncing it on another thread; `None` while there is none.
    #[must_use]
    pub fn file(&self) -> Option<Arc<dyn FsFile>> {
        self.shared.log.file()
    }

    /// What other programs did to the log, as far as it was noticed since this was last asked.
    pub fn take_disturbances(&mut self) -> Vec<ExternalChange> {
        std::mem::take(&mut self.disturbances)
    }

    /// Writes header, entries that waited, and these in one piece, then takes them into the tree.
    fn write(
        &mut self,
        bodies: Vec<EntryBody>,
        mut leaf: Option<EntryId>,
        now: UnixMs,
    ) -> Result<Vec<Appended>, SessionError> {
        let mut lines = Vec::with_capacity(bodies.len());
        for body in self.waiting.iter().cloned().chain(bodies) {
            let entry = Entry { id: self.mint.entry(now), parent: leaf, timestamp: now, body };
            leaf = Some(entry.id.clone());
            lines.push((entry.id.clone(), entry::encode(&entry)));
        }
        if let Some((last, _)) = lines.last() {
            let bytes: Vec<&[u8]> = lines.iter().map(|(_, line)| line.as_bytes()).collect();
            self.put(&bytes, last)?;
        }
        self.waiting.clear();
        Ok(lines.into_iter().map(|(id, line)| Appended { id, line: entry::raw(&line) }).collect())
    }

    /// Puts lines into the file in one write, behind the header where there is none yet, and takes them into the tree. `last` is the id
    /// of the last one.
    fn put(&mut self, lines: &[&[u8]], last: &EntryId) -> Result<(), SessionError> {
        let header = if self.shared.index().lines() == 0 { self.shared.header.line() } else { Vec::new() };
        let closing: &[u8] = if self.torn { b"\n" } else { b"" };
        let text = [&[closing, &header], lines].concat().concat();
        let was_there = self.shared.log.exists();
        if let Err(error) = self.shared.log.append(&text) {
            return if self.is_written_after_all(last) { Ok(()) } else { Err(error) };
        }
        let before = self.length.unwrap_or_default();
        self.length = Some(before + text.len() as u64);
        self.torn = false;
        self.index(before + (closing.len() + header.len()) as u64, !header.is_empty(), lines);
        if !was_there {
            self.tell_of_missing_lock();
        }
        Ok(())
    }

    fn index(&self, mut offset: u64, after_header: bool, lines: &[&[u8]]) {
        let mut index = self.shared.index.write().unwrap_or_else(PoisonError::into_inner);
        if after_header {
            index.pass_header();
        }
        for line in lines {
            let (bytes, number) = (line.trim_ascii_end(), index.lines() + 1);
            index.take(&Line { bytes, number, offset, stored: offset, closed: true }, |_| true);
            offset += line.len() as u64;
        }
    }
}

/// The lock ends with the writer, not with the last reader that still has the file open.
impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.log.unlock();
    }
}

/// Syncs a log's data to the disk. Blocks; run it off the loop.
///
/// # Errors
/// When the disk says no.
pub fn sync(file: &dyn FsFile) -> io::Result<()> {
    file.sync()
}
