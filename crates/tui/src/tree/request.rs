//! The tree's requests for data, and their results.

use crate::block::Block;
use crate::tree::entry_text::EntryText;
use crate::tree::model::{TreeFilter, TreeModel};

/// A request for data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TreeRequest {
    /// The current structure of the session.
    Shape,
    /// The texts of rows.
    Texts(Vec<TextRequest>),
    /// The full content of an entry.
    Preview(usize),
    Search(TreeQuery),
    /// Ends the last search.
    EndSearch,
}

/// A request for a row's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextRequest {
    pub(crate) node: usize,
    /// The answer whose model is shown if a branch starts at the row.
    pub(crate) answer: Option<usize>,
}

/// A row's text.
#[derive(Clone, Debug)]
pub(crate) struct LoadedTexts {
    pub(crate) request: TextRequest,
    pub(crate) text: EntryText,
    pub(crate) model: Option<String>,
}

/// An entry's full content.
#[derive(Clone, Debug)]
pub(crate) struct LoadedPreview {
    pub(crate) node: usize,
    pub(crate) facts: Vec<String>,
    pub(crate) blocks: Vec<Block>,
}

/// The result of a [`TreeRequest`].
#[derive(Debug)]
pub(crate) enum TreeResult {
    Shape(Box<TreeModel>),
    Texts(Vec<LoadedTexts>),
    Preview(Box<LoadedPreview>),
    Found(TreeHits),
}

/// The purpose of opening the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreePurpose {
    /// Continue from an entry.
    Go,
    /// Fork a new session from an entry.
    Fork,
}

/// A search query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeQuery {
    pub(crate) words: String,
    pub(crate) filter: TreeFilter,
}

/// New hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeHits {
    pub(crate) query: TreeQuery,
    /// True for the first hits of this query.
    pub(crate) is_first: bool,
    pub(crate) nodes: Vec<usize>,
    /// Number of searched entries and of all entries; `None` when done.
    pub(crate) progress: Option<(usize, usize)>,
}
