//! Races: several agents get the same prompt, each in its own worktree and with the conversation so far; the
//! user picks one result.
//!
//! Each lane's conversation becomes a branch of the session, so the results that weren't picked remain in its
//! tree. The log records the race ([`RaceRecord`]), so that it can be resumed after the process has ended.

use std::path::PathBuf;
use std::sync::Arc;

use tiller_core::id::EntryId;
use tiller_provider::ModelError;
use tiller_session::{EntryBody, SessionError};
use tiller_tools::process::Runner;
use tiller_tools::tool::{Worktree, WorktreeError};
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};

use super::lane_run::{EarlierLane, Lane};
use super::parent::ParentSession;
use super::race_arguments::RaceOptions;
use super::race_lane::{LaneState, RaceLane};
use super::race_record::{RaceRecord, end_entry, start_entry};
use super::task_record::TaskRecord;
use crate::handle::{AgentError, AgentSession, BranchSummary, DelegationCommand, DriverCommand, WeakSession};

/// Maximum number of lanes.
const MAX_LANES: usize = 10;

/// A race. Dropping it stops the lanes; [`Race::find`] then finds it again, unless the user has ended it.
pub struct Race {
    session: AgentSession,
    options: Arc<RaceOptions>,
    runner: Runner,
    cwd: PathBuf,
    lanes: watch::Receiver<Vec<RaceLane>>,
    /// The earlier tasks of interrupted lanes.
    earlier: Vec<Option<TaskRecord>>,
    tasks: JoinSet<()>,
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
    /// The prompt is blank.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// No entry, or more than one, matches the entry to continue from.
    #[error(transparent)]
    Entry(SessionError),
    /// A lane's model can't be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The session's approval mode allows no worktrees.
    #[error("{0}")]
    Mode(String),
    /// No worktree can be made for the lanes.
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    /// The session rejected a command.
    #[error(transparent)]
    Session(#[from] AgentError),
    /// The log can't be read.
    #[error("the race can't be read from the session's log: {0}")]
    Log(String),
}

impl Race {
    /// Starts a race in a session. It replaces an older race that the user hasn't ended.
    ///
    /// # Errors
    /// If an option is invalid, no worktree can be made, or the session is closed; then an older
    /// race isn't replaced.
    pub async fn start(session: &AgentSession, options: RaceOptions) -> Result<Self, RaceError> {
        let count = options.models.len();
        if !(1..=MAX_LANES).contains(&count) {
            return Err(RaceError::Lanes(count));
        }
        if options.prompt.trim().is_empty() {
            return Err(RaceError::EmptyPrompt);
        }
        let above = session.downgrade();
        let parent = above.parent().await?;
        let find = |from: &EntryId| parent.reader.find(from.as_str()).map_err(RaceError::Entry);
        let from = options.from.as_ref().map(find).transpose()?;
        for model in options.models.iter().flatten() {
            parent.providers.find(model)?;
        }
        parent.check_worktree_mode().map_err(RaceError::Mode)?;
        Worktree::check_repository(parent.manager.cwd(), &parent.runner).await?;
        let from = from.or_else(|| parent.reader.leaf());
        let options = RaceOptions { from, ..options };
        record(&above, start_entry(parent.reader.id().clone(), &options)).await?;
        let lanes = options.models.iter().enumerate().map(|(at, model)| RaceLane::new(at + 1, model.clone()));
        let mut race = Self::new(session, &parent, options.clone(), lanes.collect());
        race.run_lanes((0..count).map(|at| (at, Ok(None))));
        Ok(race)
    }

    /// Finds the newest race of a session that hasn't ended, for instance because of a crash. Its lanes aren't
    /// running: [`Self::resume`] continues the interrupted ones. Returns `None` if the race is running, if no
    /// lane had started, if none has a result or can be continued, or if there is no race.
    ///
    /// # Errors
    /// If the log can't be read, or the session is closed.
    pub async fn find(session: &AgentSession) -> Result<Option<Self>, RaceError> {
        let Some(race) = Self::read(session).await? else { return Ok(None) };
        if session.running_agents().await?.iter().any(|agent| agent.start.lane.is_some()) {
            return Ok(None);
        }
        let is_open = |lane: &RaceLane| matches!(lane.state, LaneState::Interrupted | LaneState::Finished);
        let is_open = race.lanes.borrow().iter().any(is_open);
        Ok(is_open.then_some(race))
    }

    /// Reads the newest race of a session from its log, with the changes of its lanes.
    async fn read(session: &AgentSession) -> Result<Option<Self>, RaceError> {
        let log = |error: &dyn std::fmt::Display| RaceError::Log(error.to_string());
        let tasks = session.agent_tasks().await?;
        // Nearly all sessions: their logs aren't read again.
        if tasks.iter().all(|task| task.start.lane.is_none()) {
            return Ok(None);
        }
        let reader = session.reader();
        let read = move || {
            let record = RaceRecord::read(&reader, &tasks)?;
            Ok(record.map(|record| (record.read_lanes(), record)))
        };
        let found = spawn_blocking(read).await.map_err(|error| log(&error))?;
        let found = found.map_err(|error: SessionError| log(&error))?;
        let Some((mut lanes, record)) = found else { return Ok(None) };
        let parent = session.downgrade().parent().await?;
        for (lane, task) in lanes.iter_mut().zip(&record.lanes) {
            if let Some(task) = task {
                lane.read_changes(task, &parent).await;
            }
        }
        let race = Self::new(session, &parent, record.options, lanes);
        Ok(Some(Self { earlier: record.lanes, ..race }))
    }

