//! Entries as they stand in the file: with the keys that tiller doesn't know, spelt as they were.

use serde_json::value::RawValue;

use super::entry::{self, EntryBody};
use super::error::SessionError;
use super::reader::Reader;
use super::tree::Tree;
use crate::id::EntryId;

impl Reader {
    /// Visits the lines of the entries at these positions, without their line ends. A line that is no JSON comes as
    /// `None`.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn raw_lines(
        &self,
        positions: impl IntoIterator<Item = usize>,
        mut visitor: impl FnMut(usize, Option<&RawValue>),
    ) -> Result<(), SessionError> {
        for position in positions {
            let line = self.line_at(position)?;
            visitor(position, serde_json::from_slice(line.trim_ascii()).ok());
        }
        Ok(())
    }

    /// What the entry at a position says, if it can be read.
    pub(super) fn body_at(&self, tree: &Tree, position: usize) -> Option<EntryBody> {
        let node = tree.nodes().get(position)?;
        entry::parse_body(node.kind, node.role, &self.line_at(position).ok()?).ok()
    }

    fn line_at(&self, position: usize) -> Result<Vec<u8>, SessionError> {
        let (offset, length) = {
            let index = self.shared.index();
            let entry = index
                .entries()
                .get(position)
                .ok_or_else(|| SessionError::NoEntry(EntryId::new(position.to_string())))?;
            (entry.stored, entry.length)
        };
        self.shared.log.read_at(offset, length)
    }
}
