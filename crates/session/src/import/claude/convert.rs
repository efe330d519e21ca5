//! Writes units as entries: reads their lines again and turns what they say into messages.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use tiller_core::id::EntryId;
use tiller_core::message::{
    AssistantBlock, AssistantMessage, BashExecutionMessage, Content, Cost, Message, StopReason, ToolCall,
    ToolResultMessage, Usage, UserBlock, UserMessage,
};
use tiller_core::unit::{Tokens, UnixMs, Usd};

use super::super::entry_builder::Draft;
use super::super::source::{Span, count, flag, items, text};
use super::super::warning::ImportWarnings;
use super::super::{Work, blocks};
use super::grouping::{Unit, UnitKind};
use super::head::{Head, Kind, first_text};
use crate::entry::{Compaction, EntryBody};
use crate::error::SessionError;

/// The protocol that Claude Code speaks.
const API: &str = "anthropic-messages";

/// The provider's name.
const PROVIDER: &str = "anthropic";

/// The type of the message that a slash command was expanded to.
const EXPANSION: &str = "claude.command";

/// A unit that was written.
#[derive(Clone, Default)]
struct Place {
    first: Option<EntryId>,
    last: Option<EntryId>,
    /// The model on the path.
    model: Option<Arc<str>>,
}

/// Writes all units; answers with the last entry of the one at `leaf`.
pub(super) fn emit(
    units: &[Unit],
    heads: &[Head],
    leaf: Option<usize>,
    work: &mut Work<'_, '_>,
) -> Result<Option<EntryId>, SessionError> {
    let tools = tools(heads);
    let mut places: Vec<Place> = Vec::with_capacity(units.len());
    for unit in units {
        let above = match unit.parent {
            Some(parent) => places[parent].clone(),
            None => Place { last: work.root.clone(), ..Place::default() },
        };
        let place = Place { first: None, ..above };
        let mut emitter = Emitter { work, heads, tools: &tools, place, time: UnixMs(0) };
        emitter.unit(unit, &places)?;
        places.push(emitter.place);
    }
    Ok(leaf.map_or_else(|| work.root.clone(), |leaf| places[leaf].last.clone()))
}

/// The tool of each call.
fn tools(heads: &[Head]) -> HashMap<&str, &str> {
    let calls = heads.iter().filter_map(|head| match &head.kind {
        Kind::Answer(part) => Some(&part.calls),
        _ => None,
    });
    calls.flatten().map(|(call, tool)| (call.as_str(), tool.as_str())).collect()
}

struct Emitter<'e, 'a, 'b> {
    work: &'e mut Work<'a, 'b>,
    heads: &'e [Head],
    tools: &'e HashMap<&'e str, &'e str>,
    place: Place,
    time: UnixMs,
}

