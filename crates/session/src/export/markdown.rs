//! Markdown transcripts of paths, readable in any Markdown viewer.

use std::collections::BTreeMap;
use std::fmt::Write;

use tiller_core::event::QueueKind;
use tiller_core::message::{
    AssistantBlock, AssistantMessage, BashExecutionMessage, Content, Message, StopReason, ToolCall,
    ToolResultMessage, Usage, UserBlock,
};
use tiller_core::unit::{Tokens, UnixMs};

use crate::entry::{Compaction, DeliveryReceipt, Entry, EntryBody, Header, MessageEntry};

/// Returns the transcript of a path, root first, with a title. Prompts and answers are unchanged; template
/// and skill expansions are folded; tool arguments and results are fenced, so that they aren't interpreted as
/// Markdown.
#[must_use]
pub fn transcript(header: &Header, title: &str, path: &[Entry]) -> String {
    let mut page = Page::default();
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    page.block(&format!("# {title}"));
    page.block(&format!(
        "Session {} of {}, started {}",
        inline(header.id.as_str()),
        inline(&header.cwd),
        header.timestamp
    ));
    for entry in path {
        page.entry(entry);
    }
    page.costs();
    page.text
}

/// Returns the transcript of part of a path, with a title but without the session's details.
#[must_use]
pub fn partial_transcript(title: &str, path: &[Entry]) -> String {
    let mut page = Page::default();
    page.block(&format!("# {}", title.split_whitespace().collect::<Vec<_>>().join(" ")));
    for entry in path {
        page.entry(entry);
    }
    page.costs();
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
    /// Usage of answers, by model.
    usage_by_model: BTreeMap<String, Usage>,
}

impl Page {
    /// Adds a block with a blank line before it.
    fn block(&mut self, block: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(block.trim_end_matches('\n'));
        self.text.push('\n');
    }

    fn fenced(&mut self, language: &str, text: &str) {
        let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
        self.block(&format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n')));
    }

    fn folded(&mut self, summary: &str, text: &str) {
        // A closing tag in the text would end the folded block early.
        let text =
            close_open_fence(&text.replace("</details", "&lt;/details").replace("</summary", "&lt;/summary"));
        self.block(&format!("<details><summary>{summary}</summary>\n\n{}\n\n</details>", text.trim()));
    }

    fn entry(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::Message(message) => self.message(message, entry.timestamp),
            EntryBody::ModelChange { provider, model_id } => {
                self.block(&format!("*Model: {}*", inline(&format!("{provider}/{model_id}"))));
            }
            EntryBody::ThinkingLevelChange { thinking_level } => {
                self.block(&format!("*Thinking: {}*", thinking_level.name()));
            }
            EntryBody::Compaction(compaction) => self.compaction(compaction),
            EntryBody::BranchSummary { summary, usage, .. } => {
                self.block("---");
                self.folded("Another branch was left here: summary", summary);
                self.add_usage("summaries", usage.as_ref());
            }
            EntryBody::CustomMessage { content, display: true, custom_type } => {
                self.block(&format!(
                    "## Added by {} · {}",
                    inline(custom_type),
                    format_time(entry.timestamp)
                ));
                self.content(content, Self::text_block);
            }
            EntryBody::Usage { provider, model, usage, .. } => {
                self.add_usage(&format!("{provider}/{model}"), Some(usage));
            }
            EntryBody::CustomMessage { display: false, .. }
            | EntryBody::ContextEdit { .. }
            | EntryBody::Custom { .. }
            | EntryBody::Label { .. }
            | EntryBody::SessionInfo { .. }
            | EntryBody::Unknown => {}
        }
    }

