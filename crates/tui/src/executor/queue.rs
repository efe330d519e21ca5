//! Performs queue actions with the agent.

use tiller_core::id::QueueId;
use tiller_engine::queue::QueueEdit;
use tiller_engine::{AgentError, AgentSession};

use crate::executor::errors::failure;
use crate::message::TaskResult;
use crate::queue::{AfterQueueEdit, QueueAction, QueueOutcome, RemovedMessage};

/// Performs an action. A missing message isn't an error: it has just been delivered.
///
/// # Errors
/// If the change can't be saved.
pub(crate) async fn perform(
    agent: &AgentSession,
    action: QueueAction,
) -> Result<Vec<TaskResult>, AgentError> {
    let text = match &action {
        QueueAction::Edit(_, text, _) => Some(text.clone()),
        // The next queue update shows that the message is gone.
        QueueAction::Hold(_) => return run(agent, action).await.or_else(ignore_not_found),
        _ => None,
    };
    match run(agent, action).await {
        Err(AgentError::NotFound(_)) => Ok(vec![QueueOutcome::Gone(text).into()]),
        done => done,
    }
}

async fn run(agent: &AgentSession, action: QueueAction) -> Result<Vec<TaskResult>, AgentError> {
    match action {
        QueueAction::Hold(id) => agent.hold_queued(id).await.map(|()| Vec::new()),
        QueueAction::Edit(id, text, then) => {
            let text = Some(agent.expand(text).await?);
            let edited = edit(agent, id.clone(), QueueEdit { text, ..QueueEdit::default() }).await?;
            if then == AfterQueueEdit::Release {
                release(agent, id).await.or_else(ignore_not_found)?;
            }
            Ok(edited)
        }
        QueueAction::Move(id, place) => {
            edit(agent, id, QueueEdit { place: Some(place), ..QueueEdit::default() }).await
        }
        QueueAction::SetKind(id, kind) => {
            edit(agent, id, QueueEdit { kind: Some(kind), ..QueueEdit::default() }).await
        }
        QueueAction::Release(id) => release(agent, id).await,
        QueueAction::Remove(id, place) => {
            let item = agent.remove_queued(id).await?;
            Ok(vec![QueueOutcome::Removed(vec![RemovedMessage { item, place }]).into()])
        }
        QueueAction::Clear => {
            let items = agent.clear_queue(None).await?;
            let removed = items.into_iter().enumerate().map(|(place, item)| RemovedMessage { item, place });
            Ok(vec![QueueOutcome::Removed(removed.collect()).into()])
        }
        QueueAction::Restore(removed) => Ok(restore(agent, removed).await),
    }
}

async fn release(agent: &AgentSession, id: QueueId) -> Result<Vec<TaskResult>, AgentError> {
    agent.release_queued(id).await.map(|()| Vec::new())
}

fn ignore_not_found(error: AgentError) -> Result<Vec<TaskResult>, AgentError> {
    match error {
        AgentError::NotFound(_) => Ok(Vec::new()),
        error => Err(error),
    }
}

/// Restores messages. If that fails, they become drafts, because they exist nowhere else.
async fn restore(agent: &AgentSession, removed: Vec<RemovedMessage>) -> Vec<TaskResult> {
    let mut removed = removed.into_iter();
    while let Some(RemovedMessage { item, place }) = removed.next() {
        if let Err(error) = agent.put_back(item.clone(), place).await {
            let rest = std::iter::once(item).chain(removed.map(|removed| removed.item));
            return vec![TaskResult::ReturnedMessages(rest.collect()), failure(&error, None)];
        }
    }
    Vec::new()
}

async fn edit(agent: &AgentSession, id: QueueId, edit: QueueEdit) -> Result<Vec<TaskResult>, AgentError> {
    agent.edit_queued(id, edit).await.map(|_| Vec::new())
}

impl From<QueueOutcome> for TaskResult {
    fn from(outcome: QueueOutcome) -> Self {
        Self::QueueOutcome(outcome)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tiller_core::event::{QueueItem, QueueKind};
    use tiller_engine::SessionBuilder;
    use tiller_provider::scripted::ScriptedProvider;
    use tiller_provider::{Provider, ProviderRegistry};

    use super::*;

    #[tokio::test]
    async fn restore_failed_messages_become_drafts() {
        let script = ScriptedProvider::new(Vec::new());
        let (facts, mut providers) = (vec![script.facts()], ProviderRegistry::default());
        providers.add(Arc::new(script) as Arc<dyn Provider>, facts);
        let dir = tempfile::tempdir().unwrap();
        let agent = SessionBuilder::new(providers).start(dir.path()).unwrap();
        agent.close().await.unwrap();
        let removed = ["one", "two"].map(|text| RemovedMessage {
            item: QueueItem {
                id: text.into(),
                kind: QueueKind::Steer,
                text: text.into(),
                typed: None,
                images: [].into(),
                held: false,
            },
            place: 0,
        });
        let reports = perform(&agent, QueueAction::Restore(removed.to_vec())).await.unwrap();
        let [TaskResult::ReturnedMessages(items), TaskResult::Failed { .. }] = &reports[..] else {
            panic!("{reports:?}")
        };
        assert_eq!(items.iter().map(|item| &*item.text).collect::<Vec<_>>(), ["one", "two"]);
    }
}
