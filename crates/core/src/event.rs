//! All that a front end may be told while it watches a session.
//!
//! The JSON names are those of pi's event stream, so its clients read `--mode json` unchanged; fields of tiller's
//! own are extra. An event is told only after what it tells of is in the log. Every event carries a sequence number, so that a
//! front end which joined late or lagged can take a snapshot and go on from there.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::id::{CallId, EntryId, QueueId, SessionId};
use crate::message::{
    BashExecutionMessage, Image, Message, ModelRef, ThinkingLevel, ToolCall, ToolResultMessage, Usage,
    UserBlock,
};
use crate::skill_message::typed_skill;
use crate::unit::{Tokens, UnixMs};

/// One event, stamped.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
    /// Counts up from 1 without gaps within one process.
    pub seq: u64,
    /// When it was told.
    pub time: UnixMs,
}

/// What happened.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum EventKind {
    /// A run begins: the model will be asked.
    AgentStart,
    /// A run's last turn is over.
    AgentEnd {
        /// The messages it added, in order.
        messages: Vec<Arc<Message>>,
        /// Whether the same will be tried again.
        will_retry: bool,
        /// How it ended.
        outcome: RunOutcome,
    },
    /// Nothing runs and nothing waits to run; the last event of a run.
    AgentSettled,
    /// A request is about to be sent.
    TurnStart,
    /// An answer and the results of its calls are complete.
    TurnEnd {
        /// The answer.
        message: Arc<Message>,
        /// The results of its calls, in the order they ended.
        tool_results: Vec<Arc<Message>>,
    },
    /// A message begins; an answer is still empty.
    MessageStart {
        /// The message.
        message: Arc<Message>,
    },
    /// A piece of the answer arrived.
    MessageUpdate {
        /// Tokens so far, as far as the provider has told.
        usage: Usage,
        /// The piece.
        assistant_message_event: AssistantDelta,
    },
    /// A message is complete and in the log.
    MessageEnd {
        /// The message.
        message: Arc<Message>,
    },
    /// A tool begins to work.
    ToolExecutionStart {
        /// The call.
        tool_call_id: CallId,
        /// The tool.
        tool_name: String,
        /// The call's arguments.
        args: Value,
    },
    /// A tool at work shows what it has so far.
    ToolExecutionUpdate {
        /// The call.
        tool_call_id: CallId,
        /// The tool.
        tool_name: String,
        /// The call's arguments.
        args: Value,
        /// The newest part of its output; replaces the one told before.
        partial_result: ToolOutcome,
    },
    /// A call has its result, and that is in the log.
    ToolExecutionEnd {
        /// The call.
        tool_call_id: CallId,
        /// The tool.
        tool_name: String,
        /// What it came to.
        result: ToolOutcome,
        /// Whether it failed, was refused or was skipped.
        is_error: bool,
    },
    /// A call was denied without a question. Its `tool_execution_start` and `tool_execution_end` follow.
    ToolCallDenied(Denial),
    /// A call waits for somebody's word.
    ApprovalRequested(ApprovalRequest),
    /// A call no longer waits.
    ApprovalResolved {
        /// The call.
        tool_call_id: CallId,
        /// The word.
        decision: Decision,
    },
    /// The queues changed.
    QueueUpdate {
        /// Texts of the steering messages among those that are [`listed`].
        steering: Vec<String>,
        /// Texts of the follow-ups among those that are [`listed`].
        follow_up: Vec<String>,
        /// All messages with ids and states, in the order of delivery. As JSON only those that are [`listed`]: each event
        /// repeats them, and a long queue would be told anew with every message that joins it.
        #[serde(serialize_with = "serialize_listed")]
        items: Vec<Arc<QueueItem>>,
        /// How many messages wait.
        total: usize,
    },
    /// An entry is in the log.
    EntryAppended {
        /// Its id.
        entry_id: EntryId,
        /// The line, as written.
        entry: Arc<RawValue>,
    },
    /// Another model will answer the next turn.
    ModelChanged {
        /// The model.
        model: ModelRef,
    },
    /// The next turn will think this much.
    ThinkingLevelChanged {
        /// How much.
        level: ThinkingLevel,
    },
    /// Another session, or another branch of the same one, is on the screen now.
    SessionChanged {
        /// Why.
        reason: SessionChange,
        /// The session.
        session_id: SessionId,
    },
    /// The session got a name, or lost it.
    SessionInfoChanged {
        /// The name.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A `!` or `!!` command began.
    BashExecutionStart {
        /// Names it until its end.
        id: EntryId,
        /// The command.
        command: String,
        /// True for `!!`.
        exclude_from_context: bool,
    },
    /// A `!` or `!!` command printed something.
    BashExecutionUpdate {
        /// Names the command.
        id: EntryId,
        /// What it printed since the last update.
        delta: String,
    },
    /// A `!` or `!!` command is over; its record is in the log at the latest when the turn ends.
    BashExecutionEnd {
        /// Names the command.
        id: EntryId,
        /// Its record.
        message: Arc<BashExecutionMessage>,
    },
    /// A request failed, and goes out again after a while.
    AutoRetryStart {
        /// Which try comes next, from 1.
        attempt: u32,
        /// Most tries.
        max_attempts: u32,
        /// How long it waits, in milliseconds.
        delay_ms: u64,
        /// What went wrong.
        error_message: String,
    },
    /// A request that was tried again has its answer, or isn't tried any more.
    AutoRetryEnd {
        /// Whether there is an answer.
        success: bool,
        /// How often it was tried again.
        attempt: u32,
        /// What went wrong in the end.
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<String>,
    },
    /// A summary of the older part of the context is being made.
    CompactionStart {
        /// What made it necessary.
        reason: CompactionReason,
    },
    /// No summary could be made, and somebody is to say what now.
    CompactionFailed {
        /// What made it necessary.
        reason: CompactionReason,
        /// What went wrong.
        error_message: String,
        /// What may be answered.
        choices: Vec<CompactionChoice>,
    },
    /// A request for a summary failed, of the context or of a branch, and goes out again after a while.
    SummaryRetry {
        /// Which try comes next, from 1.
        attempt: u32,
        /// Most tries.
        max_attempts: u32,
        /// How long it waits, in milliseconds.
        delay_ms: u64,
        /// What went wrong.
        error_message: String,
    },
    /// A branch is being summed up before it is left.
    BranchSummaryStart,
    /// The branch was left, or it wasn't.
    BranchSummaryEnd {
        /// Whether somebody stopped it.
        aborted: bool,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// The context is smaller now and that is in the log, or it stays as it was.
    CompactionEnd {
        /// What made it necessary.
        reason: CompactionReason,
        /// What stands in its place.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Box<CompactionResult>>,
        /// Whether somebody stopped it.
        aborted: bool,
        /// Whether the request that was too long goes out again now.
        will_retry: bool,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// Skills, templates or context files are others than before.
    ResourcesChanged {
        /// How many skills there are.
        skills: usize,
        /// How many templates.
        templates: usize,
        /// How many context files.
        context_files: usize,
    },
    /// An extension's command has something to say to the user. When nothing ran, it comes with the start and the end of a run
    /// that adds no message.
    Notice {
        /// What, in plain text.
        message: String,
    },
    /// Something is not as it should be, and the work goes on.
    Warning {
        /// What, in one sentence.
        message: String,
        /// What to do about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// For those who look closely: unknown provider events, unparsable chunks.
    Trace {
        /// What kind of thing.
        name: String,
        /// The thing, capped.
        data: Value,
    },
}

/// A piece of a growing answer. `content_index` is the block's place in the message.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

/// What a tool has to show: so far, or in the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolOutcome {
    /// What the model reads.
    pub content: Vec<UserBlock>,
    /// What only people and programs read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl From<&ToolResultMessage> for ToolOutcome {
    fn from(message: &ToolResultMessage) -> Self {
        Self { content: message.content.clone(), details: message.details.clone() }
    }
}

/// A call that was denied without a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Denial {
    /// The call.
    pub tool_call_id: CallId,
    /// The tool.
    pub tool_name: String,
    /// The kind of reason.
    pub cause: DenialCause,
    /// The reason of the policy or the extension, without the advice that the model gets with it.
    pub reason: String,
    /// The least that would have allowed the call, where a flag can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_by: Option<AllowedBy>,
}

/// The kind of reason for which a call was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DenialCause {
    /// It asks, and nobody can be asked.
    NoApprover,
    /// The approval mode or a rule forbids it.
    Policy,
    /// An extension forbids it.
    Extension,
}

