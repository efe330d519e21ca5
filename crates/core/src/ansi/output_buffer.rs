//! The line that a command is writing, and the text that came of those before.

use unicode_segmentation::UnicodeSegmentation;

use super::decoder::AnsiDecoder;
use super::sequence::{self, Sequence, next_sequence};
use super::width::of_grapheme;
use super::{Emphasis, MOST_STROKES, SgrState, StyleRun, StyledText, moved};

/// Columns from one tab stop to the next, as terminals have them.
pub const TAB: usize = 8;

/// Columns that can be written over: of a longer line the end. So much is kept as cells.
const MOST_COLUMNS: usize = 16 * 1024;

/// Bytes of one cell: a base and its marks. Marks beyond are left out.
const MOST_OF_A_CELL: usize = 64;

/// Bytes of a control sequence beyond which it says nothing that counts.
const MOST_OF_A_SEQUENCE: usize = 256;

/// What a command prints, as it comes.
///
/// A line is a row of cells under a cursor that carriage returns and backspaces move; whatever is written lands there. Of the control
/// sequences those count that set colours and emphasis (SGR), that erase in the line (EL), and that return to its beginning (CHA).
/// Cost: linear in what comes.
#[derive(Clone, Debug)]
pub struct OutputBuffer {
    /// Bytes of finished text that are kept at least, if there are as many.
    most: usize,
    pen: SgrState,
    cells: Vec<Cell>,
    cursor: usize,
    /// Marks at the beginning of a line, which have nothing to stand on.
    lead: String,
    is_rewritten: bool,
    decoder: AnsiDecoder,
    /// What means nothing before more has come: the last grapheme, a sequence that isn't over.
    open: String,
    /// What can't change any more.
    done: StyledText,
    /// Characters of `done`.
    characters: usize,
    /// Newlines that came.
    lines: usize,
    is_cut: bool,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    glyph: Glyph,
    pen: SgrState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Glyph {
    Char(char),
    Cluster(Box<str>),
    /// It belongs to what stands before it: a wide character, a tab.
    Rest,
}

impl Default for OutputBuffer {
    fn default() -> Self {
        Self::keeping(usize::MAX)
    }
}

impl OutputBuffer {
    /// An empty one, which may forget the beginning of a text of more than so many bytes.
    #[must_use]
    pub const fn keeping(most: usize) -> Self {
        Self {
            most,
            pen: SgrState { emphasis: Emphasis::NONE, fg: None, bg: None },
            cells: Vec::new(),
            cursor: 0,
            lead: String::new(),
            is_rewritten: false,
            decoder: AnsiDecoder::new(),
            open: String::new(),
            done: StyledText { text: String::new(), strokes: Vec::new() },
            characters: 0,
            lines: 0,
            is_cut: false,
        }
    }

    /// One that goes on where this one is, and of the text that is finished has and keeps no more than about so many bytes. It is for
    /// those who are told the rest as text: what has come of a character that isn't whole yet is left to that.
    #[must_use]
    pub fn carried(&self, most: usize) -> Self {
        Self { most, decoder: AnsiDecoder::new(), ..self.end(most) }
    }

    /// Takes what comes next.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut text = std::mem::take(&mut self.open);
        self.decoder.decode(bytes, &mut text);
        self.read(&text);
        self.forget();
    }

    /// What there is, the line at hand as it stands.
    #[must_use]
    pub fn printed(&self) -> StyledText {
        self.end_of(usize::MAX)
    }

    /// The same, of the text that is finished no more than about so many bytes.
    #[must_use]
    pub fn end_of(&self, bytes: usize) -> StyledText {
        self.end(bytes).finish()
    }

    /// How many lines came, one that has no end counted.
    #[must_use]
    pub fn lines(&self) -> usize {
        let is_in_line = !self.done.text.is_empty() && !self.done.text.ends_with('\n');
        let begun = is_in_line || !(self.cells.is_empty() && self.open.is_empty() && !self.decoder.waits());
        self.lines + usize::from(begun)
    }

