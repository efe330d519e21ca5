//! What was cut out of the text, to be put in again.

use std::ops::Range;

/// Cuts that are kept.
const MOST: usize = 60;

/// What was cut out, newest last.
#[derive(Debug, Default)]
pub(super) struct KillRing {
    ring: Vec<String>,
    last: LastEdit,
}

/// What the last edit was, as far as the next one depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum LastEdit {
    #[default]
    Other,
    /// Another cut right after it belongs to it.
    Kill,
    /// The one of the ring with this number was put in there.
    Yank(usize, Range<usize>),
}

/// On which side of the cursor something was cut out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KillSide {
    Before,
    After,
}

impl KillRing {
    /// Something was done that is no cut and puts nothing in.
    pub(super) fn rest(&mut self) {
        self.last = LastEdit::Other;
    }

    /// Keeps what was cut out; cuts in a row are one.
    pub(super) fn keep(&mut self, text: &str, side: KillSide) {
        let goes_on = self.last == LastEdit::Kill;
        self.last = LastEdit::Kill;
        if text.is_empty() {
            return;
        }
        match self.ring.last_mut().filter(|_| goes_on) {
            Some(last) if side == KillSide::Before => last.insert_str(0, text),
            Some(last) => last.push_str(text),
            None => self.ring.push(text.to_owned()),
        }
        if self.ring.len() > MOST {
            self.ring.remove(0);
        }
    }

    /// What is to be put in at a place: what was cut out last.
    pub(super) fn yank(&mut self, at: usize) -> Option<&str> {
        let newest = self.ring.len().checked_sub(1)?;
        self.put_in(newest, at)
    }

    /// What is to stand in the place of what was just put in: what was cut out before it, and where.
    pub(super) fn yank_before(&mut self) -> Option<(Range<usize>, &str)> {
        let LastEdit::Yank(number, range) = self.last.clone() else { return None };
        let number = number.checked_sub(1).unwrap_or(self.ring.len() - 1);
        Some((range.clone(), self.put_in(number, range.start)?))
    }

    fn put_in(&mut self, number: usize, at: usize) -> Option<&str> {
        let text = self.ring.get(number)?;
        self.last = LastEdit::Yank(number, at..at + text.len());
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_in_a_row_are_one_and_others_are_not() {
        let mut kills = KillRing::default();
        kills.keep("two", KillSide::Before);
        kills.keep("one ", KillSide::Before);
        kills.keep(" three", KillSide::After);
        assert_eq!(kills.yank(0), Some("one two three"));
        kills.rest();
        kills.keep("other", KillSide::After);
        assert_eq!(kills.yank(4), Some("other"));
        assert_eq!(kills.yank_before(), Some((4..9, "one two three")));
        assert_eq!(kills.yank_before(), Some((4..17, "other")), "round again");
    }

    #[test]
    fn nothing_comes_before_what_was_not_just_put_in() {
        let mut kills = KillRing::default();
        assert_eq!(kills.yank(0), None);
        kills.keep("one", KillSide::After);
        assert_eq!(kills.yank_before(), None);
        kills.yank(0);
        kills.rest();
        assert_eq!(kills.yank_before(), None);
    }
}
