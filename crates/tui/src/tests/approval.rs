//! Approval requests: the panel, the page, and the keys that answer.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};
use tiller_core::event::{ApprovalRequest, Decision, EventKind, FileChange, Preview, QueueItem, QueueKind};
use tiller_core::unit::UnixMs;
use tiller_engine::{ApprovalMode, InFlight, Snapshot};

use super::harness::{Harness, SIZES, at_work, state};
use crate::app::{Action, ListAction, LoadedSession, Msg, Submit, TaskResult};
use crate::transcript::LoadedPath;

fn request(id: &str, tool: &str, args: Value) -> ApprovalRequest {
    ApprovalRequest {
        tool_call_id: id.into(),
        tool_name: tool.into(),
        args,
        reason: "runs a command".into(),
        rule: "cargo test [any arguments, safe options]".into(),
        preview: None,
        later: 0,
    }
}

impl Harness {
    /// A call asks, and has been on the screen for a moment.
    fn asked(&mut self, request: ApprovalRequest) {
        self.event(EventKind::ApprovalRequested(request));
        self.wait(500);
    }

    /// A letter is pressed, and no other follows.
    fn letter(&mut self, letter: char) -> Vec<Action> {
        assert_eq!(self.key(KeyCode::Char(letter)), [], "a letter is held for a moment");
        self.wait(400);
        std::mem::take(&mut self.actions)
    }
}

impl Harness {
    /// The session as it is now comes, with these calls asking.
    fn takes_a_snapshot(&mut self, approvals: Vec<ApprovalRequest>) {
        let live = InFlight { approvals, running_since: Some(UnixMs(self.now)), ..InFlight::default() };
        let snapshot = Snapshot { seq: self.seq, state: state(), in_progress: live };
        let newest = LoadedPath::default();
        self.input(Msg::TaskResult(TaskResult::Loaded(Box::new(LoadedSession { snapshot, newest }))));
    }
}

fn asking(width: u16, height: u16) -> Harness {
    let mut stage = Harness::new(width, height);
    at_work(&mut stage);
    stage
}

fn command(line: &str) -> ApprovalRequest {
    request("c2", "bash", json!({"command": line, "timeout": 60}))
}

fn edit() -> ApprovalRequest {
    let diff = "--- a\n+++ b\n@@ -2,3 +2,3 @@\n [section]\n-name = \"a\"\n+name = \"b\"\n port = 1\n";
    let change = FileChange { path: "conf/a.toml".into(), diff: diff.into(), added: 1, removed: 1 };
    ApprovalRequest {
        reason: "writes outside of src (extension guard)".into(),
        rule: String::new(),
        preview: Some(Preview::Change(change)),
        ..request("c3", "edit_file", json!({"path": "conf/a.toml", "old_text": "a", "new_text": "b"}))
    }
}

fn long() -> ApprovalRequest {
    let lines: Vec<String> = (1..=40).map(|n| format!("echo step {n}")).collect();
    let line = lines.join("\n");
    ApprovalRequest { rule: format!("exactly `{line}`"), ..command(&line) }
}

fn once(id: &str) -> [Action; 1] {
    [Action::Decide(id.into(), Decision::Once)]
}

fn denied(id: &str, reason: &str) -> [Action; 1] {
    [Action::Decide(id.into(), Decision::Deny { reason: reason.into() })]
}

#[test]
fn approval_command_is_shown_with_its_rule() {
    for (width, height) in SIZES {
        let mut stage = asking(width, height);
        stage.asked(command("cargo test parse\necho \"done\""));
        insta::assert_snapshot!(format!("command_{width}x{height}"), stage.screen());
    }
}

#[test]
fn approval_edit_is_shown_as_diff() {
    for (width, height) in SIZES {
        let mut stage = asking(width, height);
        stage.asked(edit());
        insta::assert_snapshot!(format!("edit_{width}x{height}"), stage.screen());
    }
}

#[test]
fn approval_long_command_must_be_seen() {
    for (width, height) in SIZES {
        let mut stage = asking(width, height);
        stage.asked(long());
        insta::assert_snapshot!(format!("long_{width}x{height}"), stage.screen());
        assert_eq!(stage.letter('y'), []);
        assert!(stage.screen().contains("Scroll through the whole call first; v shows it"));
        for _ in 0..10 {
            stage.press(KeyCode::Down, KeyModifiers::SHIFT);
        }
        let screen = stage.screen();
        assert!(
            screen.contains("echo step 40") && screen.contains("more lines above · shift+up"),
            "{screen}"
        );
        assert!(screen.contains("a this session: exactly this command"), "{screen}");
        assert_eq!(stage.letter('y'), once("c2"));
    }
}

