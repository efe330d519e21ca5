//! The state of the session derived from the agent's events: its properties and its current activity.
//!
//! All components read it; only its reducer ([`reducer`]) changes it.

use std::path::PathBuf;

use tiller_core::message::ModelRef;
use tiller_core::unit::UnixMs;
mod reducer;

use std::sync::Arc;

use tiller_core::elicitation::ElicitationRequest;
use tiller_core::event::{ApprovalRequest, Event, QueueItem, QueueKind};
use tiller_core::id::{CallId, SessionId};
use tiller_core::message::{ThinkingLevel, Usage};
use tiller_core::task_plan::TaskPlan;
use tiller_core::tool_catalog::ToolCatalog;
use tiller_core::unit::Tokens;
use tiller_engine::remote_session::ConnectionState;
use tiller_engine::{AgentCommand, ApprovalMode, ContextUse, RunningCall, SummaryInProgress};
use tiller_engine::{RetryAnnouncement, ServedResource};
use tiller_provider::catalog::ImageInput;

/// The session's current state, as far as it is known here.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionModel {
    pub(crate) info: SessionInfo,
    pub(crate) activity: SessionActivity,
}

impl SessionModel {
    /// Returns true if the agent or a `!` command is running.
    pub(crate) fn is_working(&self) -> bool {
        self.activity.running_since.is_some() || self.activity.bash_since.is_some()
    }

    /// Returns true if something is running that Esc stops: the agent, a `!` command, a summary, or the
    /// preparation of a message.
    pub(crate) fn is_stoppable(&self) -> bool {
        let is_sending = self.activity.jobs.iter().any(|(job, _)| *job == Job::Send);
        self.is_working() || is_sending || self.activity.summary.is_some()
    }

    /// Returns true if a call is running that can be moved to the background.
    pub(crate) fn has_movable_call(&self) -> bool {
        let has_jobs =
            |call: &CallInProgress| self.info.tools.find(&call.name).is_some_and(|traits| traits.has_jobs);
        self.activity.calls.iter().any(has_jobs)
    }

    /// Returns true if a steering message is waiting for a running agent.
    pub(crate) fn has_waiting_steering(&self) -> bool {
        let is_waiting = |item: &QueueItem| item.kind == QueueKind::Steer && !item.held;
        self.activity.running_since.is_some() && self.activity.queue.iter().any(is_waiting)
    }

    /// Returns the thinking level after the current one.
    pub(crate) fn next_thinking(&self) -> ThinkingLevel {
        let levels = ThinkingLevel::ALL;
        let at = levels.iter().position(|level| *level == self.info.thinking).unwrap_or(0);
        levels[(at + 1) % levels.len()]
    }

    /// Returns true in plan mode.
    pub(crate) fn is_planning(&self) -> bool {
        self.info.approval == ApprovalMode::Plan.name()
    }

    /// Returns the approval mode after the current one.
    pub(crate) fn next_approval(&self) -> ApprovalMode {
        let modes = ApprovalMode::ALL;
        let at = modes.iter().position(|mode| mode.name() == self.info.approval);
        modes[at.map_or(0, |at| (at + 1) % modes.len())]
    }

    pub(crate) fn model_name(&self) -> &str {
        self.info.model.as_ref().map_or("this model", |model| model.id.as_str())
    }
}

/// The session's properties.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionInfo {
    /// The connection to the process that has the session open.
    pub(crate) connection: ConnectionState,
    /// The sequence number of the last applied event.
    pub(crate) seq: u64,
    pub(crate) pending_snapshots: PendingSnapshots,
    pub(crate) name: Option<String>,
    pub(crate) model: Option<ModelRef>,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) image_input: ImageInput,
    pub(crate) context: ContextUse,
    pub(crate) usage: Usage,
    pub(crate) approval: String,
    pub(crate) plan: Option<TaskPlan>,
    pub(crate) branch: Option<String>,
    /// The session's id, if it is a fork.
    pub(crate) fork_id: Option<SessionId>,
    pub(crate) welcome: Option<Welcome>,
    /// The agent's slash commands: templates and skills.
    pub(crate) commands: Vec<AgentCommand>,
    pub(crate) tools: ToolCatalog,
    /// Resources of servers, for `@`.
    pub(crate) resources: Arc<[ServedResource]>,
    /// Number of changes to the commands and resources listed by completion.
    pub(crate) listing_changes: u64,
}

/// Buffers events while a snapshot is pending, because the snapshot may not include them.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingSnapshots {
    /// Number of requested snapshots that haven't arrived.
    expected: usize,
    events: Vec<Arc<Event>>,
}

