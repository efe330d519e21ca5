//! The commands of a client. [`RpcCommand`] lists them: its variants, in snake case, are the values of
//! `type`, and their fields, in camel case, are the fields of the line. Pure.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tiller_core::json_error::without_variant;

use super::params::{ApprovalModeParam, ImageParam, ModeParam, NonBlank, ScopeParam, SummaryParam};
use crate::elicitation::ElicitationAction;
use crate::event::{CompactionChoice, Decision, QueueKind};
use crate::id::{CallId, ElicitationId, EntryId, JobId, QueueId, SessionId};
use crate::message::ThinkingLevel;
use crate::setting::SettingScope;

/// A command with its parameters, as documented in docs/rpc.md.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum RpcCommand {
    // Messages.
    Prompt {
        message: String,
        #[serde(default)]
        images: Vec<ImageParam>,
        streaming_behavior: Option<QueueKind>,
    },
    Steer {
        message: String,
        #[serde(default)]
        images: Vec<ImageParam>,
    },
    FollowUp {
        message: String,
        #[serde(default)]
        images: Vec<ImageParam>,
    },
    /// Delivers a steering message immediately; without `message`, the waiting ones.
    SteerNow {
        message: Option<String>,
        #[serde(default)]
        images: Vec<ImageParam>,
    },
    // Queries.
    GetState {},
    GetSnapshot {},
    GetSettings {},
    GetMessages {},
    GetEntries {
        since: Option<EntryId>,
        agent_id: Option<SessionId>,
    },
    GetTree {},
    GetAvailableModels {},
    GetAvailableThinkingLevels {},
    GetSessionStats {},
    GetForkMessages {},
    GetLastAssistantText {},
    GetCommands {},
    ListSessions {
        #[serde(default)]
        scope: ScopeParam,
        query: Option<String>,
    },
    // Options of the session.
    SetModel {
        provider: String,
        model_id: String,
    },
    CycleModel {},
    SetThinkingLevel {
        level: ThinkingLevel,
    },
    CycleThinkingLevel {},
    SetSteeringMode {
        mode: ModeParam,
    },
    SetFollowUpMode {
        mode: ModeParam,
    },
    SetAutoCompaction {
        enabled: bool,
    },
    SetAutoRetry {
        enabled: bool,
    },
    SetApprovals {
        enabled: bool,
    },
    SetApprovalMode {
        mode: ApprovalModeParam,
    },
    TogglePlan {},
    SetDeltas {
        enabled: bool,
    },
    SetAgentDeltas {
        enabled: bool,
    },
    // The queue.
    GetQueue {},
    EditQueued {
        queue_id: QueueId,
        message: Option<String>,
        images: Option<Vec<ImageParam>>,
        kind: Option<QueueKind>,
        place: Option<usize>,
    },
    RemoveQueued {
        queue_id: QueueId,
    },
    ReleaseQueued {
        queue_id: QueueId,
    },
    ClearQueue {
        kind: Option<QueueKind>,
    },
    // The session and its tree.
    NewSession {
        parent_session: Option<PathBuf>,
    },
    SwitchSession {
        session_path: PathBuf,
    },
    Fork {
        entry_id: EntryId,
    },
    Clone {},
    Navigate {
        entry_id: EntryId,
        summary: Option<SummaryParam>,
        instructions: Option<String>,
    },
    SetLabel {
        entry_id: EntryId,
        label: Option<String>,
    },
    Hide {
        entry_id: EntryId,
        hidden: Option<bool>,
    },
    SetSessionName {
        name: NonBlank,
    },
    ExportHtml {
        output_path: Option<String>,
    },
    // Work.
    Abort {},
    AbortRetry {},
    AbortBash {},
    GetJobs {},
    StopJob {
        job_id: JobId,
    },
    MoveToBackground {},
    GetAgents {},
    SteerAgent {
        agent_id: SessionId,
        message: NonBlank,
    },
    AbortAgent {
        agent_id: SessionId,
    },
    Bash {
        command: NonBlank,
        #[serde(default)]
        exclude_from_context: bool,
    },
    Truncate {},
    Compact {
        custom_instructions: Option<String>,
    },
    AbortCompaction {},
    ResolveCompaction {
        choice: CompactionChoice,
    },
    Approve {
        call_id: CallId,
        decision: DecisionParam,
        reason: Option<String>,
        #[serde(rename = "match")]
        patterns: Option<Vec<String>>,
        scope: Option<RuleScopeParam>,
    },
    AnswerElicitation {
        elicitation_id: ElicitationId,
        action: ElicitationAction,
        #[serde(default)]
        content: Map<String, Value>,
    },
    Reload {},
}

