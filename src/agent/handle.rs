//! The handle on an agent's session, and what its queries answer.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::queue::QueueEdit;
use crate::event::{ApprovalRequest, Decision, Event, QueueItem, QueueKind, SessionChange, ToolOutcome};
use crate::id::{CallId, EntryId, QueueId, SessionId};
use crate::message::{AssistantMessage, Image, ModelRef, ThinkingLevel, Usage};
use crate::provider::{Model, ModelError};
use crate::session::{Catalog, Listing, Reader, Scope, SessionError, Visibility};
use crate::unit::{Tokens, UnixMs};

/// Commands a slow driver may have waiting; a person can't type faster than it empties.
pub(super) const COMMANDS: usize = 64;

/// Events that a front end may lag behind before it has to take a snapshot: a few seconds of a fast stream.
pub(super) const EVENTS: usize = 8_192;

/// A handle on a session with an agent. Clones are the same session; when the last one is gone, the session closes.
#[derive(Clone)]
pub struct AgentSession {
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) events: broadcast::WeakSender<Arc<Event>>,
    pub(super) reader: watch::Receiver<Reader>,
    pub(super) notices: Arc<[String]>,
}

/// How a prompt is to be taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptOptions {
    /// What to do when the agent is at work; without it that is an error.
    pub streaming_behavior: Option<StreamingBehavior>,
    /// Whether `/skill:name` and `/template` at its beginning mean something.
    pub expand_templates: Expansion,
    /// What is shown with it.
    pub images: Vec<Image>,
    /// Who says it.
    pub source: PromptSource,
}

/// Whether skills, templates and commands at a prompt's beginning mean something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expansion {
    /// They do.
    #[default]
    Expand,
    /// The text goes to the model as it stands.
    Verbatim,
}

/// Who says something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptSource {
    /// A person at a terminal, or a program that embeds tiller.
    #[default]
    Interactive,
    /// A client of the JSON-lines protocol.
    Rpc,
    /// An extension.
    Extension,
}

/// What a prompt becomes when the agent is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamingBehavior {
    /// A steering message.
    Steer,
    /// A follow-up.
    FollowUp,
}

/// Whether a command's output reaches the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BashContext {
    /// `!`: it does.
    Include,
    /// `!!`: it is logged and shown only.
    Exclude,
}

/// Why a command could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// A prompt came while the agent was at work, without saying what should become of it.
    #[error("the agent is at work; say whether this steers it or follows up")]
    Busy,
    /// The command needs the agent to be idle.
    #[error("that waits until the agent has finished; Esc stops it")]
    Running,
    /// There is no model to ask.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The log could not be written; the run stopped.
    #[error("{0}")]
    Store(String),
    /// The log said no.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Nothing like that waits.
    #[error("no {0} waits any more")]
    Gone(&'static str),
    /// The session is closed.
    #[error("the session is closed")]
    Closed,
}

pub(super) type Reply<T> = oneshot::Sender<Result<T, AgentError>>;

/// What the handle tells the driver.
pub(super) enum Command {
    Prompt { text: String, options: PromptOptions, reply: Reply<()> },
    Abort { reply: Reply<Vec<QueueItem>> },
    SteerNow { text: Option<String>, options: PromptOptions, reply: Reply<()> },
    AbortRetry { reply: Reply<()> },
    EditQueued { id: QueueId, edit: QueueEdit, reply: Reply<QueueItem> },
    Release { id: QueueId, reply: Reply<()> },
    ClearQueue { kind: Option<QueueKind>, reply: Reply<Vec<QueueItem>> },
    RemoveQueued { id: QueueId, reply: Reply<QueueItem> },
    Decide { call: CallId, decision: Decision, reply: Reply<()> },
    Bash { line: String, context: BashContext, reply: Reply<()> },
    SetModel { words: String, reply: Reply<ModelRef> },
    SetThinking { level: ThinkingLevel, reply: Reply<ThinkingLevel> },
    Rename { name: String, reply: Reply<()> },
    Label { entry: EntryId, label: Option<String>, reply: Reply<()> },
    Hide { entry: EntryId, visibility: Visibility, reply: Reply<()> },
    Switch { to: Target, reply: Reply<Moved> },
    Models { reply: Reply<Vec<Model>> },
    Sessions { scope: Scope, reply: Reply<Listing> },
    Catalog { reply: Reply<Catalog> },
    Snapshot { reply: Reply<Box<Snapshot>> },
    Close { reply: Reply<()> },
}