impl Emitter<'_, '_, '_> {
    fn unit(&mut self, unit: &Unit, places: &[Place]) -> Result<(), SessionError> {
        let mut lines = Vec::with_capacity(unit.heads.len());
        for &at in &unit.heads {
            let span = self.heads[at].span;
            lines.push((span, self.work.source.value(span)?));
        }
        let mark = self.mark(unit);
        let time = lines.iter().find_map(|(_, line)| text(line, "timestamp").and_then(UnixMs::from_iso));
        // A line without a time is as old as the newest before it.
        self.time = time.unwrap_or_else(|| self.work.sink.latest());
        match &unit.kind {
            UnitKind::Prompt => self.prompt(&mark, &lines),
            UnitKind::Command => self.command(&mark, &lines),
            UnitKind::Expansion => self.expansion(&mark, &lines),
            UnitKind::Results => self.results(&mark, &lines),
            UnitKind::Answer { aborted } => self.answer(&mark, &lines, *aborted),
            UnitKind::Compaction { kept, tokens } => {
                let kept = kept.and_then(|kept| places[kept].first.clone());
                self.compaction(&mark, &lines, kept, Tokens(*tokens))
            }
            UnitKind::Bash => self.bash(&mark, &lines),
        }
    }

    /// The unit's lines by their names.
    fn mark(&self, unit: &Unit) -> String {
        let name = |&at: &usize| {
            let head = &self.heads[at];
            head.uuid.clone().unwrap_or_else(|| format!("line {}", head.span.number))
        };
        unit.heads.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    fn put(&mut self, mark: &str, body: EntryBody) -> Result<(), SessionError> {
        let draft = Draft::new(self.place.last.clone(), mark, self.time, body);
        let id = self.work.sink.put(draft)?;
        self.place.first.get_or_insert_with(|| id.clone());
        self.place.last = Some(id);
        Ok(())
    }

    fn say(&mut self, mark: &str, message: Message) -> Result<(), SessionError> {
        self.put(mark, EntryBody::message(Arc::new(message)))
    }

    fn say_user(&mut self, mark: &str, content: Content) -> Result<(), SessionError> {
        let is_empty = matches!(&content, Content::Blocks(blocks) if blocks.is_empty());
        if is_empty {
            return Ok(());
        }
        let timestamp = self.time;
        self.say(mark, Message::User(UserMessage { content, timestamp, typed: None }))
    }

    fn prompt(&mut self, mark: &str, lines: &[(Span, Value)]) -> Result<(), SessionError> {
        for (span, line) in lines {
            let said = match line.get("attachment") {
                Some(queued) => queued.get("prompt"),
                None => line.get("message").and_then(|message| message.get("content")),
            };
            let content = content(said.unwrap_or(&Value::Null), *span, self.work.notes);
            self.say_user(mark, content)?;
        }
        Ok(())
    }

    fn command(&mut self, mark: &str, lines: &[(Span, Value)]) -> Result<(), SessionError> {
        for (_, line) in lines {
            let said = first_text(line.get("message").unwrap_or(&Value::Null));
            let name = tagged(said, "command-name").unwrap_or_default();
            let typed = format!("{name} {}", tagged(said, "command-args").unwrap_or_default());
            self.say_user(mark, Content::Text(typed.trim().to_owned()))?;
        }
        Ok(())
    }

    fn expansion(&mut self, mark: &str, lines: &[(Span, Value)]) -> Result<(), SessionError> {
        for (span, line) in lines {
            let said = line.get("message").and_then(|message| message.get("content"));
            let content = content(said.unwrap_or(&Value::Null), *span, self.work.notes);
            let custom_type = EXPANSION.to_owned();
            self.put(mark, EntryBody::CustomMessage { custom_type, content, display: false })?;
        }
        Ok(())
    }

    fn results(&mut self, mark: &str, lines: &[(Span, Value)]) -> Result<(), SessionError> {
        for (span, line) in lines {
            let mut said = Vec::new();
            let message = line.get("message").unwrap_or(&Value::Null);
            for (at, block) in items(message, "content").iter().enumerate() {
                if text(block, "type") != Some("tool_result") {
                    said.push(block.clone());
                    continue;
                }
                let call = text(block, "tool_use_id").unwrap_or_default();
                let Some(tool) = self.tools.get(call) else {
                    self.work.notes.add(span.number, "results without their calls");
                    continue;
                };
                let said = block.get("content").unwrap_or(&Value::Null);
                let mut content = content(said, *span, self.work.notes).to_blocks();
                let result = ToolResultMessage {
                    tool_call_id: call.into(),
                    tool_name: (*tool).to_owned(),
                    details: blocks::printed(tool, &mut content),
                    content,
                    is_error: flag(block, "is_error"),
                    timestamp: self.time,
                };
                self.say(&format!("{mark} result {at}"), Message::ToolResult(result))?;
            }
            let said = content(&Value::Array(said), *span, self.work.notes);
            self.say_user(mark, said)?;
        }
        Ok(())
    }

    fn answer(&mut self, mark: &str, lines: &[(Span, Value)], aborted: bool) -> Result<(), SessionError> {
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
                items(message, "content").iter().filter_map(|part| block(part, *span, self.work.notes)),
            );
            // Every line repeats the usage; the last one has the whole of it.
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
            // What stands there are the program's words, not the model's.
            answer.error_message = Some(answer.joined_text());
            answer = AssistantMessage {
                content: Vec::new(),
                stop_reason: StopReason::Error,
                provider: String::new(),
                model: String::new(),
                ..answer
            };
        } else {
            self.change_model(mark, &answer.model)?;
        }
        self.say(mark, Message::Assistant(answer))
    }

    fn change_model(&mut self, mark: &str, model: &str) -> Result<(), SessionError> {
        if model.is_empty() || self.place.model.as_deref() == Some(model) {
            return Ok(());
        }
        self.place.model = Some(Arc::from(model));
        let body = EntryBody::ModelChange { provider: PROVIDER.to_owned(), model_id: model.to_owned() };
        // Named for the answer's first line alone, so that an answer that grew on follows the same change.
        let first = mark.split(' ').next().unwrap_or_default();
        self.put(&format!("{first} model"), body)
    }

    fn compaction(
        &mut self,
        mark: &str,
        lines: &[(Span, Value)],
        kept: Option<EntryId>,
        tokens_before: Tokens,
    ) -> Result<(), SessionError> {
        let summaries = lines.iter().filter(|(_, line)| flag(line, "isCompactSummary"));
        let texts: Vec<String> = summaries
            .map(|(span, line)| {
                let said = line.get("message").and_then(|message| message.get("content"));
                content(said.unwrap_or(&Value::Null), *span, self.work.notes).joined_text()
            })
            .collect();
        let summary = texts.join("\n");
        if summary.trim().is_empty() {
            let line = lines.first().map_or(0, |(span, _)| span.number);
            self.work.notes.add(line, "compactions without a summary left out");
            return Ok(());
        }
        let first_kept_entry_id = kept.unwrap_or_else(|| EntryId::new(""));
        self.put(
            mark,
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

    fn bash(&mut self, mark: &str, lines: &[(Span, Value)]) -> Result<(), SessionError> {
        let said: Vec<&str> =
            lines.iter().map(|(_, line)| first_text(line.get("message").unwrap_or(&Value::Null))).collect();
        let parts = ["bash-stdout", "bash-stderr"];
        let output: Vec<&str> =
            said.iter().skip(1).flat_map(|said| parts.map(|part| tagged(said, part).unwrap_or(""))).collect();
        let message = BashExecutionMessage {
            command: said.first().and_then(|said| tagged(said, "bash-input")).unwrap_or_default().to_owned(),
            output: output.concat(),
            cancelled: said.len() < 2,
            timestamp: self.time,
            ..BashExecutionMessage::default()
        };
        self.say(mark, Message::BashExecution(message))
    }
}

/// What stands between `<name>` and `</name>`.
fn tagged<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(inside, _)| inside)
}

