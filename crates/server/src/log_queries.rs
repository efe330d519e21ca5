//! Queries of a session's log, which may be long: they run on a blocking thread.

use tiller_session::Reader;
use tokio::task::spawn_blocking;

use crate::params::AnySession;
use crate::problem::{Problem, internal};

/// Runs a query on the log of a session, open or not.
pub(crate) async fn query<T: Send + 'static>(
    session: AnySession,
    work: impl FnOnce(Reader) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let job = move || match session {
        AnySession::Open(session) => work(session.agent.reader()),
        AnySession::Closed(summary) => work(Reader::open(&summary.path)?),
    };
    spawn_blocking(job).await.unwrap_or_else(|error| Err(internal(&error)))
}
