//! Handlers of requests: each calls the host, the table or a session's handle, and builds the response.

pub(crate) mod attach;
pub(crate) mod branches;
pub(crate) mod logs;
pub(crate) mod messages;
pub(crate) mod options;
pub(crate) mod queue;
pub(crate) mod server;
pub(crate) mod sessions;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::problem::Problem;

/// A handler's result.
type HandlerResult = Result<Response, Problem>;

/// Returns JSON about a new session, with its address.
fn created(id: &str, value: &impl Serialize) -> HandlerResult {
    let location = [(header::LOCATION, format!("/api/sessions/{id}"))];
    Ok((StatusCode::CREATED, location, Json(value)).into_response())
}

/// Returns JSON.
fn json(value: &impl Serialize) -> HandlerResult {
    Ok(Json(value).into_response())
}
