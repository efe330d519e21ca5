//! `tiller sessions search`: prints matching entries with a snippet.

use std::io::{self, Write as _};

use super::output::{DirectoryColumn, format_time, one_line, print_json};
use crate::cli::console::{self, Stdout, stderr_line};
use crate::cli::failure::CliFailure;
use crate::cli::progress::ProgressLine;
use crate::cli::stdout::ignore_broken_pipe;
use crate::render::{ControlChars, sanitize};
use crate::session::{SearchHit, SessionManager, SessionScope, Snippet};

/// Marks the beginning of a match on a terminal, and its end.
const BOLD: &str = "\x1b[1m";
const NOT_BOLD: &str = "\x1b[22m";

/// The marks elsewhere. `**` would be ambiguous: the text is often Markdown.
const OPEN: &str = "[";
const CLOSE: &str = "]";

pub(super) fn search(
    manager: &SessionManager,
    query: &str,
    (scope, limit): (SessionScope, usize),
    as_json: bool,
) -> Result<(), CliFailure> {
    let mut catalog = manager.catalog()?;
    let mut line = ProgressLine::new();
    catalog.refresh(scope, |progress| line.update(progress))?;
    drop(line);
    let hits = catalog.search(query, scope, limit)?;
    if as_json {
        return print_json(&hits);
    }
    if hits.is_empty() {
        let hint =
            if scope == SessionScope::ThisDirectory { "; `--all` searches all directories" } else { "" };
        stderr_line!("no matches for `{query}`{hint}");
    }
    let column =
        if scope == SessionScope::Everywhere { DirectoryColumn::Shown } else { DirectoryColumn::Hidden };
    let mut out = console::stdout();
    ignore_broken_pipe(
        hits.iter().try_for_each(|hit| write_hit(&mut out, hit, column)).and_then(|()| out.flush()),
    )
}

fn write_hit(out: &mut Stdout, hit: &SearchHit, column: DirectoryColumn) -> io::Result<()> {
    write!(out, "{}\n    ", heading(hit, column))?;
    for snippet in &hit.snippet {
        let text = snippet_text(snippet);
        if snippet.matched {
            out.write_escape_or(BOLD, OPEN)?;
            write!(out, "{text}")?;
            out.write_escape_or(NOT_BOLD, CLOSE)?;
        } else {
            write!(out, "{text}")?;
        }
    }
    writeln!(out)
}

/// Formats a line with the session and the entry of a hit.
fn heading(hit: &SearchHit, column: DirectoryColumn) -> String {
    let session = &hit.session;
    let title = one_line(session.title().unwrap_or("(empty)"));
    let cwd = if column == DirectoryColumn::Shown {
        format!("  {}", one_line(&session.cwd))
    } else {
        String::new()
    };
    let (id, entry) = (one_line(session.id.short()), one_line(hit.entry.short()));
    format!("{id} {entry}  {}  {title}{cwd}", format_time(hit.timestamp))
}

fn snippet_text(snippet: &Snippet) -> String {
    sanitize(&snippet.text, ControlChars::Visible).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::UnixMs;

    #[test]
    fn heading_and_snippet_are_sanitized() {
        let hit = SearchHit {
            session: crate::cli::resume::tests::session("\u{1b}[2J\u{7}AB"),
            entry: "\u{1b}[1A12".into(),
            timestamp: UnixMs(0),
            snippet: vec![
                Snippet { text: "the \u{202e}".into(), matched: false },
                Snippet { text: "word\u{7}".into(), matched: true },
            ],
        };
        let pieces = hit.snippet.iter().map(snippet_text);
        let shown: String = [heading(&hit, DirectoryColumn::Shown)].into_iter().chain(pieces).collect();
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}', '\n']), "{shown:?}");
    }
}