    fn message(&mut self, entry: &MessageEntry, at: UnixMs) {
        match &*entry.message {
            Message::User(user) => {
                let steers = |receipt: &DeliveryReceipt| receipt.kind == QueueKind::Steer;
                let note = if entry.tiller_receipt.as_ref().is_some_and(steers) { ", steering" } else { "" };
                self.block(&format!("## User{note} · {}", format_time(at)));
                match user.short() {
                    Some(typed) => {
                        self.block(&close_open_fence(&typed));
                        self.content(&user.content, |page, text| page.folded("Sent to the model", text));
                    }
                    None => self.content(&user.content, Self::text_block),
                }
            }
            Message::Assistant(answer) => self.answer(answer, at),
            Message::ToolResult(result) => self.result(result),
            Message::BashExecution(bash) => self.bash(bash),
            Message::System(system) if !system.content.is_empty() => {
                self.folded("System prompt", &system.content);
            }
            Message::System(_) => {}
        }
    }

    fn content(&mut self, content: &Content, add_text: impl Fn(&mut Self, &str)) {
        for block in content.to_blocks() {
            match block {
                UserBlock::Text { text } => add_text(self, &text),
                UserBlock::Image { mime_type, data } => self.image(&mime_type, &data),
                UserBlock::Unknown => {}
            }
        }
    }

    fn text_block(&mut self, text: &str) {
        self.block(&close_open_fence(text));
    }

    /// Adds a line for an image, without its data, which would be longer than everything else.
    fn image(&mut self, mime_type: &str, data: &str) {
        self.block(&format!("*Image: {}, {} bytes*", inline(mime_type), data.len() / 4 * 3));
    }

    fn answer(&mut self, answer: &AssistantMessage, at: UnixMs) {
        let model = format!("{}/{}", answer.provider, answer.model);
        self.block(&format!("## Assistant · {}", format_time(at)));
        for block in &answer.content {
            match block {
                AssistantBlock::Text { text, .. } if !text.trim().is_empty() => {
                    self.block(&close_open_fence(text))
                }
                AssistantBlock::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                    self.folded("Thinking", thinking);
                }
                AssistantBlock::ToolCall(call) => self.call(call),
                AssistantBlock::Text { .. } | AssistantBlock::Thinking { .. } | AssistantBlock::Unknown => {}
            }
        }
        match (answer.stop_reason, &answer.error_message) {
            (StopReason::Error, error) => {
                self.block("**Failed:**");
                self.fenced("", error.as_deref().unwrap_or("the provider failed"));
            }
            (StopReason::Aborted, _) => self.block("*Stopped.*"),
            (StopReason::Length, _) => self.block("*Cut off at the output limit.*"),
            (StopReason::Stop | StopReason::ToolUse, _) => {}
        }
        self.add_usage(&model, Some(&answer.usage));
    }

    fn call(&mut self, call: &ToolCall) {
        self.block(&format!("**Call to {}:**", inline(&call.name)));
        match (&call.raw_arguments, call.arguments["command"].as_str()) {
            (Some(raw), _) => self.fenced("", raw),
            (None, Some(command))
                if call.arguments.as_object().is_some_and(|arguments| arguments.len() == 1) =>
            {
                self.fenced("sh", command);
            }
            (None, _) => {
                let json = serde_json::to_string_pretty(&call.arguments);
                self.fenced("json", &json.unwrap_or_else(|_| call.arguments.to_string()));
            }
        }
    }

    fn result(&mut self, result: &ToolResultMessage) {
        let prefix = if result.is_error { "Failed: " } else { "" };
        self.block(&format!("**{prefix}Result of {}:**", inline(&result.tool_name)));
        for block in &result.content {
            match block {
                UserBlock::Text { text } => self.fenced("", text),
                UserBlock::Image { mime_type, data } => self.image(mime_type, data),
                UserBlock::Unknown => {}
            }
        }
        if let Some(diff) = result.details.as_ref().and_then(|details| details["diff"].as_str()) {
            self.fenced("diff", diff);
        }
    }

    fn bash(&mut self, bash: &BashExecutionMessage) {
        let unsent = if bash.exclude_from_context { " (not sent to the model)" } else { "" };
        self.block(&format!("**User command{unsent}:**"));
        self.fenced("sh", &bash.command);
        if !bash.output.is_empty() {
            self.fenced("", &bash.output);
        }
        match (bash.cancelled, bash.exit_code) {
            (true, _) => self.block("*Stopped.*"),
            (false, Some(0)) => {}
            (false, Some(code)) => self.block(&format!("*Exit code {code}.*")),
            (false, None) => self.block("*Killed.*"),
        }
    }

    fn compaction(&mut self, compaction: &Compaction) {
        self.block("---");
        let title = format!("Compacted (was {} tokens): summary", compaction.tokens_before);
        self.folded(&title, &compaction.summary);
        self.add_usage("summaries", compaction.usage.as_ref());
    }

    fn add_usage(&mut self, model: &str, usage: Option<&Usage>) {
        if let Some(usage) = usage.filter(|usage| usage.total() > Tokens(0)) {
            self.usage_by_model.entry(model.to_owned()).or_default().add(usage);
        }
    }

    fn costs(&mut self) {
        if self.usage_by_model.is_empty() {
            return;
        }
        let mut total = Usage::default();
        let mut table = String::from(
            "| model | input | from cache | to cache | output | cost |\n|---|--:|--:|--:|--:|--:|\n",
        );
        let mut row = |name: &str, u: &Usage| {
            let (cells, cost) = ([u.input, u.cache_read, u.cache_write, u.output], u.cost.total);
            let cells = cells.map(|tokens| tokens.0.to_string()).join(" | ");
            let _ = writeln!(table, "| {name} | {cells} | {cost} |");
        };
        for (model, usage) in &self.usage_by_model {
            row(&inline(model).replace('|', "\\|"), usage);
            total.add(usage);
        }
        if self.usage_by_model.len() > 1 {
            row("total", &total);
        }
        self.block("---");
        self.block(&table);
    }
}

