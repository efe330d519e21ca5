//! Login, logout and import lists.

use crossterm::event::KeyCode;
use tiller_engine::{CredentialOrigin, KeyChangeOutcome, ProviderCredential};

use crate::action::{Action, ListAction};
use crate::list_kind::ListKind;
use crate::login::LoginResult;
use crate::message::TaskResult;
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
fn login_of_another_provider_names_the_list_of_models() {
    let (mut harness, _) = submit(SIZES[0], "/login");
    harness.report_result(key_changed("mistral"));
    let screen = harness.screen();
    assert!(
        screen.contains("mistral can be asked now") && screen.contains("ctrl+l chooses a model"),
        "{screen}"
    );
    assert!(!screen.contains("log in"), "the list is done with: {screen}");
}
