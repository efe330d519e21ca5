//! Runs a delegated task: finds and starts the agent, shows its progress and reports the answer.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tiller_core::delegated_task::{BackgroundCall, BackgroundTask, short_tasks};
use tiller_core::unit::UnixMs;
use tiller_tools::tool::{Tool, ToolSource, Tools};
use tokio::sync::Semaphore;

use super::activity::AgentActivity;
use super::answer::AgentAnswer;
use super::child::{Child, ConversationStart};
use super::delegation_limits::DelegationLimits;
use super::isolation::Isolation;
use super::link::{ChildDelegation, SessionLink};
use super::log_entries::BackgroundNote;
use super::owned_worktree::OwnedWorktree;
use super::parent::ParentSession;
use super::registry::{AgentRegistry, AgentSummary};
use super::report::{NoAnswer, TaskReport};
use super::spec::AgentSpec;
use super::task_record::{TaskRecord, find_task};
use super::task_run::{DelegatingCall, TaskRun, TaskStart, logged_task};
use super::task_states::TaskProgress;
use crate::handle::{DelegationCommand, DriverCommand, WeakSession};

/// The delegation of a session.
#[derive(Clone)]
pub(super) struct Delegator {
    registry: AgentRegistry,
    pub limits: DelegationLimits,
    /// The session's depth: 0 for the user's session.
    depth: usize,
    /// One permit for each agent that may still start.
    slots: Arc<Semaphore>,
    /// The agent that owns the session; `None` for the user's session.
    agent: Option<String>,
    pub link: SessionLink,
    make_tools: fn(&Self) -> Vec<Arc<dyn Tool>>,
}

/// A task to delegate.
#[derive(Clone, Debug)]
pub(super) struct DelegationRequest {
    pub agent: String,
    pub task: String,
    /// Id of an earlier agent, to continue its conversation.
    pub resume: Option<String>,
    pub isolation: Isolation,
    /// The call that delegates.
    pub call: Option<DelegatingCall>,
}

impl DelegationRequest {
    /// Returns the record of the task while it waits to start.
    fn background_task(&self) -> BackgroundTask {
        let number = self.call.as_ref().map_or(1, |call| call.number);
        BackgroundTask { number, name: self.agent.clone(), task: logged_task(&self.task) }
    }
}

/// Rejects a task without text.
pub(super) fn check_task(task: &str) -> Result<(), String> {
    if task.trim().is_empty() { Err("`task` is empty".to_owned()) } else { Ok(()) }
}

impl Delegator {
    pub(super) fn new(
        registry: AgentRegistry,
        limits: DelegationLimits,
        make_tools: fn(&Self) -> Vec<Arc<dyn Tool>>,
    ) -> Self {
        Self::at_depth(registry, limits, make_tools, (0, None))
    }

    /// Creates the delegator of a session at a depth; `agent` owns the session.
    fn at_depth(
        registry: AgentRegistry,
        limits: DelegationLimits,
        make_tools: fn(&Self) -> Vec<Arc<dyn Tool>>,
        (depth, agent): (usize, Option<String>),
    ) -> Self {
        let slots = Arc::new(Semaphore::new(limits.parallel.max(1)));
        let for_children = registry.clone();
        let link = SessionLink::new(move |agent| {
            let child = (depth + 1, Some(agent.to_owned()));
            Self::at_depth(for_children.clone(), limits, make_tools, child).into_child_delegation()
        });
        Self { registry, limits, depth, slots, agent, link, make_tools }
    }

    /// Returns the delegator for an agent's session at a depth.
    pub(super) fn of_agent(self, agent: &str, depth: usize) -> Self {
        Self::at_depth(self.registry, self.limits, self.make_tools, (depth, Some(agent.to_owned())))
    }

    /// Returns the tools and the link for the session.
    fn into_child_delegation(self) -> ChildDelegation {
        let tools = (self.make_tools)(&self);
        let all_names = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let tools = tools
            .into_iter()
            .fold(Tools::default(), |tools, tool| tools.with_from(tool, ToolSource::BuiltIn));
        ChildDelegation { tools, all_names, link: self.link }
    }

    fn session(&self) -> Result<&WeakSession, String> {
        self.link.session().ok_or_else(|| "this session can't delegate".to_owned())
    }

    async fn parent(&self) -> Result<ParentSession, String> {
        self.session()?.parent().await.map_err(|error| error.to_string())
    }

    /// Lists the agents that tasks can be delegated to, except the session's own agent.
    pub(super) async fn agents(&self) -> Result<(Vec<AgentSummary>, Vec<TaskRecord>), String> {
        let parent = self.parent().await?;
        Ok((self.available(&parent), parent.tasks))
    }

