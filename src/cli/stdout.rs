//! What goes to stdout: harmless to a terminal, and no failure when whoever reads it has seen enough.

use std::io::{self, IsTerminal, Write};

use anyhow::Context;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::CliFailure;
use crate::cli::console;
use crate::render::{ControlChars, sanitize};

/// Writes text. What a log says must not move a cursor or rename a window, so control characters are shown, not sent.
pub(super) fn say(text: &str) -> Result<(), CliFailure> {
    write(sanitize(text, ControlChars::Visible).as_bytes())
}

/// Writes bytes as they are, for another program.
pub(super) fn write(bytes: &[u8]) -> Result<(), CliFailure> {
    let mut out = console::stdout();
    heard(out.write_all(bytes).and_then(|()| out.flush()))
}

/// What became of writing to stdout; that nobody reads on is fine.
pub(super) fn heard(written: io::Result<()>) -> Result<(), CliFailure> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("can't write to stdout").map_err(CliFailure::run),
    }
}

/// Columns of a line: those of the terminal, or as many as one likes where there is none.
pub(super) fn columns() -> usize {
    let size = io::stdout().is_terminal().then(crossterm::terminal::size).and_then(Result::ok);
    size.map_or(usize::MAX, |(columns, _)| usize::from(columns).max(20))
}

/// A line cut to so many columns, with a sign that more was there.
pub(super) fn fit(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let (mut cut, mut width) = (String::new(), 0);
    for grapheme in line.graphemes(true) {
        width += grapheme.width();
        if width >= columns {
            break;
        }
        cut.push_str(grapheme);
    }
    cut + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_cut_between_graphemes() {
        assert_eq!(fit("short", 5), "short");
        assert_eq!(fit("a longer line", 8), "a longe…");
        assert_eq!(fit("日本語です", 6), "日本…");
    }
}
