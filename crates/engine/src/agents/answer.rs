//! The end of an agent's task: its answer, or the reason there is none.

use std::sync::Arc;
use std::time::Duration;

use tiller_core::event::RunOutcome;
use tiller_core::message::{Message, Usage};

use super::activity::is_turn;
use crate::embed::EmbedError;
use crate::handle::{AgentError, AgentSession, PromptOptions};

/// An agent's answer to a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentAnswer {
    /// The text of the final message.
    pub text: String,
    /// Number of the model's answers.
    pub turns: u64,
    /// Tokens and cost.
    pub usage: Usage,
    /// True if the turn limit was reached, in which case the task may be unfinished.
    pub reached_limit: bool,
}

impl AgentAnswer {
    /// Replaces the message with the later answer's and sums up the rest.
    pub(super) fn add(&mut self, later: Self) {
        self.text = later.text;
        self.turns += later.turns;
        self.usage.add(&later.usage);
        self.reached_limit = later.reached_limit;
    }
}

/// The reason a task has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AgentFailure {
    /// A request failed, and no retries are left.
    #[error("{0}")]
    Failed(String),
    /// The run was stopped.
    #[error("stopped")]
    Stopped,
    /// The time limit was reached.
    #[error("stopped at the time limit of {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The final message was rejected.
    #[error("answer rejected: {0}")]
    Rejected(String),
    /// Code in the embedding program panicked.
    #[error("crashed: {0}")]
    Panicked(String),
    /// No agent of this name is registered.
    #[error("no agent named {0}")]
    Unknown(String),
    /// The session could not be set up.
    #[error(transparent)]
    Start(#[from] EmbedError),
    /// The session rejected a command.
    #[error(transparent)]
    Session(#[from] AgentError),
}

/// Runs a prompt to its end.
pub(super) async fn run_prompt(
    session: &AgentSession,
    prompt: Arc<str>,
) -> Result<AgentAnswer, AgentFailure> {
    session.prompt(&*prompt, PromptOptions::default()).await?;
    let settled = session.settled().await?;
    let mut answer = AgentAnswer::default();
    let mut error = None;
    for message in &settled.messages {
        if let Message::Assistant(message) = &**message {
            answer.turns += u64::from(is_turn(message));
            answer.usage.add(&message.usage);
            error.clone_from(&message.error_message);
            answer.text = message.joined_text();
        }
    }
    match settled.outcome {
        RunOutcome::Completed => Ok(answer),
        RunOutcome::MaxTurns => Ok(AgentAnswer { reached_limit: true, ..answer }),
        RunOutcome::Aborted => Err(AgentFailure::Stopped),
        RunOutcome::Failed => Err(AgentFailure::Failed(error.unwrap_or_else(|| "the run failed".to_owned()))),
    }
}
