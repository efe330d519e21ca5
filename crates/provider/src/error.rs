//! Errors of model requests, and their classification by whether a retry may help.
//!
//! Wire formats report a `ProviderFault`; `http` turns it into a [`ProviderError`], which identifies the
//! provider and has secrets removed. `classify` maps an error response to a [`FailureKind`], by status and
//! text alone.

mod classify;
mod connection;
mod context_limit_text;
pub(super) mod hints;
mod redact;
mod retry_after;
mod retry_delay_text;

use std::time::Duration;

pub(super) use classify::{ErrorResponse, classify, parse_error_response};
pub(super) use connection::{ConnectionFailure, Stage};
pub(super) use redact::redact_secrets;
pub(super) use retry_after::retry_after;

use tiller_core::message::ADVICE;
use tiller_core::unit::Tokens;

/// Maximum characters of a provider's message to show; a longer text is usually a web page.
const MAX_MESSAGE_CHARS: usize = 500;

/// A failed request. The text is the provider's own if there is one, with secrets removed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct ProviderError {
    /// The provider's name.
    pub provider: String,
    /// The kind of failure.
    pub failure: FailureKind,
    /// The error, on one line.
    pub message: String,
    /// The advice.
    pub hint: Option<String>,
}

impl ProviderError {
    /// Returns the error with its hint on one line, for logs, stderr and the screen.
    #[must_use]
    pub fn message_with_hint(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{self}{ADVICE}{hint}"),
            None => self.to_string(),
        }
    }

    /// Returns the model's context window, if an overflow error states it.
    #[must_use]
    pub fn window(&self) -> Option<Tokens> {
        (self.failure == FailureKind::Overflow)
            .then(|| context_limit_text::parse_context_limit(&self.message))
            .flatten()
    }
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Rate limit, overload, 5xx or no connection: a retry may help, but not before `retry_after`.
    Transient {
        /// The delay that the provider requested.
        retry_after: Option<Duration>,
    },
    /// The stream stalled, was interrupted or ended without a completion event; a retry may help.
    Interrupted,
    /// No connection is possible until the server or this machine is reconfigured: an invalid certificate,
    /// or a server that doesn't speak HTTP.
    Unreachable,
    /// The conversation exceeds the model's window.
    Overflow,
    /// No key, a wrong key, or no permission.
    Auth,
    /// The account's quota or credit is used up.
    Quota,
    /// The request is invalid, or the answer can't be understood.
    Fatal,
}

/// A failure as reported by a wire format, without the provider's name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProviderFault {
    /// The kind of failure.
    pub failure: FailureKind,
    /// The error in the provider's words, of any length; it may contain secrets.
    pub message: String,
    /// The HTTP status of an error response whose message doesn't state it.
    pub status: Option<u16>,
    /// The advice.
    pub hint: Option<String>,
}

impl ProviderFault {
    pub(super) fn new(failure: FailureKind, message: impl Into<String>) -> Self {
        Self { failure, message: message.into(), status: None, hint: None }
    }

    /// Returns the message with the status, on one line of bounded length. Secrets are removed before it is
    /// cut, because part of a secret isn't recognized.
    pub(super) fn text(&self, redact: impl Fn(&str) -> String) -> String {
        let message = shorten(&redact(&self.message), MAX_MESSAGE_CHARS);
        match self.status {
            Some(status) => format!("{message} (HTTP status {status})"),
            None => message,
        }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Joins `text` into one line of at most `max_chars`.
pub(super) fn shorten(text: &str, max_chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
