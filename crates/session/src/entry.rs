//! One line of the log: an entry of the session's tree, and the header before them.
//!
//! Types only, with their reading and writing; which entries a model sees is `context`'s business. The JSON is that of
//! docs/session-format.md.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

pub use super::delivery_receipt::{DeliveryReceipt, Waited};
use super::id_gen::IdGenerator;
use super::index::EntryKind;
use super::line_scan::LineRole;
use tiller_core::event::QueueKind;
use tiller_core::id::{CallId, EntryId, QueueId, SessionId};
use tiller_core::message::{Content, Image, Message, ModelRef, ThinkingLevel, Usage, lenient};
use tiller_core::unit::{Tokens, UnixMs};

use super::lossy::repaired;

/// The version of the format that tiller writes.
pub const VERSION: u64 = 3;

/// Line 1 of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Always `session`.
    #[serde(rename = "type")]
    pub kind: HeaderKind,
    /// The version of the format.
    #[serde(default = "first_version")]
    pub version: u64,
    /// The session's id.
    pub id: SessionId,
    /// When it began, ISO-8601. A value of another type counts as absent, here and in the optional keys below.
    #[serde(default, deserialize_with = "lenient")]
    pub timestamp: String,
    /// The working directory it belongs to, absolute.
    #[serde(default, deserialize_with = "lenient")]
    pub cwd: String,
    /// The log it was forked from.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
}

impl Header {
    /// Reads a log's first line. A byte order mark before it doesn't count, and broken characters read as U+FFFD.
    pub(super) fn parse(line: &[u8]) -> serde_json::Result<Self> {
        let line = without_mark(line);
        serde_json::from_slice(line).or_else(|error| match repaired(line) {
            Some(text) => serde_json::from_str(&text),
            None => Err(error),
        })
    }

    /// The header of a session in `cwd` that begins `now`.
    pub(super) fn new(id: SessionId, cwd: String, parent_session: Option<String>, now: UnixMs) -> Self {
        Self { kind: HeaderKind::Session, version: VERSION, id, timestamp: now.to_iso(), cwd, parent_session }
    }

    /// The header of the log that goes on with the one of an older version at `path`.
    pub(super) fn succeeded(&self, path: &Path, now: UnixMs) -> Self {
        let id = IdGenerator::after(None).session(now);
        Self::new(id, self.cwd.clone(), Some(whole_path(path)), now)
    }

    /// The log's first line, with its newline.
    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("a header has only string keys");
        line.push(b'\n');
        line
    }

    /// What a log with this header is called.
    pub(super) fn file_name(&self) -> String {
        format!("{}_{}.jsonl", self.timestamp.replace([':', '.'], "-"), self.id)
    }
}

