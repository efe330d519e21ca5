//! The header and the entries of a log: their types, parsing and encoding.
//!
//! `context` decides which entries a model gets. The JSON is described in docs/session-format.md.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

pub use super::delivery_receipt::{DeliveryReceipt, QueueHistory};
use super::entry_kind::EntryKind;
use super::id_gen::IdGenerator;
use super::line_scan::LineRole;
use tiller_core::event::QueueKind;
use tiller_core::id::{CallId, EntryId, QueueId, SessionId};
use tiller_core::message::{Content, Image, Message, ModelRef, ThinkingLevel, Usage, lenient};
use tiller_core::unit::{Tokens, UnixMs};

use super::lossy::repair_text;

/// The version of the format that tiller writes.
pub const VERSION: u64 = 3;

/// The first line of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Always `session`.
    #[serde(rename = "type")]
    pub kind: HeaderKind,
    /// The format's version.
    #[serde(default = "first_version")]
    pub version: u64,
    /// The session's id.
    pub id: SessionId,
    /// Creation time, ISO-8601. A value of another type counts as absent, here and in the optional keys
    /// below.
    #[serde(default, deserialize_with = "lenient")]
    pub timestamp: String,
    /// The working directory of the session, absolute.
    #[serde(default, deserialize_with = "lenient")]
    pub cwd: String,
    /// The log it was forked from.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
}

impl Header {
    /// Parses a log's first line. A byte order mark is ignored, and broken characters become U+FFFD.
    pub(super) fn parse(line: &[u8]) -> serde_json::Result<Self> {
        let line = strip_bom(line);
        serde_json::from_slice(line).or_else(|error| match repair_text(line) {
            Some(text) => serde_json::from_str(&text),
            None => Err(error),
        })
    }

    /// The header of a session in `cwd`, created at `now`.
    pub(super) fn new(id: SessionId, cwd: String, parent_session: Option<String>, now: UnixMs) -> Self {
        Self { kind: HeaderKind::Session, version: VERSION, id, timestamp: now.to_iso(), cwd, parent_session }
    }

    /// The header of a new log that continues the log at `path`, whose version is older.
    pub(super) fn successor(&self, path: &Path, now: UnixMs) -> Self {
        let id = IdGenerator::after(None).session(now);
        Self::new(id, self.cwd.clone(), Some(absolute_path(path)), now)
    }

    /// The log's first line, with its newline.
    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("a header has only string keys");
        line.push(b'\n');
        line
    }

    /// The file name of a log with this header.
    pub(super) fn file_name(&self) -> String {
        format!("{}_{}.jsonl", self.timestamp.replace([':', '.'], "-"), self.id)
    }
}

/// Returns an absolute path for a header, which doesn't depend on the current directory.
pub(super) fn absolute_path(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// Removes the byte order mark that some editors put at the start of a file.
pub(super) fn strip_bom(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

/// The only `type` a header has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeaderKind {
    /// `session`
    Session,
}

const fn first_version() -> u64 {
    1
}

/// An entry of the session tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The entry's id.
    pub id: EntryId,
    /// The parent; `None` for a root.
    pub parent: Option<EntryId>,
    /// The time at which it was written.
    pub timestamp: UnixMs,
    /// The content.
    pub body: EntryBody,
}

