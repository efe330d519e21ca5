//! Mouse clicks and the wheel in lists.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tiller_core::event::{CompactionChoice, Decision, EventKind, QueueItem, QueueKind};

use super::harness::{Harness, at_work};
use super::summaries::compaction_fails;
use crate::app::{Action, BackgroundJob, ListKind, ListResult, Msg, SessionEdit, TaskResult};
use crate::picker::{PickerChoice, PickerItem};
use crate::queue::QueueAction;

impl Harness {
    pub(super) fn mouse_at(&mut self, kind: MouseEventKind, row: u16) -> Vec<Action> {
        self.actions.clear();
        let event = MouseEvent { kind, column: 6, row, modifiers: KeyModifiers::NONE };
        self.input(Msg::Mouse(event));
        std::mem::take(&mut self.actions)
    }

    /// The row of the screen on which this stands.
    fn row_of(&mut self, text: &str) -> u16 {
        let screen = self.screen();
        let row = screen.lines().position(|line| line.contains(text));
        u16::try_from(row.unwrap_or_else(|| panic!("no {text} on\n{screen}"))).unwrap()
    }

    /// Clicks on the row on which this stands.
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

/// A list of so many models, the first one chosen.
fn list(stage: &mut Harness, count: usize) {
    stage.control('l');
    let items = (1..=count)
        .map(|n| PickerItem::new(format!("model {n:03}"), PickerChoice::Model(format!("m{n}"))))
        .collect();
    stage.input(Msg::TaskResult(TaskResult::List(ListResult::Items {
        list: ListKind::Models,
        items,
        selected: 0,
    })));
}

#[test]
fn click_selects_then_accepts() {
    let mut stage = Harness::new(80, 24);
    list(&mut stage, 100);
    assert_eq!(stage.click_on("model 010"), []);
    assert!(stage.screen().contains("▸ model 010"), "{}", stage.screen());
    assert_eq!(stage.click_on("model 010"), [Action::Edit(SessionEdit::SetModel("m10".into()))]);
    assert!(stage.app.overlays.is_empty());
}

#[test]
fn click_initial_selection_is_not_accepted() {
    let mut stage = Harness::new(80, 24);
    list(&mut stage, 100);
    assert_eq!(stage.click_on("▸ model 001"), [], "the list begins with it");
    assert_eq!(stage.click_on("▸ model 001"), [Action::Edit(SessionEdit::SetModel("m1".into()))]);
    stage.wait(400);
    list(&mut stage, 100);
    stage.type_text("042");
    assert_eq!(stage.click_on("▸ model 042"), [], "it fits best");
    assert_eq!(stage.click_on("▸ model 042"), [Action::Edit(SessionEdit::SetModel("m42".into()))]);
    stage.wait(400);
    list(&mut stage, 100);
    stage.key(KeyCode::Down);
    assert_eq!(
        stage.click_on("▸ model 002"),
        [Action::Edit(SessionEdit::SetModel("m2".into()))],
        "a key went to it"
    );
}

#[test]
fn click_keeps_rows_in_place() {
    let mut stage = Harness::new(80, 24);
    list(&mut stage, 100);
    (0..50).for_each(|_| _ = stage.key(KeyCode::Down));
    let before = stage.row_of("model 056");
    stage.click_on("model 056");
    assert_eq!(stage.row_of("▸ model 056"), before);
    stage.type_text("model");
    stage.key(KeyCode::Down);
    assert!(stage.screen().contains("▸ model 057"), "{}", stage.screen());
}

#[test]
fn click_outside_rows_does_nothing() {
    let mut stage = Harness::new(80, 24);
    list(&mut stage, 3);
    for place in ["── models", "type to filter", "enter select"] {
        for _ in 0..2 {
            assert_eq!(stage.click_on(place), [], "{place}");
        }
    }
    assert_eq!(stage.mouse_at(MouseEventKind::Down(MouseButton::Left), 10), [], "below the last row");
    assert!(stage.screen().contains("▸ model 001"), "{}", stage.screen());
}

#[test]
fn wheel_moves_list_selection() {
    let mut stage = Harness::new(80, 24);
    list(&mut stage, 100);
    stage.wheel_on(MouseEventKind::ScrollDown, "model 010");
    stage.wheel_on(MouseEventKind::ScrollDown, "model 010");
    stage.wheel_on(MouseEventKind::ScrollUp, "model 010");
    assert!(stage.screen().contains("▸ model 002"), "{}", stage.screen());
}

#[test]
fn double_click_accepts_once() {
    let mut stage = Harness::new(80, 24);
    list(&mut stage, 3);
    let fork = PickerItem::new("continue in a fork", PickerChoice::ForkOf("/s/1.jsonl".into()));
    let question = crate::dialog::Dialog { title: "late".into(), items: vec![fork] };
    stage.input(Msg::TaskResult(TaskResult::Dialog(question)));
    assert_eq!(stage.click_on("continue in a fork"), [], "it has only just come");
    stage.wait(400);
    assert_eq!(stage.click_on("continue in a fork").len(), 1);
    assert_eq!(stage.click_on("▸ model 001"), [], "it was meant for what lay above");
    stage.wait(400);
    assert_eq!(stage.click_on("▸ model 001"), []);
    assert_eq!(stage.click_on("▸ model 001"), [Action::Edit(SessionEdit::SetModel("m1".into()))]);
}

#[test]
fn click_before_dialog_is_ignored() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    compaction_fails(&mut stage);
    let row = stage.row_of("▸ try again");
    assert_eq!(stage.mouse_at(MouseEventKind::Down(MouseButton::Left), row), []);
    stage.mouse_at(MouseEventKind::Up(MouseButton::Left), row);
    stage.wait(1_000);
    assert_eq!(stage.click_on("▸ try again"), []);
    assert_eq!(
        stage.click_on("▸ try again"),
        [Action::Edit(SessionEdit::ResolveCompaction(CompactionChoice::Retry))]
    );
}

