//! Enter and its relatives: what is sent, and what comes back if it can't be.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use tiller_core::event::{QueueItem, QueueKind};
use tiller_core::unit::UnixMs;
use tiller_engine::BashContext;

use crate::action::{Action, BackgroundJob, Submit, TerminalAction};
use crate::component::testing::queue_item;
use crate::composer::testing::ComposerBench;
use crate::effect::{Effect, OverlayRequest, QueueEditRequest};
use crate::message::TaskResult;
use crate::queue::{AfterQueueEdit, QueueAction};
use crate::tree::request::TreePurpose;

#[test]
fn enter_steers_and_alt_enter_queues() {
    let mut harness = ComposerBench::new();
    harness.type_text("hello");
    let remember = Action::Background(BackgroundJob::AppendHistory(vec!["hello".into()]));
    assert_eq!(harness.key(KeyCode::Enter), [remember, Action::Submit(Submit::Steer("hello".into()))]);
    harness.type_text("later");
    let actions = harness.press(KeyCode::Enter, KeyModifiers::ALT);
    assert_eq!(actions[1..], [Action::Submit(Submit::FollowUp("later".into()))]);
    harness.type_text("!!env");
    assert_eq!(
        harness.key(KeyCode::Enter)[1..],
        [Action::Submit(Submit::Bash("env".into(), BashContext::Exclude))]
    );
    assert_eq!(harness.key(KeyCode::Enter), []);
}

#[test]
fn enter_again_delivers_steering_now() {
    let mut harness = ComposerBench::new();
    harness.bench.model.activity.queue = vec![queue_item("q", QueueKind::Steer, "wait")];
    assert_eq!(harness.key(KeyCode::Enter), [], "nothing is in flight");
    harness.bench.model.activity.running_since = Some(UnixMs(0));
    assert_eq!(harness.key(KeyCode::Enter), [Action::Submit(Submit::DeliverSteeringNow)]);
    harness.type_text("stop");
    let actions = harness.press(KeyCode::Enter, KeyModifiers::CONTROL);
    assert!(actions.contains(&Action::Submit(Submit::SteerNow("stop".into()))), "{actions:?}");
}

#[test]
fn completion_partial_command() {
    let mut harness = ComposerBench::new();
    harness.type_text("/fo");
    assert!(harness.screen().contains("/followup TEXT"));
    harness.key(KeyCode::Down);
    harness.key(KeyCode::Tab);
    assert_eq!(harness.text(), "/followup ");
    harness.control('u');
    harness.type_text("/tre");
    let effects = harness.effects(KeyEvent::from(KeyCode::Enter));
    let opens = Effect::Open(OverlayRequest::Tree(TreePurpose::Go));
    assert!(effects.contains(&opens), "{effects:?}");
}

#[test]
fn shell_command_not_run_is_returned() {
    let mut harness = ComposerBench::new();
    for line in ["!ls", "!!ls", "ls"] {
        harness.type_text(line);
        let actions = harness.key(KeyCode::Enter);
        let Some(Action::Submit(say)) = actions.last() else { panic!("{actions:?}") };
        assert_eq!(say.typed(), Some(line.to_owned().into()));
    }
}

#[test]
fn undelivered_message_is_a_draft() {
    let mut harness = ComposerBench::new();
    harness.type_text("half");
    harness.reject(Action::Submit(Submit::Steer("whole".into())));
    assert_eq!(harness.text(), "whole\n\nhalf");
}

#[test]
fn completion_updates_after_external_editor() {
    let mut harness = ComposerBench::new();
    harness.type_text("/mod");
    assert_eq!(harness.control('g'), [Action::Terminal(TerminalAction::EditExternally("/mod".into()))]);
    harness.report(TaskResult::Edited("hello".into()));
    assert_eq!(harness.key(KeyCode::Enter).last(), Some(&Action::Submit(Submit::Steer("hello".into()))));
}

#[test]
fn completion_has_keys_while_editing_queue() {
    let mut harness = ComposerBench::new();
    harness.edit_queued("then run the suite");
    let is_editing = |harness: &ComposerBench| !harness.bench.component.is_for_message();
    harness.control('u');
    harness.type_text("/mod");
    assert!(!harness.bench.component.completion.candidates().is_empty());
    harness.key(KeyCode::Esc);
    assert!(is_editing(&harness) && harness.bench.component.completion.candidates().is_empty());
    harness.type_text("e");
    harness.key(KeyCode::Tab);
    assert_eq!((harness.text().trim_end(), is_editing(&harness)), ("/model", true));
}

