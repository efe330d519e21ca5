//! The queue of waiting messages.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use tiller_core::event::QueueItem;
use tiller_core::id::QueueId;
use tiller_engine::AgentError;
use tiller_engine::queue::QueueEdit;
use tiller_engine::views::QueueView;

use super::{HandlerResult, json};
use crate::open_session::OpenSession;
use crate::params::{JsonBody, OpenSessionParam, QueryParams};
use crate::problem::{CHANGED, CONFLICT, INVALID, NO_CONDITION, Problem, internal};
use crate::requests::{ClearQuery, QueueBody, QueuedBody};

async fn items(session: &OpenSession) -> Result<Vec<QueueItem>, Problem> {
    Ok(session.agent.snapshot().await?.in_progress.queue)
}

/// Returns the version of a queue: another one after each change of a message, its state or the order.
fn version(items: &[QueueItem]) -> Result<HeaderValue, Problem> {
    let mut hasher = DefaultHasher::new();
    serde_json::to_vec(&QueueView::from(items)).map_err(|error| internal(&error))?.hash(&mut hasher);
    HeaderValue::try_from(format!("\"{:016x}\"", hasher.finish())).map_err(|error| internal(&error))
}

async fn current(session: &OpenSession) -> Result<Response, Problem> {
    let items = items(session).await?;
    let mut response = json(&QueueView::from(&*items))?;
    response.headers_mut().insert(header::ETAG, version(&items)?);
    Ok(response)
}

pub(crate) async fn show(OpenSessionParam(session): OpenSessionParam) -> HandlerResult {
    current(&session).await
}

/// Removes, changes, reorders and releases messages of the queue that the client has read. Messages that were delivered
/// since then stay delivered; messages that were added since then stay queued.
pub(crate) async fn replace(
    OpenSessionParam(session): OpenSessionParam,
    headers: HeaderMap,
    JsonBody(QueueBody { items: wanted }): JsonBody<QueueBody>,
) -> HandlerResult {
    let _turn = session.queue_turn.lock().await;
    let before = items(&session).await?;
    check_version(&headers, &version(&before)?)?;
    check(&before, &wanted)?;
    let agent = &session.agent;
    for item in before.iter().filter(|item| !wanted.iter().any(|wanted| wanted.id == item.id.as_str())) {
        if_queued(agent.remove_queued(item.id.clone()).await)?;
    }
    for (place, QueuedBody { id, kind, text, .. }) in wanted.iter().enumerate() {
        let kind = kind.map(Into::into);
        let edit = QueueEdit { text: text.clone(), images: None, kind, place: Some(place) };
        if_queued(agent.edit_queued(QueueId::new(id), edit).await)?;
    }
    for wanted in wanted.iter().filter(|wanted| wanted.held == Some(false)) {
        if_queued(agent.release_queued(QueueId::new(&wanted.id)).await)?;
    }
    current(&session).await
}

/// Checks that the client has read this version of the queue, or wants to change any.
fn check_version(headers: &HeaderMap, current: &HeaderValue) -> Result<(), Problem> {
    let known = headers.get(header::IF_MATCH).ok_or_else(|| {
        NO_CONDITION.detail("`If-Match` must have the `ETag` of the queue that the request changes")
    })?;
    if known == current || known == "*" { Ok(()) } else { Err(CHANGED.without_detail()) }
}

/// Checks everything before the first change.
fn check(before: &[QueueItem], wanted: &[QueuedBody]) -> Result<(), Problem> {
    for (at, QueuedBody { id, text, held, .. }) in wanted.iter().enumerate() {
        if !before.iter().any(|item| item.id.as_str() == id) {
            return Err(CONFLICT.detail("a message of `items` is no longer queued"));
        }
        if wanted[..at].iter().any(|other| other.id == *id) {
            return Err(INVALID.detail("the field `items`: a message occurs twice"));
        }
        if *held == Some(true) {
            return Err(INVALID.detail("the field `held`: messages can only be released"));
        }
        if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(INVALID.detail("the field `text`: must not be empty"));
        }
    }
    Ok(())
}

fn if_queued<T>(changed: Result<T, AgentError>) -> Result<(), AgentError> {
    match changed {
        Ok(_) | Err(AgentError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

pub(crate) async fn clear(
    OpenSessionParam(session): OpenSessionParam,
    QueryParams(ClearQuery { kind }): QueryParams<ClearQuery>,
) -> HandlerResult {
    let removed = session.agent.clear_queue(kind.map(Into::into)).await?;
    json(&QueueView::from(&*removed))
}
