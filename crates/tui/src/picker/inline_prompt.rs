//! What is said in a list beside its rows: a name or a value that is asked for, and a word on what was done.

use tiller_core::unit::UnixMs;
use tiller_render::Role;

use super::{LineInput, Picker, PickerChoice};
use crate::dialog::{Dialog, ShownSince};

/// What is said in a list.
#[derive(Debug, Default)]
pub(super) struct InlinePrompt {
    asking: Option<PromptKind>,
    word: Option<StatusText>,
    /// When it came, if no key opened it.
    appeared: Option<ShownSince>,
}

/// A line that is asked for: until it is taken or left, keys edit it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PromptKind {
    /// What it is for.
    pub(crate) of: PickerChoice,
    /// What it is, in a word.
    pub(crate) what: String,
    pub(crate) typed: LineInput,
    /// What was there before.
    pub(crate) before: String,
    /// What an empty line means, if that needs to be said.
    pub(crate) blank: &'static str,
    pub(crate) sight: EchoMode,
}

/// Whether what is typed can be read on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EchoMode {
    Open,
    /// Only how long it is.
    Masked,
}

/// A word on what was done in a list, there until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusText {
    pub(crate) text: String,
    pub(crate) role: Role,
}

impl StatusText {
    pub(crate) fn note(text: impl Into<String>) -> Self {
        Self { text: text.into(), role: Role::Text }
    }

    pub(crate) fn trouble(text: impl Into<String>) -> Self {
        Self { text: format!("✗ {}", text.into()), role: Role::Error }
    }
}

impl Picker {
    /// The same as a question that comes by itself.
    pub(crate) fn appearing(mut self, appeared: ShownSince) -> Self {
        self.talk.appeared = Some(appeared);
        self
    }

    /// Whether whoever presses a key by now can mean it.
    pub(crate) fn is_noticed(&self, now: UnixMs) -> bool {
        self.talk.appeared.is_none_or(|appeared| appeared.is_noticed(now))
    }

    /// Whether no key opened it.
    pub(crate) fn came_by_itself(&self) -> bool {
        self.talk.appeared.is_some()
    }

    /// The question that it is.
    pub(crate) fn question(&self) -> Dialog {
        Dialog { title: self.title.clone(), items: self.items.to_vec() }
    }

    /// Asks for a line, beginning with what is there now.
    pub(crate) fn ask_for(&mut self, of: PickerChoice, what: impl Into<String>, before: &str) {
        let (what, typed, before) = (what.into(), before.into(), before.to_owned());
        self.talk.asking = Some(PromptKind { of, what, typed, before, blank: "", sight: EchoMode::Open });
    }

    /// Says what an empty line means in the one that is asked for.
    pub(crate) fn say_of_blank(&mut self, blank: &'static str) {
        if let Some(asking) = &mut self.talk.asking {
            asking.blank = blank;
        }
    }

    /// Asks for a line that nobody may read on the screen.
    pub(crate) fn ask_unseen(&mut self, of: PickerChoice, what: String) {
        let (typed, before) = (LineInput::default(), String::new());
        self.talk.asking = Some(PromptKind { of, what, typed, before, blank: "", sight: EchoMode::Masked });
    }

    /// The line that is asked for.
    pub(crate) fn asking(&self) -> Option<&PromptKind> {
        self.talk.asking.as_ref()
    }

    /// Stops asking; answers with what was asked for.
    pub(crate) fn stop_asking(&mut self) -> Option<PromptKind> {
        self.talk.asking.take()
    }

    /// What was said of what was done.
    pub(crate) fn word(&self) -> Option<&StatusText> {
        self.talk.word.as_ref()
    }

    /// Says what was done, or takes it back.
    pub(crate) fn say(&mut self, word: Option<StatusText>) {
        self.talk.word = word;
    }

    /// Edits the line in which is typed: the one that is asked for, else the filter.
    pub(crate) fn edit(&mut self, edit: impl FnOnce(&mut LineInput)) {
        if let Some(asking) = &mut self.talk.asking {
            edit(&mut asking.typed);
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
