//! What rows say, as far as it was read: the rows on the screen and some around them, so that memory doesn't grow with the session.

use std::collections::HashMap;
use std::ops::Range;

use super::model::TreeModel;
use super::rows::VisibleRows;
use super::{EntryText, LoadedTexts, TreeRequest, TreeWant};

/// Texts that are kept: some hundred kilobytes.
const MOST: usize = 2_000;

/// Texts that are asked for at once: a screen of them is there before the next frame.
const AT_ONCE: usize = 200;

/// Texts of rows.
#[derive(Debug, Default)]
pub(super) struct TextCache {
    known: HashMap<usize, LoadedTexts>,
    is_asked: bool,
}

impl TextCache {
    /// What a row says, if it is known; what is out of date stands until it is renewed.
    pub(super) fn of(&self, node: usize) -> Option<&EntryText> {
        self.known.get(&node).map(|texted| &texted.said)
    }

    /// The model of the branch that an entry begins.
    pub(super) fn model(&self, node: usize) -> Option<&str> {
        self.known.get(&node)?.model.as_deref()
    }

    /// Asks for what these rows lack, unless something is on its way.
    pub(super) fn ask(
        &mut self,
        shape: &TreeModel,
        rows: &VisibleRows,
        shown: Range<usize>,
    ) -> Option<TreeRequest> {
        if self.is_asked {
            return None;
        }
        let wants = shown.map_while(|at| Some((rows.begins(at), rows.get(at)?))).map(|(begins, row)| {
            let answer = shape.branch(row.node).answer.filter(|_| begins).map(|at| at as usize);
            TreeWant { node: row.node, answer }
        });
        let lacks = |want: &TreeWant| self.known.get(&want.node).is_none_or(|known| known.want != *want);
        let wants: Vec<TreeWant> = wants.filter(lacks).take(AT_ONCE).collect();
        self.is_asked = !wants.is_empty();
        self.is_asked.then_some(TreeRequest::Texts(wants))
    }

    /// Takes what was asked for. When there is too much of it everything else goes.
    pub(super) fn take(&mut self, texts: Vec<LoadedTexts>) {
        self.is_asked = false;
        if self.known.len() + texts.len() > MOST {
            self.known.clear();
        }
        self.known.extend(texts.into_iter().map(|texted| (texted.want.node, texted)));
    }
}
