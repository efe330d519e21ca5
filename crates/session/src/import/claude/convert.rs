//! Conversion of groups to entries: reads the lines of each group again and builds messages.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use tiller_core::id::EntryId;
use tiller_core::message::{
    AssistantBlock, AssistantMessage, BashExecutionMessage, Content, Cost, Message, StopReason,
    ToolResultMessage, Usage, UserBlock, UserMessage,
};
use tiller_core::tool_spec::ShownArgument;
use tiller_core::unit::{Tokens, UnixMs, Usd};

use super::super::blocks;
use super::super::conversion::ConversionContext;
use super::super::entry_builder::EntryDraft;
use super::super::source::{LineSpan, count, flag, items, text};
use super::super::warning::ImportWarnings;
use super::grouping::{GroupKind, MessageGroup};
use super::head::{ConversationLine, LineKind, first_text};
use crate::entry::{Compaction, EntryBody};
use crate::error::SessionError;

/// The API that Claude Code uses.
const API: &str = "anthropic-messages";

const PROVIDER: &str = "anthropic";

/// The custom type of a slash command's expansion.
const EXPANSION: &str = "claude.command";

#[derive(Clone, Default)]
struct WrittenGroup {
    first: Option<EntryId>,
    last: Option<EntryId>,
    /// The current model on the path.
    model: Option<Arc<str>>,
}

/// Writes all groups; returns the last entry of the group at index `leaf`.
pub(super) fn write_groups(
    groups: &[MessageGroup],
    heads: &[ConversationLine],
    leaf: Option<usize>,
    context: &mut ConversionContext<'_, '_>,
) -> Result<Option<EntryId>, SessionError> {
    let tools = tools(heads);
    let mut written: Vec<WrittenGroup> = Vec::with_capacity(groups.len());
    for group in groups {
        let parent = match group.parent {
            Some(parent) => written[parent].clone(),
            None => WrittenGroup { last: context.root.clone(), ..WrittenGroup::default() },
        };
        let position = WrittenGroup { first: None, ..parent };
        let mut writer = GroupWriter { context, heads, tools: &tools, position, time: UnixMs(0) };
        writer.group(group, &written)?;
        written.push(writer.position);
    }
    Ok(leaf.map_or_else(|| context.root.clone(), |leaf| written[leaf].last.clone()))
}

/// Returns the tool of each call.
fn tools(heads: &[ConversationLine]) -> HashMap<&str, &str> {
    let calls = heads.iter().filter_map(|head| match &head.kind {
        LineKind::Answer(part) => Some(&part.calls),
        _ => None,
    });
    calls.flatten().map(|(call, tool)| (call.as_str(), tool.as_str())).collect()
}

struct GroupWriter<'e, 'a, 'b> {
    context: &'e mut ConversionContext<'a, 'b>,
    heads: &'e [ConversationLine],
    tools: &'e HashMap<&'e str, &'e str>,
    position: WrittenGroup,
    time: UnixMs,
}

