//! The output buffer: a single-line terminal emulator with the text of finished lines.

use unicode_segmentation::UnicodeSegmentation;

use super::decoder::Utf8Decoder;
use super::sequence::{self, Sequence, next_sequence};
use super::style::{Emphasis, SgrState};
use super::styled_text::{MAX_STYLE_RUNS, StyleRun, StyledText, shift_runs};
use super::width::grapheme_width;

/// Columns between tab stops, as in terminals.
pub const TAB: usize = 8;

/// Maximum number of cells of the current line; of a longer line, only the last columns can be overwritten.
const MAX_COLUMNS: usize = 16 * 1024;

/// Maximum bytes of a cell: a base character and its combining marks. Further marks are dropped.
const MAX_CELL_BYTES: usize = 64;

/// Maximum bytes of a control sequence; the parameters of a longer one are ignored.
const MAX_SEQUENCE_BYTES: usize = 256;

/// A command's output.
///
/// A line is a row of cells with a cursor; carriage returns and backspaces move it, and text is written at
/// it. Supported control sequences set colors and attributes (SGR), erase in the line (EL), and return to its
/// beginning (CHA). The cost is linear in the input.
#[derive(Clone, Debug)]
pub struct OutputBuffer {
    /// Minimum number of bytes of finished text to keep; text twice as long is cut.
    max_bytes: usize,
    sgr: SgrState,
    cells: Vec<OutputCell>,
    cursor: usize,
    /// Combining marks at the beginning of a line, without a base character.
    leading_marks: String,
    is_rewritten: bool,
    decoder: Utf8Decoder,
    /// Input that can't be interpreted yet: the last grapheme, or an incomplete sequence.
    pending: String,
    /// The text that can't change anymore.
    finished: StyledText,
    /// Number of characters of `finished`.
    characters: usize,
    /// Number of newlines received.
    lines: usize,
    /// Number of characters at the beginning that were dropped.
    dropped: usize,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OutputCell {
    glyph: Glyph,
    sgr: SgrState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Glyph {
    Char(char),
    Cluster(Box<str>),
    /// A further column of the wide character or tab before it.
    Continuation,
}

impl Default for OutputBuffer {
    fn default() -> Self {
        Self::with_limit(usize::MAX)
    }
}

impl OutputBuffer {
    /// Creates an empty buffer that may drop the beginning of finished text longer than `max_bytes`.
    #[must_use]
    pub const fn with_limit(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            sgr: SgrState { emphasis: Emphasis::NONE, fg: None, bg: None },
            cells: Vec::new(),
            cursor: 0,
            leading_marks: String::new(),
            is_rewritten: false,
            decoder: Utf8Decoder::new(),
            pending: String::new(),
            finished: StyledText { text: String::new(), style_runs: Vec::new() },
            characters: 0,
            lines: 0,
            dropped: 0,
        }
    }

    /// Returns a copy that continues from this state and keeps at most about `max_bytes` of finished text.
    /// For readers that receive further output as text, so bytes of an incomplete character are omitted.
    #[must_use]
    pub fn continuation(&self, max_bytes: usize) -> Self {
        Self { max_bytes, decoder: Utf8Decoder::new(), ..self.end(max_bytes) }
    }

    /// Appends output.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut text = std::mem::take(&mut self.pending);
        self.decoder.decode(bytes, &mut text);
        self.read(&text);
        self.drop_oldest();
    }

    /// Returns the text so far, the current line included.
    #[must_use]
    pub fn styled_text(&self) -> StyledText {
        self.tail(usize::MAX)
    }

    /// Returns the end of the text so far, with at most about `bytes` of finished text.
    #[must_use]
    pub fn tail(&self, bytes: usize) -> StyledText {
        self.end(bytes).finish()
    }

    /// Returns the number of lines, an unfinished one included.
    #[must_use]
    pub fn lines(&self) -> usize {
        let is_in_line = !self.finished.text.is_empty() && !self.finished.text.ends_with('\n');
        let is_begun = is_in_line
            || !(self.cells.is_empty() && self.pending.is_empty() && !self.decoder.is_incomplete());
        self.lines + usize::from(is_begun)
    }

