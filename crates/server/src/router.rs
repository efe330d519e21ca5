//! The routes.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use crate::app_state::AppState;
use crate::guard::guard;
use crate::handlers::{attach, branches, logs, messages, options, queue, server, sessions};

/// Maximum bytes of a body: a message with a few large images.
const MAX_BODY: usize = 32 * 1024 * 1024;

/// Returns the router. Every route is a row of `openapi::OPERATIONS` too.
pub(crate) fn router(state: Arc<AppState>) -> Router {
    let one = Router::new()
        .route("/", get(sessions::details).delete(sessions::delete))
        .route("/resume", post(sessions::resume))
        .route("/close", post(sessions::close))
        .route("/stream", get(sessions::watch))
        .route("/attach", get(attach::attach))
        .route("/chat", post(messages::chat))
        .route("/steer", post(messages::steer))
        .route("/follow-up", post(messages::follow_up))
        .route("/abort", post(messages::abort))
        .route("/approvals/{item}", post(messages::approve))
        .route("/elicitations/{item}", post(messages::answer))
        .route("/jobs/{item}/stop", post(messages::stop_job))
        .route("/agents", get(messages::agents))
        .route("/agents/{item}/entries", get(logs::agent_entries))
        .route("/agents/{item}/steer", post(messages::steer_agent))
        .route("/agents/{item}/stop", post(messages::stop_agent))
        .route("/queue", get(queue::show).put(queue::replace).delete(queue::clear))
        .route("/entries", get(logs::entries))
        .route("/articles", get(logs::articles))
        .route("/tree", get(logs::tree))
        .route("/context", get(logs::context))
        .route("/stats", get(logs::stats))
        .route("/export.html", get(logs::export_html))
        .route("/fork", post(branches::fork))
        .route("/navigate", post(branches::navigate))
        .route("/label", post(branches::label))
        .route("/compact", post(branches::compact))
        .route("/compaction", post(messages::resolve_compaction))
        .route("/model", post(options::model))
        .route("/thinking", post(options::thinking))
        .route("/bash", post(options::bash));
    Router::new()
        .route("/", get(server::page))
        .route("/api/sessions", get(sessions::list).post(sessions::create))
        .nest("/api/sessions/{id}", one)
        .route("/api/models", get(server::models))
        .route("/api/roots", get(server::roots))
        .route("/api/render", post(server::render))
        .route("/api/skills", get(server::skills))
        .route("/openapi.json", get(server::description))
        .route("/healthz", get(server::health))
        .route("/metrics", get(server::metrics))
        .fallback(server::not_found)
        .method_not_allowed_fallback(server::wrong_method)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn_with_state(Arc::clone(&state), guard))
        .with_state(state)
}
