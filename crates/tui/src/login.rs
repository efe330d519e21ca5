//! `/login` and `/logout`: API keys of providers, entered in a list and never shown.
//!
//! The typed text is a [`KeyInput`] from the start. It goes only to the credential store, not to the history
//! or a draft, and its `Debug` output hides the key.

use secrecy::SecretString;
use tiller_engine::{CredentialOrigin, KeyChangeOutcome, ProviderCredential};
use tiller_render::{Role, Span};

use super::block::NoticeLevel;
use super::keymap::KeyCommand;
use super::overlay::Overlay;
use super::picker::{LineInput, Picker, PickerChoice, PickerItem, StatusText};
use super::tool_call::one_line;
use crate::action::{Action, ListAction, ListKind};
use crate::app::App;

/// An API key as typed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct KeyInput(String);

impl KeyInput {
    pub(super) fn new(typed: &str) -> Self {
        Self(typed.trim().to_owned())
    }

    pub(super) fn secret(self) -> SecretString {
        self.0.into()
    }
}

impl std::fmt::Debug for KeyInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyInput")
    }
}

/// A change of a provider's API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LoginRequest {
    /// Stores the key for this provider.
    Store(String, KeyInput),
    /// Removes this provider's key.
    Remove(String),
}

/// The result of a key change.
#[derive(Debug)]
pub(super) struct LoginResult {
    pub(super) message: String,
    pub(super) hint: Option<String>,
    pub(super) outcome: KeyChangeOutcome,
}

impl App {
    /// Opens the list of providers, filtered; with a provider's name, asks for its key.
    pub(super) fn log_in(&mut self, filter: &str) -> Vec<Action> {
        let mut filter = filter.split_whitespace();
        let provider = filter.next().unwrap_or_default();
        if filter.next().is_some() {
            self.flash("Don't type the key here: tiller prompts for it, hidden.");
        }
        self.offer_providers("log in", ListKind::Logins, provider)
    }

    /// Removes a provider's key, or lists the providers that have one.
    pub(super) fn log_out(&mut self, provider: &str) -> Vec<Action> {
        if provider.is_empty() {
            return self.offer_providers("log out", ListKind::Logouts, "");
        }
        vec![Action::List(ListAction::Key(LoginRequest::Remove(provider.to_owned())))]
    }

    fn offer_providers(&mut self, title: &str, list: ListKind, filter: &str) -> Vec<Action> {
        let mut picker = Picker::waiting_for(title, list).with_filter(filter);
        if !filter.is_empty() {
            // Asked before the providers are loaded: a key that is pasted at once must not be shown.
            picker.ask_for_key(filter.to_owned());
        }
        self.overlays.push(Overlay::Picker(Box::new(picker)));
        vec![Action::List(ListAction::LoadItems(list))]
    }

    /// Reports a stored or removed key.
    pub(super) fn key_changed(&mut self, result: LoginResult) -> Vec<Action> {
        let LoginResult { message, hint, outcome } = result;
        let is_done = |popup: &Overlay| popup.is_list(ListKind::Logins) || popup.is_list(ListKind::Logouts);
        self.overlays.retain(|popup| !is_done(popup));
        let key = self.ui.keymap.key_of(KeyCommand::PickModel);
        let hint = match outcome {
            KeyChangeOutcome::ActiveProvider | KeyChangeOutcome::Unchanged => hint,
            KeyChangeOutcome::OtherProvider => hint.or_else(|| Some(format!("{key} chooses a model"))),
            KeyChangeOutcome::SwitchedToProvider(model) => {
                let chosen = format!("{model} answers from the next request on; {key} chooses another");
                Some(hint.map_or(chosen.clone(), |hint| format!("{chosen}; {hint}")))
            }
            KeyChangeOutcome::NoModel => {
                Some(format!("the next prompt needs another model: {key} chooses one"))
            }
            KeyChangeOutcome::SwitchedToFallback(model) => {
                Some(format!("{model} is the only model left; /login adds a key"))
            }
        };
        self.add_notice(NoticeLevel::Note, message, hint);
        // The model list was open, so choosing continues there.
        let chooses = self.overlays.iter().any(|popup| popup.is_list(ListKind::Models));
        if chooses { vec![Action::List(ListAction::LoadItems(ListKind::Models))] } else { Vec::new() }
    }
}

impl Picker {
    /// Continues with the key prompt once the providers are loaded, for the provider that the typed name
    /// means. If it means none or several, the typed key is discarded.
    pub(super) fn continue_to_key(&mut self) {
        let prompt = self.prompt().filter(|_| self.list == Some(ListKind::Logins));
        let Some(PickerChoice::Login(filter)) = prompt.map(|asking| asking.purpose.clone()) else { return };
        let named = PickerChoice::Login(filter.clone());
        let is_known = (0..self.items.len()).any(|at| self.items[at].choice == named);
        let only = self.chosen().filter(|_| self.counts().0 == 1).map(|item| item.choice.clone());
        let provider = if is_known { Some(named) } else { only };
        let typed = self.end_prompt().map(|asking| asking.typed);
        match (provider, typed) {
            (Some(PickerChoice::Login(provider)), Some(typed)) => {
                self.ask_for_key(provider);
                self.edit(|line| *line = typed);
            }
            _ => {
                self.edit(LineInput::clear);
                self.set_status(Some(StatusText::error(format!("unknown provider `{}`", one_line(&filter)))));
            }
        }
    }

