//! A session's model, and user commands.

use tiller_engine::BashContext;
use tiller_engine::views::ModelView;

use super::{HandlerResult, json};
use crate::params::{JsonBody, OpenSessionParam};
use crate::problem::INVALID;
use crate::requests::{BashBody, ModelBody, ThinkingBody};
use crate::session_view::LevelView;

pub(crate) async fn model(
    OpenSessionParam(session): OpenSessionParam,
    JsonBody(body): JsonBody<ModelBody>,
) -> HandlerResult {
    let ModelBody { provider, model } = body;
    let words = provider.map_or(model.clone(), |provider| format!("{provider}/{model}"));
    let reference = session.agent.set_model(words).await?;
    json(&ModelView::find(&reference, &session.agent.models().await?))
}

pub(crate) async fn thinking(
    OpenSessionParam(session): OpenSessionParam,
    JsonBody(body): JsonBody<ThinkingBody>,
) -> HandlerResult {
    let level = session.agent.set_thinking(body.level).await?;
    json(&LevelView { level })
}

/// Runs a command, and returns its record when it has ended.
pub(crate) async fn bash(
    OpenSessionParam(session): OpenSessionParam,
    JsonBody(body): JsonBody<BashBody>,
) -> HandlerResult {
    if body.command.trim().is_empty() {
        return Err(INVALID.detail("the field `command`: must not be empty"));
    }
    let context = if body.exclude_from_context { BashContext::Exclude } else { BashContext::Include };
    json(&session.agent.execute_bash(body.command, context).await?)
}
