//! The front end in the normal screen: prompt lines in, text out, nothing redrawn and no escape sequence ever.
//!
//! For screen readers, dumb terminals and pipes of prompts. What the model says, what the user's own commands print and what was asked
//! for goes to stdout; what happens meanwhile is told on stderr, in words. From a pipe each line is carried out to its end before the
//! next one is read; from a terminal lines are heard at any time, and those typed while the agent works steer it.

mod commands;
mod help;
mod input;
mod lines;
mod login;
mod printer;
mod question;
mod repl;
mod tree;

use std::io::{self, Read, Write};

use tokio::sync::mpsc;

use crate::agent::{AgentError, AgentSession, CredentialStore};

pub use login::EchoGuard;

/// How the front end begins.
#[derive(Clone, Debug)]
pub struct PlainOptions {
    /// What to say first.
    pub prompt: Option<String>,
    /// Blocks of text that go to the model with it.
    pub attached: String,
    /// Who gives the lines.
    pub manner: InputMode,
    /// What `/login` and `/logout` do; `None` says that they can't.
    pub keys: Option<CredentialStore>,
    /// Keeps the terminal from showing a key that is typed; `None` where the lines are nobody's typing.
    pub hush: Option<EchoGuard>,
    /// What is told first, a line each.
    pub banner: Vec<String>,
}

/// Who gives the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputMode {
    /// A person at a terminal: heard at any time, and asked.
    Conversation,
    /// A pipe: one line after the other.
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

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainExit {
    /// The lines were over, or the user left.
    Done,
    /// The same, but a run or a command of a pipe had failed.
    Failed,
    /// A signal asked for it.
    Interrupted,
}

/// Why it broke off.
#[derive(Debug, thiserror::Error)]
pub enum PlainError {
    /// The session said no.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// Stdout or stderr said no.
    #[error("can't write to stdout")]
    Output(#[from] io::Error),
}

/// Where text goes.
pub struct Outputs<Out, Err> {
    /// What was asked for: answers, output of commands.
    pub out: Out,
    /// What happens meanwhile.
    pub err: Err,
}

/// Runs until the lines are over, the user leaves or a signal asks for it; then closes the session, and tells a person how to open it
/// again.
///
/// # Errors
/// When the output can't be written, or the session ended by itself.
pub async fn run(
    agent: AgentSession,
    input: impl Read + Send + 'static,
    outputs: Outputs<impl Write, impl Write>,
    interrupts: mpsc::Receiver<Interrupt>,
    options: PlainOptions,
) -> Result<PlainExit, PlainError> {
    let Outputs { out, mut err } = outputs;
    let manner = options.manner;
    let outputs = Outputs { out, err: &mut err };
    let ended = repl::run(&agent, lines::read(input), outputs, interrupts, options).await;
    let reader = agent.reader();
    if let Err(error) = agent.close().await {
        tracing::warn!(%error, "the session was closed before");
    }
    if manner == InputMode::Conversation && reader.is_kept() {
        // A closed output is nobody to tell.
        let _ = writeln!(err, "Resume this session with: tiller --session {}", reader.id());
    }
    ended
}
