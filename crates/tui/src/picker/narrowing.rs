//! Filtering of lists, in the background for long ones.

use std::sync::Arc;

use crate::fuzzy::{FuzzyQuery, MatchMode};
use crate::picker::item::PickerItem;

/// A background job that filters a long list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NarrowingJob {
    pub(crate) items: Arc<[PickerItem]>,
    pub(crate) query: String,
    pub(crate) match_mode: MatchMode,
}

impl NarrowingJob {
    /// Filters the list; slow.
    pub(crate) fn run(self) -> NarrowedList {
        let matches = with_match_mode(&self.items, &self.query, self.match_mode);
        NarrowedList { job: self, matches }
    }
}

#[derive(Debug)]
pub(crate) struct NarrowedList {
    pub(crate) job: NarrowingJob,
    pub(crate) matches: Vec<usize>,
}

/// Returns the indexes of the matching items, best first. A session whose id starts with the text comes
/// before all others.
pub(crate) fn with_match_mode(items: &[PickerItem], query: &str, match_mode: MatchMode) -> Vec<usize> {
    let others = FuzzyQuery::new(query, match_mode).rank(items, |item| (&item.label, &item.note));
    let has_id = |item: &PickerItem| item.tag.as_ref().is_some_and(|tag| tag.id.matches(query.trim()));
    let mut matches: Vec<usize> = (0..items.len()).filter(|at| has_id(&items[*at])).collect();
    let by_id = matches.len();
    matches.extend(others.into_iter().filter(|at| by_id == 0 || !has_id(&items[*at])));
    matches
}
