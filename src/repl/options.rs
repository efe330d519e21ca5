//! Options of the REPL, its streams, signals and exit.

use std::io;

use super::login::EchoGuard;
use crate::agent::{AgentError, CredentialStore, PromptOptions, RuleStore};

/// Options of the REPL.
#[derive(Clone, Debug)]
pub struct ReplOptions {
    /// Initial prompt.
    pub prompt: Option<String>,
    /// Options of the first prompt, including its attachments.
    pub prompt_options: PromptOptions,
    /// The source of lines.
    pub input_mode: InputMode,
    /// Stores API keys for `/login` and `/logout`; without it, both are refused.
    pub keys: Option<CredentialStore>,
    /// Saves and removes settings rules; without it, both are refused.
    pub rules: Option<RuleStore>,
    /// Disables the terminal's echo while a key is typed; `None` if the input isn't a terminal.
    pub echo_guard: Option<EchoGuard>,
    /// Lines printed at the start.
    pub banner: Vec<String>,
}

/// The source of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputMode {
    /// A terminal: lines are read at any time, and the user can answer questions.
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

/// The reason the REPL ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplExit {
    /// Input ended, or the user quit.
    Done,
    /// Input ended, and a run or a command from a pipe failed.
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
    /// Stdout or stderr can't be written to.
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
