//! A session that is open in another process, with its front end in this process.
//!
//! [`share`] serves a session over a connection, and [`connect`] creates an
//! [`AgentSession`](crate::AgentSession) for the other end. Commands go to the process that has the session
//! open; events and entries come back, and the log is mirrored in memory. Both sides are the same version of
//! tiller, so the protocol between them (`protocol`) isn't a contract. [`connect_again`] also reconnects
//! after a lost connection (`redial`).

mod client;
mod host;
mod protocol;
mod redial;

pub use client::{connect, connect_again};
pub use host::share;
pub use redial::{ConnectionState, Redial, RedialError};

/// Failure of a connection to another process's session.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The connection failed.
    #[error("the connection to the session failed")]
    Connection(#[source] std::io::Error),
    /// The other process closed the connection before sending the session.
    #[error("the other process has closed this session, or doesn't share it")]
    Ended,
    /// The other process sent nothing before the timeout.
    #[error("the other process isn't responding")]
    Silent,
    /// The other process doesn't speak this version's protocol.
    #[error("the session is open in {theirs}, and this is {ours}; use the same version for both")]
    Version {
        /// The other process's version.
        theirs: String,
        /// This process's version.
        ours: &'static str,
    },
    /// The other process sent an invalid line.
    #[error("the other process sent an invalid line")]
    Invalid(#[source] serde_json::Error),
    /// The log that the other process sent isn't a session.
    #[error(transparent)]
    Log(#[from] tiller_session::SessionError),
}
