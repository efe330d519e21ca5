//! The element that the unfinished text of a stream continues. More text in a row is laid out as if the row
//! had never been split.

use crate::{Line, Span};

/// The element that the unfinished text continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Continuation {
    /// Nothing: a block begins.
    Nothing,
    /// A block whose beginning is finished.
    Block,
    /// A paragraph or a line of code whose beginning is finished, except for this row.
    Row(Line),
}

impl Continuation {
    /// Returns a word as wide as the row, which represents the row during layout.
    pub(super) fn placeholder(&self) -> String {
        match self {
            Self::Row(row) => "x".repeat(row.content().iter().map(Span::width).sum()),
            Self::Nothing | Self::Block => String::new(),
        }
    }

    /// Replaces the placeholder in lines with the row.
    pub(super) fn with_row(&self, mut lines: Vec<Line>) -> Vec<Line> {
        let Self::Row(row) = self else { return lines };
        let placeholder = self.placeholder();
        let first_line = lines.first_mut().and_then(|line| {
            let first = line.spans.get_mut(line.margins.before)?;
            first.text = first.text.strip_prefix(&placeholder)?.to_owned();
            Some(line)
        });
        match first_line {
            Some(line) => {
                let added = line.spans.drain(line.margins.before..).filter(|span| !span.text.is_empty());
                let spans = row.spans.iter().cloned().chain(added).collect();
                *line = Line { spans, ..row.clone() };
            }
            // The text doesn't continue the row after all; the finished part stays above.
            None => lines.insert(0, row.clone()),
        }
        lines
    }
}
