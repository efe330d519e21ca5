//! The list of settings: value, source and description of each.

use tiller_core::setting::{APPROVAL, Setting, SettingKind, SettingScope, SettingSource, Settings, TABLE};
use tiller_engine::ApprovalMode;
use tiller_render::{Line, Role};

use crate::action::{Action, ListAction};
use crate::component::ViewContext;
use crate::effect::{Effect, OverlayRequest};
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::list_kind::ListKind;
use crate::picker::approval_modes::{mode_about, mode_effects};
use crate::picker::detail_lines::{fact, heading, mark};
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::line_prompt::{LinePrompt, StatusText};
use crate::picker::source::{ListFacts, ListResponse, ListSource};
use crate::text::one_line;
use crate::theme;
use crate::theme::check::ThemeCheck;
use crate::ui_context::UiContext;

/// The settings; Enter changes one.
#[derive(Debug)]
pub(super) struct SettingList;

impl ListSource for SettingList {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "settings",
            kind: Some(ListKind::Settings),
            has_preview: true,
            context: Some(KeyContext::Settings),
            accept_hint: "change",
            key_hints: &[(KeyCommand::ResetSetting, "reset")],
            ..ListFacts::default()
        }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        let PickerChoice::Setting(setting, now) = choice else { return ListResponse::none() };
        match change(setting, &now) {
            SettingChange::To(value) => {
                ListResponse::stay(Action::List(ListAction::Set(setting, value.to_owned())))
            }
            SettingChange::Among(all) => {
                let (items, selected) = values(setting, all, &now);
                let title = setting.name.to_owned();
                ListResponse::stay(Effect::Open(OverlayRequest::SettingValues { title, items, selected }))
            }
            SettingChange::Typed => {
                let prompt = LinePrompt::new(PickerChoice::Setting(setting, now.clone()), setting.name, &now);
                ListResponse::ask(prompt)
            }
        }
    }

    fn perform(&self, command: KeyCommand, choice: PickerChoice) -> ListResponse {
        match (command, choice) {
            (KeyCommand::ResetSetting, PickerChoice::Setting(setting, _)) => {
                ListResponse::stay(Action::List(ListAction::Set(setting, String::new())))
            }
            _ => ListResponse::none(),
        }
    }

    fn submit(
        &self,
        prompt: LinePrompt,
        _row: Option<&PickerChoice>,
        view: &ViewContext<'_>,
    ) -> ListResponse {
        let PickerChoice::Setting(setting, _) = &prompt.purpose else { return ListResponse::none() };
        match setting_problem(setting, prompt.typed.text(), view.ui) {
            None => {
                ListResponse::stay(Action::List(ListAction::Set(setting, prompt.typed.text().to_owned())))
            }
            Some(problem) => ListResponse::Ask(prompt, Some(StatusText::error(problem)), Vec::new()),
        }
    }
}

#[derive(Debug)]
pub(crate) struct SettingValueList;

impl ListSource for SettingValueList {
    fn facts(&self) -> ListFacts {
        ListFacts { title: "values", has_preview: true, ..ListFacts::default() }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        match choice {
            PickerChoice::SettingValue(setting, value) => {
                ListResponse::close(Action::List(ListAction::Set(setting, value.to_owned())))
            }
            _ => ListResponse::none(),
        }
    }
}

/// Returns the reason a setting can't have this value.
pub(crate) fn setting_problem(setting: &Setting, value: &str, ui: &UiContext) -> Option<String> {
    match setting.parse(value) {
        Err(error) => Some(error.to_string()),
        // An empty value resets the setting.
        Ok(_) if theme::check::setting_of(setting).is_some() && !value.trim().is_empty() => {
            match ui.check_theme(setting, value) {
                ThemeCheck::Known | ThemeCheck::NotLoaded => None,
                ThemeCheck::Invalid(problem) => Some(problem),
            }
        }
        Ok(_) => None,
    }
}

pub(crate) fn setting_items(settings: &Settings) -> Vec<PickerItem> {
    TABLE.iter().map(|setting| item(settings, setting)).collect()
}

fn item(settings: &Settings, setting: &'static Setting) -> PickerItem {
    let (value, source) = settings.value(setting);
    let typed = value.map(ToString::to_string).unwrap_or_default();
    let shown = if typed.is_empty() { "unset".to_owned() } else { one_line(&typed) };
    let (note, role) = match source {
        SettingSource::Default => (shown.clone(), Role::Muted),
        source => (format!("{shown} · {}", source_name(source)), Role::Text),
    };
    let default = if setting.default.is_empty() { "unset" } else { setting.default };
    let mut detail = vec![
        heading(setting.name),
        Line::new(setting.plain_about(), Role::Text),
        Line::default(),
        fact("value", shown),
        fact("source", one_line(&source.to_string())),
        fact("default", default),
        fact("type", setting.kind.to_string()),
        fact("variable", setting.env_name()),
    ];
    if setting.scope == SettingScope::User {
        detail.push(fact("set by", "you only, never a project"));
    }
    PickerItem::new(setting.name, PickerChoice::Setting(setting, typed))
        .with_note(note)
        .in_role(role)
        .with_detail(detail)
}

