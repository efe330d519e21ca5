//! Which rows of a text have been on the screen, in whatever order. Pure.

use std::ops::Range;

/// Rows, and which of them have been on the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SeenRows(Vec<bool>);

impl SeenRows {
    /// So many rows of which nobody has seen one.
    pub(super) fn none_of(rows: usize) -> Self {
        Self(vec![false; rows])
    }

    /// So many rows that were all seen.
    pub(super) fn all_of(rows: usize) -> Self {
        Self(vec![true; rows])
    }

    /// How many rows there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// These rows are on the screen; those beyond the end are none.
    pub(super) fn note(&mut self, rows: Range<usize>) {
        let end = rows.end.min(self.0.len());
        self.0[rows.start.min(end)..end].fill(true);
    }

    /// Takes in what was seen of the same rows elsewhere.
    pub(super) fn take_in(&mut self, other: &Self) {
        if self.count() == other.count() {
            self.0.iter_mut().zip(&other.0).for_each(|(here, there)| *here |= there);
        }
    }

    /// Whether one of the rows has been on the screen.
    pub(super) fn is_any(&self) -> bool {
        self.0.contains(&true)
    }

    /// Whether all of them have.
    pub(super) fn is_all(&self) -> bool {
        !self.0.contains(&false)
    }

    /// The first rows without a seen one between them that have not.
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
    fn rows_count_in_any_order_and_what_is_missing_is_told() {
        let mut seen = SeenRows::none_of(10);
        assert!(!seen.is_any() && seen.first_gap() == Some(0..10));
        seen.note(7..40);
        seen.note(0..3);
        assert!(seen.is_any() && !seen.is_all());
        assert_eq!(seen.first_gap(), Some(3..7));
        let mut elsewhere = SeenRows::none_of(10);
        elsewhere.note(3..7);
        seen.take_in(&SeenRows::all_of(4));
        assert_eq!(seen.first_gap(), Some(3..7), "those are other rows");
        seen.take_in(&elsewhere);
        assert!(seen.is_all() && seen.first_gap().is_none());
    }
}
