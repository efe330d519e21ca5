//! Conversion of a Codex log, line by line.

use std::sync::Arc;

use serde_json::Value;
use tiller_core::id::EntryId;
use tiller_core::message::{Content, Message, ThinkingLevel, ToolResultMessage, UserBlock, UserMessage};
use tiller_core::unit::{Tokens, UnixMs};

use super::super::blocks;
use super::super::conversion::ConversionContext;
use super::super::entry_builder::{ConversionEnd, EntryBuilder, EntryDraft};
use super::super::source::{LineSpan, SourceLog, count, items, text};
use super::super::warning::ImportWarnings;
use super::answer::{self, PendingAnswer};
use super::item::{self, Item};
use crate::entry::{Compaction, EntryBody};
use crate::error::SessionError;

/// Kinds of lines without data.
const SKIPPED_KINDS: [&str; 5] =
    ["session_meta", "world_state", "thread_settings", "inter_agent_communication", "session_state"];

/// Converts the log; returns the leaf and the session's name.
pub(super) fn convert(
    context: &mut ConversionContext<'_, '_>,
    provider: &str,
) -> Result<ConversionEnd, SessionError> {
    let ConversionContext { source, builder, warnings, root } = context;
    let mut walk = CodexConverter {
        builder,
        provider,
        leaf: root.clone(),
        turns: Vec::new(),
        answer: PendingAnswer::default(),
        model: String::new(),
        level: ThinkingLevel::Off,
        counted: CountedTokens::default(),
        context: Tokens(0),
        name: None,
        time: UnixMs(0),
    };
    visit_lines(source, warnings, |span, line, warnings| walk.line(span, line, warnings))?;
    walk.flush()?;
    Ok(ConversionEnd { leaf: walk.leaf, name: walk.name })
}

/// Visits the JSON objects of a source.
fn visit_lines(
    source: &SourceLog,
    warnings: &mut ImportWarnings,
    mut visit: impl FnMut(LineSpan, &Value, &mut ImportWarnings) -> Result<(), SessionError>,
) -> Result<(), SessionError> {
    source.objects(warnings, |span, line, warnings| match line {
        Some(line) => visit(span, &line, warnings),
        None => Ok(()),
    })
}

/// State of token counting.
#[derive(Default)]
struct CountedTokens {
    /// True after the first usage record. Newer versions write one per answer; the screen's counts are then
    /// ignored.
    records: bool,
    /// The last total in the screen's counts, which may repeat it.
    total: Option<Value>,
}

/// The state before a prompt, restored by a rollback.
struct TurnStart {
    /// The parent of the prompt.
    parent: Option<EntryId>,
    model: String,
    level: ThinkingLevel,
}

struct CodexConverter<'w, 'b> {
    builder: &'w mut EntryBuilder<'b>,
    provider: &'w str,
    /// The parent of the next entry.
    leaf: Option<EntryId>,
    /// The prompts of the current path.
    turns: Vec<TurnStart>,
    answer: PendingAnswer,
    model: String,
    level: ThinkingLevel,
    counted: CountedTokens,
    /// Size of the context at the last count.
    context: Tokens,
    name: Option<String>,
    time: UnixMs,
}

impl CodexConverter<'_, '_> {
    fn line(
        &mut self,
        span: LineSpan,
        line: &Value,
        warnings: &mut ImportWarnings,
    ) -> Result<(), SessionError> {
        if let Some(time) = text(line, "timestamp").and_then(UnixMs::from_iso) {
            self.time = time;
        }
        let payload = line.get("payload").unwrap_or(&Value::Null);
        match text(line, "type").unwrap_or_default() {
            "response_item" => self.item(span, payload, warnings),
            "event_msg" => self.event(span, payload, warnings),
            "turn_context" => self.turn_context(span, payload),
            "token_usage_record" => {
                self.counted.records = true;
                self.add_usage(payload.get("usage").unwrap_or(&Value::Null));
                Ok(())
            }
            "compacted" => self.compacted(span, payload, warnings),
            kind => {
                if !SKIPPED_KINDS.contains(&kind) {
                    warnings.add(span.number, format!("skipped lines of unknown type ({kind})"));
                }
                Ok(())
            }
        }
    }

    fn add_entry(&mut self, mark: impl Into<String>, body: EntryBody) -> Result<(), SessionError> {
        let id = self.builder.add(EntryDraft::new(self.leaf.clone(), mark, self.time, body))?;
        self.leaf = Some(id);
        Ok(())
    }

    fn add_message(&mut self, mark: String, message: Message) -> Result<(), SessionError> {
        self.add_entry(mark, EntryBody::message(Arc::new(message)))
    }

    fn item(
        &mut self,
        span: LineSpan,
        payload: &Value,
        warnings: &mut ImportWarnings,
    ) -> Result<(), SessionError> {
        for item in item::read_item(payload, span, warnings) {
            match item {
                Item::Nothing => {}
                Item::Prompt(content) => self.prompt(span, content)?,
                Item::Answer(part) => {
                    if self.answer.is_complete() {
                        self.flush()?;
                    }
                    self.answer.add(span.number, self.time, part);
                }
                Item::Output { call, mut content, is_error } => {
                    let Some(tool) = self.answer.tool(&call) else {
                        warnings.add(span.number, "results without their calls");
                        continue;
                    };
                    let result = ToolResultMessage {
                        tool_name: tool.to_owned(),
                        tool_call_id: call.as_str().into(),
                        details: blocks::render_output(tool, &mut content),
                        content,
                        is_error,
                        timestamp: self.time,
                    };
                    self.answer.results.push((span.number, result));
                }
            }
        }
        Ok(())
    }