    /// Returns true if the beginning of the text was dropped.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.dropped > 0
    }

    /// Returns the number of characters that were dropped from the beginning of the text.
    #[must_use]
    pub const fn dropped(&self) -> usize {
        self.dropped
    }

    fn end(&self, bytes: usize) -> Self {
        let cut = self.finished.text.len().saturating_sub(bytes);
        let finished = self.finished.suffix_from(cut);
        let characters = finished.text.chars().count();
        Self {
            dropped: self.dropped + (self.characters - characters),
            characters,
            finished,
            cells: self.cells.clone(),
            leading_marks: self.leading_marks.clone(),
            pending: self.pending.clone(),
            decoder: self.decoder.clone(),
            ..*self
        }
    }

    fn finish(mut self) -> StyledText {
        let mut text = std::mem::take(&mut self.pending);
        if self.decoder.is_incomplete() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        self.read(&text);
        let last = std::mem::take(&mut self.pending);
        if !last.starts_with(['\u{1b}', '\u{9b}']) {
            self.write(&last);
        }
        self.finish_line();
        self.finished.style_runs.drain(..self.finished.style_runs.len().saturating_sub(MAX_STYLE_RUNS));
        self.finished
    }

    /// Interprets a string; an end that further input may change stays pending.
    fn read(&mut self, text: &str) {
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let length = rest.find(char::is_control).unwrap_or(rest.len());
            if length == rest.len() {
                self.write_extendable(rest);
                return;
            }
            self.write(&rest[..length]);
            at += length;
            let Some(c) = text[at..].chars().next() else { return };
            if matches!(c, '\u{1b}' | '\u{9b}') {
                let Some(length) = self.apply_sequence(&text[at..]) else { return };
                at += length;
            } else {
                self.control(c);
                at += c.len_utf8();
            }
        }
    }

    /// Writes a string whose last grapheme stays pending, because more text may extend it.
    fn write_extendable(&mut self, text: &str) {
        let last = text.graphemes(true).next_back().map_or(0, str::len);
        let last = if last > MAX_CELL_BYTES { 0 } else { last };
        let (complete, pending) = text.split_at(text.len() - last);
        self.write(complete);
        pending.clone_into(&mut self.pending);
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

    /// Moves the cursor to the next tab stop; cells in between are unchanged.
    fn tab(&mut self) {
        let stop = (self.cursor / TAB + 1) * TAB;
        self.cursor = self.cells.len().min(stop);
        if self.cursor < stop {
            self.put(Glyph::Char('\t'), stop - self.cursor);
        }
    }

    /// Applies the sequence at the beginning of a string and returns its length. An incomplete one stays
    /// pending.
    fn apply_sequence(&mut self, text: &str) -> Option<usize> {
        let (sequence, length) = next_sequence(text);
        match sequence {
            Sequence::Style(parameters) => self.sgr = sequence::apply_sgr(self.sgr, parameters),
            Sequence::EraseToEnd => self.cut(self.cursor),
            Sequence::EraseLine => {
                self.cells.clear();
                self.leading_marks.clear();
                self.cursor = 0;
            }
            Sequence::LineStart => self.cursor = 0,
            Sequence::Other => {}
            Sequence::Incomplete(shorter) => {
                let is_short = text.len() <= MAX_SEQUENCE_BYTES;
                self.pending.push_str(if is_short { text } else { shorter });
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
            match grapheme_width(grapheme) {
                0 => self.add_combining_mark(grapheme),
                width => self.put(Glyph::from_grapheme(grapheme), width),
            }
        }
    }

    /// Adds a combining mark to the character before the cursor.
    fn add_combining_mark(&mut self, mark: &str) {
        let mut previous = self.cells.iter_mut().take(self.cursor).rev();
        match previous.find(|cell| cell.glyph != Glyph::Continuation) {
            Some(cell) => cell.glyph.add_combining_mark(mark),
            None if self.leading_marks.len() + mark.len() <= MAX_CELL_BYTES => {
                self.leading_marks.push_str(mark)
            }
            None => {}
        }
    }

    fn put(&mut self, glyph: Glyph, width: usize) {
        if self.cursor + width > MAX_COLUMNS {
            self.is_rewritten = false;
            self.finish_line();
        }
        if self.cursor < self.cells.len() {
            self.clear_split_glyph(self.cursor);
            self.clear_split_glyph(self.cursor + width);
            self.is_rewritten = true;
        }
        let rest = std::iter::repeat_n(Glyph::Continuation, width - 1);
        for glyph in std::iter::once(glyph).chain(rest) {
            let cell = OutputCell { glyph, sgr: self.sgr };
            match self.cells.get_mut(self.cursor) {
                Some(existing) => *existing = cell,
                None => self.cells.push(cell),
            }
            self.cursor += 1;
        }
    }

    /// Replaces a wide character that would be split at a column by spaces.
    fn clear_split_glyph(&mut self, at: usize) {
        let is_continuation = |cell: &OutputCell| cell.glyph == Glyph::Continuation;
        if !self.cells.get(at).is_some_and(is_continuation) {
            return;
        }
        let from = self.cells[..at].iter().rposition(|cell| !is_continuation(cell)).unwrap_or(0);
        let end = self.cells[at..]
            .iter()
            .position(|cell| !is_continuation(cell))
            .map_or(self.cells.len(), |n| at + n);
        self.cells[from..end].iter_mut().for_each(|cell| cell.glyph = Glyph::Char(' '));
    }

    fn cut(&mut self, at: usize) {
        self.clear_split_glyph(at);
        self.cells.truncate(at);
    }

    fn end_line(&mut self) {
        self.finish_line();
        self.finished.text.push('\n');
        self.characters += 1;
        self.lines += 1;
    }

    /// Moves the current line to the finished text, without a newline.
    fn finish_line(&mut self) {
        if std::mem::take(&mut self.is_rewritten) {
            // Blanks that overwrote a longer text aren't part of the output.
            let length = self.cells.iter().rposition(|cell| !cell.is_blank()).map_or(0, |last| last + 1);
            self.cells.truncate(length);
        }
        self.characters += self.leading_marks.chars().count();
        self.finished.text.push_str(&self.leading_marks);
        self.leading_marks.clear();
        let mut cells = std::mem::take(&mut self.cells);
        for cell in cells.drain(..) {
            let characters = cell.glyph.write(&mut self.finished.text);
            self.push_style_run(cell.sgr, characters);
            self.characters += characters;
        }
        (self.cells, self.cursor) = (cells, 0);
    }

    fn push_style_run(&mut self, sgr: SgrState, length: usize) {
        let start = self.characters;
        match self.finished.style_runs.last_mut() {
            _ if sgr == SgrState::default() || length == 0 => {}
            Some(last) if last.style == sgr && last.end() == start => last.length += length,
            _ => self.finished.style_runs.push(StyleRun { start, length, style: sgr }),
        }
    }

    /// Drops the beginning of text that is longer than the limit.
    fn drop_oldest(&mut self) {
        let style_runs = &mut self.finished.style_runs;
        if style_runs.len() > 2 * MAX_STYLE_RUNS {
            style_runs.drain(..style_runs.len() - MAX_STYLE_RUNS);
        }
        let text = &mut self.finished.text;
        if text.len() <= self.max_bytes.saturating_mul(2) {
            return;
        }
        let earliest_cut = text.floor_char_boundary(text.len() - self.max_bytes);
        let cut = text[..earliest_cut].rfind('\n').map_or(earliest_cut, |at| at + 1);
        // A single line longer than the limit is cut at any character.
        let cut = if text.len() - cut > self.max_bytes.saturating_mul(2) { earliest_cut } else { cut };
        let characters = text[..cut].chars().count();
        text.drain(..cut);
        self.characters -= characters;
        self.finished.style_runs = shift_runs(&self.finished.style_runs, characters);
        self.dropped += characters;
    }
}

impl OutputCell {
    /// Checks whether the cell is invisible.
    fn is_blank(&self) -> bool {
        let is_space = matches!(self.glyph, Glyph::Char(' ' | '\t') | Glyph::Continuation);
        let visible = Emphasis::REVERSED.and(Emphasis::UNDERLINE).and(Emphasis::STRIKE);
        is_space && self.sgr.bg.is_none() && self.sgr.emphasis.without(visible) == self.sgr.emphasis
    }
}

impl Glyph {
    fn from_grapheme(grapheme: &str) -> Self {
        let mut chars = grapheme.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => Self::Char(c),
            _ if grapheme.len() > MAX_CELL_BYTES => Self::Char(char::REPLACEMENT_CHARACTER),
            _ => Self::Cluster(grapheme.into()),
        }
    }

    fn add_combining_mark(&mut self, mark: &str) {
        let text = match &*self {
            Self::Char(c) => c.to_string(),
            Self::Cluster(text) => text.to_string(),
            Self::Continuation => return,
        };
        if text.len() + mark.len() <= MAX_CELL_BYTES {
            *self = Self::Cluster((text + mark).into());
        }
    }

    /// Appends the glyph to a string; returns the number of characters.
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
            Self::Continuation => 0,
        }
    }
}
