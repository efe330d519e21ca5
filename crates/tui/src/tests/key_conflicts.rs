//! Conflicts between parts of the front end over keys, texts and images.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tiller_core::event::{EventKind, QueueItem, QueueKind};
use tiller_core::message::Image;

use super::harness::{Harness, at_work, call, steered, text};
use crate::app::{Action, Job, Msg, Submit, TaskResult, TerminalAction};
use crate::attach::AttachedImage;
use crate::queue::{AfterQueueEdit, QueueAction};

impl Harness {
    fn one_waits(&mut self) {
        let item = QueueItem {
            id: "q1".into(),
            kind: QueueKind::FollowUp,
            text: "then run the suite".into(),
            typed: None,
            images: [].into(),
            held: false,
        };
        self.event(EventKind::queue_update(vec![item]));
    }

    fn button(&mut self, kind: MouseEventKind, (column, row): (u16, u16)) -> Vec<Action> {
        self.screen();
        self.actions.clear();
        self.input(Msg::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
        std::mem::take(&mut self.actions)
    }

    fn typed_at_once(&mut self, text: &str) -> Vec<Action> {
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
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    stage.one_waits();
    stage.press(KeyCode::Up, KeyModifiers::ALT);
    stage.control('f');
    let orders: Vec<Action> = "dprD".chars().flat_map(|c| stage.key(KeyCode::Char(c))).collect();
    assert!(!orders.iter().any(|action| matches!(action, Action::Queue(_))), "{orders:?}");
    assert!(stage.screen().contains("/ dprD"), "{}", stage.screen());
    stage.key(KeyCode::Esc);
    assert_eq!(
        stage.key(KeyCode::Char('p')),
        [Action::Queue(QueueAction::SetKind("q1".into(), QueueKind::Steer))]
    );
}

#[test]
fn returned_messages_keep_all_images() {
    let mut stage = Harness::new(80, 24);
    let waiting = |id: &str| QueueItem {
        id: id.into(),
        kind: QueueKind::FollowUp,
        text: "like [image #1: 3×2]".into(),
        typed: None,
        images: [Image { data: id.into(), mime_type: "image/png".into() }].into(),
        held: false,
    };
    let report = TaskResult::ReturnedMessages(vec![waiting("q1"), waiting("q2")]);
    assert!(report.returns_input(), "they are in no queue any more");
    stage.input(Msg::TaskResult(report));
    assert_eq!(stage.app.editor.text(), "like [image #1: 3×2]\n\nlike [image #2: 3×2]");
    assert_eq!(stage.app.editor.images().iter().map(|image| &*image.data).collect::<Vec<_>>(), ["q1", "q2"]);
}

#[test]
fn image_rejected_job_types_path() {
    let mut stage = Harness::new(80, 24);
    stage.actions.clear();
    let actions = {
        stage.input(Msg::Paste("/tmp/shot.png".into()));
        std::mem::take(&mut stage.actions)
    };
    let [action @ Action::Attach(..)] = &actions[..] else { panic!("{actions:?}") };
    stage.app.reject_action(action.clone());
    assert_eq!(stage.app.editor.text(), "/tmp/shot.png");
}

#[test]
fn search_paste_bidi_is_visible() {
    let mut stage = Harness::new(80, 24);
    stage.control('f');
    stage.input(Msg::Paste("\u{202e}txt".into()));
    assert!(stage.screen().contains("/ <U+202E>txt"), "{}", stage.screen());
}

#[test]
fn search_has_keys_while_editing_queue() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    stage.one_waits();
    stage.press(KeyCode::Up, KeyModifiers::ALT);
    stage.key(KeyCode::Enter);
    stage.control('f');
    stage.type_text("lexer");
    stage.key(KeyCode::Enter);
    assert!(stage.app.queue.is_editing(), "{}", stage.screen());
    stage.key(KeyCode::Esc);
    assert!(stage.app.queue.is_editing() && stage.app.navigation.search.is_none());
    assert_eq!(stage.app.editor.text(), "then run the suite");
}

#[test]
fn completion_has_keys_while_editing_queue() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    stage.one_waits();
    stage.press(KeyCode::Up, KeyModifiers::ALT);
    stage.key(KeyCode::Enter);
    stage.control('u');
    stage.type_text("/mod");
    assert!(!stage.app.completion.candidates().is_empty());
    stage.key(KeyCode::Esc);
    assert!(stage.app.queue.is_editing() && stage.app.completion.candidates().is_empty());
    stage.type_text("e");
    stage.key(KeyCode::Tab);
    assert_eq!((stage.app.editor.text().trim_end(), stage.app.queue.is_editing()), ("/model", true));
}

