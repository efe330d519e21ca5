//! The one who appends to a log.
//!
//! An entry is in the tree only after its line is in the file, whole. Until something happens that is worth keeping (a
//! prompt, a `!` command), entries such as the choice of a model wait here, and no file is made.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use serde_json::value::RawValue;

use super::entry::{self, Entry, EntryBody, Header, OwnFact};
use super::error::SessionError;
use super::log::{Line, Log};
use super::mint::Mint;
use super::reader::{Reader, Shared};
use crate::id::{EntryId, QueueId};
use crate::unit::UnixMs;

/// Appends to one log, alone.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    mint: Mint,
    waiting: Vec<EntryBody>,
    /// Set when a line went in only partly: it is closed before the next.
    torn: bool,
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
    pub(super) fn create(header: Header, log: Log, mint: Mint) -> Self {
        Self { shared: Arc::new(Shared::new(header, log)), mint, waiting: Vec::new(), torn: false }
    }

    /// Opens a log to go on with it, and closes a last line that was torn.
    ///
    /// # Errors
    /// When it can't be read or written, isn't a session, is of another version, or another process writes to it.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        Self::adopt(Log::open_to_write(path)?)
    }

    /// Goes on with a log that is open for writing.
    pub(super) fn adopt(log: Log) -> Result<Self, SessionError> {
        let shared = Shared::load(log)?;
        if shared.header.version > entry::VERSION {
            let version = shared.header.version;
            let path = shared.log.path_shown();
            return Err(SessionError::Version { path, version, action: "written" });
        }
        let length = shared.log.length()?;
        let torn = length > 0 && shared.log.read_at(length - 1, 1)? != b"\n";
        if torn {
            shared.log.append(b"\n")?;
        }
        let mint = Mint::after(shared.index().greatest_id());
        Ok(Self { shared: Arc::new(shared), mint, waiting: Vec::new(), torn: false })
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
    /// When the line could not be written whole. The entry is then not in the tree, and nothing written before is damaged.
    pub fn append(&mut self, body: EntryBody, now: UnixMs) -> Result<Vec<Appended>, SessionError> {
        if self.shared.log.exists() && self.shared.index().lines() > 0 {
            let leaf = self.reader().leaf();
            return self.write(String::new(), vec![body], leaf, now);
        }
        if !body.creates_the_file() {
            self.waiting.push(body);
            return Ok(Vec::new());
        }
        let mut header = serde_json::to_string(&self.shared.header).expect("a header has only string keys");
        header.push('\n');
        let mut bodies = self.waiting.clone();
        bodies.push(body);
        let appended = self.write(header, bodies, None, now)?;
        self.waiting.clear();
        Ok(appended)
    }

    /// Moves the leaf to an earlier entry, or before the first one, durably.
    ///
    /// # Errors
    /// When there is no such entry, or the move could not be written.
    pub fn branch(&mut self, to: Option<&EntryId>, now: UnixMs) -> Result<Vec<Appended>, SessionError> {
        if let Some(missing) = to.filter(|to| self.shared.index().position(to).is_none()) {
            return Err(SessionError::NoEntry(missing.clone()));
        }
        if self.shared.index().lines() == 0 {
            // Nothing is written yet, so the leaf is before the first entry already.
            return Ok(Vec::new());
        }
        self.write(String::new(), vec![EntryBody::own(&OwnFact::Leaf {})], to.cloned(), now)
    }

    /// Appends lines that were made elsewhere, each whole and with its newline, in one write.
    pub(super) fn copy_in(&mut self, lines: &[(EntryId, Vec<u8>)]) -> Result<(), SessionError> {
        let before = self.shared.log.length()?;
        let bytes: Vec<u8> = lines.iter().flat_map(|(_, line)| line).copied().collect();
        if let Err(error) = self.shared.log.append(&bytes) {
            self.torn = self.shared.log.length().is_ok_and(|now| now != before);
            return Err(error);
        }
        self.index(before, false, lines.iter().map(|(_, line)| line.as_slice()));
        Ok(())
    }

    /// The file, for syncing it on another thread; `None` while there is none.
    #[must_use]
    pub fn file(&self) -> Option<Arc<File>> {
        self.shared.log.file()
    }

    /// Writes header and lines in one piece, then takes them into the tree.
    fn write(
        &mut self,
        header: String,
        bodies: Vec<EntryBody>,
        mut leaf: Option<EntryId>,
        now: UnixMs,
    ) -> Result<Vec<Appended>, SessionError> {
        let mut lines = Vec::with_capacity(bodies.len());
        for body in bodies {
            let entry = Entry { id: self.mint.entry(now), parent: leaf, timestamp: now, body };
            leaf = Some(entry.id.clone());
            lines.push((entry.id.clone(), entry::encode(&entry)));
        }
        let closing = if self.torn { "\n" } else { "" };
        let text: String =
            [closing, &header].into_iter().chain(lines.iter().map(|(_, line)| line.as_str())).collect();
        let before = self.shared.log.length()?;
        if let Err(error) = self.shared.log.append(text.as_bytes()) {
            self.torn = self.shared.log.length().is_ok_and(|now| now != before);
            return Err(error);
        }
        self.torn = false;
        let offset = before + (closing.len() + header.len()) as u64;
        self.index(offset, !header.is_empty(), lines.iter().map(|(_, line)| line.as_bytes()));
        Ok(lines.into_iter().map(|(id, line)| Appended { id, line: entry::raw(&line) }).collect())
    }

    fn index<'l>(&self, mut offset: u64, after_header: bool, lines: impl Iterator<Item = &'l [u8]>) {
        let mut index = self.shared.index.write().unwrap_or_else(PoisonError::into_inner);
        if after_header {
            index.pass_header();
        }
        for line in lines {
            let number = index.lines() + 1;
            index.take(&Line { bytes: line.trim_ascii_end(), number, offset, closed: true });
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
pub fn sync(file: &File) -> io::Result<()> {
    file.sync_data()
}
