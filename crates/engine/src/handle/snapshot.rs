//! A session at one moment.

use std::path::PathBuf;

use serde_json::Value;
use tiller_core::ansi::{OutputBuffer, StyledText};
use tiller_core::event::{ApprovalRequest, QueueItem, ToolOutcome};
use tiller_core::id::{CallId, EntryId, SessionId};
use tiller_core::message::{AssistantMessage, ModelRef, ThinkingLevel, Usage};
use tiller_core::unit::{Tokens, UnixMs};
use tiller_provider::ImageInput;
use tiller_tools::tool::glance;

use super::compaction::Summarizing;
use super::prompt::BashContext;
use crate::turn::AnnouncedRetry;

/// A session at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Events up to this one are part of it.
    pub seq: u64,
    /// What it is.
    pub state: SessionState,
    /// What it is doing.
    pub live: InFlight,
}

/// What a session is at one moment.
#[derive(Clone, Debug)]
pub struct SessionState {
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
    /// Whether it takes images.
    pub sight: ImageInput,
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
pub struct InFlight {
    /// Since when a run is going on; `None` when idle.
    pub running_since: Option<UnixMs>,
    /// The try that a failed request waits for.
    pub retry: Option<AnnouncedRetry>,
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
    /// The summary that is being made, or that could not be made.
    pub summary: Option<Summarizing>,
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
    /// What it printed so far, cut at the front; the text of each later event belongs on this paper.
    pub output: OutputBuffer,
}

impl RunningBash {
    /// A screenful of what it printed last.
    #[must_use]
    pub fn glance(&self) -> StyledText {
        glance(&self.output)
    }
}
