//! What may lie over the transcript: one stack of pickers, pages to read, and the tree.

use super::app::List;
use super::picker::{Choice, Item, Picker};
use super::tree::TreeView;
use crate::render::Line;

/// Something over the transcript.
#[derive(Debug)]
pub(super) enum Popup {
    Pick(Box<Picker>),
    Read(Page),
    Tree(Box<TreeView>),
}

/// A text to read.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) lines: Vec<Line>,
    pub(super) top: usize,
}

impl Popup {
    pub(super) fn as_picker(&mut self) -> Option<&mut Picker> {
        match self {
            Self::Pick(picker) => Some(picker),
            Self::Read(_) | Self::Tree(_) => None,
        }
    }

    /// Whether it asks what to do after a summary could not be made.
    pub(super) fn is_of_failure(&self) -> bool {
        let asks = |item: &Item| matches!(item.choice, Choice::AfterFailure(_));
        matches!(self, Self::Pick(picker) if picker.chosen().is_some_and(asks))
    }

    /// Whether it offers these.
    pub(super) fn lists(&self, list: List) -> bool {
        matches!(self, Self::Pick(picker) if picker.list == Some(list))
    }

    /// Whether it offers themes.
    pub(super) fn is_of_themes(&self) -> bool {
        self.lists(List::Themes)
    }
}

impl Page {
    pub(super) fn new(title: &str, lines: Vec<Line>) -> Self {
        Self { title: title.to_owned(), lines, top: 0 }
    }

    /// Scrolls by `rows`, stopping at the ends.
    pub(super) fn step(&mut self, rows: isize) {
        self.top = self.top.saturating_add_signed(rows).min(self.lines.len().saturating_sub(1));
    }
}