#[test]
fn approval_number_is_the_listed_answer() {
    let with_rule = || command("cargo test");
    let without = || ApprovalRequest { rule: String::new(), ..command("cargo test") };
    let session = || vec![Action::Decide("c2".into(), Decision::Session)];
    for (request, number, expected) in [
        (with_rule(), '1', once("c2").to_vec()),
        (with_rule(), '2', session()),
        (with_rule(), '3', denied("c2", "the user said no").to_vec()),
        (without(), '1', once("c2").to_vec()),
        (without(), '2', denied("c2", "the user said no").to_vec()),
    ] {
        let mut stage = asking(80, 24);
        stage.asked(request.clone());
        assert_eq!(stage.key(KeyCode::Char(number)), []);
        assert_eq!(stage.key(KeyCode::Enter), expected, "{number}, enter");
        let mut stage = asking(80, 24);
        stage.asked(request);
        assert_eq!(stage.letter(number), expected, "{number}");
    }
}

#[test]
fn approval_number_too_early_or_in_text_is_no_answer() {
    let mut stage = asking(80, 24);
    stage.event(EventKind::ApprovalRequested(command("cargo test")));
    assert_eq!(stage.key(KeyCode::Char('1')), []);
    stage.wait(400);
    assert_eq!(std::mem::take(&mut stage.actions), [], "it came too soon");
    assert_eq!(stage.app.editor.text(), "1");
    let mut stage = asking(80, 24);
    stage.asked(command("cargo test"));
    stage.type_text("2 files");
    stage.wait(400);
    assert_eq!(std::mem::take(&mut stage.actions), []);
    assert_eq!(stage.app.editor.text(), "2 files");
    let mut stage = asking(80, 24);
    stage.asked(command("cargo test"));
    assert_eq!(stage.letter('9'), [], "no answer has that number");
    assert_eq!(stage.app.editor.text(), "9");
}

#[test]
fn approval_enter_alone_says_which_keys_answer() {
    let mut stage = asking(80, 24);
    stage.asked(command("cargo test"));
    assert_eq!(stage.key(KeyCode::Enter), []);
    assert!(
        stage.screen().contains("Press y to allow, n to deny, d to deny and say why"),
        "{}",
        stage.screen()
    );
    assert_eq!(stage.app.activity.approvals.len(), 1);
}

#[test]
fn approval_words_about_a_call_go_with_it() {
    let mut stage = asking(80, 24);
    stage.asked(long());
    assert_eq!(stage.letter('y'), []);
    assert!(stage.screen().contains("Scroll through the whole call first"));
    assert_eq!(stage.letter('n'), denied("c2", "the user said no"));
    assert!(!stage.screen().contains("Scroll through the whole call"), "{}", stage.screen());
    let mut stage = asking(80, 24);
    stage.asked(long());
    stage.letter('y');
    let (tool_call_id, decision) = ("c2".into(), Decision::Once);
    stage.event(EventKind::ApprovalResolved { tool_call_id, decision });
    assert!(!stage.screen().contains("Scroll through the whole call"), "{}", stage.screen());
}

#[test]
fn approval_mode_key_goes_to_the_next_mode() {
    let mut stage = Harness::new(120, 40);
    assert!(stage.screen().contains("ask (alt+a)"), "{}", stage.screen());
    for (mode, next) in [
        ("ask", ApprovalMode::Auto),
        ("auto", ApprovalMode::ReadOnly),
        ("read-only", ApprovalMode::Ask),
        ("yes", ApprovalMode::Ask),
    ] {
        stage.app.session.approval = mode.into();
        let actions = stage.press(KeyCode::Char('a'), KeyModifiers::ALT);
        assert_eq!(actions, [Action::List(ListAction::SetApproval(next))], "{mode}");
    }
    let mut stage = asking(120, 40);
    stage.asked(command("cargo test"));
    let actions = stage.press(KeyCode::Char('a'), KeyModifiers::ALT);
    assert_eq!(actions, [Action::List(ListAction::SetApproval(ApprovalMode::Auto))], "while it asks");
}

#[test]
fn approval_undrawn_rows_are_unseen() {
    let shift = KeyModifiers::SHIFT;
    let none = KeyModifiers::NONE;
    for (open, keys) in
        [(false, [(KeyCode::Down, shift); 2]), (true, [(KeyCode::PageDown, none), (KeyCode::End, none)])]
    {
        let mut stage = if open { on_its_page() } else { asking(80, 24) };
        if !open {
            stage.asked(command(&(1..=80).map(|n| format!("echo step {n}\n")).collect::<String>()));
        }
        // All in one read.
        for _ in 0..40 {
            for (code, modifiers) in keys {
                stage.app.update(Msg::Key(KeyEvent::new(code, modifiers)), UnixMs(stage.now));
            }
        }
        stage.screen();
        assert!(!stage.app.activity.approvals[0].is_seen(), "{}", stage.screen());
    }
}

