//! Entry points for programs that embed tiller: a session from a few settings, and a single prompt with its
//! result.
//!
//! [`SessionBuilder`] fills in defaults for most [`SessionParts`]; for full control use
//! [`AgentSession::start`]. This module doesn't read the environment or configuration files: the program
//! provides keys, directories and rules.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tiller_core::event::RunOutcome;
use tiller_core::id::SessionId;
use tiller_core::message::{Image, Message, ThinkingLevel, Usage};
use tiller_core::unit::UnixMs;
use tiller_provider::{Model, ModelError, ProviderRegistry};
use tiller_session::{EntryBody, Placement, SessionError, SessionManager, Totals};
use tiller_tools::policy::AskBehavior;
use tiller_tools::process::Runner;
use tiller_tools::tool::{Tool, ToolEnvironment, Tools};
use tiller_tools::workspace::{Workspace, WorkspaceError};

use super::agents::{SessionLink, ToolSelection};
use super::extension::Extensions;
use super::handle::{AgentError, AgentSession, PromptOptions};
use super::{AgentOptions, Approver, FirstModel, ModelChoice, Resources, SessionParts, SystemPrompt};

/// A builder for sessions. With only providers set, the session uses the first available model, an in-memory
/// log, the built-in tools that run no programs, and no approver, so calls that need approval are denied.
pub struct SessionBuilder {
    providers: ProviderRegistry,
    model: Option<String>,
    thinking: Option<ThinkingLevel>,
    placement: Placement,
    resumed: Option<PathBuf>,
    messages: Vec<Message>,
    tools: Option<Tools>,
    more_tools: Vec<Arc<dyn Tool>>,
    tool_selection: Option<ToolSelection>,
    agent_link: Option<SessionLink>,
    runner: Option<Runner>,
    system_prompt: SystemPrompt,
    extensions: Extensions,
    resources: Resources,
    configure: OptionsChange,
}

/// A change to the options, applied after the other settings.
type OptionsChange = Box<dyn FnOnce(&mut AgentOptions) + Send>;

/// The reason a session can't be set up, or a run can't be started.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model is unknown, or no model is available.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The working directory can't be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The log can't be used.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The agent rejected a command.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

impl SessionBuilder {
    /// Creates a builder for a session that uses these providers.
    #[must_use]
    pub fn new(providers: ProviderRegistry) -> Self {
        Self {
            providers,
            model: None,
            thinking: None,
            placement: Placement::Memory,
            resumed: None,
            messages: Vec::new(),
            tools: None,
            more_tools: Vec::new(),
            tool_selection: None,
            agent_link: None,
            runner: None,
            system_prompt: SystemPrompt { date: today(), ..SystemPrompt::default() },
            extensions: Extensions::default(),
            resources: Resources::default(),
            configure: Box::new(|_| {}),
        }
    }

    /// Sets the model: `[provider/]id[:thinking]`, or part of an id.
    #[must_use]
    pub fn model(self, query: impl Into<String>) -> Self {
        Self { model: Some(query.into()), ..self }
    }

    /// Sets the thinking level; the nearest level that the model supports is used. By default a resumed
    /// session keeps its level, unless the model's name includes one.
    #[must_use]
    pub fn thinking(self, level: ThinkingLevel) -> Self {
        Self { thinking: Some(level), ..self }
    }

    /// Stores logs in this directory.
    #[must_use]
    pub fn log_dir(self, dir: impl Into<PathBuf>) -> Self {
        Self { placement: Placement::Flat(dir.into()), ..self }
    }

    /// Resumes the session whose log is at `path`.
    #[must_use]
    pub fn resume(self, path: impl Into<PathBuf>) -> Self {
        Self { resumed: Some(path.into()), ..self }
    }

    /// Starts the session's log with these messages.
    #[must_use]
    pub fn messages(self, messages: Vec<Message>) -> Self {
        Self { messages, ..self }
    }

    /// Offers these tools instead of the built-in ones.
    #[must_use]
    pub fn tools(self, tools: Tools) -> Self {
        Self { tools: Some(tools), ..self }
    }

