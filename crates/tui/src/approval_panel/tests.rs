mod call;

use serde_json::json;
use tiller_core::proposed_rules::ProposedRules;
use tiller_core::unit::UnixMs;

use super::*;
use crate::action::Action;
use crate::address::Address;
use crate::component::testing::Bench;
use crate::session_model::PendingApproval;

/// A pending call of bash, `c1`, without rules.
pub(crate) fn approval_request(command: &str) -> ApprovalRequest {
    ApprovalRequest {
        tool_call_id: "c1".into(),
        tool_name: "bash".into(),
        args: json!({ "command": command }),
        reason: "runs a command".into(),
        rule: String::new(),
        proposed: None,
        agent: None,
        cwd: None,
        preview: None,
        later: 0,
    }
}

/// A panel of eight rows whose call has been visible for a second.
type Harness = Bench<ApprovalPanel>;

impl Harness {
    fn new(command: &str, rule: &str) -> Self {
        Self::proposing(command, rule, None)
    }

    fn proposing(command: &str, rule: &str, proposed: Option<ProposedRules>) -> Self {
        let request = ApprovalRequest { rule: rule.into(), proposed, ..approval_request(command) };
        Self::asking(request)
    }

    fn asking(request: ApprovalRequest) -> Self {
        let mut harness = Self::of(ApprovalPanel::default(), Address::Screen).sized(80, 8);
        harness.model.activity.approvals.push(PendingApproval { request, since: UnixMs(0) });
        harness.wait(1_000);
        harness
    }

    /// Refreshes the panel, lets time pass and refreshes it again.
    fn wait(&mut self, ms: i64) {
        for passed in [0, ms] {
            self.now += passed;
            self.refresh();
            self.buffer();
        }
    }

    fn text(&mut self, text: &str) -> (Outcome, Vec<Effect>) {
        self.send(UiEvent::Text(text))
    }

    fn letter(&mut self, letter: char) -> (Outcome, Vec<Effect>) {
        self.key(KeyCode::Char(letter))
    }
}

fn decided(decision: Decision) -> (Outcome, Vec<Effect>) {
    decided_for("c1", decision)
}

fn decided_for(id: &str, decision: Decision) -> (Outcome, Vec<Effect>) {
    let call = || CallId::from(id);
    let effects = vec![
        Effect::CloseCallPage(call()),
        Effect::CallAnswered(call()),
        Effect::Perform(Address::Screen, Action::Decide(call(), decision)),
    ];
    (Outcome::Consumed, effects)
}

fn flashed(text: &str) -> (Outcome, Vec<Effect>) {
    let message = FlashText { text: text.into(), call: Some("c1".into()) };
    (Outcome::Consumed, vec![Effect::Flash(message)])
}

const IGNORED: (Outcome, Vec<Effect>) = (Outcome::Ignored, Vec::new());

#[test]
fn panel_letter_and_number_answer() {
    let denied = || Decision::Deny { reason: "the user rejected it".into() };
    for (letter, expected) in [
        ('y', Decision::Once),
        ('1', Decision::Once),
        ('2', Decision::Session),
        ('n', denied()),
        ('3', denied()),
    ] {
        assert_eq!(Harness::new("ls", "ls").letter(letter), decided(expected), "{letter}");
    }
    assert_eq!(Harness::new("ls", "").letter('2'), decided(denied()), "no rule, no answer for the session");
    assert_eq!(Harness::new("ls", "").letter('a'), IGNORED);
    assert_eq!(Harness::new("ls", "ls").letter('9'), IGNORED);
}

