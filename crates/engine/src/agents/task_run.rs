//! An agent's work on one task for a session, from recording its start to recording its end.

use std::time::{Duration, SystemTime};

use tiller_core::background_job::CommandJob;
use tiller_core::delegated_task::{DelegatedTask, DelegatedTaskEnd, LaneResult};
use tiller_core::event::EventKind;
use tiller_core::id::{CallId, SessionId};
use tiller_core::unit::UnixMs;
use tiller_session::{Graft, ModelUsage};
use tiller_tools::tool::WorktreeChanges;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::activity::AgentActivity;
use super::agent::Agent;
use super::answer::{AgentAnswer, AgentFailure};
use super::log_entries::usage_since;
use super::owned_worktree::OwnedWorktree;
use super::parent::EndedTask;
use crate::handle::{AgentSession, DelegationCommand, DriverCommand, WeakSession};

/// Interval at which the elapsed time of a running agent is updated on the screen.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum length of a task in the delegating session's log, in characters; the agent's log has all of it.
const MAX_LOGGED_TASK: usize = 500;

/// Maximum length of a task in its commit message, in characters.
const MAX_COMMIT_SUBJECT: usize = 60;

/// Returns the start of a task, as the delegating session's log has it.
pub(super) fn logged_task(task: &str) -> String {
    task.chars().take(MAX_LOGGED_TASK).collect()
}

/// The call that delegates a task.
#[derive(Clone, Debug)]
pub(super) struct DelegatingCall {
    pub id: CallId,
    /// Number of the task in the call, from 1.
    pub number: usize,
    /// True if the call has already returned.
    pub is_background: bool,
}

/// The parameters of a task's start.
pub(super) struct TaskStart {
    pub task: String,
    /// The delegating call.
    pub call: Option<DelegatingCall>,
    /// The worktree that the agent works in.
    pub worktree: Option<OwnedWorktree>,
    /// False for an agent that continues an earlier conversation.
    pub is_new: bool,
    /// Number of the lane, in a race.
    pub lane: Option<usize>,
}

/// The end of a lane of a race.
pub(super) struct EndedLane {
    /// The lane's conversation, to be added as a branch of the delegating session.
    pub graft: Graft,
    pub result: LaneResult,
}

/// An agent's work on a task. Dropping it stops the agent and records the end.
pub(super) struct TaskRun {
    agent: Agent,
    id: SessionId,
    guard: EndGuard,
}

impl TaskRun {
    /// Records the start in the delegating session's log.
    pub(super) async fn start(above: WeakSession, agent: Agent, start: TaskStart) -> Result<Self, String> {
        let TaskStart { task, call, worktree, is_new, lane } = start;
        let session = agent.session().clone();
        let id = session.reader().id().clone();
        if is_new {
            // The name is a convenience; the task doesn't depend on it.
            let _ = session.rename(format!("agent {}", agent.name())).await;
        }
        let logged = logged_task(&task);
        let subject: String =
            task.lines().next().unwrap_or_default().chars().take(MAX_COMMIT_SUBJECT).collect();
        let start = DelegatedTask {
            path: session.reader().path().map(ToOwned::to_owned),
            number: call.as_ref().map(|call| call.number),
            background: call.as_ref().is_some_and(|call| call.is_background),
            tool_call_id: call.map(|call| call.id),
            worktree: worktree.as_ref().and_then(OwnedWorktree::describe),
            lane,
            ..DelegatedTask::new(id.clone(), agent.name(), logged)
        };
        let before = models_of(&session).await;
        let message = format!("{}: {subject}", agent.name());
        let (used, lane, changes) = (None, None, None);
        let work = OpenWork { session: session.clone(), worktree, message, before, used, lane, changes };
        let guard = EndGuard { above: above.clone(), work: Some(work), id: id.clone() };
        let started = |reply| {
            DriverCommand::Delegation(DelegationCommand::Started { start: Box::new(start), session, reply })
        };
        above.send(started).await.map_err(|error| error.to_string())?;
        Ok(Self { agent, id, guard })
    }

    /// Returns the id of the agent's session.
    pub(super) fn id(&self) -> &SessionId {
        &self.id
    }

    /// Runs the agent on a prompt. Calls `show` with the agent's activity after each answer, each second and at the
    /// end.
    pub(super) async fn work(
        &self,
        prompt: String,
        show: impl Fn(&AgentActivity, UnixMs, UnixMs) + Send + Sync,
    ) -> Result<AgentAnswer, AgentFailure> {
        let (mut events, mut activity) = (self.agent.events(), AgentActivity::default());
        let since: UnixMs = SystemTime::now().into();
        let mut ticks = tokio::time::interval(PROGRESS_INTERVAL);
        let mut answer = std::pin::pin!(self.agent.chat(prompt));
        let outcome = loop {
            tokio::select! {
                outcome = &mut answer => break outcome,
                event = events.next() => match event {
                    Some(Ok(event)) => {
                        activity.update(&event.kind);
                        if matches!(event.kind, EventKind::MessageEnd { .. }) {
                            show(&activity, since, SystemTime::now().into());
                        }
                    }
                    // The activity counts on without the missed events; the log has them.
                    Some(Err(_)) => {
                        let snapshot = self.agent.session().snapshot().await;
                        let approvals = snapshot.map(|snapshot| snapshot.in_progress.approvals.len());
                        activity.approvals = approvals.unwrap_or_default();
                    }
                    None => break (&mut answer).await,
                },
                _ = ticks.tick() => show(&activity, since, SystemTime::now().into()),
            }
        };
        while let Some(event) = events.try_next() {
            event.iter().for_each(|event| activity.update(&event.kind));
        }
        show(&activity, since, SystemTime::now().into());
        outcome
    }

