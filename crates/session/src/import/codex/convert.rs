//! Walks through a log from its first line to its last and writes what it says.

use std::sync::Arc;

use serde_json::Value;
use tiller_core::id::EntryId;
use tiller_core::message::{Content, Message, ThinkingLevel, ToolResultMessage, UserBlock, UserMessage};
use tiller_core::unit::{Tokens, UnixMs};

use super::super::entry_builder::{Draft, Sink};
use super::super::source::{Span, count, items, text};
use super::super::warning::ImportWarnings;
use super::super::{End, Work, blocks};
use super::answer::{self, Gathering};
use super::item::{self, Item};
use crate::entry::{Compaction, EntryBody};
use crate::error::SessionError;

/// Kinds of line that say nothing the others don't.
const HOUSEKEEPING: [&str; 5] =
    ["session_meta", "world_state", "thread_settings", "inter_agent_communication", "session_state"];

/// Writes everything; answers with the leaf and with the name that the session was given.
pub(super) fn walk(work: &mut Work<'_, '_>, provider: &str) -> Result<End, SessionError> {
    let Work { source, sink, notes, root } = work;
    let mut walk = Walk {
        sink,
        provider,
        cursor: root.clone(),
        turns: Vec::new(),
        gathering: Gathering::default(),
        model: String::new(),
        level: ThinkingLevel::Off,
        counted: Counted::default(),
        context: Tokens(0),
        name: None,
        time: UnixMs(0),
    };
    super::lines(source, notes, |span, line, notes| walk.line(span, line, notes))?;
    walk.flush()?;
    Ok(End { leaf: walk.cursor, name: walk.name })
}

/// Which tokens have been counted.
#[derive(Default)]
struct Counted {
    /// Newer versions write one record an answer; the counts told to the screen are then passed over.
    records: bool,
    /// The last total that the screen was told: it is told again and again.
    total: Option<Value>,
}

/// How it stood before a prompt.
struct Turn {
    /// What the prompt follows.
    before: Option<EntryId>,
    model: String,
    level: ThinkingLevel,
}

struct Walk<'w, 'b> {
    sink: &'w mut Sink<'b>,
    provider: &'w str,
    /// The entry that the next one follows.
    cursor: Option<EntryId>,
    /// The prompts of the path.
    turns: Vec<Turn>,
    gathering: Gathering,
    model: String,
    level: ThinkingLevel,
    counted: Counted,
    /// Size of the context at the last count.
    context: Tokens,
    name: Option<String>,
    time: UnixMs,
}

impl Walk<'_, '_> {
    fn line(&mut self, span: Span, line: &Value, notes: &mut ImportWarnings) -> Result<(), SessionError> {
        if let Some(time) = text(line, "timestamp").and_then(UnixMs::from_iso) {
            self.time = time;
        }
        let payload = line.get("payload").unwrap_or(&Value::Null);
        match text(line, "type").unwrap_or_default() {
            "response_item" => self.item(span, payload, notes),
            "event_msg" => self.event(span, payload, notes),
            "turn_context" => self.turn_context(span, payload),
            "token_usage_record" => {
                self.counted.records = true;
                self.spent(payload.get("usage").unwrap_or(&Value::Null));
                Ok(())
            }
            "compacted" => self.compacted(span, payload, notes),
            kind => {
                if !HOUSEKEEPING.contains(&kind) {
                    notes.add(span.number, format!("lines left out, of an unknown kind ({kind})"));
                }
                Ok(())
            }
        }
    }

    fn put(&mut self, mark: impl Into<String>, body: EntryBody) -> Result<(), SessionError> {
        let id = self.sink.put(Draft::new(self.cursor.clone(), mark, self.time, body))?;
        self.cursor = Some(id);
        Ok(())
    }

    fn say(&mut self, mark: String, message: Message) -> Result<(), SessionError> {
        self.put(mark, EntryBody::message(Arc::new(message)))
    }

    fn item(&mut self, span: Span, payload: &Value, notes: &mut ImportWarnings) -> Result<(), SessionError> {
        for item in item::read(payload, span, notes) {
            match item {
                Item::Nothing => {}
                Item::Prompt(content) => self.prompt(span, content)?,
                Item::Answer(part) => {
                    if self.gathering.is_over() {
                        self.flush()?;
                    }
                    self.gathering.add(span.number, self.time, part);
                }
                Item::Output { call, mut content, is_error } => {
                    let Some(tool) = self.gathering.tool(&call) else {
                        notes.add(span.number, "results without their calls");
                        continue;
                    };
                    let result = ToolResultMessage {
                        tool_name: tool.to_owned(),
                        tool_call_id: call.as_str().into(),
                        details: blocks::printed(tool, &mut content),
                        content,
                        is_error,
                        timestamp: self.time,
                    };
                    self.gathering.results.push((span.number, result));
                }
            }
        }
        Ok(())
    }

    fn prompt(&mut self, span: Span, content: Vec<UserBlock>) -> Result<(), SessionError> {
        self.flush()?;
        if content.is_empty() {
            return Ok(());
        }
        let (before, model) = (self.cursor.clone(), self.model.clone());
        self.turns.push(Turn { before, model, level: self.level });
        let message = UserMessage { content: Content::Blocks(content), timestamp: self.time, typed: None };
        self.say(format!("line {}", span.number), Message::User(message))
    }