/// A path as a header names it: it means the same in every directory.
pub(super) fn whole_path(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// A line without the byte order mark that some editors put before a file.
pub(super) fn without_mark(line: &[u8]) -> &[u8] {
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

/// An entry: where it hangs in the tree, when it was made, and what it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its id.
    pub id: EntryId,
    /// The entry it follows; `None` for a root.
    pub parent: Option<EntryId>,
    /// When it was written.
    pub timestamp: UnixMs,
    /// What it says.
    pub body: EntryBody,
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum EntryBody {
    /// Somebody said something.
    Message(MessageEntry),
    /// From here on another model answers.
    ModelChange {
        /// Its provider.
        provider: String,
        /// Its id there.
        model_id: String,
    },
    /// From here on the model thinks this much.
    ThinkingLevelChange {
        /// How much.
        thinking_level: ThinkingLevel,
    },
    /// What came before is summarised.
    Compaction(Compaction),
    /// What another branch did is summarised.
    BranchSummary {
        /// The leaf that was left, or `root`.
        from_id: String,
        /// The summary.
        summary: String,
        /// Files read and modified, among others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        /// What making it cost.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Who made it, where the entry says so.
        #[serde(flatten)]
        made_by: Option<SummaryModel>,
    },
    /// From here on another entry reads differently.
    ContextEdit {
        /// That entry.
        target_id: EntryId,
        /// Its new content; `None` leaves it out.
        replacement: Option<Replacement>,
    },
    /// Some program's own fact; no model sees it. Tiller's own are [`OwnFact`].
    Custom {
        /// What kind of fact.
        custom_type: String,
        /// The fact.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// Some program's own message; the model sees it as the user's.
    CustomMessage {
        /// What kind of message.
        custom_type: String,
        /// What it says.
        content: Content,
        /// Whether people see it too.
        #[serde(default, deserialize_with = "lenient")]
        display: bool,
    },
    /// Another entry gets a label, or loses it.
    Label {
        /// That entry.
        target_id: EntryId,
        /// The label.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// The session gets a name.
    SessionInfo {
        /// The name; written as an empty one where there is none, because the format has no room for null.
        #[serde(default, serialize_with = "text_or_empty")]
        name: Option<String>,
    },
    /// Tokens that were spent outside an answer.
    Usage {
        /// On what.
        kind: String,
        /// Whose.
        provider: String,
        /// Which model's.
        model: String,
        /// How many.
        usage: Usage,
    },
    /// A type that tiller doesn't know; kept in the file, ignored otherwise.
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
    /// The queued message that this one delivers.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub tiller_queue_id: Option<QueueId>,
    /// At which point it was delivered.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub tiller_receipt: Option<DeliveryReceipt>,
}

/// A summary that stands for what came before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// The summary.
    pub summary: String,
    /// The first entry that stays as it is; the compaction's own id keeps nothing.
    pub first_kept_entry_id: EntryId,
    /// Size of the context before.
    #[serde(default, deserialize_with = "lenient")]
    pub tokens_before: Tokens,
    /// Files read and modified, among others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// What making it cost.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Who made it, where the entry says so.
    #[serde(flatten)]
    pub made_by: Option<SummaryModel>,
}

/// The model that made a summary: another one may have been chosen before it was written.
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

/// Content that takes another entry's place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replacement {
    /// The content.
    pub content: Content,
}

/// Facts of tiller's own, which ride in `custom` entries so that other readers skip them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "customType", content = "data")]
pub enum TillerEntry {
    /// Its parent is the entry that the user moved to.
    #[serde(rename = "tiller.leaf")]
    Leaf {},
    /// The queue changed.
    #[serde(rename = "tiller.queue")]
    Queue(QueueChange),
    /// A process of tiller's begins to write.
    #[serde(rename = "tiller.run")]
    Run {
        /// `tui`, `print`.
        mode: String,
        /// Whether the session was there before.
        resumed: bool,
        /// Tiller's version.
        version: String,
        /// The working directory, where it isn't the header's.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// The origin of the repository that it is in, without credentials.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        remote: Option<String>,
    },
    /// A `!` command begins.
    #[serde(rename = "tiller.bash")]
    Bash {
        /// The command.
        command: String,
        /// True for `!!`.
        exclude: bool,
    },
    /// An entry and everything that follows it leave the drawn tree, or come back to it.
    #[serde(rename = "tiller.hide", rename_all = "camelCase")]
    Hide {
        /// The entry.
        target_id: EntryId,
        /// Whether they leave it.
        hidden: bool,
    },
    /// A decision on a call that asked, or would have.
    #[serde(rename = "tiller.approval", rename_all = "camelCase")]
    Approval {
        /// The call.
        tool_call_id: CallId,
        /// `once`, `session` or `deny`.
        decision: String,
        /// The rule that it allows, or that decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// The decider: `user`, `rule`, `yes-flag`, `steering`, `nobody` or `extension`.
        by: String,
    },
    /// The session, up to here, is another program's.
    #[serde(rename = "tiller.import")]
    Import {
        /// Which program's: `claude`, `codex`, `pi`.
        from: String,
        /// The log that was read.
        path: String,
        /// The session's id there.
        session: String,
        /// The program's version, or its format's.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
}

/// A change of the queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum QueueChange {
    /// A message waits.
    Add {
        /// Its name in the queue.
        queue_id: QueueId,
        /// When it is delivered.
        kind: QueueKind,
        /// What it says.
        text: String,
        /// What was typed, where a template made the text of it.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        typed: Option<String>,
        /// What it shows.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    /// A message that waits reads differently, or stands elsewhere.
    Edit {
        /// Its name in the queue.
        queue_id: QueueId,
        /// When it is delivered from now on.
        kind: QueueKind,
        /// What it says from now on.
        text: String,
        /// What it shows from now on.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// How many messages stand before it from now on; where it is missing it keeps its place.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        order: Option<usize>,
    },
    /// A message no longer waits, and wasn't delivered.
    Remove {
        /// Its name in the queue.
        queue_id: QueueId,
    },
}

impl EntryBody {
    /// A message that nobody had queued.
    #[must_use]
    pub fn message(message: Arc<Message>) -> Self {
        Self::Message(MessageEntry { message, tiller_queue_id: None, tiller_receipt: None })
    }

    /// One of tiller's own facts as a `custom` entry.
    #[must_use]
    pub fn own(fact: &TillerEntry) -> Self {
        let value = serde_json::to_value(fact).expect("an own fact has only string keys");
        serde_json::from_value::<CustomParts>(value).expect("an own fact is a type with data").into()
    }

    /// The fact, if this is a `custom` entry of tiller's own that it understands.
    #[must_use]
    pub fn as_own(&self) -> Option<TillerEntry> {
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

    /// Whether this entry is reason enough to create the log's file: the user did something worth keeping.
    #[must_use]
    pub fn creates_the_file(&self) -> bool {
        match self {
            Self::Message(_)
            | Self::Compaction(_)
            | Self::BranchSummary { .. }
            | Self::CustomMessage { .. } => true,
            Self::Custom { custom_type, .. } => custom_type == "tiller.bash",
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

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CustomParts {
    custom_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl From<CustomParts> for EntryBody {
    fn from(parts: CustomParts) -> Self {
        Self::Custom { custom_type: parts.custom_type, data: parts.data }
    }
}

/// Reads what a line says, its head being known. Characters that are broken read as U+FFFD.
pub(super) fn parse_body(
    kind: EntryKind,
    role: Option<LineRole>,
    line: &[u8],
) -> serde_json::Result<EntryBody> {
    parse_whole(kind, role, line).or_else(|error| match repaired(line) {
        Some(text) => parse_whole(kind, role, text.as_bytes()),
        None => Err(error),
    })
}

fn parse_whole(kind: EntryKind, role: Option<LineRole>, line: &[u8]) -> serde_json::Result<EntryBody> {
    #[derive(Deserialize)]
    struct Wrapped {
        message: CustomMessage,
    }
    match (kind, role) {
        // Some programs write their own messages as a role instead of a type.
        (EntryKind::Message, Some(LineRole::Custom)) => {
            let CustomMessage { custom_type, content, display } =
                serde_json::from_slice::<Wrapped>(line)?.message;
            Ok(EntryBody::CustomMessage { custom_type, content, display })
        }
        // Nearly all lines are messages, and serde reads a tagged enum twice.
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

/// Writes an entry as one line with its newline; type, id, parent and time come first.
pub(super) fn encode(entry: &Entry) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Place<'a> {
        id: &'a EntryId,
        parent_id: &'a Option<EntryId>,
        timestamp: String,
    }
    let body = serde_json::to_string(&entry.body).expect("an entry has only string keys");
    let place = Place { id: &entry.id, parent_id: &entry.parent, timestamp: entry.timestamp.to_iso() };
    let place = serde_json::to_string(&place).expect("a place has only string keys");
    // An internally tagged enum writes its tag first: `{"type":"label"`, then the rest or the end.
    let tag_end = body.find([',', '}']).expect("a body has a tag");
    format!("{},{}{}\n", &body[..tag_end], &place[1..place.len() - 1], &body[tag_end..])
}

/// An encoded line as an event carries it.
pub(super) fn raw(line: &str) -> Arc<RawValue> {
    let raw = RawValue::from_string(line.trim_end().to_owned()).expect("an encoded line is JSON");
    Arc::from(raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(body: EntryBody) -> Entry {
        Entry { id: "b".into(), parent: Some("a".into()), timestamp: UnixMs(1_795_231_018_249), body }
    }

    #[test]
    fn a_line_begins_with_its_head() {
        let line = encode(&entry(EntryBody::ModelChange { provider: "mock".into(), model_id: "m,1".into() }));
        assert_eq!(
            line,
            "{\"type\":\"model_change\",\"id\":\"b\",\"parentId\":\"a\",\"timestamp\":\"2026-11-21T03:16:58.249Z\",\"provider\":\"mock\",\"modelId\":\"m,1\"}\n"
        );
    }

    #[test]
    fn an_own_fact_rides_in_a_custom_entry_and_comes_back() {
        let fact = TillerEntry::Queue(QueueChange::Add {
            queue_id: "q1".into(),
            kind: QueueKind::FollowUp,
            text: "t".into(),
            typed: None,
            images: Vec::new(),
        });
        let body = EntryBody::own(&fact);
        assert_eq!(
            serde_json::to_value(&body).unwrap(),
            json!({"type": "custom", "customType": "tiller.queue",
                   "data": {"op": "add", "queueId": "q1", "kind": "followUp", "text": "t"}})
        );
        assert_eq!(body.as_own(), Some(fact));
        assert_eq!(EntryBody::own(&TillerEntry::Leaf {}).as_own(), Some(TillerEntry::Leaf {}));
    }

    #[test]
    fn an_unknown_type_is_an_entry_all_the_same() {
        let body: EntryBody = serde_json::from_str(r#"{"type":"hologram","id":"x","beams":3}"#).unwrap();
        assert_eq!(body, EntryBody::Unknown);
    }

    #[test]
    fn a_removed_entry_of_the_context_has_no_replacement() {
        let body: EntryBody =
            serde_json::from_str(r#"{"type":"context_edit","targetId":"t","replacement":null}"#).unwrap();
        assert_eq!(body, EntryBody::ContextEdit { target_id: "t".into(), replacement: None });
    }
}
