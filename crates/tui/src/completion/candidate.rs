//! A completion candidate, and whether other values are valid.

use std::path::PathBuf;

/// A completion candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The name shown in the list.
    pub(crate) name: String,
    /// The argument or description shown after the name.
    pub(crate) argument: String,
    pub(crate) about: String,
    /// The text inserted when the candidate is accepted.
    pub(crate) insert: String,
    pub(crate) then: OnAccept,
}

/// The effect of Enter on a candidate, in addition to inserting it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnAccept {
    /// No effect; the user continues typing.
    #[default]
    GoOn,
    /// Sends the message.
    Send,
    /// Opens the session at this path; nothing is sent.
    Open(PathBuf),
}

/// The validity of values other than the candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Range {
    /// Only the candidates are valid: Enter accepts the best one.
    #[default]
    Closed,
    /// Any value is valid: Enter sends the typed text, unless the user selected a candidate.
    Open,
}
