//! What a client may ask for, and how a line of JSON becomes it. Pure.

use std::path::PathBuf;

use serde_json::Value;

use super::params::{FieldError, Fields};
use crate::agent::queue::{DeliveryMode, QueueEdit};
use crate::agent::{BashContext, BranchSummary, StreamingBehavior};
use crate::event::{CompactionChoice, Decision, QueueKind};
use crate::id::{CallId, EntryId, QueueId};
use crate::message::{Image, ThinkingLevel};
use crate::session::{SessionScope, Visibility};

/// What a client asks for.
#[derive(Debug, PartialEq)]
pub(super) enum RpcCommand {
    Say(PromptCommand),
    Ask(Query),
    Set(Set),
    Queue(QueueCommand),
    Session(SessionCommand),
    /// What steers and waits already goes in at once.
    Hurry,
    Abort,
    AbortRetry,
    AbortBash,
    Bash {
        line: String,
        context: BashContext,
    },
    Compact {
        instructions: Option<String>,
    },
    Truncate,
    AbortCompaction,
    ResolveCompaction(CompactionChoice),
    Approve {
        call: CallId,
        decision: Decision,
    },
    Reload,
}

/// Something for the agent to hear.
#[derive(Debug, PartialEq)]
pub(super) struct PromptCommand {
    pub(super) text: String,
    pub(super) images: Vec<Image>,
    pub(super) how: Delivery,
}

/// When it is to be heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Prompt(Option<StreamingBehavior>),
    Steer,
    FollowUp,
    SteerNow,
}

/// A question that changes nothing.
#[derive(Debug, PartialEq)]
pub(super) enum Query {
    State,
    Snapshot,
    Settings,
    Messages,
    Entries { since: Option<EntryId> },
    Tree,
    Models,
    ThinkingLevels,
    Stats,
    ForkMessages,
    LastAssistantText,
    Commands,
    Sessions { scope: SessionScope, query: Option<String> },
}

/// How the session is to behave from now on.
#[derive(Debug, PartialEq)]
pub(super) enum Set {
    Model { provider: String, model: String },
    NextModel,
    Thinking(ThinkingLevel),
    NextThinking,
    SteeringMode(DeliveryMode),
    FollowUpMode(DeliveryMode),
    AutoCompaction(Switch),
    AutoRetry(Switch),
    Approvals(Switch),
    Deltas(Switch),
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    On,
    Off,
}

/// Something about the messages that wait.
#[derive(Debug, PartialEq)]
pub(super) enum QueueCommand {
    List,
    Edit { id: QueueId, edit: QueueEdit },
    Remove(QueueId),
    Release(QueueId),
    Clear(Option<QueueKind>),
}

/// Something about the session and its tree.
#[derive(Debug, PartialEq)]
pub(super) enum SessionCommand {
    New { parent: Option<PathBuf> },
    Switch(PathBuf),
    Fork(EntryId),
    Clone,
    Navigate { entry: EntryId, summary: BranchSummary },
    Label { entry: EntryId, label: Option<String> },
    Hide { entry: EntryId, visibility: Visibility },
    Name(String),
    ExportHtml { output: Option<String> },
}

/// Why a line is no command.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CommandError {
    #[error("unknown command `{0}`")]
    Unknown(String),
    #[error(transparent)]
    Field(#[from] FieldError),
}

impl SessionCommand {
    /// Whether it goes to another session.
    const fn leaves(&self) -> bool {
        match self {
            Self::New { .. } | Self::Switch(_) | Self::Fork(_) | Self::Clone => true,
            // What is in the way of going elsewhere in the tree is told to whoever asks for it.
            Self::Navigate { .. }
            | Self::Label { .. }
            | Self::Hide { .. }
            | Self::Name(_)
            | Self::ExportHtml { .. } => false,
        }
    }
}

impl RpcCommand {
    /// Reads the command of this name.
    pub(super) fn parse(name: &str, mut fields: Fields) -> Result<Self, CommandError> {
        let fields = &mut fields;
        let groups = [say, ask, set, queue, session, work];
        for group in groups {
            if let Some(command) = group(name, fields)? {
                return Ok(command);
            }
        }
        Err(CommandError::Unknown(name.to_owned()))
    }

    /// Whether what runs is stopped first: another session is opened, or this one's context changes.
    pub(super) const fn wants_rest(&self) -> bool {
        match self {
            Self::Compact { .. } | Self::Truncate => true,
            Self::Session(command) => command.leaves(),
            Self::Say(_)
            | Self::Ask(_)
            | Self::Set(_)
            | Self::Queue(_)
            | Self::Hurry
            | Self::Abort
            | Self::AbortRetry
            | Self::AbortBash
            | Self::Bash { .. }
            | Self::AbortCompaction
            | Self::ResolveCompaction(_)
            | Self::Approve { .. }
            | Self::Reload => false,
        }
    }

