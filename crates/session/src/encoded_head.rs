//! The head of a line that this process encodes, which needn't be read from the line again. Pure.

use std::borrow::Cow;

use tiller_core::message::{Cost, Message, Usage};

use super::entry::{Entry, EntryBody, MessageEntry};
use super::entry_kind::EntryKind;
use super::line_scan::{LineHead, LineRole, is_indexed_type};

impl<'a> From<&'a Entry> for LineHead<'a> {
    /// Returns the head of the line that the entry is encoded as.
    fn from(entry: &'a Entry) -> Self {
        let (mut role, mut usage, mut is_tiller_entry) = (None, None, false);
        match &entry.body {
            EntryBody::Message(MessageEntry { message, tiller_queue_id, .. }) => {
                role = Some(role_of(message));
                if let Message::Assistant(answer) = &**message {
                    usage = Some(answer.usage.clone());
                }
                is_tiller_entry = role == Some(LineRole::User) && tiller_queue_id.is_some();
            }
            EntryBody::Compaction(compaction) => usage.clone_from(&compaction.usage),
            EntryBody::BranchSummary { usage: used, .. } => usage.clone_from(used),
            EntryBody::Usage { usage: used, .. } => usage = Some(used.clone()),
            EntryBody::Custom { custom_type, .. } => is_tiller_entry = is_indexed_type(custom_type),
            EntryBody::ModelChange { .. }
            | EntryBody::ThinkingLevelChange { .. }
            | EntryBody::ContextEdit { .. }
            | EntryBody::CustomMessage { .. }
            | EntryBody::Label { .. }
            | EntryBody::SessionInfo { .. }
            | EntryBody::Unknown => {}
        }
        Self {
            kind: kind(&entry.body),
            id: Cow::Borrowed(entry.id.as_str()),
            parent: entry.parent.as_ref().map(|parent| Cow::Borrowed(parent.as_str())),
            timestamp: entry.timestamp,
            role,
            is_tiller_entry,
            usage,
        }
    }
}

impl LineHead<'_> {
    /// Returns true if the line has this head. Costs aren't compared: they are rounded when they are read.
    pub(super) fn matches_line(&self, line: &[u8]) -> bool {
        let without_cost = |head: &LineHead<'_>| {
            let usage = head.usage.clone().map(|usage| Usage { cost: Cost::default(), ..usage });
            LineHead { usage, ..head.clone().into_owned() }
        };
        LineHead::parse(line).is_ok_and(|read| without_cost(self) == without_cost(&read))
    }
}

fn kind(body: &EntryBody) -> EntryKind {
    match body {
        EntryBody::Message(_) => EntryKind::Message,
        EntryBody::ModelChange { .. } => EntryKind::ModelChange,
        EntryBody::ThinkingLevelChange { .. } => EntryKind::ThinkingLevelChange,
        EntryBody::Compaction(_) => EntryKind::Compaction,
        EntryBody::BranchSummary { .. } => EntryKind::BranchSummary,
        EntryBody::ContextEdit { .. } => EntryKind::ContextEdit,
        EntryBody::Custom { .. } => EntryKind::Custom,
        EntryBody::CustomMessage { .. } => EntryKind::CustomMessage,
        EntryBody::Label { .. } => EntryKind::Label,
        EntryBody::SessionInfo { .. } => EntryKind::SessionInfo,
        EntryBody::Usage { .. } => EntryKind::Usage,
        EntryBody::Unknown => EntryKind::Unknown,
    }
}

fn role_of(message: &Message) -> LineRole {
    match message {
        Message::User(_) => LineRole::User,
        Message::Assistant(_) => LineRole::Assistant,
        Message::ToolResult(_) => LineRole::ToolResult,
        Message::BashExecution(_) => LineRole::BashExecution,
        Message::System(_) => LineRole::System,
    }
}
