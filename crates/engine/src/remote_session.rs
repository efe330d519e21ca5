//! A session that another process has open: its front end here, its driver there.
//!
//! [`share`] serves a session over a connection, and [`connect`] makes an [`AgentSession`](crate::AgentSession) of the
//! other end: commands are sent there, events and entries come back, and the log is mirrored in memory. Both ends are
//! the same version of tiller, so the lines between them (`protocol`) aren't a contract. [`connect_again`] also
//! connects again after a lost connection (`redial`).

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
    #[error("the other process closed the connection")]
    Ended,
    /// The other process sent nothing in time.
    #[error("the other process doesn't respond")]
    Silent,
    /// The other process doesn't speak this version's protocol.
    #[error("the session is open in {theirs}, and this is {ours}; use the same version for both")]
    Version {
        /// The other version.
        theirs: String,
        /// This version.
        ours: &'static str,
    },
    /// The other process sent something else.
    #[error("the other process sent an invalid line")]
    Invalid(#[source] serde_json::Error),
    /// The log that the other process sent isn't a session.
    #[error(transparent)]
    Log(#[from] tiller_session::SessionError),
}
