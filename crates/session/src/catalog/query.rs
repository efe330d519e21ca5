//! From what a person types to what the index is asked, and from what it finds to what is shown.

use std::io;
use std::os::unix::fs::FileExt;

use serde::Serialize;
use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;
use tiller_files as files;

use super::SessionSummary;
use super::database::{Database, Extent, Place};
use super::extract;
use crate::Reader;

/// Signs that stand for the marks of a match; texts lose theirs before.
const MARKS: [char; 2] = ['\u{2}', '\u{3}'];

/// An entry that says what was looked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// Its session.
    pub session: SessionSummary,
    /// The entry.
    pub entry: EntryId,
    /// When it was written.
    pub timestamp: UnixMs,
    /// What it says around the words that were found.
    pub snippet: Vec<Snippet>,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// The text.
    pub text: String,
    /// Whether it is what was looked for.
    pub matched: bool,
}

/// The words as the index wants them; `None` when there is nothing to look for.
///
/// Each is quoted, so that nothing a person types is an operator. The last may go on, unless a space ends it.
pub(super) fn expression(typed: &str) -> Option<String> {
    let words = typed.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    let quoted: Vec<String> = words.map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
    if quoted.is_empty() {
        return None;
    }
    let goes_on = !typed.ends_with(char::is_whitespace);
    Some(format!("{}{}", quoted.join(" "), if goes_on { "*" } else { "" }))
}

/// The entries that say these words.
pub(super) fn hits(
    database: &Database,
    words: &str,
    extent: &Extent<'_>,
) -> rusqlite::Result<Vec<SearchHit>> {
    let places = database.places(words, extent)?;
    // A log that changed since it was read may say something else there; then the hit is none.
    let read: Vec<(Place, String)> = places
        .into_iter()
        .filter_map(|place| text(&place).ok().flatten().map(|text| (place, text)))
        .collect();
    let texts: Vec<String> = read.iter().map(|(_, text)| text.clone()).collect();
    let mut snippets = vec![None; texts.len()];
    for (at, snippet) in database.snippets(words, &texts, MARKS)? {
        snippets[at] = Some(pieces(&snippet));
    }
    let shown = read.into_iter().zip(snippets).filter_map(|((place, _), snippet)| Some((place, snippet?)));
    Ok(shown.map(|(place, snippet)| hit(place, snippet)).collect())
}

fn hit(place: Place, snippet: Vec<Snippet>) -> SearchHit {
    let entry = entry_id(&place);
    let timestamp = UnixMs(place.moment);
    SearchHit {
        session: SessionSummary::new(place.path, &place.stamp, place.digest),
        entry,
        timestamp,
        snippet,
    }
}

/// The entry's id; the lines of version 1 have none, and get theirs when the log is opened.
fn entry_id(place: &Place) -> EntryId {
    if !place.entry.is_empty() {
        return EntryId::new(&place.entry);
    }
    let nodes = Reader::open(&place.path).map(|reader| reader.tree().nodes().get(place.position).cloned());
    nodes.ok().flatten().map_or_else(|| EntryId::new(""), |node| node.id)
}

/// What an entry says, read from its line.
fn text(place: &Place) -> io::Result<Option<String>> {
    let mut bytes = vec![0; place.length];
    files::open(&place.path)?.read_exact_at(&mut bytes, place.start)?;
    let words = extract::read(&bytes).and_then(|told| told.fact.into_words());
    // On one line, and without signs that a terminal obeys.
    Ok(words.map(|words| words.replace(char::is_control, " ")))
}

fn pieces(snippet: &str) -> Vec<Snippet> {
    let mut pieces = Vec::new();
    for (at, part) in snippet.split(MARKS[0]).enumerate() {
        let (found, rest) =
            if at == 0 { ("", part) } else { part.split_once(MARKS[1]).unwrap_or((part, "")) };
        for (text, matched) in [(found, true), (rest, false)] {
            if !text.is_empty() {
                pieces.push(Snippet { text: text.to_owned(), matched });
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_never_an_operator() {
        let asked = |typed: &str| expression(typed).unwrap_or_default();
        assert_eq!(asked("parser crlf"), r#""parser" "crlf"*"#);
        assert_eq!(asked("parser "), r#""parser""#);
        assert_eq!(asked(r#"a NOT "b AND c) OR *"#), r#""a" "NOT" """b" "AND" "c)" "OR"*"#);
        assert_eq!(expression(" -- * \" "), None);
    }

    #[test]
    fn a_snippet_is_taken_apart_at_its_marks() {
        let piece = |text: &str, matched| Snippet { text: text.into(), matched };
        assert_eq!(
            pieces("…the \u{2}parser\u{3} of \u{2}it\u{3}"),
            [piece("…the ", false), piece("parser", true), piece(" of ", false), piece("it", true)]
        );
    }
}
