//! Events of the jobs that run outside the loop.

use std::io;
use std::sync::Arc;

use tiller_core::ansi::{OutputBuffer, StyledText};
use tiller_core::event::{ApprovalRequest, Event};
use tiller_core::id::{CallId, ElicitationId, EntryId, SessionId};
use tiller_core::message::ToolResultMessage;
use tiller_provider::{ProviderError, StreamEvent, ToolChoice};
use tiller_tools::process::ExitStatus;
use tiller_tools::tool::{CapturedOutput, ServerQuestion, ToolServersEvent};

use super::spending_state::SpendingEvent;
use crate::agents::{EndedTask, LoggedUse, ParentSession};
use crate::compaction::machine::SummaryEvent;
use crate::extension::{CommandOutcome, RequestContext, ReviewedCall};
use crate::handle::{PromptOptions, Reply, Snapshot};
use crate::resources::ReloadResult;
use crate::turn::{PlannedCall, TurnNumber};

/// An event from a job.
pub(crate) enum JobEvent {
    /// A stream event.
    StreamPart { turn: TurnNumber, part: Result<StreamEvent, ProviderError> },
    /// The stream ended without a final event.
    StreamEnded { turn: TurnNumber },
    /// The wait before a retry is over.
    RetryDue { turn: TurnNumber },
    /// Changes by extensions to a request that is about to be sent.
    RequestOpened {
        turn: TurnNumber,
        tool_choice: ToolChoice,
        before: Box<RequestContext>,
        after: Box<RequestContext>,
    },
    /// A result that a request waits for: the usage so far, the day's cost, or the user's consent.
    Spending { turn: TurnNumber, tool_choice: ToolChoice, event: SpendingEvent },
    /// An approval request with its preview.
    Previewed(ApprovalRequest),
    /// Extensions' reviews of the calls of an answer.
    CallsReviewed { turn: TurnNumber, reviewed: Vec<CallReviewResult> },
    /// Texts from extensions for the model at the start of a session, with the number of the start.
    SessionStarted { number: u64, texts: Vec<String> },
    /// The extensions' verdict on a prompt: texts for the model, or the reason to reject it.
    PromptReviewed { number: u64, verdict: Result<Vec<String>, String> },
    /// A prompt was submitted some time ago and may still be waiting for the extensions.
    PromptDelayed,
    /// The extensions' verdict on the end of a run: an instruction to continue.
    EndReviewed { turn: TurnNumber, instruction: Option<String> },
    /// The end of an extension's command.
    CommandEnded { id: u64, outcome: Result<CommandOutcome, String> },
    /// A problem with an extension.
    ExtensionWarning(String),
    /// An event of the tool servers.
    ToolServers(ToolServersEvent),
    /// A question from a server to the user.
    ServerQuestion(ServerQuestion),
    /// A question was answered or withdrawn.
    ElicitationEnded(ElicitationId),
    /// The resources that a prompt names, or the reasons they can't be read.
    ResourcesAttached { number: u64, blocks: Vec<Result<String, String>> },
    /// An event of an agent that works for the session.
    AgentEvent { agent: SessionId, event: Arc<Event> },
    /// Events of an agent were missed; the snapshot has its current state.
    AgentMissed { agent: SessionId, snapshot: Box<Snapshot> },
    /// A task has ended, and the last events of its agent are forwarded.
    AgentEnded { task: EndedTask, reply: Reply<()> },
    /// The usage of a session and its agents before it was opened; the parts for its agents wait for it.
    AgentLogsRead { session: SessionId, logged: LoggedUse, reply: Reply<Box<ParentSession>> },
    /// Background jobs have started or ended.
    BackgroundJobsChanged,
    /// The newest output of a running call.
    ToolProgress { call: CallId, printed: StyledText },
    /// An event of the summary job.
    Summary { number: u64, event: SummaryEvent },
    /// A call's result.
    ToolEnded { turn: TurnNumber, result: ToolResultMessage, warning: Option<String> },
    /// Output of the user's command.
    BashOutput { id: EntryId, delta: String, output: Box<OutputBuffer> },
    /// The end of the user's command.
    BashEnded { id: EntryId, end: BashEnd },
    /// Skills, templates and context files were reloaded.
    ResourcesRead(ReloadResult),
    /// The end of a sync.
    Synced(io::Result<()>),
}

/// A prompt whose resources are being read.
pub(crate) struct PromptAwaitingResources {
    pub(crate) text: String,
    pub(crate) options: PromptOptions,
    pub(crate) reply: Reply<()>,
}

/// A call under review by the extensions.
pub(crate) enum CallReviewResult {
    /// Refused before the extensions' review.
    Refused(PlannedCall),
    Reviewed(ReviewedCall),
}

/// A command's end.
pub(crate) struct BashEnd {
    /// `None` if the command was stopped or its status was lost.
    pub(crate) status: Option<ExitStatus>,
    /// The error that running the command caused.
    pub(crate) error: Option<String>,
    pub(crate) output: CapturedOutput,
}
