//! The errors for models that can't be used.

use crate::error::hints;

/// The reason a model can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No usable model matches.
    #[error("no usable model matches `{requested}`; {advice}")]
    Unknown {
        /// The requested name.
        requested: String,
        /// The models with similar names, or else the usable ones, as a list for display.
        advice: String,
    },
    /// The model is known, but its provider has no key.
    #[error("no API key for {model}; {}", hints::for_missing_key(provider_of(model), key_name))]
    NoKey {
        /// The model, as `provider/id`.
        model: String,
        /// The environment variable for the key.
        key_name: String,
    },
    /// The provider's settings are invalid, or its server on this machine refuses access or isn't ready.
    #[error("{model} can't be used: {reason}")]
    Misconfigured {
        /// The model, as `provider/id`.
        model: String,
        /// The setting and its error, or the server's answer.
        reason: String,
    },
    /// The server on the user's machine didn't respond.
    #[error("{server} isn't responding; start it, or set {variable} to its address")]
    NoServer {
        /// The server's display name.
        server: &'static str,
        /// The environment variable of its address.
        variable: &'static str,
    },
    /// The provider doesn't exist.
    #[error("provider `{provider}` is not available; available: {usable}")]
    NoProvider {
        /// The requested name.
        provider: String,
        /// The available providers, as a list for display.
        usable: String,
    },
}

impl ModelError {
    /// Returns the message without advice that only a user of this machine can follow.
    #[must_use]
    pub fn without_hint(&self) -> String {
        match self {
            Self::NoKey { model, .. } => format!("no API key for {model}"),
            Self::NoServer { server, .. } => format!("{server} isn't responding"),
            Self::Unknown { .. } | Self::Misconfigured { .. } | Self::NoProvider { .. } => self.to_string(),
        }
    }
}

/// Returns the provider in `provider/id`; the id may contain slashes.
fn provider_of(model: &str) -> &str {
    model.split_once('/').map_or(model, |(provider, _)| provider)
}
