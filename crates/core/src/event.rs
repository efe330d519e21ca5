//! Events of a session, for front ends.
//!
//! The JSON names are the same as in pi's event stream, so its clients can read `--mode json` unchanged;
//! tiller adds its own fields. An event is sent only after the entry that it reports is in the log. Every
//! event carries a sequence number, so that a front end that joined late or lagged can take a snapshot and
//! continue from there.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::background_job::CommandJob;
use crate::delegated_task::{DelegatedTask, DelegatedTaskEnd, RequestingAgent};
use crate::elicitation::{ElicitationAction, ElicitationRequest};
use crate::entry_line::EntryLine;
use crate::id::{CallId, ElicitationId, EntryId, QueueId, SessionId};
use crate::message::{
    BashExecutionMessage, Image, Message, ModelRef, ThinkingLevel, ToolCall, ToolResultMessage, Usage,
    UserBlock,
};
use crate::proposed_rules::ProposedRules;
use crate::skill_message::typed_skill;
use crate::unit::{Tokens, UnixMs};

/// An event with its sequence number and time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    /// The content of the event.
    #[serde(flatten)]
    pub kind: EventKind,
    /// The sequence number: from 1, without gaps within one process.
    pub seq: u64,
    /// The time at which it was sent.
    pub time: UnixMs,
}

