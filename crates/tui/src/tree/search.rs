//! The search text of the tree and its hits, which arrive step by step.

use tiller_core::unit::thousands;

use crate::line_input::LineInput;
use crate::tree::model::TreeFilter;
use crate::tree::request::{TreeHits, TreeQuery, TreeRequest};

/// The search text and its hits.
#[derive(Debug, Default)]
pub(super) struct TreeSearch {
    text: LineInput,
    /// The previous search text, restored by `/`.
    last: LineInput,
    requested: Option<TreeQuery>,
    found: Option<TreeSearchHits>,
}

#[derive(Debug)]
struct TreeSearchHits {
    /// For each entry, whether it contains all words.
    is_hit: Vec<bool>,
    count: usize,
    progress: Option<(usize, usize)>,
}

impl TreeSearch {
    pub(super) fn words(&self) -> &str {
        self.text.text()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.text().trim().is_empty()
    }

    /// Appends a character. A leading `/` restores the previous search text.
    pub(super) fn push(&mut self, c: char) {
        if c == '/' && self.text.is_empty() {
            self.text.clone_from(&self.last);
        } else {
            self.text.push(c.encode_utf8(&mut [0; 4]));
        }
    }

    pub(super) fn pop(&mut self) {
        self.text.pop();
    }

    /// Deletes the last word.
    pub(super) fn pop_word(&mut self) {
        self.text.pop_word();
    }

    /// Clears the text; `/` restores it.
    pub(super) fn clear(&mut self) {
        if !self.is_empty() {
            self.last = std::mem::take(&mut self.text);
        }
        self.text.clear();
    }

    /// Returns the request for a changed search text or filter.
    pub(super) fn ask(&mut self, filter: TreeFilter) -> Option<TreeRequest> {
        if self.is_empty() {
            return self.requested.take().map(|_| TreeRequest::EndSearch);
        }
        let query = TreeQuery { words: self.words().to_owned(), filter };
        if self.requested.as_ref() == Some(&query) {
            return None;
        }
        self.requested = Some(query.clone());
        Some(TreeRequest::Search(query))
    }

    /// Searches again if the log has more entries than were searched.
    pub(super) fn outdate(&mut self, entries: usize) {
        if self.found.as_ref().is_some_and(|found| found.is_hit.len() < entries) {
            self.requested = None;
        }
    }

    /// Applies hits if they belong to the current query; returns true if they do.
    pub(super) fn take(&mut self, found: TreeHits, filter: TreeFilter, entries: usize) -> bool {
        if found.query != (TreeQuery { words: self.words().to_owned(), filter }) {
            return false;
        }
        if found.is_first || self.found.is_none() {
            self.found = Some(TreeSearchHits { is_hit: vec![false; entries], count: 0, progress: None });
        }
        let Some(hits) = &mut self.found else { return false };
        for node in found.nodes {
            if let Some(is_hit) = hits.is_hit.get_mut(node).filter(|is_hit| !**is_hit) {
                *is_hit = true;
                hits.count += 1;
            }
        }
        hits.progress = found.progress;
        true
    }

    /// Returns the hits, while there is a search text. Until new hits arrive, the hits of the previous text
    /// are kept.
    pub(super) fn found(&self) -> Option<&[bool]> {
        self.found.as_ref().filter(|_| !self.is_empty()).map(|found| found.is_hit.as_slice())
    }

    /// Drops the hits after the text was cleared; returns true if there were any.
    pub(super) fn settle(&mut self) -> bool {
        self.is_empty() && self.found.take().is_some()
    }

    /// Describes the state of the search; `hidden` is the number of hits without a row.
    pub(super) fn state(&self, hidden: usize) -> String {
        let summary = |count: usize| {
            let also = if hidden > 0 { format!(", {} hidden", thousands(hidden)) } else { String::new() };
            format!("{} found{also}", thousands(count.saturating_sub(hidden)))
        };
        match (&self.found, &self.requested) {
            _ if self.is_empty() => String::new(),
            (Some(TreeSearchHits { progress: Some((done, all)), count, .. }), _) => {
                format!("{} · {}%", summary(*count), done * 100 / (*all).max(1))
            }
            (Some(TreeSearchHits { count, .. }), _) => summary(*count),
            (None, _) => "searching…".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &str, is_first: bool, nodes: &[usize]) -> TreeHits {
        let query = TreeQuery { words: words.into(), filter: TreeFilter::NoTools };
        TreeHits { query, is_first, nodes: nodes.to_vec(), progress: None }
    }

    #[test]
    fn tree_search_stale_hits_are_dropped() {
        let mut search = TreeSearch::default();
        "ab".chars().for_each(|c| search.push(c));
        assert!(matches!(search.ask(TreeFilter::NoTools), Some(TreeRequest::Search(_))));
        assert_eq!(search.ask(TreeFilter::NoTools), None, "it is on its way");
        assert!(search.take(found("ab", true, &[1, 3]), TreeFilter::NoTools, 4));
        search.push('c');
        assert_eq!(search.found(), Some([false, true, false, true].as_slice()), "until there is more");
        assert!(!search.take(found("ab", false, &[2]), TreeFilter::NoTools, 4));
        assert!(search.take(found("abc", true, &[3]), TreeFilter::NoTools, 4));
        assert_eq!(search.found(), Some([false, false, false, true].as_slice()));
    }

    #[test]
    fn tree_search_repeated_hit_counts_once() {
        let mut search = TreeSearch::default();
        "ab".chars().for_each(|c| search.push(c));
        search.take(found("ab", true, &[1, 3]), TreeFilter::NoTools, 4);
        search.take(found("ab", false, &[1, 2]), TreeFilter::NoTools, 4);
        assert_eq!(search.state(0), "3 found");
    }

    #[test]
    fn tree_search_slash_restores_text() {
        let mut search = TreeSearch::default();
        "/a/b".chars().for_each(|c| search.push(c));
        assert_eq!(search.words(), "a/b");
        assert!(search.ask(TreeFilter::All).is_some());
        search.clear();
        assert_eq!(search.ask(TreeFilter::All), Some(TreeRequest::EndSearch));
        assert_eq!(search.words(), "");
        search.push('/');
        assert_eq!(search.words(), "a/b");
    }
}
