//! What entries say: as a row, as a preview, and as the text in which words are looked for.

use tiller_core::message::{AssistantBlock, AssistantMessage, Message, ModelRef, StopReason, joined_text};
use tiller_render::{self as render, Line, Role};
use tiller_session::tree::TreeNode;
use tiller_session::{Entry, EntryBody, EntryKind, LineRole as Speaker};

use crate::tool_call::{argument, one_line};

/// Characters of a text that a row may show.
const LONGEST: usize = 300;

/// What a row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryText {
    /// What kind of entry it is.
    pub(super) sign: &'static str,
    pub(super) text: String,
    pub(super) role: Role,
}

/// The sign of an entry whose text isn't read yet.
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
    /// What the row of an entry says.
    pub(super) fn of(entry: &Entry) -> Self {
        let muted = |sign, text: String| Self { sign, text: spaced(&text), role: Role::Muted };
        match &entry.body {
            EntryBody::Message(said) => Self::of_message(&said.message),
            EntryBody::Compaction(compaction) => muted(
                "≡",
                format!("compacted, {} tokens before: {}", compaction.tokens_before, compaction.summary),
            ),
            EntryBody::BranchSummary { summary, .. } => muted("≡", format!("of another branch: {summary}")),
            EntryBody::CustomMessage { content, .. } => {
                Self { sign: "+", text: spaced(&content.joined_text()), role: Role::Text }
            }
            EntryBody::ModelChange { provider, model_id } => {
                let model = ModelRef { provider: provider.clone(), id: model_id.clone() };
                muted("·", format!("model: {}", model.shown()))
            }
            EntryBody::ThinkingLevelChange { thinking_level } => {
                muted("·", format!("thinking: {}", thinking_level.name()))
            }
            EntryBody::ContextEdit { replacement, .. } => {
                let what = if replacement.is_some() { "an entry replaced" } else { "an entry left out" };
                muted("·", what.to_owned())
            }
            EntryBody::Label { label, .. } => {
                muted("·", format!("label: {}", label.as_deref().unwrap_or("none")))
            }
            EntryBody::SessionInfo { name } => {
                muted("·", format!("name: {}", name.as_deref().unwrap_or("none")))
            }
            EntryBody::Usage { kind, model, .. } => muted("·", format!("spent on {kind}: {model}")),
            EntryBody::Custom { custom_type, .. } => muted("·", custom_type.clone()),
            EntryBody::Unknown => muted("·", "unknown to this version of tiller".to_owned()),
        }
    }

    /// What stands in the place of an entry that can't be read.
    pub(super) fn damaged() -> Self {
        Self { sign: "✗", text: "damaged: tiller sessions verify says how".to_owned(), role: Role::Error }
    }

    fn of_message(message: &Message) -> Self {
        match message {
            Message::User(user) => Self { sign: "▌", text: spaced(&user.as_typed()), role: Role::User },
            Message::Assistant(answer) => answered(answer),
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

fn answered(answer: &AssistantMessage) -> EntryText {
    let text = answer.joined_text();
    let calls: Vec<String> = answer
        .tool_calls()
        .map(|call| format!("{} {}", call.name, argument(&call.name, &call.arguments)).trim_end().to_owned())
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

/// The beginning of a text on one line, with one space wherever there was more.
fn spaced(text: &str) -> String {
    let glance: String = text.chars().take(LONGEST).collect();
    one_line(&glance.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// All that an entry says, to look for words in.
pub(super) fn whole(entry: &Entry) -> String {
    match &entry.body {
        EntryBody::Message(said) => match &*said.message {
            Message::User(user) => user.as_typed(),
            Message::Assistant(answer) => {
                let parts = answer.content.iter().map(|block| match block {
                    AssistantBlock::Text { text } => text.clone(),
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
        _ => EntryText::of(entry).text,
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::message::BashExecutionMessage;

    use super::*;

    #[test]
    fn said_of_private_shell_command_has_two_marks() {
        let sign = |exclude_from_context| {
            let bash = BashExecutionMessage { exclude_from_context, ..BashExecutionMessage::default() };
            EntryText::of_message(&Message::BashExecution(bash)).sign
        };
        assert_eq!([sign(false), sign(true)], ["!", "!!"]);
    }
}