    /// Lists the background tasks that are waiting to start.
    pub(super) async fn waiting(&self) -> Result<Vec<BackgroundTask>, String> {
        let waiting = |reply| DriverCommand::Delegation(DelegationCommand::Waiting { reply });
        self.session()?.send(waiting).await.map_err(|error| error.to_string())
    }

    fn available(&self, parent: &ParentSession) -> Vec<AgentSummary> {
        let mut agents = self.registry.list_with(parent.resources.agents());
        agents.retain(|agent| self.agent.as_ref() != Some(&agent.name));
        agents
    }

    fn find(&self, name: &str, parent: &ParentSession) -> Result<AgentSpec, String> {
        if self.agent.as_deref() == Some(name) {
            return Err(format!("{name} can't delegate to itself; do the task, or choose another agent"));
        }
        self.registry.find(name, parent.resources.agents()).ok_or_else(|| format!("no agent named {name}"))
    }

    fn available_names(&self, parent: &ParentSession) -> String {
        let names: Vec<String> = self.available(parent).into_iter().map(|agent| agent.name).collect();
        format!("available: {}", names.join(", "))
    }

    fn check_depth(&self) -> Result<(), String> {
        match self.limits.depth {
            depth if self.depth >= depth => {
                Err(format!("maximum delegation depth ({depth}) reached; do the task yourself"))
            }
            _ => Ok(()),
        }
    }

    /// Returns true for an agent whose answer isn't awaited.
    pub(super) async fn runs_in_background(&self, agent: &str) -> bool {
        let parent = self.parent().await.ok();
        parent.and_then(|parent| self.find(agent, &parent).ok()).is_some_and(|spec| spec.background)
    }

    /// Returns the specifications of these agents, if tasks can be delegated to all of them; the error names every
    /// task that can't.
    pub(super) async fn find_all(&self, agents: &[&str]) -> Result<Vec<AgentSpec>, String> {
        self.check_depth()?;
        let parent = self.parent().await?;
        let (mut specs, mut refusals) = (Vec::new(), Vec::new());
        for (at, agent) in agents.iter().enumerate() {
            match self.find(agent, &parent) {
                Ok(spec) => specs.push(spec),
                Err(reason) => refusals.push(format!("task {}: {reason}", at + 1)),
            }
        }
        if refusals.is_empty() {
            return Ok(specs);
        }
        Err(format!("no task was started\n{}\n{}", refusals.join("\n"), self.available_names(&parent)))
    }

    /// Runs a task to its end, or until `stop` resolves. Dropping the future stops the agent. Shows the
    /// agent's status line each second and at the end.
    pub(super) async fn run(
        &self,
        task: DelegationRequest,
        stop: impl Future<Output = ()> + Send,
        show: impl Fn(TaskProgress) + Send + Sync,
    ) -> TaskReport {
        let mut stop = std::pin::pin!(stop);
        let call = task.call.clone();
        // One semaphore for all calls of the session. It is never closed.
        let slot = tokio::select! {
            biased;
            () = &mut stop => None,
            slot = self.slots.acquire() => Some(slot),
        };
        let start = std::time::Instant::now();
        let mut report = TaskReport {
            agent: task.agent.clone(),
            id: None,
            outcome: Err(NoAnswer::Failed("not started, because another task failed".to_owned())),
            activity: AgentActivity::default(),
            notices: Vec::new(),
            changes: None,
            elapsed: Duration::ZERO,
        };
        if slot.is_some() {
            report.outcome = self.try_run(task, stop, show, &mut report).await;
        }
        report.elapsed = start.elapsed();
        if let (Some(call), None) = (call, &report.id) {
            self.end_waiting(call).await;
        }
        report
    }

    /// Removes a task that couldn't start from the list of waiting tasks.
    async fn end_waiting(&self, DelegatingCall { id: call, number, .. }: DelegatingCall) {
        let Ok(session) = self.session() else { return };
        let ended =
            |reply| DriverCommand::Delegation(DelegationCommand::CouldNotStart { call, number, reply });
        // The session may already be closed.
        let _ = session.send(ended).await;
    }

