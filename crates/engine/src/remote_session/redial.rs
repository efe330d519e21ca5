//! Reconnection after a lost connection.

use std::marker::PhantomData;
use std::time::Duration;

use tiller_session::Reader;
use tokio::io::{AsyncRead, AsyncWrite};

/// Maximum delay between two attempts.
const MAX_DELAY: Duration = Duration::from_secs(30);

/// Delay before the second attempt; the first one is immediate.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// Opens a new connection to a session after a connection was lost.
pub trait Redial: Send + 'static {
    /// The type of connections.
    type Stream: AsyncRead + AsyncWrite + Send + 'static;

    /// Opens a connection to the session. `known` is the front end's copy of the log.
    fn redial(&mut self, known: &Reader) -> impl Future<Output = Result<Self::Stream, RedialError>> + Send;
}

/// The reason a connection can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum RedialError {
    /// The process can't be reached; another attempt follows.
    #[error("the session can't be reached: {0}")]
    Unreachable(String),
    /// The process refuses the connection, which closes the front end's session.
    #[error("{0}")]
    Refused(String),
}

/// The state of a front end's connection to the process that has the session open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConnectionState {
    /// Connected.
    #[default]
    Connected,
    /// The connection is lost; attempts to reconnect follow.
    Lost {
        /// Number of the next attempt, from 1.
        attempt: u32,
    },
    /// The connection has ended, and with it the front end's session.
    Ended {
        /// The reason, for people.
        reason: String,
    },
}

impl ConnectionState {
    /// Returns true if the connection is lost.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }
}

/// Returns the delay before an attempt, counted from 1.
pub(super) fn delay(attempt: u32) -> Duration {
    match attempt {
        ..=1 => Duration::ZERO,
        attempt => FIRST_DELAY.saturating_mul(1 << (attempt - 2).min(16)).min(MAX_DELAY),
    }
}

/// A connection that is never reopened.
pub(super) struct NoRedial<S>(pub(super) PhantomData<fn() -> S>);

impl<S: AsyncRead + AsyncWrite + Send + 'static> Redial for NoRedial<S> {
    type Stream = S;

    async fn redial(&mut self, _: &Reader) -> Result<S, RedialError> {
        Err(RedialError::Refused("the other tiller has closed it, or was stopped".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_doubles_up_to_half_a_minute() {
        let delays: Vec<u128> = [1, 2, 3, 7, 8, 99].map(|attempt| delay(attempt).as_millis()).into();
        assert_eq!(delays, [0, 500, 1_000, 16_000, 30_000, 30_000]);
    }
}
