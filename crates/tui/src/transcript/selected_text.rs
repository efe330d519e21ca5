//! Selection of text on the screen, and the copied text.

use std::ops::Range;

use tiller_render::{self as render, CopyAs, Line, Wrap};
use unicode_segmentation::UnicodeSegmentation;

use crate::action::CopiedText;
use crate::layout::RenderContext;
use crate::logical_line::{LineCell, LogicalLine, content_columns};
use crate::transcript::chunk::BlockPos;
use crate::transcript::row::{ShownRows, TranscriptRow};
use crate::transcript::selection::{Granularity, Selection, TextPos, amount};
use crate::transcript::{BlockStep, Transcript};

impl Transcript {
    /// Returns the text position at a screen row and column. A blank row maps to the start of the next line;
    /// rows beyond the last line map to its end.
    pub(crate) fn text_pos_at(&self, row: usize, column: usize) -> Option<TextPos> {
        let rows = &self.view.rows;
        let at = (row..rows.len()).find_map(|row| match rows[row] {
            TranscriptRow::Line { at, line } => Some((row, at, line)),
            TranscriptRow::Blank => None,
        });
        match at {
            Some((found, at, line)) => {
                let inset = self.block(at)?.inset();
                let column = if found == row { column.saturating_sub(inset) } else { 0 };
                Some(TextPos { at, line, column })
            }
            None => rows.iter().rev().find_map(|row| match *row {
                TranscriptRow::Line { at, line } => Some(TextPos { at, line, column: usize::MAX }),
                TranscriptRow::Blank => None,
            }),
        }
    }

    pub(crate) fn select(&mut self, spot: TextPos, unit: Granularity) {
        let anchor = self.unit(spot, unit);
        self.view.selection = Some(Selection { unit, anchor, head: anchor });
    }

    /// Extends the selection to a position.
    pub(crate) fn select_to(&mut self, spot: TextPos) {
        let Some(unit) = self.view.selection.as_ref().map(|selection| selection.unit) else { return };
        let head = self.unit(spot, unit);
        if let Some(selection) = &mut self.view.selection {
            selection.head = head;
        }
    }

    /// Clears the selection; returns false if there was none.
    pub(crate) fn unselect(&mut self) -> bool {
        self.view.selection.take().is_some()
    }

    pub(crate) fn is_selecting(&self) -> bool {
        self.view.selection.is_some()
    }

    fn unit(&self, spot: TextPos, unit: Granularity) -> (TextPos, TextPos) {
        let Some(block) = self.block(spot.at) else { return (spot, spot) };
        let logical = LogicalLine::around(block, spot.line);
        let cells = match unit {
            Granularity::Character => {
                let is_at_pos =
                    |cell: &LineCell| cell.line == spot.line && cell.columns.contains(&spot.column);
                logical.cells.iter().position(is_at_pos).map(|at| at..at + 1)
            }
            Granularity::Word => logical.word_at(spot.line, spot.column),
            Granularity::Line => Some(0..logical.cells.len()).filter(|cells| !cells.is_empty()),
        };
        let Some(cells) = cells else {
            let content = block.line(spot.line).map(content_columns).unwrap_or_default();
            let column = spot.column.clamp(content.start, content.end);
            return (TextPos { column, ..spot }, TextPos { column, ..spot });
        };
        let (first, last) = (&logical.cells[cells.start], &logical.cells[cells.end - 1]);
        let position = |line: usize, column: usize| TextPos { at: spot.at, line, column };
        (position(first.line, first.columns.start), position(last.line, last.columns.end))
    }

    /// The selected columns of a screen row, without its indentation.
    pub(crate) fn selected(&self, row: &ShownRows<'_>) -> Option<Range<usize>> {
        let range = self.view.selection.as_ref()?.range();
        let content = content_columns(row.line);
        let relative_to = |spot: TextPos| (spot.at, spot.line).cmp(&(row.at, row.number));
        let from = match relative_to(range.start) {
            std::cmp::Ordering::Less => content.start,
            std::cmp::Ordering::Equal => range.start.column.max(content.start),
            std::cmp::Ordering::Greater => return None,
        };
        let to = match relative_to(range.end) {
            std::cmp::Ordering::Less => return None,
            std::cmp::Ordering::Equal => range.end.column.min(content.end),
            std::cmp::Ordering::Greater => content.end,
        };
        (from < to).then_some(from..to)
    }

    /// The selected text: wrapped lines joined, without margins.
    pub(crate) fn selected_text(&mut self, ctx: &RenderContext) -> Option<CopiedText> {
        let range = self.view.selection.as_ref()?.range();
        let (mut text, mut step) = (String::new(), BlockStep::To(range.start.at));
        while let BlockStep::To(at) = step
            && at <= range.end.at
        {
            self.height(at, ctx);
            if at != range.start.at {
                end_line(&mut text);
                text.push_str(if self.has_blank_row_above(at) { "\n" } else { "" });
            }
            self.add_text(at, &range, &mut text);
            step = self.after(at);
        }
        let text = text.trim_end().to_owned();
        (!text.is_empty()).then(|| CopiedText { summary: amount(&text), text })
    }

    fn add_text(&self, at: BlockPos, range: &Range<TextPos>, text: &mut String) {
        let Some(block) = self.block(at) else { return };
        let first = if at == range.start.at { range.start.line } else { 0 };
        for (number, line) in block.lines_laid_out().enumerate().skip(first) {
            if (at, number) > (range.end.at, range.end.line) {
                break;
            }
            match line.wrap {
                _ if number == first => {}
                Wrap::Soft { spaces } => text.extend(std::iter::repeat_n(' ', spaces)),
                Wrap::Hard => end_line(text),
            }
            let row = ShownRows { at, number, inset: 0, line };
            if let Some(columns) = self.selected(&row) {
                text.push_str(&source_text(line, &columns));
            }
        }
    }
}

/// Ends a line of the copied text and removes its padding.
fn end_line(text: &mut String) {
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}

/// Returns the source text of a line between two columns. An expanded tab is copied as a tab if its first
/// column is selected.
fn source_text(line: &Line, columns: &Range<usize>) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for span in &line.spans {
        for grapheme in span.text.graphemes(true) {
            let is_inside = columns.contains(&column);
            column += render::columns(grapheme);
            match span.style.copy_as {
                _ if !is_inside => {}
                CopyAs::Itself => text.push_str(grapheme),
                CopyAs::Char(c) => text.push(c),
                CopyAs::Nothing => {}
            }
        }
    }
    text
}
