//! The overlays over the transcript: a stack of pickers, pages and the tree.

use tiller_core::id::CallId;

use super::app::ListKind;
use super::pager::Pager;
use super::picker::{Picker, PickerChoice, PickerItem};
use super::tree::TreeView;

#[derive(Debug)]
pub(super) enum Overlay {
    Pick(Box<Picker>),
    Read(Pager),
    Tree(Box<TreeView>),
}

/// The pickers of the stack, the lowest first.
pub(super) fn pickers(popups: &mut [Overlay]) -> impl DoubleEndedIterator<Item = &mut Picker> {
    popups.iter_mut().filter_map(Overlay::as_picker)
}

impl Overlay {
    pub(super) fn as_picker(&mut self) -> Option<&mut Picker> {
        match self {
            Self::Pick(picker) => Some(picker),
            Self::Read(_) | Self::Tree(_) => None,
        }
    }

    /// Cancels a pending navigation; returns the text typed since it began.
    pub(super) fn stay(&mut self) -> Option<String> {
        match self {
            Self::Pick(picker) => picker.stay(),
            Self::Tree(tree) => tree.stay(),
            Self::Read(_) => None,
        }
    }

    /// The pending call that it shows.
    pub(super) fn call(&self) -> Option<&CallId> {
        match self {
            Self::Read(page) => page.call(),
            Self::Pick(_) | Self::Tree(_) => None,
        }
    }

    /// Whether it is the dialog after a failed summary.
    pub(super) fn is_of_failure(&self) -> bool {
        let asks = |item: &PickerItem| matches!(item.choice, PickerChoice::AfterFailure(_));
        matches!(self, Self::Pick(picker) if picker.chosen().is_some_and(asks))
    }

    /// Whether it is this list.
    pub(super) fn lists(&self, list: ListKind) -> bool {
        matches!(self, Self::Pick(picker) if picker.list == Some(list))
    }

    pub(super) fn is_of_themes(&self) -> bool {
        self.lists(ListKind::Themes)
    }
}
