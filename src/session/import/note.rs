//! What an import could not carry over as it was: counted by kind, with the first line of each.

use serde::Serialize;

/// A kind of thing that was left out or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The first line with it, from 1.
    pub line: u64,
    /// What, in the plural: `web searches as text`.
    pub what: String,
    /// How many.
    pub count: u64,
}

/// The notes of one import in the order in which they came up.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(Vec<Note>);

impl Notes {
    /// Counts one more of a kind.
    pub(super) fn add(&mut self, line: u64, what: impl Into<String>) {
        let what = what.into();
        match self.0.iter_mut().find(|note| note.what == what) {
            Some(note) => note.count += 1,
            None => self.0.push(Note { line, what, count: 1 }),
        }
    }

    pub(super) fn into_vec(mut self) -> Vec<Note> {
        self.0.sort_by_key(|note| note.line);
        self.0
    }
}
