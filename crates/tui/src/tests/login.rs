//! Login, logout and import lists.

use crossterm::event::KeyCode;
use tiller_core::unit::UnixMs;
use tiller_engine::{CredentialOrigin, KeyChangeOutcome, ProviderCredential};
use tiller_session::import::{LogPeek, SourceFormat};

use crate::action::{Action, BackgroundJob, ListAction};
use crate::dialog::Dialog;
use crate::import::ForeignLog;
use crate::list_kind::ListKind;
use crate::login::{KeyInput, LoginRequest, LoginResult};
use crate::message::{Msg, TaskResult};
use crate::navigate::Navigate;
use crate::picker;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::tests::harness::{Harness, SIZES};

fn credentials() -> Vec<ProviderCredential> {
    let holder = |provider: &str, from| ProviderCredential { provider: provider.into(), origin: from };
    vec![
        holder("anthropic", CredentialOrigin::Missing),
        holder("openai", CredentialOrigin::External("OPENAI_API_KEY".into())),
        holder("mistral", CredentialOrigin::Stored),
    ]
}

/// Returns a harness in which a line was sent, and the resulting actions.
fn submit(size: (u16, u16), line: &str) -> (Harness, Vec<Action>) {
    let mut harness = Harness::new(size.0, size.1);
    harness.type_text(line);
    let actions = harness.key(KeyCode::Enter);
    (harness, actions)
}

fn load_items(harness: &mut Harness, list: ListKind, items: Vec<PickerItem>) {
    harness.items(list, (items, 0));
}

fn key_changed(provider: &str) -> TaskResult {
    TaskResult::Login(LoginResult {
        message: format!("{provider} can be asked now"),
        hint: None,
        outcome: KeyChangeOutcome::OtherProvider,
    })
}

#[test]
fn login_key_is_masked() {
    for size in SIZES {
        let (mut harness, actions) = submit(size, "/login");
        assert!(actions.contains(&Action::List(ListAction::LoadItems(ListKind::Logins))), "{actions:?}");
        load_items(&mut harness, ListKind::Logins, picker::credentials::logins(&credentials()));
        insta::assert_snapshot!(format!("login_{}x{}", size.0, size.1), harness.screen());
        assert_eq!(harness.key(KeyCode::Enter), []);
        harness.type_text("sk-ant-");
        harness.input(Msg::Paste("hush-hush\n".into()));
        let screen = harness.screen();
        assert!(!screen.contains("hush") && !screen.contains("sk-"), "{screen}");
        insta::assert_snapshot!(format!("login_typed_{}x{}", size.0, size.1), screen);
        let store = Action::List(ListAction::Key(LoginRequest::Store(
            "anthropic".into(),
            KeyInput::new("sk-ant-hush-hush"),
        )));
        assert_eq!(harness.key(KeyCode::Enter), [store]);
        harness.report_result(key_changed("mistral"));
        let screen = harness.screen();
        assert!(
            screen.contains("mistral can be asked now") && screen.contains("ctrl+l chooses a model"),
            "{screen}"
        );
        assert!(!screen.contains("log in"), "the list is done with: {screen}");
    }
}

#[test]
fn login_from_locked_model_and_back() {
    let (mut harness, _) = submit(SIZES[0], "/model");
    let locked = PickerItem::new("anthropic/claude", PickerChoice::LockedModel("anthropic".into()));
    load_items(&mut harness, ListKind::Models, vec![locked]);
    assert_eq!(harness.key(KeyCode::Enter), [Action::List(ListAction::LoadItems(ListKind::Logins))]);
    load_items(&mut harness, ListKind::Logins, picker::credentials::logins(&credentials()));
    assert!(harness.screen().contains("key for anthropic ❯"), "{}", harness.screen());
    harness.actions.clear();
    let result = LoginResult {
        message: "anthropic can be asked now".into(),
        hint: None,
        outcome: KeyChangeOutcome::Unchanged,
    };
    harness.report_result(TaskResult::Login(result));
    assert_eq!(harness.actions, [Action::List(ListAction::LoadItems(ListKind::Models))]);
    assert!(harness.screen().contains("── models"), "{}", harness.screen());
}

#[test]
fn login_key_argument_is_not_in_history() {
    let (mut harness, actions) = submit(SIZES[0], "/login anthropic sk-hush");
    assert_eq!(actions, [Action::List(ListAction::LoadItems(ListKind::Logins))]);
    assert!(!format!("{:?}", harness.app.composer.editor.history()).contains("hush"));
    load_items(&mut harness, ListKind::Logins, picker::credentials::logins(&credentials()));
    assert!(harness.screen().contains("key for anthropic ❯"), "it is asked for: {}", harness.screen());
    let (harness, actions) = submit(SIZES[0], "/login anthropic");
    assert!(
        matches!(&actions[0], Action::Background(BackgroundJob::AppendHistory(lines)) if *lines == ["/login anthropic"]),
        "{actions:?}"
    );
    assert!(format!("{:?}", harness.app.composer.editor.history()).contains("/login anthropic"));
}

#[test]
fn logout_lists_stored_keys_only() {
    for size in SIZES {
        let (mut harness, actions) = submit(size, "/logout");
        assert!(actions.contains(&Action::List(ListAction::LoadItems(ListKind::Logouts))), "{actions:?}");
        load_items(&mut harness, ListKind::Logouts, picker::credentials::logouts(&credentials()));
        insta::assert_snapshot!(format!("logout_{}x{}", size.0, size.1), harness.screen());
        harness.key(KeyCode::Down);
        assert_eq!(
            harness.key(KeyCode::Enter),
            [Action::List(ListAction::Key(LoginRequest::Remove("mistral".into())))]
        );
    }
    let (_, actions) = submit(SIZES[0], "/logout openai");
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
        let (mut harness, actions) = submit(size, "/import");
        assert!(actions.contains(&Action::List(ListAction::LoadItems(ListKind::ForeignLogs))), "{actions:?}");
        load_items(
            &mut harness,
            ListKind::ForeignLogs,
            picker::foreign_logs::foreign_logs(&foreign(), UnixMs(super::harness::START)),
        );
        insta::assert_snapshot!(format!("import_{}x{}", size.0, size.1), harness.screen());
        harness.type_text("fish");
        assert_eq!(harness.key(KeyCode::Enter), [Action::List(ListAction::Import("/h/pond.jsonl".into()))]);
        let open = PickerItem::new("open it, session DFGHJKL", PickerChoice::Open("/s/pond.jsonl".into()));
        let title = "imported, 9 entries".into();
        harness.report_result(TaskResult::Dialog(Dialog { title, items: vec![open] }));
        harness.wait(400);
        assert_eq!(harness.key(KeyCode::Enter), [Action::Navigate(Navigate::Open("/s/pond.jsonl".into()))]);
    }
    let (_, actions) = submit(SIZES[0], "/import ~/old logs");
    assert!(actions.contains(&Action::List(ListAction::Import("~/old logs".into()))), "{actions:?}");
}
