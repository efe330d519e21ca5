//! The protocol between a front end and the process that has the session open: one line of JSON per message.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tiller_core::elicitation::ElicitationAnswer;
use tiller_core::event::{CompactionChoice, Decision, Event, EventKind, QueueKind};
use tiller_core::id::{CallId, ElicitationId, EntryId, JobId, QueueId};
use tiller_core::message::ThinkingLevel;
use tiller_core::unit::Tokens;
use tiller_provider::{CycleDirection, ImageInput, Model, ModelFacts, UnavailableProvider, catalog};
use tiller_session::Visibility;

use crate::attachment::FileToAttach;
use crate::handle::{AgentError, BashContext, OptionChange, PromptOptions};
use crate::queue::QueueEdit;
use crate::sent_item::{WireQueueItem, sent_items};
use crate::turn::QueueHandling;

/// The protocol's version, which is tiller's version.
pub(super) const VERSION: &str = concat!("tiller ", env!("CARGO_PKG_VERSION"));

/// A line from the process that has the session open.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HostLine {
    /// The first line.
    Hello { version: String },
    /// Unchanged lines of the log: all of them, or those after the last entry that the front end has. Sent
    /// first, and after each change of the session.
    Log { lines: Vec<String>, path: Option<PathBuf>, part: LogPart },
    /// An event, with the queued messages if the event is about them.
    Event {
        event: Arc<Event>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queue: Option<Vec<WireQueueItem>>,
    },
    /// A command's result.
    Answer { id: u64, result: Result<Box<RawValue>, WireError> },
}

/// The part of a log that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LogPart {
    Whole,
    /// The entries after the front end's last one.
    Rest,
}

/// A line from the front end.
#[derive(Serialize, Deserialize)]
pub(super) struct ClientLine {
    pub(super) id: u64,
    pub(super) command: RemoteCommand,
}

/// A command for the session. Each has the name of the driver's command.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RemoteCommand {
    Prompt { text: String, options: PromptOptions },
    Abort { queue: QueueHandling },
    SteerNow { text: Option<String>, options: PromptOptions },
    AttachFiles { files: Vec<FileToAttach> },
    AttachText { text: String },
    AbortRetry,
    EditQueued { id: QueueId, edit: QueueEdit },
    Hold { id: QueueId },
    Release { id: QueueId },
    PutBack { item: WireQueueItem, position: usize },
    ClearQueue { kind: Option<QueueKind> },
    RemoveQueued { id: QueueId },
    Decide { call: CallId, decision: Decision },
    AnswerElicitation { id: ElicitationId, answer: ElicitationAnswer },
    BackgroundJobs,
    StopBackgroundJob { id: JobId },
    MoveCalls,
    Bash { line: String, context: BashContext },
    ExecuteBash { line: String, context: BashContext },
    AbortBash,
    SetModel { words: String },
    CycleModel { direction: CycleDirection },
    ScopedModels,
    SetThinking { level: ThinkingLevel },
    CycleThinking,
    ThinkingLevels,
    Configure { change: OptionChange },
    TogglePlan,
    Rename { name: String },
    Label { entry: EntryId, label: Option<String> },
    Hide { entry: EntryId, visibility: Visibility },
    SwitchLeaf { entry: EntryId, summary: Option<String> },
    LeaveBranch { entry: EntryId, instructions: Option<String> },
    Expand { text: String },
    Compact { instructions: Option<String> },
    Truncate,
    AbortCompaction,
    ResolveCompaction { choice: CompactionChoice },
    ServedResources,
    SlashCommands,
    Models,
    Agents,
    Snapshot,
    Status,
    Settled,
    Stats,
    ContextBreakdown,
    Messages,
}

/// A usable model, with the fields that lists show.
#[derive(Serialize, Deserialize)]
pub(super) struct WireModel {
    provider: String,
    id: String,
    name: String,
    window: Tokens,
    max_output: Tokens,
    image_input: ImageInput,
    takes_pdf: bool,
}

