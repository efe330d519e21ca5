//! Warnings of an import: dropped or changed data, counted by kind.

use std::collections::HashMap;

use serde::Serialize;

/// A kind of data that was dropped or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportWarning {
    /// The first line with such data, from 1.
    pub line: u64,
    /// The kind, in the plural: `web searches as text`.
    pub what: String,
    /// The number of occurrences.
    pub count: u64,
}

/// Maximum number of distinct kinds; an arbitrary file may have as many kinds as lines.
const MAX_KINDS: usize = 50;

#[derive(Clone, Debug, Default)]
pub(super) struct ImportWarnings {
    warnings: Vec<ImportWarning>,
    /// Index of each kind in `warnings`.
    positions: HashMap<String, usize>,
    /// The total of all further kinds.
    others: Option<ImportWarning>,
}

impl ImportWarnings {
    /// Counts one occurrence of a kind.
    pub(super) fn add(&mut self, line: u64, what: impl Into<String>) {
        let what = what.into();
        if let Some(&at) = self.positions.get(&what) {
            self.warnings[at].count += 1;
        } else if self.warnings.len() < MAX_KINDS {
            self.positions.insert(what.clone(), self.warnings.len());
            self.warnings.push(ImportWarning { line, what, count: 1 });
        } else {
            let none = || ImportWarning { line, what: "and others".into(), count: 0 };
            self.others.get_or_insert_with(none).count += 1;
        }
    }

    /// Returns the warnings in line order; the total of further kinds comes last.
    pub(super) fn into_vec(mut self) -> Vec<ImportWarning> {
        self.warnings.sort_by_key(|note| note.line);
        self.warnings.extend(self.others);
        self.warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_beyond_limit_are_counted_together() {
        let mut warnings = ImportWarnings::default();
        for line in 1..=60_000 {
            warnings.add(line, format!("kind {line}"));
            warnings.add(line, "kind 1");
        }
        let warnings = warnings.into_vec();
        assert_eq!(warnings.len(), MAX_KINDS + 1);
        assert_eq!((warnings[0].line, warnings[0].count), (1, 60_001));
        assert_eq!(
            warnings[MAX_KINDS],
            ImportWarning { line: 51, what: "and others".into(), count: 60_000 - 50 }
        );
    }
}
