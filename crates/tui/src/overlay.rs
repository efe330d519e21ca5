//! The overlays over the transcript: a stack of pickers, pages and the tree.

use tiller_core::id::CallId;

use super::pager::Pager;
use super::picker::{Picker, PickerChoice, PickerItem};
use super::tree::TreeView;
use crate::action::ListKind;

#[derive(Debug)]
pub(super) enum Overlay {
    Picker(Box<Picker>),
    Pager(Pager),
    Tree(Box<TreeView>),
}

/// The pickers of the stack, the lowest first.
pub(super) fn pickers(popups: &mut [Overlay]) -> impl DoubleEndedIterator<Item = &mut Picker> {
    popups.iter_mut().filter_map(Overlay::as_picker)
}

impl Overlay {
    pub(super) fn as_picker(&mut self) -> Option<&mut Picker> {
        match self {
            Self::Picker(picker) => Some(picker),
            Self::Pager(_) | Self::Tree(_) => None,
        }
    }

    /// Cancels a pending navigation; returns the text typed since it began.
    pub(super) fn cancel_navigation(&mut self) -> Option<String> {
        match self {
            Self::Picker(picker) => picker.cancel_open(),
            Self::Tree(tree) => tree.stay(),
            Self::Pager(_) => None,
        }
    }

    /// The pending call that it shows.
    pub(super) fn call(&self) -> Option<&CallId> {
        match self {
            Self::Pager(page) => page.call(),
            Self::Picker(_) | Self::Tree(_) => None,
        }
    }

    /// Returns true if it is the dialog after a failed summary.
    pub(super) fn is_failure_dialog(&self) -> bool {
        let is_retry_choice = |item: &PickerItem| matches!(item.choice, PickerChoice::AfterFailure(_));
        matches!(self, Self::Picker(picker) if picker.chosen().is_some_and(is_retry_choice))
    }

    /// Returns true if it is this list.
    pub(super) fn is_list(&self, list: ListKind) -> bool {
        matches!(self, Self::Picker(picker) if picker.list == Some(list))
    }

    pub(super) fn is_session_lists(&self) -> bool {
        self.is_list(ListKind::Themes)
    }
}
