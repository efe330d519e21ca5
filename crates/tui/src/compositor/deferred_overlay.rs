//! An overlay that opens once the user isn't typing.

use crate::component::Context;
use crate::dialog::Dialog;
use crate::pager::Pager;

/// An overlay that opens over the transcript once the user isn't typing.
#[derive(Clone, Debug)]
pub(crate) enum DeferredOverlay {
    Dialog(Dialog),
    Page(Box<Pager>),
    /// The session picker at the start.
    Sessions,
}

impl DeferredOverlay {
    /// Shows a message that the overlay is ready and how to open it.
    pub(crate) fn flash_hint(&self, cx: &mut Context<'_>) {
        match self {
            Self::Dialog(_) => {}
            Self::Page(page) => {
                let title = &page.title;
                cx.flash(format!("{title}: ready. Clear the prompt and close other views to see it."));
            }
            Self::Sessions => cx.flash("Clear the prompt to see your sessions."),
        }
    }

    /// Returns true for the dialog about a failed summary.
    pub(crate) fn is_of_failure(&self) -> bool {
        matches!(self, Self::Dialog(dialog) if dialog.is_of_failure())
    }
}