#[test]
fn panel_always_opens_the_proposed_rules() {
    let rules = ProposedRules::parse("bash", "ls *");
    let subject = PatternSubject::Command;
    let opened = Effect::Open(OverlayRequest::RuleForm { call: "c1".into(), rules: rules.clone(), subject });
    for letter in ['A', '3'] {
        let mut harness = Harness::proposing("ls", "ls", Some(rules.clone()));
        assert_eq!(harness.letter(letter), (Outcome::Consumed, vec![opened.clone()]), "{letter}");
    }
    let denied = || decided(Decision::Deny { reason: "the user rejected it".into() });
    let mut harness = Harness::proposing("ls", "ls", Some(rules));
    insta::assert_snapshot!(harness.drawn(), @r"
      ? bash needs approval: runs a command
      │ ls
      │ in ~/code/conf
      [y] once · [a] ls, for this session · [A] always… · [n] deny · [d] deny + why
    ");
    assert_eq!(harness.letter('4'), denied());
    assert_eq!(Harness::new("ls", "ls").letter('A'), IGNORED, "no rule, no answer");
    let command: Vec<String> = (1..20).map(|n| format!("echo {n}")).collect();
    let mut long = Harness::proposing(&command.join("\n"), "", Some(ProposedRules::default()));
    assert_eq!(long.letter('A'), flashed("The call is longer than its panel; v shows all of it."));
}

#[test]
fn panel_answer_counts_after_400_ms() {
    let mut harness = Harness::new("ls", "ls");
    harness.component = ApprovalPanel::default();
    harness.wait(399);
    for letter in ['y', 'n', '1'] {
        let says = format!("Ignored: pressed too soon. Press {letter} again.");
        assert_eq!(harness.letter(letter), flashed(&says));
    }
    harness.wait(1);
    assert_eq!(harness.letter('y'), decided(Decision::Once));
}

#[test]
fn panel_covered_call_is_not_visible() {
    let mut harness = Harness::new("ls", "ls");
    harness.focus.is_covered = true;
    harness.wait(5_000);
    harness.focus.is_covered = false;
    harness.wait(0);
    assert_eq!(harness.letter('n'), flashed("Ignored: pressed too soon. Press n again."));
}

#[test]
fn panel_text_in_editor_makes_letters_text() {
    let mut harness = Harness::new("ls", "ls");
    harness.focus.is_editor_empty = false;
    assert_eq!(harness.letter('y'), IGNORED);
    assert_eq!(harness.key(KeyCode::Enter), IGNORED, "Enter sends the text");
    assert!(harness.drawn().ends_with("enter denies and steers with your text · ctrl+c clears your text"));
}

#[test]
fn panel_long_call_is_allowed_once_opened() {
    let command: Vec<String> = (1..20).map(|n| format!("echo {n}")).collect();
    let mut harness = Harness::new(&command.join("\n"), "");
    insta::assert_snapshot!(harness.drawn(), @r"
      ? bash needs approval: runs a command
      │ echo 1
      │ echo 2
      │ echo 3
      │ echo 4
      │ … 16 more lines below · shift+down scrolls · v shows all
      v shows all; then you can allow it · [n] deny · [d] deny + why
    ");
    assert_eq!(harness.letter('y'), flashed("The call is longer than its panel; v shows all of it."));
    let (outcome, effects) = harness.letter('v');
    let [Effect::Open(OverlayRequest::CallPage { call, title, lines })] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!((outcome, call, title.as_str()), (Outcome::Consumed, &"c1".into(), "bash needs approval"));
    assert_eq!((lines.len(), lines[18].text().trim()), (20, "echo 19"));
    assert_eq!(harness.letter('y'), decided(Decision::Once));
}

#[test]
fn panel_arrows_select_and_enter_gives() {
    let mut harness = Harness::new("ls", "ls");
    let says = "Press y to allow, n to deny, d to deny with a reason.";
    assert_eq!(harness.key(KeyCode::Enter), flashed(says));
    harness.key(KeyCode::Right);
    harness.key(KeyCode::Right);
    assert!(harness.drawn().contains("▸ [a] ls, for this session"), "{}", harness.drawn());
    harness.key(KeyCode::Esc);
    assert_eq!(harness.key(KeyCode::Enter), flashed(says), "Esc cleared the selection");
    assert_eq!(harness.key(KeyCode::Esc), IGNORED, "the next one stops the run");
    harness.key(KeyCode::Left);
    let writes = vec![Effect::CloseCallPage("c1".into()), Effect::WriteReason("c1".into())];
    assert_eq!(harness.key(KeyCode::Enter), (Outcome::Consumed, writes));
}

#[test]
fn panel_without_call_takes_no_key() {
    let mut harness = Harness::new("ls", "ls");
    harness.model.activity.approvals.clear();
    harness.wait(0);
    assert_eq!((harness.letter('y'), harness.drawn().as_str()), (IGNORED, ""));
}

#[test]
fn panel_text_at_once_is_no_answer() {
    let inserted = |text: &str| (Outcome::Consumed, vec![Effect::InsertText(text.into())]);
    let mut harness = Harness::new("ls", "ls");
    assert_eq!(harness.text("yes"), inserted("yes"));
    harness.focus.is_writing_reason = true;
    assert_eq!(harness.text("yes"), inserted("yes"), "nothing of a reason is swallowed");
    harness.model.activity.approvals.clear();
    assert_eq!(harness.text("yes"), IGNORED);
}
