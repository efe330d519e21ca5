//! The message queue: editing, reordering, removal, delivery receipts.

use crossterm::event::{KeyCode, KeyModifiers};
use tiller_core::event::{EventKind, QueueItem, QueueKind};
use tiller_core::message::Image;

use super::harness::{Harness, SIZES, at_work};
use crate::action::{Action, Submit};
use crate::component::testing::queue_item;
use crate::queue::{AfterQueueEdit, QueueAction};

fn three_items() -> Vec<QueueItem> {
    let image = Image { data: "AA==".into(), mime_type: "image/png".into() };
    vec![
        queue_item(
            "q1",
            QueueKind::FollowUp,
            "then run the whole suite, and say which tests are slower than before by more than a tenth",
        ),
        queue_item("q2", QueueKind::Steer, "and add a test for a lone \\r\nin the lexer"),
        QueueItem {
            images: [image].into(),
            ..queue_item("q3", QueueKind::FollowUp, "make it look like this")
        },
    ]
}

impl Harness {
    fn set_queue(&mut self, items: Vec<QueueItem>) {
        self.event(EventKind::queue_update(items));
    }

    fn alt_up(&mut self) -> Vec<Action> {
        self.press(KeyCode::Up, KeyModifiers::ALT)
    }
}

fn with_queue(width: u16, height: u16) -> Harness {
    let mut harness = Harness::new(width, height);
    at_work(&mut harness);
    harness.set_queue(three_items());
    harness
}

fn queue_action(action: QueueAction) -> [Action; 1] {
    [Action::Queue(action)]
}

#[test]
fn queue_keys_leave_editor_alone() {
    for (width, height) in SIZES {
        let mut harness = with_queue(width, height);
        harness.type_text("a draft");
        assert_eq!(harness.alt_up(), []);
        harness.type_text("xz");
        harness.key(KeyCode::Up);
        insta::assert_snapshot!(format!("focused_{width}x{height}"), harness.screen());
        harness.key(KeyCode::Esc);
        harness.type_text("!");
        assert_eq!(harness.app.composer.editor.text(), "a draft!");
    }
}

#[test]
fn queue_edit_puts_message_back() {
    for (width, height) in SIZES {
        let mut harness = with_queue(width, height);
        harness.type_text("a draft");
        harness.alt_up();
        assert_eq!(harness.key(KeyCode::Enter), queue_action(QueueAction::Hold("q3".into())));
        harness.type_text(", or better");
        insta::assert_snapshot!(format!("editing_{width}x{height}"), harness.screen());
        let text = "make it look like this, or better".to_owned();
        assert_eq!(
            harness.key(KeyCode::Enter),
            queue_action(QueueAction::Edit("q3".into(), text, AfterQueueEdit::Release))
        );
        assert_eq!(harness.app.composer.editor.text(), "a draft");
        harness.key(KeyCode::Char('e'));
        assert_eq!(
            harness.key(KeyCode::Enter),
            queue_action(QueueAction::Release("q3".into())),
            "nothing was changed but that it was held"
        );
    }
}

#[test]
fn queue_esc_discards_edit_into_history() {
    let mut harness = with_queue(80, 24);
    harness.type_text("a draft");
    harness.alt_up();
    harness.key(KeyCode::Enter);
    harness.type_text("!");
    assert_eq!(harness.key(KeyCode::Esc), queue_action(QueueAction::Release("q3".into())));
    assert_eq!(harness.app.composer.editor.text(), "a draft");
    assert_eq!(harness.key(KeyCode::Esc), [], "first the panel is left");
    assert_eq!(harness.key(KeyCode::Esc), [Action::Abort]);
    harness.control('u');
    harness.key(KeyCode::Up);
    assert_eq!(harness.app.composer.editor.text(), "make it look like this!");
}

/// Returns a harness in which the third message is being edited and is held for the edit; the run has ended.
fn edited_when_the_run_ended() -> Harness {
    let mut harness = with_queue(80, 24);
    harness.alt_up();
    harness.key(KeyCode::Enter);
    let held = three_items().into_iter().map(|item| QueueItem { held: item.id.as_str() == "q3", ..item });
    harness.set_queue(held.collect());
    harness
}

#[test]
fn queue_edited_message_waits_for_enter() {
    let mut harness = edited_when_the_run_ended();
    let screen = harness.screen();
    assert!(!screen.contains("↳ held") && screen.contains("· editing"), "{screen}");
    assert!(screen.contains("enter saves · esc discards"), "{screen}");
    harness.event(EventKind::AgentSettled);
    assert!(harness.screen().contains("enter sends it"), "{}", harness.screen());
    harness.type_text("!");
    let text = "make it look like this!".to_owned();
    assert_eq!(
        harness.key(KeyCode::Enter),
        queue_action(QueueAction::Edit("q3".into(), text, AfterQueueEdit::Release))
    );
    harness.set_queue(three_items()[..2].to_vec());
    assert!(!harness.screen().contains("is no longer queued"), "{}", harness.screen());
}

#[test]
fn queue_esc_after_run_keeps_message_held() {
    let mut harness = edited_when_the_run_ended();
    harness.event(EventKind::AgentSettled);
    assert_eq!(harness.key(KeyCode::Esc), []);
    assert!(harness.screen().contains("↳ held    make it look like this"), "{}", harness.screen());
}

#[test]
fn queue_panel_that_closed_by_itself_swallows_keys_for_a_second() {
    let mut harness = with_queue(80, 24);
    harness.type_text("a draft");
    harness.alt_up();
    harness.set_queue(vec![]);
    for key in ['d', 'e', 'x'] {
        assert_eq!(harness.key(KeyCode::Char(key)), []);
    }
    assert_eq!(harness.key(KeyCode::Enter), [], "the draft isn't sent");
    assert_eq!(harness.key(KeyCode::Backspace), []);
    assert_eq!(harness.app.composer.editor.text(), "a draft");
    assert!(harness.screen().contains("Ignored: the queue is empty."), "{}", harness.screen());
    harness.wait(1_000);
    harness.type_text("!");
    assert_eq!(harness.app.composer.editor.text(), "a draft!");
}

#[test]
fn queue_delivered_while_edited_leaves_draft() {
    let mut harness = with_queue(80, 24);
    harness.type_text("a draft");
    harness.alt_up();
    harness.key(KeyCode::Enter);
    harness.type_text("!");
    harness.set_queue(three_items()[..2].to_vec());
    assert_eq!(harness.key(KeyCode::Enter), []);
    assert_eq!(harness.app.composer.editor.text(), "make it look like this!\n\na draft");
    harness.wait(1_000);
    let sent = harness.key(KeyCode::Enter);
    let text = "make it look like this!\n\na draft".to_owned();
    assert!(sent.contains(&Action::Submit(Submit::Steer(text))), "{sent:?}");
}