    /// Reads the race again after its lanes have ended without a result. Returns `None` if no lane has work that
    /// [`Self::resume`] can continue; then the race should be [discarded](Self::discard). A lane has such work if
    /// it failed before its agent could continue, for instance for lack of a key. Cancel-safe.
    ///
    /// # Errors
    /// If the log can't be read, or the session is closed.
    pub async fn reload_unfinished(&self) -> Result<Option<Self>, RaceError> {
        let race = Self::read(&self.session).await?;
        Ok(race.filter(|race| {
            let lanes = race.lanes.borrow();
            let mut lanes = lanes.iter().zip(&race.earlier);
            lanes.any(|(lane, task)| lane.state == LaneState::Interrupted && task.is_some())
        }))
    }

    fn new(
        session: &AgentSession,
        parent: &ParentSession,
        options: RaceOptions,
        lanes: Vec<RaceLane>,
    ) -> Self {
        Self {
            session: session.clone(),
            options: Arc::new(options),
            runner: parent.runner.clone(),
            cwd: parent.manager.cwd().to_owned(),
            lanes: watch::channel(lanes).1,
            earlier: Vec::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Starts these lanes, given by their indexes, with their earlier work.
    fn run_lanes(&mut self, lanes: impl Iterator<Item = (usize, Result<Option<EarlierLane>, String>)>) {
        let sender = Arc::new(watch::Sender::new(self.lanes()));
        self.lanes = sender.subscribe();
        for (at, earlier) in lanes {
            let (above, options) = (self.session.downgrade(), Arc::clone(&self.options));
            let lane = Lane { above, options, at, lanes: Arc::clone(&sender) };
            lane.update(|lane| lane.state = LaneState::Starting);
            self.tasks.spawn(lane.run(earlier));
        }
    }

    /// Continues the interrupted lanes. Agents continue in their worktrees; a lane whose branch is gone starts
    /// over.
    ///
    /// # Errors
    /// If the session is closed, or its log can't be written.
    pub async fn resume(&mut self) -> Result<(), RaceError> {
        let above = self.session.downgrade();
        above.send(|reply| DriverCommand::Delegation(DelegationCommand::EndInterrupted { reply })).await?;
        let parent = above.parent().await?;
        let mut lanes = Vec::new();
        for (at, lane) in self.lanes().iter().enumerate() {
            if lane.state == LaneState::Interrupted {
                // Before the first lane starts, because the start removes worktrees that nobody uses.
                lanes.push((
                    at,
                    EarlierLane::open(&parent, self.earlier.get(at).and_then(Option::as_ref)).await,
                ));
            }
        }
        self.run_lanes(lanes.into_iter());
        Ok(())
    }

    /// Returns the prompt.
    #[must_use]
    pub fn prompt(&self) -> &str {
        &self.options.prompt
    }

    /// Returns the command that checks the results.
    #[must_use]
    pub fn check(&self) -> Option<&str> {
        self.options.check.as_deref()
    }

    /// Returns the current state of the lanes.
    #[must_use]
    pub fn lanes(&self) -> Vec<RaceLane> {
        self.lanes.borrow().clone()
    }

    /// Waits until a lane changes. Returns false if no lane is running. Cancel-safe.
    pub async fn changed(&mut self) -> bool {
        let is_over = self.lanes.borrow().iter().all(|lane| lane.state.is_over());
        !is_over && self.lanes.changed().await.is_ok()
    }

    /// Picks the result of a lane: the session continues on the lane's branch, with its model if the race has models,
    /// and the lane's changes are applied to the working directory. This ends the race.
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
        changes.apply(&self.cwd, &self.runner).await.map_err(conflict)?;
        if let Some(model) = lane.model
            && let Err(error) = self.session.set_model(model).await
        {
            tracing::warn!(%error, "the session keeps its model");
        }
        Ok(record(&self.session.downgrade(), end_entry(Some(number))).await?)
    }

    /// Stops the lanes and discards their results. Lanes that have ended stay in the session's tree.
    ///
    /// # Errors
    /// If the end can't be written to the log; then the race can be found again.
    pub async fn discard(self) -> Result<(), RaceError> {
        Ok(record(&self.session.downgrade(), end_entry(None)).await?)
    }
}

/// Appends an entry about a race to the session's log.
async fn record(session: &WeakSession, entry: EntryBody) -> Result<(), AgentError> {
    session.send(|reply| DriverCommand::Delegation(DelegationCommand::RecordRace { entry, reply })).await
}

impl RaceRecord {
    /// Reads the state of the lanes, without their changes, from the logs of their agents.
    fn read_lanes(&self) -> Vec<RaceLane> {
        let lane = |(at, task): (usize, &Option<TaskRecord>)| {
            let lane = RaceLane::new(at + 1, self.options.models[at].clone());
            lane.read(task.as_ref(), self.options.from.as_ref())
        };
        self.lanes.iter().enumerate().map(lane).collect()
    }
}