#[test]
fn focused_block_takes_no_key_of_next_message() {
    let mut stage = Harness::new(80, 24);
    steered(&mut stage);
    stage.screen();
    stage.press(KeyCode::Char('k'), KeyModifiers::ALT);
    stage.type_text("yes");
    assert_eq!(stage.key(KeyCode::Enter).last(), Some(&Action::Submit(Submit::Steer("yes".into()))));
    assert_eq!(stage.key(KeyCode::Char('c')), []);
    assert_eq!(stage.app.editor.text(), "c");
}

#[test]
fn focused_block_takes_no_letter_of_fast_text() {
    let mut stage = Harness::new(80, 24);
    steered(&mut stage);
    stage.screen();
    stage.press(KeyCode::Char('k'), KeyModifiers::ALT);
    let first = stage.app.transcript.focus();
    assert_eq!(stage.typed_at_once("kk"), []);
    assert!(
        stage.app.transcript.focus().is_some() && stage.app.transcript.focus() != first,
        "a key held down"
    );
    assert_eq!(stage.typed_at_once("check"), []);
    assert_eq!(stage.app.editor.text(), "check");
}

#[test]
fn drag_ending_under_list_ends() {
    let mut stage = Harness::new(80, 24);
    for nth in 0..20 {
        stage.user(&format!("prompt {nth}"));
        stage.answer(vec![text("an answer")]);
    }
    stage.button(MouseEventKind::Down(MouseButton::Left), (5, 8));
    stage.button(MouseEventKind::Drag(MouseButton::Left), (5, 0));
    assert!(stage.app.wants_ticks());
    stage.control('l');
    let before = stage.app.transcript.place();
    stage.wait(100);
    stage.screen();
    assert_eq!(stage.app.transcript.place(), before, "nothing moves beneath the list");
    stage.button(MouseEventKind::Up(MouseButton::Left), (5, 0));
    stage.key(KeyCode::Esc);
    assert!(!stage.app.wants_ticks());
}

#[test]
fn completion_leaves_arrows_to_history() {
    let mut stage = Harness::new(80, 24);
    stage.app.editor.remember("/t");
    stage.key(KeyCode::Up);
    assert_eq!(stage.app.editor.text(), "/t");
    stage.key(KeyCode::Up);
    assert_eq!(stage.app.editor.text(), "an earlier prompt");
    stage.key(KeyCode::Down);
    stage.type_text("r");
    assert!(!stage.app.completion.candidates().is_empty(), "changed, it is a text like any other");
}

#[test]
fn completion_updates_after_external_editor() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("/mod");
    assert_eq!(stage.control('g'), [Action::Terminal(TerminalAction::EditExternally("/mod".into()))]);
    stage.input(Msg::TaskResult(TaskResult::Edited("hello".into())));
    assert_eq!(stage.key(KeyCode::Enter).last(), Some(&Action::Submit(Submit::Steer("hello".into()))));
}

#[test]
fn shell_command_not_run_is_returned() {
    let mut stage = Harness::new(80, 24);
    for line in ["!ls", "!!ls", "ls"] {
        stage.type_text(line);
        let actions = stage.key(KeyCode::Enter);
        let Some(Action::Submit(say)) = actions.last() else { panic!("{actions:?}") };
        assert_eq!(say.typed(), Some(line.to_owned().into()));
    }
}

#[test]
fn undelivered_message_is_a_draft() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("half");
    stage.app.reject_action(Action::Submit(Submit::Steer("whole".into())));
    assert_eq!(stage.app.editor.text(), "whole\n\nhalf");
}

#[test]
fn undelivered_queue_command_loses_nothing() {
    let item = |id: &str, text: &str| QueueItem {
        id: id.into(),
        kind: QueueKind::FollowUp,
        text: text.into(),
        typed: None,
        images: [].into(),
        held: false,
    };
    let removed = |text: &str| crate::queue::RemovedMessage { item: item("q1", text), place: 0 };
    let mut stage = Harness::new(80, 24);
    stage.app.reject_action(Action::Queue(QueueAction::Restore(vec![removed("one"), removed("two")])));
    assert_eq!(stage.app.editor.text(), "one\n\ntwo");
    stage.app.reject_action(Action::Queue(QueueAction::Edit(
        "q1".into(),
        "otherwise".into(),
        AfterQueueEdit::Keep,
    )));
    assert!(stage.app.editor.text().starts_with("otherwise"));
}

#[test]
fn image_placeholder_is_never_split() {
    let mut stage = Harness::new(80, 24);
    stage.input(Msg::TaskResult(TaskResult::Attached(picture())));
    assert_eq!(stage.app.editor.text(), "[image #1: 3×2] ");
    stage.control('w');
    assert_eq!(stage.app.editor.text(), "");
    stage.input(Msg::TaskResult(TaskResult::Attached(picture())));
    stage.control('a');
    stage.type_text("see ");
    stage.key(KeyCode::Left);
    stage.press(KeyCode::Char('d'), KeyModifiers::ALT);
    assert_eq!(stage.app.editor.text(), "see ");
}