#[test]
fn approval_page_typed_word_is_no_answer() {
    for (words, reason, text) in [
        ("do not deploy", true, "o not deploy"),
        ("why only try", false, "why only try"),
        ("yes, but try", false, "yes, but try"),
    ] {
        let mut stage = on_its_page();
        (0..8).for_each(|_| _ = stage.key(KeyCode::PageDown));
        stage.wait(500);
        stage.actions.clear();
        for c in words.chars() {
            stage.key(KeyCode::Char(c));
            stage.wait(40);
        }
        stage.wait(1_000);
        assert!(!stage.actions.iter().any(|action| matches!(action, Action::Decide(..))), "{words}");
        let screen = stage.screen();
        assert_eq!(screen.contains("type a reason for the model"), reason, "{screen}");
        assert_eq!(stage.app.editor.text(), text);
        assert!(!screen.contains("── bash asks"), "{screen}");
    }
}

#[test]
fn approval_answers_cover_no_seen_line() {
    for height in 16..40 {
        for lines in 1..30 {
            let mut stage = asking(40, height);
            let line: Vec<String> = (1..=lines).map(|n| format!("echo {n}")).collect();
            let rule =
                "`cargo test --workspace --all-features --locked` and whatever begins like that".to_owned();
            stage.asked(ApprovalRequest { rule, ..command(&line.join("\n")) });
            let first = stage.screen();
            if stage.app.activity.approvals[0].is_seen() {
                let all = (1..=lines).all(|n| first.contains(&format!("echo {n}\n")));
                assert!(all && stage.screen() == first, "{lines} lines in {height} rows: {first}");
            }
        }
    }
}

#[test]
fn approval_small_screen_can_deny() {
    for (width, height) in [(40, 12), (40, 10), (30, 8), (20, 5)] {
        let mut stage = asking(width, height);
        stage.asked(ApprovalRequest { reason: "writes in .git".into(), ..long() });
        insta::assert_snapshot!(format!("small_{width}x{height}"), stage.screen());
        assert_eq!(stage.letter('n'), denied("c2", "the user said no"));
    }
}

#[test]
fn approval_page_shows_call_and_esc_returns() {
    let mut stage = asking(80, 24);
    stage.asked(long());
    assert_eq!(stage.letter('v'), []);
    let screen = stage.screen();
    assert!(screen.contains("── bash asks ──") && screen.contains("  echo step 17"), "{screen}");
    assert_eq!(stage.key(KeyCode::Char('y')), [], "the page takes the keys");
    assert_eq!(stage.key(KeyCode::Esc), []);
    assert_eq!(stage.letter('y'), [], "its end wasn't on the screen");
    stage.letter('v');
    (0..4).for_each(|_| _ = stage.key(KeyCode::PageDown));
    assert!(stage.screen().contains("echo step 40"), "{}", stage.screen());
    stage.key(KeyCode::Esc);
    assert_eq!(stage.letter('y'), once("c2"));
}

/// A call of 83 lines, on its page.
fn on_its_page() -> Harness {
    let mut stage = asking(80, 24);
    let lines: Vec<String> = (1..=80).map(|n| format!("echo step {n}")).collect();
    stage.asked(command(&lines.join("\n")));
    stage.letter('v');
    stage.wait(500);
    stage
}

#[test]
fn approval_page_names_unseen_lines() {
    let mut stage = on_its_page();
    for key in [KeyCode::End, KeyCode::Home, KeyCode::PageDown, KeyCode::PageDown, KeyCode::PageDown] {
        assert_eq!(stage.key(key), []);
    }
    insta::assert_snapshot!("page_partly_seen_80x24", stage.screen());
    assert_eq!(stage.letter('y'), [], "lines in the middle weren't on the screen");
    assert!(stage.screen().contains("── bash asks ──"), "the page stays: {}", stage.screen());
    stage.key(KeyCode::PageDown);
    stage.key(KeyCode::PageDown);
    assert!(stage.screen().contains("a this session"), "{}", stage.screen());
    assert_eq!(stage.letter('y'), [], "the last of it came at this moment");
    stage.wait(400);
    assert_eq!(stage.letter('y'), once("c2"));
    assert!(!stage.screen().contains("bash asks"), "{}", stage.screen());
}

#[test]
fn approval_page_reopened_keeps_seen_rows() {
    let mut stage = on_its_page();
    stage.key(KeyCode::End);
    stage.key(KeyCode::Esc);
    stage.letter('v');
    (0..5).for_each(|_| _ = stage.key(KeyCode::PageDown));
    stage.key(KeyCode::Esc);
    stage.wait(500);
    assert_eq!(stage.letter('y'), once("c2"));
}

