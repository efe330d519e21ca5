//! The words that narrow the tree: typed, looked for in everything that was said, and found bit by bit.

use tiller_core::unit::thousands;

use super::TreeRequest;
use super::model::TreeFilter;
use super::search_worker::{TreeHits, TreeQuery};

/// What is looked for, and what was found of it.
#[derive(Debug, Default)]
pub(super) struct TreeSearch {
    words: String,
    /// What was looked for before, to be had again.
    last: String,
    asked: Option<TreeQuery>,
    found: Option<TreeSearchHits>,
}

/// What was found.
#[derive(Debug)]
struct TreeSearchHits {
    /// For each entry whether every word occurs in it.
    is_hit: Vec<bool>,
    count: usize,
    progress: Option<(usize, usize)>,
}

impl TreeSearch {
    pub(super) fn words(&self) -> &str {
        &self.words
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.trim().is_empty()
    }

    /// Types a character. A slash before anything else only says that a search begins: it brings back the one before.
    pub(super) fn push(&mut self, c: char) {
        if c == '/' && self.words.is_empty() {
            self.words.clone_from(&self.last);
        } else {
            self.words.push(c);
        }
    }

    pub(super) fn pop(&mut self) {
        self.words.pop();
    }

    /// Takes the last word away.
    pub(super) fn pop_word(&mut self) {
        let kept = self.words.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
        self.words.truncate(self.words.ceil_char_boundary(kept));
    }

    /// Takes the words away; a slash brings them back.
    pub(super) fn clear(&mut self) {
        if !self.is_empty() {
            self.last = std::mem::take(&mut self.words);
        }
        self.words.clear();
    }

    /// What is to be asked for, when other words are there than were asked for last; the answer is to be awaited.
    pub(super) fn ask(&mut self, filter: TreeFilter) -> Option<TreeRequest> {
        if self.is_empty() {
            return self.asked.take().map(|_| TreeRequest::EndSearch);
        }
        let query = TreeQuery { words: self.words.clone(), filter };
        if self.asked.as_ref() == Some(&query) {
            return None;
        }
        self.asked = Some(query.clone());
        Some(TreeRequest::Search(query))
    }

    /// The log has so many entries now: those that are new were not looked at.
    pub(super) fn outdate(&mut self, entries: usize) {
        if self.found.as_ref().is_some_and(|found| found.is_hit.len() < entries) {
            self.asked = None;
        }
    }

    /// Takes what was found, if it is what is still wanted; whether it was.
    pub(super) fn take(&mut self, found: TreeHits, filter: TreeFilter, entries: usize) -> bool {
        if found.query != (TreeQuery { words: self.words.clone(), filter }) {
            return false;
        }
        if found.anew || self.found.is_none() {
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

    /// What was found last, while anything is looked for: until there is more, for words that are still being typed what was found
    /// for their beginning.
    pub(super) fn found(&self) -> Option<&[bool]> {
        self.found.as_ref().filter(|_| !self.is_empty()).map(|found| found.is_hit.as_slice())
    }

    /// Forgets what was found for words that aren't there any more; whether there was anything.
    pub(super) fn settle(&mut self) -> bool {
        self.is_empty() && self.found.take().is_some()
    }

    /// How far the looking is, in words; so many of what was found are hidden.
    pub(super) fn state(&self, hidden: usize) -> String {
        let told = |count: usize| {
            let also = if hidden > 0 { format!(", {} hidden", thousands(hidden)) } else { String::new() };
            format!("{} found{also}", thousands(count.saturating_sub(hidden)))
        };
        match (&self.found, &self.asked) {
            _ if self.is_empty() => String::new(),
            (Some(TreeSearchHits { progress: Some((done, all)), count, .. }), _) => {
                format!("{} · {}%", told(*count), done * 100 / (*all).max(1))
            }
            (Some(TreeSearchHits { count, .. }), _) => told(*count),
            (None, _) => "looking…".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &str, anew: bool, nodes: &[usize]) -> TreeHits {
        let query = TreeQuery { words: words.into(), filter: TreeFilter::NoTools };
        TreeHits { query, anew, nodes: nodes.to_vec(), progress: None }
    }

    #[test]
    fn what_is_found_for_words_that_have_changed_is_dropped() {
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
    fn what_is_told_twice_counts_once() {
        let mut search = TreeSearch::default();
        "ab".chars().for_each(|c| search.push(c));
        search.take(found("ab", true, &[1, 3]), TreeFilter::NoTools, 4);
        search.take(found("ab", false, &[1, 2]), TreeFilter::NoTools, 4);
        assert_eq!(search.state(0), "3 found");
    }

    #[test]
    fn words_that_were_left_come_back_with_a_slash() {
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
