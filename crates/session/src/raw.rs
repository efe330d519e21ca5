//! Raw access to the lines of entries, with unknown keys and the original formatting.

use serde_json::value::RawValue;
use tiller_core::id::EntryId;

use super::entry::{self, EntryBody};
use super::entry_kind::EntryKind;
use super::error::SessionError;
use super::reader::Reader;
use super::tree::Tree;

impl Reader {
    /// Visits the lines of the entries at these positions, without their newlines; `None` for a line that
    /// isn't JSON.
    ///
    /// # Errors
    /// If the file can't be read.
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

    /// Reads the line of the entry at a position, without its newline.
    ///
    /// # Errors
    /// If there is no such entry, or the file can't be read.
    pub fn raw_line(&self, position: usize) -> Result<Vec<u8>, SessionError> {
        self.line_at(position)
    }

    /// Positions of the entries that may label or hide others, in order.
    pub(super) fn annotation_positions(&self, tree: &Tree) -> Vec<usize> {
        let count = tree.nodes().len();
        let is_of = |kind: EntryKind| move |at: &usize| tree.nodes()[*at].kind == kind;
        let tiller_positions: Vec<usize> =
            self.shared.index().tiller_entries().iter().map(|at| *at as usize).collect();
        let hides = tiller_positions.into_iter().filter(|at| *at < count).filter(is_of(EntryKind::Custom));
        let mut positions: Vec<usize> = (0..count).filter(is_of(EntryKind::Label)).chain(hides).collect();
        positions.sort_unstable();
        positions
    }

    /// Returns the body of the entry at a position, if it can be read.
    pub(super) fn body_at(&self, tree: &Tree, position: usize) -> Option<EntryBody> {
        let node = tree.nodes().get(position)?;
        entry::parse_body(node.kind, node.role, &self.line_at(position).ok()?).ok()
    }

    fn line_at(&self, position: usize) -> Result<Vec<u8>, SessionError> {
        let (offset, length) = {
            let index = self.shared.index();
            let entry = index
                .entries()
                .at(position)
                .ok_or_else(|| SessionError::NoEntry(EntryId::new(position.to_string())))?;
            (entry.stored, entry.length)
        };
        self.shared.log.read_at(offset, length)
    }
}
