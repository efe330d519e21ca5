//! The RPC front end: commands as JSON lines in, responses and events as JSON lines out.
//!
//! The protocol is that of pi's RPC, so that its clients work, with additions by tiller; docs/rpc.md describes
//! it. One thread reads lines and one writes them; between them, a task executes commands in order. A slow
//! command runs in a task of its own, so that it doesn't delay others.

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

/// Data and services for a client, besides the session.
#[derive(Clone, Default)]
pub struct RpcOptions {
    /// The result of `get_settings`: every setting with its value and source.
    pub settings: Value,
    /// The service behind `export_html`; without it, the command fails.
    pub exporter: Option<RpcExporter>,
}

/// Writes a session to a file; injected, because another front end renders the pages.
#[derive(Clone)]
pub struct RpcExporter(Arc<Export>);

/// Takes a session, the working directory and an optional file name; returns the path of the new file, or an
/// error text.
type Export = dyn Fn(&Reader, &Path, Option<&str>) -> Result<PathBuf, String> + Send + Sync;

impl RpcExporter {
    /// Uses this function to export.
    pub fn new(
        export: impl Fn(&Reader, &Path, Option<&str>) -> Result<PathBuf, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(export))
    }

    fn export(&self, reader: &Reader, cwd: &Path, file: Option<&str>) -> Result<PathBuf, String> {
        (self.0)(reader, cwd, file)
    }
}

/// An error that ends the front end.
#[derive(Debug, thiserror::Error)]
pub enum RpcError {
    /// Stdout can't be written.
    #[error("can't write to stdout")]
    Stdout(#[source] io::Error),
}

/// Serves one client until its input ends, it stops reading, or `stop` resolves; then stops the run and closes
/// the session.
///
/// `input` and `output` may block; each gets a thread.
///
/// # Errors
/// If the output can't be written, unless the reader has closed it.
pub async fn run(
    agent: AgentSession,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: impl Future<Output = ()>,
    options: RpcOptions,
) -> Result<(), RpcError> {
    serve::serve(agent, framing::read(input), output, stop, options).await
}
