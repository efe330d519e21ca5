//! Messages between tiller and an extension's process (docs/extending.md): types and their JSON.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tiller_core::event::Event;
use tiller_core::id::SessionId;
use tiller_core::message::{Content, Message, ToolCall};
use tiller_core::tool_spec::Access;
use tiller_tools::tool::ToolOutput;

use super::{
    CallVerdict, CommandOutcome, EventDetail, ExtensionCommand, HookError, PromptVerdict, RequestChange,
    RequestContext, ResultChange, RunEndVerdict, SessionOpening,
};

/// Version of the protocol.
pub(super) const PROTOCOL: u32 = 1;

/// A message to a process.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum ToProcess<'a> {
    Hello { protocol: u32, tiller: &'static str, session: &'a SessionId, cwd: &'a Path },
    Request { id: u64, hook: &'static str, params: Value },
    Cancel { id: u64 },
    TurnEnd { message: &'a Message, tool_results: &'a [Arc<Message>] },
    Event { event: &'a Event },
    Close,
}

impl ToProcess<'_> {
    /// Returns the message as a line with its newline.
    pub(super) fn to_line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("messages have only string keys");
        line.push(b'\n');
        line
    }
}

/// A message from a process.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum FromProcess {
    Ready(Declaration),
    Answer {
        id: u64,
        #[serde(default)]
        result: Value,
        #[serde(default)]
        error: Option<String>,
    },
    Progress {
        id: u64,
        text: String,
    },
}

/// A process's declaration.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Declaration {
    pub(super) protocol: u32,
    pub(super) hooks: Vec<String>,
    pub(super) events: Option<EventDetail>,
    pub(super) commands: Vec<ExtensionCommand>,
    pub(super) tools: Vec<DeclaredTool>,
    pub(super) skills: Vec<PathBuf>,
    pub(super) prompts: Vec<PathBuf>,
}

#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct DeclaredTool {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    /// A JSON Schema of type object. Default: a schema without arguments.
    #[serde(default)]
    pub(super) parameters: Option<Value>,
    #[serde(default)]
    pub(super) access: DeclaredAccess,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DeclaredAccess {
    Reads,
    Writes,
    /// The default, because it is the strictest.
    #[default]
    Executes,
}

impl From<DeclaredAccess> for Access {
    fn from(declared: DeclaredAccess) -> Self {
        match declared {
            DeclaredAccess::Reads => Self::Reads,
            DeclaredAccess::Writes => Self::Writes,
            DeclaredAccess::Executes => Self::Executes,
        }
    }
}

/// The hooks that a process can declare.
pub(super) const HOOKS: [&str; 9] = [
    "session_start",
    "prompt_submit",
    "before_agent_start",
    "turn_start",
    "turn_end",
    "tool_call",
    "tool_result",
    "run_end",
    "session_event",
];

impl Declaration {
    pub(super) fn has(&self, hook: &str) -> bool {
        self.hooks.iter().any(|known| known == hook)
    }

    /// Returns the set of events that the process subscribed to.
    pub(super) fn event_detail(&self) -> EventDetail {
        if self.has("session_event") { self.events.unwrap_or_default() } else { EventDetail::Nothing }
    }

    /// Returns the first unknown hook in the declaration.
    pub(super) fn unknown_hook(&self) -> Option<&str> {
        self.hooks.iter().map(String::as_str).find(|hook| !HOOKS.contains(hook))
    }
}

pub(super) fn opening_params(opening: &SessionOpening) -> Value {
    let SessionOpening { session, log, source } = opening;
    json!({"session": session, "log": log, "source": source.name()})
}

pub(super) fn request_params(opening: &RequestContext) -> Value {
    let RequestContext { session, model, prompt, system, tools } = opening;
    json!({"session": session, "model": model, "prompt": prompt, "system": system, "tools": tools})
}

pub(super) fn call_params(call: &ToolCall) -> Value {
    json!({"toolCallId": call.id, "toolName": call.name, "args": call.arguments})
}

pub(super) fn result_params(call: &ToolCall, output: &ToolOutput) -> Value {
    let mut params = self::call_params(call);
    params["content"] = json!(output.content);
    params["details"] = json!(output.details);
    params["isError"] = json!(output.is_error);
    params
}