/// The content of an event.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum EventKind {
    /// A run begins, or continues after an end with `will_retry`.
    AgentStart,
    /// A run has ended, or pauses before a retry.
    AgentEnd {
        /// The messages that the run added, in order.
        messages: Vec<Arc<Message>>,
        /// True if the request will be retried.
        will_retry: bool,
        /// The outcome of the run.
        outcome: RunOutcome,
    },
    /// Nothing is running or queued to run; the last event of a run.
    AgentSettled,
    /// A request is about to be sent.
    TurnStart,
    /// An answer and the results of its calls are complete.
    TurnEnd {
        /// The answer.
        message: Arc<Message>,
        /// The results of its calls, in the order in which they ended.
        tool_results: Vec<Arc<Message>>,
    },
    /// A message begins; an answer is still empty.
    MessageStart {
        /// The message.
        message: Arc<Message>,
    },
    /// A piece of the answer arrived.
    MessageUpdate {
        /// Tokens so far, as reported by the provider.
        usage: Usage,
        /// The piece.
        assistant_message_event: AssistantDelta,
    },
    /// A message is complete and in the log.
    MessageEnd {
        /// The message.
        message: Arc<Message>,
    },
    /// A tool call starts.
    ToolExecutionStart {
        /// The call.
        tool_call_id: CallId,
        /// The tool.
        tool_name: String,
        /// The call's arguments.
        args: Value,
    },
    /// A running tool reports intermediate output.
    ToolExecutionUpdate {
        /// The call.
        tool_call_id: CallId,
        /// The tool.
        tool_name: String,
        /// The call's arguments.
        args: Value,
        /// The newest part of its output; replaces the previous one.
        partial_result: ToolOutcome,
    },
    /// A call has its result, and the result is in the log.
    ToolExecutionEnd {
        /// The call.
        tool_call_id: CallId,
        /// The tool.
        tool_name: String,
        /// The result.
        result: ToolOutcome,
        /// True if the call failed, was refused or was skipped.
        is_error: bool,
    },
    /// A call was denied without an approval request. Its `tool_execution_start` and `tool_execution_end`
    /// follow.
    ToolCallDenied(Denial),
    /// A call is waiting for approval.
    ApprovalRequested(ApprovalRequest),
    /// A call is no longer waiting for approval.
    ApprovalResolved {
        /// The call.
        tool_call_id: CallId,
        /// The decision.
        decision: Decision,
    },
    /// A tool's server requests input from the user.
    ElicitationRequested(ElicitationRequest),
    /// A server's question was answered or withdrawn. The values of the answer go to the server alone.
    ElicitationResolved {
        /// The question.
        elicitation_id: ElicitationId,
        /// The kind of answer.
        action: ElicitationAction,
        /// True if the server stopped waiting before the user answered.
        withdrawn: bool,
    },
    /// The queues changed.
    QueueUpdate {
        /// The text of each steering message that is [`listed`].
        steering: Vec<String>,
        /// The text of each follow-up that is [`listed`].
        follow_up: Vec<String>,
        /// All messages with ids and states, in the order of delivery. The JSON has only the [`listed`] ones:
        /// each event repeats them, and a long queue would be sent again with every added message. Not
        /// deserialized, because the JSON has no images.
        #[serde(serialize_with = "serialize_listed", skip_deserializing)]
        items: Vec<Arc<QueueItem>>,
        /// The number of waiting messages.
        total: usize,
    },
    /// An entry is in the log.
    EntryAppended {
        /// The entry's id.
        entry_id: EntryId,
        /// The entry's line, as written.
        entry: EntryLine,
    },
    /// The model of the next turn has changed.
    ModelChanged {
        /// The model.
        model: ModelRef,
    },
    /// The thinking level of the next turn has changed.
    ThinkingLevelChanged {
        /// The level.
        level: ThinkingLevel,
    },
    /// The session or its branch was switched, or another program appended many entries.
    SessionChanged {
        /// The reason.
        reason: SessionChange,
        /// The session.
        session_id: SessionId,
    },
    /// The session's name was set or removed.
    SessionInfoChanged {
        /// The name.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A `!` or `!!` command began.
    BashExecutionStart {
        /// Identifies the command until its end.
        id: EntryId,
        /// The command.
        command: String,
        /// True for `!!`.
        exclude_from_context: bool,
    },
    /// A `!` or `!!` command printed output.
    BashExecutionUpdate {
        /// Identifies the command.
        id: EntryId,
        /// The output since the last update.
        delta: String,
    },
    /// A `!` or `!!` command has ended; its record is logged by the end of the turn.
    BashExecutionEnd {
        /// Identifies the command.
        id: EntryId,
        /// Its record.
        message: Arc<BashExecutionMessage>,
    },
    /// A command keeps running as a background job.
    BackgroundJobStart(CommandJob),
    /// A background job has ended. The next request informs the model, unless it was already informed.
    BackgroundJobEnd(CommandJob),
    /// An agent has started to work on a task for the session.
    AgentTaskStart(DelegatedTask),
    /// An agent is no longer working on its task.
    AgentTaskEnd(DelegatedTaskEnd),
    /// An event of an agent that works for the session, or for one of its agents. Deltas and partial output are
    /// forwarded only if enabled; log entries and traces are never forwarded. Approval requests and questions are
    /// sent as the session's own.
    AgentEvent {
        /// The agent's session.
        agent_id: SessionId,
        /// The session that delegated to it.
        parent_id: SessionId,
        /// The agent's name.
        name: String,
        /// The event.
        event: Arc<Event>,
    },
    /// A request failed and will be retried after a delay.
    AutoRetryStart {
        /// The number of the next retry, from 1.
        attempt: u32,
        /// The maximum number of retries.
        max_attempts: u32,
        /// The delay, in milliseconds.
        delay_ms: u64,
        /// The error.
        error_message: String,
    },
    /// A retried request has succeeded, or no more retries will follow.
    AutoRetryEnd {
        /// True if it succeeded.
        success: bool,
        /// The number of retries.
        attempt: u32,
        /// The last error.
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<String>,
    },
    /// Compaction of the context has started.
    CompactionStart {
        /// The reason for it.
        reason: CompactionReason,
    },
    /// Compaction failed, and the user must choose the next step.
    CompactionFailed {
        /// The reason for the compaction.
        reason: CompactionReason,
        /// The error.
        error_message: String,
        /// The possible choices.
        choices: Vec<CompactionChoice>,
    },
    /// A summary request, for the context or a branch, failed and will be retried after a delay.
    SummaryRetry {
        /// The number of the next retry, from 1.
        attempt: u32,
        /// The maximum number of retries.
        max_attempts: u32,
        /// The delay, in milliseconds.
        delay_ms: u64,
        /// The error.
        error_message: String,
    },
    /// A summary of a branch is being generated before switching to another one.
    BranchSummaryStart,
    /// The branch was switched, or the switch was abandoned.
    BranchSummaryEnd {
        /// True if the user stopped it.
        aborted: bool,
        /// The error.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// Compaction has ended: the smaller context is in the log, or the context is unchanged.
    CompactionEnd {
        /// The reason for it.
        reason: CompactionReason,
        /// The summary that replaces the older part.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Box<CompactionResult>>,
        /// True if the user stopped it.
        aborted: bool,
        /// True if the request that was too long is now being sent again.
        will_retry: bool,
        /// The error.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// Skills, templates or context files have changed.
    ResourcesChanged {
        /// The number of skills.
        skills: usize,
        /// The number of templates.
        templates: usize,
        /// The number of context files.
        context_files: usize,
    },
    /// The slash commands or servers' resources have changed: an MCP server has started, ended, or changed
    /// its prompts or resources.
    CommandsChanged,
    /// A message to the user, from an extension's command or about a prompt that is waiting for hooks. A
    /// command's message outside a run is sent within an empty run: `agent_start`, the notice, `agent_end`.
    Notice {
        /// The message, in plain text.
        message: String,
    },
    /// A problem occurred, but work continues.
    Warning {
        /// The problem, in one sentence.
        message: String,
        /// The advice.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// A debugging detail: an unknown provider event or an unparsable chunk.
    Trace {
        /// The kind of detail.
        name: String,
        /// The data, truncated.
        data: Value,
    },
}

/// A piece of a growing answer. `content_index` is the index of its block in the message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the three kinds of block have the same three events with the same fields")]
pub enum AssistantDelta {
    TextStart {
        content_index: usize,
    },
    TextDelta {
        content_index: usize,
        delta: String,
    },
    TextEnd {
        content_index: usize,
        content: String,
    },
    ThinkingStart {
        content_index: usize,
    },
    ThinkingDelta {
        content_index: usize,
        delta: String,
    },
    ThinkingEnd {
        content_index: usize,
        content: String,
    },
    ToolcallStart {
        content_index: usize,
        id: CallId,
        #[serde(rename = "toolName")]
        name: String,
    },
    ToolcallDelta {
        content_index: usize,
        delta: String,
    },
    ToolcallEnd {
        content_index: usize,
        tool_call: ToolCall,
    },
}

/// Output of a tool: so far, or final.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// The content for the model.
    pub content: Vec<UserBlock>,
    /// Data for people and programs only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl From<&ToolResultMessage> for ToolOutcome {
    fn from(message: &ToolResultMessage) -> Self {
        Self { content: message.content.clone(), details: message.details.clone() }
    }
}

/// A call that was denied without an approval request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Denial {
    /// The call.
    pub tool_call_id: CallId,
    /// The tool.
    pub tool_name: String,
    /// The kind of reason.
    pub cause: DenialCause,
    /// The reason given by the policy or the extension, without the hint that the model gets with it.
    pub reason: String,
    /// The weakest flag that would have allowed the call, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_by: Option<AllowedBy>,
}

/// The kind of reason for denying a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DenialCause {
    /// It needs approval, and the session is non-interactive.
    NoApprover,
    /// The approval mode or a rule forbids it.
    Policy,
    /// An extension forbids it.
    Extension,
    /// The model repeats it, and the session is non-interactive.
    Loop,
}

