//! Login, logout and import lists.

use crossterm::event::KeyCode;
use tiller_core::unit::UnixMs;
use tiller_engine::{CredentialOrigin, KeyChangeOutcome, ProviderCredential};
use tiller_session::import::{LogPeek, SourceFormat};

use super::harness::{Harness, SIZES};
use crate::app::{Action, BackgroundJob, ListAction, ListKind, ListResult, Msg, Navigate, TaskResult};
use crate::dialog::Dialog;
use crate::import::{self, ForeignLog};
use crate::login::{self, KeyInput, LoginRequest, LoginResult};
use crate::picker::{PickerChoice, PickerItem, StatusText};

fn holders() -> Vec<ProviderCredential> {
    let holder = |provider: &str, from| ProviderCredential { provider: provider.into(), origin: from };
    vec![
        holder("anthropic", CredentialOrigin::Missing),
        holder("openai", CredentialOrigin::External("OPENAI_API_KEY".into())),
        holder("mistral", CredentialOrigin::Stored),
    ]
}

/// A stage on which a line was sent, and what was to be done then.
fn sent(size: (u16, u16), line: &str) -> (Harness, Vec<Action>) {
    let mut stage = Harness::new(size.0, size.1);
    stage.type_text(line);
    let actions = stage.key(KeyCode::Enter);
    (stage, actions)
}

fn offers(stage: &mut Harness, list: ListKind, items: Vec<PickerItem>) {
    stage.input(Msg::TaskResult(TaskResult::List(ListResult::Items { list, items, selected: 0 })));
}

fn changed(provider: &str) -> TaskResult {
    TaskResult::Login(LoginResult {
        message: format!("{provider} can be asked now"),
        hint: None,
        outcome: KeyChangeOutcome::OtherProvider,
    })
}

#[test]
fn login_key_is_masked() {
    for size in SIZES {
        let (mut stage, actions) = sent(size, "/login");
        assert!(actions.contains(&Action::List(ListAction::LoadItems(ListKind::Logins))), "{actions:?}");
        offers(&mut stage, ListKind::Logins, login::logins(&holders()));
        insta::assert_snapshot!(format!("login_{}x{}", size.0, size.1), stage.screen());
        assert_eq!(stage.key(KeyCode::Enter), []);
        stage.type_text("sk-ant-");
        stage.input(Msg::Paste("hush-hush\n".into()));
        let screen = stage.screen();
        assert!(!screen.contains("hush") && !screen.contains("sk-"), "{screen}");
        insta::assert_snapshot!(format!("login_typed_{}x{}", size.0, size.1), screen);
        let kept = Action::List(ListAction::Key(LoginRequest::Store(
            "anthropic".into(),
            KeyInput::new("sk-ant-hush-hush"),
        )));
        assert_eq!(stage.key(KeyCode::Enter), [kept]);
        stage.input(Msg::TaskResult(changed("mistral")));
        let screen = stage.screen();
        assert!(
            screen.contains("mistral can be asked now") && screen.contains("ctrl+l chooses a model"),
            "{screen}"
        );
        assert!(!screen.contains("log in"), "the list is done with: {screen}");
    }
}

#[test]
fn login_esc_leaves_prompt_then_list() {
    let (mut stage, _) = sent(SIZES[0], "/login");
    offers(&mut stage, ListKind::Logins, login::logins(&holders()));
    stage.key(KeyCode::Enter);
    stage.type_text("sk");
    stage.key(KeyCode::Esc);
    assert!(stage.screen().contains("type to filter"), "{}", stage.screen());
    stage.key(KeyCode::Enter);
    assert!(stage.screen().contains("it is not shown"), "what was typed before is gone: {}", stage.screen());
    assert_eq!(stage.key(KeyCode::Enter), []);
    assert!(stage.screen().contains("no key entered"), "{}", stage.screen());
    stage.key(KeyCode::Esc);
    assert!(!stage.screen().contains("log in"), "{}", stage.screen());
}

#[test]
fn login_rejected_key_can_be_corrected() {
    let (mut stage, _) = sent(SIZES[0], "/login anthropic");
    offers(&mut stage, ListKind::Logins, login::logins(&holders()));
    stage.type_text("sk-bad");
    stage.key(KeyCode::Enter);
    stage.input(Msg::TaskResult(TaskResult::List(ListResult::Status(StatusText::error("that is no key")))));
    let screen = stage.screen();
    assert!(screen.contains("✗ that is no key") && screen.contains("6 characters"), "{screen}");
    stage.type_text("x");
    let kept =
        Action::List(ListAction::Key(LoginRequest::Store("anthropic".into(), KeyInput::new("sk-badx"))));
    assert_eq!(stage.key(KeyCode::Enter), [kept]);
}

#[test]
fn login_from_locked_model_and_back() {
    let (mut stage, _) = sent(SIZES[0], "/model");
    let locked = PickerItem::new("anthropic/claude", PickerChoice::LockedModel("anthropic".into()));
    offers(&mut stage, ListKind::Models, vec![locked]);
    assert_eq!(stage.key(KeyCode::Enter), [Action::List(ListAction::LoadItems(ListKind::Logins))]);
    offers(&mut stage, ListKind::Logins, login::logins(&holders()));
    assert!(stage.screen().contains("key of anthropic ❯"), "{}", stage.screen());
    stage.actions.clear();
    let news = LoginResult {
        message: "anthropic can be asked now".into(),
        hint: None,
        outcome: KeyChangeOutcome::Unchanged,
    };
    stage.input(Msg::TaskResult(TaskResult::Login(news)));
    assert_eq!(stage.actions, [Action::List(ListAction::LoadItems(ListKind::Models))]);
    assert!(stage.screen().contains("── models"), "{}", stage.screen());
}

