//! For programs that embed tiller: a session from a few facts, and one prompt from its beginning to its end.
//!
//! [`Setup`] fills in the [`Parts`] that a program doesn't care about; one that does takes [`AgentSession::start`]. Nothing is read
//! from the environment or from configuration files: keys, folders and rules are given.

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
use tiller_tools::tool::{ToolEnvironment, Tools};
use tiller_tools::workspace::{Workspace, WorkspaceError};

use super::extension::Extensions;
use super::handle::{AgentError, AgentSession, PromptOptions};
use super::{AgentOptions, Approver, FirstModel, ModelChoice, Resources, SessionParts, SystemPrompt};

/// What a session is made of, where it isn't what most programs want. Without more than providers: the first model there is, a
/// session in memory, the built-in tools without `bash`, and nobody who could be asked, so that calls which would ask are denied.
pub struct SessionBuilder {
    providers: ProviderRegistry,
    model: Option<String>,
    thinking: Option<ThinkingLevel>,
    placement: Placement,
    resumed: Option<PathBuf>,
    messages: Vec<Message>,
    tools: Option<Tools>,
    runner: Option<Runner>,
    system_prompt: SystemPrompt,
    extensions: Extensions,
    resources: Resources,
    tune: Tune,
}

/// What is changed of the options when all else is decided.
type Tune = Box<dyn FnOnce(&mut AgentOptions) + Send>;

/// Why a session could not be set up, or a run not be begun.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// There is no such model, or nobody to ask at all.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The working directory can't be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The log can't be used.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The agent refused.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

