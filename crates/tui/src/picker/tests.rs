//! Narrowing, choosing, and what stays chosen; each list has its tests in `lists`.

mod clicks;
pub(crate) mod lists;
mod rule_forms;
mod screens;
pub(crate) mod sessions;

use crossterm::event::{KeyCode, KeyModifiers};
use tiller_core::unit::UnixMs;
use tiller_session::SessionScope;

use super::*;
use crate::action::{Action, SessionEdit};
use crate::address::Address;
use crate::component::testing::Bench;
use crate::component::{Outcome, UiEvent};
use crate::effect::{Effect, LeaveScope};
use crate::message::{ListResult, SessionsResult, TaskResult};
use crate::pattern_subject::PatternSubject;
use crate::picker::list_sources::list_source;
use crate::picker::session_query::SessionQueryId;
use crate::picker::sessions::Sessions;
use crate::shown_since::ShownSince;

fn items(labels: &[&str]) -> Vec<PickerItem> {
    labels.iter().map(|label| PickerItem::new(*label, PickerChoice::Model((*label).to_owned()))).collect()
}

fn picker(labels: &[&str]) -> Picker {
    let mut picker = Picker::waiting(list_source(ListKind::Models));
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
fn picker_typing_selects_best_unless_moved() {
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
fn picker_new_hits_keep_selection() {
    let session = |name: &str| PickerItem::new(name, PickerChoice::Open(name.into()));
    let hits = |names: &[&str]| SessionsResult::Hits {
        words: "said".into(),
        items: names.iter().map(|name| session(name)).collect(),
    };
    let mut picker = Picker::browser("said", SessionQueryId(1));
    picker.browsed(
        SessionQueryId(1),
        SessionScope::ThisDirectory,
        &SessionsResult::Sessions(Sessions::default()),
    );
    picker.browsed(SessionQueryId(1), SessionScope::ThisDirectory, &hits(&["a", "b", "c"]));
    picker.step(1);
    picker.browsed(SessionQueryId(1), SessionScope::ThisDirectory, &hits(&["new", "a", "c", "b"]));
    assert_eq!(picker.chosen().unwrap().label, "b");
    picker.browsed(
        SessionQueryId(1),
        SessionScope::ThisDirectory,
        &SessionsResult::Sessions(vec![session("not it")].into()),
    );
    assert_eq!(picker.chosen().unwrap().label, "b");
}

#[test]
fn picker_trashed_session_keeps_row() {
    let session = |name: &str| PickerItem::new(name, PickerChoice::Open(name.into()));
    let known = |names: &[&str]| {
        SessionsResult::Sessions(names.iter().map(|name| session(name)).collect::<Vec<_>>().into())
    };
    let mut picker = Picker::browser("", SessionQueryId(1));
    picker.browsed(SessionQueryId(1), SessionScope::ThisDirectory, &known(&["a", "b", "c", "d"]));
    picker.step(2);
    picker.browsed(SessionQueryId(1), SessionScope::ThisDirectory, &known(&["a", "b", "d"]));
    assert_eq!(picker.chosen().unwrap().label, "d", "the same key again is not for the newest");
    picker.browsed(SessionQueryId(1), SessionScope::ThisDirectory, &known(&["a", "b"]));
    assert_eq!(picker.chosen().unwrap().label, "b");
}

#[test]
fn picker_sessions_skip_the_open_one() {
    let session =
        |name: &str| PickerItem::new(name, PickerChoice::Open(name.into())).with_session(name.into(), None);
    let known = |names: &[&str]| {
        let sessions: Sessions = names.iter().map(|name| session(name)).collect::<Vec<_>>().into();
        SessionsResult::Sessions(sessions.mark_open(&"open".into()))
    };
    let mut picker = Picker::browser("", SessionQueryId(1));
    picker.browsed(SessionQueryId(1), SessionScope::ThisDirectory, &known(&["open", "b", "c"]));
    assert_eq!(picker.chosen().unwrap().label, "b");
    assert_eq!(shown(&picker, 1), [("b", true)]);
    assert_eq!(picker.window(3).next().unwrap().0.note, "open · ");
    let mut alone = Picker::browser("", SessionQueryId(1));
    alone.browsed(SessionQueryId(1), SessionScope::ThisDirectory, &known(&["open"]));
    assert_eq!(alone.chosen().unwrap().label, "open");
}

#[test]
fn picker_hits_need_a_matching_query() {
    let mut picker = Picker::browser("said", SessionQueryId(1));
    picker.browsed(
        SessionQueryId(1),
        SessionScope::ThisDirectory,
        &SessionsResult::Sessions(Sessions::default()),
    );
    let items = vec![PickerItem::new("a", PickerChoice::Open("a".into()))];
    picker.browsed(
        SessionQueryId(1),
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
fn picker_refill_keeps_selection_or_row() {
    let mut list = picker(&["a", "b", "c", "d"]);
    list.step(1);
    list.fill(items(&["c", "a", "b", "d"]), 0);
    assert_eq!(shown(&list, 1), [("c", true)]);
    list.step(1);
    list.fill(items(&["c", "b", "d"]), 0);
    assert_eq!(list.chosen().unwrap().label, "b");
}

#[test]
fn picker_rows_with_the_same_choice_are_told_apart() {
    let rows = || ["a", "b", "c"].map(|label| PickerItem::new(label, PickerChoice::Nothing)).to_vec();
    let mut list = Picker::waiting(list_source(ListKind::Agents));
    list.fill(rows(), 0);
    for label in ["a", "b", "c"] {
        assert_eq!(
            list.take_moved_selection(),
            Some(Some(PickerChoice::Nothing)),
            "{label} has its own preview"
        );
        list.fill(rows(), 0);
        assert_eq!(list.chosen().unwrap().label, label, "a refreshed list keeps the row");
        list.take_moved_selection();
        list.step(1);
    }
}

#[test]
fn picker_selection_stays_visible() {
    let mut picker = picker(&["a", "b", "c", "d", "e", "f"]);
    picker.step(100);
    assert_eq!(shown(&picker, 3), [("d", false), ("e", false), ("f", true)]);
    picker.step(-100);
    assert_eq!(shown(&picker, 3)[0], ("a", true));
}

#[test]
fn picker_moved_selection_is_reported_once() {
    let mut picker = picker(&["a", "b"]);
    assert_eq!(picker.take_moved_selection(), Some(Some(PickerChoice::Model("b".into()))));
    assert_eq!(picker.take_moved_selection(), None);
    picker.step(-1);
    assert_eq!(picker.take_moved_selection(), Some(Some(PickerChoice::Model("a".into()))));
    typing(&mut picker, "x");
    assert_eq!(picker.take_moved_selection(), Some(None));
}

#[test]
fn picker_late_preview_is_dropped() {
    let mut picker = picker(&["a", "b"]);
    picker.show_preview(&PickerChoice::Model("a".into()), vec![Line::default()]);
    assert_eq!(*picker.preview(), ItemPreview::Waiting);
    picker.show_preview(&PickerChoice::Model("b".into()), vec![Line::default()]);
    let (detail, more) = (Arc::default(), vec![Line::default()]);
    assert_eq!(*picker.preview(), ItemPreview::Lines { detail, more });
}

#[test]
fn picker_long_list_filters_in_background() {
    let many: Vec<String> = (0..=AT_ONCE).map(|n| format!("file {n}")).collect();
    let names: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut list = picker(&names);
    typing(&mut list, "77");
    let before = list.take_filter_job().unwrap();
    assert_eq!(list.take_filter_job(), None, "it was asked for");
    assert_eq!(list.counts(), (AT_ONCE + 1, AT_ONCE + 1));
    typing(&mut list, "7");
    let now = list.take_filter_job().unwrap();
    list.apply_narrowed(&before.run());
    assert_eq!(list.counts().0, AT_ONCE + 1, "that is the answer to another question");
    list.apply_narrowed(&now.run());
    assert_eq!(list.chosen().unwrap().label, "file 777");
    typing(&mut list, " 4");
    list.settle();
    assert_eq!(shown(&list, 2), [("file 4777", true), ("file 1477", false)][..1]);
}

fn bench(labels: &[&str]) -> Bench<Picker> {
    Bench::of(picker(labels), Address::Screen).sized(80, 9)
}

const STAYS: (Outcome, Vec<Effect>) = (Outcome::Consumed, Vec::new());

#[test]
fn picker_keys_filter_accept_and_leave() {
    let mut list = bench(&["anthropic/haiku", "anthropic/sonnet", "openai/gpt"]);
    assert_eq!(list.type_keys("gp"), []);
    insta::assert_snapshot!(list.drawn(), @r"
    ── models ──────────────────────────────────────────────────────────── 1 of 3 ──
     ❯ gp
     ▸ openai/gpt





       enter select · esc show all · shift+tab select and set thinking level
    ");
    assert_eq!(list.key(KeyCode::Esc), STAYS, "it clears the filter first");
    assert_eq!(list.key(KeyCode::Esc), (Outcome::Consumed, vec![Effect::Leave(LeaveScope::Top)]));
    let chosen = Action::Edit(SessionEdit::SetModel("anthropic/haiku".into()));
    let accepted = (Outcome::Consumed, vec![Effect::CloseTop, chosen.into()]);
    assert_eq!(list.key(KeyCode::Enter), accepted);
    list.send(UiEvent::Paste("sonnet\n"));
    assert_eq!(list.component.filter(), "sonnet ");
    let close = (Outcome::Consumed, vec![Effect::Leave(LeaveScope::All)]);
    assert_eq!(list.chord(KeyModifiers::CONTROL, 'c'), close);
}

#[test]
fn picker_click_selects_then_accepts() {
    let mut list = bench(&["one", "two", "three"]);
    list.drawn();
    assert_eq!(list.press_at(5, 4), STAYS);
    assert_eq!(list.component.chosen().unwrap().label, "three");
    let chosen = Action::Edit(SessionEdit::SetModel("three".into()));
    let accepted = vec![Effect::ClickAccepted, Effect::CloseTop, chosen.into()];
    assert_eq!(list.press_at(5, 4), (Outcome::Consumed, accepted));
    assert_eq!(list.press_at(5, 0).0, Outcome::Ignored, "the title");
}

#[test]
fn picker_takes_results_of_its_actions() {
    let mut list = Bench::of(Picker::waiting(list_source(ListKind::Models)), Address::Screen).sized(80, 9);
    assert!(list.drawn().contains("loading…"));
    let result = ListResult::Items { items: items(&["one", "two"]), selected: 1 };
    assert!(list.take(TaskResult::List(result)).0.is_none());
    assert_eq!(list.component.chosen().unwrap().label, "two");
    assert!(list.take(TaskResult::List(ListResult::Status(StatusText::note("saved")))).0.is_none());
    assert!(list.drawn().contains("saved"), "{}", list.drawn());
    assert!(list.take(TaskResult::CodeHighlighted).0.is_some(), "not the list's");
}

#[test]
fn picker_keys_before_the_items_apply_to_them() {
    let labels = ["anthropic/haiku", "anthropic/sonnet", "openai/gpt"];
    let opening = |keys: &[KeyCode]| {
        let mut bench = Bench::of(Picker::waiting(list_source(ListKind::Models)), Address::Screen);
        let early: Vec<Effect> = keys.iter().flat_map(|key| bench.key(*key).1).collect();
        assert_eq!(early, []);
        let loaded = TaskResult::List(ListResult::Items { items: items(&labels), selected: 0 });
        let (left, effects) = bench.take(loaded);
        assert!(left.is_none());
        (bench.component.chosen().map(|item| item.label.clone()), effects)
    };
    let chooses =
        |model: &str| vec![Effect::CloseTop, Action::Edit(SessionEdit::SetModel(model.into())).into()];
    assert_eq!(opening(&[KeyCode::Down]), (Some(labels[1].into()), vec![]));
    let typed = "gpt".chars().map(KeyCode::Char).chain([KeyCode::Enter]).collect::<Vec<_>>();
    assert_eq!(opening(&typed), (Some(labels[2].into()), chooses(labels[2])));
    assert_eq!(opening(&[KeyCode::Enter]).1, [], "nobody has seen the row");
    let goes_on = [KeyCode::Char('g'), KeyCode::Enter, KeyCode::Char('p')];
    assert_eq!(opening(&goes_on), (Some(labels[2].into()), vec![]));
}

#[test]
fn rule_form_leaves_stray_text_to_the_editor() {
    let rules = ProposedRules::parse("bash", "cargo test *");
    let mut form = Picker::editing_rules("c1".into(), &rules, PatternSubject::Command);
    form.set_appeared(ShownSince::at(UnixMs(0)));
    let mut bench = Bench::of(form, Address::Screen);
    let typed = |c: &str| vec![Effect::InsertText(c.into())];
    bench.now = 399;
    assert_eq!(bench.type_keys("l"), typed("l"));
    bench.now = 700;
    assert_eq!(bench.type_keys("s"), typed("s"), "more of the same message");
    assert_eq!(bench.key(KeyCode::Enter).1, [], "nothing is saved");
    assert_eq!(bench.type_keys("A3"), [], "the key that opened it");
    let line = |bench: &Bench<Picker>| bench.component.prompt().map(|prompt| prompt.typed.text().to_owned());
    assert_eq!(line(&bench).as_deref(), Some("cargo test *"));
    bench.now = 1_100;
    assert_eq!(bench.type_keys("x"), []);
    assert_eq!(line(&bench).as_deref(), Some("cargo test *x"));
}
