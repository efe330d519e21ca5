//! Extractors whose errors are problems.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use tiller_core::id::SessionId;
use tiller_core::json_error::{without_position, without_variant};
use tiller_session::SessionSummary;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::app_state::AppState;
use crate::open_session::OpenSession;
use crate::problem::{INVALID, MEDIA_TYPE, NOT_FOUND, Problem, TIMEOUT, TOO_LARGE, internal};
use crate::roots::WorkspaceRoots;
use crate::table::not_open;

/// Time for a body to arrive, which occupies one of the concurrent requests: 32 MiB at 2.2 Mbit/s.
const BODY_TIMEOUT: Duration = Duration::from_secs(120);

/// A JSON body. An empty one counts as `{}`.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<AppState>> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &Arc<AppState>) -> Result<Self, Problem> {
        let media_type = request.headers().get(header::CONTENT_TYPE).cloned();
        let media_type = media_type.as_ref().and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_json = media_type
            .split(';')
            .next()
            .is_some_and(|name| name.trim().eq_ignore_ascii_case("application/json"));
        let body = timeout(BODY_TIMEOUT, Bytes::from_request(request, state)).await;
        let body = body.map_err(|_| TIMEOUT.without_detail())?.map_err(|rejection| match rejection {
            BytesRejection::FailedToBufferBody(error) if error.status() == 413 => TOO_LARGE.without_detail(),
            _ => INVALID.detail("the body can't be read"),
        })?;
        if body.is_empty() {
            return parse(b"{}").map(Self);
        }
        if is_json { parse(&body).map(Self) } else { Err(MEDIA_TYPE.without_detail()) }
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    // serde would read a list as the fields in their order.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(INVALID.detail("the body must be a JSON object"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        INVALID.detail(if error.is_data() {
            describe_value(&path, &without_position(&error))
        } else {
            invalid_json(&error)
        })
    })?;
    deserializer.end().map_err(|error| INVALID.detail(invalid_json(&error)))?;
    Ok(value)
}

fn invalid_json(error: &serde_json::Error) -> String {
    let reason = if error.is_eof() { "unexpected end".to_owned() } else { without_position(error) };
    format!("invalid JSON: {reason}")
}

/// Describes an invalid value at a path. An unknown field is named once, by its path.
fn describe_value(path: &str, reason: &str) -> String {
    let unknown = reason.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
    match (path, unknown) {
        ("." | "?", _) => without_variant(reason),
        (path, Some((_, expected))) => format!("unknown field `{path}`{expected}"),
        (path, None) => format!("the field `{path}`: {}", without_variant(reason)),
    }
}

/// Parameters of the query.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<AppState>> for QueryParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<AppState>) -> Result<Self, Problem> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(params)) => Ok(Self(params)),
            Err(rejection) => {
                let text = rejection.body_text();
                let reason = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
                Err(INVALID.detail(format!("the query: {}", describe_parameter(reason))))
            }
        }
    }
}

/// Describes an invalid parameter from a reason that begins with its name; an unknown one is named once.
fn describe_parameter(reason: &str) -> String {
    match reason.split_once(": ") {
        Some((_, unknown)) if unknown.starts_with("unknown field ") => unknown.to_owned(),
        Some((name, reason)) => format!("{name}: {}", without_variant(reason)),
        None => reason.to_owned(),
    }
}

/// The last part of a path: the id of something in a session.
pub(crate) struct ItemId(pub(crate) String);

impl FromRequestParts<Arc<AppState>> for ItemId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<AppState>) -> Result<Self, Problem> {
        let path = Path::<(String, String)>::from_request_parts(parts, state).await;
        path.map(|Path((_, item))| Self(item)).map_err(|_| NOT_FOUND.without_detail())
    }
}

async fn session_id(parts: &mut Parts, state: &Arc<AppState>) -> Result<SessionId, Problem> {
    let path = Path::<Vec<(String, String)>>::from_request_parts(parts, state).await;
    let Path(values) = path.map_err(|_| NOT_FOUND.without_detail())?;
    values.first().map(|(_, id)| SessionId::new(id)).ok_or_else(|| NOT_FOUND.without_detail())
}

/// A session that a request names: open, or a log.
pub(crate) enum AnySession {
    Open(Arc<OpenSession>),
    Closed(Box<SessionSummary>),
}

impl FromRequestParts<Arc<AppState>> for AnySession {
    type Rejection = Problem;

    /// A session that works in no root isn't found.
    async fn from_request_parts(parts: &mut Parts, state: &Arc<AppState>) -> Result<Self, Problem> {
        let id = session_id(parts, state).await?;
        if let Some(session) = state.table.find(&id).await? {
            return Ok(Self::Open(session));
        }
        let missing = || NOT_FOUND.detail("there is no such session");
        let found = state.host.find(id).await?.ok_or_else(missing)?;
        let mut inside = only_inside(&state.roots, vec![found]).await?;
        inside.pop().map(Box::new).map(Self::Closed).ok_or_else(missing)
    }
}

/// Returns the sessions that work below a root, or did before their directory was removed.
pub(crate) async fn only_inside(
    roots: &WorkspaceRoots,
    sessions: Vec<SessionSummary>,
) -> Result<Vec<SessionSummary>, Problem> {
    let roots = roots.clone();
    let inside = spawn_blocking(move || {
        let mut known: HashMap<String, bool> = HashMap::new();
        let is_inside = |session: &SessionSummary| {
            let cwd = session.cwd.clone();
            *known.entry(cwd).or_insert_with_key(|cwd| roots.contains(cwd.as_ref()))
        };
        sessions.into_iter().filter(is_inside).collect()
    });
    inside.await.map_err(|error| internal(&error))
}

/// An open session that a request names.
pub(crate) struct OpenSessionParam(pub(crate) Arc<OpenSession>);

impl FromRequestParts<Arc<AppState>> for OpenSessionParam {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<AppState>) -> Result<Self, Problem> {
        match AnySession::from_request_parts(parts, state).await? {
            AnySession::Open(session) => Ok(Self(session)),
            AnySession::Closed(_) => Err(not_open()),
        }
    }
}
