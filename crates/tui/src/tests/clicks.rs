//! Mouse clicks and the wheel in lists.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tiller_core::event::{CompactionChoice, EventKind, QueueKind};

use crate::action::{Action, SessionEdit};
use crate::component::testing::queue_item;
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

pub(super) fn queue_messages(harness: &mut Harness) {
    let item = |id: &str| queue_item(id, QueueKind::FollowUp, &format!("the {id} of them"));
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
