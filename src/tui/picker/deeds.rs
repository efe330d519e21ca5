//! What follows from keys in a list, from a choice that moved, and from a list that was left.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Choice, Picker};
use crate::event::CompactionChoice;
use crate::session::{Scope, Visibility};
use crate::tui::app::{Action, App, Go, List};
use crate::tui::keymap::{Context, KeyCommand};
use crate::tui::popup::Popup;
use crate::tui::tree::leaves_tree;

/// What keys do in a list beside moving in it, the most important first; what has no room is left out from the end.
pub(super) fn hints(picker: &Picker) -> Vec<(KeyCommand, &'static str)> {
    use KeyCommand::{Accept, Back, Switch};
    match (picker.list, picker.browsing().map(|browser| browser.scope)) {
        (_, Some(Scope::ThisDirectory)) => {
            vec![(Accept, "opens it"), (Back, "back"), (Switch, "all directories")]
        }
        (_, Some(Scope::Everywhere)) => {
            vec![(Accept, "opens it"), (Back, "back"), (Switch, "this directory")]
        }
        (Some(List::Models) | None, None) => vec![(Accept, "takes it"), (Back, "back")],
    }
}

impl App {
    fn top_picker(&mut self) -> Option<&mut Picker> {
        self.popups.last_mut().and_then(Popup::as_picker)
    }

    /// What a key does in the list on top; `None` when it does there what it does in every popup.
    pub(in crate::tui) fn list_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
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
        self.popups.pop();
        self.chosen(choice)
    }

    fn chosen(&mut self, choice: Choice) -> Vec<Action> {
        if leaves_tree(&choice) {
            self.popups.clear();
        }
        vec![match choice {
            Choice::Leave(entry, summary) => Action::Go(Go::Navigate(entry, summary)),
            Choice::Instruct(entry) => {
                self.leaving = Some(entry);
                return Vec::new();
            }
            Choice::AfterFailure(choice) => Action::ResolveCompaction(choice),
            Choice::Hide(entry) => Action::Hide(entry, Visibility::Hidden),
            Choice::Nothing => return Vec::new(),
            Choice::Stop(go) => return self.stop_for(go),
            Choice::ForkBeside(entry) => Action::Go(Go::ForkBeside(entry)),
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
            (Some(List::Models) | None, _) => Vec::new(),
        }
    }

    /// Popups were left without a choice. A question about a failed summary that is left so means that everything stays as it is.
    pub(in crate::tui) fn left(&mut self, popups: &[Popup]) -> Vec<Action> {
        let asked = popups.iter().any(Popup::is_of_failure);
        if asked { vec![Action::ResolveCompaction(CompactionChoice::GoOn)] } else { Vec::new() }
    }
}
