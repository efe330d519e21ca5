//! The error of a command, and the exit codes.

use crate::os_error::without_code;

/// The run completed.
pub(super) const DONE: u8 = 0;
/// The run failed: provider error, abort, or a forced final answer.
pub(super) const FAILED: u8 = 1;
/// Wrong usage or configuration.
pub(super) const USAGE: u8 = 2;
/// Interrupted from the keyboard.
pub(super) const INTERRUPTED: u8 = 130;

/// An error with a hint and an exit code.
#[derive(Debug)]
pub(super) struct CliFailure {
    pub(super) error: anyhow::Error,
    pub(super) hint: Option<String>,
    pub(super) code: u8,
}

impl CliFailure {
    pub(super) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { error: error.into(), hint: None, code: USAGE }
    }

    pub(super) fn run(error: impl Into<anyhow::Error>) -> Self {
        Self { error: error.into(), hint: None, code: FAILED }
    }

    /// Returns the error with its causes.
    pub(super) fn text(&self) -> String {
        without_code(&format!("{:#}", self.error))
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<crate::session::SessionError> for CliFailure {
    fn from(error: crate::session::SessionError) -> Self {
        let hint = error.hint().map(str::to_owned);
        Self { hint, ..Self::usage(error) }
    }
}

impl From<crate::config::ConfigError> for CliFailure {
    fn from(error: crate::config::ConfigError) -> Self {
        let hint = error.hint().map(str::to_owned);
        Self { hint, ..Self::usage(error) }
    }
}
