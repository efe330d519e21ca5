//! The part of a transcript search that runs in the background.

use crate::block::Block;
use crate::log_blocks::PathContext;
use crate::search_term::SearchTerm;
use crate::transcript::section::PathSection;

/// A search job for the background.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SearchJob {
    /// Number of the search, which increases with every search; results of earlier ones are dropped.
    pub(crate) number: u64,
    pub(crate) words: SearchTerm,
    /// The parts of the path, in search order.
    pub(crate) parts: Vec<PathSection>,
    pub(crate) context: PathContext,
}

/// The hits in one part: block numbers with their number of occurrences.
#[derive(Debug)]
pub(crate) struct SearchHits {
    pub(crate) number: u64,
    pub(crate) part: usize,
    pub(crate) hits: Vec<(usize, usize)>,
    /// True if no more results follow.
    pub(crate) is_complete: bool,
}

/// Numbers of the blocks that contain the term, with the number of occurrences.
pub(crate) fn hits<'a>(
    blocks: impl IntoIterator<Item = &'a Block>,
    term: &SearchTerm,
) -> Vec<(usize, usize)> {
    let counted = blocks.into_iter().map(|block| block.texts().iter().map(|text| term.count(text)).sum());
    counted.enumerate().filter(|(_, count)| *count > 0).collect()
}
