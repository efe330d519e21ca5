//! The shapes of responses that have no type of their own, because they are written from a log or from borrowed values.

#![expect(dead_code, reason = "the types describe responses, and are never created")]

use schemars::JsonSchema;
use serde_json::{Map, Value};
use tiller_core::id::EntryId;
use tiller_core::message::Image;
use tiller_engine::views::{ModelView, QueueView};

use crate::host::SkillSummary;

/// The models that a new session can use.
#[derive(JsonSchema)]
pub(super) struct AvailableModels {
    models: Vec<ModelView>,
}

/// The messages that a stopped run left in the queue.
#[derive(JsonSchema)]
pub(super) struct StoppedRun {
    queue: QueueView<'static>,
    /// The images and PDF files of these messages, in their order.
    images: Vec<Image>,
}

/// The skills of a working directory.
#[derive(JsonSchema)]
pub(super) struct SkillList {
    skills: Vec<SkillSummary>,
}

/// The entries of a log.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct EntryList {
    /// In the order of the log. Damaged lines are omitted.
    entries: Vec<LogEntry>,
    /// The last entry of the current branch; null in an empty log.
    leaf_id: Option<EntryId>,
}

/// An entry of a log, as its line has it. The other fields depend on `type`, as docs/session-format.md describes.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct LogEntry {
    /// The type: `message`, `model_change`, `thinking_level_change`, `compaction`, `branch_summary`, `context_edit`,
    /// `custom`, `custom_message`, `label`, `session_info`, `usage`, or one of another program. In a tree also
    /// `damaged`, without further fields.
    r#type: String,
    id: EntryId,
    /// The entry before it; null for the first entry of the log.
    #[schemars(skip_serializing_if = "Option::is_none")]
    parent_id: Option<EntryId>,
    /// The time at which it was written: ISO 8601, UTC.
    #[schemars(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    #[schemars(flatten)]
    fields: Map<String, Value>,
}

/// The tree of a log's entries.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct EntryTree {
    /// The entries without a parent.
    tree: Vec<TreeNode>,
    /// The last entry of the current branch; null in an empty log.
    leaf_id: Option<EntryId>,
}

/// An entry with the entries that follow it.
#[derive(JsonSchema)]
pub(super) struct TreeNode {
    entry: LogEntry,
    #[schemars(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    children: Vec<Self>,
}