/// The decision on a call that needs approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DecisionParam {
    Once,
    Session,
    Always,
    Deny,
}

impl DecisionParam {
    /// Returns the decision; `None` if rules must be saved.
    pub(super) fn with_reason(self, reason: Option<String>) -> Option<Decision> {
        match self {
            Self::Once => Some(Decision::Once),
            Self::Session => Some(Decision::Session),
            Self::Always => None,
            Self::Deny => {
                let reason = reason.unwrap_or_else(|| "the user rejected it".to_owned());
                Some(Decision::Deny { reason })
            }
        }
    }
}

/// The settings in which rules are saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RuleScopeParam {
    #[default]
    User,
    Project,
}

impl From<RuleScopeParam> for SettingScope {
    fn from(scope: RuleScopeParam) -> Self {
        match scope {
            RuleScopeParam::User => Self::User,
            RuleScopeParam::Project => Self::Project,
        }
    }
}

/// The reason a line isn't a valid command.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CommandError {
    #[error("unknown command `{0}`")]
    Unknown(String),
    #[error("{0}")]
    Missing(String),
    #[error("the field `{field}`: {reason}")]
    Field { field: String, reason: String },
}

impl RpcCommand {
    /// Parses the command with this name. A field that is `null` counts as missing; unknown fields are
    /// ignored.
    pub(super) fn parse(name: &str, fields: Map<String, Value>) -> Result<Self, CommandError> {
        let fields: Map<String, Value> = fields.into_iter().filter(|(_, value)| !value.is_null()).collect();
        let command: Self = serde_path_to_error::deserialize(json!({ name: fields })).map_err(|error| {
            let path = error.path().to_string();
            let field = path.strip_prefix(name).and_then(|path| path.strip_prefix('.'));
            let reason = error.inner().to_string();
            match field {
                Some(field) => {
                    CommandError::Field { field: field.to_owned(), reason: without_variant(&reason) }
                }
                None if reason.starts_with("unknown variant") => CommandError::Unknown(name.to_owned()),
                None => CommandError::Missing(reason),
            }
        })?;
        command.check_message()?;
        Ok(command)
    }