impl GroupWriter<'_, '_, '_> {
    fn group(&mut self, group: &MessageGroup, written: &[WrittenGroup]) -> Result<(), SessionError> {
        let mut lines = Vec::with_capacity(group.heads.len());
        for &at in &group.heads {
            let span = self.heads[at].span;
            lines.push((span, self.context.source.value(span)?));
        }
        let source_key = self.source_key(group);
        let time = lines.iter().find_map(|(_, line)| text(line, "timestamp").and_then(UnixMs::from_iso));
        // A line without a time gets the newest time so far.
        self.time = time.unwrap_or_else(|| self.context.builder.latest());
        match &group.kind {
            GroupKind::Prompt => self.prompt(&source_key, &lines),
            GroupKind::Command => self.command(&source_key, &lines),
            GroupKind::Expansion => self.expansion(&source_key, &lines),
            GroupKind::Results => self.results(&source_key, &lines),
            GroupKind::Answer { aborted } => self.answer(&source_key, &lines, *aborted),
            GroupKind::Compaction { first_kept, tokens } => {
                let first_entry = first_kept.and_then(|group| written[group].first.clone());
                self.compaction(&source_key, &lines, first_entry, Tokens(*tokens))
            }
            GroupKind::Bash => self.bash(&source_key, &lines),
        }
    }

    /// Returns the source key of a group: the uuids of its lines.
    fn source_key(&self, group: &MessageGroup) -> String {
        let name = |&at: &usize| {
            let head = &self.heads[at];
            head.uuid.clone().unwrap_or_else(|| format!("line {}", head.span.number))
        };
        group.heads.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    fn add_entry(&mut self, source_key: &str, body: EntryBody) -> Result<(), SessionError> {
        let draft = EntryDraft::new(self.position.last.clone(), source_key, self.time, body);
        let id = self.context.builder.add(draft)?;
        self.position.first.get_or_insert_with(|| id.clone());
        self.position.last = Some(id);
        Ok(())
    }

    fn add_message(&mut self, source_key: &str, message: Message) -> Result<(), SessionError> {
        self.add_entry(source_key, EntryBody::message(Arc::new(message)))
    }

    fn add_user_message(&mut self, source_key: &str, content: Content) -> Result<(), SessionError> {
        let is_empty = matches!(&content, Content::Blocks(blocks) if blocks.is_empty());
        if is_empty {
            return Ok(());
        }
        let timestamp = self.time;
        self.add_message(source_key, Message::User(UserMessage { content, timestamp, typed: None }))
    }

    fn prompt(&mut self, source_key: &str, lines: &[(LineSpan, Value)]) -> Result<(), SessionError> {
        for (span, line) in lines {
            let value = match line.get("attachment") {
                Some(queued) => queued.get("prompt"),
                None => line.get("message").and_then(|message| message.get("content")),
            };
            let content = content(value.unwrap_or(&Value::Null), *span, self.context.warnings);
            self.add_user_message(source_key, content)?;
        }
        Ok(())
    }

    fn command(&mut self, source_key: &str, lines: &[(LineSpan, Value)]) -> Result<(), SessionError> {
        for (_, line) in lines {
            let value = first_text(line.get("message").unwrap_or(&Value::Null));
            let name = tag_content(value, "command-name").unwrap_or_default();
            let typed = format!("{name} {}", tag_content(value, "command-args").unwrap_or_default());
            self.add_user_message(source_key, Content::Text(typed.trim().to_owned()))?;
        }
        Ok(())
    }

    fn expansion(&mut self, source_key: &str, lines: &[(LineSpan, Value)]) -> Result<(), SessionError> {
        for (span, line) in lines {
            let value = line.get("message").and_then(|message| message.get("content"));
            let content = content(value.unwrap_or(&Value::Null), *span, self.context.warnings);
            let custom_type = EXPANSION.to_owned();
            self.add_entry(source_key, EntryBody::CustomMessage { custom_type, content, display: false })?;
        }
        Ok(())
    }

    fn results(&mut self, source_key: &str, lines: &[(LineSpan, Value)]) -> Result<(), SessionError> {
        for (span, line) in lines {
            let mut value = Vec::new();
            let message = line.get("message").unwrap_or(&Value::Null);
            for (at, block) in items(message, "content").iter().enumerate() {
                if text(block, "type") != Some("tool_result") {
                    value.push(block.clone());
                    continue;
                }
                let call = text(block, "tool_use_id").unwrap_or_default();
                let Some(tool) = self.tools.get(call) else {
                    self.context.warnings.add(span.number, "results without their calls");
                    continue;
                };
                let value = block.get("content").unwrap_or(&Value::Null);
                let mut content = content(value, *span, self.context.warnings).to_blocks();
                let result = ToolResultMessage {
                    tool_call_id: call.into(),
                    tool_name: (*tool).to_owned(),
                    details: blocks::render_output(tool, &mut content),
                    content,
                    is_error: flag(block, "is_error"),
                    timestamp: self.time,
                };
                self.add_message(&format!("{source_key} result {at}"), Message::ToolResult(result))?;
            }
            let value = content(&Value::Array(value), *span, self.context.warnings);
            self.add_user_message(source_key, value)?;
        }
        Ok(())
    }

    fn answer(
        &mut self,
        source_key: &str,
        lines: &[(LineSpan, Value)],
        aborted: bool,
    ) -> Result<(), SessionError> {
        let mut answer = AssistantMessage {
            api: API.to_owned(),
            provider: PROVIDER.to_owned(),
            timestamp: self.time,
            ..AssistantMessage::default()
        };
        let (mut reason, mut failed) = (None, false);
        for (span, line) in lines {
            let message = line.get("message").unwrap_or(&Value::Null);
            answer.content.extend(
                items(message, "content").iter().filter_map(|part| block(part, *span, self.context.warnings)),
            );
            // Every line repeats the usage; that of the last one is complete.
            answer.usage = usage(message, line);
            answer.model = text(message, "model").unwrap_or_default().to_owned();
            reason = text(message, "stop_reason").map(str::to_owned).or(reason);
            failed |= flag(line, "isApiErrorMessage");
        }
        answer.stop_reason = match (aborted, reason.as_deref()) {
            (true, _) => StopReason::Aborted,
            (false, Some("max_tokens" | "model_context_window_exceeded")) => StopReason::Length,
            (false, _) if answer.tool_calls().next().is_some() => StopReason::ToolUse,
            (false, _) => StopReason::Stop,
        };
        if failed {
            // The text is an error message of Claude Code, not an answer.
            answer.error_message = Some(answer.joined_text());
            answer = AssistantMessage {
                content: Vec::new(),
                stop_reason: StopReason::Error,
                provider: String::new(),
                model: String::new(),
                ..answer
            };
        } else {
            self.add_model_change(source_key, &answer.model)?;
        }
        self.add_message(source_key, Message::Assistant(answer))
    }

    fn add_model_change(&mut self, source_key: &str, model: &str) -> Result<(), SessionError> {
        if model.is_empty() || self.position.model.as_deref() == Some(model) {
            return Ok(());
        }
        self.position.model = Some(Arc::from(model));
        let body = EntryBody::ModelChange { provider: PROVIDER.to_owned(), model_id: model.to_owned() };
        // From the answer's first line alone, so that the id stays the same as the answer grows.
        let first = source_key.split(' ').next().unwrap_or_default();
        self.add_entry(&format!("{first} model"), body)
    }

    fn compaction(
        &mut self,
        source_key: &str,
        lines: &[(LineSpan, Value)],
        first_entry: Option<EntryId>,
        tokens_before: Tokens,
    ) -> Result<(), SessionError> {
        let summaries = lines.iter().filter(|(_, line)| flag(line, "isCompactSummary"));
        let texts: Vec<String> = summaries
            .map(|(span, line)| {
                let value = line.get("message").and_then(|message| message.get("content"));
                content(value.unwrap_or(&Value::Null), *span, self.context.warnings).joined_text()
            })
            .collect();
        let summary = texts.join("\n");
        if summary.trim().is_empty() {
            let line = lines.first().map_or(0, |(span, _)| span.number);
            self.context.warnings.add(line, "skipped compactions without a summary");
            return Ok(());
        }
        let first_kept_entry_id = first_entry.unwrap_or_else(|| EntryId::new(""));
        self.add_entry(
            source_key,
            EntryBody::Compaction(Compaction {
                summary,
                first_kept_entry_id,
                tokens_before,
                details: None,
                usage: None,
                made_by: None,
            }),
        )
    }

    fn bash(&mut self, source_key: &str, lines: &[(LineSpan, Value)]) -> Result<(), SessionError> {
        let texts: Vec<&str> =
            lines.iter().map(|(_, line)| first_text(line.get("message").unwrap_or(&Value::Null))).collect();
        let parts = ["bash-stdout", "bash-stderr"];
        let output: Vec<&str> = texts
            .iter()
            .skip(1)
            .flat_map(|text| parts.map(|part| tag_content(text, part).unwrap_or("")))
            .collect();
        let message = BashExecutionMessage {
            command: texts
                .first()
                .and_then(|text| tag_content(text, "bash-input"))
                .unwrap_or_default()
                .to_owned(),
            output: output.concat(),
            cancelled: texts.len() < 2,
            timestamp: self.time,
            ..BashExecutionMessage::default()
        };
        self.add_message(source_key, Message::BashExecution(message))
    }
}