    /// Adds tools; they replace existing ones of the same name.
    #[must_use]
    pub fn more_tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.more_tools.extend(tools);
        self
    }

    /// Removes the tools that an agent doesn't get.
    pub(crate) fn select_tools(self, selection: ToolSelection) -> Self {
        Self { tool_selection: Some(selection), ..self }
    }

    /// Removes the skills that an agent doesn't get.
    pub(crate) fn select_skills(self, names: &[String]) -> Self {
        Self { resources: self.resources.for_agent(Some(names)), ..self }
    }

    /// Sets the link between the delegation tools and the session.
    /// [`Delegation::equip`](crate::agents::Delegation::equip) adds both the tools and the link.
    #[must_use]
    pub fn agent_link(self, link: SessionLink) -> Self {
        Self { agent_link: Some(link), ..self }
    }

    /// Runs commands with this runner. This adds the `bash` tool and `!`. The runner's helper program is either
    /// tiller itself or the embedding program, if its `main` calls
    /// [`supervisor::main`](tiller_tools::process::supervisor::main).
    #[must_use]
    pub fn commands(self, runner: Runner) -> Self {
        Self { runner: Some(runner), ..self }
    }

    pub(crate) const fn prompt(&self) -> &SystemPrompt {
        &self.system_prompt
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system_prompt(self, prompt: SystemPrompt) -> Self {
        Self { system_prompt: prompt, ..self }
    }

    /// Sets the extensions.
    #[must_use]
    pub fn extensions(self, extensions: Extensions) -> Self {
        Self { extensions, ..self }
    }

    /// Sets the skills, templates and context files.
    #[must_use]
    pub fn resources(self, resources: Resources) -> Self {
        Self { resources, ..self }
    }

    /// Runs every call that would need approval, except access to hosts on the user's local network. Calls that the
    /// policy denies outright stay denied.
    #[must_use]
    pub fn approve_all(self) -> Self {
        self.configure(|options| options.policy.ask_behavior = AskBehavior::Yes)
    }

    /// Enables approval requests: each is an event and waits for [`AgentSession::decide`].
    #[must_use]
    pub fn request_approvals(self) -> Self {
        self.configure(|options| options.approver = Approver::Present)
    }

    /// Changes any other option. Several changes are applied in order.
    #[must_use]
    pub fn configure(self, change: impl FnOnce(&mut AgentOptions) + Send + 'static) -> Self {
        let before = self.configure;
        let combined = |options: &mut AgentOptions| {
            before(options);
            change(options);
        };
        Self { configure: Box::new(combined), ..self }
    }

    /// Starts the session in a working directory, on the current tokio runtime.
    ///
    /// # Errors
    /// If the directory, the model or the log can't be used.
    pub fn start(self, work_dir: &Path) -> Result<AgentSession, EmbedError> {
        let workspace = Workspace::new(work_dir)?;
        let root = workspace.root().to_owned();
        let (model, thinking) = select_model(&self.providers, self.model.as_deref())?;
        let scratch = scratch(&self.placement);
        let has_runner = self.runner.is_some();
        let runner = self.runner.unwrap_or_else(Runner::none);
        let tools = self.tools.unwrap_or_else(|| {
            let built_in = Tools::built_in(ToolEnvironment::new(workspace, runner.clone(), &scratch));
            if has_runner { built_in } else { built_in.without_programs() }
        });
        let mut tools = self.more_tools.into_iter().fold(tools, Tools::with);
        if let Some(selection) = self.tool_selection {
            let unknown = selection.unknown(&tools);
            if !unknown.is_empty() {
                tracing::warn!(tools = unknown.join(", "), "an agent lists tools that don't exist");
            }
            tools = tools.restrict(&selection.names(&tools)).unwrap_or_default();
        }
        let manager = SessionManager::new(self.placement, root.clone());
        let writer = match &self.resumed {
            Some(path) => manager.open(path)?,
            None => manager.create(now()),
        };
        let mut options = AgentOptions::new(root, scratch);
        (self.configure)(&mut options);
        let thinking = thinking.or(self.thinking);
        let source = |is_given| if is_given { ModelChoice::Caller } else { ModelChoice::Log };
        let parts = SessionParts {
            manager,
            writer,
            providers: self.providers,
            first: FirstModel {
                thinking: model.facts.clamp(thinking.unwrap_or_default()),
                model,
                choice: source(self.model.is_some()),
                thinking_choice: source(thinking.is_some()),
            },
            tools,
            tool_servers: None,
            agent_link: self.agent_link,
            runner,
            system_prompt: self.system_prompt,
            extensions: self.extensions,
            resources: self.resources,
            options,
        };
        Ok(AgentSession::from_messages(parts, self.messages)?)
    }
}

