//! Full-text search over all entries, newest first, with incremental results.

use std::time::{Duration, Instant};

use memchr::memmem::Finder;
use tiller_session::Reader;

use crate::tree::entry_text::full_text;
use crate::tree::model::TreeModel;
use crate::tree::request::{TreeHits, TreeQuery, TreeResult};

/// Interval between results; a shorter one would only cost drawing time.
const REPORT_INTERVAL: Duration = Duration::from_millis(50);

/// Number of entries between two checks for cancellation.
const CHECK_INTERVAL: usize = 64;

/// The decision to continue a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchControl {
    Yes,
    No,
}

/// A word, with a finder for the raw log line.
struct TreeTerm {
    text: String,
    finder: Option<Finder<'static>>,
}

impl TreeTerm {
    fn new(word: &str) -> Self {
        let text = word.to_lowercase();
        // A word that JSON may escape can't be found in the raw line.
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
        let finder = is_plain.then(|| Finder::new(text.as_bytes()).into_owned());
        Self { text, finder }
    }
}

/// Reports the entries that contain every word, including labels; stops when `is_wanted` or `tell` requests
/// it.
pub(crate) fn search_entries(
    reader: &Reader,
    query: &TreeQuery,
    is_wanted: impl Fn() -> SearchControl,
    mut tell: impl FnMut(TreeResult) -> SearchControl,
) {
    let shape = TreeModel::load(reader);
    let words: Vec<TreeTerm> = query.words.split_whitespace().map(TreeTerm::new).collect();
    let (all, mut reported, mut is_first) = (shape.len(), Instant::now(), true);
    let mut nodes = Vec::new();
    for at in (0..all).rev() {
        let done = all - at;
        if done.is_multiple_of(CHECK_INTERVAL) {
            if is_wanted() == SearchControl::No {
                return;
            }
            if reported.elapsed() >= REPORT_INTERVAL {
                let found = std::mem::take(&mut nodes);
                let progress = Some((done, all));
                let hits = TreeHits {
                    query: query.clone(),
                    is_first: std::mem::take(&mut is_first),
                    nodes: found,
                    progress,
                };
                if tell(TreeResult::Found(hits)) == SearchControl::No {
                    return;
                }
                reported = Instant::now();
            }
        }
        let label = shape.marks.label(at);
        if query.filter.accepts(shape.node(at), label) && contains_all(reader, at, label, &words) {
            nodes.push(at);
        }
    }
    tell(TreeResult::Found(TreeHits { query: query.clone(), is_first, nodes, progress: None }));
}

fn contains_all(reader: &Reader, at: usize, label: Option<&str>, words: &[TreeTerm]) -> bool {
    let label = label.map(str::to_lowercase).unwrap_or_default();
    let missing: Vec<&TreeTerm> = words.iter().filter(|word| !label.contains(&word.text)).collect();
    if missing.is_empty() {
        return true;
    }
    // Parsing takes most of the time, and the raw line excludes most entries.
    let Ok(mut line) = reader.raw_line(at) else { return false };
    line.make_ascii_lowercase();
    let has_no_escapes = memchr::memmem::find(&line, b"\\u").is_none();
    let may_contain = |word: &&TreeTerm| match &word.finder {
        Some(finder) if has_no_escapes => finder.find(&line).is_some(),
        Some(_) | None => true,
    };
    if !missing.iter().all(may_contain) {
        return false;
    }
    let Ok(entry) = reader.entry_at(at) else { return false };
    let text = full_text(&entry).to_lowercase();
    missing.iter().all(|word| text.contains(&word.text))
}
