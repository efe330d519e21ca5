//! Errors of the API: problem details of RFC 9457. A problem contains no server path and no secret.

use std::io;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use tiller_engine::AgentError;
use tiller_session::SessionError;

use crate::host::HostError;

/// Prefix of the type of a problem; the rest is its name.
const TYPE_PREFIX: &str = "urn:tiller:problem:";

/// An error, as a client gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Problem {
    /// `urn:tiller:problem:` and the name of the kind of problem.
    #[serde(rename = "type")]
    uri: String,
    /// The kind of problem, in a few words.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// The explanation of this occurrence.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// The kind of a problem: its status, name and title.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProblemKind(StatusCode, &'static str, &'static str);

/// The body, a parameter or their combination is invalid.
pub(crate) const INVALID: ProblemKind =
    ProblemKind(StatusCode::BAD_REQUEST, "invalid-request", "Invalid request");
/// The token is missing or wrong.
pub(crate) const UNAUTHORIZED: ProblemKind =
    ProblemKind(StatusCode::UNAUTHORIZED, "unauthorized", "A valid token is required");
/// The host, the origin or the workspace isn't allowed.
pub(crate) const FORBIDDEN: ProblemKind = ProblemKind(StatusCode::FORBIDDEN, "forbidden", "Not allowed");
/// There is no such thing.
pub(crate) const NOT_FOUND: ProblemKind = ProblemKind(StatusCode::NOT_FOUND, "not-found", "Not found");
/// The path has other methods.
pub(crate) const METHOD: ProblemKind =
    ProblemKind(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed");
/// The session is closed.
pub(crate) const NOT_OPEN: ProblemKind =
    ProblemKind(StatusCode::CONFLICT, "session-not-open", "The session isn't open");
/// Another process has the session open.
pub(crate) const LOCKED: ProblemKind =
    ProblemKind(StatusCode::CONFLICT, "session-locked", "The session is open elsewhere");
/// The state of the session doesn't allow it.
pub(crate) const CONFLICT: ProblemKind =
    ProblemKind(StatusCode::CONFLICT, "conflict", "Not possible in this state");
/// The queue has changed since the client read it.
pub(crate) const CHANGED: ProblemKind =
    ProblemKind(StatusCode::PRECONDITION_FAILED, "queue-changed", "The queue has changed; read it again");
/// The request doesn't specify the version that it changes.
pub(crate) const NO_CONDITION: ProblemKind =
    ProblemKind(StatusCode::PRECONDITION_REQUIRED, "precondition-required", "A precondition is required");
/// The body is too large.
pub(crate) const TOO_LARGE: ProblemKind =
    ProblemKind(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", "The body is too large");
/// The body doesn't arrive.
pub(crate) const TIMEOUT: ProblemKind =
    ProblemKind(StatusCode::REQUEST_TIMEOUT, "request-timeout", "The body took too long");
/// The body isn't JSON.
pub(crate) const MEDIA_TYPE: ProblemKind =
    ProblemKind(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", "The body must be JSON");
/// The content of a valid request can't be processed.
pub(crate) const UNPROCESSABLE: ProblemKind =
    ProblemKind(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", "The request can't be processed");
/// The headers are too large.
pub(crate) const HEADERS: ProblemKind = ProblemKind(
    StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
    "headers-too-large",
    "The headers are too large",
);
/// Too many concurrent requests, watchers or sessions.
pub(crate) const OVERLOADED: ProblemKind =
    ProblemKind(StatusCode::SERVICE_UNAVAILABLE, "overloaded", "The server is busy");
/// A failure of the server; its log has the reason.
pub(crate) const INTERNAL: ProblemKind =
    ProblemKind(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error");

impl ProblemKind {
    /// Returns the problem without an explanation.
    pub(crate) fn without_detail(self) -> Problem {
        let Self(status, name, title) = self;
        Problem { uri: format!("{TYPE_PREFIX}{name}"), title, status: status.as_u16(), detail: None }
    }

    /// Returns the problem with an explanation.
    pub(crate) fn detail(self, detail: impl Into<String>) -> Problem {
        Problem { detail: Some(detail.into()), ..self.without_detail() }
    }
}

impl Problem {
    /// Returns true if the request has no valid token.
    pub(crate) fn is_missing_token(&self) -> bool {
        self.status == StatusCode::UNAUTHORIZED.as_u16()
    }
}

/// Logs the reason for a failure, which the client doesn't get.
pub(crate) fn internal(error: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%error, "a request failed");
    INTERNAL.detail("the server's log has the reason")
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}

impl From<AgentError> for Problem {
    /// The messages of the other errors may contain paths.
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Busy => {
                CONFLICT.detail("the agent is running; set `behavior` to `steer` or `followUp`")
            }
            AgentError::QueueFull(_)
            | AgentError::Running
            | AgentError::BashRunning
            | AgentError::Empty
            | AgentError::Summarizing
            | AgentError::AgentsAtWork
            | AgentError::LooserThanSession(_)
            | AgentError::SessionOpen => CONFLICT.detail(error.to_string()),
            AgentError::Closed => NOT_OPEN.without_detail(),
            AgentError::NotFound(_) => NOT_FOUND.detail(error.to_string()),
            AgentError::Model(error) => UNPROCESSABLE.detail(error.without_hint()),
            AgentError::TooLong { .. }
            | AgentError::UnknownSkill { .. }
            | AgentError::InvalidAnswer(_)
            | AgentError::Compaction(_) => UNPROCESSABLE.detail(error.to_string()),
            AgentError::PromptRejected(_) => UNPROCESSABLE.detail("an extension rejected the message"),
            AgentError::Extension(_) => UNPROCESSABLE.detail("an extension's command failed"),
            AgentError::Session(error) => error.into(),
            AgentError::Store(_)
            | AgentError::Directory { .. }
            | AgentError::Rules { .. }
            | AgentError::Remote { .. }
            | AgentError::OpenElsewhere
            | AgentError::Disconnected => internal(&error),
        }
    }
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::NoEntry(_) | SessionError::EntryNotFound(_) => {
                NOT_FOUND.detail("there is no such entry in this session")
            }
            SessionError::InUse(_) => CONFLICT.detail("the entry is on the current branch"),
            SessionError::Locked { .. } => LOCKED.without_detail(),
            // Another client has deleted it.
            SessionError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                NOT_FOUND.detail("there is no such session")
            }
            error => internal(&error),
        }
    }
}

impl From<HostError> for Problem {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Invalid(detail) => UNPROCESSABLE.detail(detail),
            HostError::Locked => LOCKED.without_detail(),
            HostError::NotFound => NOT_FOUND.detail(error.to_string()),
            HostError::NoTrash => {
                CONFLICT.detail("there is no trash here; `permanently=true` deletes the session")
            }
            HostError::Internal(_) => internal(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_of_a_deleted_log_is_not_found() {
        let source = io::ErrorKind::NotFound.into();
        let error = SessionError::Io { path: "/x".into(), action: "be opened", source };
        assert_eq!(Problem::from(error).into_response().status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn problem_of_a_log_names_no_path() {
        let path = std::path::PathBuf::from("/home/ann/secret");
        let source = std::io::Error::other("disk");
        let error = SessionError::Io { path: path.clone(), action: "be read", source };
        let problems = [
            Problem::from(error),
            SessionError::Locked { path, holder: None }.into(),
            AgentError::Store("session file /home/ann/secret".into()).into(),
            HostError::Internal("/home/ann/secret".into()).into(),
        ];
        for problem in problems {
            let json = serde_json::to_string(&problem).unwrap();
            assert!(!json.contains("ann"), "{json}");
        }
    }
}
