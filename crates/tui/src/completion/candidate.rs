//! A completion candidate, and the validity of other values.

use std::path::PathBuf;

/// A completion candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Its name in the list.
    pub(crate) name: String,
    /// Its argument or meaning, shown after the name.
    pub(crate) argument: String,
    pub(crate) about: String,
    /// The text inserted when it is accepted.
    pub(crate) insert: String,
    pub(crate) then: OnAccept,
}

/// The effect of Enter on a candidate, besides inserting it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnAccept {
    /// None; the user continues typing.
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
    /// Invalid: Enter accepts the best candidate.
    #[default]
    Closed,
    /// Valid: Enter sends the typed text, unless the user selected a candidate.
    Open,
}
