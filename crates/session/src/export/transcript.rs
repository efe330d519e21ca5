//! A path as Markdown that any program shows.

use std::collections::BTreeMap;
use std::fmt::Write;

use tiller_core::event::QueueKind;
use tiller_core::message::{
    AssistantBlock, AssistantMessage, BashExecutionMessage, Content, Message, StopReason, ToolCall,
    ToolResultMessage, Usage, UserBlock,
};
use tiller_core::unit::{Tokens, UnixMs};

use crate::entry::{Compaction, DeliveryReceipt, Entry, EntryBody, Header, MessageEntry};

/// The transcript of a path, root first, under a title. Prompts and answers stand as they are, what templates and
/// skills made of prompts is folded; what tools were given and said is fenced, so that nothing of it is taken for Markdown.
#[must_use]
pub fn transcript(header: &Header, title: &str, path: &[Entry]) -> String {
    let mut page = Page::default();
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    page.block(&format!("# {title}"));
    page.block(&format!(
        "Session {} of {}, begun {}",
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

/// The transcript of a part of a path, under a title one step lower.
#[must_use]
pub fn part(title: &str, path: &[Entry]) -> String {
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
    /// What answers cost, by model.
    spent: BTreeMap<String, Usage>,
}

impl Page {
    /// Adds a block, one line free above it.
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
        // A text that closes the fold itself would spill the rest of it.
        let text = closed(&text.replace("</details", "&lt;/details").replace("</summary", "&lt;/summary"));
        self.block(&format!("<details><summary>{summary}</summary>\n\n{}\n\n</details>", text.trim()));
    }

    fn entry(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::Message(said) => self.message(said, entry.timestamp),
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
                self.spend("summaries", usage.as_ref());
            }
            EntryBody::CustomMessage { content, display: true, custom_type } => {
                self.block(&format!("## Added by {} · {}", inline(custom_type), moment(entry.timestamp)));
                self.content(content, Self::spoken);
            }
            EntryBody::Usage { provider, model, usage, .. } => {
                self.spend(&format!("{provider}/{model}"), Some(usage));
            }
            EntryBody::CustomMessage { display: false, .. }
            | EntryBody::ContextEdit { .. }
            | EntryBody::Custom { .. }
            | EntryBody::Label { .. }
            | EntryBody::SessionInfo { .. }
            | EntryBody::Unknown => {}
        }
    }

    fn message(&mut self, said: &MessageEntry, at: UnixMs) {
        match &*said.message {
            Message::User(user) => {
                let steers = |receipt: &DeliveryReceipt| receipt.kind == QueueKind::Steer;
                let note = if said.tiller_receipt.as_ref().is_some_and(steers) { ", steering" } else { "" };
                self.block(&format!("## User{note} · {}", moment(at)));
                match user.short() {
                    Some(typed) => {
                        self.block(&closed(&typed));
                        self.content(&user.content, |page, text| {
                            page.folded("What the model was sent", text)
                        });
                    }
                    None => self.content(&user.content, Self::spoken),
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

    fn content(&mut self, content: &Content, said: impl Fn(&mut Self, &str)) {
        for block in content.to_blocks() {
            match block {
                UserBlock::Text { text } => said(self, &text),
                UserBlock::Image { mime_type, data } => self.image(&mime_type, &data),
                UserBlock::Unknown => {}
            }
        }
    }

    fn spoken(&mut self, text: &str) {
        self.block(&closed(text));
    }

    /// An image is named, not shown: as text it would be as long as all the rest.
    fn image(&mut self, mime_type: &str, data: &str) {
        self.block(&format!("*Image: {}, {} bytes*", inline(mime_type), data.len() / 4 * 3));
    }

    fn answer(&mut self, answer: &AssistantMessage, at: UnixMs) {
        let model = format!("{}/{}", answer.provider, answer.model);
        self.block(&format!("## Assistant · {}", moment(at)));
        for block in &answer.content {
            match block {
                AssistantBlock::Text { text } if !text.trim().is_empty() => self.block(&closed(text)),
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
        self.spend(&model, Some(&answer.usage));
    }

    fn call(&mut self, call: &ToolCall) {
        self.block(&format!("**Call of {}:**", inline(&call.name)));
        match (&call.raw_arguments, call.arguments["command"].as_str()) {
            (Some(raw), _) => self.fenced("", raw),
            (None, Some(command)) if call.arguments.as_object().is_some_and(|all| all.len() == 1) => {
                self.fenced("sh", command);
            }
            (None, _) => {
                let json = serde_json::to_string_pretty(&call.arguments);
                self.fenced("json", &json.unwrap_or_else(|_| call.arguments.to_string()));
            }
        }
    }

    fn result(&mut self, result: &ToolResultMessage) {
        let sign = if result.is_error { "Failed: " } else { "" };
        self.block(&format!("**{sign}Result of {}:**", inline(&result.tool_name)));
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
        self.block(&format!("**Command of the user's{unsent}:**"));
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
        let title = format!("Compacted: {} tokens before, summary", compaction.tokens_before);
        self.folded(&title, &compaction.summary);
        self.spend("summaries", compaction.usage.as_ref());
    }

    fn spend(&mut self, model: &str, usage: Option<&Usage>) {
        if let Some(usage) = usage.filter(|usage| usage.total() > Tokens(0)) {
            self.spent.entry(model.to_owned()).or_default().add(usage);
        }
    }

    fn costs(&mut self) {
        if self.spent.is_empty() {
            return;
        }
        let mut all = Usage::default();
        let mut table = String::from(
            "| model | input | from cache | to cache | output | cost |\n|---|--:|--:|--:|--:|--:|\n",
        );
        let mut row = |name: &str, u: &Usage| {
            let (cells, cost) = ([u.input, u.cache_read, u.cache_write, u.output], u.cost.total);
            let cells = cells.map(|tokens| tokens.0.to_string()).join(" | ");
            let _ = writeln!(table, "| {name} | {cells} | {cost} |");
        };
        for (model, usage) in &self.spent {
            row(&inline(model).replace('|', "\\|"), usage);
            all.add(usage);
        }
        if self.spent.len() > 1 {
            row("together", &all);
        }
        self.block("---");
        self.block(&table);
    }
}

/// `2026-11-21 14:02 UTC`.
fn moment(at: UnixMs) -> String {
    let iso = at.to_iso();
    match iso.split_once('T') {
        Some((date, time)) => format!("{date} {} UTC", time.get(..5).unwrap_or(time)),
        None => iso,
    }
}

/// A text as code within a line, whatever backticks it holds.
fn inline(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let marks = "`".repeat(longest_run(&text, '`') + 1);
    let space = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{marks}{space}{text}{space}{marks}")
}

fn longest_run(text: &str, wanted: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// A text with the fence closed that it leaves open, so that what follows isn't taken for its code.
fn closed(text: &str) -> String {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let bare = line.trim_start_matches(' ');
        let Some(mark) = bare.chars().next().filter(|c| matches!(c, '`' | '~')) else { continue };
        let rest = bare.trim_start_matches(mark);
        let length = bare.len() - rest.len();
        match open {
            Some((fence, least)) if fence == mark && length >= least && rest.trim().is_empty() => open = None,
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
    fn a_fence_is_longer_than_any_in_it() {
        let mut page = Page::default();
        page.fenced("", "a\n````\nb");
        assert_eq!(page.text, "`````\na\n````\nb\n`````\n");
        assert_eq!(inline("a `b` ``c"), "```a `b` ``c```");
        assert_eq!(inline("`"), "`` ` ``");
    }

    #[test]
    fn a_fence_that_a_text_leaves_open_is_closed() {
        assert_eq!(closed("so:\n~~~sh\nls"), "so:\n~~~sh\nls\n~~~");
        assert_eq!(closed("```\na\n```\nb `c"), "```\na\n```\nb `c");
        assert_eq!(closed("````\n```\n"), "````\n```\n````");
    }

    #[test]
    fn a_thought_does_not_leave_its_fold() {
        let mut page = Page::default();
        page.folded("Thinking", "</details># out\n```");
        assert!(page.text.ends_with("&lt;/details># out\n```\n```\n\n</details>\n"), "{}", page.text);
    }
}