/// Where a session can go.
pub(super) enum Target {
    New,
    Open(PathBuf),
    Fork(EntryId),
    Leaf { entry: EntryId, summary: Option<String> },
}

/// Where the session went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// How.
    pub change: SessionChange,
    /// The session it is now.
    pub session: SessionId,
    /// Text for the editor: that of the user message just before which the new leaf stands.
    pub editor: Option<String>,
}

impl AgentSession {
    /// Says something to the agent: begins a run, or steers or follows up if the options say so.
    ///
    /// Returns once it is accepted, not when it is answered.
    ///
    /// # Errors
    /// [`AgentError::Busy`] while it works without a `streaming_behavior`; the log's error when the message could not be kept.
    pub async fn prompt(&self, text: impl Into<String>, options: PromptOptions) -> Result<(), AgentError> {
        let text = text.into();
        self.ask(|reply| Command::Prompt { text, options, reply }).await
    }

    /// Says something that is delivered at the next gap between tool calls; begins a run when idle.
    ///
    /// # Errors
    /// When the message could not be kept.
    pub async fn steer(&self, text: impl Into<String>) -> Result<(), AgentError> {
        self.prompt(
            text,
            PromptOptions { streaming_behavior: Some(StreamingBehavior::Steer), ..PromptOptions::default() },
        )
        .await
    }

    /// Says something that is delivered when the agent has finished; begins a run when idle.
    ///
    /// # Errors
    /// When the message could not be kept.
    pub async fn follow_up(&self, text: impl Into<String>) -> Result<(), AgentError> {
        self.prompt(
            text,
            PromptOptions {
                streaming_behavior: Some(StreamingBehavior::FollowUp),
                ..PromptOptions::default()
            },
        )
        .await
    }

    /// Stops what is in flight, keeps what was said so far, and goes on with this and with every steering message that waits already;
    /// begins a run when idle. While the context is being made smaller to fit, the message waits for that.
    ///
    /// # Errors
    /// When the message could not be kept.
    pub async fn steer_now(&self, text: impl Into<String>, options: PromptOptions) -> Result<(), AgentError> {
        let text = Some(text.into());
        self.ask(|reply| Command::SteerNow { text, options, reply }).await
    }

    /// As [`AgentSession::steer_now`], with what steers and waits already.
    ///
    /// # Errors
    /// When no steering message waits.
    pub async fn hurry(&self) -> Result<(), AgentError> {
        let options = PromptOptions::default();
        self.ask(|reply| Command::SteerNow { text: None, options, reply }).await
    }

