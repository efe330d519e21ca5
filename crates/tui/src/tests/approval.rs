//! Approval requests: the panel, the page, and the keys that answer.

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::{Value, json};
use tiller_core::event::{ApprovalRequest, Decision, EventKind, QueueKind};
use tiller_core::proposed_rules::ProposedRules;
use tiller_core::setting::SettingScope;
use tiller_core::unit::UnixMs;
use tiller_engine::{ApprovalMode, InFlight, RuleFile, SessionState, Snapshot};

use crate::action::{Action, ListAction, SessionEdit, Submit};
use crate::component::testing::queue_item;
use crate::list_kind::ListKind;
use crate::message::{ListResult, LoadedSession, Msg, TaskResult};
use crate::picker::rule_form::rule_file_items;
use crate::tests::harness::{Harness, SIZES, at_work, state};
use crate::transcript::section::LoadedPath;

fn request(id: &str, tool: &str, args: Value) -> ApprovalRequest {
    ApprovalRequest {
        tool_call_id: id.into(),
        tool_name: tool.into(),
        args,
        reason: "runs a command".into(),
        rule: "cargo test [any arguments, safe options]".into(),
        proposed: None,
        agent: None,
        cwd: None,
        preview: None,
        later: 0,
    }
}

fn set_approval_mode(harness: &mut Harness, mode: &str) {
    let state = SessionState { approval: mode.into(), ..state() };
    harness.report_result(TaskResult::State(Box::new(state)));
}

impl Harness {
    /// Shows an approval request that has been on the screen for a moment.
    fn show_request(&mut self, request: ApprovalRequest) {
        self.event(EventKind::ApprovalRequested(request));
        self.wait(500);
    }

    fn press_letter(&mut self, letter: char) -> Vec<Action> {
        self.key(KeyCode::Char(letter))
    }
}

