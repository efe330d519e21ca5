//! Detection and handling of changes that other programs make to a log between two appends.
//!
//! The lock is advisory, and any program can rename files. So before each append, the file's length and the
//! identity of the file at its path are compared with the expected ones. One `stat` usually gives both.

use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;

use super::Writer;
use super::external_change::ExternalChange;
use crate::error::SessionError;
use crate::index::Index;
use crate::line_scan::LineHead;
use crate::log::PathState;

impl Writer {
    /// Before an append, updates the index from the file and repairs the path.
    pub(super) fn check_file(&mut self, now: UnixMs) -> Result<(), SessionError> {
        let (state, length) = self.shared.log.check_path()?;
        match self.length {
            Some(expected) if expected == length => {}
            expected => self.catch_up(expected, length, now)?,
        }
        match state {
            PathState::Same => Ok(()),
            PathState::Missing => {
                self.restore_file()?;
                let path = self.shared.log.display_path();
                self.external_changes.push(ExternalChange::Missing { path });
                Ok(())
            }
            PathState::Replaced => {
                if let Some(backup) = self.shared.log.move_aside(now)? {
                    // Reported even if the next step fails: the user will look for that file.
                    let path = self.shared.log.display_path();
                    self.external_changes.push(ExternalChange::Replaced { path, backup });
                }
                self.restore_file()
            }
        }
    }

    pub(super) fn report_missing_lock(&mut self) {
        if self.shared.log.is_unlocked() {
            self.external_changes.push(ExternalChange::NoLocks { path: self.shared.log.display_path() });
        }
    }

    /// Returns true if a line is in the file although its append failed: it is complete except for the
    /// newline.
    pub(super) fn was_written(&mut self, last: &EntryId) -> bool {
        if self.shared.log.length().is_ok_and(|length| Some(length) == self.length) {
            return false;
        }
        self.length = None;
        if let Err(error) = self.reread() {
            // Tried again before the next append.
            tracing::warn!(%error, "the file could not be read after a failed write");
            return false;
        }
        self.shared.index().position(last.as_str()).is_some()
    }

    /// Returns true if the file's last line has its newline.
    pub(super) fn ends_closed(&self, length: u64) -> Result<bool, SessionError> {
        Ok(length == 0 || self.shared.log.read_at(length - 1, 1)? == b"\n")
    }

    /// Indexes changes: only the new lines if the old ones are unchanged, otherwise the entire file.
    fn catch_up(&mut self, expected: Option<u64>, length: u64, now: UnixMs) -> Result<(), SessionError> {
        let before = self.shared.index().entries().len();
        self.length = None;
        let lost_count =
            match expected.filter(|expected| *expected < length && self.last_line_is_unchanged(*expected)) {
                Some(expected) => {
                    self.shared.index_range(expected..length)?;
                    self.is_torn = !self.ends_closed(length)?;
                    self.length = Some(length);
                    0
                }
                None => match self.reread() {
                    Ok(lost_count) => lost_count,
                    Err(SessionError::Header { .. }) => return Err(self.abandon_file(now)),
                    Err(error) => return Err(error),
                },
            };
        let path = self.shared.log.display_path();
        if lost_count > 0 || expected.is_some_and(|expected| length < expected) {
            return Err(SessionError::Cut { path, lost: lost_count, backup: None });
        }
        let entries = self.shared.index().entries().len().saturating_sub(before);
        if expected.is_some() {
            self.external_changes.push(ExternalChange::Appended { path, entries });
        }
        Ok(())
    }

    /// Returns true if the indexed part ends at `end` with a complete, unchanged line.
    fn last_line_is_unchanged(&self, end: u64) -> bool {
        let index = self.shared.index();
        let last = index.entries().last().zip(index.leaf());
        let Some((last, id)) = last.filter(|_| !self.is_torn) else { return false };
        let has_same_id = |line: Vec<u8>| LineHead::parse(&line).is_ok_and(|head| head.id == id.as_str());
        last.offset + (last.length as u64) < end
            && self.shared.log.read_at(last.offset, last.length).is_ok_and(has_same_id)
            && self.ends_closed(end).unwrap_or(false)
    }

    /// Reads the entire file again; returns the number of entries that are no longer in it.
    fn reread(&mut self) -> Result<usize, SessionError> {
        let length = self.shared.log.length()?;
        let previous_log = self.shared.reread()?;
        self.is_torn = !self.ends_closed(length)?;
        self.length = Some(length);
        let index = self.shared.index();
        Ok(previous_log.entries().ids().filter(|id| index.position(id.as_str()).is_none()).count())
    }

    fn restore_file(&mut self) -> Result<(), SessionError> {
        self.length = None;
        self.shared.log.rewrite_file()?;
        self.length = Some(self.shared.log.length()?);
        Ok(())
    }

    /// Renames a file that is no longer a session; the next append creates a new one.
    fn abandon_file(&mut self, now: UnixMs) -> SessionError {
        let backup = match self.shared.log.move_aside(now) {
            Ok(backup) => backup,
            Err(error) => return error,
        };
        self.shared.log.close();
        let lost_count = self.shared.replace_index(Index::default()).entries().len();
        (self.length, self.is_torn) = (Some(0), false);
        SessionError::Cut { path: self.shared.log.display_path(), lost: lost_count, backup }
    }
}
