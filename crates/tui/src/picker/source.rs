//! What distinguishes one list from another: its title, its own keys, and the meaning of Enter.
//!
//! To add a list, implement [`ListSource`] beside the functions that build its items, and name it in
//! [`list_source`]; `executor/lists` loads the items of a [`ListKind`].

use std::fmt::Debug;
use std::path::PathBuf;

use crate::component::ViewContext;
use crate::effect::Effect;
use crate::keymap::{Context, KeyCommand};
use crate::list_kind::ListKind;
use crate::picker::fuzzy::MatchMode;
use crate::picker::item::PickerChoice;
use crate::picker::line_prompt::{LinePrompt, StatusText};
use crate::picker::session_query::SessionExcerpt;

/// A list that a [`Picker`](super::Picker) shows.
pub(crate) trait ListSource: Debug + Sync {
    fn title(&self) -> &'static str;

    /// The kind whose items are loaded in the background; `None` if the items are given.
    fn kind(&self) -> Option<ListKind> {
        None
    }

    fn match_mode(&self) -> MatchMode {
        MatchMode::Names
    }

    fn has_preview(&self) -> bool {
        false
    }

    /// The key context of keys that only this list has.
    fn context(&self) -> Option<Context> {
        None
    }

    /// The effect of Enter, for the key hints.
    fn accept_hint(&self) -> &'static str {
        "select"
    }

    /// Hints about the list's own keys.
    fn key_hints(&self) -> &'static [(KeyCommand, &'static str)] {
        &[]
    }

    /// The text of an empty list.
    fn empty_text(&self) -> &'static str {
        "empty"
    }

    /// Accepts an item.
    fn accept(&self, choice: PickerChoice, view: &ViewContext<'_>) -> ListResponse;

    /// Performs one of the list's own commands on the selected item.
    fn perform(&self, _command: KeyCommand, _choice: PickerChoice) -> ListResponse {
        ListResponse::none()
    }

    /// Accepts the line that an item asked for.
    fn submit(&self, _prompt: LinePrompt, _view: &ViewContext<'_>) -> ListResponse {
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
    /// The list closes; then these effects follow.
    Close(Vec<Effect>),
    /// The list stays open, with a status if there is one.
    Stay(Option<StatusText>, Vec<Effect>),
    /// The list asks for a line, with a status if there is one; then these effects follow.
    Ask(LinePrompt, Option<StatusText>, Vec<Effect>),
    /// The list stays open until this session is.
    OpenSession(PathBuf),
}

impl ListResponse {
    /// Nothing happens.
    pub(crate) fn none() -> Self {
        Self::Stay(None, Vec::new())
    }

    /// The list closes and this effect follows.
    pub(crate) fn close(effect: impl Into<Effect>) -> Self {
        Self::Close(vec![effect.into()])
    }

    /// The list stays open and this effect follows.
    pub(crate) fn stay(effect: impl Into<Effect>) -> Self {
        Self::Stay(None, vec![effect.into()])
    }

    /// The list asks for a line.
    pub(crate) fn ask(prompt: LinePrompt) -> Self {
        Self::Ask(prompt, None, Vec::new())
    }

    /// The list stays open with this status, and this effect follows.
    pub(crate) fn stay_with(status: &str, effect: impl Into<Effect>) -> Self {
        Self::Stay(Some(StatusText::note(status)), vec![effect.into()])
    }
}