#[test]
fn click_candidate_like_a_list_row() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("/");
    stage.wheel_on(MouseEventKind::ScrollUp, "▸ /new");
    assert!(stage.screen().contains("▸ /new"), "it ends there: {}", stage.screen());
    stage.wheel_on(MouseEventKind::ScrollDown, "▸ /new");
    assert!(stage.screen().contains("▸ /resume"), "{}", stage.screen());
    assert_eq!(stage.click_on("/name "), []);
    assert_eq!(stage.app.editor.text(), "/");
    stage.click_on("▸ /name");
    assert_eq!(stage.app.editor.text(), "/name ", "it wants to be told something");
    stage.control('c');
    stage.wait(400);
    stage.type_text("/theme ");
    assert_eq!(stage.click_on("▸ auto"), []);
    let actions = stage.click_on("▸ auto");
    assert!(
        actions.iter().any(|action| matches!(action, Action::Background(BackgroundJob::SaveSetting { .. }))),
        "{actions:?}"
    );
    stage.wait(400);
    stage.type_text("/fork");
    stage.click_on("▸ /fork");
    stage.click_on("▸ /fork");
    assert_eq!(stage.app.overlays.len(), 1, "{}", stage.screen());
}

#[test]
fn click_candidate_in_reason_is_sent_as_reason() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    stage.asks();
    stage.wait(500);
    stage.key(KeyCode::Tab);
    stage.type_text("/ne");
    stage.key(KeyCode::Down);
    stage.key(KeyCode::Up);
    let reason = "the user said no: /new".to_owned();
    assert_eq!(stage.click_on("▸ /new"), [Action::Decide("c2".into(), Decision::Deny { reason })]);
}

pub(super) fn waiting(stage: &mut Harness) {
    let item = |id: &str| QueueItem {
        id: id.into(),
        kind: QueueKind::FollowUp,
        text: format!("the {id} of them"),
        typed: None,
        images: [].into(),
        held: false,
    };
    let items = ["first", "second", "third"].map(item).to_vec();
    stage.event(EventKind::queue_update(items));
}

#[test]
fn click_queued_message_selects_then_edits() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    waiting(&mut stage);
    stage.type_text("a draft");
    assert_eq!(stage.click_on("the second of them"), []);
    assert!(stage.screen().contains("▸ ↳ next    the second"), "{}", stage.screen());
    stage.wheel_on(MouseEventKind::ScrollDown, "the first of them");
    stage.wheel_on(MouseEventKind::ScrollUp, "the first of them");
    let actions = stage.click_on("▸ ↳ next    the second");
    assert_eq!(actions, [Action::Queue(QueueAction::Hold("second".into()))]);
    assert_eq!(stage.app.editor.text(), "the second of them");
    assert_eq!(stage.click_on("the first of them"), [], "one is edited");
    stage.key(KeyCode::Esc);
    stage.key(KeyCode::Esc);
    assert_eq!(stage.app.editor.text(), "a draft");
}

#[test]
fn wheel_outside_lists_scrolls_transcript() {
    let mut stage = Harness::new(80, 24);
    let lines: Vec<String> = (1..=60).map(|n| format!("- {n}")).collect();
    stage.answer(vec![super::harness::text(&lines.join("\n"))]);
    stage.type_text("/");
    let before = stage.screen();
    stage.mouse_at(MouseEventKind::ScrollUp, 3);
    assert!(stage.screen() != before && stage.screen().contains("▸ /new"), "{}", stage.screen());
}