    /// Whether the beginning of the text was forgotten.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn end(&self, bytes: usize) -> Self {
        let cut = self.done.text.len().saturating_sub(bytes);
        let done = self.done.end_from(cut);
        Self {
            characters: done.text.chars().count(),
            done,
            cells: self.cells.clone(),
            lead: self.lead.clone(),
            open: self.open.clone(),
            decoder: self.decoder.clone(),
            is_cut: self.is_cut || cut > 0,
            ..*self
        }
    }

    fn finish(mut self) -> StyledText {
        let mut text = std::mem::take(&mut self.open);
        if self.decoder.waits() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        self.read(&text);
        let last = std::mem::take(&mut self.open);
        if !last.starts_with(['\u{1b}', '\u{9b}']) {
            self.write(&last);
        }
        self.settle();
        self.done.strokes.drain(..self.done.strokes.len().saturating_sub(MOST_STROKES));
        self.done
    }

    /// Acts on a text, but for what of its end isn't certain yet.
    fn read(&mut self, text: &str) {
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let length = rest.find(char::is_control).unwrap_or(rest.len());
            if length == rest.len() {
                self.begin(rest);
                return;
            }
            self.write(&rest[..length]);
            at += length;
            let Some(c) = text[at..].chars().next() else { return };
            if matches!(c, '\u{1b}' | '\u{9b}') {
                let Some(length) = self.obey(&text[at..]) else { return };
                at += length;
            } else {
                self.control(c);
                at += c.len_utf8();
            }
        }
    }

    /// Writes what more may follow on: its last grapheme may be the beginning of another one.
    fn begin(&mut self, text: &str) {
        let last = text.graphemes(true).next_back().map_or(0, str::len);
        let last = if last > MOST_OF_A_CELL { 0 } else { last };
        let (sure, open) = text.split_at(text.len() - last);
        self.write(sure);
        open.clone_into(&mut self.open);
    }

    fn control(&mut self, c: char) {
        match c {
            '\n' => self.end_line(),
            '\r' => self.cursor = 0,
            '\u{8}' => self.cursor = self.cursor.saturating_sub(1),
            '\t' => self.tab(),
            _ => {}
        }
    }

    /// Goes to the next stop. What it passes stays.
    fn tab(&mut self) {
        let stop = (self.cursor / TAB + 1) * TAB;
        self.cursor = self.cells.len().min(stop);
        if self.cursor < stop {
            self.put(Glyph::Char('\t'), stop - self.cursor);
        }
    }

    /// Does what the sequence says that a text begins with, and says how long that is. One that isn't over waits for its end.
    fn obey(&mut self, text: &str) -> Option<usize> {
        let (sequence, length) = next_sequence(text);
        match sequence {
            Sequence::Style(parameters) => self.pen = sequence::changed_by(self.pen, parameters),
            Sequence::EraseToEnd => self.cut(self.cursor),
            Sequence::EraseLine => {
                self.cells.clear();
                self.lead.clear();
                self.cursor = 0;
            }
            Sequence::LineStart => self.cursor = 0,
            Sequence::Other => {}
            Sequence::Open(shorter) => {
                let is_short = text.len() <= MOST_OF_A_SEQUENCE;
                self.open.push_str(if is_short { text } else { shorter });
                return None;
            }
        }
        Some(length)
    }

    fn write(&mut self, text: &str) {
        if text.is_ascii() {
            return text.chars().for_each(|c| self.put(Glyph::Char(c), 1));
        }
        for grapheme in text.graphemes(true) {
            match of_grapheme(grapheme) {
                0 => self.mark(grapheme),
                width => self.put(Glyph::of(grapheme), width),
            }
        }
    }

    /// Puts a mark onto what is before the cursor.
    fn mark(&mut self, mark: &str) {
        let mut before = self.cells.iter_mut().take(self.cursor).rev();
        match before.find(|cell| cell.glyph != Glyph::Rest) {
            Some(cell) => cell.glyph.mark(mark),
            None if self.lead.len() + mark.len() <= MOST_OF_A_CELL => self.lead.push_str(mark),
            None => {}
        }
    }

    fn put(&mut self, glyph: Glyph, width: usize) {
        if self.cursor + width > MOST_COLUMNS {
            self.is_rewritten = false;
            self.settle();
        }
        if self.cursor < self.cells.len() {
            self.halve(self.cursor);
            self.halve(self.cursor + width);
            self.is_rewritten = true;
        }
        let rest = std::iter::repeat_n(Glyph::Rest, width - 1);
        for glyph in std::iter::once(glyph).chain(rest) {
            let cell = Cell { glyph, pen: self.pen };
            match self.cells.get_mut(self.cursor) {
                Some(there) => *there = cell,
                None => self.cells.push(cell),
            }
            self.cursor += 1;
        }
    }

    /// Leaves blanks where something wide would be cut in two at a column.
    fn halve(&mut self, at: usize) {
        let is_rest = |cell: &Cell| cell.glyph == Glyph::Rest;
        if !self.cells.get(at).is_some_and(is_rest) {
            return;
        }
        let from = self.cells[..at].iter().rposition(|cell| !is_rest(cell)).unwrap_or(0);
        let end =
            self.cells[at..].iter().position(|cell| !is_rest(cell)).map_or(self.cells.len(), |n| at + n);
        self.cells[from..end].iter_mut().for_each(|cell| cell.glyph = Glyph::Char(' '));
    }

    fn cut(&mut self, at: usize) {
        self.halve(at);
        self.cells.truncate(at);
    }

    fn end_line(&mut self) {
        self.settle();
        self.done.text.push('\n');
        self.characters += 1;
        self.lines += 1;
    }

    /// Makes text of the line at hand, as far as it is there.
    fn settle(&mut self) {
        if std::mem::take(&mut self.is_rewritten) {
            // What wiped out a longer text.
            let kept = self.cells.iter().rposition(|cell| !cell.is_blank()).map_or(0, |last| last + 1);
            self.cells.truncate(kept);
        }
        self.characters += self.lead.chars().count();
        self.done.text.push_str(&self.lead);
        self.lead.clear();
        let mut cells = std::mem::take(&mut self.cells);
        for cell in cells.drain(..) {
            let characters = cell.glyph.write(&mut self.done.text);
            self.stroke(cell.pen, characters);
            self.characters += characters;
        }
        (self.cells, self.cursor) = (cells, 0);
    }

    fn stroke(&mut self, pen: SgrState, length: usize) {
        let start = self.characters;
        match self.done.strokes.last_mut() {
            _ if pen == SgrState::default() || length == 0 => {}
            Some(last) if last.pen == pen && last.end() == start => last.length += length,
            _ => self.done.strokes.push(StyleRun { start, length, pen }),
        }
    }

    /// Forgets the beginning of what is longer than it need be.
    fn forget(&mut self) {
        let strokes = &mut self.done.strokes;
        if strokes.len() > 2 * MOST_STROKES {
            strokes.drain(..strokes.len() - MOST_STROKES);
        }
        let text = &mut self.done.text;
        if text.len() <= self.most.saturating_mul(2) {
            return;
        }
        let least = text.floor_char_boundary(text.len() - self.most);
        let cut = text[..least].rfind('\n').map_or(least, |at| at + 1);
        // A line that is longer than all that is to be kept is cut where it may be.
        let cut = if text.len() - cut > self.most.saturating_mul(2) { least } else { cut };
        let characters = text[..cut].chars().count();
        text.drain(..cut);
        self.characters -= characters;
        self.done.strokes = moved(&self.done.strokes, characters);
        self.is_cut = true;
    }
}

