//! The line prompt of a list, and the list's status.

use tiller_render::Role;

use crate::line_input::LineInput;
use crate::picker::item::PickerChoice;
use crate::shown_since::ShownSince;

/// A line prompt; keys edit it until it is accepted or canceled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinePrompt {
    /// The item that the prompt is for.
    pub(crate) purpose: PickerChoice,
    /// The label.
    pub(crate) label: String,
    pub(crate) typed: LineInput,
    /// The initial value.
    pub(crate) before: String,
    /// A hint shown while the line is empty.
    pub(crate) blank: &'static str,
    pub(crate) echo: EchoMode,
}

impl LinePrompt {
    /// A prompt about an item, with a label and an initial value.
    pub(crate) fn new(purpose: PickerChoice, label: impl Into<String>, before: &str) -> Self {
        let (label, typed, before) = (label.into(), before.into(), before.to_owned());
        Self { purpose, label, typed, before, blank: "", echo: EchoMode::Open }
    }

    /// A prompt whose input is hidden.
    pub(crate) fn masked(purpose: PickerChoice, label: impl Into<String>) -> Self {
        Self { echo: EchoMode::Masked, ..Self::new(purpose, label, "") }
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

/// An action's result, shown until the next key.
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

/// The prompt, status and appearance of a list.
#[derive(Debug, Default)]
pub(super) struct InlinePrompt {
    pub(super) prompt: Option<LinePrompt>,
    pub(super) status: Option<StatusText>,
    /// When the list appeared, if no key opened it.
    pub(super) appeared: Option<ShownSince>,
}
