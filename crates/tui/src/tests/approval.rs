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
    fn show_request(&mut self, request: ApprovalRequest) {
        self.event(EventKind::ApprovalRequested(request));
        self.wait(500);
    }

    /// A letter is pressed, and no other follows.
    fn press_letter(&mut self, letter: char) -> Vec<Action> {
        assert_eq!(self.key(KeyCode::Char(letter)), [], "a letter is held for a moment");
        self.wait(400);
        std::mem::take(&mut self.actions)
    }
}

impl Harness {
    /// The session as it is now comes, with these calls asking.
    fn load_snapshot(&mut self, approvals: Vec<ApprovalRequest>) {
        let live = InFlight { approvals, running_since: Some(UnixMs(self.now)), ..InFlight::default() };
        let snapshot = Snapshot { seq: self.seq, state: state(), in_progress: live };
        let newest = LoadedPath::default();
        self.input(Msg::TaskResult(TaskResult::Loaded(Box::new(LoadedSession { snapshot, newest }))));
    }
}

fn running_command(width: u16, height: u16) -> Harness {
    let mut harness = Harness::new(width, height);
    at_work(&mut harness);
    harness
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

fn long_command() -> ApprovalRequest {
    let lines: Vec<String> = (1..=40).map(|n| format!("echo step {n}")).collect();
    let line = lines.join("\n");
    ApprovalRequest { rule: format!("exactly `{line}`"), ..command(&line) }
}

fn allow_once(id: &str) -> [Action; 1] {
    [Action::Decide(id.into(), Decision::Once)]
}

fn deny(id: &str, reason: &str) -> [Action; 1] {
    [Action::Decide(id.into(), Decision::Deny { reason: reason.into() })]
}

#[test]
fn approval_command_is_shown_with_its_rule() {
    for (width, height) in SIZES {
        let mut harness = running_command(width, height);
        harness.show_request(command("cargo test parse\necho \"done\""));
        insta::assert_snapshot!(format!("command_{width}x{height}"), harness.screen());
    }
}

#[test]
fn approval_edit_is_shown_as_diff() {
    for (width, height) in SIZES {
        let mut harness = running_command(width, height);
        harness.show_request(edit());
        insta::assert_snapshot!(format!("edit_{width}x{height}"), harness.screen());
    }
}

#[test]
fn approval_long_command_must_be_seen() {
    for (width, height) in SIZES {
        let mut harness = running_command(width, height);
        harness.show_request(long_command());
        insta::assert_snapshot!(format!("long_{width}x{height}"), harness.screen());
        assert_eq!(harness.press_letter('y'), []);
        assert!(harness.screen().contains("Scroll through the whole call first; v shows it"));
        for _ in 0..10 {
            harness.press(KeyCode::Down, KeyModifiers::SHIFT);
        }
        let screen = harness.screen();
        assert!(
            screen.contains("echo step 40") && screen.contains("more lines above · shift+up"),
            "{screen}"
        );
        assert!(screen.contains("a session: exactly this command"), "{screen}");
        assert_eq!(harness.press_letter('y'), allow_once("c2"));
    }
}

#[test]
fn approval_number_is_the_listed_answer() {
    let with_rule = || command("cargo test");
    let without = || ApprovalRequest { rule: String::new(), ..command("cargo test") };
    let session = || vec![Action::Decide("c2".into(), Decision::Session)];
    for (request, number, expected) in [
        (with_rule(), '1', allow_once("c2").to_vec()),
        (with_rule(), '2', session()),
        (with_rule(), '3', deny("c2", "the user rejected it").to_vec()),
        (without(), '1', allow_once("c2").to_vec()),
        (without(), '2', deny("c2", "the user rejected it").to_vec()),
    ] {
        let mut harness = running_command(80, 24);
        harness.show_request(request.clone());
        assert_eq!(harness.key(KeyCode::Char(number)), []);
        assert_eq!(harness.key(KeyCode::Enter), expected, "{number}, enter");
        let mut harness = running_command(80, 24);
        harness.show_request(request);
        assert_eq!(harness.press_letter(number), expected, "{number}");
    }
}

#[test]
fn approval_number_too_early_or_in_text_is_no_answer() {
    let mut harness = running_command(80, 24);
    harness.event(EventKind::ApprovalRequested(command("cargo test")));
    assert_eq!(harness.key(KeyCode::Char('1')), []);
    harness.wait(400);
    assert_eq!(std::mem::take(&mut harness.actions), [], "it came too soon");
    assert_eq!(harness.app.editor.text(), "1");
    let mut harness = running_command(80, 24);
    harness.show_request(command("cargo test"));
    harness.type_text("2 files");
    harness.wait(400);
    assert_eq!(std::mem::take(&mut harness.actions), []);
    assert_eq!(harness.app.editor.text(), "2 files");
    let mut harness = running_command(80, 24);
    harness.show_request(command("cargo test"));
    assert_eq!(harness.press_letter('9'), [], "no answer has that number");
    assert_eq!(harness.app.editor.text(), "9");
}

#[test]
fn approval_enter_alone_says_which_keys_answer() {
    let mut harness = running_command(80, 24);
    harness.show_request(command("cargo test"));
    assert_eq!(harness.key(KeyCode::Enter), []);
    assert!(
        harness.screen().contains("Press y to allow, n to deny, d to deny with a reason."),
        "{}",
        harness.screen()
    );
    assert_eq!(harness.app.model.activity.approvals.len(), 1);
}

#[test]
fn approval_words_about_a_call_go_with_it() {
    let mut harness = running_command(80, 24);
    harness.show_request(long_command());
    assert_eq!(harness.press_letter('y'), []);
    assert!(harness.screen().contains("Scroll through the whole call first"));
    assert_eq!(harness.press_letter('n'), deny("c2", "the user rejected it"));
    assert!(!harness.screen().contains("Scroll through the whole call"), "{}", harness.screen());
    let mut harness = running_command(80, 24);
    harness.show_request(long_command());
    harness.press_letter('y');
    let (tool_call_id, decision) = ("c2".into(), Decision::Once);
    harness.event(EventKind::ApprovalResolved { tool_call_id, decision });
    assert!(!harness.screen().contains("Scroll through the whole call"), "{}", harness.screen());
}

#[test]
fn approval_mode_key_goes_to_the_next_mode() {
    let mut harness = Harness::new(120, 40);
    assert!(harness.screen().contains("ask (alt+a)"), "{}", harness.screen());
    for (mode, next) in [
        ("ask", ApprovalMode::Auto),
        ("auto", ApprovalMode::ReadOnly),
        ("read-only", ApprovalMode::Ask),
        ("yes", ApprovalMode::Ask),
    ] {
        harness.app.model.info.approval = mode.into();
        let actions = harness.press(KeyCode::Char('a'), KeyModifiers::ALT);
        assert_eq!(actions, [Action::List(ListAction::SetApproval(next))], "{mode}");
    }
    let mut harness = running_command(120, 40);
    harness.show_request(command("cargo test"));
    let actions = harness.press(KeyCode::Char('a'), KeyModifiers::ALT);
    assert_eq!(actions, [Action::List(ListAction::SetApproval(ApprovalMode::Auto))], "while it asks");
}

#[test]
fn approval_undrawn_rows_are_unseen() {
    let shift = KeyModifiers::SHIFT;
    let none = KeyModifiers::NONE;
    for (open, keys) in
        [(false, [(KeyCode::Down, shift); 2]), (true, [(KeyCode::PageDown, none), (KeyCode::End, none)])]
    {
        let mut harness = if open { on_detail_page() } else { running_command(80, 24) };
        if !open {
            harness.show_request(command(&(1..=80).map(|n| format!("echo step {n}\n")).collect::<String>()));
        }
        // All in one read.
        for _ in 0..40 {
            for (code, modifiers) in keys {
                harness.app.update(Msg::Key(KeyEvent::new(code, modifiers)), UnixMs(harness.now));
            }
        }
        harness.screen();
        assert!(!harness.app.model.activity.approvals[0].is_seen(), "{}", harness.screen());
    }
}

#[test]
fn approval_page_typed_word_is_no_answer() {
    for (words, reason, text) in [
        ("do not deploy", true, "o not deploy"),
        ("why only try", false, "why only try"),
        ("yes, but try", false, "yes, but try"),
    ] {
        let mut harness = on_detail_page();
        (0..8).for_each(|_| _ = harness.key(KeyCode::PageDown));
        harness.wait(500);
        harness.actions.clear();
        for c in words.chars() {
            harness.key(KeyCode::Char(c));
            harness.wait(40);
        }
        harness.wait(1_000);
        assert!(!harness.actions.iter().any(|action| matches!(action, Action::Decide(..))), "{words}");
        let screen = harness.screen();
        assert_eq!(screen.contains("type a reason for the model"), reason, "{screen}");
        assert_eq!(harness.app.editor.text(), text);
        assert!(!screen.contains("── bash needs approval"), "{screen}");
    }
}

#[test]
fn approval_answers_cover_no_seen_line() {
    for height in 16..40 {
        for lines in 1..30 {
            let mut harness = running_command(40, height);
            let line: Vec<String> = (1..=lines).map(|n| format!("echo {n}")).collect();
            let rule =
                "`cargo test --workspace --all-features --locked` and whatever begins like that".to_owned();
            harness.show_request(ApprovalRequest { rule, ..command(&line.join("\n")) });
            let first = harness.screen();
            if harness.app.model.activity.approvals[0].is_seen() {
                let all = (1..=lines).all(|n| first.contains(&format!("echo {n}\n")));
                assert!(all && harness.screen() == first, "{lines} lines in {height} rows: {first}");
            }
        }
    }
}

#[test]
fn approval_small_screen_can_deny() {
    for (width, height) in [(40, 12), (40, 10), (30, 8), (20, 5)] {
        let mut harness = running_command(width, height);
        harness.show_request(ApprovalRequest { reason: "writes in .git".into(), ..long_command() });
        insta::assert_snapshot!(format!("small_{width}x{height}"), harness.screen());
        assert_eq!(harness.press_letter('n'), deny("c2", "the user rejected it"));
    }
}

#[test]
fn approval_page_shows_call_and_esc_returns() {
    let mut harness = running_command(80, 24);
    harness.show_request(long_command());
    assert_eq!(harness.press_letter('v'), []);
    let screen = harness.screen();
    assert!(screen.contains("── bash needs approval ──") && screen.contains("  echo step 17"), "{screen}");
    assert_eq!(harness.key(KeyCode::Char('y')), [], "the page takes the keys");
    assert_eq!(harness.key(KeyCode::Esc), []);
    assert_eq!(harness.press_letter('y'), [], "its end wasn't on the screen");
    harness.press_letter('v');
    (0..4).for_each(|_| _ = harness.key(KeyCode::PageDown));
    assert!(harness.screen().contains("echo step 40"), "{}", harness.screen());
    harness.key(KeyCode::Esc);
    assert_eq!(harness.press_letter('y'), allow_once("c2"));
}

/// A call of 83 lines, on its page.
fn on_detail_page() -> Harness {
    let mut harness = running_command(80, 24);
    let lines: Vec<String> = (1..=80).map(|n| format!("echo step {n}")).collect();
    harness.show_request(command(&lines.join("\n")));
    harness.press_letter('v');
    harness.wait(500);
    harness
}

#[test]
fn approval_page_names_unseen_lines() {
    let mut harness = on_detail_page();
    for key in [KeyCode::End, KeyCode::Home, KeyCode::PageDown, KeyCode::PageDown, KeyCode::PageDown] {
        assert_eq!(harness.key(key), []);
    }
    insta::assert_snapshot!("page_partly_seen_80x24", harness.screen());
    assert_eq!(harness.press_letter('y'), [], "lines in the middle weren't on the screen");
    assert!(harness.screen().contains("── bash needs approval ──"), "the page stays: {}", harness.screen());
    harness.key(KeyCode::PageDown);
    harness.key(KeyCode::PageDown);
    assert!(harness.screen().contains("a session:"), "{}", harness.screen());
    assert_eq!(harness.press_letter('y'), [], "the last of it came at this moment");
    harness.wait(400);
    assert_eq!(harness.press_letter('y'), allow_once("c2"));
    assert!(!harness.screen().contains("bash needs approval"), "{}", harness.screen());
}

#[test]
fn approval_page_reopened_keeps_seen_rows() {
    let mut harness = on_detail_page();
    harness.key(KeyCode::End);
    harness.key(KeyCode::Esc);
    harness.press_letter('v');
    (0..5).for_each(|_| _ = harness.key(KeyCode::PageDown));
    harness.key(KeyCode::Esc);
    harness.wait(500);
    assert_eq!(harness.press_letter('y'), allow_once("c2"));
}

#[test]
fn approval_page_denies_any_time() {
    let mut harness = on_detail_page();
    assert_eq!(harness.press_letter('n'), deny("c2", "the user rejected it"));
    for word in ["no", "nq"] {
        let mut harness = on_detail_page();
        harness.type_text(word);
        harness.wait(500);
        assert_eq!(harness.actions, []);
        assert_eq!(harness.app.editor.text(), word, "the page was left");
    }
    let mut harness = on_detail_page();
    assert_eq!(harness.press_letter('d'), []);
    assert!(harness.screen().contains("type a reason for the model"), "{}", harness.screen());
    harness.type_text("use nextest");
    assert_eq!(harness.key(KeyCode::Enter), deny("c2", "the user rejected it: use nextest"));
    let mut harness = on_detail_page();
    harness.event(EventKind::ApprovalResolved { tool_call_id: "c2".into(), decision: Decision::Once });
    harness.show_request(ApprovalRequest { tool_call_id: "c5".into(), ..command("rm -r build") });
    assert_eq!(harness.press_letter('n'), [], "what asks now isn't what the page shows");
}

#[test]
fn approval_covered_is_named_in_footer() {
    for (width, height) in SIZES {
        let mut harness = running_command(width, height);
        harness.show_request(command("rm -r build"));
        harness.control('l');
        insta::assert_snapshot!(format!("asks_beneath_list_{width}x{height}"), harness.screen());
        harness.key(KeyCode::Esc);
        harness.key(KeyCode::Char('?'));
        harness.wait(500);
        let foot = |harness: &mut Harness| harness.screen().lines().last().unwrap().to_owned();
        assert!(foot(&mut harness).contains("? bash needs approval"), "{}", foot(&mut harness));
        harness.key(KeyCode::Esc);
        assert!(!foot(&mut harness).contains("asks"), "the question is there itself");
        harness.wait(500);
        harness.press_letter('v');
        assert!(!foot(&mut harness).contains("asks"), "it is what the page shows");
    }
}

#[test]
fn approval_without_room_names_the_key() {
    let mut harness = running_command(20, 5);
    harness.show_request(command("rm -r build"));
    insta::assert_snapshot!("small_20x5", harness.screen());
    assert_eq!(harness.press_letter('y'), [], "it was not seen");
    assert_eq!(harness.press_letter('v'), []);
    assert!(harness.screen().contains("rm -r build"), "{}", harness.screen());
    (0..4).for_each(|_| _ = harness.key(KeyCode::PageDown));
    harness.key(KeyCode::Esc);
    assert_eq!(harness.press_letter('y'), allow_once("c2"));
}

#[test]
fn approval_early_key_goes_into_the_editor() {
    let mut harness = running_command(80, 24);
    harness.request_approval();
    assert_eq!(harness.key(KeyCode::Char('y')), []);
    harness.type_text("es");
    assert_eq!(harness.app.editor.text(), "yes", "too soon to be meant for the question");
    harness.wait(500);
    assert_eq!(harness.key(KeyCode::Char('y')), []);
    assert_eq!(harness.app.editor.text(), "yesy");
    assert!(harness.screen().contains("enter denies and steers with your text · ctrl+c clears your text"));
    harness.control('u');
    assert_eq!(harness.key(KeyCode::Char('a')), []);
    harness.type_text("nd first the tests");
    assert_eq!(harness.app.editor.text(), "and first the tests", "it was the beginning of a message");
    let sent = harness.key(KeyCode::Enter);
    assert!(sent.contains(&Action::Submit(Submit::Steer("and first the tests".into()))), "{sent:?}");
    assert_eq!(harness.press_letter('a'), [Action::Decide("c2".into(), Decision::Session)]);
}

#[test]
fn approval_early_answer_is_not_sent() {
    let mut harness = running_command(80, 24);
    harness.show_request(command("cargo test one"));
    assert_eq!(harness.press_letter('y'), allow_once("c2"));
    harness.type_text("y");
    harness.show_request(ApprovalRequest { tool_call_id: "c5".into(), ..command("cargo test two") });
    assert!(harness.screen().contains("pressed too soon · y again answers · ctrl+c clears it"));
    assert_eq!(harness.key(KeyCode::Enter), []);
    let screen = harness.screen();
    assert!(
        screen.contains("No request for this y yet: ctrl+c clears it; enter again sends it."),
        "{screen}"
    );
    harness.control('c');
    assert_eq!(harness.press_letter('y'), allow_once("c5"));
    harness.type_text("y");
    harness.show_request(ApprovalRequest { tool_call_id: "c6".into(), ..command("cargo test three") });
    assert_eq!(harness.key(KeyCode::Enter), [], "what was said of the one before doesn't count");
    let sent = harness.key(KeyCode::Enter);
    assert!(sent.contains(&Action::Submit(Submit::Steer("y".into()))), "{sent:?}");
    harness.type_text("no");
    let sent = harness.key(KeyCode::Enter);
    assert!(sent.contains(&Action::Submit(Submit::Steer("no".into()))), "a word is a message: {sent:?}");
}

#[test]
fn approval_long_command_shows_both_ends() {
    let mut harness = running_command(80, 24);
    harness.show_request(long_command());
    let screen = harness.screen();
    assert!(screen.contains("echo step 1\n") && screen.contains("echo step 40"), "{screen}");
    assert!(screen.contains("more lines between · shift+down scrolls · v shows all"), "{screen}");
    harness.press(KeyCode::Down, KeyModifiers::SHIFT);
    assert!(!harness.screen().contains("echo step 1\n"), "{}", harness.screen());
    assert!(!harness.screen().contains("echo step 40"), "{}", harness.screen());
}

#[test]
fn approval_enter_needs_a_selected_answer() {
    let mut harness = running_command(80, 24);
    harness.show_request(command("cargo test"));
    assert_eq!(harness.key(KeyCode::Enter), [], "nothing is chosen");
    harness.key(KeyCode::Right);
    assert!(harness.screen().contains("▸ y once"), "{}", harness.screen());
    assert_eq!(harness.key(KeyCode::Esc), [], "one level back, and the run goes on");
    assert_eq!(harness.key(KeyCode::Enter), []);
    assert_eq!(harness.key(KeyCode::Esc), [Action::Abort]);
    harness.key(KeyCode::Right);
    harness.key(KeyCode::Right);
    assert!(
        harness.screen().contains("▸ a session: cargo test [any arguments, safe options]"),
        "{}",
        harness.screen()
    );
    assert_eq!(harness.key(KeyCode::Enter), [Action::Decide("c2".into(), Decision::Session)]);
    harness.show_request(command("cargo test"));
    harness.key(KeyCode::Left);
    harness.key(KeyCode::Left);
    assert_eq!(harness.key(KeyCode::Enter), deny("c2", "the user rejected it"));
}

#[test]
fn approval_repeated_enter_does_not_deliver_queue() {
    let mut harness = running_command(80, 24);
    let item = QueueItem {
        id: "q".into(),
        kind: QueueKind::Steer,
        text: "look at the lexer".into(),
        typed: None,
        images: [].into(),
        held: false,
    };
    harness.event(EventKind::queue_update(vec![item]));
    harness.show_request(command("cargo test"));
    harness.wait(400);
    harness.key(KeyCode::Right);
    assert_eq!(harness.key(KeyCode::Enter), allow_once("c2"));
    harness.wait(200);
    assert_eq!(harness.key(KeyCode::Enter), []);
    harness.wait(400);
    assert_eq!(harness.key(KeyCode::Enter), [Action::Submit(Submit::DeliverSteeringNow)]);
}

#[test]
fn approval_denial_carries_a_reason() {
    for (width, height) in SIZES {
        let mut harness = running_command(width, height);
        harness.show_request(command("cargo test"));
        assert_eq!(harness.press_letter('d'), []);
        harness.type_text("use nextest");
        insta::assert_snapshot!(format!("reason_{width}x{height}"), harness.screen());
        assert_eq!(harness.key(KeyCode::Esc), []);
        assert!(harness.app.editor.is_empty());
        assert_eq!(harness.key(KeyCode::Tab), [], "within a moment of going back no key answers");
        harness.wait(500);
        harness.key(KeyCode::Tab);
        assert_eq!(harness.app.editor.text(), "use nextest", "it was put aside");
        harness.type_text(" here");
        let actions = harness.key(KeyCode::Enter);
        assert_eq!(actions, deny("c2", "the user rejected it: use nextest here"));
        assert_eq!(
            actions[0].typed(),
            Some("use nextest here".to_owned().into()),
            "it comes back if that fails"
        );
        assert!(harness.app.editor.is_empty());
    }
}

#[test]
fn approval_reason_survives_answer_elsewhere() {
    let mut harness = running_command(80, 24);
    harness.show_request(command("cargo test"));
    harness.press_letter('d');
    harness.type_text("use nextest");
    let decision = Decision::Once;
    harness.event(EventKind::ApprovalResolved { tool_call_id: "c2".into(), decision });
    assert_eq!(harness.key(KeyCode::Enter), []);
    assert!(harness.screen().contains("Press the key again to send it."), "{}", harness.screen());
    assert_eq!(harness.app.editor.text(), "use nextest");
    let sent = harness.key(KeyCode::Enter);
    assert!(sent.contains(&Action::Submit(Submit::Steer("use nextest".into()))), "{sent:?}");
}

#[test]
fn approval_several_calls_in_turn() {
    for (width, height) in SIZES {
        let mut harness = running_command(width, height);
        harness.event(EventKind::ApprovalRequested(command("cargo test one")));
        harness.event(EventKind::ApprovalRequested(ApprovalRequest {
            tool_call_id: "c5".into(),
            ..command("cargo test two")
        }));
        harness.show_request(edit());
        insta::assert_snapshot!(format!("several_{width}x{height}"), harness.screen());
        assert_eq!(harness.press_letter('y'), allow_once("c2"));
        assert!(harness.screen().contains("cargo test two") && harness.screen().contains("1 of 2"));
        harness.wait(500);
        let resolved = EventKind::ApprovalResolved { tool_call_id: "c5".into(), decision: Decision::Once };
        harness.event(resolved);
        assert_eq!(harness.key(KeyCode::Char('y')), []);
        assert_eq!(harness.app.editor.text(), "y", "nobody's key brought it");
    }
}

/// The first of three calls is answered, and the next one has yet to ask.
fn first_answered() -> Harness {
    let mut harness = running_command(80, 24);
    harness.show_request(ApprovalRequest { later: 2, ..command("cargo test one") });
    assert!(harness.screen().contains("runs a command  1 of 3"), "{}", harness.screen());
    assert_eq!(harness.press_letter('y'), allow_once("c2"));
    harness
}

impl Harness {
    /// The next call asks.
    fn request_next(&mut self, id: &str) {
        let later = usize::from(id == "c5");
        let next = ApprovalRequest { tool_call_id: id.into(), later, ..command("cargo test next") };
        self.event(EventKind::ApprovalRequested(next));
    }

    /// A key is held down: its letter comes so often, 30 ms apart.
    fn hold_key(&mut self, letter: char, times: usize) {
        for _ in 0..times {
            self.key(KeyCode::Char(letter));
            self.wait(30);
            self.screen();
        }
    }

    /// The editor text after a pause without typing.
    fn text_after_pause(&mut self) -> String {
        self.actions.clear();
        self.wait(400);
        self.app.editor.text()
    }
}

#[test]
fn approval_next_accepts_keys_once_drawn() {
    let mut harness = first_answered();
    harness.request_next("c5");
    assert!(harness.screen().contains("1 of 2"));
    assert_eq!(harness.press_letter('y'), allow_once("c5"));
    harness.request_next("c6");
    assert!(!harness.screen().contains("1 of"));
    assert_eq!(harness.press_letter('n'), deny("c6", "the user rejected it"));
}

#[test]
fn approval_next_just_drawn_is_not_allowed() {
    let drawn = || {
        let mut harness = first_answered();
        harness.request_next("c5");
        harness.screen();
        harness
    };
    for confirms in [false, true] {
        let mut harness = drawn();
        harness.type_text("y");
        if confirms {
            assert_eq!(harness.key(KeyCode::Enter), []);
        }
        harness.wait(399);
        assert_eq!(harness.actions, []);
        harness.wait(1);
        assert_eq!(harness.actions, allow_once("c5"));
    }
    let mut harness = drawn();
    harness.type_text("y");
    harness.wait(390);
    harness.type_text("es");
    assert_eq!((harness.text_after_pause().as_str(), harness.actions.len()), ("yes", 0), "a text after all");
    let mut harness = drawn();
    harness.type_text("n");
    assert_eq!(harness.key(KeyCode::Enter), deny("c5", "the user rejected it"), "no harm is done by a no");
    let mut harness = drawn();
    harness.key(KeyCode::Right);
    assert_eq!(harness.key(KeyCode::Enter), []);
    assert!(harness.screen().contains("Press enter again to allow."), "{}", harness.screen());
    harness.wait(400);
    assert_eq!(harness.key(KeyCode::Enter), allow_once("c5"));
}

#[test]
fn approval_early_answer_counts_when_repeated() {
    let mut harness = first_answered();
    harness.type_text("y");
    assert_eq!(harness.key(KeyCode::Enter), [], "nothing is sent of it");
    harness.request_next("c5");
    assert_eq!(harness.text_after_pause(), "y");
    assert_eq!(harness.actions, [], "the question wasn't seen");
    let screen = harness.screen();
    assert!(
        screen.contains("ignored `y`: pressed too soon · y again answers · ctrl+c clears it"),
        "{screen}"
    );
    harness.wait(100);
    assert_eq!(harness.press_letter('y'), allow_once("c5"));
    assert!(harness.app.editor.is_empty());
}

#[test]
fn approval_message_of_answer_letters_is_kept() {
    for message in ["yes, but look at the lexer", "y", "yy", "na", "any", "and then", "yyyyes", "nanny"] {
        for at in 0..=message.len() {
            for gap in [10, 120, 330] {
                let (mut harness, mut done) = (first_answered(), Vec::new());
                harness.wait(50);
                for (n, letter) in message.chars().enumerate() {
                    if n == at {
                        harness.request_next("c5");
                    }
                    harness.key(KeyCode::Char(letter));
                    harness.wait(gap);
                    harness.screen();
                    done.append(&mut harness.actions);
                }
                let is_answer = done.iter().any(|action| matches!(action, Action::Decide(..)));
                let context = format!("{message}, {at}, {gap}");
                if !is_answer {
                    assert_eq!(harness.text_after_pause(), message, "{context}");
                }
                // A letter that stands alone on a question that is seen is an answer.
                assert!(!is_answer || message.len() - at == 1, "{context}");
            }
        }
    }
}

#[test]
fn approval_held_key_answers_one_call() {
    for delay in [30, 250, 400, 500] {
        let mut harness = running_command(80, 24);
        let requests =
            ["c2", "c5", "c6"].map(|id| ApprovalRequest { tool_call_id: id.into(), ..command("ls") });
        requests.into_iter().for_each(|request| harness.event(EventKind::ApprovalRequested(request)));
        harness.wait(500);
        let mut decided = Vec::new();
        harness.key(KeyCode::Char('y'));
        harness.wait(delay);
        decided.append(&mut harness.actions);
        for _ in 0..40 {
            decided.extend(harness.key(KeyCode::Char('y')));
            harness.wait(30);
            harness.screen();
            decided.append(&mut harness.actions);
        }
        harness.wait(400);
        decided.append(&mut harness.actions);
        assert_eq!(decided, allow_once("c2"), "{delay}");
        assert!(harness.app.editor.is_empty(), "{delay}: {}", harness.app.editor.text());
        harness.screen();
        assert_eq!(harness.press_letter('y'), allow_once("c5"), "{delay}");
    }
}

#[test]
fn approval_held_key_on_last_call_types_nothing() {
    let mut harness = running_command(80, 24);
    harness.show_request(command("ls"));
    assert_eq!(harness.press_letter('y'), allow_once("c2"));
    harness.hold_key('y', 20);
    assert_eq!(harness.text_after_pause(), "");
    harness.wait(1_000);
    harness.hold_key('y', 3);
    assert_eq!(harness.text_after_pause(), "yyy", "long after it is a text");
}

#[test]
fn approval_esc_drops_repeated_key() {
    let mut harness = first_answered();
    harness.type_text("y");
    assert_eq!(harness.key(KeyCode::Esc), []);
    assert_eq!(harness.text_after_pause(), "");
    assert_eq!(harness.key(KeyCode::Esc), [Action::Abort]);
}

#[test]
fn approval_letter_before_other_key_is_kept() {
    let mut harness = running_command(80, 24);
    harness.show_request(command("ls"));
    harness.type_text("a");
    harness.press(KeyCode::Char('j'), KeyModifiers::CONTROL);
    harness.type_text("b");
    assert_eq!(harness.text_after_pause(), "a\nb");
}

#[test]
fn approval_ctrl_letter_is_no_answer() {
    let mut harness = running_command(80, 24);
    harness.show_request(command("ls"));
    harness.type_text("a");
    assert_eq!(harness.control('a'), []);
    assert_eq!(harness.text_after_pause(), "a");
    assert_eq!(harness.actions, [], "it was the beginning of a text");
    harness.type_text("b");
    assert_eq!(harness.app.editor.text(), "ba", "and the cursor went to its beginning");
    let mut harness = first_answered();
    harness.type_text("y");
    harness.control('y');
    assert!(harness.text_after_pause().starts_with('y'), "directly behind an answer as well");
}

#[test]
fn approval_letter_survives_answer_elsewhere() {
    let resolved = || EventKind::ApprovalResolved { tool_call_id: "c2".into(), decision: Decision::Once };
    let mut harness = running_command(80, 24);
    harness.show_request(command("ls"));
    harness.type_text("d");
    harness.event(resolved());
    assert_eq!(harness.app.editor.text(), "d");
    assert_eq!(harness.key(KeyCode::Enter), []);
    harness.type_text("on't");
    assert_eq!(harness.text_after_pause(), "don't");
    let mut harness = running_command(80, 24);
    harness.show_request(command("ls"));
    harness.type_text("y");
    harness.load_snapshot(Vec::new());
    assert_eq!(harness.text_after_pause(), "y", "also when the session is read anew");
    assert_eq!(harness.actions, []);
}

#[test]
fn approval_other_text_after_answer_is_a_message() {
    let mut harness = running_command(80, 24);
    harness.show_request(ApprovalRequest { later: 2, ..command("cargo test one") });
    assert_eq!(harness.press_letter('y'), allow_once("c2"));
    harness.type_text("look at the tests first");
    harness.show_request(ApprovalRequest { tool_call_id: "c5".into(), ..command("cargo test two") });
    assert_eq!(harness.app.editor.text(), "look at the tests first");
    assert!(
        harness
            .key(KeyCode::Enter)
            .contains(&Action::Submit(Submit::Steer("look at the tests first".into())))
    );
}

#[test]
fn approval_later_call_has_the_key_guard() {
    for (wait, typed) in [(2_000, ""), (500, "x")] {
        let mut harness = running_command(80, 24);
        harness.show_request(ApprovalRequest { later: 1, ..command("cargo test one") });
        assert_eq!(harness.press_letter('y'), allow_once("c2"));
        harness.wait(wait);
        harness.type_text(typed);
        harness.control('u');
        let next = ApprovalRequest { tool_call_id: "c5".into(), ..command("cargo test two") };
        harness.event(EventKind::ApprovalRequested(next));
        harness.screen();
        harness.type_text("y");
        assert_eq!(harness.app.editor.text(), "y", "{wait} {typed}");
    }
}

#[test]
fn approval_reason_typed_at_once_is_complete() {
    let mut harness = running_command(80, 24);
    harness.show_request(command("cargo test"));
    harness.type_text("dbecause");
    assert_eq!(harness.app.editor.text(), "because");
    assert!(harness.screen().contains("type a reason for the model"), "{}", harness.screen());
    assert_eq!(harness.key(KeyCode::Enter), deny("c2", "the user rejected it: because"));
    harness.show_request(command("cargo test"));
    harness.type_text("d");
    harness.input(Msg::Paste("it is slow".into()));
    assert_eq!(harness.key(KeyCode::Enter), deny("c2", "the user rejected it: it is slow"));
}

#[test]
fn approval_without_rule_has_no_session_answer() {
    let mut harness = running_command(80, 24);
    harness.show_request(ApprovalRequest { rule: String::new(), ..command("ls") });
    let screen = harness.screen();
    assert!(screen.contains("1 y once · 2 n deny · 3 d deny, say why"), "{screen}");
    harness.key(KeyCode::Char('a'));
    harness.wait(400);
    assert_eq!((harness.app.editor.text(), harness.actions.len()), ("a".to_owned(), 0));
}

#[test]
fn approval_pending_transcript_scrolls() {
    let mut harness = running_command(80, 24);
    for n in 0..30 {
        harness.user(&format!("message {n}"));
    }
    harness.show_request(command("cargo test"));
    assert!(!harness.screen().contains("? bash       cargo test parse"), "it is far above");
    harness.screen();
    for _ in 0..9 {
        harness.key(KeyCode::PageUp);
        harness.screen();
    }
    let screen = harness.screen();
    assert!(screen.contains("? bash       cargo test parse"), "{screen}");
    assert!(screen.contains("? bash needs approval: runs a command"), "{screen}");
}

#[test]
fn approval_uncovered_has_the_key_guard() {
    let mut harness = running_command(80, 24);
    harness.key(KeyCode::Char('?'));
    harness.show_request(command("rm -r build"));
    harness.wait(5_000);
    assert_eq!(harness.key(KeyCode::Esc), []);
    harness.type_text("y");
    harness.wait(400);
    assert_eq!((harness.app.editor.text(), harness.actions.len()), ("y".to_owned(), 0));
}

#[test]
fn approval_letter_before_paste_is_text() {
    let mut harness = running_command(80, 24);
    harness.show_request(command("rm -r build"));
    harness.type_text("a");
    harness.input(Msg::Paste("nd then this".into()));
    harness.wait(400);
    assert_eq!((harness.app.editor.text(), harness.actions.len()), ("and then this".to_owned(), 0));
}

#[test]
fn approval_esc_drops_letter() {
    let mut harness = running_command(80, 24);
    harness.show_request(command("rm -r build"));
    assert_eq!(harness.key(KeyCode::Char('y')), []);
    assert_eq!(harness.key(KeyCode::Esc), []);
    harness.wait(400);
    assert_eq!((harness.app.editor.text(), harness.actions.len()), (String::new(), 0));
    assert_eq!(harness.key(KeyCode::Esc), [Action::Abort]);
}

#[test]
fn approval_snapshot_keeps_reason() {
    let mut harness = running_command(80, 24);
    harness.show_request(command("rm -r build"));
    harness.press_letter('d');
    harness.type_text("not that one");
    harness.load_snapshot(vec![command("rm -r build")]);
    assert_eq!(harness.key(KeyCode::Enter), deny("c2", "the user rejected it: not that one"));
    harness.show_request(command("rm -r build"));
    harness.press_letter('d');
    harness.type_text("nor this");
    harness.load_snapshot(Vec::new());
    assert_eq!(harness.key(KeyCode::Enter), [], "the question is gone; Enter wasn't meant to send");
    assert_eq!(harness.app.editor.text(), "nor this");
}

#[test]
fn approval_answered_elsewhere_closes() {
    let mut harness = running_command(80, 24);
    harness.show_request(command("cargo test"));
    assert!(harness.screen().contains("bash needs approval"));
    let decision = Decision::Deny { reason: "the user steered".into() };
    harness.event(EventKind::ApprovalResolved { tool_call_id: "c2".into(), decision });
    assert!(!harness.screen().contains("bash needs approval"));
}

#[test]
fn approval_time_starts_with_request() {
    let mut harness = Harness::new(80, 24);
    harness.event(EventKind::AgentStart);
    harness.wait(5_000);
    harness.event(EventKind::ApprovalRequested(command("cargo test")));
    harness.wait(21_000);
    assert!(harness.screen().contains("waiting for your approval 21s"), "{}", harness.screen());
    let decision = Decision::Once;
    harness.event(EventKind::ApprovalResolved { tool_call_id: "c2".into(), decision });
    assert!(harness.screen().contains("waiting for the model… 26s"), "{}", harness.screen());
    harness.start("c2", "bash");
    harness.wait(3_000);
    assert!(harness.screen().contains("running bash 3.0s"), "{}", harness.screen());
}