/// A flag that would let a call run without an approval request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowedBy {
    /// `--approval auto`, and `--yes` too.
    Auto,
    /// `--yes`.
    Yes,
}

/// A call that is waiting for approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The call.
    pub tool_call_id: CallId,
    /// The tool.
    pub tool_name: String,
    /// The call's arguments.
    pub args: Value,
    /// The reason for the question.
    pub reason: String,
    /// The calls that [`Decision::Session`] would allow for the rest of this session. Empty if an extension
    /// requires approval of every call; then it means [`Decision::Once`].
    pub rule: String,
    /// The settings rules that would allow the call and others like it, in this session and later ones.
    /// `None` if no rule can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed: Option<ProposedRules>,
    /// The requesting agent; `None` for the session itself.
    #[serde(flatten)]
    pub agent: Option<RequestingAgent>,
    /// The requesting agent's working directory, if it isn't the session's: its worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// A preview of the call, if its tool provides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
    /// The number of later calls of the same answer that are known to need approval.
    pub later: usize,
}

/// A preview of a call's effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Preview {
    /// It would change a file.
    Change(FileChange),
    /// It would fail.
    Failure {
        /// The error, as the model would get it.
        message: String,
    },
}

/// A change to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file's path, as displayed by its tool.
    pub path: String,
    /// A unified diff, cut at 2,000 lines.
    pub diff: String,
    /// The number of added lines.
    pub added: usize,
    /// The number of removed lines.
    pub removed: usize,
}

/// A decision on a call that is waiting for approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "camelCase")]
pub enum Decision {
    /// This call may run.
    Once,
    /// This call and others that the rule covers may run until another session is opened or the rule is revoked.
    Session,
    /// The call must not run.
    Deny {
        /// The reason, for the model.
        reason: String,
    },
}

impl Decision {
    /// Returns the decision's name in the log.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Deny { .. } => "deny",
        }
    }
}

