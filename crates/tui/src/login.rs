//! API keys as typed, and requests to store or remove them.
//!
//! The typed text is a [`KeyInput`] from the start. It goes only to the credential store, not to the history
//! or a draft, and its `Debug` output hides the key. The lists of `/login` and `/logout` are in
//! `picker/credentials`.

use secrecy::SecretString;
use tiller_engine::KeyChangeOutcome;

/// An API key as typed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct KeyInput(String);

impl KeyInput {
    pub(super) fn new(typed: &str) -> Self {
        Self(typed.trim().to_owned())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
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

/// A change to a provider's API key.
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

/// Minimum length of a word that looks like a key, in characters.
const MIN_KEY: usize = 20;

/// Returns true if a line may contain an API key in the wrong place; such a line isn't saved in the history.
pub(super) fn may_hold_key(line: &str) -> bool {
    let mut filter = line.split_whitespace();
    let has_key_argument = filter.next() == Some("/login") && filter.nth(1).is_some();
    has_key_argument || line.split(|c: char| !(c.is_alphanumeric() || "-_".contains(c))).any(is_key)
}

/// Returns true if a word has the form of a provider's key: `sk-…`.
fn is_key(word: &str) -> bool {
    word.starts_with("sk-") && word.len() >= MIN_KEY && word.contains(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::{Action, ListAction};

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
}
