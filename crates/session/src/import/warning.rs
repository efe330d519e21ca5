//! What an import could not carry over as it was: counted by kind, with the first line of each.

use std::collections::HashMap;

use serde::Serialize;

/// A kind of thing that was left out or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportWarning {
    /// The first line with it, from 1.
    pub line: u64,
    /// What, in the plural: `web searches as text`.
    pub what: String,
    /// How many.
    pub count: u64,
}

/// How many kinds are told apart; a log of anything may have as many as it has lines.
const KINDS: usize = 50;

/// The notes of one import in the order in which they came up.
#[derive(Clone, Debug, Default)]
pub(super) struct ImportWarnings {
    notes: Vec<ImportWarning>,
    /// The place of each kind.
    by_what: HashMap<String, usize>,
    /// All of the kinds that came up too late to be told apart.
    others: Option<ImportWarning>,
}

impl ImportWarnings {
    /// Counts one more of a kind.
    pub(super) fn add(&mut self, line: u64, what: impl Into<String>) {
        let what = what.into();
        if let Some(&at) = self.by_what.get(&what) {
            self.notes[at].count += 1;
        } else if self.notes.len() < KINDS {
            self.by_what.insert(what.clone(), self.notes.len());
            self.notes.push(ImportWarning { line, what, count: 1 });
        } else {
            let none = || ImportWarning { line, what: "and others".into(), count: 0 };
            self.others.get_or_insert_with(none).count += 1;
        }
    }

    /// In the order of their lines; what was not told apart comes last.
    pub(super) fn into_vec(mut self) -> Vec<ImportWarning> {
        self.notes.sort_by_key(|note| note.line);
        self.notes.extend(self.others);
        self.notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_beyond_those_told_apart_are_counted_together() {
        let mut notes = ImportWarnings::default();
        for line in 1..=60_000 {
            notes.add(line, format!("kind {line}"));
            notes.add(line, "kind 1");
        }
        let notes = notes.into_vec();
        assert_eq!(notes.len(), KINDS + 1);
        assert_eq!((notes[0].line, notes[0].count), (1, 60_001));
        assert_eq!(notes[KINDS], ImportWarning { line: 51, what: "and others".into(), count: 60_000 - 50 });
    }
}
