//! The message queue: editing, reordering, removal, delivery receipts.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyModifiers};
use tiller_core::event::{EventKind, QueueItem, QueueKind};
use tiller_core::message::{BashExecutionMessage, Image, Message, UserMessage};
use tiller_core::unit::UnixMs;
use tiller_session::entry::{DeliveryReceipt, MessageEntry, QueueHistory};

use super::harness::{Harness, SIZES, START, at_work, text};
use crate::app::{Action, Msg, Submit, TaskResult};
use crate::queue::{AfterQueueEdit, QueueAction, QueueOutcome, RemovedMessage};

fn item(id: &str, kind: QueueKind, text: &str) -> QueueItem {
    QueueItem { id: id.into(), kind, text: text.into(), typed: None, images: [].into(), held: false }
}

fn three() -> Vec<QueueItem> {
    let image = Image { data: "AA==".into(), mime_type: "image/png".into() };
    vec![
        item(
            "q1",
            QueueKind::FollowUp,
            "then run the whole suite, and say which tests are slower than before by more than a tenth",
        ),
        item("q2", QueueKind::Steer, "and add a test for a lone \\r\nin the lexer"),
        QueueItem { images: [image].into(), ..item("q3", QueueKind::FollowUp, "make it look like this") },
    ]
}

impl Harness {
    fn waits(&mut self, items: Vec<QueueItem>) {
        self.event(EventKind::queue_update(items));
    }

    fn alt_up(&mut self) -> Vec<Action> {
        self.press(KeyCode::Up, KeyModifiers::ALT)
    }

    fn removed(&mut self, items: Vec<RemovedMessage>) {
        self.input(Msg::TaskResult(TaskResult::QueueOutcome(QueueOutcome::Removed(items))));
    }
}

fn waiting(width: u16, height: u16) -> Harness {
    let mut stage = Harness::new(width, height);
    at_work(&mut stage);
    stage.waits(three());
    stage
}

fn ordered(order: QueueAction) -> [Action; 1] {
    [Action::Queue(order)]
}

#[test]
fn queue_keys_leave_editor_alone() {
    for (width, height) in SIZES {
        let mut stage = waiting(width, height);
        stage.type_text("a draft");
        assert_eq!(stage.alt_up(), []);
        stage.type_text("xz");
        stage.key(KeyCode::Up);
        insta::assert_snapshot!(format!("focused_{width}x{height}"), stage.screen());
        stage.key(KeyCode::Esc);
        stage.type_text("!");
        assert_eq!(stage.app.editor.text(), "a draft!");
    }
}

#[test]
fn queue_edit_puts_message_back() {
    for (width, height) in SIZES {
        let mut stage = waiting(width, height);
        stage.type_text("a draft");
        stage.alt_up();
        assert_eq!(stage.key(KeyCode::Enter), ordered(QueueAction::Hold("q3".into())));
        stage.type_text(", or better");
        insta::assert_snapshot!(format!("editing_{width}x{height}"), stage.screen());
        let words = "make it look like this, or better".to_owned();
        assert_eq!(
            stage.key(KeyCode::Enter),
            ordered(QueueAction::Edit("q3".into(), words, AfterQueueEdit::Release))
        );
        assert_eq!(stage.app.editor.text(), "a draft");
        stage.key(KeyCode::Char('e'));
        assert_eq!(
            stage.key(KeyCode::Enter),
            ordered(QueueAction::Release("q3".into())),
            "nothing was changed but that it was held"
        );
    }
}

#[test]
fn queue_esc_discards_edit_into_history() {
    let mut stage = waiting(80, 24);
    stage.type_text("a draft");
    stage.alt_up();
    stage.key(KeyCode::Enter);
    stage.type_text("!");
    assert_eq!(stage.key(KeyCode::Esc), ordered(QueueAction::Release("q3".into())));
    assert_eq!(stage.app.editor.text(), "a draft");
    assert_eq!(stage.key(KeyCode::Esc), [], "first the panel is left");
    assert_eq!(stage.key(KeyCode::Esc), [Action::Abort]);
    stage.control('u');
    stage.key(KeyCode::Up);
    assert_eq!(stage.app.editor.text(), "make it look like this!");
}

