//! Runs a lane of a race: the agent in its worktree, the check, and the branch of the session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tiller_core::delegated_task::{CheckOutcome, LaneResult};
use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;
use tiller_session::{Graft, Reader};
use tiller_tools::process::{Runner, ShellCommand};
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::activity::AgentActivity;
use super::answer::{AgentAnswer, AgentFailure};
use super::child::{Child, ConversationStart};
use super::lane_log::{LaneLog, LaneProgress};
use super::owned_worktree::OwnedWorktree;
use super::parent::ParentSession;
use super::race_arguments::RaceOptions;
use super::race_lane::{LaneState, RaceLane};
use super::spec::AgentSpec;
use super::task_record::TaskRecord;
use super::task_run::{EndedLane, TaskRun, TaskStart};
use super::without_delegation::without_delegation;
use crate::handle::WeakSession;

/// The message for an agent whose work was interrupted.
const CONTINUE: &str = "You were interrupted. Continue with the task.";

/// Maximum bytes kept from the end of a check's output.
const MAX_CHECK_OUTPUT: usize = 4_096;

/// The earlier work of an interrupted lane.
pub(super) struct EarlierLane {
    /// The log of its agent.
    path: PathBuf,
    worktree: OwnedWorktree,
}

impl EarlierLane {
    /// Opens the worktree of a lane; returns `None` if the lane has to start over.
    pub(super) async fn open(
        parent: &ParentSession,
        task: Option<&TaskRecord>,
    ) -> Result<Option<Self>, String> {
        let Some(task) = task else { return Ok(None) };
        let Some(path) = task.start.path.as_ref().filter(|path| path.exists()) else { return Ok(None) };
        let worktree = parent.find_worktree(task).await?;
        Ok(worktree.map(|worktree| Self { path: path.clone(), worktree }))
    }
}

/// The task that runs one lane.
pub(super) struct Lane {
    pub above: WeakSession,
    pub options: Arc<RaceOptions>,
    /// The index among the lanes.
    pub at: usize,
    pub lanes: Arc<watch::Sender<Vec<RaceLane>>>,
}

impl Lane {
    pub(super) async fn run(self, earlier: Result<Option<EarlierLane>, String>) {
        let state = match earlier {
            Ok(earlier) => self.race(earlier).await.unwrap_or_else(LaneState::Failed),
            Err(reason) => LaneState::Failed(reason),
        };
        self.update(|lane| lane.state = state);
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut RaceLane)) {
        self.lanes.send_modify(|lanes| change(&mut lanes[self.at]));
    }

    /// Runs the lane and returns its final state.
    async fn race(&self, earlier: Option<EarlierLane>) -> Result<LaneState, String> {
        let RaceOptions { prompt, from, models, .. } = &*self.options;
        let parent = self.above.parent().await.map_err(|error| error.to_string())?;
        if let Some(model) = &models[self.at] {
            // A race with another model in its place would be meaningless.
            parent.providers.find(model).map_err(|error| error.to_string())?;
        }
        let (number, is_new, session_log) = (self.at + 1, earlier.is_none(), parent.reader.clone());
        let name = format!("race-{number}");
        let (worktree, conversation) = match earlier {
            Some(EarlierLane { path, worktree }) => (worktree, ConversationStart::Reopened(path)),
            None => {
                let conversation = from.clone().map_or(ConversationStart::New, ConversationStart::Forked);
                (parent.make_worktree(&name).await?, conversation)
            }
        };
        let root = worktree.root().to_owned();
        let runner = parent.tools.at(&root).sandboxed(&parent.runner);
        let spec = AgentSpec { model: models[self.at].clone(), ..AgentSpec::new(name, "", "") };
        let started = parent.start_in(Some(worktree), spec, without_delegation(), conversation).await?;
        let (Child { agent, .. }, worktree) = started;
        let reader = agent.session().reader();
        // The totals of the session include the usage of earlier work.
        let (log, counted) = match is_new {
            true => (LaneLog::default(), None),
            false => (self.read_log(&reader).await?, reader.leaf()),
        };
        let start = TaskStart { task: prompt.clone(), call: None, worktree, is_new, lane: Some(number) };
        let mut run = TaskRun::start(self.above.clone(), agent, start).await?;
        self.update(|lane| (lane.state, lane.agent_id) = (LaneState::Working, Some(run.id().clone())));
        let show = |activity: &AgentActivity, since: UnixMs, now: UnixMs| {
            let (activity, elapsed_ms) =
                (activity.after(&log.activity), log.elapsed_ms + now.since_ms(since));
            self.update(|lane| (lane.activity, lane.elapsed_ms) = (activity, elapsed_ms));
        };
        let outcome = match log.progress {
            LaneProgress::Waiting => run.work(prompt.clone(), show).await,
            LaneProgress::Working => run.work(CONTINUE.to_owned(), show).await,
            LaneProgress::Answered => Ok(AgentAnswer::default()),
        };
        let changes = run.commit().await?;
        self.update(|lane| lane.changes = changes);
        let check = if outcome.is_ok() { self.check(&runner, &root).await } else { None };
        let graft = self.read_graft(&reader, counted).await?;
        let leaf = graft.leaf().cloned();
        // A crash may have followed the writing of the branch.
        let is_grafted = leaf.as_ref().is_some_and(|leaf| session_log.entry(leaf).is_ok());
        let graft = if is_grafted { Graft::default() } else { graft };
        let result = LaneResult { leaf: leaf.clone(), check };
        run.end_lane(outcome.as_ref().err().map(ToString::to_string), EndedLane { graft, result }).await?;
        self.update(|lane| lane.leaf = leaf);
        match outcome {
            Ok(_) => Ok(LaneState::Finished),
            Err(AgentFailure::Stopped) => Ok(LaneState::Stopped),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Runs the check, if the race has one.
    async fn check(&self, runner: &Runner, root: &Path) -> Option<CheckOutcome> {
        let line = self.options.check.as_ref()?;
        self.update(|lane| lane.state = LaneState::Checking);
        let outcome = run_check(runner, root, line).await;
        self.update(|lane| lane.check = Some(outcome.clone()));
        Some(outcome)
    }

    /// Reads the work of the lane so far.
    async fn read_log(&self, reader: &Reader) -> Result<LaneLog, String> {
        let (reader, from) = (reader.clone(), self.options.from.clone());
        let read = spawn_blocking(move || LaneLog::read(&reader, from.as_ref())).await;
        read.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    /// Reads the lane's conversation so that it can become a branch of the session.
    async fn read_graft(&self, reader: &Reader, counted: Option<EntryId>) -> Result<Graft, String> {
        let (reader, from) = (reader.clone(), self.options.from.clone());
        let read = spawn_blocking(move || Graft::read(&reader, from.as_ref(), counted.as_ref())).await;
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
