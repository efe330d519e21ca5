//! A paragraph whose beginning is finished: more text continues in its last row as if it had never been split.

use crate::Line;

/// Lays out the text after `row` in its paragraph, including `row`. `text` begins with the space or newline
/// after the row's text. A word as wide as the row stands for it during the layout.
pub(super) fn continue_paragraph(
    row: &Line,
    text: &str,
    lay_out: impl FnOnce(&str) -> Vec<Line>,
) -> Vec<Line> {
    let placeholder = "x".repeat(row.width());
    let mut lines = lay_out(&format!("{placeholder}{text}"));
    let first_line = lines.first_mut().and_then(|line| {
        let first = line.spans.first_mut()?;
        first.text = first.text.strip_prefix(&placeholder)?.to_owned();
        Some(line)
    });
    match first_line {
        Some(line) => {
            let rest = std::mem::take(&mut line.spans).into_iter().filter(|span| !span.text.is_empty());
            let spans = row.spans.iter().cloned().chain(rest).collect();
            *line = Line { spans, wrap: row.wrap, ..line.clone() };
        }
        // It is no paragraph any more; the finished part stays above.
        None => lines.insert(0, row.clone()),
    }
    lines
}

/// Returns true if more text continues the same row: not after a hard line break.
pub(super) fn continues_row(text: &str) -> bool {
    !text.ends_with("  \n") && !text.ends_with("\\\n")
}
