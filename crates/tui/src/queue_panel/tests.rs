use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::event::QueueKind;
use tiller_core::message::Image;
use tiller_core::unit::UnixMs;

use super::*;
use crate::action::Action;
use crate::address::Address;
use crate::component::testing::{Bench, queue_item};
use crate::effect::{Effect, FlashText, QueueEditRequest};
use crate::queue::{AfterQueueEdit, QueueAction};

/// A panel of five rows over a queue of one steering message and two follow-ups, the second of them held.
type Harness = Bench<QueuePanel>;

fn item(id: &str, kind: QueueKind, held: bool) -> QueueItem {
    QueueItem { held, ..queue_item(id, kind, &format!("text of {id}")) }
}

impl Harness {
    fn new() -> Self {
        let mut harness = Self::of(QueuePanel::default(), Address::Queue).sized(80, 5);
        harness.model.activity.queue = vec![
            item("q1", QueueKind::Steer, false),
            item("q2", QueueKind::FollowUp, false),
            item("q3", QueueKind::FollowUp, true),
        ];
        harness.work(QueuePanel::enter);
        harness
    }

    fn press(&mut self, code: KeyCode) -> Vec<Effect> {
        self.press_with(code, KeyModifiers::NONE)
    }

    fn press_with(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Vec<Effect> {
        let (outcome, effects) = self.send(UiEvent::Key(KeyEvent::new(code, modifiers)));
        assert_eq!(outcome, Outcome::Consumed);
        effects
    }

    /// The engine reports the messages that were removed here.
    fn report_removed(&mut self, removed: Vec<RemovedMessage>) -> Vec<Effect> {
        self.work(|panel, cx| panel.apply_outcome(QueueOutcome::Removed(removed), cx))
    }

    /// Sets the queue.
    fn set_queue(&mut self, queue: Vec<QueueItem>) -> Vec<Effect> {
        self.model.activity.queue = queue;
        self.refresh()
    }
}

/// An action of the panel.
fn performed(action: Action) -> Effect {
    Effect::Perform(Address::Queue, action)
}

fn action(action: QueueAction) -> Vec<Effect> {
    vec![performed(Action::Queue(action))]
}

fn flashed(text: &str) -> Vec<Effect> {
    vec![Effect::Flash(FlashText { text: text.into(), call: None })]
}

#[test]
fn queue_panel_enter_selects_the_last_message() {
    insta::assert_snapshot!(Harness::new().drawn(), @r"
      ↳ steer   text of q1
      ↳ next    text of q2
    ▸ ↳ held    text of q3
        enter edit · r release · d remove · p steer with it · esc back
    ");
    let mut empty = Harness::new();
    empty.component = QueuePanel::default();
    empty.model.activity.queue.clear();
    assert_eq!(empty.work(QueuePanel::enter), flashed("No messages are queued."));
    assert!(!empty.component.has_keys());
}

#[test]
fn queue_panel_keys_act_on_the_selected_message() {
    let removed = QueueAction::Remove("q3".into(), 2);
    for (key, expected) in [
        ('r', action(QueueAction::Release("q3".into()))),
        ('d', action(removed)),
        ('p', action(QueueAction::SetKind("q3".into(), QueueKind::Steer))),
        ('D', action(QueueAction::Clear)),
        ('x', Vec::new()),
    ] {
        assert_eq!(Harness::new().press(KeyCode::Char(key)), expected, "{key}");
    }
}

#[test]
fn queue_panel_edit_moves_the_text_to_the_editor() {
    let mut harness = Harness::new();
    harness.press(KeyCode::Up);
    let then = AfterQueueEdit::Release;
    let edit = QueueEditRequest { id: "q2".into(), shown: "text of q2".into(), then };
    let hold = Action::Queue(QueueAction::Hold("q2".into()));
    assert_eq!(harness.press(KeyCode::Enter), [Effect::EditQueued(edit), performed(hold)]);
    assert!(harness.component.is_editing() && !harness.component.has_keys());
    harness.component.end_edit();
    assert!(harness.component.has_keys());
    assert!(harness.drawn().contains("▸ ↳ next    text of q2"), "{}", harness.drawn());
}

#[test]
fn queue_panel_selection_follows_or_reports_its_message() {
    let mut harness = Harness::new();
    let [first, second, third] = ["q1", "q2", "q3"].map(|id| item(id, QueueKind::FollowUp, false));
    assert_eq!(harness.set_queue(vec![third, first.clone(), second]), []);
    assert!(harness.drawn().starts_with("▸ ↳ next    text of q3"), "{}", harness.drawn());
    assert_eq!(harness.set_queue(vec![first]), flashed(MESSAGE_GONE));
    assert!(harness.drawn().starts_with("▸ ↳ next    text of q1"), "{}", harness.drawn());
}

#[test]
fn queue_panel_removed_messages_come_back() {
    let mut harness = Harness::new();
    harness.press(KeyCode::Char('D'));
    assert_eq!(harness.set_queue(Vec::new()), [], "it was removed here");
    let removed = vec![RemovedMessage { item: item("q1", QueueKind::Steer, false), place: 0 }];
    assert_eq!(harness.report_removed(removed.clone()), flashed("Removed; u restores it."));
    let restore = Action::Queue(QueueAction::Restore(removed));
    assert_eq!(harness.press(KeyCode::Char('u')), [Effect::ClearFlash, performed(restore)]);
}

#[test]
fn queue_panel_closed_by_itself_ignores_typing() {
    let mut harness = Harness::new();
    harness.set_queue(Vec::new());
    assert!(!harness.component.has_keys());
    let typed = KeyEvent::from(KeyCode::Char('d'));
    let effects = harness.work(|panel, cx| assert!(panel.ignores(typed, cx)));
    assert_eq!(effects, flashed("Ignored: the queue is empty. Keys go to the editor again."));
    harness.work(|panel, cx| assert!(!panel.ignores(KeyEvent::from(KeyCode::Esc), cx), "it types nothing"));
}

#[test]
fn queue_panel_key_for_a_delivered_message_changes_no_other() {
    let mut harness = Harness::new();
    let [first, second] = ["q1", "q2"].map(|id| item(id, QueueKind::FollowUp, false));
    assert_eq!(harness.set_queue(vec![first, second]), flashed(MESSAGE_GONE), "q3 was selected");
    for key in [KeyCode::Char('d'), KeyCode::Char('p'), KeyCode::Enter] {
        assert_eq!(harness.press(key), flashed(MESSAGE_GONE), "{key:?}");
    }
    harness.now = 400;
    assert_eq!(harness.press(KeyCode::Char('d')), action(QueueAction::Remove("q2".into(), 1)));
}

#[test]
fn queue_panel_message_that_the_user_selects_takes_keys_at_once() {
    let mut harness = Harness::new();
    harness.set_queue(["q1", "q2"].map(|id| item(id, QueueKind::FollowUp, false)).to_vec());
    harness.press(KeyCode::Up);
    assert_eq!(harness.press(KeyCode::Char('d')), action(QueueAction::Remove("q1".into(), 0)));
}

#[test]
fn queue_panel_reorders_within_a_kind() {
    let shift = |harness: &mut Harness, code| harness.press_with(code, KeyModifiers::SHIFT);
    let mut harness = Harness::new();
    assert_eq!(shift(&mut harness, KeyCode::Up), action(QueueAction::Move("q3".into(), 1)));
    harness.press(KeyCode::Up);
    assert_eq!(shift(&mut harness, KeyCode::Down), action(QueueAction::Move("q2".into(), 2)));
    let stays = flashed("Steering messages go first; p changes the kind.");
    assert_eq!(shift(&mut harness, KeyCode::Up), stays);
    harness.press(KeyCode::Up);
    let follows = action(QueueAction::SetKind("q1".into(), QueueKind::FollowUp));
    assert_eq!(harness.press(KeyCode::Char('p')), follows);
}

#[test]
fn queue_panel_counts_removed_messages_in_any_order() {
    let queue = Harness::new().model.activity.queue.clone();
    let removed: Vec<RemovedMessage> =
        queue.iter().cloned().enumerate().map(|(place, item)| RemovedMessage { item, place }).collect();
    for is_told_first in [true, false] {
        let mut harness = Harness::new();
        assert_eq!(harness.press_with(KeyCode::Char('D'), KeyModifiers::SHIFT), action(QueueAction::Clear));
        let mut effects = Vec::new();
        if is_told_first {
            effects.extend(harness.report_removed(removed.clone()));
        }
        effects.extend(harness.set_queue(queue[..1].to_vec()));
        effects.extend(harness.set_queue(Vec::new()));
        if !is_told_first {
            effects.extend(harness.report_removed(removed.clone()));
        }
        assert_eq!(effects, flashed("Removed 3; u restores them."));
        let restore = performed(Action::Queue(QueueAction::Restore(removed.clone())));
        assert_eq!(harness.press(KeyCode::Char('u')), [Effect::ClearFlash, restore]);
        harness.set_queue(queue.clone());
        assert_eq!(harness.set_queue(queue[..2].to_vec()), flashed(MESSAGE_GONE), "it went by itself");
    }
}

#[test]
fn queue_panel_left_after_a_removal_stays_left() {
    let mut harness = Harness::new();
    harness.press(KeyCode::Char('d'));
    harness.press(KeyCode::Esc);
    let mut remaining = harness.model.activity.queue.clone();
    let removed = vec![RemovedMessage { item: remaining.remove(2), place: 2 }];
    assert_eq!(harness.set_queue(remaining), []);
    let later = flashed("Removed; alt+up, then u restores them.");
    assert_eq!(harness.report_removed(removed.clone()), later);
    assert!(!harness.component.has_keys());
    harness.set_queue(Vec::new());
    harness.work(QueuePanel::enter);
    let restore = performed(Action::Queue(QueueAction::Restore(removed)));
    assert!(harness.press(KeyCode::Char('u')).contains(&restore));
}

#[test]
fn queue_panel_counts_messages_without_room() {
    let mut harness = Harness::new();
    harness.component = QueuePanel::default();
    harness.set_queue((0..9).map(|n| item(&format!("m{n}"), QueueKind::FollowUp, false)).collect());
    let rows = harness.drawn();
    assert!(rows.contains("text of m3") && !rows.contains("text of m4"), "{rows}");
    assert!(rows.contains("… 5 more · alt+up"), "{rows}");
    harness.work(QueuePanel::enter);
    assert!(harness.drawn().contains("▸ ↳ next    text of m8"), "{}", harness.drawn());
}

#[test]
fn queue_panel_rejected_restore_becomes_drafts() {
    let mut harness = Harness::new();
    let items = [item("q1", QueueKind::FollowUp, false), item("q2", QueueKind::FollowUp, false)];
    let removed = items.iter().map(|item| RemovedMessage { item: item.clone(), place: 0 }).collect();
    let restore = Action::Queue(QueueAction::Restore(removed));
    let rejected = harness.with(|panel, cx| panel.rejected(restore, cx));
    assert_eq!(rejected, (None, vec![Effect::RestoreMessages(items.to_vec())]));
}

#[test]
fn queue_panel_shows_steering_messages_first() {
    let mut harness = Harness::new();
    let kinds = [("q1", QueueKind::FollowUp), ("q2", QueueKind::Steer), ("q3", QueueKind::FollowUp)];
    harness.set_queue(kinds.map(|(id, kind)| item(id, kind, false)).to_vec());
    let rows = harness.drawn();
    let at = |text: &str| rows.find(text).unwrap_or_else(|| panic!("{text}: {rows}"));
    assert!(at("of q2") < at("of q1") && at("of q1") < at("of q3"), "{rows}");
}

#[test]
fn queue_panel_reports_a_late_edit() {
    let mut harness = Harness::new();
    let late = TaskResult::QueueOutcome(QueueOutcome::Gone(Some("better words".into())));
    let (left, effects) = harness.take(late);
    assert!(left.is_none());
    assert_eq!(effects, [Effect::QueueEditTooLate("better words".into())]);
    let (_, effects) = harness.take(TaskResult::QueueOutcome(QueueOutcome::Gone(None)));
    assert_eq!(effects, flashed(MESSAGE_GONE));
}

#[test]
fn queue_panel_undo_restores_the_newest_removal_first() {
    let mut harness = Harness::new();
    let mut remaining = harness.model.activity.queue.clone();
    assert_eq!(harness.press(KeyCode::Char('d')), action(QueueAction::Remove("q3".into(), 2)));
    let removed = RemovedMessage { item: remaining.remove(2), place: 2 };
    harness.set_queue(remaining.clone());
    assert_eq!(harness.report_removed(vec![removed.clone()]), flashed("Removed; u restores it."));
    assert_eq!(harness.press_with(KeyCode::Char('D'), KeyModifiers::SHIFT), action(QueueAction::Clear));
    harness.set_queue(Vec::new());
    let cleared: Vec<RemovedMessage> =
        remaining.into_iter().enumerate().map(|(place, item)| RemovedMessage { item, place }).collect();
    harness.report_removed(cleared.clone());
    assert!(harness.drawn().contains("the queue is empty"), "{}", harness.drawn());
    for removed in [cleared, vec![removed]] {
        let restore = performed(Action::Queue(QueueAction::Restore(removed)));
        assert_eq!(harness.press(KeyCode::Char('u')), [Effect::ClearFlash, restore]);
    }
    harness.set_queue(Harness::new().model.activity.queue.clone());
    let effects = harness.press(KeyCode::Enter);
    assert!(matches!(&effects[0], Effect::EditQueued(edit) if edit.id.as_str() == "q3"), "{effects:?}");
}

#[test]
fn queue_panel_whose_last_message_was_removed_keeps_its_keys() {
    let mut harness = Harness::new();
    harness.set_queue(vec![item("q1", QueueKind::FollowUp, false)]);
    harness.now = 400;
    assert_eq!(harness.press(KeyCode::Char('d')), action(QueueAction::Remove("q1".into(), 0)));
    harness.set_queue(Vec::new());
    assert_eq!(harness.press(KeyCode::Char('d')), [], "it isn't for the editor");
    let removed = vec![RemovedMessage { item: item("q1", QueueKind::FollowUp, false), place: 0 }];
    harness.report_removed(removed.clone());
    let restore = performed(Action::Queue(QueueAction::Restore(removed)));
    assert_eq!(harness.press(KeyCode::Char('u')), [Effect::ClearFlash, restore]);
}

#[test]
fn queue_panel_held_messages_name_the_release_key() {
    let texts = [
        ("q1", QueueKind::FollowUp, "then run the whole suite, and say which tests are slower than before"),
        ("q2", QueueKind::Steer, "and add a test for a lone \\r\nin the lexer"),
        ("q3", QueueKind::FollowUp, "make it look like this"),
    ];
    let held = |(id, kind, text)| QueueItem { held: true, ..queue_item(id, kind, text) };
    let mut queue = texts.map(held).to_vec();
    queue[2].images = [Image { data: "AA==".into(), mime_type: "image/png".into() }].into();
    let mut harness = Harness::new();
    harness.component = QueuePanel::default();
    harness.set_queue(queue.clone());
    insta::assert_snapshot!(harness.drawn(), @r"
      ↳ held    and add a test for a lone \r ⏎ i… · steers · alt+up edit or release
      ↳ held    then run the whole suite, and say which tests are slower than befo…
      ↳ held    make it look like this · 1 image
    ");
    harness.ui.size = (120, 40);
    harness.area.width = 120;
    insta::assert_snapshot!(harness.drawn(), @r"
      ↳ held    and add a test for a lone \r ⏎ in the lexer · steers · alt+up edit or release
      ↳ held    then run the whole suite, and say which tests are slower than before
      ↳ held    make it look like this · 1 image
    ");
    harness.work(QueuePanel::enter);
    assert!(harness.drawn().contains("r release"), "{}", harness.drawn());
    assert_eq!(harness.press(KeyCode::Char('r')), action(QueueAction::Release("q3".into())));
    assert_eq!(harness.set_queue(queue[..2].to_vec()), [], "it was released here");
    assert_eq!(harness.set_queue(Vec::new()), flashed(MESSAGE_GONE), "that one nobody let go");
}

#[test]
fn queue_panel_waiting_steering_message_names_enter() {
    let mut harness = Harness::new();
    harness.component = QueuePanel::default();
    harness.model.activity.running_since = Some(UnixMs(0));
    harness.set_queue(vec![queue_item("q1", QueueKind::Steer, "wait")]);
    assert!(harness.drawn().contains("↳ steer   wait · enter now"), "{}", harness.drawn());
}