/// A flag under which a call would run without a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowedBy {
    /// `--approval auto`, and `--yes` too.
    Auto,
    /// `--yes`.
    Yes,
}

/// A call that waits for somebody's word.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The call.
    pub tool_call_id: CallId,
    /// The tool.
    pub tool_name: String,
    /// The call's arguments.
    pub args: Value,
    /// Why it asks.
    pub reason: String,
    /// What "always" would allow for the rest of this session; empty when an extension wants it asked about every time, and then
    /// "always" means once.
    pub rule: String,
    /// What the call would do, where its tool can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
    /// How many more calls of the same answer are going to ask after it, as far as is known by then.
    pub later: usize,
}

/// What a call would do if it ran now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Preview {
    /// It would change a file.
    Change(FileChange),
    /// It would fail.
    Failure {
        /// Why, as the model would be told.
        message: String,
    },
}

/// A change to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// The file, as its tool names it.
    pub path: String,
    /// A unified diff, cut at 2,000 lines.
    pub diff: String,
    /// How many lines it adds.
    pub added: usize,
    /// How many it removes.
    pub removed: usize,
}

/// Somebody's word on a call that waits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "decision", rename_all = "camelCase")]
pub enum Decision {
    /// This call may run.
    Once,
    /// This call and others that the rule covers may run until tiller ends.
    Session,
    /// It may not run; the model is told the reason.
    Deny {
        /// Why, for the model.
        reason: String,
    },
}

