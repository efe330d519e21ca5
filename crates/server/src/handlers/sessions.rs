//! Sessions: create, list, find, resume, delete.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use tiller_session::{DeleteMode, normalize_name};
use tokio::task::spawn_blocking;

use super::{HandlerResult, created, json};
use crate::app_state::AppState;
use crate::host::{NewSession, ResumeRequest, SessionSettings};
use crate::params::{AnySession, JsonBody, OpenSessionParam, QueryParams, only_inside};
use crate::problem::{CONFLICT, FORBIDDEN, INVALID, Problem, internal};
use crate::requests::{CreateBody, DeleteQuery, ListQuery, ResumeBody, StreamQuery};
use crate::session_view::{SessionDetails, SessionListing, SessionPage};
use crate::stream;

/// Number of sessions of a page by default.
const DEFAULT_LIMIT: usize = 50;

/// Maximum number of sessions of a page.
const MAX_LIMIT: usize = 200;

/// Maximum number of sessions that a search finds.
const MAX_FOUND: usize = 1_000;

pub(crate) async fn create(
    State(state): State<Arc<AppState>>,
    JsonBody(body): JsonBody<CreateBody>,
) -> HandlerResult {
    let CreateBody { workspace_path, provider, model, auto_approve, name } = body;
    if name.as_ref().is_some_and(|name| normalize_name(name).is_none()) {
        return Err(INVALID.detail("the field `name`: must not be empty"));
    }
    let request = NewSession {
        workspace: workspace(&state, &workspace_path).await?,
        settings: SessionSettings { provider, model },
        approves_all: auto_approve,
        name,
    };
    let session = state.table.create(request).await?;
    created(session.id.as_str(), &SessionDetails::of_open(&session, &state.node).await?)
}

/// Returns the real path of a working directory that a client names.
pub(super) async fn workspace(state: &Arc<AppState>, dir: &Path) -> Result<PathBuf, Problem> {
    let resolved = resolve(state, dir).await?;
    resolved.ok_or_else(|| FORBIDDEN.detail("`workspacePath` must be a directory below a root of the server"))
}

async fn resolve(state: &Arc<AppState>, dir: &Path) -> Result<Option<PathBuf>, Problem> {
    let (state, dir) = (Arc::clone(state), dir.to_owned());
    let resolved = spawn_blocking(move || state.roots.resolve(&dir)).await;
    resolved.map_err(|error| internal(&error))
}

pub(crate) async fn list(
    State(state): State<Arc<AppState>>,
    QueryParams(ListQuery { limit, offset, query }): QueryParams<ListQuery>,
) -> HandlerResult {
    let limit = limit.map_or(DEFAULT_LIMIT, NonZeroUsize::get).min(MAX_LIMIT);
    let open = state.table.list().await?;
    let mut sessions = Vec::new();
    let mut without_log = HashSet::new();
    let query = query.filter(|words| !words.trim().is_empty());
    let words = query.as_deref().unwrap_or_default().to_lowercase();
    // Sessions without a message have no log yet; only their names can be searched.
    for session in open.iter().filter(|session| !session.agent.reader().exists()) {
        let status = session.agent.state().await?;
        let name = status.state.name.as_deref().unwrap_or_default().to_lowercase();
        if words.split_whitespace().all(|word| name.contains(word)) {
            sessions.push(SessionListing::of_open(session, &status, &state.node));
        }
        without_log.insert(session.id.clone());
    }
    let logged = match query {
        Some(words) => state.host.search(words, MAX_FOUND).await?,
        None => state.host.list().await?,
    };
    let mut inside = only_inside(&state.roots, logged).await?;
    // A log may have been created in the meantime.
    inside.retain(|found| !without_log.contains(&found.id));
    let open: HashSet<_> = open.iter().map(|session| session.id.clone()).collect();
    sessions.extend(inside.into_iter().map(|found| {
        let is_open = open.contains(&found.id);
        SessionListing::new(found, is_open, &state.node)
    }));
    let end = offset.saturating_add(limit);
    let next_offset = (sessions.len() > end).then_some(end);
    let sessions = sessions.into_iter().skip(offset).take(limit).collect();
    json(&SessionPage { sessions, next_offset })
}

pub(crate) async fn details(State(state): State<Arc<AppState>>, session: AnySession) -> HandlerResult {
    match session {
        AnySession::Open(session) => json(&SessionDetails::of_open(&session, &state.node).await?),
        AnySession::Closed(summary) => json(&SessionDetails::of_closed(*summary, &state.node)),
    }
}

pub(crate) async fn resume(
    State(state): State<Arc<AppState>>,
    session: AnySession,
    JsonBody(body): JsonBody<ResumeBody>,
) -> HandlerResult {
    let session = match session {
        AnySession::Open(session) => session,
        AnySession::Closed(summary) => {
            let ResumeBody { workspace_path, provider, model } = body;
            let workspace = match workspace_path {
                Some(dir) => workspace(&state, &dir).await?,
                // The session's directory is below a root: otherwise the session isn't found.
                None => resolve(&state, Path::new(&summary.cwd)).await?.ok_or_else(|| {
                    CONFLICT.detail("the session's directory is gone; `workspacePath` can name another one")
                })?,
            };
            let request = ResumeRequest {
                log: summary.path.clone(),
                workspace,
                settings: SessionSettings { provider, model },
            };
            state.table.resume(summary.id.clone(), request).await?
        }
    };
    json(&SessionDetails::of_open(&session, &state.node).await?)
}

/// Stops the session's work and closes it; its log stays.
pub(crate) async fn close(
    State(state): State<Arc<AppState>>,
    OpenSessionParam(session): OpenSessionParam,
) -> HandlerResult {
    state.table.close(&session.id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Closes the session, and removes its log if there is one.
pub(crate) async fn delete(
    State(state): State<Arc<AppState>>,
    QueryParams(DeleteQuery { permanently }): QueryParams<DeleteQuery>,
    session: AnySession,
) -> HandlerResult {
    let id = match session {
        AnySession::Open(session) => session.id.clone(),
        AnySession::Closed(summary) => summary.id,
    };
    let mode = if permanently { DeleteMode::Permanently } else { DeleteMode::ToTrash };
    state.table.delete(id, mode).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn watch(
    State(state): State<Arc<AppState>>,
    QueryParams(StreamQuery { last_event_id }): QueryParams<StreamQuery>,
    OpenSessionParam(session): OpenSessionParam,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    stream::open(&state, session, &headers, last_event_id.as_deref())
}