impl AgentSession {
    /// Starts a session whose log begins with these messages. They are written, in memory or on disk, before
    /// this returns.
    ///
    /// # Errors
    /// If they can't be written, or the session's log can't be read.
    pub fn from_messages(mut parts: SessionParts, messages: Vec<Message>) -> Result<Self, SessionError> {
        if !messages.is_empty() {
            let entries = messages.into_iter().map(|message| EntryBody::message(Arc::new(message)));
            parts.writer.append_all(entries.collect(), now())?;
        }
        Self::start(parts)
    }
}

/// A prompt and its session.
pub struct RunRequest {
    /// Text of the prompt.
    pub prompt: String,
    /// Images attached to the prompt.
    pub images: Vec<Image>,
    /// The session.
    pub session: SessionBuilder,
}

impl RunRequest {
    /// Creates a text-only request.
    pub fn new(prompt: impl Into<String>, setup: SessionBuilder) -> Self {
        Self { prompt: prompt.into(), images: Vec::new(), session: setup }
    }
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// Text of the last answer.
    pub text: String,
    /// Outcome of the run.
    pub outcome: RunOutcome,
    /// The provider's error message, if the run failed.
    pub error: Option<String>,
    /// Messages that the run added to the session, in order.
    pub messages: Vec<Arc<Message>>,
    /// Tokens and cost of the run, including summaries.
    pub usage: Usage,
    /// Id of the session.
    pub session: SessionId,
    /// Path of the session's log; `None` for an in-memory session.
    pub path: Option<PathBuf>,
}

/// Starts the session of a request, sends the prompt, waits until the session has settled, and closes it.
///
/// # Examples
/// ```
/// use std::error::Error;
/// use std::path::Path;
///
/// use tiller_engine::{RunRequest, SessionBuilder, run};
/// use tiller_provider::ProviderRegistry;
///
/// async fn summarize(dir: &Path, key: String) -> Result<String, Box<dyn Error>> {
///     let providers = ProviderRegistry::with_keys([("anthropic", key.into())])?;
///     let session = SessionBuilder::new(providers).model("anthropic/claude-sonnet-5");
///     let result = run(RunRequest::new("Summarize the README.", session), dir).await?;
///     Ok(result.text)
/// }
/// ```
///
/// # Errors
/// If the session can't be set up, or the prompt can't be stored. A failed run is not an error: see its outcome.
pub async fn run(request: RunRequest, work_dir: &Path) -> Result<RunResult, EmbedError> {
    let agent = request.session.start(work_dir)?;
    let before = agent.reader().entry_count();
    let options = PromptOptions { images: request.images, ..PromptOptions::default() };
    agent.prompt(request.prompt, options).await?;
    let settled = agent.settled().await?;
    let reader = agent.reader();
    agent.close().await?;
    let mut totals = Totals::default();
    reader.visit(before, |entry| entry.iter().for_each(|entry| totals.add(&entry.body)))?;
    let (text, error) = last_answer(&settled.messages);
    Ok(RunResult {
        text,
        outcome: settled.outcome,
        error,
        messages: settled.messages,
        usage: totals.usage,
        session: reader.id().clone(),
        path: reader.path().map(Path::to_owned),
    })
}

/// Returns the text of the last answer and its error.
fn last_answer(messages: &[Arc<Message>]) -> (String, Option<String>) {
    let answer = messages.iter().rev().find_map(|message| match &**message {
        Message::Assistant(answer) => Some(answer),
        _ => None,
    });
    answer.map(|answer| (answer.joined_text(), answer.error_message.clone())).unwrap_or_default()
}

/// Resolves the model's name, or picks the first available one.
fn select_model(
    providers: &ProviderRegistry,
    query: Option<&str>,
) -> Result<(Model, Option<ThinkingLevel>), ModelError> {
    match (query, providers.models().into_iter().next()) {
        (None, Some(model)) => Ok((model, None)),
        (query, _) => {
            providers.find(query.unwrap_or_default()).map(|resolved| (resolved.model, resolved.thinking))
        }
    }
}

/// Returns the directory for output that exceeds the limits: next to the logs, or else a directory with an
/// unguessable name, created on demand.
fn scratch(placement: &Placement) -> PathBuf {
    match placement {
        Placement::Flat(dir) | Placement::ByDirectory(dir) => dir.join("outputs"),
        Placement::Memory => {
            std::env::temp_dir().join(format!("tiller-{:016x}", RandomState::new().hash_one(now().0)))
        }
    }
}

fn today() -> String {
    now().to_iso()[..10].to_owned()
}

fn now() -> UnixMs {
    SystemTime::now().into()
}