/// Parses a result; `subject` names it in errors.
fn parse_result<T: for<'de> Deserialize<'de>>(result: Value, subject: &str) -> Result<T, HookError> {
    serde_path_to_error::deserialize(result).map_err(|error| {
        let path = error.path().to_string();
        HookError::new(format!("its reply is not a valid {subject}: {path}: {}", error.into_inner()))
    })
}

/// Parses the text for the model at the start of a session. Null and an empty object add none.
pub(super) fn session_context(result: Value) -> Result<Option<String>, HookError> {
    #[derive(Deserialize, Default)]
    #[serde(deny_unknown_fields)]
    struct SessionContext {
        context: Option<String>,
    }
    let parsed = parse_result::<Option<SessionContext>>(result, "context of a session")?;
    Ok(parsed.unwrap_or_default().context)
}

/// Parses a verdict on a prompt. Null accepts it.
pub(super) fn prompt_verdict(result: Value) -> Result<PromptVerdict, HookError> {
    #[derive(Deserialize)]
    #[serde(tag = "verdict", rename_all = "lowercase")]
    enum PromptFields {
        Accept { context: Option<String> },
        Reject { reason: String },
    }
    Ok(match parse_result(result, "verdict on a prompt")? {
        None => PromptVerdict::default(),
        Some(PromptFields::Accept { context }) => PromptVerdict::Accept { context },
        Some(PromptFields::Reject { reason }) => PromptVerdict::Reject { reason },
    })
}

/// Parses a verdict on the end of a run. Null lets the run end.
pub(super) fn run_end_verdict(result: Value) -> Result<RunEndVerdict, HookError> {
    #[derive(Deserialize)]
    #[serde(tag = "verdict", rename_all = "lowercase")]
    enum RunEndFields {
        Finish,
        Continue { instruction: String },
    }
    Ok(match parse_result(result, "verdict on the end of a run")? {
        None | Some(RunEndFields::Finish) => RunEndVerdict::Finish,
        Some(RunEndFields::Continue { instruction }) => RunEndVerdict::Continue { instruction },
    })
}

/// Parses changes to a request. Null and an empty object change nothing.
pub(super) fn request_change(result: Value) -> Result<RequestChange, HookError> {
    #[derive(Deserialize, Default)]
    #[serde(deny_unknown_fields)]
    struct RequestChangeFields {
        prompt: Option<String>,
        system: Option<String>,
        tools: Option<Vec<String>>,
    }
    let RequestChangeFields { prompt, system, tools } =
        parse_result::<Option<RequestChangeFields>>(result, "change of a request")?.unwrap_or_default();
    Ok(RequestChange { prompt, system, tools })
}

/// Parses a verdict on a call. Invalid input is an error and never counts as consent.
pub(super) fn verdict(result: Value) -> Result<CallVerdict, HookError> {
    #[derive(Deserialize)]
    #[serde(tag = "verdict", rename_all = "lowercase")]
    enum Verdict {
        Allow,
        Ask { reason: String },
        Deny { reason: String },
        Rewrite { arguments: Value, reason: Option<String> },
    }
    Ok(match parse_result(result, "verdict")? {
        Verdict::Allow => CallVerdict::Allow,
        Verdict::Ask { reason } => CallVerdict::Ask { reason },
        Verdict::Deny { reason } => CallVerdict::Deny { reason },
        Verdict::Rewrite { arguments, reason } => CallVerdict::Rewrite { arguments, approval: reason },
    })
}

pub(super) fn result_change(result: Value) -> Result<ResultChange, HookError> {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct ResultChangeFields {
        content: Option<Content>,
        is_error: Option<bool>,
    }
    let ResultChangeFields { content, is_error } =
        parse_result::<Option<ResultChangeFields>>(result, "change of a result")?.unwrap_or_default();
    Ok(ResultChange { content: content.map(|content| content.to_blocks()), is_error })
}

