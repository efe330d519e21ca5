//! Messages to the agent, and answers to its questions.

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use serde_json::json as value;
use tiller_core::elicitation::{ElicitationAction, ElicitationAnswer};
use tiller_core::event::Decision;
use tiller_core::id::{CallId, ElicitationId, JobId, SessionId};
use tiller_core::message::Image;
use tiller_engine::views::QueueView;
use tiller_engine::{PromptOptions, StreamingBehavior};

use super::{HandlerResult, json};
use crate::open_session::OpenSession;
use crate::params::{ItemId, JsonBody, OpenSessionParam};
use crate::problem::INVALID;
use crate::requests::{ApprovalBody, Behavior, ChatBody, CompactionBody, ElicitationBody, MessageBody};

/// Sends a message; the response means that it is in the log.
async fn send(session: &OpenSession, message: MessageBody, behavior: Option<Behavior>) -> HandlerResult {
    let (text, images) = message.check()?;
    let streaming_behavior = behavior.map(|behavior| match behavior {
        Behavior::Steer => StreamingBehavior::Steer,
        Behavior::FollowUp => StreamingBehavior::FollowUp,
    });
    let options = PromptOptions { streaming_behavior, images, ..PromptOptions::default() };
    session.agent.prompt(text, options).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

pub(crate) async fn chat(
    OpenSessionParam(session): OpenSessionParam,
    JsonBody(body): JsonBody<ChatBody>,
) -> HandlerResult {
    let ChatBody { message, images, behavior } = body;
    send(&session, MessageBody { message, images }, behavior).await
}

pub(crate) async fn steer(
    OpenSessionParam(session): OpenSessionParam,
    JsonBody(body): JsonBody<MessageBody>,
) -> HandlerResult {
    send(&session, body, Some(Behavior::Steer)).await
}

pub(crate) async fn follow_up(
    OpenSessionParam(session): OpenSessionParam,
    JsonBody(body): JsonBody<MessageBody>,
) -> HandlerResult {
    send(&session, body, Some(Behavior::FollowUp)).await
}

pub(crate) async fn abort(OpenSessionParam(session): OpenSessionParam) -> HandlerResult {
    let queue = session.agent.abort().await?;
    let images: Vec<&Image> = queue.iter().flat_map(|item| item.images.iter()).collect();
    json(&value!({"queue": QueueView::from(&*queue), "images": images}))
}

pub(crate) async fn stop_job(
    OpenSessionParam(session): OpenSessionParam,
    ItemId(id): ItemId,
) -> HandlerResult {
    session.agent.stop_background_job(JobId::new(id)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn agents(OpenSessionParam(session): OpenSessionParam) -> HandlerResult {
    json(&session.agent.agents().await?)
}

pub(crate) async fn steer_agent(
    OpenSessionParam(session): OpenSessionParam,
    ItemId(id): ItemId,
    JsonBody(body): JsonBody<MessageBody>,
) -> HandlerResult {
    let (text, images) = body.check()?;
    let streaming_behavior = Some(StreamingBehavior::Steer);
    let options = PromptOptions { streaming_behavior, images, ..PromptOptions::default() };
    session.agent.running_agent(SessionId::new(id)).await?.prompt(text, options).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

pub(crate) async fn stop_agent(
    OpenSessionParam(session): OpenSessionParam,
    ItemId(id): ItemId,
) -> HandlerResult {
    session.agent.running_agent(SessionId::new(id)).await?.interrupt().await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn approve(
    OpenSessionParam(session): OpenSessionParam,
    ItemId(call): ItemId,
    JsonBody(body): JsonBody<ApprovalBody>,
) -> HandlerResult {
    let decision = match body {
        ApprovalBody { approved: true, reason: Some(_), .. } => {
            return Err(INVALID.detail("the field `reason`: only a denial can have one"));
        }
        ApprovalBody { approved: true, always: true, .. } => Decision::Session,
        ApprovalBody { approved: true, always: false, .. } => Decision::Once,
        ApprovalBody { always: true, .. } => {
            return Err(INVALID.detail("the field `always`: a denial is for one call"));
        }
        ApprovalBody { reason, .. } => {
            Decision::Deny { reason: reason.unwrap_or_else(|| "the user rejected it".to_owned()) }
        }
    };
    session.agent.decide(CallId::new(call), decision).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn answer(
    OpenSessionParam(session): OpenSessionParam,
    ItemId(id): ItemId,
    JsonBody(ElicitationBody { action, content }): JsonBody<ElicitationBody>,
) -> HandlerResult {
    let answer = match action {
        ElicitationAction::Accept => ElicitationAnswer::Accept(content),
        ElicitationAction::Decline => ElicitationAnswer::Decline,
        ElicitationAction::Cancel => ElicitationAnswer::Cancel,
    };
    session.agent.answer_elicitation(ElicitationId::new(id), answer).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn resolve_compaction(
    OpenSessionParam(session): OpenSessionParam,
    JsonBody(CompactionBody { choice }): JsonBody<CompactionBody>,
) -> HandlerResult {
    session.agent.resolve_compaction(choice).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
