//! Branches and their context: fork, navigate, label, compact.

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use tiller_core::id::EntryId;
use tiller_engine::BranchSummary;

use super::{HandlerResult, created, json};
use crate::params::{JsonBody, OpenSessionParam};
use crate::requests::{CompactBody, ForkBody, LabelBody, NavigateBody, SummaryBody};
use crate::session_view::{ForkedId, NavigatedView};

/// Creates a session without opening it.
pub(crate) async fn fork(
    OpenSessionParam(session): OpenSessionParam,
    JsonBody(body): JsonBody<ForkBody>,
) -> HandlerResult {
    let id = session.agent.create_fork(EntryId::new(body.entry_id)).await?.session.to_string();
    created(&id.clone(), &ForkedId { id })
}

pub(crate) async fn navigate(
    OpenSessionParam(session): OpenSessionParam,
    JsonBody(body): JsonBody<NavigateBody>,
) -> HandlerResult {
    let NavigateBody { entry_id, summary, instructions } = body;
    let summary = match summary {
        None | Some(SummaryBody::Generate(false)) => BranchSummary::None,
        Some(SummaryBody::Generate(true)) => BranchSummary::Made { instructions },
        Some(SummaryBody::Text(text)) => BranchSummary::Text(text),
    };
    let switched = session.agent.navigate(EntryId::new(entry_id), summary).await?;
    json(&NavigatedView { text: switched.editor.unwrap_or_default() })
}

pub(crate) async fn label(
    OpenSessionParam(session): OpenSessionParam,
    JsonBody(body): JsonBody<LabelBody>,
) -> HandlerResult {
    let label = body.label.filter(|label| !label.is_empty());
    session.agent.label(EntryId::new(body.entry_id), label).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn compact(
    OpenSessionParam(session): OpenSessionParam,
    JsonBody(body): JsonBody<CompactBody>,
) -> HandlerResult {
    json(&session.agent.compact(body.instructions).await?)
}
