//! The owner of the keys, and the selected message.

use tiller_core::id::QueueId;

use crate::queue::AfterQueueEdit;

/// The owner of the keys.
#[derive(Debug, Default)]
pub(super) enum QueueFocus {
    /// The editor.
    #[default]
    Editor,
    /// The panel; no selection if the queue is empty.
    Panel(Option<QueueSelection>),
    /// The editor, which contains the text of this message.
    Editing(QueueSelection, AfterQueueEdit),
}

/// The selected message and its row; the row stays selected when the message is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueueSelection {
    pub(super) id: QueueId,
    pub(super) row: usize,
}

impl QueueFocus {
    /// Returns true if the panel has the keys.
    pub(super) fn has_keys(&self) -> bool {
        matches!(self, Self::Panel(_))
    }

    /// Returns true if the editor contains a queued message.
    pub(super) fn is_editing(&self) -> bool {
        matches!(self, Self::Editing(..))
    }

    /// Returns true if this message is held only because it is being edited.
    pub(super) fn holds(&self, id: &QueueId) -> bool {
        matches!(self, Self::Editing(of, AfterQueueEdit::Release) if of.id == *id)
    }

    /// The selected or edited message.
    pub(super) fn selected(&self) -> Option<&QueueId> {
        match self {
            Self::Panel(Some(chosen)) | Self::Editing(chosen, _) => Some(&chosen.id),
            Self::Panel(None) | Self::Editor => None,
        }
    }
}
