//! Narrowing, choosing, and what stays chosen.

use tiller_session::SessionScope;

use super::*;
use crate::app::SessionsResult;

fn items(labels: &[&str]) -> Vec<PickerItem> {
    labels.iter().map(|label| PickerItem::new(*label, PickerChoice::Model((*label).to_owned()))).collect()
}

fn picker(labels: &[&str]) -> Picker {
    let mut picker = Picker::waiting("t");
    picker.fill(items(labels), 1);
    picker
}

fn typing(picker: &mut Picker, text: &str) {
    picker.edit(|filter| filter.push(text));
}

fn shown(picker: &Picker, height: usize) -> Vec<(&str, bool)> {
    picker.window(height).map(|(item, chosen)| (item.label.as_str(), chosen)).collect()
}

#[test]
fn typing_chooses_the_best_fit_and_stays_with_what_was_gone_to() {
    let models = ["anthropic/haiku", "anthropic/sonnet", "openai/gpt"];
    let mut list = picker(&models);
    assert_eq!(list.chosen().unwrap().label, "anthropic/sonnet");
    typing(&mut list, "gt");
    assert_eq!(list.chosen().unwrap().label, "openai/gpt");
    let mut list = picker(&models);
    list.step(-1);
    typing(&mut list, "ai");
    assert_eq!(list.chosen().unwrap().label, "anthropic/haiku");
    typing(&mut list, " g");
    assert_eq!(shown(&list, 5)[..1], [("openai/gpt", true)]);
}

#[test]
fn the_choice_stays_with_its_session_when_more_is_found() {
    let session = |name: &str| PickerItem::new(name, PickerChoice::Open(name.into()));
    let hits = |names: &[&str]| SessionsResult::Hits {
        words: "said".into(),
        items: names.iter().map(|name| session(name)).collect(),
    };
    let mut picker = Picker::browser("said", ThemeItem(1));
    picker.browsed(ThemeItem(1), SessionScope::ThisDirectory, &SessionsResult::Sessions(Sessions::default()));
    picker.browsed(ThemeItem(1), SessionScope::ThisDirectory, &hits(&["a", "b", "c"]));
    picker.step(1);
    picker.browsed(ThemeItem(1), SessionScope::ThisDirectory, &hits(&["new", "a", "c", "b"]));
    assert_eq!(picker.chosen().unwrap().label, "b");
    picker.browsed(
        ThemeItem(1),
        SessionScope::ThisDirectory,
        &SessionsResult::Sessions(vec![session("not it")].into()),
    );
    assert_eq!(picker.chosen().unwrap().label, "b");
}

#[test]
fn the_row_stays_when_its_session_went_to_the_trash() {
    let session = |name: &str| PickerItem::new(name, PickerChoice::Open(name.into()));
    let known = |names: &[&str]| {
        SessionsResult::Sessions(names.iter().map(|name| session(name)).collect::<Vec<_>>().into())
    };
    let mut picker = Picker::browser("", ThemeItem(1));
    picker.browsed(ThemeItem(1), SessionScope::ThisDirectory, &known(&["a", "b", "c", "d"]));
    picker.step(2);
    picker.browsed(ThemeItem(1), SessionScope::ThisDirectory, &known(&["a", "b", "d"]));
    assert_eq!(picker.chosen().unwrap().label, "d", "the same key again is not for the newest");
    picker.browsed(ThemeItem(1), SessionScope::ThisDirectory, &known(&["a", "b"]));
    assert_eq!(picker.chosen().unwrap().label, "b");
}

#[test]
fn a_list_of_sessions_does_not_begin_at_the_one_that_is_open() {
    let session =
        |name: &str| PickerItem::new(name, PickerChoice::Open(name.into())).tagged(name.into(), None);
    let known = |names: &[&str]| {
        let sessions: Sessions = names.iter().map(|name| session(name)).collect::<Vec<_>>().into();
        SessionsResult::Sessions(sessions.marking(&"open".into()))
    };
    let mut picker = Picker::browser("", ThemeItem(1));
    picker.browsed(ThemeItem(1), SessionScope::ThisDirectory, &known(&["open", "b", "c"]));
    assert_eq!(picker.chosen().unwrap().label, "b");
    assert_eq!(shown(&picker, 1), [("b", true)]);
    assert_eq!(picker.window(3).next().unwrap().0.note, "open here · ");
    let mut alone = Picker::browser("", ThemeItem(1));
    alone.browsed(ThemeItem(1), SessionScope::ThisDirectory, &known(&["open"]));
    assert_eq!(alone.chosen().unwrap().label, "open");
}

