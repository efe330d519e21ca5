//! Texts of entries: for rows, previews and search.

use tiller_core::message::{AssistantBlock, AssistantMessage, Message, ModelRef, StopReason, joined_text};
use tiller_core::tool_catalog::ToolCatalog;
use tiller_render::{self as render, Line, Role};
use tiller_session::tree::TreeNode;
use tiller_session::{Entry, EntryBody, EntryKind, LineRole as Speaker};

use crate::text::one_line;

/// Maximum length of a row's text, in characters.
const LONGEST: usize = 300;

/// A row's text with sign and style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryText {
    pub(super) sign: &'static str,
    pub(super) text: String,
    pub(super) role: Role,
}

/// The sign of an entry whose text isn't loaded.
pub(super) fn kind_sign(node: &TreeNode) -> &'static str {
    match (node.kind, node.role) {
        (EntryKind::Message, Some(Speaker::User)) => "▌",
        (EntryKind::Message, Some(Speaker::BashExecution)) => "!",
        (EntryKind::Message, _) => " ",
        (EntryKind::Compaction | EntryKind::BranchSummary, _) => "≡",
        _ => "·",
    }
}

impl EntryText {
    pub(super) fn from_entry(entry: &Entry, tools: &ToolCatalog) -> Self {
        let muted = |sign, text: String| Self { sign, text: spaced(&text), role: Role::Muted };
        match &entry.body {
            EntryBody::Message(message) => Self::from_message(&message.message, tools),
            EntryBody::Compaction(compaction) => muted(
                "≡",
                format!("compacted (was {} tokens): {}", compaction.tokens_before, compaction.summary),
            ),
            EntryBody::BranchSummary { summary, .. } => muted("≡", format!("summary of a branch: {summary}")),
            EntryBody::CustomMessage { content, .. } => {
                Self { sign: "+", text: spaced(&content.joined_text()), role: Role::Text }
            }
            EntryBody::ModelChange { provider, model_id } => {
                let model = ModelRef { provider: provider.clone(), id: model_id.clone() };
                muted("·", format!("model: {}", model.display_name()))
            }
            EntryBody::ThinkingLevelChange { thinking_level } => {
                muted("·", format!("thinking: {}", thinking_level.name()))
            }
            EntryBody::ContextEdit { replacement, .. } => {
                let message =
                    if replacement.is_some() { "an entry was replaced" } else { "an entry was removed" };
                muted("·", message.to_owned())
            }
            EntryBody::Label { label, .. } => {
                muted("·", format!("label: {}", label.as_deref().unwrap_or("none")))
            }
            EntryBody::SessionInfo { name } => {
                muted("·", format!("name: {}", name.as_deref().unwrap_or("none")))
            }
            EntryBody::Usage { kind, model, .. } => muted("·", format!("usage for {kind}: {model}")),
            EntryBody::Custom { custom_type, .. } => muted("·", custom_type.clone()),
            EntryBody::Unknown => muted("·", "unknown entry type from a newer version".to_owned()),
        }
    }

    /// The text of an entry that can't be read.
    pub(super) fn damaged() -> Self {
        Self {
            sign: "✗", text: "damaged entry; see `tiller sessions verify`".to_owned(), role: Role::Error
        }
    }

    fn from_message(message: &Message, tools: &ToolCatalog) -> Self {
        match message {
            Message::User(user) => Self { sign: "▌", text: spaced(&user.as_typed()), role: Role::User },
            Message::Assistant(answer) => answer_text(answer, tools),
            Message::BashExecution(bash) => {
                let sign = if bash.exclude_from_context { "!!" } else { "!" };
                Self { sign, text: spaced(&bash.command), role: Role::Text }
            }
            Message::ToolResult(result) => {
                let (sign, role) = if result.is_error { ("✗", Role::Error) } else { ("✓", Role::Muted) };
                let text = format!("{}: {}", result.tool_name, joined_text(&result.content));
                Self { sign, text: spaced(&text), role }
            }
            Message::System(_) => Self { sign: "·", text: "system prompt".to_owned(), role: Role::Muted },
        }
    }
}

fn answer_text(answer: &AssistantMessage, tools: &ToolCatalog) -> EntryText {
    let text = answer.joined_text();
    let calls: Vec<String> = answer
        .tool_calls()
        .map(|call| {
            let argument = tools.traits(&call.name).shown_argument.text(&call.arguments);
            format!("{} {argument}", call.name).trim_end().to_owned()
        })
        .collect();
    let (sign, text, role) = match (text.trim().is_empty(), calls.is_empty()) {
        (false, _) => {
            let text: String = text.chars().take(LONGEST).collect();
            let lines = render::markdown(&text, LONGEST);
            (" ", lines.iter().map(Line::text).collect::<Vec<_>>().join(" "), Role::Text)
        }
        (true, false) => ("→", calls.join(", "), Role::Muted),
        (true, true) => (" ", "(no answer)".to_owned(), Role::Muted),
    };
    let text = match answer.stop_reason {
        StopReason::Aborted => format!("{text} (stopped)"),
        StopReason::Error => format!("{text} (failed)"),
        StopReason::Stop | StopReason::Length | StopReason::ToolUse => text,
    };
    EntryText { sign, text: spaced(&text), role }
}

/// Returns the start of a string on one line with whitespace collapsed.
fn spaced(text: &str) -> String {
    let beginning: String = text.chars().take(LONGEST).collect();
    one_line(&beginning.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The full text of an entry, for search.
pub(super) fn full_text(entry: &Entry) -> String {
    match &entry.body {
        EntryBody::Message(message) => match &*message.message {
            Message::User(user) => user.as_typed(),
            Message::Assistant(answer) => {
                let parts = answer.content.iter().map(|block| match block {
                    AssistantBlock::Text { text, .. } => text.clone(),
                    AssistantBlock::ToolCall(call) => format!("{} {}", call.name, call.arguments),
                    AssistantBlock::Thinking { .. } | AssistantBlock::Unknown => String::new(),
                });
                parts.collect::<Vec<_>>().join("\n")
            }
            Message::BashExecution(bash) => format!("{}\n{}", bash.command, bash.output),
            Message::ToolResult(result) => format!("{}\n{}", result.tool_name, joined_text(&result.content)),
            Message::System(_) => String::new(),
        },
        EntryBody::Compaction(compaction) => compaction.summary.clone(),
        EntryBody::BranchSummary { summary, .. } => summary.clone(),
        EntryBody::CustomMessage { content, .. } => content.joined_text(),
        // Only the text of an answer depends on tools.
        _ => EntryText::from_entry(entry, &ToolCatalog::default()).text,
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::message::BashExecutionMessage;

    use super::*;

    #[test]
    fn entry_text_private_shell_has_two_marks() {
        let sign = |exclude_from_context| {
            let bash = BashExecutionMessage { exclude_from_context, ..BashExecutionMessage::default() };
            EntryText::from_message(&Message::BashExecution(bash), &ToolCatalog::default()).sign
        };
        assert_eq!([sign(false), sign(true)], ["!", "!!"]);
    }
}
