//! The prompt of a list, its status, and the time since it appeared.

use tiller_core::unit::UnixMs;

use crate::dialog::Dialog;
use crate::line_input::LineInput;
use crate::picker::Picker;
use crate::picker::line_prompt::{LinePrompt, StatusText};
use crate::shown_since::ShownSince;

impl Picker {
    /// Sets the time when the list appeared, to guard against keys pressed earlier.
    pub(crate) fn set_appeared(&mut self, appeared: ShownSince) {
        self.prompt.appeared = Some(appeared);
    }

    /// Returns true if the list was visible long enough for a key to be meant for it.
    pub(crate) fn is_visible_long_enough(&self, now: UnixMs) -> bool {
        self.prompt.appeared.is_none_or(|appeared| appeared.is_long_enough(now))
    }

    /// Returns true if the list appeared without a key, or takes text that was meant for the editor.
    pub(crate) fn is_deferred(&self) -> bool {
        self.prompt.appeared.is_some()
    }

    pub(crate) fn as_dialog(&self) -> Dialog {
        Dialog { title: self.title.clone(), items: self.items.to_vec() }
    }

    /// Opens a line prompt.
    pub(crate) fn set_prompt(&mut self, prompt: LinePrompt) {
        self.prompt.prompt = Some(prompt);
    }

    pub(crate) fn prompt(&self) -> Option<&LinePrompt> {
        self.prompt.prompt.as_ref()
    }

    pub(crate) fn end_prompt(&mut self) -> Option<LinePrompt> {
        self.prompt.prompt.take()
    }

    pub(crate) fn status(&self) -> Option<&StatusText> {
        self.prompt.status.as_ref()
    }

    /// Sets or clears the status.
    pub(crate) fn set_status(&mut self, status: Option<StatusText>) {
        self.prompt.status = status;
    }

    /// Edits the prompt's line, or the filter if there is no prompt.
    pub(crate) fn edit(&mut self, edit: impl FnOnce(&mut LineInput)) {
        if let Some(prompt) = &mut self.prompt.prompt {
            edit(&mut prompt.typed);
            return;
        }
        let before = self.filter.clone();
        edit(&mut self.filter);
        if self.filter != before {
            self.cursor.release();
            self.narrow();
        }
    }
}
