//! A snapshot of a session.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use serde_json::Value;
use tiller_core::ansi::{OutputBuffer, StyledText};
use tiller_core::background_job::CommandJob;
use tiller_core::elicitation::ElicitationRequest;
use tiller_core::event::{ApprovalRequest, QueueItem, ToolOutcome};
use tiller_core::id::{CallId, EntryId, SessionId};
use tiller_core::message::{AssistantMessage, ModelRef, ThinkingLevel, Usage};
use tiller_core::task_plan::TaskPlan;
use tiller_core::unit::{Tokens, UnixMs};
use tiller_provider::ImageInput;
use tiller_tools::tool::last_screen;

use super::prompt::BashContext;
use super::summary_in_progress::SummaryInProgress;
use crate::agents::RunningAgent;
use crate::turn::RetryAnnouncement;

/// A snapshot of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// Number of the last event that the snapshot includes.
    pub seq: u64,
    /// Facts about the session.
    pub state: SessionState,
    /// Operations in progress.
    pub in_progress: InFlight,
}

/// Facts about a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionState {
    /// Id of the session.
    pub session: SessionId,
    /// Path of its log; `None` for a session in memory.
    pub path: Option<PathBuf>,
    /// Name of the session.
    pub name: Option<String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The model of the next turn.
    pub model: ModelRef,
    /// The model's thinking level.
    pub thinking: ThinkingLevel,
    /// The model's image support.
    pub image_input: ImageInput,
    /// Context window usage.
    pub context: ContextUse,
    /// Tokens and cost of the path so far.
    pub usage: Usage,
    /// The approval mode: `ask`, `auto`, `plan`, `read-only`, `yes`.
    pub approval: String,
    /// The task plan, until all steps are done.
    pub plan: Option<TaskPlan>,
}

/// Context window usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUse {
    /// Estimated tokens of the next request.
    pub used: Tokens,
    /// Size of the window.
    pub window: Tokens,
}

/// Operations in progress.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct InFlight {
    /// Start of the current run; `None` when idle.
    pub running_since: Option<UnixMs>,
    /// The pending retry of a failed request.
    pub retry: Option<RetryAnnouncement>,
    /// The partial answer.
    pub partial: Option<AssistantMessage>,
    /// Running calls.
    pub calls: Vec<RunningCall>,
    /// Queued messages.
    #[serde(with = "crate::sent_item::list")]
    pub queue: Vec<QueueItem>,
    /// Pending approval requests.
    pub approvals: Vec<ApprovalRequest>,
    /// Pending questions from MCP servers.
    pub elicitations: Vec<ElicitationRequest>,
    /// The user's running shell command.
    pub bash: Option<RunningBash>,
    /// The background jobs, including finished ones.
    pub background_jobs: Vec<CommandJob>,
    /// The agents that are working for the session.
    pub agents: Vec<RunningAgent>,
    /// The summary in progress, or the failed one.
    pub summary: Option<SummaryInProgress>,
}

/// A running tool call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunningCall {
    /// Id of the call.
    pub id: CallId,
    /// Name of the tool.
    pub name: String,
    /// The call's arguments.
    pub arguments: Value,
    /// Start time.
    pub since: UnixMs,
    /// The newest part of the output.
    pub partial: ToolOutcome,
}

/// The user's running shell command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunningBash {
    /// Id of its start entry.
    pub id: EntryId,
    /// The command line.
    pub line: String,
    /// `Include` if the output goes to the model.
    pub context: BashContext,
    /// Start time.
    pub since: UnixMs,
    /// The output so far, cut at the front. Append the text of later events to this buffer.
    #[serde(with = "output_text")]
    pub output: OutputBuffer,
}

impl RunningBash {
    /// Returns the last screenful of output.
    #[must_use]
    pub fn last_lines(&self) -> StyledText {
        last_screen(&self.output)
    }
}

/// Serializes a command's output as text, without its colors.
mod output_text {
    use serde::{Deserialize, Deserializer, Serializer};
    use tiller_core::ansi::OutputBuffer;

    pub(super) fn serialize<S: Serializer>(output: &OutputBuffer, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&output.styled_text().text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OutputBuffer, D::Error> {
        let mut output = OutputBuffer::default();
        output.push(String::deserialize(deserializer)?.as_bytes());
        Ok(output)
    }
}
