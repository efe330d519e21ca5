//! The constant parts of the session list and of its dialogs.

use crate::action::{Action, ListAction};
use crate::component::ViewContext;
use crate::effect::Effect;
use crate::fuzzy::MatchMode;
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::picker::item::PickerChoice;
use crate::picker::line_prompt::{LinePrompt, StatusText};
use crate::picker::session_query::SessionExcerpt;
use crate::picker::source::{ListFacts, ListResponse, ListSource};

/// The sessions in this directory or all sessions; Enter opens one.
#[derive(Debug)]
pub(super) struct SessionSource;

impl ListSource for SessionSource {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "sessions",
            match_mode: MatchMode::Prose,
            has_preview: true,
            context: Some(KeyContext::Sessions),
            accept_hint: "open",
            ..ListFacts::default()
        }
    }

    /// Opens a session. The list closes only when the session is open: if another process holds it, the user
    /// chooses again.
    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        match choice {
            PickerChoice::Open(path) => ListResponse::OpenSession(path),
            _ => ListResponse::none(),
        }
    }

    fn perform(&self, command: KeyCommand, choice: PickerChoice) -> ListResponse {
        match (command, choice) {
            (KeyCommand::Trash, PickerChoice::Open(path)) => {
                ListResponse::stay(Action::List(ListAction::TrashSession(path)))
            }
            _ => ListResponse::none(),
        }
    }

    /// Renames a session; does nothing if the name is unchanged.
    fn submit(
        &self,
        prompt: LinePrompt,
        _row: Option<&PickerChoice>,
        _view: &ViewContext<'_>,
    ) -> ListResponse {
        let (before, typed) = (prompt.before.trim(), prompt.typed.text());
        let PickerChoice::Open(path) = &prompt.purpose else { return ListResponse::none() };
        if before == typed.trim() {
            let status = if before.is_empty() { "no name set" } else { "name unchanged" };
            return ListResponse::Stay(Some(StatusText::note(status)), Vec::new());
        }
        ListResponse::stay(Action::List(ListAction::NameSession(path.clone(), typed.to_owned())))
    }

    fn select(&self, choice: Option<&PickerChoice>, excerpt: SessionExcerpt) -> Option<Effect> {
        match choice {
            Some(PickerChoice::Open(path)) => {
                Some(Action::List(ListAction::Preview(path.clone(), excerpt)).into())
            }
            _ => None,
        }
    }
}
