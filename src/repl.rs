//! The REPL front end (`--plain`): prompt lines in, text out. Nothing is redrawn, and no escape sequences are
//! written.
//!
//! It is for screen readers, dumb terminals and piped prompts. The model's answers, output of the user's
//! commands and requested information go to stdout; progress and notices go to stderr as sentences. From a
//! pipe, each line is completed before the next is read; from a terminal, lines are read at any time, and
//! those typed while the agent works steer it.

mod commands;
mod elicitation;
mod help;
mod input;
mod lines;
mod login;
mod options;
mod printer;
mod question;
mod run_loop;
mod tree;

use std::io::{Read, Write};

use tokio::sync::mpsc;

use crate::agent::AgentSession;

pub use login::EchoGuard;
pub use options::{InputMode, Interrupt, Outputs, ReplError, ReplExit, ReplOptions};

/// Runs until input ends, the user quits or a signal arrives; then closes the session and, on a terminal,
/// prints how to resume it.
///
/// # Errors
/// If output can't be written, or the session ended unexpectedly.
pub async fn run(
    agent: AgentSession,
    input: impl Read + Send + 'static,
    outputs: Outputs<impl Write, impl Write>,
    interrupts: mpsc::Receiver<Interrupt>,
    options: ReplOptions,
) -> Result<ReplExit, ReplError> {
    let Outputs { out, mut err } = outputs;
    let input_mode = options.input_mode;
    let outputs = Outputs { out, err: &mut err };
    let result = run_loop::run(&agent, lines::read(input), outputs, interrupts, options).await;
    let reader = agent.reader();
    if let Err(error) = agent.close().await {
        tracing::warn!(%error, "the session was already closed");
    }
    if input_mode == InputMode::Conversation && reader.is_persistent() {
        // If stderr is closed, nobody reads the hint.
        let _ = writeln!(err, "Resume this session with: tiller --session {}", reader.id());
    }
    result
}
