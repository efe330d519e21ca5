//! Logical lines: the lines of a block before wrapping, without margins.
//!
//! Selection, copying and search use them; [`LineCell`]s map the text back to screen positions.

use std::ops::Range;

use tiller_render::{self as render, Line, Span, Wrap};
use unicode_segmentation::UnicodeSegmentation;

use super::block::Block;

/// Maximum number of wrapped lines to join in each direction; longer paragraphs aren't prose.
const LONGEST: usize = 200;

/// One grapheme and its position: the line of its block and the columns in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineCell {
    /// Byte offset in the logical line's text.
    pub(super) byte: usize,
    pub(super) line: usize,
    pub(super) columns: Range<usize>,
}

/// An unwrapped line.
#[derive(Clone, Debug, Default)]
pub(super) struct LogicalLine {
    pub(super) text: String,
    pub(super) cells: Vec<LineCell>,
    pub(super) lines: Range<usize>,
}

/// Columns of a line's content, without its margins.
pub(super) fn content_columns(line: &Line) -> Range<usize> {
    let width = |spans: &[Span]| spans.iter().map(Span::width).sum::<usize>();
    let content = line.content();
    let from = width(&line.spans[..line.margins.before.min(line.spans.len())]);
    from..from + width(content)
}

impl LogicalLine {
    /// Returns the logical line around a line of a block's last layout.
    pub(super) fn around(block: &Block, line: usize) -> Self {
        let is_continuation =
            |at: usize| block.line(at).is_some_and(|line| matches!(line.wrap, Wrap::Soft { .. }));
        let lowest = line.saturating_sub(LONGEST);
        let first = (lowest..=line).rev().find(|at| !is_continuation(*at)).unwrap_or(lowest);
        let end = (line + 1..line + LONGEST).find(|at| !is_continuation(*at)).unwrap_or(line + LONGEST);
        let mut logical = Self { lines: first..end, ..Self::default() };
        for at in first..end {
            if let Some(line) = block.line(at) {
                logical.push_line(at, line, at > first);
            }
        }
        logical
    }

    fn push_line(&mut self, at: usize, line: &Line, joined: bool) {
        if let Wrap::Soft { spaces } = line.wrap
            && joined
        {
            self.text.extend(std::iter::repeat_n(' ', spaces));
        }
        let mut column = content_columns(line).start;
        for grapheme in line.content().iter().flat_map(|span| span.text.graphemes(true)) {
            let end = column + render::columns(grapheme);
            self.cells.push(LineCell { byte: self.text.len(), line: at, columns: column..end });
            self.text.push_str(grapheme);
            column = end;
        }
    }

    /// Returns the screen positions of a byte range: for each covered line, the columns.
    pub(super) fn places(&self, bytes: &Range<usize>) -> Vec<(usize, Range<usize>)> {
        let mut segments: Vec<(usize, Range<usize>)> = Vec::new();
        let first = self.cells.partition_point(|cell| cell.byte < bytes.start);
        for cell in self.cells[first..].iter().take_while(|cell| cell.byte < bytes.end) {
            match segments.last_mut() {
                Some((line, columns)) if *line == cell.line => columns.end = cell.columns.end,
                _ => segments.push((cell.line, cell.columns.clone())),
            }
        }
        segments
    }

    /// Returns the word around a position as a range of cells: letters, digits and the characters of names
    /// and paths. Other characters form separate runs.
    pub(super) fn word_at(&self, line: usize, column: usize) -> Option<Range<usize>> {
        let at = self.cells.iter().position(|cell| cell.line == line && cell.columns.contains(&column))?;
        let kind = |cell: usize| CellKind::from_grapheme(self.grapheme(cell));
        // Spaces dropped at a line break separate two cells.
        let joined = |before: usize| {
            self.cells[before].byte + self.grapheme(before).len() == self.cells[before + 1].byte
        };
        let same = |other: usize| kind(other) == kind(at);
        let (mut from, mut to) = (at, at + 1);
        while from > 0 && same(from - 1) && joined(from - 1) {
            from -= 1;
        }
        while to < self.cells.len() && same(to) && joined(to - 1) {
            to += 1;
        }
        Some(from..to)
    }

    fn grapheme(&self, cell: usize) -> &str {
        self.text[self.cells[cell].byte..].graphemes(true).next().unwrap_or_default()
    }
}

/// Character classes for word selection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CellKind {
    Word,
    Blank,
    Symbol,
}

impl CellKind {
    fn from_grapheme(grapheme: &str) -> Self {
        match grapheme.chars().next() {
            Some(c) if c.is_alphanumeric() || "_-./~:@#%+?=&".contains(c) => Self::Word,
            Some(c) if c.is_whitespace() => Self::Blank,
            _ => Self::Symbol,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::BlockKind;
    use super::super::layout::RenderContext;
    use super::*;

    fn block(markdown: &str, width: usize) -> Block {
        let mut block = Block::new(BlockKind::Answer(markdown.to_owned()));
        block.lay_out(&RenderContext { width, ..RenderContext::default() });
        block
    }

    #[test]
    fn logical_line_joins_wrapped_lines_without_margins() {
        let block = block("> one two three\n\nfour", 12);
        let passage = LogicalLine::around(&block, 1);
        assert_eq!((passage.text.as_str(), passage.lines.clone()), ("one two three", 0..2));
        assert_eq!(passage.places(&(4..13)), [(0, 6..9), (1, 2..7)]);
        assert_eq!(LogicalLine::around(&block, 3).text, "four");
    }

    #[test]
    fn logical_line_word_spans_breaks_and_paths() {
        let block = block("see src/tui/select.rs (now)", 12);
        let word = |line, column| {
            let passage = LogicalLine::around(&block, line);
            let cells = passage.word_at(line, column)?;
            let end = passage.cells.get(cells.end).map_or(passage.text.len(), |cell| cell.byte);
            Some(passage.text[passage.cells[cells.start].byte..end].trim_end().to_owned())
        };
        assert_eq!(word(1, 1).as_deref(), Some("src/tui/select.rs"));
        assert_eq!(word(0, 1).as_deref(), Some("see"));
        assert_eq!(word(0, 11), None);
    }
}