impl Decision {
    /// The word, as the log keeps it.
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
    /// A rule: one that the user gave for the session, or the approval mode.
    Rule,
    /// `--yes` answered beforehand.
    YesFlag,
    /// A steering message took the place of an answer.
    Steering,
    /// Nobody was there to answer.
    Nobody,
    /// An extension.
    Extension,
}

impl Decider {
    /// The word, as the log keeps it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Rule => "rule",
            Self::YesFlag => "yes-flag",
            Self::Steering => "steering",
            Self::Nobody => "nobody",
            Self::Extension => "extension",
        }
    }
}

/// Why the context has to shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionReason {
    /// The user wanted it.
    Manual,
    /// It has come close to the model's window.
    Threshold,
    /// It was longer than the model's window.
    Overflow,
}

/// What to do when no summary could be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionChoice {
    /// Ask the model once more.
    Retry,
    /// Leave the older part out without a summary; the first message stays.
    Truncate,
    /// Leave the context as it is.
    GoOn,
}

impl CompactionChoice {
    /// All of them, in the order they are offered.
    pub const ALL: [Self; 3] = [Self::Retry, Self::Truncate, Self::GoOn];
}

/// What stands in the place of the older part of the context.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionResult {
    /// The summary.
    pub summary: String,
    /// The first entry that stays as it is.
    pub first_kept_entry_id: EntryId,
    /// Size of the context before.
    pub tokens_before: Tokens,
    /// Files read and modified, among others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// The model had nothing more to do.
    Completed,
    /// The provider or the log failed.
    Failed,
    /// The user stopped it.
    Aborted,
    /// The limit of turns forced a final answer.
    MaxTurns,
}