    /// Writes the answer that was gathered, and its results.
    fn flush(&mut self) -> Result<(), SessionError> {
        let Some(answered) = self.gathering.take(self.provider, &self.model) else { return Ok(()) };
        let now = self.time;
        if !answered.message.content.is_empty() {
            self.time = answered.message.timestamp;
            self.say(answered.mark, Message::Assistant(answered.message))?;
        }
        for (line, result) in answered.results {
            self.time = result.timestamp;
            self.say(format!("line {line}"), Message::ToolResult(result))?;
        }
        self.time = now;
        Ok(())
    }

    fn turn_context(&mut self, span: Span, payload: &Value) -> Result<(), SessionError> {
        let model = text(payload, "model").unwrap_or_default();
        let effort = text(payload, "effort")
            .or_else(|| payload.pointer("/collaboration_mode/settings/reasoning_effort")?.as_str());
        let level = effort.and_then(ThinkingLevel::parse).unwrap_or(ThinkingLevel::Off);
        let changes = (!model.is_empty() && model != self.model, level != self.level);
        if changes != (false, false) {
            self.flush()?;
        }
        if changes.0 {
            model.clone_into(&mut self.model);
            let (provider, model_id) = (self.provider.to_owned(), model.to_owned());
            self.put(format!("line {} model", span.number), EntryBody::ModelChange { provider, model_id })?;
        }
        if changes.1 {
            self.level = level;
            let body = EntryBody::ThinkingLevelChange { thinking_level: level };
            self.put(format!("line {} level", span.number), body)?;
        }
        Ok(())
    }

    fn event(&mut self, span: Span, payload: &Value, notes: &mut ImportWarnings) -> Result<(), SessionError> {
        match text(payload, "type").unwrap_or_default() {
            "token_count" => self.told_of_tokens(payload.get("info").unwrap_or(&Value::Null)),
            "thread_name_updated" => {
                self.name = text(payload, "thread_name").filter(|name| !name.is_empty()).map(str::to_owned);
            }
            "turn_aborted" => {
                self.gathering.abort();
                self.flush()?;
            }
            "error" => {
                self.flush()?;
                let said = text(payload, "message").unwrap_or("the run failed");
                let failed = answer::failed(said, self.time);
                self.say(format!("line {}", span.number), Message::Assistant(failed))?;
            }
            "thread_rolled_back" => {
                self.flush()?;
                self.roll_back(count(payload, "num_turns"), span, notes);
            }
            // What else the screen was told is in the model's history, or is of no weight.
            _ => {}
        }
        Ok(())
    }

    fn told_of_tokens(&mut self, info: &Value) {
        let total = info.get("total_token_usage").filter(|total| !total.is_null());
        if self.counted.records || total.is_none() || self.counted.total.as_ref() == total {
            return;
        }
        self.counted.total = total.cloned();
        self.spent(info.get("last_token_usage").unwrap_or(&Value::Null));
    }

    fn spent(&mut self, given: &Value) {
        let usage = answer::usage(given);
        if usage.total() > Tokens(0) {
            self.context = usage.total();
            self.gathering.spent(usage);
        }
    }

    /// Goes back to before the last prompts.
    fn roll_back(&mut self, turns: u64, span: Span, notes: &mut ImportWarnings) {
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        if turns > self.turns.len() {
            notes.add(span.number, "steps back to before the beginning");
        }
        let kept = self.turns.len().saturating_sub(turns);
        if let Some(Turn { before, model, level }) = self.turns.drain(kept..).next() {
            // A change of model or level that was rolled back stands on the other branch.
            (self.cursor, self.model, self.level) = (before, model, level);
        }
    }

    fn compacted(
        &mut self,
        span: Span,
        payload: &Value,
        notes: &mut ImportWarnings,
    ) -> Result<(), SessionError> {
        self.flush()?;
        let history = items(payload, "replacement_history");
        let sealed = history.iter().filter(|item| text(item, "encrypted_content").is_some());
        for _ in sealed.filter(|item| text(item, "type") != Some("reasoning")) {
            notes.add(span.number, "summaries left out, sealed by the provider");
        }
        let mut kept = item::replacement(history);
        let message = text(payload, "message").filter(|message| !message.trim().is_empty());
        let summary = match message {
            Some(message) => {
                kept.retain(|text| !text.contains(message));
                message.to_owned()
            }
            None => kept.pop().unwrap_or_default(),
        };
        let quoted: Vec<String> =
            kept.iter().map(|said| format!("\n\nThe user had said:\n\n{said}")).collect();
        let summary = format!("{summary}{}", quoted.concat());
        if summary.trim().is_empty() {
            notes.add(span.number, "compactions without a summary left out");
            return Ok(());
        }
        let compaction = Compaction {
            summary,
            first_kept_entry_id: EntryId::new(""),
            tokens_before: self.context,
            details: None,
            usage: None,
            made_by: None,
        };
        self.put(format!("line {}", span.number), EntryBody::Compaction(compaction))
    }
}
