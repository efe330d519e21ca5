//! The definition of a list: its title, its own keys, and the action of Enter.
//!
//! To add a list, implement [`ListSource`] next to the functions that build its items, and add it to
//! [`list_source`]; `executor/lists` loads the items of a [`ListKind`].

use std::fmt::Debug;
use std::path::PathBuf;

use crate::component::ViewContext;
use crate::effect::Effect;
use crate::fuzzy::MatchMode;
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::list_kind::ListKind;
use crate::picker::item::PickerChoice;
use crate::picker::line_prompt::{LinePrompt, StatusText};
use crate::picker::session_query::SessionExcerpt;

/// The constant properties of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListFacts {
    pub(crate) title: &'static str,
    /// The kind, for lists whose items are loaded in the background; `None` if the items are fixed.
    pub(crate) kind: Option<ListKind>,
    pub(crate) match_mode: MatchMode,
    pub(crate) has_preview: bool,
    /// True if the list prompts for a line while it is open; its rows are the ways to use the line.
    pub(crate) is_form: bool,
    /// The key context of the list's own keys.
    pub(crate) context: Option<KeyContext>,
    /// The effect of Enter, for the key hints.
    pub(crate) accept_hint: &'static str,
    /// Hints about the list's own keys.
    pub(crate) key_hints: &'static [(KeyCommand, &'static str)],
    pub(crate) empty_text: &'static str,
    /// True if the key hints stay below a status: it comes without a key press.
    pub(crate) keeps_hints: bool,
    /// True if a refreshed list without the selected item selects the initial one, because the next item could
    /// have an effect that the user doesn't expect.
    pub(crate) returns_to_start: bool,
}

impl Default for ListFacts {
    fn default() -> Self {
        let (title, accept_hint, empty_text) = ("", "select", "empty");
        let (kind, context, match_mode) = (None, None, MatchMode::Names);
        Self {
            title,
            kind,
            match_mode,
            has_preview: false,
            is_form: false,
            context,
            accept_hint,
            key_hints: &[],
            empty_text,
            keeps_hints: false,
            returns_to_start: false,
        }
    }
}

/// A list that a [`Picker`](super::Picker) shows.
pub(crate) trait ListSource: Debug + Sync {
    fn facts(&self) -> ListFacts;

    /// Accepts an item.
    fn accept(&self, choice: PickerChoice, view: &ViewContext<'_>) -> ListResponse;

    /// Performs one of the list's own commands on the selected item.
    fn perform(&self, _command: KeyCommand, _choice: PickerChoice) -> ListResponse {
        ListResponse::none()
    }

    /// Accepts the line of an item's prompt, or the form's line for the selected row.
    fn submit(
        &self,
        _prompt: LinePrompt,
        _row: Option<&PickerChoice>,
        _view: &ViewContext<'_>,
    ) -> ListResponse {
        ListResponse::none()
    }

    /// Follows the selection, for example with a preview.
    fn select(&self, _choice: Option<&PickerChoice>, _excerpt: SessionExcerpt) -> Option<Effect> {
        None
    }
}

/// The result of a key in a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ListResponse {
    /// The list closes, with these effects.
    Close(Vec<Effect>),
    /// The list stays open, with a status if there is one, and these effects.
    Stay(Option<StatusText>, Vec<Effect>),
    /// The list opens a line prompt, with a status if there is one, and these effects.
    Ask(LinePrompt, Option<StatusText>, Vec<Effect>),
    /// The list stays open until this session is open.
    OpenSession(PathBuf),
}

impl ListResponse {
    /// Returns a response without any effect.
    pub(crate) fn none() -> Self {
        Self::Stay(None, Vec::new())
    }

    /// Closes the list with this effect.
    pub(crate) fn close(effect: impl Into<Effect>) -> Self {
        Self::Close(vec![effect.into()])
    }

    /// Keeps the list open, with this effect.
    pub(crate) fn stay(effect: impl Into<Effect>) -> Self {
        Self::Stay(None, vec![effect.into()])
    }

    pub(crate) fn ask(prompt: LinePrompt) -> Self {
        Self::Ask(prompt, None, Vec::new())
    }

    /// Keeps the list open with this status and this effect.
    pub(crate) fn stay_with(status: &str, effect: impl Into<Effect>) -> Self {
        Self::Stay(Some(StatusText::note(status)), vec![effect.into()])
    }
}
