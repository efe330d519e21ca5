//! A running agent: a session that works on one task after the other.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tiller_core::event::RunOutcome;
use tiller_core::message::{Message, Usage};

use super::middleware::{AgentTask, Middleware, Next};
use super::spec::AgentSpec;
use crate::embed::{EmbedError, SessionBuilder};
use crate::handle::{AgentError, AgentSession, EventStream, PromptOptions};
use crate::system_prompt::SystemPrompt;

/// An agent with a session of its own.
///
/// # Examples
/// ```no_run
/// use tiller_engine::SessionBuilder;
/// use tiller_engine::agents::{Agent, AgentSpec, Logger};
/// # use tiller_provider::ProviderRegistry;
///
/// # async fn example(providers: ProviderRegistry) -> Result<(), Box<dyn std::error::Error>> {
/// let spec = AgentSpec::new("poet", "writes short poems", "You write poems of four lines.").with(Logger);
/// let poet = Agent::start(spec, SessionBuilder::new(providers), &std::env::temp_dir())?;
/// println!("{}", poet.chat("The sea").await?.text);
/// # Ok(())
/// # }
/// ```
pub struct Agent {
    name: String,
    session: AgentSession,
    middleware: Vec<Arc<dyn Middleware>>,
}

/// The end of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentAnswer {
    /// The final message.
    pub text: String,
    /// Number of answers of the model.
    pub turns: u64,
    /// Tokens and cost.
    pub usage: Usage,
    /// True if the limit of turns was reached, so that the task may be unfinished.
    pub reached_limit: bool,
}

impl AgentAnswer {
    /// Replaces the message by that of a later answer, and adds up the rest.
    pub(super) fn add(&mut self, later: Self) {
        self.text = later.text;
        self.turns += later.turns;
        self.usage.add(&later.usage);
        self.reached_limit = later.reached_limit;
    }
}

/// The reason why a task has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AgentFailure {
    /// A request has failed for good.
    #[error("{0}")]
    Failed(String),
    /// The run was stopped.
    #[error("it was stopped")]
    Stopped,
    /// The time limit is over.
    #[error("it was stopped after its time limit of {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The final message was rejected.
    #[error("its answer was rejected: {0}")]
    Rejected(String),
    /// Code of the embedding program panicked.
    #[error("it crashed: {0}")]
    Panicked(String),
    /// The session could not be set up.
    #[error(transparent)]
    Start(#[from] EmbedError),
    /// The session rejected a command.
    #[error(transparent)]
    Session(#[from] AgentError),
}

impl Agent {
    /// Starts an agent in a working directory, on the current tokio runtime. The builder provides what the specification
    /// leaves open.
    ///
    /// # Errors
    /// When the directory, the model or the log can't be used.
    pub fn start(spec: AgentSpec, builder: SessionBuilder, work_dir: &Path) -> Result<Self, EmbedError> {
        let prompt = SystemPrompt { replacement: Some(spec.instructions), ..builder.prompt().clone() };
        let mut builder = builder.system_prompt(prompt).more_tools(spec.tools.all());
        if let Some(words) = spec.model {
            builder = builder.model(words);
        }
        if let Some(level) = spec.thinking {
            builder = builder.thinking(level);
        }
        let (max_turns, approval) = (spec.max_turns, spec.approval);
        let builder = builder.configure(move |options| {
            options.turn.max_turns = max_turns.or(options.turn.max_turns);
            options.policy.mode = approval.unwrap_or(options.policy.mode);
        });
        Ok(Self::new(spec.name, builder.start(work_dir)?, spec.middleware))
    }

    pub(super) fn new(name: String, session: AgentSession, middleware: Vec<Arc<dyn Middleware>>) -> Self {
        Self { name, session, middleware }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the session.
    #[must_use]
    pub fn session(&self) -> &AgentSession {
        &self.session
    }

    /// Returns the events from now on.
    #[must_use]
    pub fn events(&self) -> EventStream {
        self.session.subscribe()
    }

    /// Gives the agent a task, through its middleware, and waits for the answer. Later tasks continue the conversation.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn chat(&self, prompt: impl Into<String>) -> Result<AgentAnswer, AgentFailure> {
        let prompt = prompt.into();
        Next::new(&self.middleware).run(AgentTask { agent: self, prompt: &prompt }).await
    }

    /// Runs a prompt to its end, without middleware.
    pub(super) async fn run(&self, prompt: &str) -> Result<AgentAnswer, AgentFailure> {
        self.session.prompt(prompt, PromptOptions::default()).await?;
        let settled = self.session.settled().await?;
        let mut answer = AgentAnswer::default();
        let mut error = None;
        for message in &settled.messages {
            if let Message::Assistant(message) = &**message {
                answer.turns += 1;
                answer.usage.add(&message.usage);
                error.clone_from(&message.error_message);
                answer.text = message.joined_text();
            }
        }
        match settled.outcome {
            RunOutcome::Completed => Ok(answer),
            RunOutcome::MaxTurns => Ok(AgentAnswer { reached_limit: true, ..answer }),
            RunOutcome::Aborted => Err(AgentFailure::Stopped),
            RunOutcome::Failed => {
                Err(AgentFailure::Failed(error.unwrap_or_else(|| "its run has failed".to_owned())))
            }
        }
    }
}
