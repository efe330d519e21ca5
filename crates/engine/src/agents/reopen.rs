//! Opens the session of an agent whose task has ended.

use tiller_core::delegated_task::DelegatedTask;
use tiller_core::event::EventKind;
use tiller_session::{ModelUsage, Reader};

use super::answer::AgentFailure;
use super::child::{Child, ChildDelegation, Conversation};
use super::parent::ParentSession;
use super::spec::AgentSpec;
use super::task_run::usage_since;
use crate::embed::EmbedError;
use crate::handle::{AgentError, AgentSession, DelegationCommand, DriverCommand, EventStream, WeakSession};

/// Opens the session of an agent from its log. An agent that is no longer defined gets the instructions of the session
/// that delegated.
pub(crate) async fn reopen(above: WeakSession, start: DelegatedTask) -> Result<AgentSession, AgentError> {
    let path = start.path.ok_or(AgentError::NotFound("log of that agent: it was in memory"))?;
    let parent = above.parent().await?;
    let spec = parent.find_agent(&start.name);
    let spec = spec.unwrap_or_else(|| AgentSpec::new(start.name.as_str(), "", ""));
    let Child { agent, .. } = open(parent, spec, Conversation::Resumed(path))?;
    let session = agent.session().clone();
    tokio::spawn(record_usage(above, session.reader(), session.subscribe()));
    Ok(session)
}

fn open(parent: ParentSession, spec: AgentSpec, conversation: Conversation) -> Result<Child, AgentError> {
    parent.start(spec, ChildDelegation::none(), conversation).map_err(|failure| match failure {
        AgentFailure::Start(EmbedError::Session(error)) => AgentError::Session(error),
        failure => AgentError::Store(failure.to_string()),
    })
}

/// Adds what the agent uses to the totals of the session above, each time that it has settled, until it is closed.
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
