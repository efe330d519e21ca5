//! Races: several agents get the same prompt, each in its own worktree and with the conversation so far; the
//! user picks one result.
//!
//! Each lane's conversation becomes a branch of the session, so the results that weren't picked remain in its
//! tree.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use tiller_core::id::{EntryId, SessionId};
use tiller_core::unit::UnixMs;
use tiller_session::{Graft, Reader};
use tiller_tools::process::{Runner, ShellCommand};
use tiller_tools::tool::{WorktreeChanges, WorktreeError};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::activity::AgentActivity;
use super::answer::AgentFailure;
use super::child::{Child, ConversationStart};
use super::spec::AgentSpec;
use super::task_run::{TaskRun, TaskStart};
use super::without_delegation::without_delegation;
use crate::handle::{AgentError, AgentSession, BranchSummary, WeakSession};

/// Maximum number of lanes.
const MAX_LANES: usize = 10;

/// Maximum bytes kept from the end of a check's output.
const MAX_CHECK_OUTPUT: usize = 4_096;

/// Options of a race.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaceOptions {
    /// The prompt.
    pub prompt: String,
    /// The entry that the prompt follows; `None` for the session's leaf.
    pub from: Option<EntryId>,
    /// The model of each lane: `[provider/]id[:thinking]`, or a part of an id; `None` for the session's
    /// model.
    pub models: Vec<Option<String>>,
    /// A shell command whose exit status accepts or rejects a result.
    pub check: Option<String>,
}

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

/// The state of a lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "reason", rename_all = "snake_case")]
pub enum LaneState {
    /// The worktree is being created.
    Starting,
    /// The agent is working.
    Working,
    /// The check is running.
    Checking,
    /// The lane has a result.
    Finished,
    /// The lane was stopped and has no result.
    Stopped,
    /// The lane failed and has no result.
    Failed(String),
}

impl LaneState {
    /// Returns true for the final states.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Finished | Self::Stopped | Self::Failed(_))
    }
}

impl std::fmt::Display for LaneState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Starting => "starting",
            Self::Working => "working",
            Self::Checking => "checking",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::Failed(_) => "failed",
        })
    }
}

/// The outcome of a lane's check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckOutcome {
    /// True if the command exited with status 0.
    pub has_passed: bool,
    /// The end of the command's output.
    pub output: String,
}

/// A race. Dropping it stops the lanes.
pub struct Race {
    session: AgentSession,
    runner: Runner,
    cwd: PathBuf,
    lanes: watch::Receiver<Vec<RaceLane>>,
    _tasks: JoinSet<()>,
}

/// The reason a race can't start, or a result can't be picked.
#[derive(Debug, thiserror::Error)]
pub enum RaceError {
    /// The number of lanes is out of range.
    #[error("a race has 1 to {MAX_LANES} lanes, not {0}")]
    Lanes(usize),
    /// The lane has no result.
    #[error("lane {0} has no result")]
    NoResult(usize),
    /// The changes can't be applied to the working directory.
    #[error("lane {number}'s changes can't be applied; they remain on branch {branch}: {reason}")]
    Conflict {
        /// The lane's number.
        number: usize,
        /// The lane's branch.
        branch: String,
        /// The reason for the conflict.
        reason: String,
    },
    /// The session rejected a command.
    #[error(transparent)]
    Session(#[from] AgentError),
}

impl Race {
    /// Starts a race in a session.
    ///
    /// # Errors
    /// If the number of lanes is out of range, or the session is closed.
    pub async fn start(session: &AgentSession, options: RaceOptions) -> Result<Self, RaceError> {
        let count = options.models.len();
        if !(1..=MAX_LANES).contains(&count) {
            return Err(RaceError::Lanes(count));
        }
        let above = session.downgrade();
        let parent = above.parent().await?;
        let from = options.from.clone().or_else(|| parent.reader.leaf());
        let lanes = options.models.iter().enumerate().map(|(at, model)| RaceLane::new(at + 1, model.clone()));
        let (sender, receiver) = watch::channel(lanes.collect());
        let (sender, options) = (Arc::new(sender), Arc::new(RaceOptions { from, ..options }));
        let mut tasks = JoinSet::new();
        for at in 0..count {
            let lane =
                Lane { above: above.clone(), options: Arc::clone(&options), at, lanes: Arc::clone(&sender) };
            tasks.spawn(lane.run());
        }
        let (runner, cwd) = (parent.runner, parent.manager.cwd().to_owned());
        Ok(Self { session: session.clone(), runner, cwd, lanes: receiver, _tasks: tasks })
    }

    /// Returns the current state of the lanes.
    #[must_use]
    pub fn lanes(&self) -> Vec<RaceLane> {
        self.lanes.borrow().clone()
    }

    /// Waits until a lane changes. Returns false once all lanes have ended. Cancel-safe.
    pub async fn changed(&mut self) -> bool {
        let is_over = self.lanes.borrow().iter().all(|lane| lane.state.is_over());
        !is_over && self.lanes.changed().await.is_ok()
    }