impl PendingSnapshots {
    /// Returns true while a snapshot is pending.
    fn is_open(&self) -> bool {
        self.expected > 0
    }

    fn open(&mut self) {
        self.expected += 1;
    }

    /// Buffers an event while a snapshot is pending; otherwise returns it.
    fn buffer(&mut self, event: Arc<Event>) -> Option<Arc<Event>> {
        if self.expected == 0 {
            return Some(event);
        }
        self.events.push(event);
        None
    }

    /// Returns the buffered events when a snapshot arrives. If another snapshot is pending, the events stay
    /// buffered for it, too.
    fn close(&mut self) -> Vec<Arc<Event>> {
        self.expected = self.expected.saturating_sub(1);
        match self.expected {
            0 => std::mem::take(&mut self.events),
            _ => self.events.clone(),
        }
    }
}

/// A long-running job started by the user, apart from the agent's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Export,
    Copy,
    /// A message that is being sent: its resources are being read, or hooks review it.
    Send,
}

impl Job {
    /// The label shown while the job runs.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Export => "exporting the session…",
            Self::Copy => "copying the session…",
            Self::Send => "preparing the message…",
        }
    }
}

/// A running tool call.
#[derive(Clone, Debug)]
pub(crate) struct CallInProgress {
    pub(crate) id: CallId,
    pub(crate) name: String,
    /// Start of execution, without the time spent waiting before.
    pub(crate) since: UnixMs,
}

impl From<&RunningCall> for CallInProgress {
    fn from(call: &RunningCall) -> Self {
        Self { id: call.id.clone(), name: call.name.clone(), since: call.since }
    }
}

/// A call that is waiting for the user's approval.
#[derive(Clone, Debug)]
pub(crate) struct PendingApproval {
    pub(crate) request: ApprovalRequest,
    /// Time of the request, or of its arrival here.
    pub(crate) since: UnixMs,
}

/// The size of the answer that is being streamed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamingAnswer {
    /// Output tokens, as last counted by the provider. Most providers count only at the end, some also the
    /// first few at the start.
    pub(crate) counted_tokens: Tokens,
    /// Bytes received.
    pub(crate) bytes: u64,
}

impl StreamingAnswer {
    /// Formats the number of output tokens, with a `~` for an estimate; `None` before the first byte.
    pub(crate) fn label(self) -> Option<String> {
        /// Estimated bytes per token.
        const TOKEN: u64 = 4;
        let guess = Tokens(self.bytes.div_ceil(TOKEN));
        // A count far below the estimate was sent at the start.
        match self.counted_tokens.0 * 2 >= guess.0 {
            true if self.counted_tokens.0 == 0 => None,
            true => Some(format!("↓{}", self.counted_tokens)),
            false => Some(format!("↓~{guess}")),
        }
    }
}

/// The session's current activity.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionActivity {
    /// Start of opening the session.
    pub(crate) opening_since: Option<UnixMs>,
    pub(crate) running_since: Option<UnixMs>,
    pub(crate) calls: Vec<CallInProgress>,
    /// The announced retry of a failed request.
    pub(crate) retry: Option<RetryAnnouncement>,
    /// Start of the running `!` command.
    pub(crate) bash_since: Option<UnixMs>,
    /// Number of running background jobs.
    pub(crate) background_jobs: usize,
    /// Number of agents that are working for the session.
    pub(crate) agents: usize,
    pub(crate) summary: Option<SummaryInProgress>,
    /// Running jobs and their start times.
    pub(crate) jobs: Vec<(Job, UnixMs)>,
    pub(crate) queue: Vec<QueueItem>,
    pub(crate) approvals: Vec<PendingApproval>,
    /// Questions of servers; the first one is shown.
    pub(crate) elicitations: Vec<ElicitationRequest>,
    pub(crate) streaming: StreamingAnswer,
    /// The last run ended with an error.
    pub(crate) last_run_failed: bool,
}

/// Data on the welcome screen that must be looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Welcome {
    pub(crate) files: Vec<PathBuf>,
    /// Title and modification time of the newest other session of this directory.
    pub(crate) last: Option<(String, UnixMs)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streaming_answer_tokens_are_estimated_until_counted() {
        let words = |counted, bytes| StreamingAnswer { counted_tokens: Tokens(counted), bytes }.label();
        assert_eq!(words(0, 0), None);
        assert_eq!(words(0, 480).as_deref(), Some("↓~120"));
        assert_eq!(words(3, 480).as_deref(), Some("↓~120"), "counted at the start only");
        assert_eq!(words(131, 480).as_deref(), Some("↓131"));
        assert_eq!(words(900, 0).as_deref(), Some("↓900"), "hidden thinking counts too");
    }
}
