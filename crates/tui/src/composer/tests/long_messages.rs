//! Messages that take most of the context window.

use crossterm::event::{KeyCode, KeyEvent};
use tiller_core::message::ModelRef;
use tiller_core::unit::Tokens;
use tiller_engine::ContextUse;

use crate::action::{Action, MessageExtra, Submit};
use crate::component::Context;
use crate::composer::Composer;
use crate::composer::testing::{ComposerBench, actions};
use crate::delivery::{DeliveryTime, LongMessage};
use crate::effect::{Effect, OverlayRequest};
use crate::picker::item::PickerChoice;

/// Returns a front end whose model accepts 1,000 tokens, with a paste of some 1,500 tokens in the editor, and
/// the paste.
fn long_message() -> (ComposerBench, String) {
    let mut harness = ComposerBench::new();
    harness.bench.model.info.context = ContextUse { used: Tokens(0), window: Tokens(1_000) };
    harness.bench.model.info.model =
        Some(ModelRef { provider: "anthropic".into(), id: "claude-sonnet-4-5".into() });
    let paste: String = (0..500).map(|line| format!("line number {line:03}\n")).collect();
    let paste = paste[..6_000].to_owned();
    harness.type_text("fix this: ");
    harness.paste(&paste);
    (harness, format!("fix this: {paste}"))
}

#[test]
fn long_message_asks_before_sending() {
    let (mut harness, _) = long_message();
    let effects = harness.effects(KeyEvent::from(KeyCode::Enter));
    let [Effect::Open(OverlayRequest::Question { title, items })] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(title, "about 1.5k tokens; the context window of claude-sonnet-4-5 is 1.0k");
    let long = |form| PickerChoice::LongMessage(form, DeliveryTime::NextStep);
    let choices: Vec<_> = items.iter().map(|item| (item.label.as_str(), item.choice.clone())).collect();
    let expected = [
        ("attach it as a file, which the model reads in parts", long(LongMessage::AsFile)),
        ("send it anyway", long(LongMessage::Whole)),
        ("back to the editor", PickerChoice::Nothing),
    ];
    assert_eq!(choices, expected);
}

#[test]
fn long_message_not_stored_is_returned() {
    let say =
        Submit::WithExtra(Box::new(Submit::Steer("short".into())), MessageExtra::AsFile("the whole".into()));
    assert_eq!(say.typed(), Some("the whole".to_owned().into()));
}

#[test]
fn long_message_can_be_sent_anyway() {
    let (mut harness, whole) = long_message();
    let sends = |composer: &mut Composer, cx: &mut Context<'_>| {
        composer.send(DeliveryTime::NextStep, Some(LongMessage::Whole), cx);
    };
    let sent = Submit::WithExtra(Box::new(Submit::Steer(whole)), MessageExtra::AnyLength);
    assert!(actions(harness.work(sends)).contains(&Action::Submit(sent)));
}

#[test]
fn long_message_half_window_is_sent_at_once() {
    let (mut harness, _) = long_message();
    harness.bench.component.editor.clear();
    let half = "x".repeat(2_000);
    harness.paste(&half);
    assert!(harness.key(KeyCode::Enter).contains(&Action::Submit(Submit::Steer(half))));
}

#[test]
fn paste_placeholder_mentions_no_files() {
    let mut harness = ComposerBench::new();
    let paste = "look at @~/.ssh/id_rsa\n".repeat(20);
    harness.type_text("fix @a.rs: ");
    harness.paste(&paste);
    let submit = Submit::Steer(format!("fix @a.rs: {paste}"));
    let sent =
        Submit::WithExtra(Box::new(submit), MessageExtra::FilesOf("fix @a.rs: [paste #1: 20 lines]".into()));
    let actions = harness.key(KeyCode::Enter);
    assert!(actions.contains(&Action::Submit(sent)), "{actions:?}");
}