    /// Rejects a message with neither text nor images, and images without a message.
    fn check_message(&self) -> Result<(), CommandError> {
        match self {
            Self::Prompt { message, images, .. }
            | Self::Steer { message, images }
            | Self::FollowUp { message, images }
            | Self::SteerNow { message: Some(message), images }
                if images.is_empty() && message.trim().is_empty() =>
            {
                let reason = "must not be empty without images".to_owned();
                Err(CommandError::Field { field: "message".to_owned(), reason })
            }
            Self::SteerNow { message: None, images } if !images.is_empty() => {
                Err(CommandError::Missing("missing field `message`".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Returns true if running work is stopped first, because the command opens another session or changes
    /// this one's context. `navigate` doesn't stop running work; it fails instead.
    pub(super) const fn stops_work(&self) -> bool {
        matches!(
            self,
            Self::Compact { .. }
                | Self::Truncate {}
                | Self::NewSession { .. }
                | Self::SwitchSession { .. }
                | Self::Fork { .. }
                | Self::Clone {}
        )
    }

    /// Returns true if the next command starts without waiting for this one, whose duration depends on a
    /// model, a program or a long log.
    pub(super) const fn is_slow(&self) -> bool {
        matches!(
            self,
            Self::Bash { .. }
                | Self::Compact { .. }
                | Self::Truncate {}
                | Self::Reload {}
                | Self::Navigate { summary: Some(SummaryParam::Generate(true)), .. }
                | Self::ExportHtml { .. }
                | Self::GetEntries { .. }
                | Self::GetTree {}
                | Self::ListSessions { .. }
                | Self::GetSessionStats {}
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, fields: Value) -> Result<RpcCommand, String> {
        let Value::Object(fields) = fields else { panic!("{fields}") };
        RpcCommand::parse(name, fields).map_err(|error| error.to_string())
    }

    #[test]
    fn approve_always_has_patterns_and_scope() {
        let fields = json!({"callId": "c", "decision": "always", "match": ["ls *"], "scope": "project"});
        let expected = RpcCommand::Approve {
            call_id: "c".into(),
            decision: DecisionParam::Always,
            reason: None,
            patterns: Some(vec!["ls *".into()]),
            scope: Some(RuleScopeParam::Project),
        };
        assert_eq!(parse("approve", fields), Ok(expected));
    }

    #[test]
    fn command_is_parsed_from_its_fields() {
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let cases = [
            (
                ("prompt", json!({"message": "hi", "streamingBehavior": "followUp", "images": [image]})),
                RpcCommand::Prompt {
                    message: "hi".into(),
                    images: vec![serde_json::from_value(image.clone()).unwrap()],
                    streaming_behavior: Some(QueueKind::FollowUp),
                },
            ),
            (
                ("set_thinking_level", json!({"level": "high"})),
                RpcCommand::SetThinkingLevel { level: ThinkingLevel::High },
            ),
            (
                ("edit_queued", json!({"queueId": "q", "place": 2, "kind": "steer", "message": null})),
                RpcCommand::EditQueued {
                    queue_id: "q".into(),
                    message: None,
                    images: None,
                    kind: Some(QueueKind::Steer),
                    place: Some(2),
                },
            ),
            (
                ("navigate", json!({"entryId": "e", "summary": true, "instructions": "short"})),
                RpcCommand::Navigate {
                    entry_id: "e".into(),
                    summary: Some(SummaryParam::Generate(true)),
                    instructions: Some("short".into()),
                },
            ),
            (("abort", json!({"unknown": 1})), RpcCommand::Abort {}),
            (
                ("list_sessions", json!({})),
                RpcCommand::ListSessions { scope: ScopeParam::Current, query: None },
            ),
            (
                ("approve", json!({"callId": "c", "decision": "deny", "reason": "not here"})),
                RpcCommand::Approve {
                    call_id: "c".into(),
                    decision: DecisionParam::Deny,
                    reason: Some("not here".into()),
                    patterns: None,
                    scope: None,
                },
            ),
        ];
        for ((name, fields), expected) in cases {
            assert_eq!(parse(name, fields), Ok(expected), "{name}");
        }
    }

    #[test]
    fn command_answer_of_a_question_has_values() {
        let fields = json!({"elicitationId": "e1", "action": "accept", "content": {"n": 1}});
        let expected = |action, content: Value| RpcCommand::AnswerElicitation {
            elicitation_id: "e1".into(),
            action,
            content: content.as_object().unwrap().clone(),
        };
        let accepted = expected(ElicitationAction::Accept, json!({"n": 1}));
        assert_eq!(parse("answer_elicitation", fields), Ok(accepted));
        let fields = json!({"elicitationId": "e1", "action": "decline"});
        let declined = expected(ElicitationAction::Decline, json!({}));
        assert_eq!(parse("answer_elicitation", fields), Ok(declined));
    }

    #[test]
    fn command_error_names_the_field() {
        let cases = [
            (("dance", json!({})), "unknown command `dance`"),
            (("prompt", json!({})), "missing field `message`"),
            (("prompt", json!({"message": ""})), "the field `message`: must not be empty without images"),
            (("steer", json!({"message": " \n"})), "the field `message`: must not be empty without images"),
            (("bash", json!({"command": " "})), "the field `command`: must not be empty"),
            (
                ("prompt", json!({"message": "x", "streamingBehavior": "now"})),
                "the field `streamingBehavior`: `now` is not `steer` or `followUp`",
            ),
            (
                ("set_model", json!({"provider": "p", "modelId": 3})),
                "the field `modelId`: invalid type: integer `3`, expected a string",
            ),
            (
                ("set_auto_retry", json!({"enabled": "yes"})),
                "the field `enabled`: invalid type: string \"yes\", expected a boolean",
            ),
            (
                ("set_approval_mode", json!({"mode": "yes"})),
                "the field `mode`: expected one of ask, auto, plan, read-only",
            ),
            (("fork", json!({"entryId": null})), "missing field `entryId`"),
            (
                ("steer_now", json!({"images": [{"data": "AA==", "mimeType": "image/png"}]})),
                "missing field `message`",
            ),
            (("set_session_name", json!({"name": " "})), "the field `name`: must not be empty"),
            (
                ("approve", json!({"callId": "c", "decision": "maybe"})),
                "the field `decision`: `maybe` is not one of `once`, `session`, `always`, `deny`",
            ),
        ];
        for ((name, fields), expected) in cases {
            assert_eq!(parse(name, fields), Err(expected.to_owned()), "{name}");
        }
    }
}
