//! The front end for programs: commands as JSON lines in, answers and events as JSON lines out.
//!
//! The protocol is that of pi's RPC, so that its clients work, with additions of tiller's own; docs/rpc.md describes it. Lines are
//! read on one thread and written on another; between them one task carries commands out in the order in which they
//! came. One that takes its time steps aside, so that it holds up no other.

mod command;
mod framing;
mod handler;
mod id;
mod outbox;
mod params;
mod response;
mod serve;
mod views;
mod writer;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::agent::AgentSession;
use crate::session::Reader;

/// What a client gets beside the session itself.
#[derive(Clone, Default)]
pub struct RpcOptions {
    /// What `get_settings` answers with: every setting, its value and where that comes from.
    pub settings: Value,
    /// What `export_html` does; `None` says that it can't.
    pub exporter: Option<RpcExporter>,
}

/// Writes a session to a file; given by whoever starts the front end, because pages are made by another one.
#[derive(Clone)]
pub struct RpcExporter(Arc<Export>);

/// From a session, the working directory and a file's name, perhaps none, to the file that was made, or what went wrong.
type Export = dyn Fn(&Reader, &Path, Option<&str>) -> Result<PathBuf, String> + Send + Sync;

impl RpcExporter {
    /// Exports by this function.
    pub fn new(
        export: impl Fn(&Reader, &Path, Option<&str>) -> Result<PathBuf, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(export))
    }

    fn export(&self, reader: &Reader, cwd: &Path, file: Option<&str>) -> Result<PathBuf, String> {
        (self.0)(reader, cwd, file)
    }
}

/// Why the conversation with a client broke off.
#[derive(Debug, thiserror::Error)]
pub enum RpcError {
    /// Stdout said no.
    #[error("can't write to stdout")]
    Stdout(#[source] io::Error),
}

/// Serves one client until its input ends, it reads no more, or `stop` is over; then stops what runs and closes the session.
///
/// `input` and `output` may block; each gets a thread.
///
/// # Errors
/// When the output can't be written, other than for want of a reader.
pub async fn run(
    agent: AgentSession,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: impl Future<Output = ()>,
    options: RpcOptions,
) -> Result<(), RpcError> {
    serve::serve(agent, framing::read(input), output, stop, options).await
}
