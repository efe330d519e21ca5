//! A delegated task: its agent is found and started, works with its progress shown, and its answer is reported.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tiller_core::delegated_task::{DelegatedTask, DelegatedTaskEnd};
use tiller_core::id::{CallId, SessionId};
use tiller_core::unit::UnixMs;
use tiller_session::ModelUsage;
use tiller_tools::tool::{Tool, ToolSource, Tools};

use super::activity::AgentActivity;
use super::agent::Agent;
use super::answer::{AgentAnswer, AgentFailure};
use super::child::{Child, ChildDelegation};
use super::earlier_tasks::{EarlierTask, earlier_tasks, find_earlier};
use super::limits::DelegationLimits;
use super::link::SessionLink;
use super::parent::{EndedTask, ParentSession};
use super::registry::{AgentRegistry, AgentSummary};
use super::report::TaskReport;
use super::spec::AgentSpec;
use crate::handle::{AgentError, AgentSession, DelegationCommand, DriverCommand, WeakSession};

/// Interval at which the elapsed time of a running agent is shown.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum characters of a task in the log of the session that delegates; the agent's log has the whole.
const MAX_LOGGED_TASK: usize = 500;

/// Delegates for a session.
#[derive(Clone)]
pub(super) struct Delegator {
    registry: AgentRegistry,
    pub limits: DelegationLimits,
    /// The delegations above the session: 0 for the user's.
    depth: usize,
    /// The agent whose session this is.
    agent: Option<String>,
    pub link: SessionLink,
    make_tools: fn(&Self) -> Vec<Arc<dyn Tool>>,
}

/// A task to delegate.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub agent: String,
    pub task: String,
    /// Id of an agent that worked before, to go on with its conversation.
    pub resume: Option<String>,
}

impl Delegator {
    pub(super) fn new(
        registry: AgentRegistry,
        limits: DelegationLimits,
        make_tools: fn(&Self) -> Vec<Arc<dyn Tool>>,
    ) -> Self {
        Self { registry, limits, depth: 0, agent: None, link: SessionLink::default(), make_tools }
    }

    fn of_child(&self, agent: &str) -> Self {
        let link = SessionLink::default();
        Self { depth: self.depth + 1, agent: Some(agent.to_owned()), link, ..self.clone() }
    }

    fn session(&self) -> Result<&WeakSession, String> {
        self.link.session().ok_or_else(|| "this session can't delegate".to_owned())
    }

    async fn parent(&self) -> Result<ParentSession, String> {
        let command = |reply| DriverCommand::Delegation(DelegationCommand::Parent { reply });
        let parent: Result<Box<ParentSession>, AgentError> = self.session()?.send(command).await;
        parent.map(|parent| *parent).map_err(|error| error.to_string())
    }

    /// Lists the agents that tasks can be delegated to: not the one whose session this is.
    pub(super) async fn agents(&self) -> Result<(Vec<AgentSummary>, Vec<EarlierTask>), String> {
        let parent = self.parent().await?;
        let reader = parent.reader.clone();
        let earlier = tokio::task::spawn_blocking(move || earlier_tasks(&reader)).await.unwrap_or_default();
        Ok((self.available(&parent), earlier))
    }

    fn available(&self, parent: &ParentSession) -> Vec<AgentSummary> {
        let mut agents = self.registry.list();
        for definition in parent.resources.agents() {
            if agents.iter().all(|agent| agent.name != definition.name) {
                agents.push(AgentSummary::from(definition));
            }
        }
        agents.retain(|agent| self.agent.as_ref() != Some(&agent.name));
        agents.sort_by(|a, b| a.name.cmp(&b.name));
        agents
    }

    fn find(&self, name: &str, parent: &ParentSession) -> Result<AgentSpec, String> {
        if self.agent.as_deref() == Some(name) {
            return Err(format!("you are {name} yourself: do the task, or delegate it to another agent"));
        }
        let defined =
            || parent.resources.agents().iter().find(|agent| agent.name == name).map(AgentSpec::from);
        self.registry.create(name).or_else(defined).ok_or_else(|| {
            let names: Vec<String> = self.available(parent).into_iter().map(|agent| agent.name).collect();
            format!("there is no agent {name}; there are: {}", names.join(", "))
        })
    }

    /// Runs a task to its end. Dropping the future stops the agent. `show` gets a line whenever it changes.
    pub(super) async fn run(
        &self,
        task: Task,
        call: Option<CallId>,
        show: impl Fn(String) + Send + Sync,
    ) -> TaskReport {
        let start = std::time::Instant::now();
        let mut report = TaskReport {
            agent: task.agent.clone(),
            id: None,
            outcome: Ok(AgentAnswer::default()),
            notices: Vec::new(),
            elapsed: Duration::ZERO,
        };
        report.outcome = self.try_run(task, call, show, &mut report).await;
        report.elapsed = start.elapsed();
        report
    }