    /// Whether others needn't wait for it: it takes as long as a model, a program or a long log do.
    pub(super) fn is_slow(&self) -> bool {
        match self {
            Self::Bash { .. } | Self::Compact { .. } | Self::Truncate | Self::Reload => true,
            Self::Session(SessionCommand::Navigate { summary, .. }) => {
                matches!(summary, BranchSummary::Made { .. })
            }
            Self::Session(command) => matches!(command, SessionCommand::ExportHtml { .. }),
            Self::Ask(ask) => {
                matches!(ask, Query::Entries { .. } | Query::Tree | Query::Sessions { .. } | Query::Stats)
            }
            Self::Say(_) | Self::Set(_) | Self::Queue(_) => false,
            Self::Approve { .. } | Self::AbortCompaction | Self::ResolveCompaction(_) => false,
            Self::Hurry | Self::Abort | Self::AbortRetry | Self::AbortBash => false,
        }
    }
}

type ParseResult = Result<Option<RpcCommand>, FieldError>;

fn say(name: &str, fields: &mut Fields) -> ParseResult {
    let how = match name {
        "prompt" => {
            Delivery::Prompt(fields.maybe_word("streamingBehavior", "\"steer\" or \"followUp\"", |word| {
                match word {
                    "steer" => Some(StreamingBehavior::Steer),
                    "followUp" => Some(StreamingBehavior::FollowUp),
                    _ => None,
                }
            })?)
        }
        "steer" => Delivery::Steer,
        "follow_up" => Delivery::FollowUp,
        "steer_now" => Delivery::SteerNow,
        _ => return Ok(None),
    };
    let images = fields.images()?;
    let text = fields.maybe_text("message")?;
    if images.is_empty() && text.as_deref().is_some_and(|text| text.trim().is_empty()) {
        return Err(FieldError::Wrong { field: "message", expected: "a text that isn't empty" });
    }
    match (how, text) {
        (_, Some(text)) => Ok(Some(RpcCommand::Say(PromptCommand { text, images, how }))),
        (Delivery::SteerNow, None) if images.is_empty() => Ok(Some(RpcCommand::Hurry)),
        (_, None) => Err(FieldError::Missing("message")),
    }
}

