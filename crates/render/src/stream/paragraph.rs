//! A paragraph of which a beginning is finished: what comes next goes on in its last row, as if it had never been cut.

use crate::Line;

/// Lays out what follows `row` in its paragraph, `row` included. `text` begins with the blank or the line's end behind what the row
/// shows. A word as wide as the row stands for it while that is done.
pub(super) fn go_on(row: &Line, text: &str, lay_out: impl FnOnce(&str) -> Vec<Line>) -> Vec<Line> {
    let sign = "x".repeat(row.width());
    let mut lines = lay_out(&format!("{sign}{text}"));
    let said = lines.first_mut().and_then(|line| {
        let first = line.spans.first_mut()?;
        first.text = first.text.strip_prefix(&sign)?.to_owned();
        Some(line)
    });
    match said {
        Some(line) => {
            let behind = std::mem::take(&mut line.spans).into_iter().filter(|span| !span.text.is_empty());
            let spans = row.spans.iter().cloned().chain(behind).collect();
            *line = Line { spans, joint: row.joint, ..line.clone() };
        }
        // It is no paragraph any more, and what it was stays above.
        None => lines.insert(0, row.clone()),
    }
    lines
}

/// Whether a text that is cut at its end goes on in the same row: not behind a line that is broken on purpose.
pub(super) fn goes_on(text: &str) -> bool {
    !text.ends_with("  \n") && !text.ends_with("\\\n")
}
