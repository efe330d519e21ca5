//! Full-text search: converts typed words to an FTS5 query, and its matches to snippets.

use std::io;
use std::os::unix::fs::FileExt;

use serde::Serialize;
use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;
use tiller_files as files;

use super::SessionSummary;
use super::database::{Database, EntryMatch, SearchFilter};
use super::extract;
use crate::Reader;

/// Control characters around a match in a snippet; the text is stripped of control characters first.
const MATCH_MARKS: [char; 2] = ['\u{2}', '\u{3}'];

/// An entry that matches a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// Its session.
    pub session: SessionSummary,
    /// The entry.
    pub entry: EntryId,
    /// The time at which it was written.
    pub timestamp: UnixMs,
    /// The text around the matched words.
    pub snippet: Vec<Snippet>,
}

/// A piece of a string.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// The text.
    pub text: String,
    /// True for a matched word.
    pub matched: bool,
}

/// Builds an FTS5 query; `None` if there is no word to search for.
///
/// Each word is quoted, so that no input is an operator. The last one matches as a prefix, unless a space
/// follows it.
pub(super) fn fts_query(input: &str) -> Option<String> {
    let words = input.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    let phrases: Vec<String> = words.map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
    if phrases.is_empty() {
        return None;
    }
    let is_prefix = !input.ends_with(char::is_whitespace);
    Some(format!("{}{}", phrases.join(" "), if is_prefix { "*" } else { "" }))
}

/// Runs a query and builds the hits.
pub(super) fn hits(
    database: &Database,
    query: &str,
    filter: &SearchFilter<'_>,
) -> rusqlite::Result<Vec<SearchHit>> {
    let matches = database.search(query, filter)?;
    // A log that changed after its scan may have another text at that position; such hits are dropped.
    let read: Vec<(EntryMatch, String)> = matches
        .into_iter()
        .filter_map(|entry_match| entry_text(&entry_match).ok().flatten().map(|text| (entry_match, text)))
        .collect();
    let texts: Vec<String> = read.iter().map(|(_, text)| text.clone()).collect();
    let mut snippets = vec![None; texts.len()];
    for (at, snippet) in database.snippets(query, &texts, MATCH_MARKS)? {
        snippets[at] = Some(parse_snippet(&snippet));
    }
    let matched = read
        .into_iter()
        .zip(snippets)
        .filter_map(|((entry_match, _), snippet)| Some((entry_match, snippet?)));
    Ok(matched.map(|(entry_match, snippet)| hit(entry_match, snippet)).collect())
}

fn hit(entry_match: EntryMatch, snippet: Vec<Snippet>) -> SearchHit {
    let entry = entry_id(&entry_match);
    let timestamp = UnixMs(entry_match.timestamp);
    SearchHit {
        session: SessionSummary::new(entry_match.path, &entry_match.stamp, entry_match.record),
        entry,
        timestamp,
        snippet,
    }
}

/// Returns the entry's id. Lines of version 1 have none; it is derived when the log is opened.
fn entry_id(entry_match: &EntryMatch) -> EntryId {
    if !entry_match.entry.is_empty() {
        return EntryId::new(&entry_match.entry);
    }
    let nodes = Reader::open(&entry_match.path)
        .map(|reader| reader.tree().nodes().get(entry_match.position).cloned());
    nodes.ok().flatten().map_or_else(|| EntryId::new(""), |node| node.id)
}

/// Reads the searchable text of an entry from its line.
fn entry_text(entry_match: &EntryMatch) -> io::Result<Option<String>> {
    let mut bytes = vec![0; entry_match.length];
    files::open(&entry_match.path)?.read_exact_at(&mut bytes, entry_match.start)?;
    let text = extract::extract_entry(&bytes).and_then(|extracted| extracted.fact.into_search_text());
    // On one line, and without control characters.
    Ok(text.map(|text| text.replace(char::is_control, " ")))
}

fn parse_snippet(snippet: &str) -> Vec<Snippet> {
    let mut pieces = Vec::new();
    for (at, part) in snippet.split(MATCH_MARKS[0]).enumerate() {
        let (entry_match, rest) =
            if at == 0 { ("", part) } else { part.split_once(MATCH_MARKS[1]).unwrap_or((part, "")) };
        for (text, matched) in [(entry_match, true), (rest, false)] {
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
    fn fts_query_quotes_every_word() {
        let query = |input: &str| fts_query(input).unwrap_or_default();
        assert_eq!(query("parser crlf"), r#""parser" "crlf"*"#);
        assert_eq!(query("parser "), r#""parser""#);
        assert_eq!(query(r#"a NOT "b AND c) OR *"#), r#""a" "NOT" """b" "AND" "c)" "OR"*"#);
        assert_eq!(fts_query(" -- * \" "), None);
    }

    #[test]
    fn parse_snippet_splits_at_marks() {
        let snippet = |text: &str, matched| Snippet { text: text.into(), matched };
        assert_eq!(
            parse_snippet("…the \u{2}parser\u{3} of \u{2}it\u{3}"),
            [snippet("…the ", false), snippet("parser", true), snippet(" of ", false), snippet("it", true)]
        );
    }
}
