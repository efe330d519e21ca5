//! A word without end, such as a picture spelled out in letters: its rows are finished as they fill up, so that what arrives next costs
//! no more than a row. Nothing is marked in it.

use std::borrow::Cow;

use super::{Inside, LARGEST_LINE, MarkdownStream};
use crate::sanitize::shown;
use crate::{Breaks, ControlChars, Indent, Line, MEASURE, Role, Wrap, sanitize, wrap};

impl MarkdownStream {
    /// Finishes the rows of a word that goes on beyond `end`, but for the last of them.
    pub(super) fn begin_word(&mut self, end: usize) {
        self.gap();
        let rows = self.rows(&self.text[self.from..end]);
        self.finish_rows_of_word(rows, end);
        self.inside = Inside::Word;
    }

    /// Finishes what came of the word, and the word when its end is there.
    pub(super) fn finish_word(&mut self, end: usize) {
        let rest = &self.text[self.from..end];
        let Some(length) = rest.find([' ', '\n']) else {
            if rest.len() > LARGEST_LINE {
                let rows = self.rows(rest);
                self.finish_rows_of_word(rows, end);
            }
            return;
        };
        let behind = &rest.as_bytes()[length..];
        self.inside = match behind {
            // What comes next tells whether the paragraph goes on.
            [b'\n'] => return,
            [b'\n', b'\n', ..] => Inside::Nothing,
            _ => Inside::Block,
        };
        if length > 0 {
            self.finished.extend(self.rows_going_on(&rest[..length]));
        }
        self.from += length + 1;
    }

    /// The rows of what came of the word.
    pub(super) fn tail_of_word(&self, rest: &str) -> Vec<Line> {
        let rest = rest.trim_end_matches('\n');
        if rest.is_empty() { Vec::new() } else { self.rows_going_on(rest) }
    }

    fn rows_going_on(&self, rest: &str) -> Vec<Line> {
        let mut rows = self.rows(rest);
        if let Some(first) = rows.first_mut() {
            first.joint = Wrap::Soft { spaces: 0 };
        }
        rows
    }

    fn rows(&self, text: &str) -> Vec<Line> {
        wrap(&shown(text, Role::Text.into()), self.page.width.min(MEASURE), &Indent::default(), Breaks::Words)
    }

    fn finish_rows_of_word(&mut self, mut rows: Vec<Line>, end: usize) {
        if self.inside == Inside::Word
            && let Some(first) = rows.first_mut()
        {
            first.joint = Wrap::Soft { spaces: 0 };
        }
        let mut cut = end;
        // Where signs stand for what can't be shown nobody knows where in the text a row begins: then the last one ends here.
        if rows.len() > 1
            && matches!(sanitize(&self.text[self.from..end], ControlChars::Visible), Cow::Borrowed(_))
        {
            cut -= rows.pop().map_or(0, |row| row.text().len());
        }
        self.finished.extend(rows);
        self.from = cut;
    }
}