    fn prompt(&mut self, span: LineSpan, content: Vec<UserBlock>) -> Result<(), SessionError> {
        self.flush()?;
        if content.is_empty() {
            return Ok(());
        }
        let (parent, model) = (self.leaf.clone(), self.model.clone());
        self.turns.push(TurnStart { parent, model, level: self.level });
        let message = UserMessage { content: Content::Blocks(content), timestamp: self.time, typed: None };
        self.add_message(format!("line {}", span.number), Message::User(message))
    }

    /// Writes the pending answer and its results.
    fn flush(&mut self) -> Result<(), SessionError> {
        let Some(finished) = self.answer.finish(self.provider, &self.model) else { return Ok(()) };
        let now = self.time;
        if !finished.message.content.is_empty() {
            self.time = finished.message.timestamp;
            self.add_message(finished.source_key, Message::Assistant(finished.message))?;
        }
        for (line, result) in finished.results {
            self.time = result.timestamp;
            self.add_message(format!("line {line}"), Message::ToolResult(result))?;
        }
        self.time = now;
        Ok(())
    }

    fn turn_context(&mut self, span: LineSpan, payload: &Value) -> Result<(), SessionError> {
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
            self.add_entry(
                format!("line {} model", span.number),
                EntryBody::ModelChange { provider, model_id },
            )?;
        }
        if changes.1 {
            self.level = level;
            let body = EntryBody::ThinkingLevelChange { thinking_level: level };
            self.add_entry(format!("line {} level", span.number), body)?;
        }
        Ok(())
    }

    fn event(
        &mut self,
        span: LineSpan,
        payload: &Value,
        warnings: &mut ImportWarnings,
    ) -> Result<(), SessionError> {
        match text(payload, "type").unwrap_or_default() {
            "token_count" => self.read_token_count(payload.get("info").unwrap_or(&Value::Null)),
            "thread_name_updated" => {
                self.name = text(payload, "thread_name").filter(|name| !name.is_empty()).map(str::to_owned);
            }
            "turn_aborted" => {
                self.answer.abort();
                self.flush()?;
            }
            "error" => {
                self.flush()?;
                let text = text(payload, "message").unwrap_or("the run failed");
                let failed = answer::failed_answer(text, self.time);
                self.add_message(format!("line {}", span.number), Message::Assistant(failed))?;
            }
            "thread_rolled_back" => {
                self.flush()?;
                self.roll_back(count(payload, "num_turns"), span, warnings);
            }
            // Other events are also in the model's history, or irrelevant.
            _ => {}
        }
        Ok(())
    }

    fn read_token_count(&mut self, info: &Value) {
        let total = info.get("total_token_usage").filter(|total| !total.is_null());
        if self.counted.records || total.is_none() || self.counted.total.as_ref() == total {
            return;
        }
        self.counted.total = total.cloned();
        self.add_usage(info.get("last_token_usage").unwrap_or(&Value::Null));
    }

    fn add_usage(&mut self, value: &Value) {
        let usage = answer::parse_usage(value);
        if usage.total() > Tokens(0) {
            self.context = usage.total();
            self.answer.set_usage(usage);
        }
    }

    /// Moves the leaf to before the last `turns` prompts.
    fn roll_back(&mut self, turns: u64, span: LineSpan, warnings: &mut ImportWarnings) {
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        if turns > self.turns.len() {
            warnings.add(span.number, "rollbacks past the beginning");
        }
        let kept_turns = self.turns.len().saturating_sub(turns);
        if let Some(TurnStart { parent, model, level }) = self.turns.drain(kept_turns..).next() {
            // Model and level changes after that prompt are on the abandoned branch.
            (self.leaf, self.model, self.level) = (parent, model, level);
        }
    }

    fn compacted(
        &mut self,
        span: LineSpan,
        payload: &Value,
        warnings: &mut ImportWarnings,
    ) -> Result<(), SessionError> {
        self.flush()?;
        let history = items(payload, "replacement_history");
        let sealed = history.iter().filter(|item| text(item, "encrypted_content").is_some());
        for _ in sealed.filter(|item| text(item, "type") != Some("reasoning")) {
            warnings.add(span.number, "skipped summaries, encrypted by the provider");
        }
        let mut kept_texts = item::replacement(history);
        let message = text(payload, "message").filter(|message| !message.trim().is_empty());
        let summary = match message {
            Some(message) => {
                kept_texts.retain(|text| !text.contains(message));
                message.to_owned()
            }
            None => kept_texts.pop().unwrap_or_default(),
        };
        let quoted: Vec<String> =
            kept_texts.iter().map(|text| format!("\n\nThe user had said:\n\n{text}")).collect();
        let summary = format!("{summary}{}", quoted.concat());
        if summary.trim().is_empty() {
            warnings.add(span.number, "skipped compactions without a summary");
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
        self.add_entry(format!("line {}", span.number), EntryBody::Compaction(compaction))
    }
}