/// When a queued message is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QueueKind {
    /// At the next gap between tool calls.
    Steer,
    /// When the agent would otherwise be done.
    FollowUp,
}

impl EventKind {
    /// The update that tells of these waiting messages.
    #[must_use]
    pub fn queue_update(items: Vec<impl Into<Arc<QueueItem>>>) -> Self {
        let items: Vec<Arc<QueueItem>> = items.into_iter().map(Into::into).collect();
        let texts = |kind: QueueKind| {
            let of_kind = listed(&items).iter().filter(|item| item.kind == kind);
            of_kind.map(|item| item.text.clone()).collect()
        };
        Self::QueueUpdate {
            steering: texts(QueueKind::Steer),
            follow_up: texts(QueueKind::FollowUp),
            total: items.len(),
            items,
        }
    }
}

/// Most messages that a `queue_update` lists as JSON.
const MAX_LISTED: usize = 100;

/// Most bytes of text that a `queue_update` lists as JSON, once: 64 KiB.
const MAX_LISTED_BYTES: usize = 64 * 1024;

/// The first of the waiting messages: at most 100 with at most 64 KiB of text. `get_queue` tells of all.
#[must_use]
pub fn listed(items: &[Arc<QueueItem>]) -> &[Arc<QueueItem>] {
    let mut bytes = 0;
    let fits = |item: &&Arc<QueueItem>| {
        bytes += item.text.len() + item.typed.as_ref().map_or(0, String::len);
        bytes <= MAX_LISTED_BYTES
    };
    &items[..items.iter().take(MAX_LISTED).take_while(fits).count()]
}

fn serialize_listed<S: Serializer>(items: &[Arc<QueueItem>], serializer: S) -> Result<S::Ok, S::Error> {
    listed(items).serialize(serializer)
}

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueItem {
    /// Its name in the queue.
    pub id: QueueId,
    /// When it is delivered.
    pub kind: QueueKind,
    /// What it says.
    pub text: String,
    /// What was typed, where a template made the text of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typed: Option<String>,
    /// What it shows; told as a number, for they can be megabytes.
    #[serde(serialize_with = "count", skip_serializing_if = "<[Image]>::is_empty")]
    pub images: Arc<[Image]>,
    /// Left over from an earlier process: shown, and sent only when the user says so.
    pub held: bool,
}

impl QueueItem {
    /// What was typed: `/skill:name` or `/template` with its arguments where one of them made the message, and else its text.
    #[must_use]
    pub fn as_typed(&self) -> String {
        self.typed.clone().or_else(|| typed_skill(&self.text)).unwrap_or_else(|| self.text.clone())
    }
}

fn count<S: Serializer>(images: &Arc<[Image]>, serializer: S) -> Result<S::Ok, S::Error> {
    images.len().serialize(serializer)
}

/// Why the session on the screen is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionChange {
    /// A fresh one.
    New,
    /// One from disk.
    Open,
    /// A new one that begins with another one's path.
    Fork,
    /// The same one from another leaf.
    Leaf,
    /// The same one, with which another program went on for longer than is told entry by entry.
    Grown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_flat_object_with_the_names_of_the_protocol() {
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
    fn fields_that_other_programs_read_have_their_names() {
        let call = AssistantDelta::ToolcallStart { content_index: 1, id: "c1".into(), name: "bash".into() };
        let call = serde_json::to_value(call).unwrap();
        let expected =
            serde_json::json!({"type": "toolcall_start", "contentIndex": 1, "id": "c1", "toolName": "bash"});
        assert_eq!(call, expected);
        let unnamed = serde_json::to_value(EventKind::SessionInfoChanged { name: None }).unwrap();
        assert_eq!(unnamed, serde_json::json!({"type": "session_info_changed"}));
    }
}
