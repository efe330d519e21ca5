mod commands;
mod history;
mod images;
mod long_messages;
mod sending;

use crossterm::event::{KeyCode, KeyModifiers};
use tiller_core::event::{Decision, QueueKind};
use tiller_engine::BranchSummary;

use super::*;
use crate::action::Submit;
use crate::address::Address;
use crate::approval_panel::tests::approval_request;
use crate::component::FocusState;
use crate::component::testing::{Bench, queue_item};
use crate::effect::FlashText;
use crate::navigate::Navigate;
use crate::queue::{AfterQueueEdit, QueueAction};
use crate::session_model::PendingApproval;

type Harness = Bench<Composer>;

impl Harness {
    fn new() -> Self {
        let mut harness = Self::of(Composer::new(Vec::new()), Address::Composer);
        harness.focus = FocusState::default();
        harness
    }

    /// Returns a composer with this text in the editor.
    fn with_text(text: &str) -> Self {
        let mut harness = Self::new();
        harness.component.editor.set_text(text);
        harness
    }

    fn press(&mut self, key: KeyEvent) -> (Outcome, Vec<Effect>) {
        self.send(UiEvent::Key(key))
    }

    fn enter(&mut self) -> Vec<Effect> {
        self.press(KeyEvent::from(KeyCode::Enter)).1
    }
}

fn flash(text: &str) -> Effect {
    Effect::Flash(FlashText { text: text.into(), call: None })
}

/// Returns the effect of an action of the composer.
fn performed(action: Action) -> Effect {
    Effect::Perform(Address::Composer, action)
}

/// Returns the effects of sending these submissions, with the prompt that is added to the history.
fn sent(prompt: &str, submit: Submit, to_model: bool) -> Vec<Effect> {
    let history = Action::Background(BackgroundJob::AppendHistory(vec![prompt.into()]));
    vec![Effect::ClearFlash, performed(history), performed(Action::Submit(submit)), Effect::Sent { to_model }]
}

#[test]
fn composer_enter_sends_message_or_shell_command() {
    let steer = Submit::Steer("look".into());
    assert_eq!(Harness::with_text("look").enter(), sent("look", steer, true));
    let shell = Submit::Bash("ls".into(), tiller_engine::BashContext::Exclude);
    assert_eq!(Harness::with_text("!!ls").enter(), sent("!!ls", shell, false));
    let mut harness = Harness::with_text("look\\");
    assert_eq!((harness.enter(), harness.component.editor.text()), (Vec::new(), "look\n".to_owned()));
}

#[test]
fn composer_wrong_command_returns_for_correction() {
    let mut harness = Harness::with_text("/copy x");
    let effects = harness.enter();
    let says = flash("invalid number; /copy 1 copies the last answer, /copy 2 the one before");
    assert!(effects.contains(&says), "{effects:?}");
    assert_eq!(harness.component.editor.text(), "/copy x");
}

#[test]
fn composer_enter_in_empty_editor_takes_prompt_back() {
    assert_eq!(Harness::new().enter(), [Effect::TakeBackPrompt]);
    let mut harness = Harness::new();
    harness.model.activity.running_since = Some(UnixMs(0));
    assert_eq!(harness.enter(), [], "nothing waits for the run");
}

#[test]
fn composer_ctrl_c_clears_only_a_draft() {
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    let mut harness = Harness::with_text("a draft");
    let cleared = vec![flash("Cleared; alt+u restores it."), Effect::DraftCleared];
    assert_eq!(harness.press(ctrl_c), (Outcome::Consumed, cleared));
    assert!(harness.component.editor.is_empty());
    assert_eq!(
        harness.press(ctrl_c),
        (Outcome::Ignored, Vec::new()),
        "stopping and quitting are the screen's"
    );
}

/// Returns a composer with a pending call whose reason of denial is being written.
fn writing_reason() -> Harness {
    let mut harness = Harness::new();
    let request = approval_request("ls");
    harness.model.activity.approvals = vec![PendingApproval { request, since: UnixMs(0) }];
    harness.component.write_reason("c1".into());
    harness.component.editor.set_text("use nextest");
    harness
}

#[test]
fn composer_reason_is_sent_or_put_aside() {
    let reason = "the user rejected it: use nextest".to_owned();
    let decide = Action::Decide("c1".into(), Decision::Deny { reason });
    let expected = [
        Effect::CloseCallPage("c1".into()),
        Effect::CallAnswered("c1".into()),
        Effect::Perform(Address::Composer, decide),
    ];
    assert_eq!(writing_reason().enter(), expected);
    let mut harness = writing_reason();
    harness.press(KeyEvent::from(KeyCode::Esc));
    assert!(harness.component.editor.is_empty() && harness.component.is_for_message());
    harness.component.write_reason("c1".into());
    assert_eq!(harness.component.editor.text(), "use nextest");
}

#[test]
fn composer_reason_of_answered_call_becomes_a_draft() {
    let mut harness = writing_reason();
    harness.model.activity.approvals.clear();
    let effects = harness.refresh();
    assert_eq!(effects, [flash("Already answered elsewhere; your text is kept as a draft.")]);
    let ignored = [flash("Ignored: your text is now a new message. Press the key again to send it.")];
    assert_eq!(harness.enter(), ignored);
    assert_eq!(harness.enter(), sent("use nextest", Submit::Steer("use nextest".into()), true));
}

