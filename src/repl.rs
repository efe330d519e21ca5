//! The REPL front end (`--plain`): prompt lines in, text out; nothing is redrawn and no escape sequence is
//! written.
//!
//! It serves screen readers, dumb terminals and pipes of prompts. Answers of the model, output of the user's
//! commands and requested information go to stdout; progress and notices go to stderr, in words. From a pipe,
//! each line is completed before the next one is read; from a terminal, lines are read at any time, and lines
//! typed while the agent works steer it.

mod commands;
mod help;
mod input;
mod lines;
mod login;
mod printer;
mod question;
mod run_loop;
mod tree;

use std::io::{self, Read, Write};

use tokio::sync::mpsc;

use crate::agent::{AgentError, AgentSession, CredentialStore};

pub use login::EchoGuard;

/// Options of the REPL.
#[derive(Clone, Debug)]
pub struct ReplOptions {
    /// First prompt.
    pub prompt: Option<String>,
    /// Attachments of the first prompt, as blocks of text.
    pub attached: String,
    /// The source of lines.
    pub input_mode: InputMode,
    /// Stores API keys for `/login` and `/logout`; without it, both are refused.
    pub keys: Option<CredentialStore>,
    /// Disables the terminal's echo while a key is typed; `None` if input is not a terminal.
    pub echo_guard: Option<EchoGuard>,
    /// Lines printed at the start.
    pub banner: Vec<String>,
}

/// The source of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputMode {
    /// A terminal: lines are read at any time, and the user can be asked.
    Conversation,
    /// A pipe: lines are processed one after the other.
    Batch,
}

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// Ctrl+C: SIGINT.
    Keyboard,
    /// SIGTERM.
    Termination,
}

/// The reason for the REPL's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplExit {
    /// Input ended, or the user quit.
    Done,
    /// Input ended, and a run or a command of a pipe failed.
    Failed,
    /// A signal was received.
    Interrupted,
}

/// An error that ends the REPL.
#[derive(Debug, thiserror::Error)]
pub enum ReplError {
    /// The session failed.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// Stdout or stderr can't be written.
    #[error("can't write to stdout")]
    Output(#[from] io::Error),
}

/// The output streams.
pub struct Outputs<Out, Err> {
    /// Answers and output of commands.
    pub out: Out,
    /// Progress and notices.
    pub err: Err,
}

/// Runs until input ends, the user quits or a signal arrives; then closes the session, and prints how to resume
/// it if the user is at a terminal.
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
        tracing::warn!(%error, "the session was closed before");
    }
    if input_mode == InputMode::Conversation && reader.is_persistent() {
        // If stderr is closed, nobody needs the hint.
        let _ = writeln!(err, "Resume this session with: tiller --session {}", reader.id());
    }
    result
}