/// The decider of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    /// The user answered the question, or stopped the run.
    User,
    /// A settings rule or a session rule.
    Rule,
    /// The approval mode.
    Mode,
    /// `--yes` was given.
    YesFlag,
    /// A steering message replaced the answer.
    Steering,
    /// The session is non-interactive, or the agent's task ended before the answer.
    Nobody,
    /// An extension.
    Extension,
}

impl Decider {
    /// Returns the decider's name in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Rule => "rule",
            Self::Mode => "mode",
            Self::YesFlag => "yes-flag",
            Self::Steering => "steering",
            Self::Nobody => "nobody",
            Self::Extension => "extension",
        }
    }
}

/// The reason for a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionReason {
    /// The user requested it.
    Manual,
    /// The context is close to the model's window.
    Threshold,
    /// A request exceeded the model's window.
    Overflow,
}

/// A choice after a failed compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactionChoice {
    /// Retry the summary.
    Retry,
    /// Drop the older part without a summary; the first message stays.
    Truncate,
    /// Leave the context unchanged.
    GoOn,
}

impl CompactionChoice {
    /// All choices, in display order.
    pub const ALL: [Self; 3] = [Self::Retry, Self::Truncate, Self::GoOn];
}

/// The replacement of the older part of the context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionResult {
    /// The summary.
    pub summary: String,
    /// The first entry that is kept.
    pub first_kept_entry_id: EntryId,
    /// Size of the context before the compaction.
    pub tokens_before: Tokens,
    /// Additional data, such as the files read and modified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// The model finished.
    Completed,
    /// The provider or the log failed.
    Failed,
    /// The user stopped it.
    Aborted,
    /// The turn limit forced a final answer.
    MaxTurns,
}

/// The delivery of a queued message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum QueueKind {
    /// At the next gap between tool calls.
    Steer,
    /// As soon as the agent would otherwise be idle.
    FollowUp,
}

impl EventKind {
    /// Creates the update for these waiting messages.
    #[must_use]
    pub fn queue_update(items: Vec<impl Into<Arc<QueueItem>>>) -> Self {
        let items: Vec<Arc<QueueItem>> = items.into_iter().map(Into::into).collect();
        let texts = |kind: QueueKind| {
            let selected = listed(&items).iter().filter(|item| item.kind == kind);
            selected.map(|item| item.text.clone()).collect()
        };
        Self::QueueUpdate {
            steering: texts(QueueKind::Steer),
            follow_up: texts(QueueKind::FollowUp),
            total: items.len(),
            items,
        }
    }
}

/// Maximum number of messages that a `queue_update` lists as JSON.
const MAX_LISTED: usize = 100;

/// Maximum bytes of text that a `queue_update` lists as JSON: 64 KiB.
const MAX_LISTED_BYTES: usize = 64 * 1024;

/// Returns the first waiting messages: at most 100, with at most 64 KiB of text. `get_queue` returns all.
#[must_use]
pub fn listed(items: &[Arc<QueueItem>]) -> &[Arc<QueueItem>] {
    let mut bytes = 0;
    let is_listed = |item: &&Arc<QueueItem>| {
        bytes += item.text.len() + item.typed.as_ref().map_or(0, String::len);
        bytes <= MAX_LISTED_BYTES
    };
    &items[..items.iter().take(MAX_LISTED).take_while(is_listed).count()]
}

fn serialize_listed<S: Serializer>(items: &[Arc<QueueItem>], serializer: S) -> Result<S::Ok, S::Error> {
    listed(items).serialize(serializer)
}

/// A queued message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueItem {
    /// Its id in the queue.
    pub id: QueueId,
    /// Its kind, which decides when it is delivered.
    pub kind: QueueKind,
    /// The text.
    pub text: String,
    /// The text as typed, if a template produced the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typed: Option<String>,
    /// The images; serialized as their number, because they can be megabytes.
    #[serde(serialize_with = "serialize_count", skip_serializing_if = "<[Image]>::is_empty")]
    #[schemars(with = "usize")]
    pub images: Arc<[Image]>,
    /// True if it is held: it stays in the queue until it is released. Messages left over from an earlier process are
    /// held, too.
    pub held: bool,
}

impl QueueItem {
    /// Returns the text as typed: `/skill:name` or `/template` with its arguments if the message was made
    /// from one, else its text.
    #[must_use]
    pub fn as_typed(&self) -> String {
        self.typed.clone().or_else(|| typed_skill(&self.text)).unwrap_or_else(|| self.text.clone())
    }
}

