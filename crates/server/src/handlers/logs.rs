//! A session's log: entries, tree, page, statistics, context.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::value::RawValue;
use tiller_core::id::{EntryId, SessionId};
use tiller_engine::ContextKind;
use tiller_engine::views::StatsView;
use tokio::task::spawn_blocking;

use super::{HandlerResult, json};
use crate::app_state::AppState;
use crate::log_queries::query;
use crate::params::{AnySession, ItemId, OpenSessionParam, QueryParams};
use crate::problem::internal;
use crate::requests::EntriesQuery;
use crate::session_view::{ContextShare, ContextUsage};

fn raw(json: Box<RawValue>) -> Response {
    let body = Box::<str>::from(json).into_string();
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

pub(crate) async fn entries(
    QueryParams(EntriesQuery { since }): QueryParams<EntriesQuery>,
    session: AnySession,
) -> HandlerResult {
    let since = since.map(EntryId::new);
    let entries = query(session, move |reader| Ok(tiller_session::entries_json(&reader, since.as_ref())?));
    entries.await.map(raw)
}

pub(crate) async fn agent_entries(
    QueryParams(EntriesQuery { since }): QueryParams<EntriesQuery>,
    OpenSessionParam(session): OpenSessionParam,
    ItemId(id): ItemId,
) -> HandlerResult {
    let (reader, since) = (session.agent.agent_reader(SessionId::new(id)).await?, since.map(EntryId::new));
    let read = spawn_blocking(move || tiller_session::entries_json(&reader, since.as_ref())).await;
    Ok(raw(read.map_err(|error| internal(&error))??))
}

pub(crate) async fn articles(
    State(state): State<Arc<AppState>>,
    QueryParams(EntriesQuery { since }): QueryParams<EntriesQuery>,
    session: AnySession,
) -> HandlerResult {
    let since = since.map(EntryId::new);
    let named = since.clone();
    let reader = query(session, move |reader| {
        named.map(|named| reader.path_to(&named)).transpose()?;
        Ok(reader)
    });
    json(&state.host.articles(reader.await?, since).await?)
}

pub(crate) async fn tree(session: AnySession) -> HandlerResult {
    query(session, |reader| Ok(tiller_session::tree_json(&reader)?)).await.map(raw)
}

/// The page's own policy allows its styles and its script; nothing of it reaches this server.
pub(crate) async fn export_html(State(state): State<Arc<AppState>>, session: AnySession) -> HandlerResult {
    let reader = query(session, Ok).await?;
    let mut response = state.host.export_html(reader).await?.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox allow-scripts"));
    Ok(response)
}

pub(crate) async fn stats(OpenSessionParam(session): OpenSessionParam) -> HandlerResult {
    let (status, stats) = (session.agent.state().await?, session.agent.stats().await?);
    json(&StatsView::new(&status.state, &stats))
}

pub(crate) async fn context(OpenSessionParam(session): OpenSessionParam) -> HandlerResult {
    let breakdown = session.agent.context_breakdown().await?;
    let parts = breakdown.parts.into_iter().map(|part| {
        let (kind, path) = kind_name(part.kind);
        ContextShare { kind, count: part.count, tokens: part.tokens.0, path }
    });
    let context = breakdown.context;
    json(&ContextUsage { tokens: context.used.0, context_window: context.window.0, parts: parts.collect() })
}

fn kind_name(kind: ContextKind) -> (&'static str, Option<String>) {
    let name = match kind {
        ContextKind::ContextFile(path) => return ("contextFile", Some(path.display().to_string())),
        ContextKind::SystemPrompt => "systemPrompt",
        ContextKind::Skills => "skills",
        ContextKind::Tools => "tools",
        ContextKind::UserMessages => "userMessages",
        ContextKind::Answers => "answers",
        ContextKind::ToolResults => "toolResults",
        ContextKind::ShellCommands => "shellCommands",
    };
    (name, None)
}