    async fn try_run(
        &self,
        task: DelegationRequest,
        stop: Pin<&mut (impl Future<Output = ()> + Send)>,
        show: impl Fn(TaskProgress) + Send + Sync,
        report: &mut TaskReport,
    ) -> Result<AgentAnswer, NoAnswer> {
        self.check_depth()?;
        let parent = self.parent().await?;
        let spec = self.find(&task.agent, &parent).map_err(|reason| match &self.agent {
            Some(own) if *own == task.agent => reason,
            _ => format!("{reason}; {}", self.available_names(&parent)),
        })?;
        let resumed = match &task.resume {
            Some(id) => Some(self.find_resumed(&parent, &task.agent, id).await?),
            None => None,
        };
        let delegation =
            self.link.child_delegation(&spec.name).ok_or_else(|| "this session can't delegate".to_owned())?;
        let isolation = match task.isolation {
            Isolation::None => spec.isolation,
            Isolation::Worktree => Isolation::Worktree,
        };
        let worktree = parent.task_worktree(&spec.name, resumed.as_ref(), isolation).await?;
        let conversation = resumed
            .and_then(|task| task.start.path)
            .map_or(ConversationStart::New, ConversationStart::Resumed);
        let started = parent.start_in(worktree, spec, delegation, conversation).await?;
        let (Child { agent, notices }, worktree) = started;
        report.notices = notices;
        let is_new = task.resume.is_none();
        let branch = worktree.as_ref().and_then(OwnedWorktree::describe).map(|worktree| worktree.branch);
        let prompt = task.task.clone();
        let start = TaskStart { task: task.task, call: task.call, worktree, is_new, lane: None };
        let run = TaskRun::start(self.session()?.clone(), agent, start).await?;
        report.id = Some(run.id().clone());
        show(TaskProgress::Started { id: run.id().clone(), branch });
        let latest = Mutex::new(AgentActivity::default());
        let show = |activity: &AgentActivity, since: UnixMs, now: UnixMs| {
            latest.lock().unwrap_or_else(PoisonError::into_inner).clone_from(activity);
            let (activity, elapsed) = (activity.clone(), Duration::from_millis(now.since_ms(since)));
            show(TaskProgress::Working { activity, elapsed });
        };
        let outcome = tokio::select! {
            biased;
            () = stop => Err(NoAnswer::Failed("stopped because another task failed".to_owned())),
            outcome = run.work(prompt, show) => outcome.map_err(NoAnswer::from),
        };
        report.activity = latest.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.notices.extend(run.notices_of_jobs().await);
        match run.end(outcome.as_ref().err().map(ToString::to_string)).await {
            Ok(changes) => report.changes = changes,
            Err(error) => report.notices.push(error),
        }
        outcome
    }

    /// Finds the task of an agent of the session that has ended, by a part of the agent's id.
    async fn find_resumed(
        &self,
        parent: &ParentSession,
        agent: &str,
        id: &str,
    ) -> Result<TaskRecord, String> {
        let task = find_task(&parent.tasks, agent, id, parent.reader.agents_dir().as_deref())?;
        let list = |reply| DriverCommand::Delegation(DelegationCommand::List { reply });
        let running = self.session()?.send(list).await.map_err(|error| error.to_string())?;
        match running.iter().any(|agent| agent.start.agent_id == task.start.agent_id) {
            true => Err(format!("{} is still working on its task; wait for its answer", task.start.name)),
            false => Ok(task),
        }
    }

    /// Runs a task in the background and reports the answer to the model later; returns the result of the call.
    pub(super) async fn run_task_in_background(&self, task: DelegationRequest) -> Result<String, String> {
        let (delegator, name, tasks) = (self.clone(), task.agent.clone(), [task.clone()]);
        let work = async move { delegator.run(task, std::future::pending(), |_| {}).await.text() };
        self.run_in_background("A background task has ended", &tasks, work).await?;
        let parallel = self.limits.parallel;
        Ok(format!(
            "{name} runs in the background, at most {parallel} agents at a time; you are notified when it finishes."
        ))
    }

    /// Runs work on these tasks in the background and reports the outcome to the model, even after a panic or a
    /// crash.
    pub(super) async fn run_in_background(
        &self,
        heading: &'static str,
        requests: &[DelegationRequest],
        work: impl Future<Output = String> + Send + 'static,
    ) -> Result<(), String> {
        let session_id = self.parent().await?.reader.id().clone();
        let tool_call = requests.first().and_then(|request| Some(request.call.as_ref()?.id.clone()));
        let tasks: Vec<BackgroundTask> = requests.iter().map(DelegationRequest::background_task).collect();
        let subjects = short_tasks(&tasks);
        let call = tool_call.map(|tool_call_id| BackgroundCall { session_id, tool_call_id, tasks });
        let recorded = call.clone();
        let started =
            |reply| DriverCommand::Delegation(DelegationCommand::BackgroundStarted { call: recorded, reply });
        self.session()?.send(started).await.map_err(|error| error.to_string())?;
        let delegator = self.clone();
        tokio::spawn(async move {
            let text = tokio::spawn(work).await.unwrap_or_else(|error| format!("crashed: {error}"));
            let text = format!("{heading}: {subjects}\n\n{text}");
            delegator.notify_model(BackgroundNote { text, call }).await;
        });
        Ok(())
    }

    /// Tells the model that background tasks have ended.
    async fn notify_model(&self, note: BackgroundNote) {
        let Ok(session) = self.session() else { return };
        // The session may already be closed.
        let _ =
            session.send(|reply| DriverCommand::Delegation(DelegationCommand::Notify { note, reply })).await;
    }
}
