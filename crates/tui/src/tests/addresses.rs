//! Tests that results of actions go to the part of the screen that requested them.

use crossterm::event::KeyCode;
use tiller_core::event::CompactionChoice;

use crate::action::{Action, ListAction};
use crate::address::Address;
use crate::effect::{Effect, OverlayRequest};
use crate::list_kind::ListKind;
use crate::message::{ListResult, TaskResult};
use crate::navigate::Navigate;
use crate::overlay::Overlay;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::line_prompt::StatusText;
use crate::tests::harness::Harness;

impl Harness {
    /// Opens a list; returns the address of its request.
    fn open_list(&mut self, kind: ListKind) -> Address {
        let requests = self.app.apply(Effect::Open(OverlayRequest::list(kind)));
        let [request] = requests.as_slice() else { panic!("{requests:?}") };
        assert_eq!(request.action, Action::List(ListAction::LoadItems(kind)));
        request.from
    }

    fn close_top(&mut self) {
        self.app.apply(Effect::CloseTop);
    }
}

fn items(label: &str) -> TaskResult {
    let items = vec![PickerItem::new(label, PickerChoice::Model(label.to_owned()))];
    TaskResult::List(ListResult::Items { items, selected: 0 })
}

fn status(text: &str) -> TaskResult {
    TaskResult::List(ListResult::Status(StatusText::note(text)))
}

#[test]
fn result_fills_only_the_list_that_asked() {
    let mut harness = Harness::new(80, 24);
    let first = harness.open_list(ListKind::Models);
    let second = harness.open_list(ListKind::Models);
    assert_ne!(first, second);
    harness.report_to(first, items("opus"));
    assert!(harness.screen().contains("loading…"), "{}", harness.screen());
    harness.report_to(second, items("haiku"));
    assert!(harness.screen().contains("haiku"), "{}", harness.screen());
    harness.close_top();
    let screen = harness.screen();
    assert!(screen.contains("opus") && !screen.contains("haiku"), "{screen}");
}

#[test]
fn result_of_closed_list_is_dropped_or_flashed() {
    let mut harness = Harness::new(80, 24);
    let closed = harness.open_list(ListKind::Models);
    harness.close_top();
    harness.report_to(closed, items("opus"));
    assert!(!harness.screen().contains("opus"), "{}", harness.screen());
    harness.report_to(closed, status("saved"));
    assert!(harness.screen().contains("· saved"), "{}", harness.screen());
}

#[test]
fn status_of_closed_list_is_not_shown_in_another() {
    let mut harness = Harness::new(80, 24);
    let closed = harness.open_list(ListKind::Tools);
    harness.close_top();
    harness.open_list(ListKind::Models);
    harness.report_to(closed, status("bash disabled"));
    assert!(!harness.screen().contains("bash disabled"), "{}", harness.screen());
    harness.close_top();
    assert!(harness.screen().contains("bash disabled"), "{}", harness.screen());
}

#[test]
fn status_is_shown_in_the_list_beneath_that_asked() {
    let mut harness = Harness::new(80, 24);
    let beneath = harness.open_list(ListKind::Settings);
    harness.open_list(ListKind::Models);
    harness.report_to(beneath, status("saved"));
    assert!(!harness.screen().contains("saved"), "{}", harness.screen());
    harness.close_top();
    assert!(harness.screen().contains("saved"), "{}", harness.screen());
}

#[test]
fn dialog_answers_for_the_list_beneath() {
    let mut harness = Harness::new(80, 24);
    let beneath = harness.open_list(ListKind::Permissions);
    let question = OverlayRequest::Question {
        title: "remove?".to_owned(),
        items: vec![PickerItem::new("retry", PickerChoice::AfterFailure(CompactionChoice::Retry))],
    };
    harness.app.apply(Effect::Open(question));
    assert_eq!(harness.app.compositor.top().map(Overlay::address), Some(beneath));
    harness.report_to(beneath, items("bash: cargo test"));
    assert!(harness.screen().contains("retry"), "the dialog keeps its rows: {}", harness.screen());
    harness.close_top();
    assert!(harness.screen().contains("bash: cargo test"), "{}", harness.screen());
}

#[test]
fn rejected_action_returns_to_the_list_that_asked() {
    let mut harness = Harness::new(80, 24);
    harness.app.apply(Effect::Open(OverlayRequest::sessions()));
    let list = harness.app.compositor.top().map(Overlay::address).unwrap();
    let session = PickerItem::new("the lexer", PickerChoice::Open("/s/1.jsonl".into()));
    harness.report_to(list, TaskResult::List(ListResult::Items { items: vec![session], selected: 0 }));
    let open = Action::Navigate(Navigate::Open("/s/1.jsonl".into()));
    assert_eq!(harness.key(KeyCode::Enter), std::slice::from_ref(&open));
    harness.type_text("typed ahead");
    harness.reject(list, open);
    assert_eq!(harness.app.composer.editor.text(), "typed ahead");
}