/// The third message is being edited and is held for that; the run is over.
fn edited_when_the_run_ended() -> Harness {
    let mut stage = waiting(80, 24);
    stage.alt_up();
    stage.key(KeyCode::Enter);
    let held = three().into_iter().map(|item| QueueItem { held: item.id.as_str() == "q3", ..item });
    stage.waits(held.collect());
    stage
}

#[test]
fn queue_edited_message_waits_for_enter() {
    let mut stage = edited_when_the_run_ended();
    let screen = stage.screen();
    assert!(!screen.contains("↳ held") && screen.contains("· editing"), "{screen}");
    assert!(screen.contains("enter puts it back"), "{screen}");
    stage.event(EventKind::AgentSettled);
    assert!(stage.screen().contains("enter sends it"), "{}", stage.screen());
    stage.type_text("!");
    let words = "make it look like this!".to_owned();
    assert_eq!(
        stage.key(KeyCode::Enter),
        ordered(QueueAction::Edit("q3".into(), words, AfterQueueEdit::Release))
    );
    stage.waits(three()[..2].to_vec());
    assert!(!stage.screen().contains("is no longer queued"), "{}", stage.screen());
}

#[test]
fn queue_esc_after_run_keeps_message_held() {
    let mut stage = edited_when_the_run_ended();
    stage.event(EventKind::AgentSettled);
    assert_eq!(stage.key(KeyCode::Esc), []);
    assert!(stage.screen().contains("↳ held    make it look like this"), "{}", stage.screen());
}

#[test]
fn queue_held_message_stays_held() {
    let mut stage = waiting(80, 24);
    stage.waits(three().into_iter().map(|item| QueueItem { held: true, ..item }).collect());
    stage.alt_up();
    assert_eq!(stage.key(KeyCode::Enter), []);
    assert_eq!(stage.key(KeyCode::Enter), [], "nothing was changed");
}

#[test]
fn queue_reorders_within_kind() {
    let mut stage = waiting(80, 24);
    stage.alt_up();
    let shift = |stage: &mut Harness, code| stage.press(code, KeyModifiers::SHIFT);
    assert_eq!(shift(&mut stage, KeyCode::Up), ordered(QueueAction::Move("q3".into(), 0)));
    assert_eq!(stage.key(KeyCode::Char('p')), ordered(QueueAction::SetKind("q3".into(), QueueKind::Steer)));
    stage.key(KeyCode::Up);
    assert_eq!(shift(&mut stage, KeyCode::Down), ordered(QueueAction::Move("q1".into(), 2)));
    assert_eq!(shift(&mut stage, KeyCode::Up), []);
    assert!(stage.screen().contains("Steering messages go first; p changes the kind."));
    stage.key(KeyCode::Up);
    assert_eq!(
        stage.key(KeyCode::Char('p')),
        ordered(QueueAction::SetKind("q2".into(), QueueKind::FollowUp))
    );
}

#[test]
fn queue_selection_follows_message() {
    let mut stage = waiting(80, 24);
    stage.alt_up();
    let mut items = three();
    items.swap(0, 2);
    stage.waits(items);
    assert_eq!(stage.key(KeyCode::Char('r')), [], "it isn't held");
    assert_eq!(stage.key(KeyCode::Char('d')), ordered(QueueAction::Remove("q3".into(), 0)));
}