    async fn try_run(
        &self,
        task: Task,
        call: Option<CallId>,
        show: impl Fn(String) + Send + Sync,
        report: &mut TaskReport,
    ) -> Result<AgentAnswer, String> {
        if self.depth >= self.limits.depth {
            let depth = self.limits.depth;
            return Err(format!(
                "agents may delegate {depth} levels deep, and this is the last: do the task yourself"
            ));
        }
        let parent = self.parent().await?;
        let spec = self.find(&task.agent, &parent)?;
        let resumed = match &task.resume {
            Some(id) => Some(find_earlier(&parent.reader, &task.agent, id)?),
            None => None,
        };
        let child = self.of_child(&spec.name);
        let all = (self.make_tools)(&child);
        let all_names = all.iter().map(|tool| tool.spec().name.clone()).collect();
        let is_deepest = child.depth >= child.limits.depth;
        let tools = if is_deepest { Vec::new() } else { all };
        let tools = tools
            .into_iter()
            .fold(Tools::default(), |tools, tool| tools.with_from(tool, ToolSource::BuiltIn));
        let delegation = ChildDelegation { tools, all_names, link: child.link.clone() };
        let path = resumed.and_then(|start| start.path);
        let Child { agent, notices } =
            parent.start(spec, delegation, path).map_err(|error| error.to_string())?;
        report.notices = notices;
        let session = agent.session().clone();
        let id = session.reader().id().clone();
        report.id = Some(id.clone());
        if task.resume.is_none() {
            // The name is a convenience; the task doesn't depend on it.
            let _ = session.rename(format!("agent {}", agent.name())).await;
        }
        let before = models_of(&session).await;
        let start = DelegatedTask {
            agent_id: id.clone(),
            name: agent.name().to_owned(),
            task: task.task.chars().take(MAX_LOGGED_TASK).collect(),
            path: session.reader().path().map(ToOwned::to_owned),
            tool_call_id: call,
        };
        let above = self.session()?.clone();
        let started = |reply| {
            DriverCommand::Delegation(DelegationCommand::Started { start, session: session.clone(), reply })
        };
        above.send(started).await.map_err(|error| error.to_string())?;
        let mut guard = EndGuard { parent: above, session: Some(session), id, before };
        let outcome = work(&agent, &task.task, show).await.map_err(|error| error.to_string());
        guard.finish(outcome.as_ref().err().cloned()).await;
        outcome
    }

    /// Tells the model that a background task has ended.
    pub(super) async fn notify_model(&self, note: String) {
        let Ok(session) = self.session() else { return };
        // The session may be closed by now.
        let _ =
            session.send(|reply| DriverCommand::Delegation(DelegationCommand::Notify { note, reply })).await;
    }
}

/// Has an agent work, and shows its progress.
async fn work(
    agent: &Agent,
    task: &str,
    show: impl Fn(String) + Send + Sync,
) -> Result<AgentAnswer, AgentFailure> {
    let (mut events, mut activity) = (agent.events(), AgentActivity::default());
    let since: UnixMs = SystemTime::now().into();
    let mut ticks = tokio::time::interval(PROGRESS_INTERVAL);
    let mut answer = std::pin::pin!(agent.chat(task));
    loop {
        tokio::select! {
            outcome = &mut answer => return outcome,
            event = events.next() => match event {
                Some(Ok(event)) => activity.update(&event.kind),
                // It counts on; the log has the rest.
                Some(Err(_)) => {}
                None => return (&mut answer).await,
            },
            _ = ticks.tick() => show(activity.line(agent.name(), since, SystemTime::now().into())),
        }
    }
}

/// Records the end of a task with the session that delegated it, also if the task is dropped.
struct EndGuard {
    parent: WeakSession,
    session: Option<AgentSession>,
    id: SessionId,
    before: Vec<ModelUsage>,
}

impl EndGuard {
    async fn finish(&mut self, error: Option<String>) {
        if let Some(session) = self.session.take() {
            end(&self.parent, session, DelegatedTaskEnd { agent_id: self.id.clone(), error }, &self.before)
                .await;
        }
    }
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        let (Some(session), Ok(runtime)) = (self.session.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let (parent, before) = (self.parent.clone(), std::mem::take(&mut self.before));
        let ended =
            DelegatedTaskEnd { agent_id: self.id.clone(), error: Some(AgentFailure::Stopped.to_string()) };
        runtime.spawn(async move {
            // The session may be closed by now.
            let _ = session.abort().await;
            let _ = session.settled().await;
            end(&parent, session, ended, &before).await;
        });
    }
}

async fn end(parent: &WeakSession, session: AgentSession, ended: DelegatedTaskEnd, before: &[ModelUsage]) {
    let usage = models_of(&session).await.into_iter().map(|now| {
        let earlier = before.iter().find(|earlier| earlier.model == now.model);
        let usage = earlier.map_or_else(|| now.usage.clone(), |earlier| now.usage.since(&earlier.usage));
        ModelUsage { usage, ..now }
    });
    let task = EndedTask { end: ended, usage: usage.collect() };
    // The session that delegated may be closed by now.
    let _ = parent.send(|reply| DriverCommand::Delegation(DelegationCommand::Ended { task, reply })).await;
    let _ = session.close().await;
}

async fn models_of(session: &AgentSession) -> Vec<ModelUsage> {
    session.stats().await.map(|stats| stats.session.models).unwrap_or_default()
}
