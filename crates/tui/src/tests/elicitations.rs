//! Tests of servers' questions, from the event to the answer or the withdrawal.

use crossterm::event::KeyCode;
use tiller_core::elicitation::{
    ElicitationAction, ElicitationAnswer, ElicitationKind, ElicitationRequest, FieldKind, FormField, Limits,
};
use tiller_core::event::EventKind;

use crate::action::Action;
use crate::tests::harness::Harness;

fn ask(harness: &mut Harness, id: &str) {
    let kind = FieldKind::Text { format: None, length: Limits::default() };
    let (title, description, default) = (None, None, None);
    let field = FormField { name: "name".into(), title, description, required: true, kind, default };
    harness.event(EventKind::ElicitationRequested(ElicitationRequest {
        elicitation_id: id.into(),
        server: Some("shop".into()),
        agent: None,
        message: format!("Question {id}?"),
        kind: ElicitationKind::Form { fields: vec![field] },
    }));
}

fn withdraw(harness: &mut Harness, id: &str) {
    let (elicitation_id, action) = (id.into(), ElicitationAction::Cancel);
    harness.event(EventKind::ElicitationResolved { elicitation_id, action, withdrawn: true });
}

#[test]
fn elicitation_withdrawn_form_keeps_the_keys_until_it_is_closed() {
    let mut harness = Harness::new(80, 24);
    ask(&mut harness, "e1");
    harness.wait(400);
    harness.type_text("Ad");
    withdraw(&mut harness, "e1");
    ask(&mut harness, "e2");
    harness.type_text("a");
    assert_eq!(harness.key(KeyCode::Enter), [], "too early to be meant for the withdrawal");
    let screen = harness.screen();
    assert!(
        screen.contains("── withdrawn by MCP server shop ─") && screen.contains("esc closes ─"),
        "{screen}"
    );
    assert!(
        screen.contains("  MCP server shop stopped waiting for an answer; nothing was sent · esc closes"),
        "{screen}"
    );
    assert!(screen.contains("▸ name *  Ad\n") && screen.contains("Question e1?"), "{screen}");
    harness.wait(400);
    assert_eq!(harness.key(KeyCode::Enter), []);
    let screen = harness.screen();
    assert!(screen.contains("Question e2?"), "the next one: {screen}");
    harness.wait(400);
    let cancelled = Action::AnswerElicitation("e2".into(), ElicitationAnswer::Cancel);
    assert_eq!(harness.key(KeyCode::Esc), [cancelled]);
    assert!(!harness.screen().contains("shop"), "an answer closes the form");
}

#[test]
fn elicitation_withdrawn_before_it_was_noticed_is_gone() {
    let mut harness = Harness::new(80, 24);
    ask(&mut harness, "e1");
    harness.wait(100);
    withdraw(&mut harness, "e1");
    assert!(!harness.screen().contains("shop"), "{}", harness.screen());
}