#[test]
fn approval_page_denies_any_time() {
    let mut stage = on_its_page();
    assert_eq!(stage.letter('n'), denied("c2", "the user said no"));
    for word in ["no", "nq"] {
        let mut stage = on_its_page();
        stage.type_text(word);
        stage.wait(500);
        assert_eq!(stage.actions, []);
        assert_eq!(stage.app.editor.text(), word, "the page was left");
    }
    let mut stage = on_its_page();
    assert_eq!(stage.letter('d'), []);
    assert!(stage.screen().contains("type a reason for the model"), "{}", stage.screen());
    stage.type_text("use nextest");
    assert_eq!(stage.key(KeyCode::Enter), denied("c2", "the user said no: use nextest"));
    let mut stage = on_its_page();
    stage.event(EventKind::ApprovalResolved { tool_call_id: "c2".into(), decision: Decision::Once });
    stage.asked(ApprovalRequest { tool_call_id: "c5".into(), ..command("rm -r build") });
    assert_eq!(stage.letter('n'), [], "what asks now isn't what the page shows");
}

#[test]
fn approval_covered_is_named_in_footer() {
    for (width, height) in SIZES {
        let mut stage = asking(width, height);
        stage.asked(command("rm -r build"));
        stage.control('l');
        insta::assert_snapshot!(format!("asks_beneath_list_{width}x{height}"), stage.screen());
        stage.key(KeyCode::Esc);
        stage.key(KeyCode::Char('?'));
        stage.wait(500);
        let foot = |stage: &mut Harness| stage.screen().lines().last().unwrap().to_owned();
        assert!(foot(&mut stage).contains("? bash needs approval"), "{}", foot(&mut stage));
        stage.key(KeyCode::Esc);
        assert!(!foot(&mut stage).contains("asks"), "the question is there itself");
        stage.wait(500);
        stage.letter('v');
        assert!(!foot(&mut stage).contains("asks"), "it is what the page shows");
    }
}

#[test]
fn approval_without_room_names_the_key() {
    let mut stage = asking(20, 5);
    stage.asked(command("rm -r build"));
    insta::assert_snapshot!("small_20x5", stage.screen());
    assert_eq!(stage.letter('y'), [], "it was not seen");
    assert_eq!(stage.letter('v'), []);
    assert!(stage.screen().contains("rm -r build"), "{}", stage.screen());
    (0..4).for_each(|_| _ = stage.key(KeyCode::PageDown));
    stage.key(KeyCode::Esc);
    assert_eq!(stage.letter('y'), once("c2"));
}

#[test]
fn approval_early_key_goes_into_the_editor() {
    let mut stage = asking(80, 24);
    stage.asks();
    assert_eq!(stage.key(KeyCode::Char('y')), []);
    stage.type_text("es");
    assert_eq!(stage.app.editor.text(), "yes", "too soon to be meant for the question");
    stage.wait(500);
    assert_eq!(stage.key(KeyCode::Char('y')), []);
    assert_eq!(stage.app.editor.text(), "yesy");
    assert!(stage.screen().contains("enter denies and steers with your text · ctrl+c clears your text"));
    stage.control('u');
    assert_eq!(stage.key(KeyCode::Char('a')), []);
    stage.type_text("nd first the tests");
    assert_eq!(stage.app.editor.text(), "and first the tests", "it was the beginning of a message");
    let sent = stage.key(KeyCode::Enter);
    assert!(sent.contains(&Action::Submit(Submit::Steer("and first the tests".into()))), "{sent:?}");
    assert_eq!(stage.letter('a'), [Action::Decide("c2".into(), Decision::Session)]);
}

#[test]
fn approval_early_answer_is_not_sent() {
    let mut stage = asking(80, 24);
    stage.asked(command("cargo test one"));
    assert_eq!(stage.letter('y'), once("c2"));
    stage.type_text("y");
    stage.asked(ApprovalRequest { tool_call_id: "c5".into(), ..command("cargo test two") });
    assert!(stage.screen().contains("pressed too soon · y again answers · ctrl+c clears it"));
    assert_eq!(stage.key(KeyCode::Enter), []);
    let screen = stage.screen();
    assert!(
        screen.contains("No request for this y yet: ctrl+c clears it; enter again sends it."),
        "{screen}"
    );
    stage.control('c');
    assert_eq!(stage.letter('y'), once("c5"));
    stage.type_text("y");
    stage.asked(ApprovalRequest { tool_call_id: "c6".into(), ..command("cargo test three") });
    assert_eq!(stage.key(KeyCode::Enter), [], "what was said of the one before doesn't count");
    let sent = stage.key(KeyCode::Enter);
    assert!(sent.contains(&Action::Submit(Submit::Steer("y".into()))), "{sent:?}");
    stage.type_text("no");
    let sent = stage.key(KeyCode::Enter);
    assert!(sent.contains(&Action::Submit(Submit::Steer("no".into()))), "a word is a message: {sent:?}");
}

