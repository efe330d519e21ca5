//! The RPC front end: commands as JSON lines in, responses and events as JSON lines out.
//!
//! The protocol is pi's RPC protocol, so that its clients work, with additions by tiller; docs/rpc.md
//! describes it. One thread reads lines and another writes them; between them, a task executes commands in
//! order. A slow command runs in its own task, so that it doesn't delay others.

mod command;
mod framing;
mod handler;
mod id;
mod options;
mod outbox;
mod outbox_item;
mod params;
mod response;
mod serve;
mod views;
mod writer;

use std::io::{Read, Write};

use crate::agent::AgentSession;

pub use options::{RpcError, RpcExporter, RpcOptions};

/// Serves one client until its input ends, it stops reading, or `stop` resolves; then stops the run and
/// closes the session.
///
/// `input` and `output` may block, so each gets a thread.
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