fn ask(name: &str, fields: &mut Fields) -> ParseResult {
    let ask = match name {
        "get_state" => Query::State,
        "get_snapshot" => Query::Snapshot,
        "get_settings" => Query::Settings,
        "get_messages" => Query::Messages,
        "get_entries" => Query::Entries { since: fields.maybe_text("since")?.map(EntryId::new) },
        "get_tree" => Query::Tree,
        "get_available_models" => Query::Models,
        "get_available_thinking_levels" => Query::ThinkingLevels,
        "get_session_stats" => Query::Stats,
        "get_fork_messages" => Query::ForkMessages,
        "get_last_assistant_text" => Query::LastAssistantText,
        "get_commands" => Query::Commands,
        "list_sessions" => {
            let scope = fields.maybe_word("scope", "\"current\" or \"all\"", |word| match word {
                "current" => Some(SessionScope::ThisDirectory),
                "all" => Some(SessionScope::Everywhere),
                _ => None,
            })?;
            Query::Sessions {
                scope: scope.unwrap_or(SessionScope::ThisDirectory),
                query: fields.maybe_text("query")?,
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(RpcCommand::Ask(ask)))
}

fn set(name: &str, fields: &mut Fields) -> ParseResult {
    let set = match name {
        "set_model" => Set::Model { provider: fields.text("provider")?, model: fields.text("modelId")? },
        "cycle_model" => Set::NextModel,
        "set_thinking_level" => Set::Thinking(fields.word(
            "level",
            "off, minimal, low, medium, high or xhigh",
            ThinkingLevel::parse,
        )?),
        "cycle_thinking_level" => Set::NextThinking,
        "set_steering_mode" => Set::SteeringMode(mode(fields)?),
        "set_follow_up_mode" => Set::FollowUpMode(mode(fields)?),
        "set_auto_compaction" => Set::AutoCompaction(enabled(fields)?),
        "set_auto_retry" => Set::AutoRetry(enabled(fields)?),
        "set_approvals" => Set::Approvals(enabled(fields)?),
        "set_deltas" => Set::Deltas(enabled(fields)?),
        _ => return Ok(None),
    };
    Ok(Some(RpcCommand::Set(set)))
}

fn mode(fields: &mut Fields) -> Result<DeliveryMode, FieldError> {
    fields.word("mode", "\"one-at-a-time\" or \"all\"", |word| match word {
        "one-at-a-time" => Some(DeliveryMode::OneAtATime),
        "all" => Some(DeliveryMode::All),
        _ => None,
    })
}

fn enabled(fields: &mut Fields) -> Result<Switch, FieldError> {
    Ok(if fields.switch("enabled")? { Switch::On } else { Switch::Off })
}

fn queue(name: &str, fields: &mut Fields) -> ParseResult {
    let command = match name {
        "get_queue" => QueueCommand::List,
        "edit_queued" => {
            let edit = QueueEdit {
                text: fields.maybe_text("message")?,
                images: fields.maybe_images()?,
                kind: kind(fields)?,
                place: fields.maybe_count("place")?,
            };
            QueueCommand::Edit { id: queue_id(fields)?, edit }
        }
        "remove_queued" => QueueCommand::Remove(queue_id(fields)?),
        "release_queued" => QueueCommand::Release(queue_id(fields)?),
        "clear_queue" => QueueCommand::Clear(kind(fields)?),
        _ => return Ok(None),
    };
    Ok(Some(RpcCommand::Queue(command)))
}

fn queue_id(fields: &mut Fields) -> Result<QueueId, FieldError> {
    Ok(QueueId::new(fields.text("queueId")?))
}

fn kind(fields: &mut Fields) -> Result<Option<QueueKind>, FieldError> {
    fields.maybe_word("kind", "\"steer\" or \"followUp\"", |word| match word {
        "steer" => Some(QueueKind::Steer),
        "followUp" => Some(QueueKind::FollowUp),
        _ => None,
    })
}

fn session(name: &str, fields: &mut Fields) -> ParseResult {
    let command = match name {
        "new_session" => {
            SessionCommand::New { parent: fields.maybe_text("parentSession")?.map(PathBuf::from) }
        }
        "switch_session" => SessionCommand::Switch(fields.text("sessionPath")?.into()),
        "fork" => SessionCommand::Fork(entry(fields)?),
        "clone" => SessionCommand::Clone,
        "navigate" => SessionCommand::Navigate { entry: entry(fields)?, summary: summary(fields)? },
        "set_label" => SessionCommand::Label {
            entry: entry(fields)?,
            label: fields.maybe_text("label")?.filter(|label| !label.is_empty()),
        },
        "hide" => {
            let hidden = fields.maybe_switch("hidden")?.unwrap_or(true);
            let visibility = if hidden { Visibility::Hidden } else { Visibility::Shown };
            SessionCommand::Hide { entry: entry(fields)?, visibility }
        }
        "set_session_name" => {
            SessionCommand::Name(fields.word("name", "a name that isn't empty", |name| {
                Some(name.trim().to_owned()).filter(|name| !name.is_empty())
            })?)
        }
        "export_html" => SessionCommand::ExportHtml { output: fields.maybe_text("outputPath")? },
        _ => return Ok(None),
    };
    Ok(Some(RpcCommand::Session(command)))
}

fn entry(fields: &mut Fields) -> Result<EntryId, FieldError> {
    Ok(EntryId::new(fields.text("entryId")?))
}

fn summary(fields: &mut Fields) -> Result<BranchSummary, FieldError> {
    let instructions = fields.maybe_text("instructions")?;
    match fields.take("summary") {
        None | Some(Value::Bool(false)) => Ok(BranchSummary::None),
        Some(Value::Bool(true)) => Ok(BranchSummary::Made { instructions }),
        Some(Value::String(text)) => Ok(BranchSummary::Text(text)),
        Some(_) => {
            Err(FieldError::Wrong { field: "summary", expected: "true, false or the summary's own text" })
        }
    }
}

fn work(name: &str, fields: &mut Fields) -> ParseResult {
    Ok(Some(match name {
        "abort" => RpcCommand::Abort,
        "abort_retry" => RpcCommand::AbortRetry,
        "abort_bash" => RpcCommand::AbortBash,
        "bash" => {
            let exclude = fields.maybe_switch("excludeFromContext")?.unwrap_or_default();
            let context = if exclude { BashContext::Exclude } else { BashContext::Include };
            let line = fields.word("command", "a command that isn't empty", |line| {
                Some(line.to_owned()).filter(|line| !line.trim().is_empty())
            })?;
            RpcCommand::Bash { line, context }
        }
        "truncate" => RpcCommand::Truncate,
        "compact" => RpcCommand::Compact { instructions: fields.maybe_text("customInstructions")? },
        "abort_compaction" => RpcCommand::AbortCompaction,
        "resolve_compaction" => RpcCommand::ResolveCompaction(choice(fields)?),
        "approve" => {
            RpcCommand::Approve { call: CallId::new(fields.text("callId")?), decision: decision(fields)? }
        }
        "reload" => RpcCommand::Reload,
        _ => return Ok(None),
    }))
}

fn choice(fields: &mut Fields) -> Result<CompactionChoice, FieldError> {
    fields.word("choice", "\"retry\", \"truncate\" or \"go_on\"", |word| match word {
        "retry" => Some(CompactionChoice::Retry),
        "truncate" => Some(CompactionChoice::Truncate),
        "go_on" => Some(CompactionChoice::GoOn),
        _ => None,
    })
}

fn decision(fields: &mut Fields) -> Result<Decision, FieldError> {
    let reason = fields.maybe_text("reason")?.unwrap_or_else(|| "the user said no".to_owned());
    fields.word("decision", "\"once\", \"session\" or \"deny\"", |word| match word {
        "once" => Some(Decision::Once),
        "session" => Some(Decision::Session),
        "deny" => Some(Decision::Deny { reason }),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(name: &str, fields: Value) -> Result<RpcCommand, String> {
        let Value::Object(fields) = fields else { panic!("{fields}") };
        RpcCommand::parse(name, Fields::new(fields)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_command_is_read_from_its_fields() {
        let image = Image { data: "AA==".into(), mime_type: "image/png".into() };
        let cases = [
            (
                ("prompt", json!({"message": "hi", "streamingBehavior": "followUp", "images": [image]})),
                RpcCommand::Say(PromptCommand {
                    text: "hi".into(),
                    images: vec![image.clone()],
                    how: Delivery::Prompt(Some(StreamingBehavior::FollowUp)),
                }),
            ),
            (
                ("set_thinking_level", json!({"level": "high"})),
                RpcCommand::Set(Set::Thinking(ThinkingLevel::High)),
            ),
            (
                ("edit_queued", json!({"queueId": "q", "place": 2, "kind": "steer", "message": null})),
                RpcCommand::Queue(QueueCommand::Edit {
                    id: "q".into(),
                    edit: QueueEdit { place: Some(2), kind: Some(QueueKind::Steer), ..QueueEdit::default() },
                }),
            ),
            (
                ("navigate", json!({"entryId": "e", "summary": true, "instructions": "short"})),
                RpcCommand::Session(SessionCommand::Navigate {
                    entry: "e".into(),
                    summary: BranchSummary::Made { instructions: Some("short".into()) },
                }),
            ),
            (
                ("bash", json!({"command": "ls", "excludeFromContext": true})),
                RpcCommand::Bash { line: "ls".into(), context: BashContext::Exclude },
            ),
            (
                ("approve", json!({"callId": "c", "decision": "deny", "reason": "not here"})),
                RpcCommand::Approve {
                    call: "c".into(),
                    decision: Decision::Deny { reason: "not here".into() },
                },
            ),
            (
                ("set_label", json!({"entryId": "e", "label": ""})),
                RpcCommand::Session(SessionCommand::Label { entry: "e".into(), label: None }),
            ),
        ];
        for ((name, fields), expected) in cases {
            assert_eq!(parse(name, fields), Ok(expected), "{name}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            (("dance", json!({})), "unknown command `dance`"),
            (("prompt", json!({})), "the field `message` is missing"),
            (("prompt", json!({"message": ""})), "the field `message` must be a text that isn't empty"),
            (("steer", json!({"message": " \n"})), "the field `message` must be a text that isn't empty"),
            (("bash", json!({"command": " "})), "the field `command` must be a command that isn't empty"),
            (
                ("prompt", json!({"message": "x", "streamingBehavior": "now"})),
                "the field `streamingBehavior` must be \"steer\" or \"followUp\"",
            ),
            (("set_model", json!({"provider": "p", "modelId": 3})), "the field `modelId` must be a string"),
            (
                ("set_thinking_level", json!({"level": "most"})),
                "the field `level` must be off, minimal, low, medium, high or xhigh",
            ),
            (("set_auto_retry", json!({"enabled": "yes"})), "the field `enabled` must be true or false"),
            (("fork", json!({"entryId": null})), "the field `entryId` is missing"),
            (("set_session_name", json!({"name": " "})), "the field `name` must be a name that isn't empty"),
            (
                ("approve", json!({"callId": "c", "decision": "maybe"})),
                "the field `decision` must be \"once\", \"session\" or \"deny\"",
            ),
        ];
        for ((name, fields), expected) in cases {
            assert_eq!(parse(name, fields), Err(expected.to_owned()), "{name}");
        }
    }
}
