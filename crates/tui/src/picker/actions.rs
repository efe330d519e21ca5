//! Key handling of lists, and the effects of moved selections and closed lists.

use std::path::Path;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::event::CompactionChoice;
use tiller_core::setting::{Setting, Settings};
use tiller_session::{SessionScope, Visibility};

use super::settings::{self, change, values};
use super::{LineInput, LinePrompt, Picker, PickerChoice, SessionExcerpt, SortOrder, StatusText};
use crate::action::{Action, ListAction, ListKind, Navigate, SessionEdit};
use crate::app::App;
use crate::composer::ComposePurpose;
use crate::keymap::{Context, KeyCommand};
use crate::login;
use crate::overlay::{Overlay, pickers};
use crate::theme::{self, ThemeCheck};
use crate::tree::leaves_tree;

/// Key hints besides movement, the most important first; the view drops those that don't fit.
pub(super) fn hints(picker: &Picker) -> Vec<(KeyCommand, &'static str)> {
    use KeyCommand as K;
    if picker.prompt().is_some() {
        return vec![(K::Accept, "save"), (K::Back, "cancel")];
    }
    let (accept, more): (&str, &[(KeyCommand, &str)]) = match picker.list {
        Some(ListKind::Models) => ("select", &[(K::ModelAndThinking, "select, then thinking level")]),
        Some(ListKind::Tools) => ("switch on or off", &[]),
        Some(ListKind::Permissions) => ("revoke", &[(K::Revoke, "revoke")]),
        Some(ListKind::Themes) => ("apply", &[]),
        Some(ListKind::Settings) => ("change", &[(K::ResetSetting, "reset")]),
        Some(ListKind::Logins) => ("set key", &[]),
        Some(ListKind::Logouts) => ("remove key", &[]),
        Some(ListKind::ForeignLogs) => ("import", &[]),
        Some(ListKind::Thinking | ListKind::Approval | ListKind::Trust) => ("select", &[]),
        None if picker.session_browser().is_some() => ("open", &[]),
        None => ("select", &[]),
    };
    let back = if picker.is_narrowed() { "show all" } else { "back" };
    let mut hints = vec![(K::Accept, accept), (K::Back, back)];
    hints.extend(more);
    if let Some(browser) = picker.session_browser() {
        let other =
            if browser.scope == SessionScope::ThisDirectory { "all directories" } else { "this directory" };
        let order = if picker.order() == Some(SortOrder::Threads) { "newest first" } else { "threads" };
        hints.push((K::Switch, other));
        hints.extend(browser.can_undo.then_some((K::Untrash, "undo")));
        hints.extend([(K::Rename, "rename"), (K::Trash, "trash")]);
        hints.push((K::Threads, order));
    }
    hints
}

/// The additional key context of a list.
fn context(picker: &Picker) -> Option<Context> {
    match picker.list {
        Some(ListKind::Models) => Some(Context::Models),
        Some(ListKind::Settings) => Some(Context::Settings),
        Some(ListKind::Permissions) => Some(Context::Permissions),
        None if picker.session_browser().is_some() => Some(Context::Sessions),
        Some(
            ListKind::Thinking
            | ListKind::Approval
            | ListKind::Trust
            | ListKind::Tools
            | ListKind::Themes
            | ListKind::Logins
            | ListKind::Logouts
            | ListKind::ForeignLogs,
        )
        | None => None,
    }
}

impl App {
    fn top_picker(&mut self) -> Option<&mut Picker> {
        self.overlays.last_mut().and_then(Overlay::as_picker)
    }