impl Harness {
    /// Loads the session's current state, with these pending calls.
    fn load_snapshot(&mut self, approvals: Vec<ApprovalRequest>) {
        let live = InFlight { approvals, running_since: Some(UnixMs(self.now)), ..InFlight::default() };
        let snapshot = Snapshot { seq: self.seq, state: state(), in_progress: live };
        let newest = LoadedPath::default();
        self.report_result(TaskResult::Loaded(Box::new(LoadedSession { snapshot, newest })));
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
fn approval_message_about_a_call_goes_with_it() {
    let says = "longer than its panel";
    let mut harness = running_command(80, 24);
    harness.show_request(long_command());
    assert_eq!(harness.press_letter('y'), []);
    assert!(harness.screen().contains(says));
    assert_eq!(harness.press_letter('n'), deny("c2", "the user rejected it"));
    assert!(!harness.screen().contains(says), "{}", harness.screen());
    let mut harness = running_command(80, 24);
    harness.show_request(long_command());
    harness.press_letter('y');
    let (tool_call_id, decision) = ("c2".into(), Decision::Once);
    harness.event(EventKind::ApprovalResolved { tool_call_id, decision });
    assert!(!harness.screen().contains(says), "{}", harness.screen());
}

#[test]
fn approval_mode_key_goes_to_the_next_mode() {
    let mut harness = Harness::new(120, 40);
    assert!(harness.screen().contains("ask (alt+a)"), "{}", harness.screen());
    for (mode, next) in [
        ("ask", ApprovalMode::Auto),
        ("auto", ApprovalMode::Plan),
        ("plan", ApprovalMode::ReadOnly),
        ("read-only", ApprovalMode::Ask),
        ("yes", ApprovalMode::Ask),
    ] {
        set_approval_mode(&mut harness, mode);
        let actions = harness.press(KeyCode::Char('a'), KeyModifiers::ALT);
        assert_eq!(actions, [Action::List(ListAction::SetApproval(next))], "{mode}");
    }
    let mut harness = running_command(120, 40);
    harness.show_request(command("cargo test"));
    let actions = harness.press(KeyCode::Char('a'), KeyModifiers::ALT);
    assert_eq!(actions, [Action::List(ListAction::SetApproval(ApprovalMode::Auto))], "while it asks");
}

#[test]
fn plan_mode_is_left_by_its_key_with_the_plan_in_the_editor() {
    let mut harness = Harness::new(120, 40);
    let next_thinking = |harness: &mut Harness| harness.press(KeyCode::BackTab, KeyModifiers::NONE);
    assert!(matches!(next_thinking(&mut harness)[..], [Action::Edit(SessionEdit::SetThinking(_))]));
    set_approval_mode(&mut harness, "plan");
    assert_eq!(next_thinking(&mut harness), [Action::List(ListAction::TogglePlan)]);
    harness.type_text("and test it");
    harness.report_result(TaskResult::BeforeDraft("Carry out this plan:\n\na, then b".into()));
    let screen = harness.screen();
    for line in ["Carry out this plan:", "a, then b", "and test it"] {
        assert!(screen.contains(line), "{screen}");
    }
}

#[test]
fn approval_small_screen_can_deny() {
    for (width, height) in [(40, 12), (40, 10), (30, 8), (20, 5)] {
        let mut harness = running_command(width, height);
        harness.show_request(ApprovalRequest { reason: "writes to .git".into(), ..long_command() });
        insta::assert_snapshot!(format!("small_{width}x{height}"), harness.screen());
        assert_eq!(harness.press_letter('n'), deny("c2", "the user rejected it"));
    }
}

/// Shows a call of 83 lines on its page.
fn on_call_page() -> Harness {
    let mut harness = running_command(80, 24);
    let lines: Vec<String> = (1..=80).map(|n| format!("echo step {n}")).collect();
    harness.show_request(command(&lines.join("\n")));
    harness.press_letter('v');
    harness
}

#[test]
fn approval_page_takes_the_same_answers() {
    let mut harness = on_call_page();
    insta::assert_snapshot!("page_80x24", harness.screen());
    assert_eq!(harness.press_letter('x'), [], "other letters mean nothing there");
    assert_eq!(harness.press_letter('y'), allow_once("c2"));
    assert!(!harness.screen().contains("bash needs approval"), "{}", harness.screen());
    assert!(harness.app.composer.editor.is_empty());
    assert_eq!(on_call_page().press_letter('n'), deny("c2", "the user rejected it"));
    let mut harness = on_call_page();
    assert_eq!(harness.press_letter('d'), []);
    assert!(harness.screen().contains("type a reason for the model"), "{}", harness.screen());
    harness.type_text("use nextest");
    assert_eq!(harness.key(KeyCode::Enter), deny("c2", "the user rejected it: use nextest"));
}

#[test]
fn approval_page_of_another_call_takes_no_answer() {
    let mut harness = on_call_page();
    harness.event(EventKind::ApprovalResolved { tool_call_id: "c2".into(), decision: Decision::Once });
    harness.show_request(ApprovalRequest { tool_call_id: "c5".into(), ..command("rm -r build") });
    assert_eq!(harness.press_letter('n'), [], "the pending call isn't what the page shows");
    harness.key(KeyCode::Esc);
    harness.wait(400);
    assert_eq!(harness.press_letter('n'), deny("c5", "the user rejected it"));
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
        assert!(!foot(&mut harness).contains("needs approval"), "the question is there itself");
        harness.wait(500);
        harness.press_letter('v');
        assert!(!foot(&mut harness).contains("needs approval"), "it is what the page shows");
    }
}

#[test]
fn approval_without_room_names_the_key() {
    let mut harness = running_command(20, 5);
    harness.show_request(command("rm -r build"));
    insta::assert_snapshot!("small_20x5", harness.screen());
    assert_eq!(harness.press_letter('y'), [], "it is not on the screen");
    assert_eq!(harness.press_letter('v'), []);
    assert!(harness.screen().contains("rm -r build"), "{}", harness.screen());
    assert_eq!(harness.press_letter('y'), allow_once("c2"));
}

#[test]
fn approval_text_in_the_editor_is_no_answer() {
    let mut harness = running_command(80, 24);
    harness.show_request(command("cargo test"));
    harness.type_text("first tidy");
    assert_eq!(harness.press_letter('y'), []);
    assert_eq!(harness.app.composer.editor.text(), "first tidyy");
    assert!(harness.screen().contains("enter denies and steers with your text · ctrl+c clears your text"));
    let sent = harness.key(KeyCode::Enter);
    assert!(sent.contains(&Action::Submit(Submit::Steer("first tidyy".into()))), "{sent:?}");
    assert_eq!(harness.press_letter('a'), [Action::Decide("c2".into(), Decision::Session)]);
}

#[test]
fn approval_text_at_once_is_a_message() {
    for text in [Msg::Text("yes".into()), Msg::Paste("yes".into())] {
        let mut harness = running_command(80, 24);
        harness.show_request(command("cargo test"));
        harness.input(text);
        assert!(!harness.actions.iter().any(|action| matches!(action, Action::Decide(..))));
        assert_eq!(harness.app.composer.editor.text(), "yes");
    }
}

#[test]
fn approval_repeated_enter_does_not_deliver_queue() {
    let mut harness = running_command(80, 24);
    let item = queue_item("q", QueueKind::Steer, "look at the lexer");
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
        assert!(harness.app.composer.editor.is_empty());
        harness.key(KeyCode::Tab);
        assert_eq!(harness.app.composer.editor.text(), "use nextest", "it was put aside");
        harness.type_text(" here");
        let actions = harness.key(KeyCode::Enter);
        assert_eq!(actions, deny("c2", "the user rejected it: use nextest here"));
        assert_eq!(
            actions[0].typed(),
            Some("use nextest here".to_owned().into()),
            "it comes back if that fails"
        );
        assert!(harness.app.composer.editor.is_empty());
    }
}

