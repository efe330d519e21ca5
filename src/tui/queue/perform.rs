//! Telling the agent what is to be done with messages that wait.

use super::super::app::Report;
use super::{Order, Outcome, Removed};
use crate::agent::queue::QueueEdit;
use crate::agent::{AgentError, AgentSession};
use crate::id::QueueId;

/// Carries out an order. That a message is gone is no error: it was delivered at that moment.
///
/// # Errors
/// When the change could not be kept.
pub(in crate::tui) async fn perform(agent: &AgentSession, order: Order) -> Result<Vec<Report>, AgentError> {
    let words = match &order {
        Order::Edit(_, words) => Some(words.clone()),
        _ => None,
    };
    match carry_out(agent, order).await {
        Err(AgentError::Gone(_)) => Ok(vec![Outcome::Gone(words).into()]),
        done => done,
    }
}

async fn carry_out(agent: &AgentSession, order: Order) -> Result<Vec<Report>, AgentError> {
    match order {
        Order::Edit(id, words) => {
            let text = Some(agent.expand(words).await?);
            edit(agent, id, QueueEdit { text, ..QueueEdit::default() }).await
        }
        Order::Place(id, place) => {
            edit(agent, id, QueueEdit { place: Some(place), ..QueueEdit::default() }).await
        }
        Order::Turn(id, kind) => {
            edit(agent, id, QueueEdit { kind: Some(kind), ..QueueEdit::default() }).await
        }
        Order::Release(id) => agent.release_queued(id).await.map(|()| Vec::new()),
        Order::Remove(id, place) => {
            let item = agent.remove_queued(id).await?;
            Ok(vec![Outcome::Removed(vec![Removed { item, place }]).into()])
        }
        Order::Clear => {
            let items = agent.clear_queue(None).await?;
            let removed = items.into_iter().enumerate().map(|(place, item)| Removed { item, place });
            Ok(vec![Outcome::Removed(removed.collect()).into()])
        }
        Order::PutBack(removed) => {
            for Removed { item, place } in removed {
                agent.put_back(item, place).await?;
            }
            Ok(Vec::new())
        }
    }
}

async fn edit(agent: &AgentSession, id: QueueId, edit: QueueEdit) -> Result<Vec<Report>, AgentError> {
    agent.edit_queued(id, edit).await.map(|_| Vec::new())
}
