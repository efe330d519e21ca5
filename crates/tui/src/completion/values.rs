//! Values of a command's argument that are collected in the background.

use crate::completion::candidate::Range;
use crate::list_kind::ListKind;
use crate::picker::item::PickerItem;

/// A source of argument values that are collected in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentValues {
    /// The entries of a list.
    List(ListKind),
    /// The sessions in this directory.
    Sessions,
}

/// The values collected last.
#[derive(Debug)]
pub(crate) struct ArgumentSources {
    pub(crate) values: ArgumentValues,
    pub(crate) items: Vec<PickerItem>,
}

impl ArgumentValues {
    pub(crate) const fn range(self) -> Range {
        match self {
            Self::List(_) => Range::Closed,
            Self::Sessions => Range::Open,
        }
    }
}
