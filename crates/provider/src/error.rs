//! What can go wrong between tiller and a model, and which of it is worth another try.
//!
//! Providers report a `Fault`; `http` makes it a [`ProviderError`], which names the provider and has the secrets
//! taken out. Which answer is which kind of failure is decided in `classify`, from status and text alone.

mod classify;
mod connection;
mod context_limit_text;
pub(super) mod hints;
mod redact;
mod retry_after;
mod retry_delay_text;

use std::time::Duration;

pub(super) use classify::{Refusal, classify, refusal_in};
pub(super) use connection::{ConnectionFailure, Stage};
pub(super) use redact::without_secrets;
pub(super) use retry_after::retry_after;

use tiller_core::message::ADVICE;
use tiller_core::unit::Tokens;

/// Most characters of a provider's message that are shown; what is longer is a web page, not a message.
const MAX_MESSAGE_CHARS: usize = 500;

/// A failed request. The text is the provider's own where there is one, with secrets removed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct ProviderError {
    /// The provider's name.
    pub provider: String,
    /// What kind of failure.
    pub failure: FailureKind,
    /// What happened, in one line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ProviderError {
    /// What happened, and what to do about it: one line for a log, for standard error and for the screen.
    #[must_use]
    pub fn told(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{self}{ADVICE}{hint}"),
            None => self.to_string(),
        }
    }

    /// The model's window, where a refusal of what doesn't fit into it names it.
    #[must_use]
    pub fn window(&self) -> Option<Tokens> {
        (self.failure == FailureKind::Overflow)
            .then(|| context_limit_text::spoken_window(&self.message))
            .flatten()
    }
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Too many requests, overloaded, 5xx, no connection: another try may help, not before `retry_after` if given.
    Transient {
        /// What the provider asked to wait.
        retry_after: Option<Duration>,
    },
    /// The stream stalled, broke off or ended without saying that it was complete; worth another try.
    Interrupted,
    /// The conversation is longer than the model's window.
    Overflow,
    /// No key, a wrong key, or no permission.
    Auth,
    /// The account's quota or credit is used up.
    Quota,
    /// The request itself is wrong, or the answer makes no sense.
    Fatal,
}

/// A failure as a protocol sees it, before it is known whose it was.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProviderFault {
    /// What kind of failure.
    pub failure: FailureKind,
    /// What happened, in the provider's words.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ProviderFault {
    pub(super) fn new(failure: FailureKind, message: impl Into<String>) -> Self {
        Self { failure, message: message.into(), hint: None }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Makes one line of `text`, of bounded length.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
