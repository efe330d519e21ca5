//! What can go wrong between tiller and a model, and which of it is worth another try.

use std::time::Duration;

/// A failed request. The text is the provider's own where there is one, with secrets removed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct ProviderError {
    /// The provider's name.
    pub provider: String,
    /// What kind of failure.
    pub failure: Failure,
    /// What happened, in one line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
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