#[test]
fn approval_held_key_answers_one_call() {
    for delay in [30, 250, 390] {
        let mut harness = running_command(80, 24);
        let requests =
            ["c2", "c5", "c6"].map(|id| ApprovalRequest { tool_call_id: id.into(), ..command("ls") });
        requests.into_iter().for_each(|request| harness.event(EventKind::ApprovalRequested(request)));
        harness.wait(500);
        assert_eq!(harness.press_letter('y'), allow_once("c2"));
        harness.wait(delay);
        for _ in 0..40 {
            assert_eq!(harness.press_letter('y'), [], "{delay}");
            harness.wait(30);
        }
        harness.input(Msg::Text("yyy".into()));
        assert!(harness.app.composer.editor.is_empty(), "{delay}: {}", harness.app.composer.editor.text());
        harness.wait(400);
        assert_eq!(harness.press_letter('y'), allow_once("c5"), "{delay}");
    }
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
    assert_eq!(harness.press_letter('y'), []);
    harness.wait(400);
    assert_eq!(harness.press_letter('y'), allow_once("c2"));
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
    assert_eq!(harness.app.composer.editor.text(), "nor this");
}

/// Shows a pending `cargo test` whose rules are being edited, with the file to save them to.
fn rule_form() -> Harness {
    let rules = ProposedRules::parse("bash", "cargo test*");
    let mut harness = running_command(80, 24);
    harness.show_request(ApprovalRequest { proposed: Some(rules), ..command("cargo test") });
    let loads = [Action::List(ListAction::LoadItems(ListKind::RuleFiles))];
    assert_eq!(harness.press_letter('A'), loads);
    let files = [RuleFile { scope: SettingScope::User, path: "/home/ada/settings.json".into() }];
    let items = rule_file_items(&files, None);
    harness.report(TaskResult::List(ListResult::Items { items, selected: 0 }));
    harness.wait(400);
    harness
}

#[test]
fn rule_form_closes_with_esc_and_with_its_call() {
    let mut harness = rule_form();
    assert_eq!(harness.key(KeyCode::Esc), []);
    assert!(harness.screen().contains("? bash needs approval: runs a command"), "{}", harness.screen());
    let mut harness = rule_form();
    let (scope, rules) = (SettingScope::User, ProposedRules::parse("bash", "cargo test*"));
    let saves = [Action::List(ListAction::SaveRules { call: "c2".into(), scope, rules })];
    assert_eq!(harness.key(KeyCode::Enter), saves);
    harness.report(TaskResult::List(ListResult::RulesSaved("c2".into())));
    assert!(harness.screen().contains("? bash needs approval"), "it closes; the event decides the call");
    let mut harness = rule_form();
    harness.event(EventKind::ApprovalResolved { tool_call_id: "c2".into(), decision: Decision::Once });
    assert!(!harness.screen().contains("always allow"), "{}", harness.screen());
}
