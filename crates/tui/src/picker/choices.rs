//! Dialogs and lists with fixed items: a question with its answers, the prompt history.

use tiller_session::Visibility;

use crate::action::{Action, ListAction, SessionEdit, TerminalAction};
use crate::component::ViewContext;
use crate::effect::Effect;
use crate::fuzzy::MatchMode;
use crate::navigate::Navigate;
use crate::picker::item::PickerChoice;
use crate::picker::source::{ListFacts, ListResponse, ListSource};

/// A question with its answers.
#[derive(Debug)]
pub(crate) struct Question;

/// The prompts from the history; Enter puts one into the editor.
#[derive(Debug)]
pub(crate) struct PromptList;

impl ListSource for Question {
    fn facts(&self) -> ListFacts {
        ListFacts { title: "question", ..ListFacts::default() }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        ListResponse::Close(match choice {
            PickerChoice::Open(path) => return ListResponse::OpenSession(path),
            PickerChoice::Leave(entry, summary) => {
                vec![Effect::CloseAll, Action::Navigate(Navigate::ToEntry(entry, summary)).into()]
            }
            PickerChoice::Instruct(entry) => vec![Effect::CloseAll, Effect::WriteSummaryInstruction(entry)],
            PickerChoice::AfterFailure(choice) => {
                vec![Action::Edit(SessionEdit::ResolveCompaction(choice)).into()]
            }
            PickerChoice::Hide(entry) => {
                vec![Action::Edit(SessionEdit::Hide(entry, Visibility::Hidden)).into()]
            }
            // The session lists close, so that text typed after this goes to the new session.
            PickerChoice::ForkOf(path) => {
                vec![Effect::CloseSessionLists, Action::Navigate(Navigate::ForkOf(path)).into()]
            }
            PickerChoice::Attach(path) => vec![Action::Terminal(TerminalAction::Attach(path)).into()],
            PickerChoice::RemoveRule(rule) => vec![Action::List(ListAction::RemoveRule(rule)).into()],
            PickerChoice::Stop(navigate) => vec![Effect::StopAndNavigate(navigate)],
            PickerChoice::ForkBeside(entry) => vec![Action::Navigate(Navigate::ForkBeside(entry)).into()],
            PickerChoice::LongMessage(choice, when) => vec![Effect::SendLong(choice, when)],
            _ => Vec::new(),
        })
    }
}

impl ListSource for PromptList {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "earlier prompts",
            match_mode: MatchMode::Prose,
            has_preview: true,
            ..ListFacts::default()
        }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        match choice {
            PickerChoice::Prompt(text) => ListResponse::close(Effect::RecallPrompt(text)),
            _ => ListResponse::none(),
        }
    }
}