/// A short name of a value's source.
const fn source_name(source: &SettingSource) -> &'static str {
    match source {
        SettingSource::Default => "default",
        SettingSource::File(_) => "yours",
        SettingSource::Project(_) => "project",
        SettingSource::Environment(_) => "environment",
        SettingSource::Flag(_) => "command line",
    }
}

/// The way the user changes a setting.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SettingChange {
    /// Switches to the other of two values.
    To(&'static str),
    /// Chooses one of several values.
    Among(&'static [&'static str]),
    /// Types a value.
    Typed,
}

/// Returns the way to change a setting whose current value is `now`.
pub(super) fn change(setting: &Setting, now: &str) -> SettingChange {
    match setting.kind {
        SettingKind::Choice([one, other]) => SettingChange::To(if now == *one { other } else { one }),
        SettingKind::Choice(values) => SettingChange::Among(values),
        SettingKind::Text
        | SettingKind::Count { .. }
        | SettingKind::Number { .. }
        | SettingKind::List
        | SettingKind::ListOrSwitch => SettingChange::Typed,
    }
}

/// A setting's values as items, and the index of the current one.
pub(super) fn values(
    setting: &'static Setting,
    all: &'static [&'static str],
    now: &str,
) -> (Vec<PickerItem>, usize) {
    let item = |value: &&'static str| {
        let (mut note, mut detail) = (String::new(), vec![heading(setting.name)]);
        match ApprovalMode::parse(value).filter(|_| *setting == APPROVAL) {
            Some(mode) => {
                note = mode_about(mode).to_owned();
                detail.push(Line::default());
                detail.extend(mode_effects(mode).map(|(kind, effect)| fact(kind, effect)));
            }
            None => detail.push(Line::new(setting.plain_about(), Role::Text)),
        }
        if *value == setting.default {
            note = if note.is_empty() { "default".to_owned() } else { format!("{note} · default") };
        }
        let item = PickerItem::new(*value, PickerChoice::SettingValue(setting, value))
            .with_note(note)
            .with_detail(detail);
        item.with_lead(mark(*value == now))
    };
    (all.iter().map(item).collect(), all.iter().position(|value| *value == now).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use tiller_core::setting::{MAX_TURNS, STEERING_MODE, SYNC};

    use super::*;

    #[test]
    fn settings_item_shows_value_and_source() {
        let mut values = Settings::default();
        values.set(&SYNC, SYNC.parse("never").unwrap(), SettingSource::Flag("--sync".into()));
        let shown = |setting| item(&values, setting).note;
        assert_eq!((shown(&SYNC), shown(&MAX_TURNS)), ("never · command line".into(), "unset".into()));
    }

    #[test]
    fn settings_description_has_no_markup() {
        let told = |setting: &Setting| setting.plain_about();
        assert!(TABLE.iter().any(|setting| setting.about.contains('`')), "or there is nothing to see here");
        assert!(TABLE.iter().all(|setting| !told(setting).contains('`')));
        let shown = setting_items(&Settings::default());
        let lines = shown.iter().flat_map(|item| item.detail.iter().take(2));
        assert!(lines.map(Line::text).all(|line| !line.contains('`')));
    }

    #[test]
    fn settings_change_switches_or_lists_values() {
        assert_eq!(change(&STEERING_MODE, "all"), SettingChange::To("one-at-a-time"));
        assert_eq!(change(&STEERING_MODE, "one-at-a-time"), SettingChange::To("all"));
        assert_eq!(change(&MAX_TURNS, "3"), SettingChange::Typed);
        let SettingChange::Among(all) = change(&APPROVAL, "auto") else { panic!("approval is one of three") };
        let (items, selected) = values(&APPROVAL, all, "auto");
        let shown: Vec<String> =
            items.iter().map(|item| format!("{}{} {}", item.lead, item.label, item.note)).collect();
        let expected = [
            "  ask only safe commands run without approval · default",
            "● auto only dangerous commands need approval",
            "  plan read-only; the model presents a plan",
            "  read-only commands and changes are denied",
        ];
        assert_eq!((shown.as_slice(), selected), (expected.map(str::to_owned).as_slice(), 1));
    }
}
