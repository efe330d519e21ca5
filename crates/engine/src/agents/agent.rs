//! A running agent: a session that works on one task after another.

use std::path::Path;
use std::sync::Arc;

use super::answer::{AgentAnswer, AgentFailure};
use super::middleware::{AgentTask, Middleware, Next};
use super::spec::AgentSpec;
use super::tool_selection::ToolSelection;
use super::usage_limits::UsageScope;
use crate::embed::{EmbedError, SessionBuilder};
use crate::handle::{AgentSession, EventStream};
use crate::system_prompt::SystemPrompt;

/// An agent with its own session.
///
/// # Examples
/// ```no_run
/// use tiller_engine::SessionBuilder;
/// use tiller_engine::agents::{Agent, AgentSpec, Logger};
/// # use tiller_provider::ProviderRegistry;
///
/// # async fn example(providers: ProviderRegistry) -> Result<(), Box<dyn std::error::Error>> {
/// let spec = AgentSpec::new("poet", "writes short poems", "You write four-line poems.").with(Logger);
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

impl Agent {
    /// Starts an agent in a working directory, on the current tokio runtime. The builder provides everything
    /// that the specification leaves open.
    ///
    /// # Errors
    /// If the directory, the model or the log can't be used.
    pub fn start(spec: AgentSpec, builder: SessionBuilder, work_dir: &Path) -> Result<Self, EmbedError> {
        let selection = ToolSelection::from(&spec);
        let mut builder = builder.more_tools(spec.tools.all()).select_tools(selection);
        if let Some(names) = &spec.skills {
            builder = builder.select_skills(names);
        }
        if !spec.instructions.is_empty() {
            let prompt = SystemPrompt { replacement: Some(spec.instructions), ..builder.prompt().clone() };
            builder = builder.system_prompt(prompt);
        }
        if let Some(words) = spec.model {
            builder = builder.model(words);
        }
        if let Some(level) = spec.thinking {
            builder = builder.thinking(level);
        }
        let (max_turns, approval, limit) = (spec.max_turns, spec.approval, spec.limit);
        let builder = builder.configure(move |options| {
            options.turn.max_turns = [max_turns, options.turn.max_turns].into_iter().flatten().min();
            options.policy.mode = approval.unwrap_or(options.policy.mode);
            options.limits = std::mem::take(&mut options.limits).with(UsageScope::task(limit));
        });
        Ok(Self::new(spec.name, builder.start(work_dir)?, spec.middleware))
    }

    pub(super) fn new(name: String, session: AgentSession, middleware: Vec<Arc<dyn Middleware>>) -> Self {
        Self { name, session, middleware }
    }

    /// Returns the agent's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the agent's session.
    #[must_use]
    pub fn session(&self) -> &AgentSession {
        &self.session
    }

    /// Subscribes to the session's events.
    #[must_use]
    pub fn events(&self) -> EventStream {
        self.session.subscribe()
    }

    /// Gives the agent a task, which passes through its middleware, and waits for the answer. Later tasks
    /// continue the conversation.
    ///
    /// # Errors
    /// If there is no answer.
    pub async fn chat(&self, prompt: impl Into<String>) -> Result<AgentAnswer, AgentFailure> {
        let prompt = prompt.into();
        let task = AgentTask { name: &self.name, session: &self.session, prompt: prompt.into() };
        Next::new(&self.middleware).run(task).await
    }
}