#[test]
fn queue_undo_restores_removed() {
    let mut stage = waiting(80, 24);
    stage.alt_up();
    assert_eq!(stage.key(KeyCode::Char('d')), ordered(QueueAction::Remove("q3".into(), 2)));
    let mut left = three();
    let removed = RemovedMessage { item: left.remove(2), place: 2 };
    stage.waits(left.clone());
    stage.removed(vec![removed.clone()]);
    assert!(stage.screen().contains("removed; u brings it back"), "{}", stage.screen());
    assert_eq!(stage.key(KeyCode::Char('D')), ordered(QueueAction::Clear));
    stage.waits(vec![]);
    let cleared: Vec<RemovedMessage> =
        left.into_iter().enumerate().map(|(place, item)| RemovedMessage { item, place }).collect();
    stage.removed(cleared.clone());
    assert!(stage.screen().contains("the queue is empty"), "{}", stage.screen());
    assert_eq!(stage.key(KeyCode::Char('u')), ordered(QueueAction::Restore(cleared)));
    assert_eq!(stage.key(KeyCode::Char('u')), ordered(QueueAction::Restore(vec![removed])));
    stage.waits(three());
    stage.key(KeyCode::Enter);
    assert_eq!(stage.app.editor.text(), "make it look like this");
}

#[test]
fn shell_record_takes_log_position() {
    let mut stage = Harness::new(80, 24);
    stage.event(EventKind::BashExecutionStart {
        id: "b".into(),
        command: "make".into(),
        exclude_from_context: false,
    });
    stage.event(EventKind::BashExecutionUpdate { id: "b".into(), delta: "built\n".into() });
    stage.user("what is in it?");
    stage.answer(vec![text("Not known yet.")]);
    stage.wait(3_200);
    let record = BashExecutionMessage {
        command: "make".into(),
        output: "built\n".into(),
        exit_code: Some(0),
        timestamp: UnixMs(stage.now),
        ..BashExecutionMessage::default()
    };
    stage.said(Message::BashExecution(record.clone()));
    stage.event(EventKind::BashExecutionEnd { id: "b".into(), message: Arc::new(record) });
    let screen = stage.screen();
    let at = |words: &str| screen.find(words).unwrap_or_else(|| panic!("{words}: {screen}"));
    assert!(at("! make started here; its output is below") < at("what is in it?"), "{screen}");
    assert!(at("Not known yet.") < at("built"), "{screen}");
    let head = screen.lines().find(|line| line.contains("✓ ! make")).unwrap();
    assert!(head.trim_end().ends_with("3.2s"), "{screen}");
}

#[test]
fn queue_delivered_message_selects_next() {
    let mut stage = waiting(80, 24);
    stage.alt_up();
    stage.waits(three()[..2].to_vec());
    assert!(stage.screen().contains("is no longer queued"), "{}", stage.screen());
    assert_eq!(stage.key(KeyCode::Char('d')), ordered(QueueAction::Remove("q1".into(), 0)));
    stage.input(Msg::TaskResult(TaskResult::QueueOutcome(QueueOutcome::Gone(None))));
    stage.waits(vec![]);
    stage.wait(1_000);
    stage.type_text("x");
    assert_eq!(stage.app.editor.text(), "x", "nothing waits: the keys are the editor's");
}

#[test]
fn queue_panel_that_closed_by_itself_swallows_keys_for_a_second() {
    let mut stage = waiting(80, 24);
    stage.type_text("a draft");
    stage.alt_up();
    stage.waits(vec![]);
    for key in ['d', 'e', 'x'] {
        assert_eq!(stage.key(KeyCode::Char(key)), []);
    }
    assert_eq!(stage.key(KeyCode::Enter), [], "the draft isn't sent");
    assert_eq!(stage.key(KeyCode::Backspace), []);
    assert_eq!(stage.app.editor.text(), "a draft");
    assert!(stage.screen().contains("Ignored: the queue is empty."), "{}", stage.screen());
    stage.wait(1_000);
    stage.type_text("!");
    assert_eq!(stage.app.editor.text(), "a draft!");
}

