//! What the mouse marks, and its text.
//!
//! A selection begins with a unit (a character, a word, a line) and goes to another one; it belongs to the text, not to the screen.

use std::ops::{Range, RangeInclusive};

use tiller_render::{self as render, CopyAs, Line, Wrap};
use unicode_segmentation::UnicodeSegmentation;

use super::super::layout::RenderContext;
use super::super::logical_line::{LogicalLine, said_columns};
use super::viewport::{ShownRows, TranscriptRow};
use super::{BlockPos, FoldStep, Transcript};

/// A column of a line of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextPos {
    pub(crate) at: BlockPos,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// By what is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granularity {
    Character,
    Word,
    Line,
}

/// From one unit to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    unit: Granularity,
    /// The unit it began with: from, and up to but without.
    anchor: (TextPos, TextPos),
    head: (TextPos, TextPos),
}

/// What was selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopiedText {
    pub(crate) text: String,
    /// What it is called when it was copied: `3 lines`.
    pub(crate) what: String,
}

impl Selection {
    fn range(&self) -> Range<TextPos> {
        self.anchor.0.min(self.head.0)..self.anchor.1.max(self.head.1)
    }

    /// The parts of the path it lies on.
    pub(super) fn parts(&self) -> RangeInclusive<usize> {
        let range = self.range();
        range.start.at.part..=range.end.at.part
    }

    pub(super) fn move_places(&mut self, moved: impl Fn(BlockPos) -> BlockPos) {
        for spot in [&mut self.anchor.0, &mut self.anchor.1, &mut self.head.0, &mut self.head.1] {
            spot.at = moved(spot.at);
        }
    }
}

impl Transcript {
    /// What is at a row of the screen and a column of it. A free row stands for the beginning of the line below it, what lies beyond
    /// the last line for its end.
    pub(crate) fn spot(&self, row: usize, column: usize) -> Option<TextPos> {
        let rows = &self.view.rows;
        let at = (row..rows.len()).find_map(|row| match rows[row] {
            TranscriptRow::Line { at, line } => Some((row, at, line)),
            TranscriptRow::Free => None,
        });
        match at {
            Some((found, at, line)) => {
                let inset = self.block(at)?.inset();
                let column = if found == row { column.saturating_sub(inset) } else { 0 };
                Some(TextPos { at, line, column })
            }
            None => rows.iter().rev().find_map(|row| match *row {
                TranscriptRow::Line { at, line } => Some(TextPos { at, line, column: usize::MAX }),
                TranscriptRow::Free => None,
            }),
        }
    }

    /// Selects from a spot on, by units.
    pub(crate) fn select(&mut self, spot: TextPos, unit: Granularity) {
        let anchor = self.unit(spot, unit);
        self.view.selection = Some(Selection { unit, anchor, head: anchor });
    }

    /// Selects up to another spot.
    pub(crate) fn select_to(&mut self, spot: TextPos) {
        let Some(unit) = self.view.selection.as_ref().map(|selection| selection.unit) else { return };
        let head = self.unit(spot, unit);
        if let Some(selection) = &mut self.view.selection {
            selection.head = head;
        }
    }

    /// Nothing is selected any more; false when nothing was.
    pub(crate) fn unselect(&mut self) -> bool {
        self.view.selection.take().is_some()
    }

    /// Whether something is selected.
    pub(crate) fn is_selecting(&self) -> bool {
        self.view.selection.is_some()
    }