/// Returns the text between `<name>` and `</name>`.
fn tag_content<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(inside, _)| inside)
}

/// Returns the content of a user message or a tool result: a string or blocks.
fn content(value: &Value, span: LineSpan, warnings: &mut ImportWarnings) -> Content {
    match value {
        Value::String(text) => Content::Text(text.clone()),
        Value::Array(parts) => {
            Content::Blocks(parts.iter().filter_map(|part| user_block(part, span, warnings)).collect())
        }
        _ => Content::Blocks(Vec::new()),
    }
}

fn user_block(part: &Value, span: LineSpan, warnings: &mut ImportWarnings) -> Option<UserBlock> {
    match text(part, "type").unwrap_or_default() {
        "text" => text(part, "text")
            .filter(|text| !text.is_empty())
            .map(|text| UserBlock::Text { text: text.to_owned() }),
        "image" => {
            let source = part.get("source").unwrap_or(&Value::Null);
            blocks::image(text(source, "media_type"), text(source, "data"), span, warnings)
        }
        kind => {
            warnings.add(span.number, format!("skipped blocks ({kind})"));
            None
        }
    }
}

fn block(part: &Value, span: LineSpan, warnings: &mut ImportWarnings) -> Option<AssistantBlock> {
    let field = |key: &str| text(part, key).unwrap_or_default().to_owned();
    match text(part, "type").unwrap_or_default() {
        "text" => Some(AssistantBlock::text(field("text"))).filter(|_| !field("text").is_empty()),
        "thinking" => Some(AssistantBlock::Thinking {
            thinking: field("thinking"),
            thinking_signature: text(part, "signature").filter(|seal| !seal.is_empty()).map(str::to_owned),
        }),
        "tool_use" => {
            let input = part.get("input").cloned().unwrap_or(Value::Null);
            blocks::tool_call(text(part, "id"), text(part, "name"), input, span, warnings)
                .map(AssistantBlock::ToolCall)
        }
        "server_tool_use" => {
            warnings.add(span.number, "searches by the provider, as text");
            let name = field("name").replace('_', " ");
            let input = part.get("input").unwrap_or(&Value::Null);
            let argument = ShownArgument::FirstText.one_line(input);
            Some(AssistantBlock::text(format!("[{name}: {argument}]")))
        }
        kind => {
            warnings.add(span.number, format!("skipped blocks ({kind})"));
            None
        }
    }
}

fn usage(message: &Value, line: &Value) -> Usage {
    let usage_value = message.get("usage").unwrap_or(&Value::Null);
    let tokens = |key| Tokens(count(usage_value, key));
    let mut usage = Usage {
        input: tokens("input_tokens"),
        output: tokens("output_tokens"),
        cache_read: tokens("cache_read_input_tokens"),
        cache_write: tokens("cache_creation_input_tokens"),
        ..Usage::default()
    };
    usage.total_tokens = usage.total();
    // Versions before 1.0.9 recorded the cost.
    if let Some(cost) = line.get("costUSD").and_then(Value::as_f64) {
        usage.cost = Cost { total: Usd(cost), ..Cost::default() };
    }
    usage
}
