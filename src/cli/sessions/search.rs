//! `tiller sessions search`: what was said, and where.

use std::io::{self, IsTerminal};

use super::{Where, moment, one_line, print_json, say};
use crate::cli::Failure;
use crate::cli::progress::ProgressLine;
use crate::render::{Carriage, clean};
use crate::session::{Hit, Scope, SessionManager};

/// How a match stands out: for a terminal, and for what reads text.
const BOLD: [&str; 2] = ["\x1b[1m", "\x1b[22m"];
const STARS: [&str; 2] = ["**", "**"];

pub(super) fn search(
    manager: &SessionManager,
    query: &str,
    (scope, limit): (Scope, usize),
    as_json: bool,
) -> Result<(), Failure> {
    let mut catalog = manager.catalog()?;
    let mut line = ProgressLine::new();
    catalog.refresh(scope, |progress| line.tell(progress))?;
    drop(line);
    let hits = catalog.search(query, scope, limit)?;
    if as_json {
        return print_json(&hits);
    }
    if hits.is_empty() {
        let elsewhere = if scope == Scope::ThisDirectory { "; `--all` looks in all directories" } else { "" };
        eprintln!("nobody said `{query}`{elsewhere}");
    }
    let marks = if io::stdout().is_terminal() { BOLD } else { STARS };
    let place = if scope == Scope::Everywhere { Where::Shown } else { Where::Known };
    say(&hits.iter().map(|hit| found(hit, place, marks) + "\n").collect::<String>())
}

/// Session, entry, date and title; beneath them what was said.
fn found(hit: &Hit, place: Where, [before, after]: [&str; 2]) -> String {
    let session = &hit.session;
    let title = one_line(session.title().unwrap_or("(empty)"));
    let cwd = if place == Where::Shown { format!("  {}", one_line(&session.cwd)) } else { String::new() };
    let said: String = hit
        .snippet
        .iter()
        .map(|piece| {
            let text = clean(&piece.text, Carriage::Shown);
            if piece.matched { format!("{before}{text}{after}") } else { text.into_owned() }
        })
        .collect();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let (session, entry) = (one_line(session.id.short()), one_line(hit.entry.short()));
    format!("{session} {entry}  {}  {title}{cwd}\n    {said}", moment(hit.timestamp))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Piece;
    use crate::unit::UnixMs;

    #[test]
    fn nothing_that_a_log_says_moves_the_cursor() {
        let hit = Hit {
            session: crate::cli::choose::tests::session("\u{1b}[2J\u{7}AB"),
            entry: "\u{1b}[1A12".into(),
            timestamp: UnixMs(0),
            snippet: vec![
                Piece { text: "the \u{202e}".into(), matched: false },
                Piece { text: "word\u{7}".into(), matched: true },
            ],
        };
        let shown = found(&hit, Where::Shown, STARS);
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
        assert!(shown.contains("**word"), "{shown:?}");
    }
}