#[test]
fn queue_panel_whose_last_message_was_removed_keeps_its_keys() {
    let mut stage = waiting(80, 24);
    stage.waits(three()[..1].to_vec());
    stage.alt_up();
    assert_eq!(stage.key(KeyCode::Char('d')), ordered(QueueAction::Remove("q1".into(), 0)));
    stage.waits(vec![]);
    stage.key(KeyCode::Char('d'));
    let removed = RemovedMessage { item: three().remove(0), place: 0 };
    stage.removed(vec![removed.clone()]);
    assert_eq!(stage.key(KeyCode::Char('u')), ordered(QueueAction::Restore(vec![removed])));
    assert_eq!(stage.app.editor.text(), "");
}

#[test]
fn esc_returns_queue_in_screen_order() {
    let mut stage = waiting(80, 24);
    let screen = stage.screen();
    let at = |words: &str| screen.find(words).unwrap_or_else(|| panic!("{words}: {screen}"));
    assert!(
        at("and add a test") < at("then run the whole") && at("then run") < at("make it look"),
        "{screen}"
    );
    stage.input(Msg::TaskResult(TaskResult::ReturnedMessages(three())));
    let text = stage.app.editor.expanded();
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
    assert!(at("and add a test") < at("then run the whole") && at("then run") < at("make it look"), "{text}");
}

#[test]
fn queue_delivered_while_edited_leaves_draft() {
    let mut stage = waiting(80, 24);
    stage.type_text("a draft");
    stage.alt_up();
    stage.key(KeyCode::Enter);
    stage.type_text("!");
    stage.waits(three()[..2].to_vec());
    assert_eq!(stage.key(KeyCode::Enter), []);
    assert_eq!(stage.app.editor.text(), "make it look like this!\n\na draft");
    stage.wait(1_000);
    let sent = stage.key(KeyCode::Enter);
    let words = "make it look like this!\n\na draft".to_owned();
    assert!(sent.contains(&Action::Submit(Submit::Steer(words))), "{sent:?}");
}

#[test]
fn queue_late_edit_is_a_draft() {
    let mut stage = waiting(80, 24);
    stage.input(Msg::TaskResult(TaskResult::QueueOutcome(QueueOutcome::Gone(Some("better words".into())))));
    assert_eq!(stage.app.editor.text(), "better words");
    assert!(stage.screen().contains("your edit is kept as a draft"), "{}", stage.screen());
}

#[test]
fn queue_edit_stores_the_draft() {
    let mut stage = waiting(80, 24);
    stage.type_text("a draft");
    stage.alt_up();
    stage.key(KeyCode::Enter);
    assert_eq!(stage.app.unsent_text(), "a draft");
    stage.key(KeyCode::Esc);
    assert_eq!(stage.app.unsent_text(), "a draft");
}

#[test]
fn queue_held_names_release_key() {
    for (width, height) in SIZES {
        let mut stage = Harness::new(width, height);
        let held = three().into_iter().map(|item| QueueItem { held: true, ..item }).collect();
        stage.waits(held);
        insta::assert_snapshot!(format!("held_{width}x{height}"), stage.screen());
        stage.alt_up();
        assert!(stage.screen().contains("r release"), "{}", stage.screen());
        assert_eq!(stage.key(KeyCode::Char('r')), ordered(QueueAction::Release("q3".into())));
        let left: Vec<_> = three()[..2].iter().map(|item| QueueItem { held: true, ..item.clone() }).collect();
        stage.waits(left);
        assert!(!stage.screen().contains("is no longer queued"), "{}", stage.screen());
        stage.waits(vec![]);
        assert!(stage.screen().contains("is no longer queued"), "that one nobody let go: {}", stage.screen());
    }
}

#[test]
fn queue_many_messages_are_counted() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    let items: Vec<QueueItem> =
        (0..9).map(|n| item(&format!("q{n}"), QueueKind::FollowUp, &format!("number {n}"))).collect();
    stage.waits(items);
    let screen = stage.screen();
    assert!(screen.contains("number 3") && !screen.contains("number 4"), "{screen}");
    assert!(screen.contains("… 5 more · alt+up"), "{screen}");
    stage.alt_up();
    assert!(stage.screen().contains("▸ ↳ next    number 8"), "{}", stage.screen());
}

