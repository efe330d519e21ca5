//! The server itself: its page, models, skills, health, metrics.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse as _};
use serde_json::json as value;
use tiller_engine::views::ModelView;

use super::sessions::workspace;
use super::{HandlerResult, json};
use crate::app_state::AppState;
use crate::host::RenderBody;
use crate::openapi;
use crate::params::{JsonBody, QueryParams};
use crate::problem::{METHOD, NOT_FOUND, Problem};
use crate::requests::SkillsQuery;
use crate::session_view::{Health, RenderedHtml, RootList};

pub(crate) async fn models(State(state): State<Arc<AppState>>) -> HandlerResult {
    let models = state.host.models().await?;
    let models: Vec<ModelView> =
        models.iter().map(|model| ModelView::new(&model.facts, model.provider.api())).collect();
    json(&value!({"models": models}))
}

pub(crate) async fn skills(
    State(state): State<Arc<AppState>>,
    QueryParams(SkillsQuery { workspace_path }): QueryParams<SkillsQuery>,
) -> HandlerResult {
    let dir = workspace(&state, &workspace_path).await?;
    json(&value!({"skills": state.host.skills(dir).await?}))
}

pub(crate) async fn health() -> HandlerResult {
    json(&Health { status: "ok" })
}

pub(crate) async fn metrics(State(state): State<Arc<AppState>>) -> HandlerResult {
    let text = state.metrics.text(state.table.gauges().await?);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}

pub(crate) async fn description() -> HandlerResult {
    json(&*openapi::DOCUMENT)
}

pub(crate) async fn page(State(state): State<Arc<AppState>>) -> HandlerResult {
    Ok(Html(state.host.page()).into_response())
}

pub(crate) async fn roots(State(state): State<Arc<AppState>>) -> HandlerResult {
    json(&RootList { roots: state.roots.paths() })
}

pub(crate) async fn render(
    State(state): State<Arc<AppState>>,
    JsonBody(body): JsonBody<RenderBody>,
) -> HandlerResult {
    json(&RenderedHtml { html: state.host.render(body).await? })
}

pub(crate) async fn not_found() -> Problem {
    NOT_FOUND.without_detail()
}

pub(crate) async fn wrong_method() -> Problem {
    METHOD.without_detail()
}
