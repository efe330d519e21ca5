//! The result of a run of the front end.

use std::path::PathBuf;

use tiller_core::id::SessionId;

/// The result of a run of the front end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuiExit {
    /// The session that was open at the end; `None` if the user quit before a session was open.
    pub session: Option<SessionId>,
    /// The reason for the end.
    pub reason: ExitReason,
}

/// The reason the front end ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// The user quit.
    Quit,
    /// The user chose to attach to the session in this file, which another process has open.
    Attach(PathBuf),
    /// SIGTERM or SIGINT arrived.
    Signal,
    /// The terminal hung up; nothing was printed.
    HungUp,
    /// The agent's session closed.
    Closed,
}

/// An error that prevents the front end from running; `E` is the error of opening the session.
#[derive(Debug, thiserror::Error)]
pub enum TuiError<E: std::fmt::Debug> {
    /// The terminal can't be set up.
    #[error("the terminal can't be used")]
    Terminal(#[source] std::io::Error),
    /// The session can't be opened.
    #[error("the session can't be opened")]
    Open(E),
}