impl Cell {
    /// Whether nobody sees it.
    fn is_blank(&self) -> bool {
        let is_space = matches!(self.glyph, Glyph::Char(' ' | '\t') | Glyph::Rest);
        let seen = Emphasis::REVERSED.and(Emphasis::UNDERLINE).and(Emphasis::STRIKE);
        is_space && self.pen.bg.is_none() && self.pen.emphasis.without(seen) == self.pen.emphasis
    }
}

impl Glyph {
    fn of(grapheme: &str) -> Self {
        let mut chars = grapheme.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => Self::Char(c),
            _ if grapheme.len() > MOST_OF_A_CELL => Self::Char(char::REPLACEMENT_CHARACTER),
            _ => Self::Cluster(grapheme.into()),
        }
    }

    fn mark(&mut self, mark: &str) {
        let text = match &*self {
            Self::Char(c) => c.to_string(),
            Self::Cluster(text) => text.to_string(),
            Self::Rest => return,
        };
        if text.len() + mark.len() <= MOST_OF_A_CELL {
            *self = Self::Cluster((text + mark).into());
        }
    }

    /// Adds it to a text; says how many characters that are.
    fn write(&self, text: &mut String) -> usize {
        match self {
            Self::Char(c) => {
                text.push(*c);
                1
            }
            Self::Cluster(cluster) => {
                text.push_str(cluster);
                cluster.chars().count()
            }
            Self::Rest => 0,
        }
    }
}
