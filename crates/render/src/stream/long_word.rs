//! A word without end, such as an image encoded as text: its rows are finished as they fill up, so that more
//! text costs no more than a row. It has no marks.

use std::borrow::Cow;

use super::{Continuation, MAX_LINE_BYTES, MarkdownStream};
use crate::sanitize::sanitized_spans;
use crate::{Breaks, ControlChars, Indent, Line, MAX_PROSE_WIDTH, Role, Wrap, sanitize, wrap};

impl MarkdownStream {
    /// Finishes the rows of a word that continues beyond `end`, except for the last one.
    pub(super) fn begin_word(&mut self, end: usize) {
        self.gap();
        let rows = self.rows(&self.text[self.unfinished..end]);
        self.finish_rows_of_word(rows, end);
        self.continues = Continuation::Word;
    }

    /// Finishes more of the word, and the word itself at its end.
    pub(super) fn finish_word(&mut self, end: usize) {
        let rest = &self.text[self.unfinished..end];
        let Some(length) = rest.find([' ', '\n']) else {
            if rest.len() > MAX_LINE_BYTES {
                let rows = self.rows(rest);
                self.finish_rows_of_word(rows, end);
            }
            return;
        };
        let after = &rest.as_bytes()[length..];
        self.continues = match after {
            // The next text tells whether the paragraph continues.
            [b'\n'] => return,
            [b'\n', b'\n', ..] => Continuation::Nothing,
            _ => Continuation::Block,
        };
        if length > 0 {
            self.finished.extend(self.continued_rows(&rest[..length]));
        }
        self.unfinished += length + 1;
    }

    /// The rows of the unfinished part of the word.
    pub(super) fn tail_of_word(&self, rest: &str) -> Vec<Line> {
        let rest = rest.trim_end_matches('\n');
        if rest.is_empty() { Vec::new() } else { self.continued_rows(rest) }
    }

    fn continued_rows(&self, rest: &str) -> Vec<Line> {
        let mut rows = self.rows(rest);
        if let Some(first) = rows.first_mut() {
            first.wrap = Wrap::Soft { spaces: 0 };
        }
        rows
    }

    fn rows(&self, text: &str) -> Vec<Line> {
        wrap(
            &sanitized_spans(text, Role::Text.into()),
            self.layout.width.min(MAX_PROSE_WIDTH),
            &Indent::default(),
            Breaks::Words,
        )
    }

    fn finish_rows_of_word(&mut self, mut rows: Vec<Line>, end: usize) {
        if self.continues == Continuation::Word
            && let Some(first) = rows.first_mut()
        {
            first.wrap = Wrap::Soft { spaces: 0 };
        }
        let mut cut = end;
        // With replaced characters the start of a row in the text is unknown: then the last row ends here.
        if rows.len() > 1
            && matches!(sanitize(&self.text[self.unfinished..end], ControlChars::Visible), Cow::Borrowed(_))
        {
            cut -= rows.pop().map_or(0, |row| row.text().len());
        }
        self.finished.extend(rows);
        self.unfinished = cut;
    }
}