#[test]
fn queue_delivered_message_has_receipt() {
    let waited = |queued_at, queued_as| QueueHistory {
        queued_at: Some(UnixMs(queued_at)),
        queued_as,
        ..QueueHistory::default()
    };
    let receipts = [
        DeliveryReceipt {
            after_calls: 2,
            skipped_calls: 3,
            waited: waited(START, None),
            ..DeliveryReceipt::default()
        },
        DeliveryReceipt {
            cut_off: true,
            waited: QueueHistory { edited: true, ..waited(START, Some(QueueKind::FollowUp)) },
            ..DeliveryReceipt::default()
        },
        DeliveryReceipt {
            kind: QueueKind::FollowUp,
            waited: waited(START, None),
            ..DeliveryReceipt::default()
        },
    ];
    for (width, height) in SIZES {
        let mut stage = Harness::new(width, height);
        stage.user("the parser test fails on windows line endings, find out why");
        stage.wait(240_000);
        for (at, receipt) in receipts.iter().enumerate() {
            let said = UserMessage::text("wait — the fixture itself has mixed endings", UnixMs(stage.now));
            stage.append(MessageEntry {
                message: Arc::new(Message::User(said)),
                tiller_queue_id: Some(format!("q{at}").as_str().into()),
                tiller_receipt: Some(receipt.clone()),
            });
        }
        insta::assert_snapshot!(format!("delivered_{width}x{height}"), stage.screen());
    }
}

#[test]
fn queue_left_panel_stays_left() {
    let mut stage = waiting(80, 24);
    stage.alt_up();
    stage.key(KeyCode::Char('d'));
    stage.key(KeyCode::Esc);
    let mut left = three();
    let removed = RemovedMessage { item: left.remove(2), place: 2 };
    stage.waits(left);
    stage.removed(vec![removed]);
    let screen = stage.screen();
    assert!(screen.contains("removed; alt+up, then u restores them"), "{screen}");
    stage.type_text("x and more");
    assert_eq!(stage.app.editor.text(), "x and more");
}

#[test]
fn queue_removed_are_counted_in_any_order() {
    let removed: Vec<RemovedMessage> =
        three().into_iter().enumerate().map(|(place, item)| RemovedMessage { item, place }).collect();
    for is_told_first in [true, false] {
        let mut stage = waiting(80, 24);
        stage.alt_up();
        assert_eq!(stage.press(KeyCode::Char('D'), KeyModifiers::SHIFT), ordered(QueueAction::Clear));
        if is_told_first {
            stage.removed(removed.clone());
        }
        stage.waits(three()[..1].to_vec());
        stage.waits(Vec::new());
        if !is_told_first {
            stage.removed(removed.clone());
        }
        let screen = stage.screen();
        assert!(screen.contains("removed 3; u brings them back"), "{screen}");
        assert!(!screen.contains("is no longer queued"), "{screen}");
        assert_eq!(stage.key(KeyCode::Char('u')), ordered(QueueAction::Restore(removed.clone())));
        stage.waits(three());
        assert!(!stage.screen().contains("removed 3"), "{}", stage.screen());
        stage.waits(three()[..2].to_vec());
        assert!(
            stage.screen().contains("is no longer queued"),
            "that one went by itself: {}",
            stage.screen()
        );
    }
}

#[test]
fn queue_undo_after_leaving_panel() {
    let mut stage = waiting(80, 24);
    stage.alt_up();
    stage.key(KeyCode::Char('d'));
    let removed = RemovedMessage { item: three().remove(2), place: 2 };
    stage.waits(Vec::new());
    stage.removed(vec![removed.clone()]);
    stage.key(KeyCode::Esc);
    assert!(stage.screen().contains("alt+up, then u restores them"), "{}", stage.screen());
    stage.alt_up();
    assert_eq!(stage.key(KeyCode::Char('u')), ordered(QueueAction::Restore(vec![removed])));
}