/// Formats a time as `2026-11-21 14:02 UTC`.
fn format_time(at: UnixMs) -> String {
    let iso = at.to_iso();
    match iso.split_once('T') {
        Some((date, time)) => format!("{date} {} UTC", time.get(..5).unwrap_or(time)),
        None => iso,
    }
}

/// Formats a string as inline code, with enough backticks around it.
fn inline(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let marks = "`".repeat(longest_run(&text, '`') + 1);
    let space = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{marks}{space}{text}{space}{marks}")
}

fn longest_run(text: &str, character: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == character { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Closes a code fence that is left open in a string, so that later blocks aren't part of it.
fn close_open_fence(text: &str) -> String {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let bare = line.trim_start_matches(' ');
        let Some(mark) = bare.chars().next().filter(|c| matches!(c, '`' | '~')) else { continue };
        let rest = bare.trim_start_matches(mark);
        let length = bare.len() - rest.len();
        match open {
            Some((fence, min_length)) if fence == mark && length >= min_length && rest.trim().is_empty() => {
                open = None
            }
            None if length >= 3 && !(mark == '`' && rest.contains('`')) => open = Some((mark, length)),
            Some(_) | None => {}
        }
    }
    match open {
        Some((mark, length)) => {
            format!("{}\n{}", text.trim_end_matches('\n'), mark.to_string().repeat(length))
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fenced_fence_is_longer_than_inner_fences() {
        let mut page = Page::default();
        page.fenced("", "a\n````\nb");
        assert_eq!(page.text, "`````\na\n````\nb\n`````\n");
        assert_eq!(inline("a `b` ``c"), "```a `b` ``c```");
        assert_eq!(inline("`"), "`` ` ``");
    }

    #[test]
    fn close_open_fence_appends_closing_fence() {
        assert_eq!(close_open_fence("so:\n~~~sh\nls"), "so:\n~~~sh\nls\n~~~");
        assert_eq!(close_open_fence("```\na\n```\nb `c"), "```\na\n```\nb `c");
        assert_eq!(close_open_fence("````\n```\n"), "````\n```\n````");
    }

    #[test]
    fn folded_text_cannot_close_details() {
        let mut page = Page::default();
        page.folded("Thinking", "</details># out\n```");
        assert!(page.text.ends_with("&lt;/details># out\n```\n```\n\n</details>\n"), "{}", page.text);
    }
}