/// The content of an entry, by type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum EntryBody {
    /// A message of the conversation.
    Message(MessageEntry),
    /// A model change.
    ModelChange {
        /// The provider's name.
        provider: String,
        /// The provider's id for the model.
        model_id: String,
    },
    /// A thinking-level change.
    ThinkingLevelChange {
        /// The new level.
        thinking_level: ThinkingLevel,
    },
    /// A summary that replaces earlier messages.
    Compaction(Compaction),
    /// A summary of an abandoned branch.
    BranchSummary {
        /// The leaf of that branch, or `root`.
        from_id: String,
        /// The summary.
        summary: String,
        /// Structured details, such as files read and modified.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        /// Usage of the request.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// The model that wrote it, if recorded.
        #[serde(flatten)]
        made_by: Option<SummaryModel>,
    },
    /// A replacement or removal of another entry's content in the context.
    ContextEdit {
        /// The target entry.
        target_id: EntryId,
        /// The new content; `None` removes the entry from the context.
        replacement: Option<Replacement>,
    },
    /// A program's own data, which models don't get. tiller's entries of this kind are [`TillerEntry`].
    Custom {
        /// The type, with the program's name as prefix.
        custom_type: String,
        /// The payload.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// A message added by a program; models get it as a user message.
    CustomMessage {
        /// The type, with the program's name as prefix.
        custom_type: String,
        /// The text.
        content: Content,
        /// True if it is shown to the user.
        #[serde(default, deserialize_with = "lenient")]
        display: bool,
    },
    /// A label for another entry, or its removal.
    Label {
        /// The target entry.
        target_id: EntryId,
        /// The label; `None` removes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// The session's name.
    SessionInfo {
        /// The name; `None` is written as an empty string, because the format has no null here.
        #[serde(default, serialize_with = "text_or_empty")]
        name: Option<String>,
    },
    /// Usage of a request other than an answer.
    Usage {
        /// The purpose.
        kind: String,
        /// The provider's name.
        provider: String,
        /// The provider's id for the model.
        model: String,
        /// Tokens and cost.
        usage: Usage,
    },
    /// An unknown type; preserved in the file, otherwise ignored.
    #[serde(other)]
    Unknown,
}

fn text_or_empty<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text.as_deref().unwrap_or_default())
}

/// A message in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageEntry {
    /// The message.
    pub message: Arc<Message>,
    /// The queued message that this one delivers, if any.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub tiller_queue_id: Option<QueueId>,
    /// The receipt of the queued message's delivery.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub tiller_receipt: Option<DeliveryReceipt>,
}

/// A summary that replaces earlier messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// The summary.
    pub summary: String,
    /// The first entry kept unchanged; the compaction's own id means that none is kept.
    pub first_kept_entry_id: EntryId,
    /// Size of the context before the compaction.
    #[serde(default, deserialize_with = "lenient")]
    pub tokens_before: Tokens,
    /// Structured details, such as files read and modified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Usage of the request.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The model that wrote it, if recorded.
    #[serde(flatten)]
    pub made_by: Option<SummaryModel>,
}

/// The model that wrote a summary. By the time the entry is appended, another model may be selected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryModel {
    /// The provider's name.
    pub provider: String,
    /// The provider's id for the model.
    pub model: String,
}

impl From<ModelRef> for SummaryModel {
    fn from(model: ModelRef) -> Self {
        Self { provider: model.provider, model: model.id }
    }
}

impl From<&SummaryModel> for ModelRef {
    fn from(made_by: &SummaryModel) -> Self {
        Self { provider: made_by.provider.clone(), id: made_by.model.clone() }
    }
}

/// Content that replaces another entry's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replacement {
    /// The content.
    pub content: Content,
}