/// Returns a composer that is editing a queued message; the editor contained a draft before.
fn editing() -> Harness {
    let mut harness = Harness::with_text("a draft");
    harness.model.activity.queue = vec![queue_item("q1", QueueKind::FollowUp, "old")];
    let then = AfterQueueEdit::Release;
    harness.component.edit_queued(QueueEditRequest { id: "q1".into(), shown: "old".into(), then });
    harness
}

#[test]
fn composer_queue_edit_restores_the_draft() {
    let mut harness = editing();
    assert_eq!(harness.component.unsent_text(), "a draft");
    harness.component.editor.set_text("new");
    let edit = Action::Queue(QueueAction::Edit("q1".into(), "new".into(), AfterQueueEdit::Release));
    assert_eq!(harness.enter(), [Effect::QueueEditEnded, performed(edit)]);
    assert_eq!(harness.component.editor.text(), "a draft");
    let mut harness = editing();
    assert_eq!(harness.press(KeyEvent::from(KeyCode::Esc)).1, [Effect::QueueEditEnded]);
    assert_eq!(harness.component.editor.text(), "a draft");
}

#[test]
fn composer_queue_edit_of_gone_message_is_a_draft() {
    let mut harness = editing();
    harness.component.editor.set_text("new");
    harness.model.activity.queue.clear();
    let effects = harness.refresh();
    assert_eq!(effects, [flash("Already delivered unedited; your edit is kept as a draft.")]);
    assert_eq!(harness.component.editor.text(), "new\n\na draft");
}

#[test]
fn composer_summary_instruction_is_sent_or_canceled() {
    let mut harness = Harness::with_text("keep the plan");
    harness.component.purpose = ComposePurpose::SummaryInstruction("e1".into());
    let instructions = Some("keep the plan".to_owned());
    let navigate = Navigate::ToEntry("e1".into(), BranchSummary::Made { instructions });
    assert_eq!(harness.enter(), [performed(Action::Navigate(navigate))]);
    let mut harness = Harness::new();
    harness.component.purpose = ComposePurpose::SummaryInstruction("e1".into());
    let canceled = vec![flash("Canceled: you stay on this branch.")];
    assert_eq!(harness.press(KeyEvent::from(KeyCode::Esc)), (Outcome::Consumed, canceled));
    assert!(harness.component.is_for_message());
}

#[test]
fn composer_reason_put_aside_becomes_a_draft_after_the_call() {
    let stashed_reason = || {
        let mut harness = writing_reason();
        harness.press(KeyEvent::from(KeyCode::Esc));
        assert_eq!(harness.component.editor.text(), "");
        harness
    };
    let mut harness = stashed_reason();
    harness.model.activity.approvals.clear();
    let says = flash("The call has already ended; your reason is kept as a draft.");
    assert_eq!(harness.refresh(), [says]);
    assert_eq!(harness.component.editor.text(), "use nextest");
    assert_eq!(
        harness.enter(),
        [flash("Ignored: your text is now a new message. Press the key again to send it.")]
    );

    let mut harness = stashed_reason();
    harness.component.drop_reason(&"c1".into());
    harness.model.activity.approvals.clear();
    assert_eq!(harness.refresh(), [], "the user answered without it");
    assert_eq!(harness.component.editor.text(), "");
}

#[test]
fn composer_text_that_was_put_there_is_completed_once_edited() {
    let mut harness = Harness::new();
    harness.component.editor.put_before(&["/model".into()]);
    harness.refresh();
    assert_eq!(harness.component.completion.rows(), 0, "no list that nobody asked for");
    harness.component.editor.insert("s");
    harness.refresh();
    harness.component.editor.edit(EditCommand::DeleteBack);
    harness.refresh();
    assert!(harness.component.completion.rows() > 0);
}

#[test]
fn composer_draws_sign_and_wrapped_text() {
    let mut harness = Harness::with_text("a message that is longer than the area");
    harness.area = ratatui::layout::Rect::new(0, 0, 24, 3);
    harness.component.wrap_text((24, 24));
    insta::assert_snapshot!(harness.drawn(), @r"
    ❯ a message that is
      longer than the area
    ");
    harness.component.editor.set_text("!ls");
    harness.component.wrap_text((24, 24));
    assert_eq!(harness.drawn(), " ! !ls");
    assert_eq!(harness.press_at(4, 0), (Outcome::Consumed, vec![]));
    harness.component.editor.insert("x");
    assert_eq!(harness.component.editor.text(), "!xls", "a click moved the cursor");
}

#[test]
fn composer_rejected_command_returns() {
    for (action, typed) in [(Navigate::New, "/new"), (Navigate::Clone, "/clone")] {
        let mut harness = Harness::with_text("a draft");
        let left = harness.with(|composer, cx| composer.rejected(Action::Navigate(action), cx)).0;
        assert_eq!((left, harness.component.editor.text()), (None, format!("{typed}\n\na draft")));
    }
}

#[test]
fn composer_add_dir_takes_a_path() {
    let adds = performed(Action::List(ListAction::AddDir("../x:ro".into())));
    assert!(Harness::with_text("/add-dir ../x:ro").enter().contains(&adds));
}
