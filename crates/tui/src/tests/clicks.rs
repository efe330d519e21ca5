//! Mouse clicks and the wheel in lists.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tiller_core::event::{CompactionChoice, Decision, EventKind, QueueItem, QueueKind};

use crate::action::{Action, BackgroundJob, SessionEdit};
use crate::message::{ListResult, Msg, TaskResult};
use crate::picker::item::{PickerChoice, PickerItem};
use crate::queue::QueueAction;
use crate::tests::harness::{Harness, at_work};
use crate::tests::summaries::compaction_fails;

impl Harness {
    pub(super) fn mouse_at(&mut self, kind: MouseEventKind, row: u16) -> Vec<Action> {
        self.actions.clear();
        let event = MouseEvent { kind, column: 6, row, modifiers: KeyModifiers::NONE };
        self.input(Msg::Mouse(event));
        std::mem::take(&mut self.actions)
    }

    /// Returns the row of the screen that shows this text.
    fn row_of(&mut self, text: &str) -> u16 {
        let screen = self.screen();
        let row = screen.lines().position(|line| line.contains(text));
        u16::try_from(row.unwrap_or_else(|| panic!("no {text} on\n{screen}"))).unwrap()
    }

    /// Clicks on the row that shows this text.
    pub(super) fn click_on(&mut self, text: &str) -> Vec<Action> {
        let row = self.row_of(text);
        let actions = self.mouse_at(MouseEventKind::Down(MouseButton::Left), row);
        assert_eq!(self.mouse_at(MouseEventKind::Up(MouseButton::Left), row), []);
        actions
    }

    pub(super) fn wheel_on(&mut self, kind: MouseEventKind, text: &str) -> Vec<Action> {
        let row = self.row_of(text);
        self.mouse_at(kind, row)
    }
}

/// Opens a list of `count` models, the first one chosen.
fn list(harness: &mut Harness, count: usize) {
    harness.control('l');
    let items = (1..=count)
        .map(|n| PickerItem::new(format!("model {n:03}"), PickerChoice::Model(format!("m{n}"))))
        .collect();
    harness.report_result(TaskResult::List(ListResult::Items { items, selected: 0 }));
}

#[test]
fn click_selects_then_accepts() {
    let mut harness = Harness::new(80, 24);
    list(&mut harness, 100);
    assert_eq!(harness.click_on("model 010"), []);
    assert!(harness.screen().contains("▸ model 010"), "{}", harness.screen());
    assert_eq!(harness.click_on("model 010"), [Action::Edit(SessionEdit::SetModel("m10".into()))]);
    assert!(harness.app.compositor.overlays.is_empty());
}

#[test]
fn click_initial_selection_is_not_accepted() {
    let mut harness = Harness::new(80, 24);
    list(&mut harness, 100);
    assert_eq!(harness.click_on("▸ model 001"), [], "the list begins with it");
    assert_eq!(harness.click_on("▸ model 001"), [Action::Edit(SessionEdit::SetModel("m1".into()))]);
    harness.wait(400);
    list(&mut harness, 100);
    harness.type_text("042");
    assert_eq!(harness.click_on("▸ model 042"), [], "it fits best");
    assert_eq!(harness.click_on("▸ model 042"), [Action::Edit(SessionEdit::SetModel("m42".into()))]);
    harness.wait(400);
    list(&mut harness, 100);
    harness.key(KeyCode::Down);
    assert_eq!(
        harness.click_on("▸ model 002"),
        [Action::Edit(SessionEdit::SetModel("m2".into()))],
        "a key went to it"
    );
}

#[test]
fn click_keeps_rows_in_place() {
    let mut harness = Harness::new(80, 24);
    list(&mut harness, 100);
    (0..50).for_each(|_| _ = harness.key(KeyCode::Down));
    let before = harness.row_of("model 056");
    harness.click_on("model 056");
    assert_eq!(harness.row_of("▸ model 056"), before);
    harness.type_text("model");
    harness.key(KeyCode::Down);
    assert!(harness.screen().contains("▸ model 057"), "{}", harness.screen());
}

#[test]
fn click_outside_rows_does_nothing() {
    let mut harness = Harness::new(80, 24);
    list(&mut harness, 3);
    for place in ["── models", "type to filter", "enter select"] {
        for _ in 0..2 {
            assert_eq!(harness.click_on(place), [], "{place}");
        }
    }
    assert_eq!(harness.mouse_at(MouseEventKind::Down(MouseButton::Left), 10), [], "below the last row");
    assert!(harness.screen().contains("▸ model 001"), "{}", harness.screen());
}

#[test]
fn wheel_moves_list_selection() {
    let mut harness = Harness::new(80, 24);
    list(&mut harness, 100);
    harness.wheel_on(MouseEventKind::ScrollDown, "model 010");
    harness.wheel_on(MouseEventKind::ScrollDown, "model 010");
    harness.wheel_on(MouseEventKind::ScrollUp, "model 010");
    assert!(harness.screen().contains("▸ model 002"), "{}", harness.screen());
}