    fn unit(&self, spot: TextPos, unit: Granularity) -> (TextPos, TextPos) {
        let Some(block) = self.block(spot.at) else { return (spot, spot) };
        let passage = LogicalLine::around(block, spot.line);
        let cells = match unit {
            Granularity::Character => {
                let is_it = |cell: &super::super::logical_line::LineCell| {
                    cell.line == spot.line && cell.columns.contains(&spot.column)
                };
                passage.cells.iter().position(is_it).map(|at| at..at + 1)
            }
            Granularity::Word => passage.word_at(spot.line, spot.column),
            Granularity::Line => Some(0..passage.cells.len()).filter(|cells| !cells.is_empty()),
        };
        let Some(cells) = cells else {
            let said = block.line(spot.line).map(said_columns).unwrap_or_default();
            let column = spot.column.clamp(said.start, said.end);
            return (TextPos { column, ..spot }, TextPos { column, ..spot });
        };
        let (first, last) = (&passage.cells[cells.start], &passage.cells[cells.end - 1]);
        let place = |line: usize, column: usize| TextPos { at: spot.at, line, column };
        (place(first.line, first.columns.start), place(last.line, last.columns.end))
    }

    /// Columns of a row on the screen that are selected, those left free at its left not counted.
    pub(crate) fn selected(&self, row: &ShownRows<'_>) -> Option<Range<usize>> {
        let range = self.view.selection.as_ref()?.range();
        let said = said_columns(row.line);
        let here = |spot: TextPos| (spot.at, spot.line).cmp(&(row.at, row.number));
        let from = match here(range.start) {
            std::cmp::Ordering::Less => said.start,
            std::cmp::Ordering::Equal => range.start.column.max(said.start),
            std::cmp::Ordering::Greater => return None,
        };
        let to = match here(range.end) {
            std::cmp::Ordering::Less => return None,
            std::cmp::Ordering::Equal => range.end.column.min(said.end),
            std::cmp::Ordering::Greater => said.end,
        };
        (from < to).then_some(from..to)
    }

    /// The selected text: broken lines joined, without what stands beside them.
    pub(crate) fn selected_text(&mut self, ctx: &RenderContext) -> Option<CopiedText> {
        let range = self.view.selection.as_ref()?.range();
        let (mut text, mut step) = (String::new(), FoldStep::To(range.start.at));
        while let FoldStep::To(at) = step
            && at <= range.end.at
        {
            self.height(at, ctx);
            if at != range.start.at {
                end_line(&mut text);
                text.push_str(if self.gap(at) { "\n" } else { "" });
            }
            self.add_text(at, &range, &mut text);
            step = self.after(at);
        }
        let text = text.trim_end().to_owned();
        (!text.is_empty()).then(|| CopiedText { what: amount(&text), text })
    }

    fn add_text(&self, at: BlockPos, range: &Range<TextPos>, text: &mut String) {
        let Some(block) = self.block(at) else { return };
        let first = if at == range.start.at { range.start.line } else { 0 };
        for (number, line) in block.drawn().enumerate().skip(first) {
            if (at, number) > (range.end.at, range.end.line) {
                break;
            }
            match line.joint {
                _ if number == first => {}
                Wrap::Soft { spaces } => text.extend(std::iter::repeat_n(' ', spaces)),
                Wrap::Hard => end_line(text),
            }
            let row = ShownRows { at, number, inset: 0, line };
            if let Some(columns) = self.selected(&row) {
                text.push_str(&cut(line, &columns));
            }
        }
    }
}

/// Spaces at the end of a line only filled it.
fn end_line(text: &mut String) {
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}

/// The text of a line between two columns, as its source has it: a tab is one where its first column is among them.
fn cut(line: &Line, columns: &Range<usize>) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for span in &line.spans {
        for grapheme in span.text.graphemes(true) {
            let is_inside = columns.contains(&column);
            column += render::columns(grapheme);
            match span.style.stands {
                _ if !is_inside => {}
                CopyAs::ForItself => text.push_str(grapheme),
                CopyAs::For(c) => text.push(c),
                CopyAs::ForNothing => {}
            }
        }
    }
    text
}

/// How much a text is, in words.
pub(crate) fn amount(text: &str) -> String {
    match text.lines().count() {
        0 | 1 => match text.chars().count() {
            1 => "1 character".to_owned(),
            count => format!("{count} characters"),
        },
        count => format!("{count} lines"),
    }
}
