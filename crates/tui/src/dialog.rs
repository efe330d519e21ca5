//! A question with its answers that opens automatically.

use crate::picker::item::{PickerChoice, PickerItem};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dialog {
    pub(crate) title: String,
    pub(crate) items: Vec<PickerItem>,
}

impl Dialog {
    /// Returns true for the dialog about a failed summary.
    pub(crate) fn is_of_failure(&self) -> bool {
        self.items.iter().any(|item| matches!(item.choice, PickerChoice::AfterFailure(_)))
    }
}
