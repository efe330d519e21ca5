//! An entry's position and head in the index.

use tiller_core::unit::UnixMs;

use crate::entry_kind::EntryKind;
use crate::line_scan::LineRole;

/// An entry's position and head, without the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) parent: Option<u32>,
    pub(crate) kind: EntryKind,
    pub(crate) role: Option<LineRole>,
    pub(crate) timestamp: UnixMs,
    pub(crate) line: u64,
    /// Byte offset in the file.
    pub(crate) offset: u64,
    /// Offset to read from: equal to `offset`, except in a migrated log.
    pub(crate) stored: u64,
    pub(crate) length: usize,
}

impl IndexEntry {
    pub(crate) fn parent(&self) -> Option<usize> {
        self.parent.map(|parent| parent as usize)
    }

    /// Returns the offset of the line's newline.
    pub(super) fn end(&self) -> u64 {
        self.stored + self.length as u64
    }
}
