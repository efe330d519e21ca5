//! What follows from keys in a list, from a choice that moved, and from a list that was left.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Choice, Picker};
use crate::event::CompactionChoice;
use crate::session::{Scope, Visibility};
use crate::tui::app::{Action, App, Go, List};
use crate::tui::keymap::{Context, KeyCommand};
use crate::tui::popup::Popup;

/// What keys do in a list beside moving in it, the most important first; what has no room is left out from the end.
pub(super) fn hints(picker: &Picker) -> Vec<(KeyCommand, &'static str)> {
    use KeyCommand::{Accept, Back, Hide, ShowHidden, Switch};
    match (picker.list, picker.browsing().map(|browser| browser.scope)) {
        (Some(List::Tree), _) => {
            vec![(Accept, "goes there"), (Back, "back"), (Hide, "hide"), (ShowHidden, "hidden too")]
        }
        (Some(List::WholeTree), _) => {
            vec![
                (Accept, "goes there, or brings back what is hidden"),
                (Back, "back"),
                (ShowHidden, "without it"),
            ]
        }
        (_, Some(Scope::ThisDirectory)) => {
            vec![(Accept, "opens it"), (Back, "back"), (Switch, "all directories")]
        }
        (_, Some(Scope::Everywhere)) => {
            vec![(Accept, "opens it"), (Back, "back"), (Switch, "this directory")]
        }
        (Some(List::Models | List::Forks) | None, None) => vec![(Accept, "takes it"), (Back, "back")],
    }
}

/// Where else than in every list its keys count.
const fn context(picker: &Picker) -> Option<Context> {
    match picker.list {
        Some(List::Tree | List::WholeTree) => Some(Context::Tree),
        Some(List::Models | List::Forks) | None => None,
    }
}

impl App {
    fn top_picker(&mut self) -> Option<&mut Picker> {
        self.popups.last_mut().and_then(Popup::as_picker)
    }

    /// What a key does in the list on top; `None` when it does there what it does in every popup.
    pub(in crate::tui) fn list_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        let own = self.top_picker().and_then(|picker| context(picker));
        let own = own.and_then(|context| self.place.keymap.command(context, key));
        if let Some(command) = own {
            return Some(self.list_command(command));
        }
        let command = self.place.keymap.command(Context::Popup, key);
        let picker = self.top_picker()?;
        match command {
            Some(KeyCommand::Accept) => return Some(self.accept()),
            Some(KeyCommand::ClearFilter) => picker.edit(super::Typed::clear),
            Some(KeyCommand::DeleteWord) => picker.edit(super::Typed::pop_word),
            Some(KeyCommand::Switch) => picker.switch_scope(),
            Some(_) => return None,
            None => match key.code {
                KeyCode::Char(c) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => {
                    picker.edit(|filter| filter.push(c.encode_utf8(&mut [0; 4])));
                }
                KeyCode::Backspace => picker.edit(super::Typed::pop),
                _ => return Some(Vec::new()),
            },
        }
        Some(self.look())
    }

    /// Takes what was pasted as if it were typed.
    pub(in crate::tui) fn paste_into_list(&mut self, text: &str) -> Vec<Action> {
        if let Some(picker) = self.top_picker() {
            picker.edit(|filter| filter.push(text));
        }
        self.look()
    }

    /// Has sessions looked through for what is typed now.
    fn look(&mut self) -> Vec<Action> {
        let ask = self.top_picker().and_then(|picker| picker.ask());
        ask.map(Action::Browse).into_iter().collect()
    }

    fn accept(&mut self) -> Vec<Action> {
        let Some(picker) = self.top_picker() else { return Vec::new() };
        picker.settle();
        let Some(choice) = picker.chosen().map(|item| item.choice.clone()) else { return Vec::new() };
        // The tree stays open when something comes back into it.
        if !matches!(choice, Choice::Show(_)) {
            self.popups.pop();
        }
        self.chosen(choice)
    }

    /// Keys that mean something in one kind of list.
    fn list_command(&mut self, command: KeyCommand) -> Vec<Action> {
        let Some(picker) = self.top_picker() else { return Vec::new() };
        match (command, picker.chosen().map(|item| &item.choice)) {
            (KeyCommand::Hide, Some(Choice::Navigate(entry))) => vec![Action::AskToHide(entry.clone())],
            (KeyCommand::Hide, Some(Choice::Show(entry))) => {
                vec![Action::Hide(entry.clone(), Visibility::Shown)]
            }
            (KeyCommand::ShowHidden, _) => self.other_tree(),
            _ => Vec::new(),
        }
    }

    /// Goes from the tree to the tree with its hidden branches, and back.
    fn other_tree(&mut self) -> Vec<Action> {
        let (title, list) = match self.top_picker().and_then(|picker| picker.list) {
            Some(List::Tree) => ("tree with hidden branches", List::WholeTree),
            Some(List::WholeTree) => ("tree", List::Tree),
            Some(List::Models | List::Forks) | None => return Vec::new(),
        };
        self.popups.pop();
        self.pick(title, list)
    }

    fn chosen(&mut self, choice: Choice) -> Vec<Action> {
        vec![match choice {
            Choice::Navigate(entry) => Action::Go(Go::AskToLeave(entry)),
            Choice::Leave(entry, summary) => Action::Go(Go::Navigate(entry, summary)),
            Choice::Instruct(entry) => {
                self.leaving = Some(entry);
                return Vec::new();
            }
            Choice::AfterFailure(choice) => Action::ResolveCompaction(choice),
            Choice::Hide(entry) => Action::Hide(entry, Visibility::Hidden),
            Choice::Show(entry) => Action::Hide(entry, Visibility::Shown),
            Choice::Nothing => return Vec::new(),
            Choice::Fork(entry) => Action::Go(Go::Fork(entry)),
            Choice::Open(path) => Action::Go(Go::Open(path)),
            Choice::Model(words) => Action::SetModel(words),
            Choice::Prompt(text) => {
                self.editor.recall_text(&text);
                return Vec::new();
            }
        }]
    }

    /// What follows from how the list on top stands after an input: long ones are narrowed elsewhere, and a choice that moved is looked
    /// at.
    pub(in crate::tui) fn mind_list(&mut self) -> Vec<Action> {
        let Some(picker) = self.top_picker() else { return Vec::new() };
        let mut actions: Vec<Action> = picker.ask_to_narrow().map(Action::Narrow).into_iter().collect();
        if let Some(choice) = picker.moved() {
            let list = picker.list;
            let detail = picker.chosen().map(|item| item.detail.clone()).unwrap_or_default();
            if let Some(choice) = &choice {
                picker.show(choice, detail);
            }
            actions.extend(self.looked_at(list, choice));
        }
        actions
    }

    /// The choice in a list moved: what is to be gathered for its preview, or tried on while it is looked at.
    fn looked_at(&mut self, list: Option<List>, choice: Option<Choice>) -> Vec<Action> {
        match (list, choice) {
            (Some(List::Tree | List::WholeTree | List::Models | List::Forks) | None, _) => Vec::new(),
        }
    }

    /// Popups were left without a choice. A question about a failed summary that is left so means that everything stays as it is.
    pub(in crate::tui) fn left(&mut self, popups: &[Popup]) -> Vec<Action> {
        let asked = popups.iter().any(Popup::is_of_failure);
        if asked { vec![Action::ResolveCompaction(CompactionChoice::GoOn)] } else { Vec::new() }
    }
}