#[test]
fn click_anywhere_keeps_cursor_off_placeholder() {
    for (width, height) in (1..14).flat_map(|width| (1..10).map(move |height| (width, height))) {
        let mut harness = ComposerBench::new();
        harness.bench.area = Rect::new(0, 0, width, height);
        harness.type_text("日本 a\tb ");
        harness.paste(&"line\n".repeat(20));
        harness.type_text(" after");
        for (column, row) in (0..width).flat_map(|column| (0..height).map(move |row| (column, row))) {
            harness.bench.component.wrap_text((width, 3 * height));
            harness.bench.buffer();
            harness.bench.press_at(column, row);
            let before = harness.bench.component.editor.before_cursor();
            assert_eq!(
                before.contains('['),
                before.contains(']'),
                "{width}x{height}, {column} {row}: {before}"
            );
        }
    }
}

#[test]
fn queue_held_message_stays_held() {
    let mut harness = ComposerBench::new();
    let edit = QueueEditRequest { id: "q1".into(), shown: "text".into(), then: AfterQueueEdit::Keep };
    let queue = vec![QueueItem { held: true, ..queue_item("q1", QueueKind::FollowUp, "text") }];
    harness.bench.model.activity.queue = queue;
    harness.work(|composer, _| composer.edit_queued(edit));
    assert_eq!(harness.key(KeyCode::Enter), [], "nothing was changed");
    assert!(harness.bench.component.is_for_message());
}

#[test]
fn input_error_keeps_edited_message_apart() {
    let slip = |harness: &mut ComposerBench| {
        let typed = "/skill:typo look".to_owned();
        harness.work(|composer, cx| composer.reject_input(typed, "there is no skill typo", cx));
    };
    let mut harness = ComposerBench::new();
    harness.type_text("a draft");
    harness.edit_queued("the third of them");
    slip(&mut harness);
    assert_eq!(harness.text(), "the third of them");
    harness.key(KeyCode::Esc);
    let draft = harness.text();
    assert!(draft.starts_with("/skill:typo look") && draft.ends_with("a draft"), "{draft}");
    harness.control('c');
    harness.write_reason("use nextest");
    slip(&mut harness);
    assert_eq!(harness.text(), "use nextest");
    assert!(harness.flash.contains("your text is in the prompt history"), "{}", harness.flash);
    let history = harness.bench.component.editor.history();
    assert_eq!(history.last().map(String::as_str), Some("/skill:typo look"));
}

#[test]
fn returned_messages_are_in_screen_order() {
    let mut harness = ComposerBench::new();
    let items = [
        queue_item("q1", QueueKind::FollowUp, "then run the whole suite"),
        queue_item("q2", QueueKind::Steer, "and add a test"),
        queue_item("q3", QueueKind::FollowUp, "make it look like this"),
    ];
    harness.report(TaskResult::ReturnedMessages(items.to_vec()));
    assert_eq!(harness.text(), "and add a test\n\nthen run the whole suite\n\nmake it look like this");
}

#[test]
fn queue_late_edit_is_a_draft() {
    let mut harness = ComposerBench::new();
    harness.work(|composer, cx| composer.queued_message_removed(Some("better words".into()), cx));
    assert_eq!(harness.text(), "better words");
    assert!(harness.flash.contains("your edit is kept as a draft"), "{}", harness.flash);
}

#[test]
fn undelivered_queue_command_loses_nothing() {
    let mut harness = ComposerBench::new();
    let items = ["one", "two"].map(|text| queue_item("q1", QueueKind::FollowUp, text));
    harness.work(|composer, _| composer.restore_messages(&items));
    assert_eq!(harness.text(), "one\n\ntwo");
    let edit = QueueAction::Edit("q1".into(), "otherwise".into(), AfterQueueEdit::Keep);
    harness.reject(Action::Queue(edit));
    assert!(harness.text().starts_with("otherwise"), "{}", harness.text());
}