    /// Handles a key in the top list; `None` if the key has its general overlay meaning.
    pub(crate) fn list_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        let now = self.now;
        let picker = self.top_picker()?;
        picker.set_status(None);
        let is_asking = picker.prompt().is_some();
        let specific = context(picker).filter(|_| !is_asking);
        let command = specific.and_then(|context| self.ui.keymap.command(context, key));
        if let Some(command) = command {
            return Some(self.list_command(command));
        }
        let command = self.ui.keymap.command(Context::Popup, key);
        let picker = self.top_picker()?;
        match command {
            Some(KeyCommand::Accept) if is_asking => return Some(self.accept_prompt()),
            Some(KeyCommand::Accept) if !picker.is_noticed(now) => {}
            Some(KeyCommand::Accept) => return Some(self.accept()),
            Some(KeyCommand::Back) if is_asking => drop(picker.end_prompt()),
            // One level: clear the filter before closing the list.
            Some(KeyCommand::Back) if picker.is_narrowed() => picker.edit(LineInput::clear),
            Some(KeyCommand::ClearFilter) => picker.edit(LineInput::clear),
            Some(KeyCommand::DeleteWord) => picker.edit(LineInput::pop_word),
            Some(KeyCommand::Switch) if !is_asking => picker.switch_scope(),
            Some(KeyCommand::Close) => return None,
            Some(_) if is_asking => {}
            Some(_) => return None,
            None => return Some(self.type_into_list(key)),
        }
        Some(self.search_sessions())
    }

    fn type_into_list(&mut self, key: KeyEvent) -> Vec<Action> {
        let Some(picker) = self.top_picker() else { return Vec::new() };
        match key.code {
            KeyCode::Char(c) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => {
                picker.edit(|line| line.push(c.encode_utf8(&mut [0; 4])));
            }
            KeyCode::Backspace => picker.edit(LineInput::pop),
            _ => return Vec::new(),
        }
        self.search_sessions()
    }

    /// Pastes text as if typed.
    pub(crate) fn paste_into_list(&mut self, text: &str) -> Vec<Action> {
        if let Some(picker) = self.top_picker() {
            picker.edit(|line| line.push(text));
        }
        self.search_sessions()
    }

    /// Starts a session search for the current filter.
    fn search_sessions(&mut self) -> Vec<Action> {
        let picker = self.top_picker().filter(|picker| picker.prompt().is_none());
        picker.and_then(|picker| picker.search_request()).map(Action::SearchSessions).into_iter().collect()
    }

    /// Accepts the selected row as Enter does, unless an inline prompt is open.
    pub(crate) fn accept_selected(&mut self) -> Vec<Action> {
        let now = self.now;
        let Some(picker) = self.top_picker() else { return Vec::new() };
        if picker.prompt().is_some() || !picker.is_noticed(now) {
            return Vec::new();
        }
        picker.set_status(None);
        self.accept()
    }

    fn accept(&mut self) -> Vec<Action> {
        let Some(picker) = self.top_picker() else { return Vec::new() };
        picker.settle();
        let Some(choice) = picker.chosen().map(|item| item.choice.clone()) else { return Vec::new() };
        match choice {
            // A list whose entries are switched stays open.
            PickerChoice::Tool(name) => vec![Action::List(ListAction::ToggleTool(name))],
            PickerChoice::Setting(setting, now) => self.change_setting(setting, &now),
            PickerChoice::Permission(permission) => vec![Action::List(ListAction::Revoke(permission))],
            // The list closes once the session is open: if another process holds it, the user chooses again.
            PickerChoice::Open(path) => picker.open(path),
            PickerChoice::Unavailable(why) => {
                picker.set_status(Some(StatusText::error(why)));
                Vec::new()
            }
            PickerChoice::Login(provider) => {
                picker.ask_for_key(provider);
                Vec::new()
            }
            PickerChoice::LockedModel(provider) => self.log_in(&provider),
            PickerChoice::Logout(provider) => {
                picker.set_status(Some(StatusText::note("removing the key…")));
                vec![Action::List(ListAction::Key(login::LoginRequest::Remove(provider)))]
            }
            PickerChoice::Import(path) => {
                picker.set_status(Some(StatusText::note("importing…")));
                vec![Action::List(ListAction::Import(path.display().to_string()))]
            }
            choice => {
                self.overlays.pop();
                self.chosen(choice)
            }
        }
    }

    /// Handles keys that belong to one kind of list.
    fn list_command(&mut self, command: KeyCommand) -> Vec<Action> {
        let Some(picker) = self.top_picker() else { return Vec::new() };
        let choice = picker.chosen().map(|item| item.choice.clone());
        match (command, choice) {
            (KeyCommand::Threads, _) => {
                picker.switch_order();
                Vec::new()
            }
            (KeyCommand::Rename, Some(PickerChoice::Open(path))) => {
                picker.ask_for_name(path);
                Vec::new()
            }
            (KeyCommand::Trash, Some(PickerChoice::Open(path))) => {
                vec![Action::List(ListAction::TrashSession(path))]
            }
            (KeyCommand::Untrash, _) => self.restore_last(),
            (KeyCommand::ModelAndThinking, Some(PickerChoice::Model(name))) => {
                self.overlays.pop();
                let mut actions = vec![Action::Edit(SessionEdit::SetModel(name))];
                actions.extend(self.open_list("thinking", ListKind::Thinking));
                actions
            }
            (KeyCommand::Revoke, Some(PickerChoice::Permission(permission))) => {
                vec![Action::List(ListAction::Revoke(permission))]
            }
            (KeyCommand::ResetSetting, Some(PickerChoice::Setting(setting, _))) => {
                vec![Action::List(ListAction::Set(setting, String::new()))]
            }
            _ => Vec::new(),
        }
    }

    /// Accepts the inline prompt.
    fn accept_prompt(&mut self) -> Vec<Action> {
        let Some(picker) = self.top_picker() else { return Vec::new() };
        let prompt = picker.prompt().filter(|prompt| !prompt.typed.text().trim().is_empty());
        if let Some((PickerChoice::Login(provider), typed)) =
            prompt.map(|prompt| (prompt.purpose.clone(), prompt.typed.clone()))
        {
            // The prompt stays until the key is stored, so that a wrong key can be corrected.
            return picker.submit_key(provider, typed.text());
        }
        let Some(LinePrompt { purpose: of, what, typed, before, .. }) = picker.end_prompt() else {
            return Vec::new();
        };
        match of {
            PickerChoice::Open(path) => picker.typed_name(path, (&before, typed.text())),
            PickerChoice::Setting(setting, now) => match self.setting_problem(setting, typed.text()) {
                None => vec![Action::List(ListAction::Set(setting, typed.text().to_owned()))],
                Some(trouble) => {
                    if let Some(picker) = self.top_picker() {
                        picker.prompt_for(PickerChoice::Setting(setting, now), what, typed.text());
                        picker.set_status(Some(StatusText::error(trouble)));
                    }
                    Vec::new()
                }
            },
            PickerChoice::Login(provider) => picker.submit_key(provider, typed.text()),
            _ => Vec::new(),
        }
    }

    /// Reopens the prompt after renaming failed, with the typed name, unless the user went on meanwhile.
    pub(crate) fn prompt_for_name_again(&mut self, path: &Path, name: &str) {
        let is_unchanged = |picker: &&mut Picker| {
            let chosen = picker.chosen().map(|item| &item.choice);
            picker.prompt().is_none()
                && chosen.is_some_and(|choice| *choice == PickerChoice::Open(path.to_owned()))
        };
        if let Some(picker) = self.top_picker().filter(is_unchanged) {
            picker.ask_for_name(path.to_owned());
            picker.edit(|line| *line = name.into());
        }
    }

    /// The reason why a setting can't have this value.
    pub(crate) fn setting_problem(&self, setting: &Setting, value: &str) -> Option<String> {
        match setting.parse(value) {
            Err(error) => Some(error.to_string()),
            // An empty value resets the setting.
            Ok(_) if theme::setting_of(setting).is_some() && !value.trim().is_empty() => {
                match self.theme_fit(setting, value) {
                    ThemeCheck::Known | ThemeCheck::NotLoaded => None,
                    ThemeCheck::Invalid(trouble) => Some(trouble),
                }
            }
            Ok(_) => None,
        }
    }

    /// Changes a setting: switches between two values, or opens a list of values or a prompt.
    fn change_setting(&mut self, setting: &'static Setting, now: &str) -> Vec<Action> {
        match change(setting, now) {
            settings::SettingChange::To(value) => {
                return vec![Action::List(ListAction::Set(setting, value.to_owned()))];
            }
            settings::SettingChange::Among(all) => {
                let (items, selected) = values(setting, all, now);
                let mut picker = Picker::waiting(setting.name).with_preview();
                picker.fill(items, selected);
                self.overlays.push(Overlay::Picker(Box::new(picker)));
            }
            settings::SettingChange::Typed => {
                if let Some(picker) = self.top_picker() {
                    picker.prompt_for(PickerChoice::Setting(setting, now.to_owned()), setting.name, now);
                }
            }
        }
        Vec::new()
    }

    fn chosen(&mut self, choice: PickerChoice) -> Vec<Action> {
        if matches!(choice, PickerChoice::ForkOf(_)) {
            // Close the session lists under the dialog, so that text typed from now on goes to the new session.
            let lists_sessions = |popup: &mut Overlay| {
                popup.as_picker().is_some_and(|picker| picker.session_browser().is_some())
            };
            self.overlays.retain_mut(|popup| !lists_sessions(popup));
        }
        if leaves_tree(&choice) {
            self.overlays.clear();
        }
        vec![match choice {
            PickerChoice::Leave(entry, summary) => Action::Navigate(Navigate::ToEntry(entry, summary)),
            PickerChoice::Instruct(entry) => {
                self.composer.purpose = ComposePurpose::SummaryInstruction(entry);
                return Vec::new();
            }
            PickerChoice::AfterFailure(choice) => Action::Edit(SessionEdit::ResolveCompaction(choice)),
            PickerChoice::Hide(entry) => Action::Edit(SessionEdit::Hide(entry, Visibility::Hidden)),
            PickerChoice::ForkOf(path) => Action::Navigate(Navigate::ForkOf(path)),
            PickerChoice::Stop(go) => return self.stop_and_navigate(go),
            PickerChoice::ForkBeside(entry) => Action::Navigate(Navigate::ForkBeside(entry)),
            PickerChoice::Model(words) => Action::Edit(SessionEdit::SetModel(words)),
            PickerChoice::Theme(name) => return self.apply_theme(&name),
            PickerChoice::LongMessage(how, when) => return self.send(when, Some(how)),
            PickerChoice::Thinking(level) => Action::Edit(SessionEdit::SetThinking(level)),
            PickerChoice::Approval(mode) => Action::List(ListAction::SetApproval(mode)),
            PickerChoice::Trust => Action::List(ListAction::Trust),
            PickerChoice::SettingValue(setting, word) => {
                Action::List(ListAction::Set(setting, word.to_owned()))
            }
            PickerChoice::Prompt(text) => {
                self.composer.editor.recall_text(&text);
                return Vec::new();
            }
            // These leave their list open or have no effect.
            PickerChoice::Nothing
            | PickerChoice::Open(_)
            | PickerChoice::Unavailable(_)
            | PickerChoice::LockedModel(_)
            | PickerChoice::Tool(_)
            | PickerChoice::Permission(_)
            | PickerChoice::Setting(..)
            | PickerChoice::Login(_)
            | PickerChoice::Logout(_)
            | PickerChoice::Import(_) => return Vec::new(),
        }]
    }

    /// Shows a status in the top list, or as a flash if there is none.
    pub(crate) fn show_list_status(&mut self, status: StatusText) {
        match self.top_picker() {
            Some(picker) => picker.set_status(Some(status)),
            None => self.flash(status.text),
        }
    }

    /// Refreshes the settings list after settings have changed.
    pub(crate) fn settings_changed(&mut self, settings: &Settings) {
        let mut lists = pickers(&mut self.overlays);
        if let Some(picker) = lists.find(|picker| picker.list == Some(ListKind::Settings)) {
            picker.fill(super::settings(settings), 0);
        }
    }

    /// Starts the jobs that the top list needs after an input: background filtering and the preview of a moved
    /// selection.
    pub(crate) fn update_list(&mut self) -> Vec<Action> {
        let Some(picker) = self.top_picker() else { return Vec::new() };
        let mut actions: Vec<Action> =
            picker.take_filter_job().map(ListAction::Filter).map(Action::List).into_iter().collect();
        if let Some(choice) = picker.take_moved_selection() {
            match &choice {
                Some(choice) => picker.show_preview(choice, Vec::new()),
                None => picker.show_nothing(),
            }
            let (list, extract) = (picker.list, picker.extract());
            actions.extend(self.preview_selected(list, choice, extract));
        }
        actions
    }

    /// Loads the preview of a newly selected item, or applies it temporarily.
    fn preview_selected(
        &mut self,
        list: Option<ListKind>,
        choice: Option<PickerChoice>,
        extract: SessionExcerpt,
    ) -> Vec<Action> {
        match (list, choice) {
            (Some(ListKind::Themes), choice) => {
                self.preview_theme(choice.as_ref());
                Vec::new()
            }
            (None, Some(PickerChoice::Open(path))) => {
                vec![Action::List(ListAction::Preview(path, extract))]
            }
            _ => Vec::new(),
        }
    }

    /// Handles overlays closed without a choice. Closing the dialog after a failed summary leaves everything as it is.
    pub(crate) fn overlays_left(&mut self, popups: &[Overlay]) -> Vec<Action> {
        let is_failure = popups.iter().any(Overlay::is_failure_dialog);
        if is_failure {
            vec![Action::Edit(SessionEdit::ResolveCompaction(CompactionChoice::GoOn))]
        } else {
            Vec::new()
        }
    }
}
