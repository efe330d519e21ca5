//! The list of settings: each with its value, where that comes from, and what it does.

use tiller_core::setting::{APPROVAL, Setting, SettingKind, SettingScope, SettingSource, Settings, TABLE};
use tiller_engine::ApprovalMode;
use tiller_render::{Line, Role};

use super::agent_options::{mode_about, mode_says};
use super::models::{fact, heading, mark};
use super::{PickerChoice, PickerItem};
use crate::tool_call::one_line;

/// Every setting with its value.
pub(crate) fn settings(settings: &Settings) -> Vec<PickerItem> {
    TABLE.iter().map(|setting| item(settings, setting)).collect()
}

fn item(settings: &Settings, setting: &'static Setting) -> PickerItem {
    let (value, source) = settings.value(setting);
    let typed = value.map(ToString::to_string).unwrap_or_default();
    let shown = if typed.is_empty() { "unset".to_owned() } else { one_line(&typed) };
    let (note, role) = match source {
        SettingSource::Default => (shown.clone(), Role::Muted),
        source => (format!("{shown} · {}", whence(source)), Role::Text),
    };
    let default = if setting.default.is_empty() { "unset" } else { setting.default };
    let mut detail = vec![
        heading(setting.name),
        Line::new(setting.plain_about(), Role::Text),
        Line::default(),
        fact("value", shown),
        fact("from", one_line(&source.to_string())),
        fact("default", default),
        fact("takes", setting.kind.to_string()),
        fact("variable", setting.env_name()),
    ];
    if setting.scope == SettingScope::User {
        detail.push(fact("set by", "you alone, never a project"));
    }
    PickerItem::new(setting.name, PickerChoice::Setting(setting, typed))
        .with_note(note)
        .in_role(role)
        .with_detail(detail)
}

/// In a word, where a value comes from.
const fn whence(source: &SettingSource) -> &'static str {
    match source {
        SettingSource::Default => "default",
        SettingSource::File(_) => "yours",
        SettingSource::Project(_) => "project",
        SettingSource::Environment(_) => "environment",
        SettingSource::Flag(_) => "command line",
    }
}

/// How a setting is changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SettingChange {
    /// To this: there is nothing else that it could be.
    To(&'static str),
    /// To one of these.
    Among(&'static [&'static str]),
    /// To something that is typed.
    Typed,
}

/// How a setting is changed that is this now.
pub(super) fn change(setting: &Setting, now: &str) -> SettingChange {
    match setting.kind {
        SettingKind::Choice([one, other]) => SettingChange::To(if now == *one { other } else { one }),
        SettingKind::Choice(words) => SettingChange::Among(words),
        SettingKind::Text
        | SettingKind::Count { .. }
        | SettingKind::Number { .. }
        | SettingKind::List
        | SettingKind::ListOrSwitch => SettingChange::Typed,
    }
}

/// What a setting may be, and which of it it is now.
pub(super) fn words(
    setting: &'static Setting,
    all: &'static [&'static str],
    now: &str,
) -> (Vec<PickerItem>, usize) {
    let item = |word: &&'static str| {
        let (mut note, mut detail) = (String::new(), vec![heading(setting.name)]);
        match ApprovalMode::parse(word).filter(|_| *setting == APPROVAL) {
            Some(mode) => {
                note = mode_about(mode).to_owned();
                detail.push(Line::default());
                detail.extend(mode_says(mode).map(|(what, says)| fact(what, says)));
            }
            None => detail.push(Line::new(setting.plain_about(), Role::Text)),
        }
        if *word == setting.default {
            note = if note.is_empty() { "default".to_owned() } else { format!("{note} · default") };
        }
        let item =
            PickerItem::new(*word, PickerChoice::Word(setting, word)).with_note(note).with_detail(detail);
        item.with_lead(mark(*word == now))
    };
    (all.iter().map(item).collect(), all.iter().position(|word| *word == now).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use tiller_core::setting::{MAX_TURNS, STEERING_MODE, SYNC};

    use super::*;

    #[test]
    fn a_setting_says_its_value_and_whose_it_is() {
        let mut values = Settings::default();
        values.set(&SYNC, SYNC.parse("never").unwrap(), SettingSource::Flag("--sync".into()));
        let shown = |setting| item(&values, setting).note;
        assert_eq!((shown(&SYNC), shown(&MAX_TURNS)), ("never · command line".into(), "unset".into()));
    }

    #[test]
    fn what_a_setting_does_is_told_without_marks() {
        let told = |setting: &Setting| setting.plain_about();
        assert!(TABLE.iter().any(|setting| setting.about.contains('`')), "or there is nothing to see here");
        assert!(TABLE.iter().all(|setting| !told(setting).contains('`')));
        let shown = settings(&Settings::default());
        let lines = shown.iter().flat_map(|item| item.detail.iter().take(2));
        assert!(lines.map(Line::text).all(|line| !line.contains('`')));
    }

    #[test]
    fn two_words_take_turns_and_more_are_listed_with_the_present_one_marked() {
        assert_eq!(change(&STEERING_MODE, "all"), SettingChange::To("one-at-a-time"));
        assert_eq!(change(&STEERING_MODE, "one-at-a-time"), SettingChange::To("all"));
        assert_eq!(change(&MAX_TURNS, "3"), SettingChange::Typed);
        let SettingChange::Among(all) = change(&APPROVAL, "auto") else { panic!("approval is one of three") };
        let (items, selected) = words(&APPROVAL, all, "auto");
        let shown: Vec<String> =
            items.iter().map(|item| format!("{}{} {}", item.lead, item.label, item.note)).collect();
        let expected = [
            "  ask commands ask, unless they only look · default",
            "● auto only dangerous commands ask",
            "  read-only nothing that changes anything runs",
        ];
        assert_eq!((shown.as_slice(), selected), (expected.map(str::to_owned).as_slice(), 1));
    }
}
