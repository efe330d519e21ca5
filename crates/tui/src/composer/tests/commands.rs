//! Submitted lines that are commands.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::setting;
use tiller_engine::slash_command::InteractiveFrontEnd::{Plain, Tui};
use tiller_engine::slash_command::available_commands;
use tiller_engine::{AgentCommand, ApprovalMode, CommandSource};

use crate::action::{Action, BackgroundJob, ListAction, SessionEdit, Submit};
use crate::address::Address;
use crate::composer::testing::ComposerBench;
use crate::effect::{Effect, OverlayRequest};
use crate::list_kind::ListKind;
use crate::login::LoginRequest;
use crate::navigate::Navigate;

impl ComposerBench {
    /// Returns the actions of a submitted line, except for storing it in the history.
    fn submit_pasted(&mut self, line: &str) -> Vec<Action> {
        self.control('c');
        // As one paste, so that no completion is accepted.
        self.paste(line);
        let mut actions = self.key(KeyCode::Enter);
        actions.retain(|action| !matches!(action, Action::Background(BackgroundJob::AppendHistory(_))));
        actions
    }
}

#[test]
fn slash_agent_command_is_sent_unknown_is_not() {
    let mut harness = ComposerBench::new();
    let command = AgentCommand {
        name: "greet".into(),
        description: "Greets\u{1b}[31m somebody".into(),
        argument_hint: Some("<who>".into()),
        source: CommandSource::Prompt,
        location: None,
    };
    harness.bench.model.info.commands = vec![command];
    harness.type_text("/gr");
    assert!(harness.screen().contains("▸ /greet <who>"), "{}", harness.screen());
    assert_eq!(harness.key(KeyCode::Enter), []);
    harness.type_text("Ada");
    let sent = harness.key(KeyCode::Enter);
    assert!(sent.contains(&Action::Submit(Submit::Steer("/greet Ada".into()))), "{sent:?}");
    harness.type_text("/greet Bob");
    let sent = harness.press(KeyCode::Enter, KeyModifiers::ALT);
    assert!(sent.contains(&Action::Submit(Submit::FollowUp("/greet Bob".into()))), "{sent:?}");
    harness.type_text("/skill:nobody");
    let sent = harness.key(KeyCode::Enter);
    assert!(sent.iter().all(|action| !matches!(action, Action::Submit(Submit::Steer(_)))), "{sent:?}");
    assert_eq!(harness.text(), "/skill:nobody");
}

#[test]
fn clone_command_requests_a_copy() {
    let mut harness = ComposerBench::new();
    harness.type_text("/clone");
    assert_eq!(harness.key(KeyCode::Enter)[1..], [Action::Navigate(Navigate::Clone)]);
}

#[test]
fn unknown_command_stays_with_suggestion() {
    let mut harness = ComposerBench::new();
    harness.type_text("/modle gpt");
    let actions = harness.key(KeyCode::Enter);
    assert_eq!(actions, [Action::Background(BackgroundJob::AppendHistory(vec!["/modle gpt".into()]))]);
    assert_eq!(harness.text(), "/modle gpt");
    assert!(harness.flash.contains("did you mean /model?"), "{}", harness.flash);
}

#[test]
fn invalid_arguments_stay_in_editor() {
    for line in ["/thinking nope", "/approval nope"] {
        let mut harness = ComposerBench::new();
        harness.type_text(line);
        harness.key(KeyCode::Enter);
        assert_eq!(harness.text(), line);
    }
}

#[test]
fn bang_without_command_is_not_sent() {
    for line in ["!", "!!", " ! "] {
        let mut harness = ComposerBench::new();
        harness.type_text(line);
        assert_eq!(harness.key(KeyCode::Enter), []);
        assert_eq!(harness.press(KeyCode::Enter, KeyModifiers::ALT), []);
        assert_eq!(harness.text(), line);
        assert!(harness.flash.contains("Type a command after"), "{}", harness.flash);
    }
}

#[test]
fn name_without_argument_shows_name() {
    let mut harness = ComposerBench::new();
    harness.bench.model.info.name = Some("fix-crlf".into());
    harness.type_text("/name");
    harness.key(KeyCode::Enter);
    harness.key(KeyCode::Enter);
    assert_eq!(harness.flash, "Current name: fix-crlf. Type a new name after /name.");
    assert_eq!(harness.text(), "/name ");
}

#[test]
fn label_command_sets_and_removes() {
    let mut harness = ComposerBench::new();
    for (line, label) in [("/label first try", Some("first try".to_owned())), ("/label", None)] {
        harness.type_text(line);
        let actions = harness.key(KeyCode::Enter);
        assert!(actions.contains(&Action::Edit(SessionEdit::Label(label))), "{actions:?}");
    }
}

#[test]
fn shell_program_that_needs_a_terminal_is_not_run() {
    for (line, told) in [
        ("!vim notes.md", "vim is interactive"),
        ("!!ssh host", "or suspend tiller with ctrl+z"),
        ("!cd src", "--cwd DIR"),
    ] {
        let mut harness = ComposerBench::new();
        harness.type_text(line);
        let actions = harness.key(KeyCode::Enter);
        assert!(!actions.iter().any(|action| matches!(action, Action::Submit(_))), "{line}: {actions:?}");
        assert_eq!(harness.text(), line, "it is there to be changed");
        assert!(harness.flash.contains(told), "{}", harness.flash);
    }
}