    /// Asks for a provider's key.
    pub(super) fn ask_for_key(&mut self, provider: String) {
        let label = format!("key for {}", one_line(&provider));
        self.prompt_masked(PickerChoice::Login(provider), label);
    }

    /// The action for a typed key; an empty one is ignored.
    pub(super) fn submit_key(&mut self, provider: String, typed: &str) -> Vec<Action> {
        let key = KeyInput::new(typed);
        if key.0.is_empty() {
            self.set_status(Some(StatusText::note("no key entered; nothing changed")));
            return Vec::new();
        }
        self.set_status(Some(StatusText::note("saving…")));
        vec![Action::List(ListAction::Key(LoginRequest::Store(provider, key)))]
    }
}

/// All providers with the sources of their keys.
pub(super) fn logins(credentials: &[ProviderCredential]) -> Vec<PickerItem> {
    credentials
        .iter()
        .map(|credential| item(credential, PickerChoice::Login(credential.provider.clone())))
        .collect()
}

/// The providers with a key.
pub(super) fn logouts(credentials: &[ProviderCredential]) -> Vec<PickerItem> {
    let with_key = credentials.iter().filter(|credential| credential.origin != CredentialOrigin::Missing);
    with_key.map(|credential| item(credential, PickerChoice::Logout(credential.provider.clone()))).collect()
}

fn item(credential: &ProviderCredential, choice: PickerChoice) -> PickerItem {
    let (lead, note, role) = match &credential.origin {
        CredentialOrigin::Missing => ("– ", "no key".to_owned(), Role::Muted),
        CredentialOrigin::Stored => ("✓ ", "key in auth.json".to_owned(), Role::Text),
        CredentialOrigin::External(place) => ("✓ ", format!("key from {}", one_line(place)), Role::Text),
    };
    PickerItem::new(one_line(&credential.provider), choice).with_lead(lead).with_note(note).in_role(role)
}

/// Maximum number of dots that represent a key; the number after them is exact.
const MAX_DOTS: usize = 24;

/// A masked line: dots and their number, which shows whether the whole key was pasted.
pub(super) fn masked(characters: usize) -> [Span; 2] {
    let dots = Span::new("•".repeat(characters.min(MAX_DOTS)), Role::Text);
    let count = match characters {
        0 => "  type or paste it; it is not shown".to_owned(),
        1 => "  1 character".to_owned(),
        many => format!("  {many} characters"),
    };
    [dots, Span::new(count, Role::Muted)]
}

/// Minimum length of a word that looks like a key, in characters.
const MIN_KEY: usize = 20;

/// Reports whether a line may contain an API key in the wrong place; such a line isn't saved in the history.
pub(super) fn may_hold_key(line: &str) -> bool {
    let mut filter = line.split_whitespace();
    let has_key_argument = filter.next() == Some("/login") && filter.nth(1).is_some();
    has_key_argument || line.split(|c: char| !(c.is_alphanumeric() || "-_".contains(c))).any(is_key)
}

/// Reports whether a word has the form of a provider's key: `sk-…`.
fn is_key(word: &str) -> bool {
    word.starts_with("sk-") && word.len() >= MIN_KEY && word.contains(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use tiller_render::Line;

    use super::*;

    #[test]
    fn may_hold_key_finds_keys_anywhere() {
        for line in [
            "sk-ant-api03-0123456789abcdefghij",
            "! export KEY=sk-proj-abcdefghij0123456789",
            "/login openai x",
        ] {
            assert!(may_hold_key(line), "{line}");
        }
        for line in [
            "/login openai",
            "what is sk-learn?",
            "sk-learn-has-no-digits-in-it",
            "the risk-averse-strategy-2024-edition",
        ] {
            assert!(!may_hold_key(line), "{line}");
        }
    }

    #[test]
    fn login_request_debug_hides_the_key() {
        let action = Action::List(ListAction::Key(LoginRequest::Store(
            "anthropic".into(),
            KeyInput::new(" sk-hush\n"),
        )));
        let printed = format!("{action:?}");
        assert!(printed.contains("anthropic") && !printed.contains("hush"), "{printed}");
        assert_eq!(KeyInput::new(" sk-hush\n"), KeyInput("sk-hush".into()), "surrounding space is removed");
    }

    #[test]
    fn may_hold_key_login_needs_two_arguments() {
        assert!(may_hold_key("/login anthropic sk-hush"));
        assert!(!may_hold_key("/login anthropic"));
        assert!(!may_hold_key("explain /login anthropic sk"));
    }

    #[test]
    fn masked_shows_only_the_length() {
        let shown = |count| Line::from(masked(count).to_vec()).text();
        assert_eq!(shown(3), "•••  3 characters");
        assert_eq!(shown(108), format!("{}  108 characters", "•".repeat(MAX_DOTS)));
    }
}