    /// Gives up waiting for another try of a failed request; the run ends as failed. Nothing happens if none is waited for.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn abort_retry(&self) -> Result<(), AgentError> {
        self.ask(|reply| Command::AbortRetry { reply }).await
    }

    /// Stops what runs, `!` commands too, keeps what was said so far, and hands back the messages that waited.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn abort(&self) -> Result<Vec<QueueItem>, AgentError> {
        self.ask(|reply| Command::Abort { reply }).await
    }

    /// Changes a waiting message: its text, its images, when it is delivered, or how many stand before it. Answers with how it
    /// waits now.
    ///
    /// # Errors
    /// When it no longer waits, or the change could not be kept.
    pub async fn edit_queued(&self, id: QueueId, edit: QueueEdit) -> Result<QueueItem, AgentError> {
        self.ask(|reply| Command::EditQueued { id, edit, reply }).await
    }

    /// Lets a held message go in after all: at its time while the agent works, else now, as the beginning of a run.
    ///
    /// # Errors
    /// When it no longer waits.
    pub async fn release_queued(&self, id: QueueId) -> Result<(), AgentError> {
        self.ask(|reply| Command::Release { id, reply }).await
    }

    /// Takes every waiting message of a kind, or all of them, out of the queue; answers with what it took.
    ///
    /// # Errors
    /// When the removal could not be kept.
    pub async fn clear_queue(&self, kind: Option<QueueKind>) -> Result<Vec<QueueItem>, AgentError> {
        self.ask(|reply| Command::ClearQueue { kind, reply }).await
    }

    /// Takes one waiting message out of its queue.
    ///
    /// # Errors
    /// When it no longer waits.
    pub async fn remove_queued(&self, id: QueueId) -> Result<QueueItem, AgentError> {
        self.ask(|reply| Command::RemoveQueued { id, reply }).await
    }

    /// Answers a call that asks.
    ///
    /// # Errors
    /// When it no longer waits.
    pub async fn decide(&self, call: CallId, decision: Decision) -> Result<(), AgentError> {
        self.ask(|reply| Command::Decide { call, decision, reply }).await
    }

    /// Runs a command of the user's own.
    ///
    /// Returns once it is begun; what it prints comes as events.
    ///
    /// # Errors
    /// When one runs already, or its beginning could not be kept.
    pub async fn bash(&self, line: impl Into<String>, context: BashContext) -> Result<(), AgentError> {
        let line = line.into();
        self.ask(|reply| Command::Bash { line, context, reply }).await
    }

    /// Lets another model answer from the next turn on: `[provider/]id[:thinking]`, or a part of an id.
    ///
    /// # Errors
    /// When no usable model goes by these words.
    pub async fn set_model(&self, words: impl Into<String>) -> Result<ModelRef, AgentError> {
        let words = words.into();
        self.ask(|reply| Command::SetModel { words, reply }).await
    }

    /// Lets the model think more or less from the next turn on; answers with the level it can do.
    ///
    /// # Errors
    /// When the choice could not be kept.
    pub async fn set_thinking(&self, level: ThinkingLevel) -> Result<ThinkingLevel, AgentError> {
        self.ask(|reply| Command::SetThinking { level, reply }).await
    }

    /// Names the session.
    ///
    /// # Errors
    /// When the name could not be kept.
    pub async fn rename(&self, name: impl Into<String>) -> Result<(), AgentError> {
        let name = name.into();
        self.ask(|reply| Command::Rename { name, reply }).await
    }

    /// Labels an entry, or takes its label away.
    ///
    /// # Errors
    /// When there is no such entry, or the label could not be kept.
    pub async fn label(&self, entry: EntryId, label: Option<String>) -> Result<(), AgentError> {
        self.ask(|reply| Command::Label { entry, label, reply }).await
    }

    /// Takes an entry and everything that follows it out of the drawn tree, or brings them back.
    ///
    /// # Errors
    /// When there is no such entry, when it is to be hidden and lies on the path to the leaf, or when that could not be kept.
    pub async fn hide(&self, entry: EntryId, visibility: Visibility) -> Result<(), AgentError> {
        self.ask(|reply| Command::Hide { entry, visibility, reply }).await
    }

    /// Goes to a fresh session.
    ///
    /// # Errors
    /// While the agent works.
    pub async fn new_session(&self) -> Result<Moved, AgentError> {
        self.switch(Target::New).await
    }

    /// Goes to a session on disk.
    ///
    /// # Errors
    /// While the agent works, or when the log can't be opened.
    pub async fn open_session(&self, path: PathBuf) -> Result<Moved, AgentError> {
        self.switch(Target::Open(path)).await
    }

    /// Goes to a new session that begins with this one's path up to `entry`; if that is a user message, up to just
    /// before it, with its text for the editor.
    ///
    /// # Errors
    /// While the agent works, or when there is no such entry.
    pub async fn fork(&self, entry: EntryId) -> Result<Moved, AgentError> {
        self.switch(Target::Fork(entry)).await
    }

    /// Goes on from an earlier entry of this session; if that is a user message, from just before it, with its text for
    /// the editor.
    ///
    /// # Errors
    /// While the agent works, or when there is no such entry.
    pub async fn navigate(&self, entry: EntryId) -> Result<Moved, AgentError> {
        self.switch(Target::Leaf { entry, summary: None }).await
    }

    /// As [`AgentSession::navigate`], and tells the model in a few words of the branch that is left.
    ///
    /// # Errors
    /// While the agent works, or when there is no such entry.
    pub async fn navigate_with_summary(
        &self,
        entry: EntryId,
        summary: impl Into<String>,
    ) -> Result<Moved, AgentError> {
        self.switch(Target::Leaf { entry, summary: Some(summary.into()) }).await
    }

    /// The models that can be asked.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn models(&self) -> Result<Vec<Model>, AgentError> {
        self.ask(|reply| Command::Models { reply }).await
    }

    /// The sessions there are.
    ///
    /// # Errors
    /// When their folder can't be read.
    pub async fn sessions(&self, scope: Scope) -> Result<Listing, AgentError> {
        self.ask(|reply| Command::Sessions { scope, reply }).await
    }

    /// What there is to look through all sessions with. It reads files: use it where that may take its time.
    ///
    /// # Errors
    /// When there is no room for it, or the session is closed.
    pub async fn catalog(&self) -> Result<Catalog, AgentError> {
        self.ask(|reply| Command::Catalog { reply }).await
    }

    /// Everything a front end needs to go on from here: take it after subscribing, then pass over events up to its `seq`.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn snapshot(&self) -> Result<Box<Snapshot>, AgentError> {
        self.ask(|reply| Command::Snapshot { reply }).await
    }

    /// Events from now on; none when the session is closed.
    #[must_use]
    pub fn subscribe(&self) -> EventStream {
        let events = match self.events.upgrade() {
            Some(events) => events.subscribe(),
            None => broadcast::channel(1).1,
        };
        EventStream { events }
    }

    /// What the user should know of the session it was started with, a sentence each: damaged entries, a model that
    /// isn't to be had any more.
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// A reader of the log of the session as it is now; `SessionChanged` says when to take another.
    #[must_use]
    pub fn reader(&self) -> Reader {
        self.reader.borrow().clone()
    }

    /// Stops what runs, syncs the log and lets go of it.
    ///
    /// # Errors
    /// When it is closed already.
    pub async fn close(&self) -> Result<(), AgentError> {
        self.ask(|reply| Command::Close { reply }).await
    }

    async fn switch(&self, to: Target) -> Result<Moved, AgentError> {
        self.ask(|reply| Command::Switch { to, reply }).await
    }

    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, AgentError> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| AgentError::Closed)?;
        answer.await.map_err(|_| AgentError::Closed)?
    }
}

