//! Tables: columns fit their content; if the layout is narrower, cells are wrapped.

use pulldown_cmark::Alignment;

use super::{BreakMode, Emphasis, Indent, Line, Margins, Role, Span, wrap};

/// Blank columns on both sides of a cell.
const GAP: usize = 1;

/// Minimum width of a column; a table that needs narrower ones is written as a list of its cells.
const MIN_COLUMN: usize = 4;

type TableCell = Vec<Span>;

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    pub(super) header: Vec<TableCell>,
    pub(super) rows: Vec<Vec<TableCell>>,
    pub(super) current_row: Vec<TableCell>,
}

impl Table {
    pub(super) fn render(&self, width: usize) -> Vec<Line> {
        match self.column_widths(width) {
            Some(widths) => self.as_columns(&widths),
            None => self.as_list(width),
        }
    }

    fn as_columns(&self, widths: &[usize]) -> Vec<Line> {
        let header: Vec<TableCell> = self.header.iter().map(bold).collect();
        let mut lines = self.row(&header, widths);
        let total = widths.iter().sum::<usize>() + 2 * GAP * widths.len();
        lines.push(Line::new("─".repeat(total), Role::Muted));
        lines.extend(self.rows.iter().flat_map(|row| self.row(row, widths)));
        lines
    }

    fn row(&self, cells: &[TableCell], widths: &[usize]) -> Vec<Line> {
        let empty = TableCell::new();
        let columns: Vec<Vec<Line>> = widths
            .iter()
            .enumerate()
            .map(|(at, width)| {
                wrap(cells.get(at).unwrap_or(&empty), *width, &Indent::default(), BreakMode::Words)
            })
            .collect();
        let height = columns.iter().map(Vec::len).max().unwrap_or(0);
        (0..height).map(|line| self.row_line(&columns, widths, line)).collect()
    }

    fn row_line(&self, columns: &[Vec<Line>], widths: &[usize], line: usize) -> Line {
        let mut spans = vec![Span::new(" ".repeat(GAP), Role::Text)];
        for (at, (column, width)) in columns.iter().zip(widths).enumerate() {
            let cell = column.get(line).cloned().unwrap_or_default();
            let padding = width.saturating_sub(cell.width());
            let left = match self.alignments.get(at) {
                Some(Alignment::Right) => padding,
                Some(Alignment::Center) => padding / 2,
                Some(Alignment::None | Alignment::Left) | None => 0,
            };
            let gap = if at == 0 { 0 } else { 2 * GAP };
            spans.push(Span::new(" ".repeat(gap + left), Role::Text));
            spans.extend(cell.spans);
            spans.push(Span::new(" ".repeat(padding - left), Role::Text));
        }
        spans.push(Span::new(" ".repeat(GAP), Role::Text));
        Line { margins: Margins { before: 1, after: 1 }, ..Line::from(spans) }
    }

    /// Returns the widths of the columns within `width`; `None` if the table doesn't fit.
    fn column_widths(&self, width: usize) -> Option<Vec<usize>> {
        let count = self.header.len();
        let available = width.checked_sub(2 * GAP * count)?;
        let mut widths: Vec<usize> =
            (0..count).map(|at| self.natural_width(at).clamp(1, available.max(1))).collect();
        while widths.iter().sum::<usize>() > available {
            let widest = widths.iter_mut().max()?;
            if *widest <= MIN_COLUMN {
                return None;
            }
            *widest -= 1;
        }
        Some(widths)
    }

    fn natural_width(&self, column: usize) -> usize {
        let cells = std::iter::once(&self.header).chain(&self.rows).filter_map(|row| row.get(column));
        cells.map(|cell| cell.iter().map(Span::width).sum()).max().unwrap_or(0)
    }

    fn as_list(&self, width: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        for row in &self.rows {
            for (name, cell) in self.header.iter().zip(row) {
                let mut spans = bold(name);
                spans.push(Span::new(": ", Role::Muted));
                spans.extend(cell.iter().cloned());
                lines.extend(wrap(&spans, width, &Indent::default(), BreakMode::Words));
            }
            lines.push(Line::default());
        }
        lines.pop();
        lines
    }
}

fn bold(cell: &TableCell) -> TableCell {
    cell.iter().map(|span| Span::new(span.text.clone(), span.style.with(Emphasis::BOLD))).collect()
}