    /// Picks the result of a lane: the session continues on the lane's branch, and the lane's changes are
    /// applied to the working directory.
    ///
    /// # Errors
    /// If the lane has no result, the changes can't be applied, or the session is busy.
    pub async fn pick(&self, number: usize) -> Result<(), RaceError> {
        let lane = self.lanes.borrow().iter().find(|lane| lane.number == number).cloned();
        let lane =
            lane.filter(|lane| lane.state == LaneState::Finished).ok_or(RaceError::NoResult(number))?;
        let changes = lane.changes.unwrap_or_default();
        let conflict = |error: WorktreeError| RaceError::Conflict {
            number,
            branch: changes.branch.clone().unwrap_or_default(),
            reason: error.to_string(),
        };
        changes.check(&self.cwd, &self.runner).await.map_err(conflict)?;
        if let Some(leaf) = lane.leaf {
            self.session.navigate(leaf, BranchSummary::None).await?;
        }
        changes.apply(&self.cwd, &self.runner).await.map_err(conflict)
    }
}

impl RaceLane {
    fn new(number: usize, model: Option<String>) -> Self {
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

/// The task that runs one lane.
struct Lane {
    above: WeakSession,
    options: Arc<RaceOptions>,
    at: usize,
    lanes: Arc<watch::Sender<Vec<RaceLane>>>,
}

impl Lane {
    async fn run(self) {
        let state = self.race().await.unwrap_or_else(LaneState::Failed);
        self.update(|lane| lane.state = state);
    }

    fn update(&self, change: impl FnOnce(&mut RaceLane)) {
        self.lanes.send_modify(|lanes| change(&mut lanes[self.at]));
    }

    /// Runs the lane and returns its final state.
    async fn race(&self) -> Result<LaneState, String> {
        let RaceOptions { prompt, from, models, check } = &*self.options;
        let parent = self.above.parent().await.map_err(|error| error.to_string())?;
        if let Some(model) = &models[self.at] {
            // A race with another model in its place would be meaningless.
            parent.providers.find(model).map_err(|error| error.to_string())?;
        }
        let worktree = parent.make_worktree(&format!("race-{}", self.at + 1)).await?;
        let root = worktree.root().to_owned();
        let parent = parent.at(&root);
        let (runner, name) = (parent.tools.sandboxed(&parent.runner), format!("race-{}", self.at + 1));
        let spec = AgentSpec { model: models[self.at].clone(), ..AgentSpec::new(name, "", "") };
        let conversation = from.clone().map_or(ConversationStart::New, ConversationStart::Forked);
        let started = parent.start(spec, without_delegation(), conversation);
        let Child { agent, .. } = started.map_err(|error| error.to_string())?;
        let session = agent.session().clone();
        let start = TaskStart { prompt: prompt.clone(), call: None, worktree: Some(worktree), is_new: true };
        let mut run = TaskRun::start(self.above.clone(), agent, start).await?;
        self.update(|lane| (lane.state, lane.agent_id) = (LaneState::Working, Some(run.id().clone())));
        let outcome = run.work(|activity, since, now| self.show(activity, since, now)).await;
        let changes = run.commit().await?;
        self.update(|lane| lane.changes = changes);
        if let (Ok(_), Some(line)) = (&outcome, check) {
            self.update(|lane| lane.state = LaneState::Checking);
            let outcome = run_check(&runner, &root, line).await;
            self.update(|lane| lane.check = Some(outcome));
        }
        let graft = self.read_graft(&session.reader()).await?;
        let leaf = graft.leaf().cloned();
        run.graft_at_end(graft);
        run.end(outcome.as_ref().err().map(ToString::to_string)).await?;
        self.update(|lane| lane.leaf = leaf);
        match outcome {
            Ok(_) => Ok(LaneState::Finished),
            Err(AgentFailure::Stopped) => Ok(LaneState::Stopped),
            Err(error) => Err(error.to_string()),
        }
    }

    fn show(&self, activity: &AgentActivity, since: UnixMs, now: UnixMs) {
        self.update(|lane| (lane.activity, lane.elapsed_ms) = (activity.clone(), now.since_ms(since)));
    }

    /// Reads the lane's conversation so that it can become a branch of the session.
    async fn read_graft(&self, reader: &Reader) -> Result<Graft, String> {
        let (reader, from) = (reader.clone(), self.options.from.clone());
        let read = tokio::task::spawn_blocking(move || Graft::read(&reader, from.as_ref())).await;
        read.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }
}

/// Runs the check command to its end.
async fn run_check(runner: &Runner, cwd: &Path, line: &str) -> CheckOutcome {
    let failed = |output: String| CheckOutcome { has_passed: false, output };
    let mut running = match runner.start(&ShellCommand { line: line.to_owned(), cwd: cwd.to_owned() }) {
        Ok(running) => running,
        Err(error) => return failed(error.to_string()),
    };
    let mut output = Vec::new();
    while let Some(chunk) = running.chunk().await {
        output.extend_from_slice(&chunk);
        let excess = output.len().saturating_sub(MAX_CHECK_OUTPUT);
        output.drain(..excess);
    }
    let output = String::from_utf8_lossy(&output).into_owned();
    match running.wait().await {
        Ok(exit) => CheckOutcome { has_passed: exit.status.failure().is_none(), output },
        Err(error) => failed(error.to_string()),
    }
}