#[test]
fn queued_message_takes_no_image() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    stage.one_waits();
    stage.press(KeyCode::Up, KeyModifiers::ALT);
    stage.key(KeyCode::Enter);
    stage.input(Msg::TaskResult(TaskResult::Attached(picture())));
    assert_eq!(stage.app.editor.text(), "then run the suite");
    assert!(stage.screen().contains("Images can't be attached here"), "{}", stage.screen());
}

#[test]
fn draft_has_no_image_placeholder() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("look:");
    stage.input(Msg::TaskResult(TaskResult::Attached(picture())));
    stage.type_text("what is it");
    assert_eq!(stage.app.unsent_text(), "look: what is it");
}

#[test]
fn history_prompt_has_expanded_paste() {
    let mut stage = Harness::new(80, 24);
    let pasted = "one line\n".repeat(9);
    stage.input(Msg::Paste(pasted.clone()));
    stage.key(KeyCode::Enter);
    stage.input(Msg::Paste("another\n".repeat(9)));
    stage.control('c');
    stage.key(KeyCode::Up);
    assert_eq!(stage.app.editor.expanded(), pasted);
}

/// Keys and events in no order, at sizes in no order: whatever is left behind, the next key meets a state that can be
/// drawn.
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
        let mut stage = Harness::new(80, 24);
        if round % 2 == 0 {
            at_work(&mut stage)
        } else {
            steered(&mut stage)
        }
        for _ in 0..120 {
            let place = (u16::try_from(random(90)).unwrap(), u16::try_from(random(30)).unwrap());
            match random(24) {
                0 => stage.input(Msg::Resize { width: place.0.max(1), height: place.1.max(1) }),
                1 => stage.one_waits(),
                2 => stage.asks(),
                3 => stage.user("a prompt\nof two lines"),
                4 => stage.answer(vec![text("an *answer*"), call("c9", "bash", serde_json::json!({}))]),
                5 => stage.text(0, "some **text**\n```\ncode\n"),
                6 => _ = stage.button(MouseEventKind::Down(MouseButton::Left), place),
                7 => _ = stage.button(MouseEventKind::Drag(MouseButton::Left), place),
                8 => _ = stage.button(MouseEventKind::Up(MouseButton::Left), place),
                9 => _ = stage.button(MouseEventKind::ScrollUp, place),
                10 => stage.wait(500),
                11 => stage.input(Msg::Paste("pasted\n".repeat(random(12)))),
                12 => stage.event(EventKind::queue_update(Vec::<QueueItem>::new())),
                13 => stage.input(Msg::TaskResult(TaskResult::Attached(picture()))),
                14..=18 => _ = stage.press(keys[random(keys.len())], modifiers[random(4)]),
                _ => _ = stage.press(KeyCode::Char(letters[random(letters.len())]), modifiers[random(4)]),
            }
            if random(3) == 0 {
                stage.screen();
            }
        }
        assert_eq!(stage.screen().split('\n').count(), usize::from(stage.app.ui.size.1));
    }
}

#[test]
fn click_anywhere_keeps_cursor_off_placeholder() {
    for (width, height) in (1..14).flat_map(|width| (1..10).map(move |height| (width, height))) {
        let mut stage = Harness::new(width, height);
        stage.type_text("日本 a\tb ");
        stage.input(Msg::Paste("line\n".repeat(20)));
        stage.type_text(" after");
        for (column, row) in (0..width).flat_map(|column| (0..height).map(move |row| (column, row))) {
            stage.button(MouseEventKind::Down(MouseButton::Left), (column, row));
            stage.button(MouseEventKind::Up(MouseButton::Left), (column, row));
            let before = stage.app.editor.before_cursor();
            assert_eq!(
                before.contains('['),
                before.contains(']'),
                "{width}x{height}, {column} {row}: {before}"
            );
        }
    }
}

#[test]
fn export_long_job_is_shown() {
    let mut stage = Harness::new(80, 24);
    stage.input(Msg::TaskResult(TaskResult::Began(Job::Export)));
    stage.wait(199);
    assert!(!stage.screen().contains("exporting"), "{}", stage.screen());
    assert!(stage.app.wants_ticks());
    stage.wait(1_001);
    assert!(stage.screen().contains("exporting the session… 1.2s"), "{}", stage.screen());
    stage.event(EventKind::AgentStart);
    assert!(stage.screen().contains(" · exporting the session…"), "{}", stage.screen());
    stage.input(Msg::TaskResult(TaskResult::Ended(Job::Export)));
    assert!(!stage.screen().contains("exporting"), "{}", stage.screen());
}