#[test]
fn approval_long_command_shows_both_ends() {
    let mut stage = asking(80, 24);
    stage.asked(long());
    let screen = stage.screen();
    assert!(screen.contains("echo step 1\n") && screen.contains("echo step 40"), "{screen}");
    assert!(screen.contains("more lines between · shift+down scrolls · v shows all"), "{screen}");
    stage.press(KeyCode::Down, KeyModifiers::SHIFT);
    assert!(!stage.screen().contains("echo step 1\n"), "{}", stage.screen());
    assert!(!stage.screen().contains("echo step 40"), "{}", stage.screen());
}

#[test]
fn approval_enter_needs_a_selected_answer() {
    let mut stage = asking(80, 24);
    stage.asked(command("cargo test"));
    assert_eq!(stage.key(KeyCode::Enter), [], "nothing is chosen");
    stage.key(KeyCode::Right);
    assert!(stage.screen().contains("▸ y once"), "{}", stage.screen());
    assert_eq!(stage.key(KeyCode::Esc), [], "one level back, and the run goes on");
    assert_eq!(stage.key(KeyCode::Enter), []);
    assert_eq!(stage.key(KeyCode::Esc), [Action::Abort]);
    stage.key(KeyCode::Right);
    stage.key(KeyCode::Right);
    assert!(
        stage.screen().contains("▸ a this session: cargo test [any arguments, safe options]"),
        "{}",
        stage.screen()
    );
    assert_eq!(stage.key(KeyCode::Enter), [Action::Decide("c2".into(), Decision::Session)]);
    stage.asked(command("cargo test"));
    stage.key(KeyCode::Left);
    stage.key(KeyCode::Left);
    assert_eq!(stage.key(KeyCode::Enter), denied("c2", "the user said no"));
}

#[test]
fn approval_repeated_enter_does_not_deliver_queue() {
    let mut stage = asking(80, 24);
    let item = QueueItem {
        id: "q".into(),
        kind: QueueKind::Steer,
        text: "look at the lexer".into(),
        typed: None,
        images: [].into(),
        held: false,
    };
    stage.event(EventKind::queue_update(vec![item]));
    stage.asked(command("cargo test"));
    stage.wait(400);
    stage.key(KeyCode::Right);
    assert_eq!(stage.key(KeyCode::Enter), once("c2"));
    stage.wait(200);
    assert_eq!(stage.key(KeyCode::Enter), []);
    stage.wait(400);
    assert_eq!(stage.key(KeyCode::Enter), [Action::Submit(Submit::DeliverSteeringNow)]);
}

#[test]
fn approval_denial_carries_a_reason() {
    for (width, height) in SIZES {
        let mut stage = asking(width, height);
        stage.asked(command("cargo test"));
        assert_eq!(stage.letter('d'), []);
        stage.type_text("use nextest");
        insta::assert_snapshot!(format!("reason_{width}x{height}"), stage.screen());
        assert_eq!(stage.key(KeyCode::Esc), []);
        assert!(stage.app.editor.is_empty());
        assert_eq!(stage.key(KeyCode::Tab), [], "within a moment of going back no key answers");
        stage.wait(500);
        stage.key(KeyCode::Tab);
        assert_eq!(stage.app.editor.text(), "use nextest", "it was put aside");
        stage.type_text(" here");
        let actions = stage.key(KeyCode::Enter);
        assert_eq!(actions, denied("c2", "the user said no: use nextest here"));
        assert_eq!(
            actions[0].typed(),
            Some("use nextest here".to_owned().into()),
            "it comes back if that fails"
        );
        assert!(stage.app.editor.is_empty());
    }
}

#[test]
fn approval_reason_survives_answer_elsewhere() {
    let mut stage = asking(80, 24);
    stage.asked(command("cargo test"));
    stage.letter('d');
    stage.type_text("use nextest");
    let decision = Decision::Once;
    stage.event(EventKind::ApprovalResolved { tool_call_id: "c2".into(), decision });
    assert_eq!(stage.key(KeyCode::Enter), []);
    assert!(stage.screen().contains("Press the key again to send it."), "{}", stage.screen());
    assert_eq!(stage.app.editor.text(), "use nextest");
    let sent = stage.key(KeyCode::Enter);
    assert!(sent.contains(&Action::Submit(Submit::Steer("use nextest".into()))), "{sent:?}");
}

#[test]
fn approval_several_calls_in_turn() {
    for (width, height) in SIZES {
        let mut stage = asking(width, height);
        stage.event(EventKind::ApprovalRequested(command("cargo test one")));
        stage.event(EventKind::ApprovalRequested(ApprovalRequest {
            tool_call_id: "c5".into(),
            ..command("cargo test two")
        }));
        stage.asked(edit());
        insta::assert_snapshot!(format!("several_{width}x{height}"), stage.screen());
        assert_eq!(stage.letter('y'), once("c2"));
        assert!(stage.screen().contains("cargo test two") && stage.screen().contains("1 of 2"));
        stage.wait(500);
        let resolved = EventKind::ApprovalResolved { tool_call_id: "c5".into(), decision: Decision::Once };
        stage.event(resolved);
        assert_eq!(stage.key(KeyCode::Char('y')), []);
        assert_eq!(stage.app.editor.text(), "y", "nobody's key brought it");
    }
}

