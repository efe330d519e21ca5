//! A session as plain text, for `sessions show` and pipes.

use std::fmt::Write;

use crate::message::{AssistantBlock, Message, StopReason, joined_text};
use crate::session::entry::{DeliveryReceipt, Entry, EntryBody};

/// Maximum length of a tool's output in a transcript, in lines; the log has the full output.
const RESULT_LINES: usize = 20;

/// Formats the entries of a path.
pub(super) fn transcript(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let part = match &entry.body {
            EntryBody::Message(entry) => message(&entry.message, entry.tiller_receipt.as_ref()),
            EntryBody::Compaction(compaction) => format!("--- compacted ---\n{}\n", compaction.summary),
            EntryBody::BranchSummary { summary, .. } => format!("--- another branch ---\n{summary}\n"),
            EntryBody::ModelChange { provider, model_id } => {
                format!("--- model: {provider}/{model_id} ---\n")
            }
            EntryBody::CustomMessage { content, display: true, .. } => {
                format!("* {}\n", content.joined_text())
            }
            _ => continue,
        };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&part);
    }
    text
}

pub(super) fn message(message: &Message, receipt: Option<&DeliveryReceipt>) -> String {
    let mut text = String::new();
    match message {
        Message::User(user) => {
            let note = receipt.map(|receipt| match receipt.details().as_str() {
                "" => format!("({}) ", receipt.label()),
                story => format!("({}: {story}) ", receipt.label()),
            });
            let _ = writeln!(
                text,
                "> {}{}",
                note.unwrap_or_default(),
                user.content.joined_text().replace('\n', "\n> ")
            );
        }
        Message::Assistant(answer) => {
            for block in &answer.content {
                match block {
                    AssistantBlock::Text { text: answer_text, .. } => {
                        let _ = writeln!(text, "{answer_text}");
                    }
                    AssistantBlock::ToolCall(call) => {
                        let _ = writeln!(text, "[call {}: {}]", call.name, call.arguments);
                    }
                    AssistantBlock::Thinking { .. } | AssistantBlock::Unknown => {}
                }
            }
            match (answer.stop_reason, &answer.error_message) {
                (StopReason::Error, Some(error)) => drop(writeln!(text, "[failed: {error}]")),
                (StopReason::Aborted, _) => drop(writeln!(text, "[stopped]")),
                _ => {}
            }
        }
        Message::ToolResult(result) => {
            let marker = if result.is_error { "error" } else { "result" };
            let output = joined_text(&result.content);
            let _ = writeln!(text, "[{marker} {}: {}]", result.tool_name, cut(&output));
        }
        Message::BashExecution(bash) => {
            let marker = if bash.exclude_from_context { "!!" } else { "!" };
            let _ = writeln!(text, "{marker}{}\n{}", bash.command, cut(&bash.output));
        }
        Message::System(_) => {}
    }
    text
}

fn cut(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    match lines.len().checked_sub(RESULT_LINES) {
        Some(hidden_count) if hidden_count > 0 => {
            format!("{}\n… {hidden_count} more lines", lines[..RESULT_LINES].join("\n"))
        }
        Some(_) | None => lines.join("\n"),
    }
}
