//! What a command printed, as a terminal would show it: its colours kept, its carriage returns obeyed, all else that it
//! says to a terminal left out.
//!
//! A line is a row of cells under a cursor that carriage returns and backspaces move; whatever is written lands there. Of the
//! control sequences those count that set colours and emphasis (SGR), that erase in the line (EL), and that return to its
//! beginning (CHA); none moves to another line, so nothing that is complete can be painted over. Cost: linear in the text.

mod sequence;

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

use super::clean::glyph;
use super::columns::of_grapheme;
use super::hidden::{Watch, name};
use super::{Line, Span, Style};
use sequence::{Sequence, next_sequence};

/// Columns from one tab stop to the next, as terminals have them.
const TAB: usize = 8;

/// Columns of a line beyond which it goes on in another: so much is kept to be written over.
const MOST_COLUMNS: usize = 16 * 1024;

/// Bytes of one cell: a base and its marks. Marks beyond are left out.
const MOST_OF_A_CELL: usize = 64;

/// The lines of what a command printed, in `style` where it chose nothing else; not wrapped.
#[must_use]
pub fn printed(text: &str, style: impl Into<Style>) -> Vec<Line> {
    let ground = style.into();
    let mut paper = Paper { ground, pen: ground, cells: Vec::new(), cursor: 0, lines: Vec::new() };
    paper.read(text);
    paper.lines
}

/// The same as one text without styles.
pub(super) fn bare(text: &str) -> String {
    let lines: Vec<String> = printed(text, Style::default()).iter().map(Line::text).collect();
    let mut out = lines.join("\n");
    if text.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// One column; of a wide character's two the second is empty.
#[derive(Clone, Debug)]
struct Cell<'a> {
    text: Cow<'a, str>,
    style: Style,
}

struct Paper<'a> {
    ground: Style,
    pen: Style,
    cells: Vec<Cell<'a>>,
    cursor: usize,
    lines: Vec<Line>,
}

impl<'a> Paper<'a> {
    fn read(&mut self, text: &'a str) {
        let (mut watch, mut at, mut from) = (Watch::default(), 0, 0);
        while let Some(c) = text[at..].chars().next() {
            let next = at + c.len_utf8();
            let found = watch.finds(c, text[next..].chars().next());
            if !(found || c.is_control()) {
                at = next;
                continue;
            }
            self.write(&text[from..at]);
            at = match c {
                '\u{1b}' | '\u{9b}' => self.obey(text, at, next),
                c => {
                    self.control(c);
                    next
                }
            };
            from = at;
            watch.restart();
        }
        self.write(&text[from..]);
        if !self.cells.is_empty() {
            self.end_line();
        }
    }

    fn control(&mut self, c: char) {
        match c {
            '\n' => self.end_line(),
            '\r' => self.cursor = 0,
            '\u{8}' => self.cursor = self.cursor.saturating_sub(1),
            '\t' => {
                for _ in 0..TAB - self.cursor % TAB {
                    self.put(" ".into(), 1);
                }
            }
            c if c.is_ascii_control() => self.put(glyph(c).to_string().into(), 1),
            c => name(c).chars().for_each(|c| self.put(c.to_string().into(), 1)),
        }
    }

    /// Does what the sequence at `at` says; says where what comes after it begins.
    fn obey(&mut self, text: &str, at: usize, next: usize) -> usize {
        let (sequence, end) = next_sequence(&text[at..]);
        match sequence {
            Sequence::Style(parameters) => self.pen = sequence::styled(self.pen, self.ground, parameters),
            Sequence::EraseToEnd => self.cut(self.cursor),
            Sequence::EraseLine => {
                self.cells.clear();
                self.cursor = 0;
            }
            Sequence::LineStart => self.cursor = 0,
            Sequence::Other => {}
            Sequence::None => {
                self.put("␛".into(), 1);
                return next;
            }
        }
        at + end
    }

    fn write(&mut self, text: &'a str) {
        for grapheme in text.graphemes(true) {
            match of_grapheme(grapheme) {
                0 => self.mark(grapheme),
                width => self.put(Cow::Borrowed(grapheme), width),
            }
        }
    }

    /// Puts a mark onto what is before the cursor.
    fn mark(&mut self, mark: &str) {
        let mut before = self.cells.iter_mut().take(self.cursor).rev();
        if let Some(cell) = before.find(|cell| !cell.text.is_empty())
            && cell.text.len() + mark.len() <= MOST_OF_A_CELL
        {
            cell.text.to_mut().push_str(mark);
        }
    }

    fn put(&mut self, text: Cow<'a, str>, width: usize) {
        if self.cursor + width > MOST_COLUMNS {
            self.end_line();
        }
        let text = if text.len() > MOST_OF_A_CELL { Cow::Borrowed("\u{fffd}") } else { text };
        self.halve(self.cursor);
        self.halve(self.cursor + width);
        let rest = std::iter::repeat_n(Cow::Borrowed(""), width - 1);
        for text in std::iter::once(text).chain(rest) {
            let cell = Cell { text, style: self.pen };
            match self.cells.get_mut(self.cursor) {
                Some(there) => *there = cell,
                None => self.cells.push(cell),
            }
            self.cursor += 1;
        }
    }

    /// Leaves blanks where a wide character would be cut in two at a column.
    fn halve(&mut self, at: usize) {
        let cut = self.cells.get(at).is_some_and(|cell| cell.text.is_empty());
        if cut && at > 0 {
            self.cells[at - 1].text = " ".into();
            self.cells[at].text = " ".into();
        }
    }

    fn cut(&mut self, at: usize) {
        self.halve(at);
        self.cells.truncate(at);
    }

    fn end_line(&mut self) {
        let mut spans: Vec<Span> = Vec::new();
        for cell in self.cells.drain(..) {
            match spans.last_mut() {
                Some(span) if span.style == cell.style => span.text.push_str(&cell.text),
                _ => spans.push(Span::new(cell.text, cell.style)),
            }
        }
        self.lines.push(spans.into());
        self.cursor = 0;
    }
}

#[cfg(test)]
mod tests;