#[test]
fn login_named_provider_prompts_at_once() {
    let (mut stage, _) = sent(SIZES[0], "/login anth");
    stage.type_text("sk-hush");
    assert!(!stage.screen().contains("sk-hush"), "typed before the list is there: {}", stage.screen());
    offers(&mut stage, ListKind::Logins, login::logins(&holders()));
    assert!(stage.screen().contains("key of anthropic ❯ •••••••  7 characters"), "{}", stage.screen());
    let kept =
        Action::List(ListAction::Key(LoginRequest::Store("anthropic".into(), KeyInput::new("sk-hush"))));
    assert_eq!(stage.key(KeyCode::Enter), [kept]);

    let (mut stage, _) = sent(SIZES[0], "/login nobody");
    stage.type_text("sk-hush");
    offers(&mut stage, ListKind::Logins, login::logins(&holders()));
    let screen = stage.screen();
    assert!(screen.contains("unknown provider `nobody`") && !screen.contains("hush"), "{screen}");
    assert!(screen.contains("anthropic"), "all of them are offered: {screen}");
}

#[test]
fn login_key_argument_is_not_in_history() {
    let (mut stage, actions) = sent(SIZES[0], "/login anthropic sk-hush");
    assert_eq!(actions, [Action::List(ListAction::LoadItems(ListKind::Logins))]);
    assert!(!format!("{:?}", stage.app.editor.history()).contains("hush"));
    offers(&mut stage, ListKind::Logins, login::logins(&holders()));
    assert!(stage.screen().contains("key of anthropic ❯"), "it is asked for: {}", stage.screen());
    let (stage, actions) = sent(SIZES[0], "/login anthropic");
    assert!(
        matches!(&actions[0], Action::Background(BackgroundJob::AppendHistory(lines)) if *lines == ["/login anthropic"]),
        "{actions:?}"
    );
    assert!(format!("{:?}", stage.app.editor.history()).contains("/login anthropic"));
}

#[test]
fn logout_lists_stored_keys_only() {
    for size in SIZES {
        let (mut stage, actions) = sent(size, "/logout");
        assert!(actions.contains(&Action::List(ListAction::LoadItems(ListKind::Logouts))), "{actions:?}");
        offers(&mut stage, ListKind::Logouts, login::logouts(&holders()));
        insta::assert_snapshot!(format!("logout_{}x{}", size.0, size.1), stage.screen());
        stage.key(KeyCode::Down);
        assert_eq!(
            stage.key(KeyCode::Enter),
            [Action::List(ListAction::Key(LoginRequest::Remove("mistral".into())))]
        );
    }
    let (_, actions) = sent(SIZES[0], "/logout openai");
    assert!(
        actions.contains(&Action::List(ListAction::Key(LoginRequest::Remove("openai".into())))),
        "{actions:?}"
    );
}

fn foreign() -> Vec<ForeignLog> {
    let log = |from, file: &str, cwd: Option<&str>, words: Option<&str>, hours: i64| ForeignLog {
        path: format!("/h/{file}").into(),
        modified: UnixMs(super::harness::START - hours * 3_600_000),
        peek: LogPeek { from, cwd: cwd.map(str::to_owned), first_prompt: words.map(str::to_owned) },
    };
    let fish = "feed the fish, and then tell me in every detail how many there are and of which kind they seem to be";
    vec![
        log(Some(SourceFormat::Claude), "5b0f.jsonl", Some("/home/ada/orchard"), Some("count the trees"), 2),
        log(Some(SourceFormat::Codex), "rollout-mill.jsonl", Some("/home/ada/mill"), None, 50),
        log(Some(SourceFormat::Pi), "pond.jsonl", Some("/home/ada/pond"), Some(fish), 700),
        log(None, "torn.jsonl", None, None, 9_000),
    ]
}

#[test]
fn import_lists_by_first_prompt() {
    for size in SIZES {
        let (mut stage, actions) = sent(size, "/import");
        assert!(actions.contains(&Action::List(ListAction::LoadItems(ListKind::ForeignLogs))), "{actions:?}");
        offers(&mut stage, ListKind::ForeignLogs, import::logs(&foreign(), UnixMs(super::harness::START)));
        insta::assert_snapshot!(format!("import_{}x{}", size.0, size.1), stage.screen());
        stage.type_text("fish");
        assert_eq!(stage.key(KeyCode::Enter), [Action::List(ListAction::Import("/h/pond.jsonl".into()))]);
        let open = PickerItem::new("open it, session DFGHJKL", PickerChoice::Open("/s/pond.jsonl".into()));
        let title = "imported, 9 entries".into();
        stage.input(Msg::TaskResult(TaskResult::Dialog(Dialog { title, items: vec![open] })));
        stage.wait(400);
        assert_eq!(stage.key(KeyCode::Enter), [Action::Navigate(Navigate::Open("/s/pond.jsonl".into()))]);
    }
    let (_, actions) = sent(SIZES[0], "/import ~/old logs");
    assert!(actions.contains(&Action::List(ListAction::Import("~/old logs".into()))), "{actions:?}");
}
