//! Printing to stdout: sanitized, and without an error if the reader closes the pipe early.

use std::io::{self, IsTerminal, Write};

use anyhow::Context;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::failure::CliFailure;
use crate::cli::console;
use crate::render::{ControlChars, sanitize};

/// Writes text with control characters made visible: text from a log must not move the cursor or rename a
/// window.
pub(super) fn print_text(text: &str) -> Result<(), CliFailure> {
    write(sanitize(text, ControlChars::Visible).as_bytes())
}

/// Writes bytes unchanged, for other programs.
pub(super) fn write(bytes: &[u8]) -> Result<(), CliFailure> {
    let mut out = console::stdout();
    ignore_broken_pipe(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Ignores a closed pipe; any other failure is an error.
pub(super) fn ignore_broken_pipe(written: io::Result<()>) -> Result<(), CliFailure> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("can't write to stdout").map_err(CliFailure::run),
    }
}

/// Returns the width of a line: the terminal's columns, or unlimited if stdout isn't a terminal.
pub(super) fn columns() -> usize {
    terminal_columns(io::stdout().is_terminal())
}

/// Returns the width of a line on stderr, like [`columns`].
pub(super) fn stderr_columns() -> usize {
    terminal_columns(console::stderr_is_terminal())
}

fn terminal_columns(is_terminal: bool) -> usize {
    let size = is_terminal.then(crossterm::terminal::size).and_then(Result::ok);
    size.map_or(usize::MAX, |(columns, _)| usize::from(columns).max(20))
}

/// Truncates each line to this many columns, with an ellipsis.
pub(super) fn fit_lines(text: &str, columns: usize) -> String {
    text.lines().map(|line| fit(line, columns) + "\n").collect()
}

/// Truncates a line to this many columns, with an ellipsis.
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

/// Truncates the beginning of a name to this many columns, with an ellipsis: paths differ at their ends.
pub(super) fn fit_end(name: &str, columns: usize) -> String {
    if name.width() <= columns {
        return name.to_owned();
    }
    let starts = name.grapheme_indices(true).map(|(at, _)| &name[at..]);
    let end = starts.into_iter().find(|end| end.width() < columns).unwrap_or_default();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fit_long_line_is_cut_between_graphemes() {
        assert_eq!(fit("short", 5), "short");
        assert_eq!(fit("a longer line", 8), "a longe…");
        assert_eq!(fit("日本語です", 6), "日本…");
        assert_eq!(
            [fit_end("/work/a", 7), fit_end("/work/a", 4), fit_end("日本語", 4)],
            ["/work/a", "…k/a", "…語"]
        );
    }
}
