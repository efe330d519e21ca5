//! The rows of a text that have been on the screen, in any order. Pure.

use std::ops::Range;

/// One flag for each row: whether it was on the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SeenRows(Vec<bool>);

impl SeenRows {
    /// `rows` rows, none of them seen.
    pub(super) fn unseen(rows: usize) -> Self {
        Self(vec![false; rows])
    }

    /// `rows` rows, all of them seen.
    pub(super) fn all_seen(rows: usize) -> Self {
        Self(vec![true; rows])
    }

    /// Number of rows.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Marks rows as seen; a range beyond the end is clipped.
    pub(super) fn mark(&mut self, rows: Range<usize>) {
        let end = rows.end.min(self.0.len());
        self.0[rows.start.min(end)..end].fill(true);
    }

    /// Merges the seen rows of the same text from another view.
    pub(super) fn merge(&mut self, other: &Self) {
        if self.count() == other.count() {
            self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
        }
    }

    /// Returns true if any row was seen.
    pub(super) fn is_any(&self) -> bool {
        self.0.contains(&true)
    }

    /// Returns true if all rows were seen.
    pub(super) fn is_all(&self) -> bool {
        !self.0.contains(&false)
    }

    /// The first run of unseen rows.
    pub(super) fn first_gap(&self) -> Option<Range<usize>> {
        let start = self.0.iter().position(|seen| !seen)?;
        let count = self.0[start..].iter().position(|seen| *seen);
        Some(start..count.map_or(self.0.len(), |count| start + count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seen_rows_any_order_reports_first_gap() {
        let mut seen = SeenRows::unseen(10);
        assert!(!seen.is_any() && seen.first_gap() == Some(0..10));
        seen.mark(7..40);
        seen.mark(0..3);
        assert!(seen.is_any() && !seen.is_all());
        assert_eq!(seen.first_gap(), Some(3..7));
        let mut elsewhere = SeenRows::unseen(10);
        elsewhere.mark(3..7);
        seen.merge(&SeenRows::all_seen(4));
        assert_eq!(seen.first_gap(), Some(3..7), "those are other rows");
        seen.merge(&elsewhere);
        assert!(seen.is_all() && seen.first_gap().is_none());
    }
}
