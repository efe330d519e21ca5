//! What other programs did to a log between two appends, and what is done about it.
//!
//! Locks bind only those who ask for them, and a name in a folder is anybody's. So before each append the file's length and
//! what stands at its path are compared with what is expected. One look at the path answers both as a rule.

use std::fmt;
use std::path::PathBuf;

use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;

use super::Writer;
use crate::error::SessionError;
use crate::index::Index;
use crate::line_scan::LineHead;
use crate::log::PathState;

/// Something that other programs, or the file system, did to a log that is being written to. The log goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternalChange {
    /// Lines were appended by another program. They were read first.
    Grown {
        /// The file.
        path: PathBuf,
        /// Entries among what is new.
        entries: usize,
    },
    /// The file was no longer at its path, and was written there anew.
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// Another file stood at the path. It was moved aside, and the log written there anew.
    Replaced {
        /// The file.
        path: PathBuf,
        /// Where the other file is now.
        aside: PathBuf,
    },
    /// The file system has no locks.
    NoLocks {
        /// The file.
        path: PathBuf,
    },
}

impl ExternalChange {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Grown { .. } => "what follows comes after it; let one program at a time write to a session",
            Self::Gone { .. } => {
                "if it was moved on purpose, close this session and go on with the moved file"
            }
            Self::Replaced { .. } => "compare the two; if the other one was meant, close this session first",
            Self::NoLocks { .. } => {
                "don't open the session twice; --session-dir names a folder on another disk"
            }
        }
    }

    /// Whether the log has other entries now.
    #[must_use]
    pub fn changes_entries(&self) -> bool {
        matches!(self, Self::Grown { .. })
    }
}

impl fmt::Display for ExternalChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grown { path, entries } => {
                let entries = if *entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") };
                write!(f, "session file {}: another program appended to it ({entries})", path.display())
            }
            Self::Gone { path } => {
                write!(
                    f,
                    "session file {}: it was removed or moved; it was written there anew",
                    path.display()
                )
            }
            Self::Replaced { path, aside } => write!(
                f,
                "session file {}: another file was put in its place; that one is now {}, and the session was written \
                 anew",
                path.display(),
                aside.display()
            ),
            Self::NoLocks { path } => write!(
                f,
                "session file {}: this file system has no locks, so nothing keeps another tiller from writing to it",
                path.display()
            ),
        }
    }
}

impl Writer {
    /// Makes memory and file agree before something is appended.
    pub(super) fn look_after_file(&mut self, now: UnixMs) -> Result<(), SessionError> {
        let (place, length) = self.shared.log.look()?;
        match self.length {
            Some(expected) if expected == length => {}
            expected => self.catch_up(expected, length, now)?,
        }
        match place {
            PathState::Kept => Ok(()),
            PathState::Empty => {
                self.put_back()?;
                let path = self.shared.log.path_shown();
                self.disturbances.push(ExternalChange::Gone { path });
                Ok(())
            }
            PathState::Taken => {
                if let Some(aside) = self.shared.log.set_aside(now)? {
                    // Told even if the rest fails: somebody will look for that file.
                    let path = self.shared.log.path_shown();
                    self.disturbances.push(ExternalChange::Replaced { path, aside });
                }
                self.put_back()
            }
        }
    }

    pub(super) fn tell_of_missing_lock(&mut self) {
        if self.shared.log.lacks_lock() {
            self.disturbances.push(ExternalChange::NoLocks { path: self.shared.log.path_shown() });
        }
    }

    /// After a failed write the file has the last word: a line that is in it, if only for its newline, is in the tree.
    pub(super) fn is_written_after_all(&mut self, last: &EntryId) -> bool {
        if self.shared.log.length().is_ok_and(|length| Some(length) == self.length) {
            return false;
        }
        self.length = None;
        if let Err(error) = self.reread() {
            // It is tried again before the next append.
            tracing::warn!(%error, "what a failed write left could not be read");
            return false;
        }
        self.shared.index().position(last.as_str()).is_some()
    }

    /// Whether the file's last line has its newline.
    pub(super) fn ends_closed(&self, length: u64) -> Result<bool, SessionError> {
        Ok(length == 0 || self.shared.log.read_at(length - 1, 1)? == b"\n")
    }

    /// Reads what is not as expected: new lines alone if the old ones stand, else everything.
    fn catch_up(&mut self, expected: Option<u64>, length: u64, now: UnixMs) -> Result<(), SessionError> {
        let before = self.shared.index().entries().len();
        self.length = None;
        let lost = match expected.filter(|expected| *expected < length && self.last_line_stands(*expected)) {
            Some(expected) => {
                self.shared.take_in(expected..length)?;
                self.torn = !self.ends_closed(length)?;
                self.length = Some(length);
                0
            }
            None => match self.reread() {
                Ok(lost) => lost,
                Err(SessionError::Header { .. }) => return Err(self.give_up_file(now)),
                Err(error) => return Err(error),
            },
        };
        let path = self.shared.log.path_shown();
        if lost > 0 || expected.is_some_and(|expected| length < expected) {
            return Err(SessionError::Cut { path, lost, aside: None });
        }
        let entries = self.shared.index().entries().len().saturating_sub(before);
        if expected.is_some() {
            self.disturbances.push(ExternalChange::Grown { path, entries });
        }
        Ok(())
    }

    /// Whether what is known of the file ends at `end` with a whole line, and that line is still there.
    fn last_line_stands(&self, end: u64) -> bool {
        let index = self.shared.index();
        let last = index.entries().last().zip(index.leaf());
        let Some((last, id)) = last.filter(|_| !self.torn) else { return false };
        let stands = |line: Vec<u8>| LineHead::parse(&line).is_ok_and(|head| head.id == id.as_str());
        last.offset + (last.length as u64) < end
            && self.shared.log.read_at(last.offset, last.length).is_ok_and(stands)
            && self.ends_closed(end).unwrap_or(false)
    }

    /// Reads the whole file again; answers with how many entries are no longer in it.
    fn reread(&mut self) -> Result<usize, SessionError> {
        let length = self.shared.log.length()?;
        let old = self.shared.reread()?;
        self.torn = !self.ends_closed(length)?;
        self.length = Some(length);
        let index = self.shared.index();
        Ok(old.entries().ids().filter(|id| index.position(id.as_str()).is_none()).count())
    }

    fn put_back(&mut self) -> Result<(), SessionError> {
        self.length = None;
        self.shared.log.put_back()?;
        self.length = Some(self.shared.log.length()?);
        Ok(())
    }

    /// What is left of the file is no session: it makes way, and the next message begins the file anew.
    fn give_up_file(&mut self, now: UnixMs) -> SessionError {
        let aside = match self.shared.log.set_aside(now) {
            Ok(aside) => aside,
            Err(error) => return error,
        };
        self.shared.log.let_go();
        let lost = self.shared.replace_index(Index::default()).entries().len();
        (self.length, self.torn) = (Some(0), false);
        SessionError::Cut { path: self.shared.log.path_shown(), lost, aside }
    }
}
