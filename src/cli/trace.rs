//! `--trace FILE`: every agent event as a JSON line, in the format of `--mode json`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::console::stderr_line;
use super::failure::CliFailure;
use crate::agent::{AgentSession, BufferedSubscription, Subscription};
use crate::files;
use crate::os_error::without_code;
use crate::session::entry::Header;

/// Time for the last events to be written after the session is closed.
const FINISH_TIMEOUT: Duration = Duration::from_secs(5);

/// The file of `--trace`. It is created before anything else starts, and written from [`EventTrace::attach`]
/// to [`EventTrace::finish`].
pub(super) struct EventTrace {
    path: PathBuf,
    state: Mutex<TraceState>,
}

enum TraceState {
    Open(std::fs::File),
    Writing(JoinHandle<io::Result<()>>),
    Finished,
}

impl EventTrace {
    /// Creates the file, readable by the user only.
    pub(super) fn create(path: &Path) -> Result<Self, CliFailure> {
        let file = files::create_private(path);
        let file = file.with_context(|| format!("--trace {}: can't create the file", path.display()));
        let state = Mutex::new(TraceState::Open(file.map_err(CliFailure::usage)?));
        Ok(Self { path: path.to_owned(), state })
    }

    /// Starts a task that writes the agent's future events.
    pub(super) fn attach(&self, agent: &AgentSession) {
        if let TraceState::Open(file) = self.take() {
            let (events, header) = (Subscription::new(agent).buffered(), agent.reader().header().clone());
            let task = tokio::spawn(write(events, header, BufWriter::new(file)));
            *self.state.lock().unwrap_or_else(PoisonError::into_inner) = TraceState::Writing(task);
        }
    }

    fn take(&self) -> TraceState {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut state, TraceState::Finished)
    }

    /// Waits until the events of a closed session are written; reports a failure on stderr.
    pub(super) async fn finish(&self) {
        let TraceState::Writing(task) = self.take() else { return };
        let error = match timeout(FINISH_TIMEOUT, task).await {
            Ok(Ok(Ok(()))) => return,
            Ok(Ok(Err(error))) => error,
            Ok(Err(panic)) => panic.into(),
            Err(late) => late.into(),
        };
        let error = without_code(&error.to_string());
        stderr_line!("warning: --trace {}: events are missing: {error}", self.path.display());
    }
}

async fn write(
    mut events: BufferedSubscription,
    header: Header,
    mut out: BufWriter<std::fs::File>,
) -> io::Result<()> {
    serde_json::to_writer(&mut out, &header)?;
    out.write_all(b"\n")?;
    loop {
        let event = match events.try_next() {
            Some(event) => event,
            None => {
                // Flush when no further event is ready, so that the file is up to date.
                out.flush()?;
                match events.next().await {
                    Some(event) => event,
                    None => return Ok(()),
                }
            }
        };
        event.write_lines(&mut out)?;
    }
}
