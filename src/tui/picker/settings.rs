//! The list of settings: each with its value, where that comes from, and what it does.

use super::models::{fact, heading};
use super::{Choice, Item};
use crate::render::{Line, Role};
use crate::setting::{Kind, Scope, Setting, Settings, Source, TABLE};
use crate::tui::call::one_line;

/// Every setting with its value.
pub(in crate::tui) fn settings(settings: &Settings) -> Vec<Item> {
    TABLE.iter().map(|setting| item(settings, setting)).collect()
}

fn item(settings: &Settings, setting: &'static Setting) -> Item {
    let (value, source) = settings.value(setting);
    let typed = value.map(ToString::to_string).unwrap_or_default();
    let shown = if typed.is_empty() { "unset".to_owned() } else { one_line(&typed) };
    let (note, role) = match source {
        Source::Default => (shown.clone(), Role::Muted),
        source => (format!("{shown} · {}", whence(source)), Role::Text),
    };
    let default = if setting.default.is_empty() { "unset" } else { setting.default };
    let mut detail = vec![
        heading(setting.name),
        Line::new(setting.about.trim(), Role::Text),
        Line::default(),
        fact("value", shown),
        fact("from", one_line(&source.to_string())),
        fact("default", default),
        fact("takes", setting.kind.to_string()),
        fact("variable", setting.env_name()),
    ];
    if setting.scope == Scope::User {
        detail.push(fact("set by", "you alone, never a project"));
    }
    Item::new(setting.name, Choice::Setting(setting, typed)).with_note(note).in_role(role).with_detail(detail)
}

/// In a word, where a value comes from.
const fn whence(source: &Source) -> &'static str {
    match source {
        Source::Default => "default",
        Source::File(_) => "yours",
        Source::Project(_) => "project",
        Source::Environment(_) => "environment",
        Source::Flag(_) => "command line",
    }
}

/// The value after this one of a setting that takes one of a few words; `None` for others.
pub(super) fn next_word(setting: &Setting, now: &str) -> Option<&'static str> {
    let Kind::Choice(words) = setting.kind else { return None };
    let at = words.iter().position(|word| *word == now);
    words.get(at.map_or(0, |at| (at + 1) % words.len())).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::{MAX_TURNS, SYNC};

    #[test]
    fn a_setting_says_its_value_and_whose_it_is() {
        let mut values = Settings::default();
        values.set(&SYNC, SYNC.parse("never").unwrap(), Source::Flag("--sync".into()));
        let shown = |setting| item(&values, setting).note;
        assert_eq!((shown(&SYNC), shown(&MAX_TURNS)), ("never · command line".into(), "unset".into()));
    }

    #[test]
    fn words_go_round() {
        assert_eq!(next_word(&SYNC, "turn"), Some("never"));
        assert_eq!(next_word(&SYNC, "never"), Some("always"));
        assert_eq!(next_word(&MAX_TURNS, "3"), None);
    }
}