/// tiller's own data, stored in `custom` entries so that other programs skip it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "customType", content = "data")]
pub enum TillerEntry {
    /// A move of the leaf, to the entry's parent.
    #[serde(rename = "tiller.leaf")]
    Leaf {},
    /// A change to the message queue.
    #[serde(rename = "tiller.queue")]
    Queue(QueueChange),
    /// The start of a tiller process that writes to the log.
    #[serde(rename = "tiller.run")]
    Run {
        /// The mode: `tui`, `print` or another.
        mode: String,
        /// True if the session existed before.
        resumed: bool,
        /// tiller's version.
        version: String,
        /// The working directory, if it differs from the header's.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// The `origin` URL of the repository, without credentials.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        remote: Option<String>,
    },
    /// The model that the user chose, while a fallback model answers for the rest of a run. The next model
    /// change ends this.
    #[serde(rename = "tiller.fallback", rename_all = "camelCase")]
    Fallback {
        /// The provider of the user's model.
        provider: String,
        /// The provider's id for it.
        model_id: String,
        /// The level that the user requested.
        thinking_level: ThinkingLevel,
    },
    /// The start of a `!` command.
    #[serde(rename = "tiller.bash")]
    Bash {
        /// The command.
        command: String,
        /// True for `!!`.
        exclude: bool,
    },
    /// Hides an entry and its descendants in the tree view, or shows them again.
    #[serde(rename = "tiller.hide", rename_all = "camelCase")]
    Hide {
        /// The entry.
        target_id: EntryId,
        /// True to hide, false to show.
        hidden: bool,
    },
    /// A decision on a call that needed approval.
    #[serde(rename = "tiller.approval", rename_all = "camelCase")]
    Approval {
        /// The call.
        tool_call_id: CallId,
        /// `once`, `session` or `deny`.
        decision: String,
        /// The rule that the decision adds, or the rule that made the decision.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// Source of the decision: `user`, `rule`, `yes-flag`, `steering`, `nobody` or `extension`.
        by: String,
    },
    /// The end of the entries imported from another program's log.
    #[serde(rename = "tiller.import")]
    Import {
        /// The program: `claude`, `codex` or `pi`.
        from: String,
        /// Path of the imported log.
        path: String,
        /// The session's id in that program.
        session: String,
        /// The version of the program or of its format.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
}

/// A change to the message queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum QueueChange {
    /// A message was queued.
    Add {
        /// Its id in the queue.
        queue_id: QueueId,
        /// The delivery kind.
        kind: QueueKind,
        /// The text.
        text: String,
        /// The typed text, if a template expanded it.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        typed: Option<String>,
        /// Attached images.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    /// A queued message was edited or moved.
    Edit {
        /// Its id in the queue.
        queue_id: QueueId,
        /// The new delivery kind.
        kind: QueueKind,
        /// The new text.
        text: String,
        /// The new images.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// The new number of messages before it; `None` keeps its position.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        order: Option<usize>,
    },
    /// A queued message was removed without delivery.
    Remove {
        /// Its id in the queue.
        queue_id: QueueId,
    },
}

impl EntryBody {
    /// A message that was not queued.
    #[must_use]
    pub fn message(message: Arc<Message>) -> Self {
        Self::Message(MessageEntry { message, tiller_queue_id: None, tiller_receipt: None })
    }

    /// Encodes one of tiller's own entries as a `custom` entry.
    #[must_use]
    pub fn from_tiller(entry: &TillerEntry) -> Self {
        let mut value = serde_json::to_value(entry).expect("a tiller entry has only string keys");
        let Some(Value::String(custom_type)) = value.get_mut("customType").map(Value::take) else {
            unreachable!("a tiller entry has a type")
        };
        Self::Custom { custom_type, data: value.get_mut("data").map(Value::take) }
    }

    /// Decodes a `custom` entry of tiller's own; `None` for other types and invalid data.
    #[must_use]
    pub fn as_tiller(&self) -> Option<TillerEntry> {
        let Self::Custom { custom_type, data } = self else { return None };
        if !custom_type.starts_with("tiller.") {
            return None;
        }
        let parts = CustomParts { custom_type: custom_type.clone(), data: data.clone() };
        serde_json::from_value(serde_json::to_value(parts).ok()?).ok()
    }

    /// The message, if this is one.
    #[must_use]
    pub fn as_message(&self) -> Option<&Arc<Message>> {
        match self {
            Self::Message(entry) => Some(&entry.message),
            _ => None,
        }
    }