/// Events as they happen.
pub struct EventStream {
    events: broadcast::Receiver<Arc<Event>>,
}

/// A front end was too slow, and some events are gone: take a snapshot and read the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lagged(
    /// How many events are gone.
    pub u64,
);

impl EventStream {
    /// The next event; `None` after the session's end.
    ///
    /// # Errors
    /// When events were lost because this front end lagged; the next call goes on with what is left.
    pub async fn next(&mut self) -> Option<Result<Arc<Event>, Lagged>> {
        match self.events.recv().await {
            Ok(event) => Some(Ok(event)),
            Err(broadcast::error::RecvError::Lagged(count)) => Some(Err(Lagged(count))),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// The next event if one is there already.
    pub fn try_next(&mut self) -> Option<Result<Arc<Event>, Lagged>> {
        match self.events.try_recv() {
            Ok(event) => Some(Ok(event)),
            Err(broadcast::error::TryRecvError::Lagged(count)) => Some(Err(Lagged(count))),
            Err(broadcast::error::TryRecvError::Closed | broadcast::error::TryRecvError::Empty) => None,
        }
    }
}

/// A session at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Events up to this one are part of it.
    pub seq: u64,
    /// What it is.
    pub state: State,
    /// What it is doing.
    pub live: Live,
}

/// What a session is at one moment.
#[derive(Clone, Debug)]
pub struct State {
    /// The session's id.
    pub session: SessionId,
    /// Its log; `None` when it lives in memory.
    pub path: Option<PathBuf>,
    /// Its name.
    pub name: Option<String>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Who answers the next turn.
    pub model: ModelRef,
    /// How much it thinks.
    pub thinking: ThinkingLevel,
    /// How full its window is.
    pub context: ContextUse,
    /// Tokens and money of the path so far.
    pub usage: Usage,
    /// Which calls are asked about: `ask`, `auto`, `read-only`, `yes`.
    pub approval: String,
}

/// How full a model's window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextUse {
    /// Tokens of the next request, about.
    pub used: Tokens,
    /// Tokens the model can take.
    pub window: Tokens,
}

/// What a session is doing at one moment.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Since when a run is going on; `None` when idle.
    pub running_since: Option<UnixMs>,
    /// The answer so far.
    pub partial: Option<AssistantMessage>,
    /// Calls at work.
    pub calls: Vec<RunningCall>,
    /// Messages that wait.
    pub queue: Vec<QueueItem>,
    /// Calls that wait for somebody's word.
    pub approvals: Vec<ApprovalRequest>,
    /// The user's own command at work.
    pub bash: Option<RunningBash>,
}

/// A call at work.
#[derive(Clone, Debug)]
pub struct RunningCall {
    /// The call.
    pub id: CallId,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
    /// Since when.
    pub since: UnixMs,
    /// The newest part of its output.
    pub partial: ToolOutcome,
}

/// The user's own command at work.
#[derive(Clone, Debug)]
pub struct RunningBash {
    /// The entry that says it began.
    pub id: EntryId,
    /// The command.
    pub line: String,
    /// Whether the model will read it.
    pub context: BashContext,
    /// Since when.
    pub since: UnixMs,
    /// What it printed so far, cut at the front.
    pub output: String,
}