pub(super) fn command_outcome(result: Value) -> Result<CommandOutcome, HookError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Outcome {
        Prompt(String),
        Notice(String),
    }
    Ok(match parse_result(result, "outcome of a command")? {
        Outcome::Prompt(text) => CommandOutcome::Prompt(text),
        Outcome::Notice(text) => CommandOutcome::Notice(text),
    })
}

pub(super) fn tool_output(result: Value) -> Result<ToolOutput, HookError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Output {
        content: Content,
        #[serde(default)]
        details: Option<Value>,
        #[serde(default)]
        is_error: bool,
    }
    let Output { content, details, is_error } = parse_result(result, "result of a tool")?;
    Ok(ToolOutput { content: content.to_blocks(), details, is_error, warning: None })
}

#[cfg(test)]
mod tests {
    use tiller_core::message::UserBlock;

    use super::*;

    fn declared(json: Value) -> Declaration {
        match serde_json::from_value(json).unwrap() {
            FromProcess::Ready(declared) => declared,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn declared_missing_fields_are_empty_and_access_is_executes() {
        let ready =
            declared(json!({"type": "ready", "protocol": 1, "tools": [{"name": "t"}], "later": true}));
        assert_eq!(ready.tools[0].access, DeclaredAccess::Executes);
        assert_eq!((ready.hooks.len(), ready.event_detail()), (0, EventDetail::Nothing));
        let ready = declared(json!({"type": "ready", "hooks": ["session_event", "on_tuesday"]}));
        assert_eq!((ready.protocol, ready.event_detail()), (0, EventDetail::Whole));
        assert_eq!(ready.unknown_hook(), Some("on_tuesday"));
    }

    #[test]
    fn verdict_unclear_answer_is_an_error() {
        let reason = "no".to_owned();
        assert_eq!(verdict(json!({"verdict": "deny", "reason": "no"})), Ok(CallVerdict::Deny { reason }));
        assert_eq!(verdict(json!({"verdict": "allow"})), Ok(CallVerdict::Allow));
        for unclear in
            [json!(null), json!({}), json!({"verdict": "maybe"}), json!({"verdict": "deny"}), json!(true)]
        {
            let error = verdict(unclear.clone()).unwrap_err().to_string();
            assert!(error.starts_with("its reply is not a valid verdict"), "{unclear}: {error}");
        }
    }

    #[test]
    fn prompt_and_run_end_verdicts_are_parsed() {
        assert_eq!(session_context(json!(null)), Ok(None));
        assert_eq!(session_context(json!({"context": "c"})), Ok(Some("c".into())));
        assert_eq!(prompt_verdict(json!(null)), Ok(PromptVerdict::default()));
        let context = Some("c".to_owned());
        assert_eq!(
            prompt_verdict(json!({"verdict": "accept", "context": "c"})),
            Ok(PromptVerdict::Accept { context })
        );
        let reason = "r".to_owned();
        assert_eq!(
            prompt_verdict(json!({"verdict": "reject", "reason": "r"})),
            Ok(PromptVerdict::Reject { reason })
        );
        assert!(prompt_verdict(json!({"verdict": "reject"})).is_err());
        assert_eq!(run_end_verdict(json!(null)), Ok(RunEndVerdict::Finish));
        let instruction = "i".to_owned();
        assert_eq!(
            run_end_verdict(json!({"verdict": "continue", "instruction": "i"})),
            Ok(RunEndVerdict::Continue { instruction })
        );
        assert!(run_end_verdict(json!({"verdict": "continue"})).is_err());
    }

    #[test]
    fn request_change_may_be_empty_and_content_may_be_text() {
        assert_eq!(request_change(json!(null)), Ok(RequestChange::default()));
        assert_eq!(request_change(json!({})), Ok(RequestChange::default()));
        assert!(request_change(json!({"promt": "x"})).is_err(), "a slip is told");
        let content = Some(vec![UserBlock::Text { text: "x".into() }]);
        assert_eq!(
            result_change(json!({"content": "x", "isError": true})),
            Ok(ResultChange { content, is_error: Some(true) })
        );
        assert_eq!(command_outcome(json!({"notice": "n"})), Ok(CommandOutcome::Notice("n".into())));
        assert!(command_outcome(json!({})).is_err());
    }
}