/// The first of three calls is answered, and the next one has yet to ask.
fn answered() -> Harness {
    let mut stage = asking(80, 24);
    stage.asked(ApprovalRequest { later: 2, ..command("cargo test one") });
    assert!(stage.screen().contains("runs a command  1 of 3"), "{}", stage.screen());
    assert_eq!(stage.letter('y'), once("c2"));
    stage
}

impl Harness {
    /// The next call asks.
    fn asks_next(&mut self, id: &str) {
        let later = usize::from(id == "c5");
        let next = ApprovalRequest { tool_call_id: id.into(), later, ..command("cargo test next") };
        self.event(EventKind::ApprovalRequested(next));
    }

    /// A key is held down: its letter comes so often, 30 ms apart.
    fn holds(&mut self, letter: char, times: usize) {
        for _ in 0..times {
            self.key(KeyCode::Char(letter));
            self.wait(30);
            self.screen();
        }
    }

    /// The editor text after a pause without typing.
    fn rests(&mut self) -> String {
        self.actions.clear();
        self.wait(400);
        self.app.editor.text()
    }
}

#[test]
fn approval_next_accepts_keys_once_drawn() {
    let mut stage = answered();
    stage.asks_next("c5");
    assert!(stage.screen().contains("1 of 2"));
    assert_eq!(stage.letter('y'), once("c5"));
    stage.asks_next("c6");
    assert!(!stage.screen().contains("1 of"));
    assert_eq!(stage.letter('n'), denied("c6", "the user said no"));
}

#[test]
fn approval_next_just_drawn_is_not_allowed() {
    let drawn = || {
        let mut stage = answered();
        stage.asks_next("c5");
        stage.screen();
        stage
    };
    for confirms in [false, true] {
        let mut stage = drawn();
        stage.type_text("y");
        if confirms {
            assert_eq!(stage.key(KeyCode::Enter), []);
        }
        stage.wait(399);
        assert_eq!(stage.actions, []);
        stage.wait(1);
        assert_eq!(stage.actions, once("c5"));
    }
    let mut stage = drawn();
    stage.type_text("y");
    stage.wait(390);
    stage.type_text("es");
    assert_eq!((stage.rests().as_str(), stage.actions.len()), ("yes", 0), "a text after all");
    let mut stage = drawn();
    stage.type_text("n");
    assert_eq!(stage.key(KeyCode::Enter), denied("c5", "the user said no"), "no harm is done by a no");
    let mut stage = drawn();
    stage.key(KeyCode::Right);
    assert_eq!(stage.key(KeyCode::Enter), []);
    assert!(stage.screen().contains("Press enter again to allow."), "{}", stage.screen());
    stage.wait(400);
    assert_eq!(stage.key(KeyCode::Enter), once("c5"));
}

#[test]
fn approval_early_answer_counts_when_repeated() {
    let mut stage = answered();
    stage.type_text("y");
    assert_eq!(stage.key(KeyCode::Enter), [], "nothing is sent of it");
    stage.asks_next("c5");
    assert_eq!(stage.rests(), "y");
    assert_eq!(stage.actions, [], "the question wasn't seen");
    let screen = stage.screen();
    assert!(
        screen.contains("ignored `y`: pressed too soon · y again answers · ctrl+c clears it"),
        "{screen}"
    );
    stage.wait(100);
    assert_eq!(stage.letter('y'), once("c5"));
    assert!(stage.app.editor.is_empty());
}

#[test]
fn approval_message_of_answer_letters_is_kept() {
    for message in ["yes, but look at the lexer", "y", "yy", "na", "any", "and then", "yyyyes", "nanny"] {
        for at in 0..=message.len() {
            for gap in [10, 120, 330] {
                let (mut stage, mut done) = (answered(), Vec::new());
                stage.wait(50);
                for (n, letter) in message.chars().enumerate() {
                    if n == at {
                        stage.asks_next("c5");
                    }
                    stage.key(KeyCode::Char(letter));
                    stage.wait(gap);
                    stage.screen();
                    done.append(&mut stage.actions);
                }
                let is_answer = done.iter().any(|action| matches!(action, Action::Decide(..)));
                let what = format!("{message}, {at}, {gap}");
                if !is_answer {
                    assert_eq!(stage.rests(), message, "{what}");
                }
                // A letter that stands alone on a question that is seen is an answer.
                assert!(!is_answer || message.len() - at == 1, "{what}");
            }
        }
    }
}