impl From<&Model> for WireModel {
    fn from(model: &Model) -> Self {
        let ModelFacts { provider, id, name, window, max_output, image_input, takes_pdf, .. } =
            (*model.facts).clone();
        Self { provider, id, name, window, max_output, image_input, takes_pdf }
    }
}

impl From<WireModel> for Model {
    fn from(sent: WireModel) -> Self {
        let WireModel { provider, id, name, window, max_output, image_input, takes_pdf } = sent;
        let assumed = catalog::assumed(&provider, &id);
        let facts = ModelFacts { name, window, max_output, image_input, takes_pdf, ..assumed };
        Self {
            provider: Arc::new(UnavailableProvider::for_other_process(&facts.provider)),
            facts: facts.into(),
        }
    }
}

/// The reason a command failed. Errors that front ends distinguish are kept as variants.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WireError {
    Busy,
    QueueFull(usize),
    Running,
    AgentsAtWork,
    BashRunning,
    Empty,
    Summarizing,
    NotFound,
    Closed,
    UnknownSkill {
        name: String,
        nearest: Option<String>,
    },
    TooLong {
        tokens: Tokens,
        model: String,
        window: Tokens,
    },
    /// Any other error, as text.
    Other {
        message: String,
        hint: Option<String>,
    },
}

impl From<AgentError> for WireError {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Busy => Self::Busy,
            AgentError::QueueFull(count) => Self::QueueFull(count),
            AgentError::Running => Self::Running,
            AgentError::AgentsAtWork => Self::AgentsAtWork,
            AgentError::BashRunning => Self::BashRunning,
            AgentError::Empty => Self::Empty,
            AgentError::Summarizing => Self::Summarizing,
            AgentError::NotFound(_) => Self::NotFound,
            AgentError::Closed => Self::Closed,
            AgentError::UnknownSkill { name, nearest } => Self::UnknownSkill { name, nearest },
            AgentError::TooLong { tokens, model, window } => Self::TooLong { tokens, model, window },
            AgentError::Model(_)
            | AgentError::Store(_)
            | AgentError::Session(_)
            | AgentError::SessionOpen
            | AgentError::InvalidAnswer(_)
            | AgentError::LooserThanSession(_)
            | AgentError::Directory { .. }
            | AgentError::Rules { .. }
            | AgentError::Extension(_)
            | AgentError::PromptRejected(_)
            | AgentError::Compaction(_)
            | AgentError::Remote { .. }
            | AgentError::OpenElsewhere
            | AgentError::Disconnected => {
                Self::Other { message: tiller_session::chain(&error), hint: error.hint() }
            }
        }
    }
}

impl From<WireError> for AgentError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Busy => Self::Busy,
            WireError::QueueFull(count) => Self::QueueFull(count),
            WireError::Running => Self::Running,
            WireError::AgentsAtWork => Self::AgentsAtWork,
            WireError::BashRunning => Self::BashRunning,
            WireError::Empty => Self::Empty,
            WireError::Summarizing => Self::Summarizing,
            WireError::NotFound => Self::NotFound("such item anymore"),
            WireError::Closed => Self::Closed,
            WireError::UnknownSkill { name, nearest } => Self::UnknownSkill { name, nearest },
            WireError::TooLong { tokens, model, window } => Self::TooLong { tokens, model, window },
            WireError::Other { message, hint } => Self::Remote { message, hint },
        }
    }
}

impl HostLine {
    /// Creates the line of an event.
    pub(super) fn event(event: Arc<Event>) -> Self {
        let queue = match &event.kind {
            EventKind::QueueUpdate { items, .. } => Some(sent_items(items.iter().map(|item| &**item))),
            _ => None,
        };
        Self::Event { event, queue }
    }
}

/// Restores the complete event of a line.
pub(super) fn received_event(mut event: Arc<Event>, queue: Option<Vec<WireQueueItem>>) -> Arc<Event> {
    if let (Some(queue), EventKind::QueueUpdate { items, .. }) = (queue, &mut Arc::make_mut(&mut event).kind)
    {
        *items = queue.into_iter().map(|item| Arc::new(item.into())).collect();
    }
    event
}
