//! Collects one answer: its blocks, the results of its calls, and its usage, in any order.

use std::collections::HashMap;

use serde_json::Value;
use tiller_core::message::{AssistantBlock, AssistantMessage, StopReason, ToolResultMessage, Usage};
use tiller_core::unit::{Tokens, UnixMs};

use super::super::source::count;

/// The wire format of Codex. It isn't that of tiller's own requests, because encrypted reasoning belongs to
/// the account that Codex used, and OpenAI rejects it from another one.
const API: &str = "openai-codex-responses";

/// An answer that is still being collected.
#[derive(Default)]
pub(super) struct PendingAnswer {
    blocks: Vec<AssistantBlock>,
    /// The lines of the first and the last block.
    lines: Option<(u64, u64)>,
    time: UnixMs,
    usage: Option<Usage>,
    aborted: bool,
    /// The results, each with its line number.
    pub(super) results: Vec<(u64, ToolResultMessage)>,
    /// The tool of every call of the session so far.
    tools: HashMap<String, String>,
}

pub(super) struct FinishedAnswer {
    /// Identifies its lines, for the id.
    pub(super) source_key: String,
    pub(super) message: AssistantMessage,
    pub(super) results: Vec<(u64, ToolResultMessage)>,
}

impl PendingAnswer {
    /// Returns true if the next block belongs to another answer: this one has results or usage.
    pub(super) fn is_complete(&self) -> bool {
        !self.results.is_empty() || self.usage.is_some()
    }

    pub(super) fn add(&mut self, line: u64, time: UnixMs, part: AssistantBlock) {
        if let AssistantBlock::ToolCall(call) = &part {
            self.tools.insert(call.id.as_str().to_owned(), call.name.clone());
        }
        if self.blocks.is_empty() {
            self.time = time;
        }
        let first = self.lines.map_or(line, |(first, _)| first);
        self.lines = Some((first, line));
        self.blocks.push(part);
    }

    pub(super) fn tool(&self, call: &str) -> Option<&str> {
        self.tools.get(call).map(String::as_str)
    }

    /// Sets the usage, once: later counts belong to other requests.
    pub(super) fn set_usage(&mut self, usage: Usage) {
        if !self.blocks.is_empty() && self.usage.is_none() {
            self.usage = Some(usage);
        }
    }

    /// Marks the answer as stopped by the user, unless its usage or results show that it was complete.
    pub(super) fn abort(&mut self) {
        self.aborted = self.usage.is_none() && self.results.is_empty();
    }

    /// Returns the answer, if there is one, and starts another.
    pub(super) fn finish(&mut self, provider: &str, model: &str) -> Option<FinishedAnswer> {
        let results = std::mem::take(&mut self.results);
        let content = std::mem::take(&mut self.blocks);
        let usage = self.usage.take().unwrap_or_default();
        let aborted = std::mem::take(&mut self.aborted);
        let (first, last) = self.lines.take().unwrap_or_default();
        if content.is_empty() && results.is_empty() {
            return None;
        }
        let calls = content.iter().any(|part| matches!(part, AssistantBlock::ToolCall(_)));
        let stop_reason = match (aborted, calls) {
            (true, _) => StopReason::Aborted,
            (false, true) => StopReason::ToolUse,
            (false, false) => StopReason::Stop,
        };
        let message = AssistantMessage {
            content,
            api: API.to_owned(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            usage,
            stop_reason,
            error_message: None,
            timestamp: self.time,
        };
        Some(FinishedAnswer { source_key: format!("lines {first} to {last}"), message, results })
    }
}

pub(super) fn failed_answer(message: &str, timestamp: UnixMs) -> AssistantMessage {
    AssistantMessage {
        api: API.to_owned(),
        stop_reason: StopReason::Error,
        error_message: Some(message.to_owned()),
        timestamp,
        ..AssistantMessage::default()
    }
}

/// Parses usage. Codex includes cached tokens in the input.
pub(super) fn parse_usage(value: &Value) -> Usage {
    let (cached, written) = (count(value, "cached_input_tokens"), count(value, "cache_write_input_tokens"));
    let mut usage = Usage {
        input: Tokens(count(value, "input_tokens").saturating_sub(cached.saturating_add(written))),
        output: Tokens(count(value, "output_tokens")),
        cache_read: Tokens(cached),
        cache_write: Tokens(written),
        total_tokens: Tokens(count(value, "total_tokens")),
        ..Usage::default()
    };
    usage.total_tokens = usage.total();
    usage
}
