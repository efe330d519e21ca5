//! Tests of conflicts between parts of the front end over keys, texts and images.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tiller_core::event::{EventKind, QueueItem, QueueKind};
use tiller_core::message::Image;

use super::harness::{Harness, at_work, call, steered, text};
use crate::action::{Action, Submit};
use crate::attach::AttachedImage;
use crate::component::testing::queue_item;
use crate::message::{Msg, TaskResult};
use crate::queue::QueueAction;

impl Harness {
    fn queue_one(&mut self) {
        let item = queue_item("q1", QueueKind::FollowUp, "then run the suite");
        self.event(EventKind::queue_update(vec![item]));
    }

    fn mouse_button(&mut self, kind: MouseEventKind, (column, row): (u16, u16)) -> Vec<Action> {
        self.screen();
        self.actions.clear();
        self.input(Msg::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
        std::mem::take(&mut self.actions)
    }

    fn input_text(&mut self, text: &str) -> Vec<Action> {
        self.actions.clear();
        self.input(Msg::Text(text.into()));
        std::mem::take(&mut self.actions)
    }
}

fn picture() -> AttachedImage {
    AttachedImage { image: Image { data: "AA==".into(), mime_type: "image/png".into() }, size: (3, 2) }
}

#[test]
fn search_keys_do_not_reach_the_queue() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    harness.queue_one();
    harness.press(KeyCode::Up, KeyModifiers::ALT);
    harness.control('f');
    let orders: Vec<Action> = "dprD".chars().flat_map(|c| harness.key(KeyCode::Char(c))).collect();
    assert!(!orders.iter().any(|action| matches!(action, Action::Queue(_))), "{orders:?}");
    assert!(harness.screen().contains("/ dprD"), "{}", harness.screen());
    harness.key(KeyCode::Esc);
    assert_eq!(
        harness.key(KeyCode::Char('p')),
        [Action::Queue(QueueAction::SetKind("q1".into(), QueueKind::Steer))]
    );
}

#[test]
fn search_has_keys_while_editing_queue() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    harness.queue_one();
    harness.press(KeyCode::Up, KeyModifiers::ALT);
    harness.key(KeyCode::Enter);
    harness.control('f');
    harness.type_text("lexer");
    harness.key(KeyCode::Enter);
    assert!(harness.app.queue.is_editing(), "{}", harness.screen());
    harness.key(KeyCode::Esc);
    assert!(harness.app.queue.is_editing() && !harness.app.transcript.is_searching());
    assert_eq!(harness.app.composer.editor.text(), "then run the suite");
}

#[test]
fn focused_block_takes_no_key_of_next_message() {
    let mut harness = Harness::new(80, 24);
    steered(&mut harness);
    harness.screen();
    harness.press(KeyCode::Char('k'), KeyModifiers::ALT);
    harness.type_text("yes");
    assert_eq!(harness.key(KeyCode::Enter).last(), Some(&Action::Submit(Submit::Steer("yes".into()))));
    assert_eq!(harness.key(KeyCode::Char('c')), []);
    assert_eq!(harness.app.composer.editor.text(), "c");
}

#[test]
fn focused_block_takes_no_letter_of_fast_text() {
    let mut harness = Harness::new(80, 24);
    steered(&mut harness);
    harness.screen();
    harness.press(KeyCode::Char('k'), KeyModifiers::ALT);
    let first = harness.app.transcript.content().focus();
    assert_eq!(harness.input_text("kk"), []);
    assert!(
        harness.app.transcript.content().focus().is_some()
            && harness.app.transcript.content().focus() != first,
        "a key held down"
    );
    assert_eq!(harness.input_text("check"), []);
    assert_eq!(harness.app.composer.editor.text(), "check");
}

#[test]
fn drag_ending_under_list_ends() {
    let mut harness = Harness::new(80, 24);
    for nth in 0..20 {
        harness.user(&format!("prompt {nth}"));
        harness.answer(vec![text("an answer")]);
    }
    harness.mouse_button(MouseEventKind::Down(MouseButton::Left), (5, 8));
    harness.mouse_button(MouseEventKind::Drag(MouseButton::Left), (5, 0));
    assert!(harness.app.wants_ticks());
    harness.control('l');
    let before = harness.app.transcript.content().place();
    harness.wait(100);
    harness.screen();
    assert_eq!(harness.app.transcript.content().place(), before, "nothing moves beneath the list");
    harness.mouse_button(MouseEventKind::Up(MouseButton::Left), (5, 0));
    harness.key(KeyCode::Esc);
    assert!(!harness.app.wants_ticks());
}

/// Random keys and events at random sizes: every state that they lead to can be drawn.
#[test]
fn random_keys_and_events_never_panic() {
    let keys = [
        KeyCode::Esc,
        KeyCode::Enter,
        KeyCode::Tab,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Backspace,
        KeyCode::Delete,
    ];
    let letters: Vec<char> = "abcdefghijklmnopqrtuvwyxD/@?!~.é日 \\\u{301}".chars().collect();
    let modifiers = [KeyModifiers::NONE, KeyModifiers::CONTROL, KeyModifiers::ALT, KeyModifiers::SHIFT];
    let mut seed = 7_u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    for round in 0..8 {
        let mut harness = Harness::new(80, 24);
        if round % 2 == 0 {
            at_work(&mut harness)
        } else {
            steered(&mut harness)
        }
        for _ in 0..120 {
            let place = (u16::try_from(random(90)).unwrap(), u16::try_from(random(30)).unwrap());
            match random(24) {
                0 => harness.input(Msg::Resize { width: place.0.max(1), height: place.1.max(1) }),
                1 => harness.queue_one(),
                2 => harness.request_approval(),
                3 => harness.user("a prompt\nof two lines"),
                4 => harness.answer(vec![text("an *answer*"), call("c9", "bash", serde_json::json!({}))]),
                5 => harness.text(0, "some **text**\n```\ncode\n"),
                6 => _ = harness.mouse_button(MouseEventKind::Down(MouseButton::Left), place),
                7 => _ = harness.mouse_button(MouseEventKind::Drag(MouseButton::Left), place),
                8 => _ = harness.mouse_button(MouseEventKind::Up(MouseButton::Left), place),
                9 => _ = harness.mouse_button(MouseEventKind::ScrollUp, place),
                10 => harness.wait(500),
                11 => harness.input(Msg::Paste("pasted\n".repeat(random(12)))),
                12 => harness.event(EventKind::queue_update(Vec::<QueueItem>::new())),
                13 => harness.report_result(TaskResult::Attached(picture())),
                14..=18 => _ = harness.press(keys[random(keys.len())], modifiers[random(4)]),
                _ => _ = harness.press(KeyCode::Char(letters[random(letters.len())]), modifiers[random(4)]),
            }
            if random(3) == 0 {
                harness.screen();
            }
        }
        assert_eq!(harness.screen().split('\n').count(), usize::from(harness.app.ui.size.1));
    }
}
