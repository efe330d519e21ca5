//! Inline prompts and status messages of a list.

use tiller_core::unit::UnixMs;
use tiller_render::Role;

use super::Picker;
use super::item::PickerChoice;
use super::line_input::LineInput;
use crate::dialog::Dialog;
use crate::shown_since::ShownSince;

/// The prompt, status and appearance of a list.
#[derive(Debug, Default)]
pub(super) struct InlinePrompt {
    prompt: Option<LinePrompt>,
    status: Option<StatusText>,
    /// When the list appeared, if no key opened it.
    appeared: Option<ShownSince>,
}

/// A line prompt; keys edit it until it is accepted or cancelled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinePrompt {
    /// The item it is about.
    pub(crate) purpose: PickerChoice,
    /// The label.
    pub(crate) what: String,
    pub(crate) typed: LineInput,
    /// The initial value.
    pub(crate) before: String,
    /// A hint shown while the line is empty.
    pub(crate) blank: &'static str,
    pub(crate) echo: EchoMode,
}

impl LinePrompt {
    /// A prompt about an item, with a label and an initial value.
    pub(crate) fn new(purpose: PickerChoice, what: impl Into<String>, before: &str) -> Self {
        let (what, typed, before) = (what.into(), before.into(), before.to_owned());
        Self { purpose, what, typed, before, blank: "", echo: EchoMode::Open }
    }

    /// A prompt whose input is hidden.
    pub(crate) fn masked(purpose: PickerChoice, what: impl Into<String>) -> Self {
        Self { echo: EchoMode::Masked, ..Self::new(purpose, what, "") }
    }

    /// Sets the hint for an empty line.
    pub(crate) fn with_blank_hint(self, blank: &'static str) -> Self {
        Self { blank, ..self }
    }
}

/// Visibility of the typed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EchoMode {
    Open,
    /// Only its length is visible.
    Masked,
}

/// The result of an action, shown until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusText {
    pub(crate) text: String,
    pub(crate) role: Role,
}

impl StatusText {
    pub(crate) fn note(text: impl Into<String>) -> Self {
        Self { text: text.into(), role: Role::Text }
    }

    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self { text: format!("✗ {}", text.into()), role: Role::Error }
    }
}

impl Picker {
    /// Sets when the list appeared, to guard against keys pressed before.
    pub(crate) fn set_appeared(&mut self, appeared: ShownSince) {
        self.prompt.appeared = Some(appeared);
    }

    /// Returns true if the list was visible long enough for a key to be meant for it.
    pub(crate) fn is_noticed(&self, now: UnixMs) -> bool {
        self.prompt.appeared.is_none_or(|appeared| appeared.is_long_enough(now))
    }

    /// Returns true if the list appeared without a key.
    pub(crate) fn is_deferred(&self) -> bool {
        self.prompt.appeared.is_some()
    }

    /// The list as a dialog.
    pub(crate) fn as_dialog(&self) -> Dialog {
        Dialog { title: self.title.clone(), items: self.items.to_vec() }
    }

    /// Asks for a line.
    pub(crate) fn set_prompt(&mut self, prompt: LinePrompt) {
        self.prompt.prompt = Some(prompt);
    }

    pub(crate) fn prompt(&self) -> Option<&LinePrompt> {
        self.prompt.prompt.as_ref()
    }

    /// Closes the prompt and returns it.
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
            self.place.top = None;
            self.narrow();
        }
    }
}