/// What a user or a tool said: a string, or blocks.
fn content(said: &Value, span: Span, notes: &mut ImportWarnings) -> Content {
    match said {
        Value::String(text) => Content::Text(text.clone()),
        Value::Array(parts) => {
            Content::Blocks(parts.iter().filter_map(|part| user_block(part, span, notes)).collect())
        }
        _ => Content::Blocks(Vec::new()),
    }
}

fn user_block(part: &Value, span: Span, notes: &mut ImportWarnings) -> Option<UserBlock> {
    match text(part, "type").unwrap_or_default() {
        "text" => text(part, "text")
            .filter(|text| !text.is_empty())
            .map(|text| UserBlock::Text { text: text.to_owned() }),
        "image" => {
            let source = part.get("source").unwrap_or(&Value::Null);
            blocks::image(text(source, "media_type"), text(source, "data"), span, notes)
        }
        kind => {
            notes.add(span.number, format!("blocks left out ({kind})"));
            None
        }
    }
}

fn block(part: &Value, span: Span, notes: &mut ImportWarnings) -> Option<AssistantBlock> {
    let of = |key: &str| text(part, key).unwrap_or_default().to_owned();
    match text(part, "type").unwrap_or_default() {
        "text" => Some(AssistantBlock::Text { text: of("text") }).filter(|_| !of("text").is_empty()),
        "thinking" => Some(AssistantBlock::Thinking {
            thinking: of("thinking"),
            thinking_signature: text(part, "signature").filter(|seal| !seal.is_empty()).map(str::to_owned),
        }),
        "tool_use" => {
            let input = part.get("input").cloned().unwrap_or(Value::Null);
            blocks::call(text(part, "id"), text(part, "name"), input, span, notes)
                .map(AssistantBlock::ToolCall)
        }
        "server_tool_use" => {
            notes.add(span.number, "searches by the provider, as text");
            let name = of("name").replace('_', " ");
            let input = part.get("input").unwrap_or(&Value::Null);
            let call = ToolCall {
                id: "".into(),
                name: String::new(),
                arguments: input.clone(),
                raw_arguments: None,
            };
            Some(AssistantBlock::Text { text: format!("[{name}: {}]", call.summary()) })
        }
        kind => {
            notes.add(span.number, format!("blocks left out ({kind})"));
            None
        }
    }
}

fn usage(message: &Value, line: &Value) -> Usage {
    let given = message.get("usage").unwrap_or(&Value::Null);
    let tokens = |key| Tokens(count(given, key));
    let mut usage = Usage {
        input: tokens("input_tokens"),
        output: tokens("output_tokens"),
        cache_read: tokens("cache_read_input_tokens"),
        cache_write: tokens("cache_creation_input_tokens"),
        ..Usage::default()
    };
    usage.total_tokens = usage.total();
    // Versions before 1.0.9 wrote what it cost.
    if let Some(cost) = line.get("costUSD").and_then(Value::as_f64) {
        usage.cost = Cost { total: Usd(cost), ..Cost::default() };
    }
    usage
}
