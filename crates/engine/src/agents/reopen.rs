//! Opens an agent session whose task has ended.

use std::path::PathBuf;

use tiller_core::delegated_task::DelegatedTask;
use tiller_core::event::EventKind;
use tiller_core::id::SessionId;
use tiller_session::{ModelUsage, Reader};
use tiller_tools::policy::ApprovalMode;

use super::answer::AgentFailure;
use super::child::{Child, ConversationStart};
use super::link::{ChildDelegation, SessionLink};
use super::log_entries::usage_since;
use super::parent::ParentSession;
use super::registry::AgentRegistry;
use super::spec::AgentSpec;
use super::without_delegation::without_delegation;
use crate::embed::EmbedError;
use crate::handle::{AgentError, AgentSession, DelegationCommand, DriverCommand, EventStream, WeakSession};

/// The session of an agent that this session has delegated a task to.
pub struct OpenedAgent {
    /// The agent's session.
    pub session: AgentSession,
    /// Differences from the session that the agent had during the task, for instance that it is read-only now.
    pub notices: Vec<String>,
}

impl AgentSession {
    /// Opens the session of an agent that this session has delegated a task to. While the agent is running,
    /// this is [`Self::running_agent`]; afterwards the session is opened from its log. It keeps the agent's
    /// tools, limits, approval mode, model and worktree; if the worktree is gone, it is read-only. Its usage
    /// counts towards this session's totals. An agent that isn't defined in a file gets this session's
    /// instructions; for agents registered by a program, use [`AgentRegistry::open_agent`].
    ///
    /// # Errors
    /// If there is no such agent, or its log can't be opened.
    pub async fn open_agent(&self, id: SessionId) -> Result<OpenedAgent, AgentError> {
        AgentRegistry::default().open_agent(self, id).await
    }
}

impl AgentRegistry {
    /// Opens an agent's session like [`AgentSession::open_agent`], for a session that also delegates to the
    /// agents of this registry.
    ///
    /// # Errors
    /// If there is no such agent, or its log can't be opened.
    pub async fn open_agent(&self, above: &AgentSession, id: SessionId) -> Result<OpenedAgent, AgentError> {
        match above.running_agent(id.clone()).await {
            Err(AgentError::NotFound(_)) => {}
            session => return Ok(OpenedAgent { session: session?, notices: Vec::new() }),
        }
        let task = above.agent_tasks().await?.into_iter().find(|task| task.start.agent_id == id);
        let task = task.ok_or(AgentError::NotFound("agent with that id"))?;
        let DelegatedTask { name, path, lane, .. } = task.start.clone();
        let path = path.ok_or(AgentError::NotFound("log of that agent: it was in memory"))?;
        let above = above.downgrade();
        above.send(|reply| DriverCommand::Delegation(DelegationCommand::EndInterrupted { reply })).await?;
        let parent = above.parent().await?;
        let spec = self.find(&name, parent.resources.agents());
        let mut spec = spec.unwrap_or_else(|| AgentSpec::new(name, "", ""));
        let mut without_worktree = None;
        let worktree = match &task.start.worktree {
            None => None,
            Some(_) => match parent.reopen_worktree(&task).await {
                Ok(worktree) => Some(worktree),
                Err(error) => {
                    // In the working directory, the agent would change files that its conversation isn't
                    // about.
                    spec.approval = Some(ApprovalMode::ReadOnly);
                    without_worktree = Some(format!("{error}; without its worktree, the agent is read-only"));
                    None
                }
            },
        };
        let parent = match &worktree {
            Some(worktree) => parent.at(worktree.root()),
            None => parent,
        };
        // A lane of a race can't delegate.
        let link = parent.link.as_ref().and_then(|link| link.downcast_ref::<SessionLink>());
        let link = link.filter(|_| lane.is_none());
        let delegation = link.and_then(|link| link.child_delegation(&spec.name));
        let delegation = delegation.unwrap_or_else(without_delegation);
        let Child { agent, mut notices } = open(parent, spec, delegation, path)?;
        notices.extend(without_worktree);
        let session = agent.session().clone();
        let recorded = record_usage(above, session.reader(), session.subscribe());
        tokio::spawn(async move {
            recorded.await;
            // Dropping the worktree commits the changes and removes it.
            drop(worktree);
        });
        Ok(OpenedAgent { session, notices })
    }
}

fn open(
    parent: ParentSession,
    spec: AgentSpec,
    delegation: ChildDelegation,
    log: PathBuf,
) -> Result<Child, AgentError> {
    parent.start(spec, delegation, ConversationStart::Reopened(log)).map_err(|failure| match failure {
        AgentFailure::Start(EmbedError::Session(error)) => AgentError::Session(error),
        failure => AgentError::Store(failure.to_string()),
    })
}

/// Adds the agent's usage to the totals of the session above each time the agent settles, until it is closed.
async fn record_usage(above: WeakSession, reader: Reader, mut events: EventStream) {
    let mut before = models_in(&reader).await;
    let mut is_open = true;
    while is_open {
        match events.next().await {
            Some(Ok(event)) if !matches!(event.kind, EventKind::AgentSettled) => continue,
            Some(_) => {}
            None => is_open = false,
        }
        let now = models_in(&reader).await;
        let usage = usage_since(&before, now.clone());
        before = now;
        if usage.iter().all(|used| used.usage.total().0 == 0) {
            continue;
        }
        let used = |reply| DriverCommand::Delegation(DelegationCommand::Used { usage, reply });
        if let Err(error) = above.send(used).await {
            tracing::warn!(%error, "the usage of an agent isn't recorded");
        }
    }
}

async fn models_in(reader: &Reader) -> Vec<ModelUsage> {
    let reader = reader.clone();
    let totals = tokio::task::spawn_blocking(move || reader.totals()).await;
    totals.ok().and_then(Result::ok).map(|totals| totals.models).unwrap_or_default()
}