impl SessionBuilder {
    /// A session that asks these providers.
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
            runner: None,
            system_prompt: SystemPrompt { date: today(), ..SystemPrompt::default() },
            extensions: Extensions::default(),
            resources: Resources::default(),
            tune: Box::new(|_| {}),
        }
    }

    /// Asks this model: `[provider/]id[:thinking]`, or a part of an id.
    #[must_use]
    pub fn model(self, words: impl Into<String>) -> Self {
        Self { model: Some(words.into()), ..self }
    }

    /// Lets it think this much, as far as it can. Unless this or the model's words say how much, a session that goes on thinks as
    /// much as before.
    #[must_use]
    pub fn thinking(self, level: ThinkingLevel) -> Self {
        Self { thinking: Some(level), ..self }
    }

    /// Keeps logs in this folder.
    #[must_use]
    pub fn logs_in(self, folder: impl Into<PathBuf>) -> Self {
        Self { placement: Placement::Flat(folder.into()), ..self }
    }

    /// Goes on with the session whose log is at `path`.
    #[must_use]
    pub fn resuming(self, path: impl Into<PathBuf>) -> Self {
        Self { resumed: Some(path.into()), ..self }
    }

    /// Begins with these messages, as if they had been said in it.
    #[must_use]
    pub fn messages(self, messages: Vec<Message>) -> Self {
        Self { messages, ..self }
    }

    /// Offers these tools in place of the built-in ones.
    #[must_use]
    pub fn tools(self, tools: Tools) -> Self {
        Self { tools: Some(tools), ..self }
    }

    /// Runs commands with this runner, which brings the `bash` tool, and `!`. Its helper is either tiller's own program, or the
    /// embedding one, if its `main` hands over to [`helper::main`](tiller_tools::process::helper::main).
    #[must_use]
    pub fn commands(self, runner: Runner) -> Self {
        Self { runner: Some(runner), ..self }
    }

    /// Tells the model this before everything else.
    #[must_use]
    pub fn system_prompt(self, prompt: SystemPrompt) -> Self {
        Self { system_prompt: prompt, ..self }
    }

    /// Lets these take part in its runs.
    #[must_use]
    pub fn extensions(self, extensions: Extensions) -> Self {
        Self { extensions, ..self }
    }

    /// Lists these skills and templates, and tells the model what these context files say.
    #[must_use]
    pub fn resources(self, resources: Resources) -> Self {
        Self { resources, ..self }
    }

    /// Runs every call that would be asked about. What is refused outright stays refused.
    #[must_use]
    pub fn yes(self) -> Self {
        self.tune(|options| options.policy.asking = AskBehavior::Yes)
    }

    /// Asks about calls: each is told as an event, and waits for [`AgentSession::decide`].
    #[must_use]
    pub fn asking(self) -> Self {
        self.tune(|options| options.audience = Approver::Present)
    }

    /// Changes any other option; later changes come after earlier ones.
    #[must_use]
    pub fn tune(self, tune: impl FnOnce(&mut AgentOptions) + Send + 'static) -> Self {
        let before = self.tune;
        let both = |options: &mut AgentOptions| {
            before(options);
            tune(options);
        };
        Self { tune: Box::new(both), ..self }
    }

    /// Starts the session in a working directory, on the tokio runtime this is called in.
    ///
    /// # Errors
    /// When the directory, the model or the log can't be used.
    pub fn start(self, work_dir: &Path) -> Result<AgentSession, EmbedError> {
        let workspace = Workspace::new(work_dir)?;
        let root = workspace.root().to_owned();
        let (model, thinking) = chosen(&self.providers, self.model.as_deref())?;
        let scratch = scratch(&self.placement);
        let has_runner = self.runner.is_some();
        let runner = self.runner.unwrap_or_else(Runner::none);
        let tools = self.tools.unwrap_or_else(|| {
            let built_in = Tools::built_in(ToolEnvironment::new(workspace, runner.clone(), &scratch));
            if has_runner { built_in } else { built_in.without("bash") }
        });
        let manager = SessionManager::new(self.placement, root.clone());
        let writer = match &self.resumed {
            Some(path) => manager.open(path)?,
            None => manager.create(now()),
        };
        let mut options = AgentOptions::new(root, scratch);
        (self.tune)(&mut options);
        let thinking = thinking.or(self.thinking);
        let whose = |is_said| if is_said { ModelChoice::Caller } else { ModelChoice::Log };
        let parts = SessionParts {
            manager,
            writer,
            providers: self.providers,
            first: FirstModel {
                thinking: model.facts.clamp(thinking.unwrap_or_default()),
                model,
                choice: whose(self.model.is_some()),
                thinking_choice: whose(thinking.is_some()),
            },
            tools,
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
    /// Starts the agent of a session that goes on after these messages, as if they had been said in it. They are in its log, in
    /// memory or on disk, before this returns.
    ///
    /// # Errors
    /// When they can't be written, or the session's log can't be read.
    pub fn from_messages(mut parts: SessionParts, messages: Vec<Message>) -> Result<Self, SessionError> {
        if !messages.is_empty() {
            let entries = messages.into_iter().map(|message| EntryBody::message(Arc::new(message)));
            parts.writer.append_all(entries.collect(), now())?;
        }
        Self::start(parts)
    }
}

/// One prompt, and the session it is for.
pub struct RunRequest {
    /// What to say.
    pub prompt: String,
    /// What is shown with it.
    pub images: Vec<Image>,
    /// The session.
    pub setup: SessionBuilder,
}

impl RunRequest {
    /// A prompt of text alone.
    pub fn new(prompt: impl Into<String>, setup: SessionBuilder) -> Self {
        Self { prompt: prompt.into(), images: Vec::new(), setup }
    }
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The text of the last answer.
    pub text: String,
    /// How it ended.
    pub outcome: RunOutcome,
    /// Why, if it failed, in the provider's words.
    pub error: Option<String>,
    /// What the run added to the session, in order.
    pub messages: Vec<Arc<Message>>,
    /// Tokens and money of the run, summaries among them.
    pub usage: Usage,
    /// The session.
    pub session: SessionId,
    /// Its log; `None` when it lived in memory.
    pub path: Option<PathBuf>,
}

/// Says something in a session of its own, waits until nothing is left to do, and closes the session.
///
/// # Errors
/// When the session can't be set up, or the prompt can't be kept. A run that fails is no error: its outcome says so.
pub async fn run(request: RunRequest, work_dir: &Path) -> Result<RunResult, EmbedError> {
    let agent = request.setup.start(work_dir)?;
    let before = agent.reader().entry_count();
    let options = PromptOptions { images: request.images, ..PromptOptions::default() };
    agent.prompt(request.prompt, options).await?;
    let settled = agent.settled().await?;
    let reader = agent.reader();
    agent.close().await?;
    let mut tally = Totals::default();
    reader.visit(before, |entry| entry.iter().for_each(|entry| tally.take(&entry.body)))?;
    let (text, error) = last_words(&settled.messages);
    Ok(RunResult {
        text,
        outcome: settled.outcome,
        error,
        messages: settled.messages,
        usage: tally.usage,
        session: reader.id().clone(),
        path: reader.path().map(Path::to_owned),
    })
}

/// The text of the last answer, and what went wrong with it.
fn last_words(messages: &[Arc<Message>]) -> (String, Option<String>) {
    let answer = messages.iter().rev().find_map(|message| match &**message {
        Message::Assistant(answer) => Some(answer),
        _ => None,
    });
    answer.map(|answer| (answer.joined_text(), answer.error_message.clone())).unwrap_or_default()
}

/// The model that the words mean, else the first there is.
fn chosen(
    providers: &ProviderRegistry,
    words: Option<&str>,
) -> Result<(Model, Option<ThinkingLevel>), ModelError> {
    match (words, providers.models().into_iter().next()) {
        (None, Some(model)) => Ok((model, None)),
        (words, _) => providers.find(words.unwrap_or_default()).map(|found| (found.model, found.thinking)),
    }
}

/// Where outputs over the limits go: beside the logs, else to a folder that nobody can guess, made when it is needed.
fn scratch(placement: &Placement) -> PathBuf {
    match placement {
        Placement::Flat(folder) | Placement::ByDirectory(folder) => folder.join("outputs"),
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