    /// Returns true for entries for which the log's file is created: messages, summaries, commands and tasks
    /// of agents.
    #[must_use]
    pub fn creates_file(&self) -> bool {
        match self {
            Self::Message(_)
            | Self::Compaction(_)
            | Self::BranchSummary { .. }
            | Self::CustomMessage { .. } => true,
            Self::Custom { custom_type, .. } => {
                ["tiller.bash", "tiller.agent"].contains(&custom_type.as_str())
            }
            Self::ModelChange { .. }
            | Self::ThinkingLevelChange { .. }
            | Self::ContextEdit { .. }
            | Self::Label { .. }
            | Self::SessionInfo { .. }
            | Self::Usage { .. }
            | Self::Unknown => false,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CustomParts {
    custom_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

/// Parses the body of a line with a known kind and role. Broken characters become U+FFFD.
pub(super) fn parse_body(
    kind: EntryKind,
    role: Option<LineRole>,
    line: &[u8],
) -> serde_json::Result<EntryBody> {
    parse_strictly(kind, role, line).or_else(|error| match repair_text(line) {
        Some(text) => parse_strictly(kind, role, text.as_bytes()),
        None => Err(error),
    })
}

fn parse_strictly(kind: EntryKind, role: Option<LineRole>, line: &[u8]) -> serde_json::Result<EntryBody> {
    #[derive(Deserialize)]
    struct Wrapper {
        message: CustomMessage,
    }
    match (kind, role) {
        // Some programs write custom messages as a role instead of a type.
        (EntryKind::Message, Some(LineRole::Custom)) => {
            let CustomMessage { custom_type, content, display } =
                serde_json::from_slice::<Wrapper>(line)?.message;
            Ok(EntryBody::CustomMessage { custom_type, content, display })
        }
        // Nearly all lines are messages, and serde would parse a tagged enum twice.
        (EntryKind::Message, _) => serde_json::from_slice(line).map(EntryBody::Message),
        _ => serde_json::from_slice(line),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CustomMessage {
    #[serde(default)]
    custom_type: String,
    content: Content,
    #[serde(default)]
    display: bool,
}

/// Encodes an entry as a line with its newline; type, id, parent and time come first.
pub(super) fn encode(entry: &Entry) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct LineKeys<'a> {
        id: &'a EntryId,
        parent_id: &'a Option<EntryId>,
        timestamp: String,
    }
    let body = serde_json::to_string(&entry.body).expect("an entry has only string keys");
    let keys = LineKeys { id: &entry.id, parent_id: &entry.parent, timestamp: entry.timestamp.to_iso() };
    let keys = serde_json::to_string(&keys).expect("the struct has only string keys");
    // An internally tagged enum writes its tag first: `{"type":"label"`.
    let tag_end = body.find([',', '}']).expect("a body has a tag");
    [&body[..tag_end], ",", &keys[1..keys.len() - 1], &body[tag_end..], "\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(body: EntryBody) -> Entry {
        Entry { id: "b".into(), parent: Some("a".into()), timestamp: UnixMs(1_795_231_018_249), body }
    }

    #[test]
    fn encode_writes_head_keys_first() {
        let line = encode(&entry(EntryBody::ModelChange { provider: "mock".into(), model_id: "m,1".into() }));
        assert_eq!(
            line,
            "{\"type\":\"model_change\",\"id\":\"b\",\"parentId\":\"a\",\"timestamp\":\"2026-11-21T03:16:58.249Z\",\"provider\":\"mock\",\"modelId\":\"m,1\"}\n"
        );
    }

    #[test]
    fn tiller_entry_custom_entry_round_trips() {
        let entry = TillerEntry::Queue(QueueChange::Add {
            queue_id: "q1".into(),
            kind: QueueKind::FollowUp,
            text: "t".into(),
            typed: None,
            images: Vec::new(),
        });
        let body = EntryBody::from_tiller(&entry);
        assert_eq!(
            serde_json::to_value(&body).unwrap(),
            json!({"type": "custom", "customType": "tiller.queue",
                   "data": {"op": "add", "queueId": "q1", "kind": "followUp", "text": "t"}})
        );
        assert_eq!(body.as_tiller(), Some(entry));
        assert_eq!(EntryBody::from_tiller(&TillerEntry::Leaf {}).as_tiller(), Some(TillerEntry::Leaf {}));
    }

    #[test]
    fn body_unknown_type_is_unknown() {
        let body: EntryBody = serde_json::from_str(r#"{"type":"hologram","id":"x","beams":3}"#).unwrap();
        assert_eq!(body, EntryBody::Unknown);
    }

    #[test]
    fn context_edit_null_replacement_is_none() {
        let body: EntryBody =
            serde_json::from_str(r#"{"type":"context_edit","targetId":"t","replacement":null}"#).unwrap();
        assert_eq!(body, EntryBody::ContextEdit { target_id: "t".into(), replacement: None });
    }
}