#[test]
fn command_unexpected_argument_is_rejected() {
    let mut harness = ComposerBench::new();
    for line in ["/new and fix it", "/fork 2", "/clone now", "/quit please", "/clear all"] {
        assert_eq!(harness.submit_pasted(line), [], "{line}");
        assert_eq!(harness.text(), line);
        assert!(harness.flash.contains("takes no arguments"), "{}", harness.flash);
    }
    assert_eq!(harness.submit_pasted("/new"), [Action::Navigate(Navigate::New)]);
    assert_eq!(
        harness.submit_pasted("/clear"),
        [Action::Navigate(Navigate::New)],
        "which hands know from elsewhere"
    );
}

#[test]
fn command_of_plain_is_rejected() {
    let of_plain = available_commands(Plain).filter(|row| !row.is_available(Tui));
    let names: Vec<&str> = of_plain.map(|row| row.name).collect();
    assert_eq!(names, ["go", "now", "queue", "send", "drop", "stop"]);
    for name in names {
        let mut harness = ComposerBench::new();
        harness.type_text(&format!("/{name}"));
        let stored = BackgroundJob::AppendHistory(vec![format!("/{name}")]);
        assert_eq!(harness.key(KeyCode::Enter), [Action::Background(stored)]);
        assert_eq!(harness.text(), format!("/{name}"));
        let message = format!("/{name} is available only with --plain");
        assert!(harness.flash.contains(&message), "{}", harness.flash);
        let names_key = harness.flash.contains("; press alt+up to edit the queue");
        assert_eq!(names_key, ["queue", "send", "drop"].contains(&name), "{}", harness.flash);
    }
}

#[test]
fn settings_invalid_value_is_returned() {
    let mut harness = ComposerBench::new();
    let auto = Action::List(ListAction::Set(&setting::APPROVAL, "auto".into()));
    assert_eq!(harness.submit_pasted("/settings approval auto"), [auto]);
    harness.paste("/settings sync");
    let narrowed = OverlayRequest::List { kind: ListKind::Settings, filter: "sync".into() };
    let effects = harness.effects(KeyEvent::from(KeyCode::Enter));
    assert!(effects.contains(&Effect::Open(narrowed)), "a name alone narrows the list: {effects:?}");
    for (line, says) in [
        ("/settings approval sometimes", "`sometimes` is not one of"),
        ("/settings aproval auto", "did you mean `approval`?"),
    ] {
        assert_eq!(harness.submit_pasted(line), [], "{line}");
        assert!(harness.flash.contains(says), "{}", harness.flash);
        assert_eq!(harness.text(), line);
    }
}

#[test]
fn commands_request_their_pages() {
    let mut harness = ComposerBench::new();
    harness.type_text("/context");
    let actions = harness.key(KeyCode::Enter);
    assert!(actions.iter().any(|action| matches!(action, Action::ShowContext { .. })), "{actions:?}");
    assert!(harness.submit_pasted("/mcp").contains(&Action::ShowToolServers));
    for (line, title) in [("/help", "help"), ("/hotkeys", "keys")] {
        harness.paste(line);
        let effects = harness.effects(KeyEvent::from(KeyCode::Enter));
        let is_page = |effect: &Effect| matches!(effect, Effect::Open(OverlayRequest::Help { title: of, .. }) if of == title);
        assert!(effects.iter().any(is_page), "{line}: {effects:?}");
    }
}

#[test]
fn login_key_argument_is_not_in_history() {
    let submit = |line: &str| {
        let mut harness = ComposerBench::new();
        harness.type_text(line);
        let effects = harness.effects(KeyEvent::from(KeyCode::Enter));
        let asks = Effect::Open(OverlayRequest::Login("anthropic".into()));
        assert!(effects.contains(&asks), "it is asked for: {effects:?}");
        let history = harness.bench.component.editor.history().to_vec();
        let stored = Action::Background(BackgroundJob::AppendHistory(vec![line.to_owned()]));
        (effects.contains(&Effect::Perform(Address::Composer, stored)), history.concat())
    };
    let (is_stored, history) = submit("/login anthropic sk-hush");
    assert!(!is_stored && !history.contains("hush"), "{history}");
    let (is_stored, history) = submit("/login anthropic");
    assert!(is_stored && history.contains("/login anthropic"), "{history}");
}

#[test]
fn command_without_argument_opens_its_list() {
    for (line, kind) in [
        ("/model", ListKind::Models),
        ("/thinking", ListKind::Thinking),
        ("/approval", ListKind::Approval),
        ("/tools", ListKind::Tools),
        ("/settings", ListKind::Settings),
        ("/login", ListKind::Logins),
        ("/logout", ListKind::Logouts),
        ("/import", ListKind::ForeignLogs),
        ("/jobs", ListKind::Jobs),
    ] {
        let mut harness = ComposerBench::new();
        harness.type_text(line);
        let effects = harness.effects(KeyEvent::from(KeyCode::Enter));
        assert!(effects.contains(&Effect::Open(OverlayRequest::list(kind))), "{line}: {effects:?}");
    }
    let removes = ListAction::Key(LoginRequest::Remove("openai".into()));
    for (line, action) in [
        ("/approval auto", ListAction::SetApproval(ApprovalMode::Auto)),
        ("/logout openai", removes),
        ("/import ~/old logs", ListAction::Import("~/old logs".into())),
    ] {
        assert_eq!(ComposerBench::new().submit_pasted(line), [Action::List(action)]);
    }
}
