//! A lane of a race: an agent and its result.

use serde::Serialize;
use tiller_core::delegated_task::{CheckOutcome, LaneResult};
use tiller_core::id::{EntryId, SessionId};
use tiller_session::Reader;
use tiller_tools::tool::WorktreeChanges;

use super::activity::AgentActivity;
use super::answer::AgentFailure;
use super::lane_log::LaneLog;
use super::parent::ParentSession;
use super::task_record::TaskRecord;

/// One lane of a race: an agent and its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RaceLane {
    /// The lane's number, from 1.
    pub number: usize,
    /// The requested model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent's session, once it has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<SessionId>,
    /// The lane's state.
    pub state: LaneState,
    /// The agent's activity.
    pub activity: AgentActivity,
    /// Milliseconds since the agent started, until it finished.
    pub elapsed_ms: u64,
    /// The outcome of the check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckOutcome>,
    /// The changed files, once the agent has finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<WorktreeChanges>,
    /// The last entry of the lane's branch in the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf: Option<EntryId>,
}

/// A lane's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "reason", rename_all = "snake_case")]
pub enum LaneState {
    /// The worktree is being created.
    Starting,
    /// The agent is working.
    Working,
    /// The check is running.
    Checking,
    /// The lane hadn't finished when tiller exited; [`Race::resume`](super::Race::resume)
    /// continues it.
    Interrupted,
    /// The lane has a result.
    Finished,
    /// The lane was stopped and has no result.
    Stopped,
    /// The lane failed and has no result.
    Failed(String),
}

impl RaceLane {
    /// Returns the lane's state for display, such as `working` or `waiting for approval`.
    #[must_use]
    pub fn state_text(&self) -> String {
        match (&self.state, self.activity.approvals) {
            (LaneState::Working, 1..) => "waiting for approval".to_owned(),
            (state, _) => state.to_string(),
        }
    }
}

impl LaneState {
    /// Returns true for the states of a lane that isn't running.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Interrupted | Self::Finished | Self::Stopped | Self::Failed(_))
    }
}

impl std::fmt::Display for LaneState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Starting => "starting",
            Self::Working => "working",
            Self::Checking => "checking",
            Self::Interrupted => "interrupted",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::Failed(_) => "failed",
        })
    }
}

impl RaceLane {
    pub(super) fn new(number: usize, model: Option<String>) -> Self {
        Self {
            number,
            model,
            agent_id: None,
            state: LaneState::Starting,
            activity: AgentActivity::default(),
            elapsed_ms: 0,
            check: None,
            changes: None,
            leaf: None,
        }
    }

    /// Reads the state of a lane that isn't running, without its changes.
    pub(super) fn read(self, task: Option<&TaskRecord>, from: Option<&EntryId>) -> Self {
        let interrupted = Self { state: LaneState::Interrupted, ..self };
        let Some(TaskRecord { start, end, .. }) = task else { return interrupted };
        let log = start.path.as_ref().and_then(|path| {
            let log = Reader::open(path).and_then(|reader| LaneLog::read(&reader, from));
            log.inspect_err(|error| tracing::warn!(%error, "the log of a lane can't be read")).ok()
        });
        let (activity, elapsed_ms) = log.map(|log| (log.activity, log.elapsed_ms)).unwrap_or_default();
        let lane = Self { agent_id: Some(start.agent_id.clone()), activity, elapsed_ms, ..interrupted };
        let Some(end) = end else { return lane };
        let Some(LaneResult { leaf, check }) = end.lane.clone() else { return lane };
        let state = match &end.error {
            None => LaneState::Finished,
            Some(error) if *error == AgentFailure::Stopped.to_string() => LaneState::Stopped,
            Some(error) => LaneState::Failed(error.clone()),
        };
        Self { state, leaf, check, ..lane }
    }

    /// Reads the changes of a lane that has ended from its branch. A finished lane without them has failed.
    pub(super) async fn read_changes(&mut self, task: &TaskRecord, parent: &ParentSession) {
        if self.state == LaneState::Interrupted {
            return;
        }
        let branch = task.end.as_ref().and_then(|end| end.branch.as_ref());
        let (Some(branch), Some(worktree)) = (branch, &task.start.worktree) else {
            self.changes = Some(WorktreeChanges::default());
            return;
        };
        match WorktreeChanges::read(parent.manager.cwd(), branch, &worktree.base, &parent.runner).await {
            Ok(changes) => self.changes = Some(changes),
            Err(error) if self.state == LaneState::Finished => {
                self.state = LaneState::Failed(error.to_string());
            }
            Err(_) => {}
        }
    }

    /// Returns the branch with the lane's changes.
    #[must_use]
    pub fn branch(&self) -> Option<&str> {
        self.changes.as_ref()?.branch.as_deref()
    }

    /// Returns the check's outcome in one word, or an empty string without one.
    #[must_use]
    pub fn check_text(&self) -> &'static str {
        match &self.check {
            Some(CheckOutcome { has_passed: true, .. }) => "passed",
            Some(CheckOutcome { has_passed: false, .. }) => "failed",
            None => "",
        }
    }
}