#[test]
fn approval_held_key_answers_one_call() {
    for delay in [30, 250, 400, 500] {
        let mut stage = asking(80, 24);
        let requests =
            ["c2", "c5", "c6"].map(|id| ApprovalRequest { tool_call_id: id.into(), ..command("ls") });
        requests.into_iter().for_each(|request| stage.event(EventKind::ApprovalRequested(request)));
        stage.wait(500);
        let mut decided = Vec::new();
        stage.key(KeyCode::Char('y'));
        stage.wait(delay);
        decided.append(&mut stage.actions);
        for _ in 0..40 {
            decided.extend(stage.key(KeyCode::Char('y')));
            stage.wait(30);
            stage.screen();
            decided.append(&mut stage.actions);
        }
        stage.wait(400);
        decided.append(&mut stage.actions);
        assert_eq!(decided, once("c2"), "{delay}");
        assert!(stage.app.editor.is_empty(), "{delay}: {}", stage.app.editor.text());
        stage.screen();
        assert_eq!(stage.letter('y'), once("c5"), "{delay}");
    }
}

#[test]
fn approval_held_key_on_last_call_types_nothing() {
    let mut stage = asking(80, 24);
    stage.asked(command("ls"));
    assert_eq!(stage.letter('y'), once("c2"));
    stage.holds('y', 20);
    assert_eq!(stage.rests(), "");
    stage.wait(1_000);
    stage.holds('y', 3);
    assert_eq!(stage.rests(), "yyy", "long after it is a text");
}

#[test]
fn approval_esc_drops_repeated_key() {
    let mut stage = answered();
    stage.type_text("y");
    assert_eq!(stage.key(KeyCode::Esc), []);
    assert_eq!(stage.rests(), "");
    assert_eq!(stage.key(KeyCode::Esc), [Action::Abort]);
}

#[test]
fn approval_letter_before_other_key_is_kept() {
    let mut stage = asking(80, 24);
    stage.asked(command("ls"));
    stage.type_text("a");
    stage.press(KeyCode::Char('j'), KeyModifiers::CONTROL);
    stage.type_text("b");
    assert_eq!(stage.rests(), "a\nb");
}

#[test]
fn approval_ctrl_letter_is_no_answer() {
    let mut stage = asking(80, 24);
    stage.asked(command("ls"));
    stage.type_text("a");
    assert_eq!(stage.control('a'), []);
    assert_eq!(stage.rests(), "a");
    assert_eq!(stage.actions, [], "it was the beginning of a text");
    stage.type_text("b");
    assert_eq!(stage.app.editor.text(), "ba", "and the cursor went to its beginning");
    let mut stage = answered();
    stage.type_text("y");
    stage.control('y');
    assert!(stage.rests().starts_with('y'), "directly behind an answer as well");
}

#[test]
fn approval_letter_survives_answer_elsewhere() {
    let resolved = || EventKind::ApprovalResolved { tool_call_id: "c2".into(), decision: Decision::Once };
    let mut stage = asking(80, 24);
    stage.asked(command("ls"));
    stage.type_text("d");
    stage.event(resolved());
    assert_eq!(stage.app.editor.text(), "d");
    assert_eq!(stage.key(KeyCode::Enter), []);
    stage.type_text("on't");
    assert_eq!(stage.rests(), "don't");
    let mut stage = asking(80, 24);
    stage.asked(command("ls"));
    stage.type_text("y");
    stage.takes_a_snapshot(Vec::new());
    assert_eq!(stage.rests(), "y", "also when the session is read anew");
    assert_eq!(stage.actions, []);
}

#[test]
fn approval_other_text_after_answer_is_a_message() {
    let mut stage = asking(80, 24);
    stage.asked(ApprovalRequest { later: 2, ..command("cargo test one") });
    assert_eq!(stage.letter('y'), once("c2"));
    stage.type_text("look at the tests first");
    stage.asked(ApprovalRequest { tool_call_id: "c5".into(), ..command("cargo test two") });
    assert_eq!(stage.app.editor.text(), "look at the tests first");
    assert!(
        stage.key(KeyCode::Enter).contains(&Action::Submit(Submit::Steer("look at the tests first".into())))
    );
}

#[test]
fn approval_later_call_has_the_key_guard() {
    for (wait, typed) in [(2_000, ""), (500, "x")] {
        let mut stage = asking(80, 24);
        stage.asked(ApprovalRequest { later: 1, ..command("cargo test one") });
        assert_eq!(stage.letter('y'), once("c2"));
        stage.wait(wait);
        stage.type_text(typed);
        stage.control('u');
        let next = ApprovalRequest { tool_call_id: "c5".into(), ..command("cargo test two") };
        stage.event(EventKind::ApprovalRequested(next));
        stage.screen();
        stage.type_text("y");
        assert_eq!(stage.app.editor.text(), "y", "{wait} {typed}");
    }
}