#[test]
fn double_click_accepts_once() {
    let mut harness = Harness::new(80, 24);
    list(&mut harness, 3);
    let fork = PickerItem::new("continue in a fork", PickerChoice::ForkOf("/s/1.jsonl".into()));
    let question = crate::dialog::Dialog { title: "late".into(), items: vec![fork] };
    harness.report_result(TaskResult::Dialog(question));
    assert_eq!(harness.click_on("continue in a fork"), [], "it has only just come");
    harness.wait(400);
    assert_eq!(harness.click_on("continue in a fork").len(), 1);
    assert_eq!(harness.click_on("▸ model 001"), [], "it was meant for what lay above");
    harness.wait(400);
    assert_eq!(harness.click_on("▸ model 001"), []);
    assert_eq!(harness.click_on("▸ model 001"), [Action::Edit(SessionEdit::SetModel("m1".into()))]);
}

#[test]
fn click_before_dialog_is_ignored() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    compaction_fails(&mut harness);
    let row = harness.row_of("▸ try again");
    assert_eq!(harness.mouse_at(MouseEventKind::Down(MouseButton::Left), row), []);
    harness.mouse_at(MouseEventKind::Up(MouseButton::Left), row);
    harness.wait(1_000);
    assert_eq!(harness.click_on("▸ try again"), []);
    assert_eq!(
        harness.click_on("▸ try again"),
        [Action::Edit(SessionEdit::ResolveCompaction(CompactionChoice::Retry))]
    );
}

#[test]
fn click_candidate_like_a_list_row() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("/");
    harness.wheel_on(MouseEventKind::ScrollUp, "▸ /new");
    assert!(harness.screen().contains("▸ /new"), "it ends there: {}", harness.screen());
    harness.wheel_on(MouseEventKind::ScrollDown, "▸ /new");
    assert!(harness.screen().contains("▸ /resume"), "{}", harness.screen());
    assert_eq!(harness.click_on("/name "), []);
    assert_eq!(harness.app.composer.editor.text(), "/");
    harness.click_on("▸ /name");
    assert_eq!(harness.app.composer.editor.text(), "/name ", "it wants to be told something");
    harness.control('c');
    harness.wait(400);
    harness.type_text("/theme ");
    assert_eq!(harness.click_on("▸ auto"), []);
    let actions = harness.click_on("▸ auto");
    assert!(
        actions.iter().any(|action| matches!(action, Action::Background(BackgroundJob::SaveSetting { .. }))),
        "{actions:?}"
    );
    harness.wait(400);
    harness.type_text("/fork");
    harness.click_on("▸ /fork");
    harness.click_on("▸ /fork");
    assert_eq!(harness.app.compositor.overlays.len(), 1, "{}", harness.screen());
}

#[test]
fn click_candidate_in_reason_is_sent_as_reason() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    harness.request_approval();
    harness.wait(500);
    harness.key(KeyCode::Tab);
    harness.type_text("/n");
    harness.key(KeyCode::Down);
    harness.key(KeyCode::Up);
    let reason = "the user rejected it: /new".to_owned();
    assert_eq!(harness.click_on("▸ /new"), [Action::Decide("c2".into(), Decision::Deny { reason })]);
}

pub(super) fn queue_messages(harness: &mut Harness) {
    let item = |id: &str| QueueItem {
        id: id.into(),
        kind: QueueKind::FollowUp,
        text: format!("the {id} of them"),
        typed: None,
        images: [].into(),
        held: false,
    };
    let items = ["first", "second", "third"].map(item).to_vec();
    harness.event(EventKind::queue_update(items));
}

#[test]
fn click_queued_message_selects_then_edits() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    queue_messages(&mut harness);
    harness.type_text("a draft");
    assert_eq!(harness.click_on("the second of them"), []);
    assert!(harness.screen().contains("▸ ↳ next    the second"), "{}", harness.screen());
    harness.wheel_on(MouseEventKind::ScrollDown, "the first of them");
    harness.wheel_on(MouseEventKind::ScrollUp, "the first of them");
    let actions = harness.click_on("▸ ↳ next    the second");
    assert_eq!(actions, [Action::Queue(QueueAction::Hold("second".into()))]);
    assert_eq!(harness.app.composer.editor.text(), "the second of them");
    assert_eq!(harness.click_on("the first of them"), [], "one is edited");
    harness.key(KeyCode::Esc);
    harness.key(KeyCode::Esc);
    assert_eq!(harness.app.composer.editor.text(), "a draft");
}

#[test]
fn wheel_outside_lists_scrolls_transcript() {
    let mut harness = Harness::new(80, 24);
    let lines: Vec<String> = (1..=60).map(|n| format!("- {n}")).collect();
    harness.answer(vec![super::harness::text(&lines.join("\n"))]);
    harness.type_text("/");
    let before = harness.screen();
    harness.mouse_at(MouseEventKind::ScrollUp, 3);
    assert!(harness.screen() != before && harness.screen().contains("▸ /new"), "{}", harness.screen());
}
