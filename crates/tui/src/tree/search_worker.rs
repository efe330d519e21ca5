//! Looking for words in everything that was said, the newest first, telling what is found as it is found.

use std::time::{Duration, Instant};

use memchr::memmem::Finder;
use tiller_session::Reader;

use super::TreeResult;
use super::entry_text::whole;
use super::model::{TreeFilter, TreeModel};

/// Time between two words on what was found: more often than a person notices costs drawing for nothing.
const TELL: Duration = Duration::from_millis(50);

/// Entries between two looks at whether anybody still wants to know.
const GLANCE: usize = 64;

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeQuery {
    pub(super) words: String,
    pub(super) filter: TreeFilter,
}

/// What was found since the last word on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeHits {
    pub(super) query: TreeQuery,
    /// Whether what was found before is for another question.
    pub(super) anew: bool,
    pub(super) nodes: Vec<usize>,
    /// How many of how many entries were looked at; `None` when all were.
    pub(super) progress: Option<(usize, usize)>,
}

/// Whether more is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchTerms {
    Yes,
    No,
}

/// One word, and how it is looked for in a line of the log before that is parsed.
struct TreeTerm {
    text: String,
    finder: Option<Finder<'static>>,
}

impl TreeTerm {
    fn of(word: &str) -> Self {
        let text = word.to_lowercase();
        // What JSON writes otherwise than it is typed can't be found in the line as it stands.
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
        let finder = is_plain.then(|| Finder::new(text.as_bytes()).into_owned());
        Self { text, finder }
    }
}

/// Tells the entries in which, with their labels, every word occurs; until nobody wants to know any more.
pub(crate) fn find(
    reader: &Reader,
    query: &TreeQuery,
    is_wanted: impl Fn() -> SearchTerms,
    mut tell: impl FnMut(TreeResult) -> SearchTerms,
) {
    let shape = TreeModel::of(reader);
    let words: Vec<TreeTerm> = query.words.split_whitespace().map(TreeTerm::of).collect();
    let (all, mut told, mut anew) = (shape.len(), Instant::now(), true);
    let mut nodes = Vec::new();
    for at in (0..all).rev() {
        let done = all - at;
        if done.is_multiple_of(GLANCE) {
            if is_wanted() == SearchTerms::No {
                return;
            }
            if told.elapsed() >= TELL {
                let found = std::mem::take(&mut nodes);
                let progress = Some((done, all));
                let news = TreeHits {
                    query: query.clone(),
                    anew: std::mem::take(&mut anew),
                    nodes: found,
                    progress,
                };
                if tell(TreeResult::Found(news)) == SearchTerms::No {
                    return;
                }
                told = Instant::now();
            }
        }
        let label = shape.marks.label(at);
        if query.filter.takes(shape.node(at), label) && says(reader, at, label, &words) {
            nodes.push(at);
        }
    }
    tell(TreeResult::Found(TreeHits { query: query.clone(), anew, nodes, progress: None }));
}

fn says(reader: &Reader, at: usize, label: Option<&str>, words: &[TreeTerm]) -> bool {
    let label = label.map(str::to_lowercase).unwrap_or_default();
    let missing: Vec<&TreeTerm> = words.iter().filter(|word| !label.contains(&word.text)).collect();
    if missing.is_empty() {
        return true;
    }
    // Parsing is what takes long, and most lines are out of the question as they stand.
    let Ok(mut line) = reader.raw_line(at) else { return false };
    line.make_ascii_lowercase();
    let is_spelt_out = memchr::memmem::find(&line, b"\\u").is_none();
    let may_say = |word: &&TreeTerm| match &word.finder {
        Some(finder) if is_spelt_out => finder.find(&line).is_some(),
        Some(_) | None => true,
    };
    if !missing.iter().all(may_say) {
        return false;
    }
    let Ok(entry) = reader.entry_at(at) else { return false };
    let text = whole(&entry).to_lowercase();
    missing.iter().all(|word| text.contains(&word.text))
}