#[test]
fn what_was_said_is_shown_for_the_words_it_was_found_for_or_more_of_them_only() {
    let mut picker = Picker::browser("said", ThemeItem(1));
    picker.browsed(ThemeItem(1), SessionScope::ThisDirectory, &SessionsResult::Sessions(Sessions::default()));
    let items = vec![PickerItem::new("a", PickerChoice::Open("a".into()))];
    picker.browsed(
        ThemeItem(1),
        SessionScope::ThisDirectory,
        &SessionsResult::Hits { words: "said".into(), items },
    );
    typing(&mut picker, " so");
    assert_eq!(picker.counts().0, 1, "until there is more");
    picker.edit(LineInput::clear);
    typing(&mut picker, "other");
    assert_eq!(picker.counts().0, 0, "that was the answer to another question");
}

#[test]
fn a_list_that_is_gathered_anew_keeps_its_choice_or_at_least_its_row() {
    let mut list = picker(&["a", "b", "c", "d"]);
    list.step(1);
    list.fill(items(&["c", "a", "b", "d"]), 0);
    assert_eq!(shown(&list, 1), [("c", true)]);
    list.step(1);
    list.fill(items(&["c", "b", "d"]), 0);
    assert_eq!(list.chosen().unwrap().label, "b");
}

#[test]
fn the_choice_stays_on_the_screen() {
    let mut picker = picker(&["a", "b", "c", "d", "e", "f"]);
    picker.step(100);
    assert_eq!(shown(&picker, 3), [("d", false), ("e", false), ("f", true)]);
    picker.step(-100);
    assert_eq!(shown(&picker, 3)[0], ("a", true));
}

#[test]
fn a_choice_that_moved_is_told_once() {
    let mut picker = picker(&["a", "b"]);
    assert_eq!(picker.moved(), Some(Some(PickerChoice::Model("b".into()))));
    assert_eq!(picker.moved(), None);
    picker.step(-1);
    assert_eq!(picker.moved(), Some(Some(PickerChoice::Model("a".into()))));
    typing(&mut picker, "x");
    assert_eq!(picker.moved(), Some(None));
}

#[test]
fn a_preview_that_comes_too_late_is_dropped() {
    let mut picker = picker(&["a", "b"]).previewing();
    picker.show(&PickerChoice::Model("a".into()), vec![Line::default()]);
    assert_eq!(*picker.preview(), ItemPreview::Waiting);
    picker.show(&PickerChoice::Model("b".into()), vec![Line::default()]);
    let (detail, more) = (Arc::default(), vec![Line::default()]);
    assert_eq!(*picker.preview(), ItemPreview::Lines { detail, more });
}

#[test]
fn a_long_list_is_narrowed_elsewhere_and_shows_what_it_showed_until_then() {
    let many: Vec<String> = (0..=AT_ONCE).map(|n| format!("file {n}")).collect();
    let names: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut list = picker(&names);
    typing(&mut list, "77");
    let before = list.ask_to_narrow().unwrap();
    assert_eq!(list.ask_to_narrow(), None, "it was asked for");
    assert_eq!(list.counts(), (AT_ONCE + 1, AT_ONCE + 1));
    typing(&mut list, "7");
    let now = list.ask_to_narrow().unwrap();
    list.narrowed(&before.done());
    assert_eq!(list.counts().0, AT_ONCE + 1, "that is the answer to another question");
    list.narrowed(&now.done());
    assert_eq!(list.chosen().unwrap().label, "file 777");
    typing(&mut list, " 4");
    list.settle();
    assert_eq!(shown(&list, 2), [("file 4777", true), ("file 1477", false)][..1]);
}
