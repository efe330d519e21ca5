//! The kill ring: cut text for yanking.

use std::ops::Range;

/// Maximum number of entries.
const MAX_ENTRIES: usize = 60;

/// Cut texts, newest last.
#[derive(Debug, Default)]
pub(super) struct KillRing {
    ring: Vec<String>,
    last: LastEdit,
}

/// The last edit, if the next one can depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum LastEdit {
    #[default]
    Other,
    /// The next kill extends it.
    Kill,
    /// The entry with this index was inserted at this range.
    Yank(usize, Range<usize>),
}

/// The side of the cursor on which text was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KillSide {
    Before,
    After,
}

impl KillRing {
    /// Ends a sequence of kills or yanks after any other edit.
    pub(super) fn end_sequence(&mut self) {
        self.last = LastEdit::Other;
    }

    /// Adds a cut text; consecutive kills form one entry.
    pub(super) fn push(&mut self, text: &str, side: KillSide) {
        let is_continuation = self.last == LastEdit::Kill;
        self.last = LastEdit::Kill;
        if text.is_empty() {
            return;
        }
        match self.ring.last_mut().filter(|_| is_continuation) {
            Some(last) if side == KillSide::Before => last.insert_str(0, text),
            Some(last) => last.push_str(text),
            None => self.ring.push(text.to_owned()),
        }
        if self.ring.len() > MAX_ENTRIES {
            self.ring.remove(0);
        }
    }

    /// Returns the text to insert for a yank: the newest entry.
    pub(super) fn yank(&mut self, at: usize) -> Option<&str> {
        let newest = self.ring.len().checked_sub(1)?;
        self.select(newest, at)
    }

    /// Returns the replacement for the text just yanked: the previous entry, with the range to replace.
    pub(super) fn yank_before(&mut self) -> Option<(Range<usize>, &str)> {
        let LastEdit::Yank(number, range) = self.last.clone() else { return None };
        let number = number.checked_sub(1).unwrap_or(self.ring.len() - 1);
        Some((range.clone(), self.select(number, range.start)?))
    }

    fn select(&mut self, number: usize, at: usize) -> Option<&str> {
        let text = self.ring.get(number)?;
        self.last = LastEdit::Yank(number, at..at + text.len());
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kill_ring_consecutive_kills_merge() {
        let mut kills = KillRing::default();
        kills.push("two", KillSide::Before);
        kills.push("one ", KillSide::Before);
        kills.push(" three", KillSide::After);
        assert_eq!(kills.yank(0), Some("one two three"));
        kills.end_sequence();
        kills.push("other", KillSide::After);
        assert_eq!(kills.yank(4), Some("other"));
        assert_eq!(kills.yank_before(), Some((4..9, "one two three")));
        assert_eq!(kills.yank_before(), Some((4..17, "other")), "round again");
    }

    #[test]
    fn kill_ring_yank_before_needs_a_preceding_yank() {
        let mut kills = KillRing::default();
        assert_eq!(kills.yank(0), None);
        kills.push("one", KillSide::After);
        assert_eq!(kills.yank_before(), None);
        kills.yank(0);
        kills.end_sequence();
        assert_eq!(kills.yank_before(), None);
    }
}