#[test]
fn approval_reason_typed_at_once_is_complete() {
    let mut stage = asking(80, 24);
    stage.asked(command("cargo test"));
    stage.type_text("dbecause");
    assert_eq!(stage.app.editor.text(), "because");
    assert!(stage.screen().contains("type a reason for the model"), "{}", stage.screen());
    assert_eq!(stage.key(KeyCode::Enter), denied("c2", "the user said no: because"));
    stage.asked(command("cargo test"));
    stage.type_text("d");
    stage.input(Msg::Paste("it is slow".into()));
    assert_eq!(stage.key(KeyCode::Enter), denied("c2", "the user said no: it is slow"));
}

#[test]
fn approval_without_rule_has_no_session_answer() {
    let mut stage = asking(80, 24);
    stage.asked(ApprovalRequest { rule: String::new(), ..command("ls") });
    let screen = stage.screen();
    assert!(screen.contains("1 y once · 2 n no · 3 d no, say why"), "{screen}");
    stage.key(KeyCode::Char('a'));
    stage.wait(400);
    assert_eq!((stage.app.editor.text(), stage.actions.len()), ("a".to_owned(), 0));
}

#[test]
fn approval_pending_transcript_scrolls() {
    let mut stage = asking(80, 24);
    for n in 0..30 {
        stage.user(&format!("message {n}"));
    }
    stage.asked(command("cargo test"));
    assert!(!stage.screen().contains("? bash       cargo test parse"), "it is far above");
    stage.screen();
    for _ in 0..9 {
        stage.key(KeyCode::PageUp);
        stage.screen();
    }
    let screen = stage.screen();
    assert!(screen.contains("? bash       cargo test parse"), "{screen}");
    assert!(screen.contains("? bash needs approval: runs a command"), "{screen}");
}

#[test]
fn approval_uncovered_has_the_key_guard() {
    let mut stage = asking(80, 24);
    stage.key(KeyCode::Char('?'));
    stage.asked(command("rm -r build"));
    stage.wait(5_000);
    assert_eq!(stage.key(KeyCode::Esc), []);
    stage.type_text("y");
    stage.wait(400);
    assert_eq!((stage.app.editor.text(), stage.actions.len()), ("y".to_owned(), 0));
}

#[test]
fn approval_letter_before_paste_is_text() {
    let mut stage = asking(80, 24);
    stage.asked(command("rm -r build"));
    stage.type_text("a");
    stage.input(Msg::Paste("nd then this".into()));
    stage.wait(400);
    assert_eq!((stage.app.editor.text(), stage.actions.len()), ("and then this".to_owned(), 0));
}

#[test]
fn approval_esc_drops_letter() {
    let mut stage = asking(80, 24);
    stage.asked(command("rm -r build"));
    assert_eq!(stage.key(KeyCode::Char('y')), []);
    assert_eq!(stage.key(KeyCode::Esc), []);
    stage.wait(400);
    assert_eq!((stage.app.editor.text(), stage.actions.len()), (String::new(), 0));
    assert_eq!(stage.key(KeyCode::Esc), [Action::Abort]);
}

#[test]
fn approval_snapshot_keeps_reason() {
    let mut stage = asking(80, 24);
    stage.asked(command("rm -r build"));
    stage.letter('d');
    stage.type_text("not that one");
    stage.takes_a_snapshot(vec![command("rm -r build")]);
    assert_eq!(stage.key(KeyCode::Enter), denied("c2", "the user said no: not that one"));
    stage.asked(command("rm -r build"));
    stage.letter('d');
    stage.type_text("nor this");
    stage.takes_a_snapshot(Vec::new());
    assert_eq!(stage.key(KeyCode::Enter), [], "the question is gone; Enter wasn't meant to send");
    assert_eq!(stage.app.editor.text(), "nor this");
}

#[test]
fn approval_answered_elsewhere_closes() {
    let mut stage = asking(80, 24);
    stage.asked(command("cargo test"));
    assert!(stage.screen().contains("bash needs approval"));
    let decision = Decision::Deny { reason: "the user steered".into() };
    stage.event(EventKind::ApprovalResolved { tool_call_id: "c2".into(), decision });
    assert!(!stage.screen().contains("bash asks"));
}

#[test]
fn approval_time_starts_with_request() {
    let mut stage = Harness::new(80, 24);
    stage.event(EventKind::AgentStart);
    stage.wait(5_000);
    stage.event(EventKind::ApprovalRequested(command("cargo test")));
    stage.wait(21_000);
    assert!(stage.screen().contains("waiting for your approval 21s"), "{}", stage.screen());
    let decision = Decision::Once;
    stage.event(EventKind::ApprovalResolved { tool_call_id: "c2".into(), decision });
    assert!(stage.screen().contains("waiting for the model… 26s"), "{}", stage.screen());
    stage.start("c2", "bash");
    stage.wait(3_000);
    assert!(stage.screen().contains("running bash 3.0s"), "{}", stage.screen());
}
