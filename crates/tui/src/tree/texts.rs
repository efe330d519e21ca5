//! What rows say, as far as it was read: the rows on the screen and some around them, so that memory doesn't grow with the session.

use std::collections::HashMap;
use std::ops::Range;

use super::rows::Rows;
use super::shape::Shape;
use super::{Ask, Said, Texted, Want};

/// Texts that are kept: some hundred kilobytes.
const MOST: usize = 2_000;

/// Texts that are asked for at once: a screen of them is there before the next frame.
const AT_ONCE: usize = 200;

/// Texts of rows.
#[derive(Debug, Default)]
pub(super) struct Texts {
    known: HashMap<usize, Texted>,
    is_asked: bool,
}

impl Texts {
    /// What a row says, if it is known; what is out of date stands until it is renewed.
    pub(super) fn of(&self, node: usize) -> Option<&Said> {
        self.known.get(&node).map(|texted| &texted.said)
    }

    /// The model of the branch that an entry begins.
    pub(super) fn model(&self, node: usize) -> Option<&str> {
        self.known.get(&node)?.model.as_deref()
    }

    /// Asks for what these rows lack, unless something is on its way.
    pub(super) fn ask(&mut self, shape: &Shape, rows: &Rows, shown: Range<usize>) -> Option<Ask> {
        if self.is_asked {
            return None;
        }
        let wants = shown.map_while(|at| Some((rows.begins(at), rows.get(at)?))).map(|(begins, row)| {
            let answer = shape.branch(row.node).answer.filter(|_| begins).map(|at| at as usize);
            Want { node: row.node, answer }
        });
        let lacks = |want: &Want| self.known.get(&want.node).is_none_or(|known| known.want != *want);
        let wants: Vec<Want> = wants.filter(lacks).take(AT_ONCE).collect();
        self.is_asked = !wants.is_empty();
        self.is_asked.then_some(Ask::Texts(wants))
    }

    /// Takes what was asked for. When there is too much of it everything else goes.
    pub(super) fn take(&mut self, texts: Vec<Texted>) {
        self.is_asked = false;
        if self.known.len() + texts.len() > MOST {
            self.known.clear();
        }
        self.known.extend(texts.into_iter().map(|texted| (texted.want.node, texted)));
    }
}