fn serialize_count<S: Serializer>(images: &Arc<[Image]>, serializer: S) -> Result<S::Ok, S::Error> {
    images.len().serialize(serializer)
}

/// The reason for an [`EventKind::SessionChanged`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionChange {
    /// A new session.
    New,
    /// A session from disk.
    Open,
    /// A new session that begins with a copy of another one's branch.
    Fork,
    /// Another leaf of the same session.
    Leaf,
    /// The same session, to which another program appended more entries than are reported one by one.
    Grown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_is_a_flat_object_with_protocol_names() {
        let event = Event {
            seq: 3,
            time: UnixMs(9),
            kind: EventKind::MessageUpdate {
                usage: Usage::default(),
                assistant_message_event: AssistantDelta::TextDelta { content_index: 0, delta: "hi".into() },
            },
        };
        let value = serde_json::to_value(&event).unwrap();
        assert_eq!(value["type"], "message_update");
        assert_eq!(value["assistantMessageEvent"]["type"], "text_delta");
        assert_eq!(value["assistantMessageEvent"]["contentIndex"], 0);
        assert_eq!((&value["seq"], &value["time"]), (&Value::from(3), &Value::from(9)));
    }

    #[test]
    fn event_fields_have_protocol_names() {
        let call = AssistantDelta::ToolcallStart { content_index: 1, id: "c1".into(), name: "bash".into() };
        let call = serde_json::to_value(call).unwrap();
        let expected =
            serde_json::json!({"type": "toolcall_start", "contentIndex": 1, "id": "c1", "toolName": "bash"});
        assert_eq!(call, expected);
        let unnamed = serde_json::to_value(EventKind::SessionInfoChanged { name: None }).unwrap();
        assert_eq!(unnamed, serde_json::json!({"type": "session_info_changed"}));
    }

    /// Events as front ends in other processes get them, with every type that they contain.
    const EVENTS: &[&str] = &[
        r#"{"type":"agent_start","seq":1,"time":2}"#,
        r#"{"type":"agent_end","messages":[{"role":"user","content":"hi","timestamp":3}],"willRetry":false,"outcome":"max_turns","seq":1,"time":2}"#,
        r#"{"type":"message_update","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0.0,"output":0.0,"cacheRead":0.0,"cacheWrite":0.0,"total":0.0}},"assistantMessageEvent":{"type":"toolcall_start","contentIndex":0,"id":"c1","toolName":"bash"},"seq":1,"time":2}"#,
        r#"{"type":"tool_execution_update","toolCallId":"c1","toolName":"bash","args":{"b":1,"a":2},"partialResult":{"content":[{"type":"text","text":"x"}],"details":{"z":1}},"seq":1,"time":2}"#,
        r#"{"type":"tool_call_denied","toolCallId":"c1","toolName":"bash","cause":"no_approver","reason":"r","allowedBy":"auto","seq":1,"time":2}"#,
        r#"{"type":"approval_requested","toolCallId":"c1","toolName":"edit_file","args":{},"reason":"r","rule":"","preview":{"kind":"change","path":"p","diff":"d","added":1,"removed":0},"later":0,"seq":1,"time":2}"#,
        r#"{"type":"approval_resolved","toolCallId":"c1","decision":{"decision":"deny","reason":"r"},"seq":1,"time":2}"#,
        r#"{"type":"elicitation_requested","elicitationId":"e","server":"s","message":"m","mode":"form","fields":[{"name":"n","required":true,"type":"integer","minimum":1,"maximum":2}],"seq":1,"time":2}"#,
        r#"{"type":"entry_appended","entryId":"i","entry":{"type":"custom","id":"i","z":1,"a":[1.5]},"seq":1,"time":2}"#,
        r#"{"type":"session_changed","reason":"leaf","sessionId":"s","seq":1,"time":2}"#,
        r#"{"type":"compaction_failed","reason":"overflow","errorMessage":"e","choices":["retry","go_on"],"seq":1,"time":2}"#,
        r#"{"type":"agent_event","agentId":"a","parentId":"p","name":"n","event":{"type":"turn_start","seq":4,"time":5},"seq":1,"time":2}"#,
        r#"{"type":"trace","name":"n","data":[null],"seq":1,"time":2}"#,
    ];

    #[test]
    fn event_from_json_is_the_event_that_was_sent() {
        for json in EVENTS {
            let event: Event = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&event).unwrap(), *json);
        }
    }
}
