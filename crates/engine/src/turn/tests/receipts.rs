//! Tests of delivery receipts, and of messages that were removed and queued again.

use tiller_session::entry::{DeliveryReceipt, QueueHistory};

use super::*;

/// Returns the receipts of the messages that these effects append.
fn receipts(effects: &[Effect]) -> Vec<DeliveryReceipt> {
    let receipt = |effect: &Effect| match effect {
        Effect::Append(EntryBody::Message(entry)) => entry.tiller_receipt.clone(),
        _ => None,
    };
    effects.iter().filter_map(receipt).collect()
}

fn at_work(ids: &[&str]) -> Turn {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, ids));
    turn
}

fn queue_history() -> QueueHistory {
    QueueHistory { queued_at: Some(NOW), ..QueueHistory::default() }
}

#[test]
fn receipt_of_steering_names_finished_and_skipped_calls() {
    let mut turn = at_work(&["w1", "w2", "w3"]);
    step(&mut turn, prompt("wait"));
    let effects = turn.step(tool_ended(1, "w1"), NOW);
    let expected = DeliveryReceipt {
        after_calls: 1,
        skipped_calls: 2,
        waited: queue_history(),
        ..DeliveryReceipt::default()
    };
    assert_eq!(receipts(&effects), [expected]);
}

#[test]
fn receipt_of_steer_now_names_the_stopped_calls() {
    let mut turn = at_work(&["r1", "r2", "w3"]);
    step(&mut turn, tool_ended(1, "r1"));
    let effects = turn.step(steer_now("stop"), NOW);
    let expected = DeliveryReceipt {
        after_calls: 2,
        skipped_calls: 1,
        stopped_calls: 1,
        waited: queue_history(),
        ..DeliveryReceipt::default()
    };
    assert_eq!(receipts(&effects), [expected]);
}

#[test]
fn receipt_of_steer_now_notes_a_cut_off_answer() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    let effects = turn.step(steer_now("stop"), NOW);
    assert_eq!(
        receipts(&effects),
        [DeliveryReceipt { cut_off: true, waited: queue_history(), ..DeliveryReceipt::default() }]
    );
}

#[test]
fn receipt_of_follow_up_has_queue_time_and_edit() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step(&mut turn, follow_up("later"));
    let edit = QueueEdit { text: Some("much later".into()), ..QueueEdit::default() };
    step(&mut turn, Input::EditQueued { id: "q-later".into(), edit });
    let effects = turn.step(text_answer(1, StopReason::Stop), UnixMs(9));
    let queue_history = QueueHistory { edited: true, ..queue_history() };
    assert_eq!(
        receipts(&effects),
        [DeliveryReceipt { kind: QueueKind::FollowUp, waited: queue_history, ..DeliveryReceipt::default() }]
    );
}

#[test]
fn receipt_of_released_message_that_starts_a_run_skips_nothing() {
    let mut left = Queue::default();
    left.add(QueueItem { kind: QueueKind::Steer, ..waiting_item("q1", "one") }, NOW);
    left.hold_all();
    let mut turn = Turn::new(TurnOptions::default(), left);
    let effects = turn.step(Input::Release { id: "q1".into() }, UnixMs(9));
    let queue_history = QueueHistory { queued_as: Some(QueueKind::Steer), released: true, ..queue_history() };
    assert_eq!(
        receipts(&effects),
        [DeliveryReceipt { kind: QueueKind::FollowUp, waited: queue_history, ..DeliveryReceipt::default() }]
    );
}

#[test]
fn put_back_restores_the_position() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    for text in ["one", "two"] {
        step(&mut turn, follow_up(text));
    }
    let item = turn.queue().select(|_| true).remove(0);
    step(&mut turn, Input::Unqueue(vec![item.id.clone()]));
    let put_back = || Input::PutBack { item: item.clone(), position: 0 };
    let expected =
        ["append queue add one, queue edit q-one FollowUp one Some(0)", "emit queue_update [one, two]"];
    assert_eq!(step(&mut turn, put_back()), expected);
    assert!(step(&mut turn, put_back()).is_empty(), "it waits already");
}

#[test]
fn put_back_when_idle_holds_and_steering_denies_the_call() {
    let item = QueueItem { kind: QueueKind::Steer, ..waiting_item("q", "wait") };
    let put_back = || Input::PutBack { item: item.clone(), position: 9 };
    let mut idle = machine(TurnOptions::default());
    assert_eq!(step(&mut idle, put_back())[1], "emit queue_update [wait (held)]");
    let mut asking_turn = at_work(&["?1"]);
    let effects = step(&mut asking_turn, put_back());
    assert!(effects.contains(&"append user wait after 0 skipped 1".to_owned()), "{effects:?}");
}