    /// Returns notices about the background jobs that the end of the task stops, for the delegating model.
    pub(super) async fn notices_of_jobs(&self) -> Vec<String> {
        let jobs = self.agent.session().background_jobs().await.unwrap_or_default();
        let running = jobs.iter().filter(|job| job.status.is_running());
        let notice = |job: &CommandJob| {
            format!(
                "its background job {} was stopped when the task ended: {}",
                job.job_id,
                job.short_command()
            )
        };
        running.map(notice).collect()
    }

    /// Closes the agent's session, and commits the changes in its worktree.
    pub(super) async fn commit(&mut self) -> Result<Option<WorktreeChanges>, String> {
        match &mut self.guard.work {
            Some(work) => work.close().await,
            None => Ok(None),
        }
    }

    /// Records the end of the task, with the reason if there is no answer, and removes the agent's worktree.
    /// Returns the changes in it. The task ends even if the future is dropped.
    pub(super) async fn end(mut self, error: Option<String>) -> Result<Option<WorktreeChanges>, String> {
        let Some(ending) = self.guard.end(error) else { return Ok(None) };
        ending.await.unwrap_or_else(|panic| Err(panic.to_string()))
    }

    /// Ends the task like [`Self::end`], with the result of a lane.
    pub(super) async fn end_lane(mut self, error: Option<String>, lane: EndedLane) -> Result<(), String> {
        if let Some(work) = &mut self.guard.work {
            work.lane = Some(lane);
        }
        self.end(error).await.map(drop)
    }
}

/// The parts of a task that are released at its end.
struct OpenWork {
    session: AgentSession,
    worktree: Option<OwnedWorktree>,
    /// The commit message.
    message: String,
    /// The session's usage before the task.
    before: Vec<ModelUsage>,
    /// The usage at the end of the task, set before the session is closed.
    used: Option<Vec<ModelUsage>>,
    lane: Option<EndedLane>,
    /// The committed changes. Later changes, for instance by the check of a race, aren't the agent's work.
    changes: Option<WorktreeChanges>,
}

impl OpenWork {
    /// Closes the agent's session and commits the changes in the worktree, each once.
    async fn close(&mut self) -> Result<Option<WorktreeChanges>, String> {
        if self.used.is_none() {
            self.used = Some(models_of(&self.session).await);
        }
        // Nothing may change the files during the commit, not even a background job. The session may be
        // closed already.
        let _ = self.session.close().await;
        if let (Some(worktree), None) = (&self.worktree, &self.changes) {
            let changes = worktree.commit(&self.message).await;
            self.changes = Some(changes?);
        }
        Ok(self.changes.clone())
    }

    /// Ends the task. The end is recorded last, so that everything is released once the task is no longer
    /// listed.
    async fn end(
        mut self,
        above: &WeakSession,
        mut end: DelegatedTaskEnd,
    ) -> Result<Option<WorktreeChanges>, String> {
        let branch = self.worktree.as_ref().and_then(OwnedWorktree::describe).map(|worktree| worktree.branch);
        let changes = self.remove_worktree().await;
        end.branch = match &changes {
            Ok(changes) => changes.as_ref().and_then(|changes| changes.branch.clone()),
            // The worktree is kept.
            Err(_) => branch,
        };
        let usage = usage_since(&self.before, self.used.take().unwrap_or_default());
        let (graft, result) = self.lane.take().map(|lane| (lane.graft, lane.result)).unzip();
        end.lane = result;
        let is_grafted = graft.is_some();
        let task = EndedTask { end, usage, graft };
        let ended = |reply| DriverCommand::Delegation(DelegationCommand::Ended { task, reply });
        match above.send(ended).await {
            Err(error) if is_grafted => Err(error.to_string()),
            // The delegating session may already be closed.
            Ok(()) | Err(_) => changes,
        }
    }

    /// Closes the session and removes the worktree. A worktree whose changes can't be committed stays.
    async fn remove_worktree(&mut self) -> Result<Option<WorktreeChanges>, String> {
        let changes = self.close().await;
        match (&changes, self.worktree.take()) {
            (Ok(_), Some(worktree)) => worktree.remove().await?,
            (Err(_), Some(worktree)) => worktree.keep(),
            (_, None) => {}
        }
        changes
    }
}

struct EndGuard {
    above: WeakSession,
    work: Option<OpenWork>,
    id: SessionId,
}

impl EndGuard {
    /// Stops the agent and ends the task, once. Runs as a separate tokio task, because the caller that waits
    /// for the end may be cancelled.
    fn end(&mut self, error: Option<String>) -> Option<JoinHandle<Result<Option<WorktreeChanges>, String>>> {
        let runtime = Handle::try_current().ok()?;
        let work = self.work.take()?;
        let above = self.above.clone();
        let end = DelegatedTaskEnd::new(self.id.clone(), error);
        Some(runtime.spawn(async move {
            // The session may already be closed.
            let _ = work.session.end_task().await;
            let _ = work.session.settled().await;
            // The usage of the agent's own agents is part of its usage.
            let _ = work.session.stop_agents().await;
            let changes = work.end(&above, end).await;
            if let Err(error) = &changes {
                tracing::warn!(%error, "an agent's worktree remains");
            }
            changes
        }))
    }
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.end(Some(AgentFailure::Stopped.to_string()));
    }
}

async fn models_of(session: &AgentSession) -> Vec<ModelUsage> {
    session.stats().await.map(|stats| stats.session.models).unwrap_or_default()
}
