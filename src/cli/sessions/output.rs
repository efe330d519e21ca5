//! Lines and JSON that the `sessions` commands print.

use std::io::{self, Write};
use std::path::Path;

use crate::cli::console::{self, stderr_line};
use crate::cli::failure::CliFailure;
use crate::cli::stdout::{columns, fit, ignore_broken_pipe, print_text};
use crate::render::{ControlChars, sanitize};
use crate::session::{Entry, Finding, Reader, SessionSummary};
use crate::unit::UnixMs;

/// Maximum length of a string in a list or tree, in characters.
const MAX_CHARS: usize = 72;

/// The directory column of a session list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum DirectoryColumn {
    /// Shown, because the sessions are of several directories.
    Shown,
    /// Hidden, because the sessions are of one directory.
    Hidden,
}

/// Formats a session as one line: id, date, title and, if requested, directory.
pub(in crate::cli) fn row(session: &SessionSummary, column: DirectoryColumn) -> String {
    let title = one_line(session.title().unwrap_or("(empty)"));
    let cwd = if column == DirectoryColumn::Shown {
        format!("  {}", one_line(&session.cwd))
    } else {
        String::new()
    };
    fit(
        &format!("{}  {}  {title}{cwd}", one_line(session.id.short()), format_time(session.modified)),
        columns(),
    )
}

/// Formats a time as `2026-11-21 03:16`, UTC.
pub(super) fn format_time(time: UnixMs) -> String {
    let iso = time.to_iso();
    format!("{} {}", &iso[..10], &iso[11..16])
}

/// Prints entries as stored in the file, as a JSON list between `begin` and `end`, one entry per line.
pub(super) fn print_raw(
    reader: &Reader,
    positions: impl IntoIterator<Item = usize>,
    (begin, end): (&str, &str),
) -> Result<(), CliFailure> {
    let mut out = io::BufWriter::new(console::stdout());
    let (mut separator, mut outcome) = ("\n", write!(out, "{begin}["));
    let mut unreadable = 0;
    reader.raw_lines(positions, |_, line| match line {
        Some(line) if outcome.is_ok() => {
            outcome = write!(out, "{separator}  {line}");
            separator = ",\n";
        }
        Some(_) => {}
        None => unreadable += 1,
    })?;
    if unreadable > 0 {
        stderr_line!(
            "warning: {unreadable} entries are invalid JSON and were skipped; `tiller sessions verify` lists them"
        );
    }
    ignore_broken_pipe(outcome.and_then(|()| writeln!(out, "\n]{end}")).and_then(|()| out.flush()))
}

pub(super) fn warn(reader: &Reader, findings: &[Finding]) {
    let path = reader.path().unwrap_or(Path::new("")).display();
    for Finding { line, byte, what } in findings {
        stderr_line!("warning: {path}, line {line} (byte {byte}): {}", sanitize(what, ControlChars::Visible));
    }
}

/// Reads the current branch; problems are reported on stderr.
pub(in crate::cli) fn branch(reader: &Reader) -> Result<Vec<Entry>, CliFailure> {
    let Some(leaf) = reader.leaf() else { return Ok(Vec::new()) };
    let (entries, damaged) = reader.branch(&leaf)?;
    warn(reader, &reader.findings());
    warn(reader, &damaged);
    Ok(entries)
}

/// Formats text from a log for one line of a list.
pub(in crate::cli) fn one_line(text: &str) -> String {
    // Text from a log must not move the cursor.
    let line =
        sanitize(&text.split_whitespace().collect::<Vec<_>>().join(" "), ControlChars::Visible).into_owned();
    if line.chars().count() <= MAX_CHARS {
        line
    } else {
        line.chars().take(MAX_CHARS - 1).chain(['…']).collect()
    }
}

pub(in crate::cli) fn print_json(value: &impl serde::Serialize) -> Result<(), CliFailure> {
    let text = serde_json::to_string_pretty(value).map_err(CliFailure::run)?;
    print_text(&(text + "\n"))
}
