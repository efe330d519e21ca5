//! `tiller sessions search`: what was said, and where.

use std::io::{self, Write as _};

use super::{SessionsScope, heard, moment, one_line, print_json};
use crate::cli::CliFailure;
use crate::cli::console::{self, Stdout, stderr_line};
use crate::cli::progress::ProgressLine;
use crate::render::{ControlChars, sanitize};
use crate::session::{SearchHit, SessionManager, SessionScope, Snippet};

/// How a match stands out: for a terminal, and for what reads text.
const BOLD: &str = "\x1b[1m";
const NOT_BOLD: &str = "\x1b[22m";

pub(super) fn search(
    manager: &SessionManager,
    query: &str,
    (scope, limit): (SessionScope, usize),
    as_json: bool,
) -> Result<(), CliFailure> {
    let mut catalog = manager.catalog()?;
    let mut line = ProgressLine::new();
    catalog.refresh(scope, |progress| line.tell(progress))?;
    drop(line);
    let hits = catalog.search(query, scope, limit)?;
    if as_json {
        return print_json(&hits);
    }
    if hits.is_empty() {
        let elsewhere =
            if scope == SessionScope::ThisDirectory { "; `--all` looks in all directories" } else { "" };
        stderr_line!("nobody said `{query}`{elsewhere}");
    }
    let place = if scope == SessionScope::Everywhere { SessionsScope::Shown } else { SessionsScope::Known };
    let mut out = console::stdout();
    heard(hits.iter().try_for_each(|hit| write_hit(&mut out, hit, place)).and_then(|()| out.flush()))
}

fn write_hit(out: &mut Stdout, hit: &SearchHit, place: SessionsScope) -> io::Result<()> {
    write!(out, "{}\n    ", heading(hit, place))?;
    for piece in &hit.snippet {
        let text = one_line_of(piece);
        if piece.matched {
            out.write_mark(BOLD, "**")?;
            write!(out, "{text}")?;
            out.write_mark(NOT_BOLD, "**")?;
        } else {
            write!(out, "{text}")?;
        }
    }
    writeln!(out)
}

/// Which session and entry it is.
fn heading(hit: &SearchHit, place: SessionsScope) -> String {
    let session = &hit.session;
    let title = one_line(session.title().unwrap_or("(empty)"));
    let cwd =
        if place == SessionsScope::Shown { format!("  {}", one_line(&session.cwd)) } else { String::new() };
    let (id, entry) = (one_line(session.id.short()), one_line(hit.entry.short()));
    format!("{id} {entry}  {}  {title}{cwd}", moment(hit.timestamp))
}

fn one_line_of(piece: &Snippet) -> String {
    sanitize(&piece.text, ControlChars::Visible).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::UnixMs;

    #[test]
    fn nothing_that_a_log_says_moves_the_cursor() {
        let hit = SearchHit {
            session: crate::cli::resume::tests::session("\u{1b}[2J\u{7}AB"),
            entry: "\u{1b}[1A12".into(),
            timestamp: UnixMs(0),
            snippet: vec![
                Snippet { text: "the \u{202e}".into(), matched: false },
                Snippet { text: "word\u{7}".into(), matched: true },
            ],
        };
        let pieces = hit.snippet.iter().map(one_line_of);
        let shown: String = [heading(&hit, SessionsScope::Shown)].into_iter().chain(pieces).collect();
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}', '\n']), "{shown:?}");
    }
}
