//! The cache of row texts. It holds visible rows and some around them, so that memory doesn't grow with the
//! session.

use std::collections::HashMap;
use std::ops::Range;

use crate::tree::entry_text::EntryText;
use crate::tree::model::TreeModel;
use crate::tree::request::{LoadedTexts, TextRequest, TreeRequest};
use crate::tree::rows::VisibleRows;

/// Maximum number of texts; they take some hundred kilobytes.
const MAX_TEXTS: usize = 2_000;

/// Maximum texts per request; a screenful arrives before the next frame.
const AT_ONCE: usize = 200;

#[derive(Debug, Default)]
pub(super) struct TextCache {
    known: HashMap<usize, LoadedTexts>,
    is_asked: bool,
}

impl TextCache {
    /// Returns a row's text, if loaded; a stale text stays until it is replaced.
    pub(super) fn get(&self, node: usize) -> Option<&EntryText> {
        self.known.get(&node).map(|loaded| &loaded.text)
    }

    /// Returns the model of the branch that starts at an entry.
    pub(super) fn model(&self, node: usize) -> Option<&str> {
        self.known.get(&node)?.model.as_deref()
    }

    /// The request for missing texts, unless one is pending.
    pub(super) fn ask(
        &mut self,
        shape: &TreeModel,
        rows: &VisibleRows,
        shown: Range<usize>,
    ) -> Option<TreeRequest> {
        if self.is_asked {
            return None;
        }
        let requests = shown.map_while(|at| Some((rows.begins(at), rows.get(at)?))).map(|(begins, row)| {
            let answer = shape.branch(row.node).answer.filter(|_| begins).map(|at| at as usize);
            TextRequest { node: row.node, answer }
        });
        let lacks = |request: &TextRequest| {
            self.known.get(&request.node).is_none_or(|known| known.request != *request)
        };
        let requests: Vec<TextRequest> = requests.filter(lacks).take(AT_ONCE).collect();
        self.is_asked = !requests.is_empty();
        self.is_asked.then_some(TreeRequest::Texts(requests))
    }

    /// Stores loaded texts; a full cache is cleared first.
    pub(super) fn take(&mut self, texts: Vec<LoadedTexts>) {
        self.is_asked = false;
        if self.known.len() + texts.len() > MAX_TEXTS {
            self.known.clear();
        }
        self.known.extend(texts.into_iter().map(|loaded| (loaded.request.node, loaded)));
    }
}
