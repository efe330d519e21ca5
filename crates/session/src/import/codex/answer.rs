//! Gathers what belongs to one answer: its parts, the results of its calls, and what it cost, in whatever order they come.

use std::collections::HashMap;

use serde_json::Value;
use tiller_core::message::{AssistantBlock, AssistantMessage, StopReason, ToolResultMessage, Usage};
use tiller_core::unit::{Tokens, UnixMs};

use super::super::source::count;

/// The protocol that Codex speaks.
const API: &str = "openai-responses";

/// One answer while it is gathered.
#[derive(Default)]
pub(super) struct Gathering {
    parts: Vec<AssistantBlock>,
    /// The line of the first part, and of the last.
    lines: Option<(u64, u64)>,
    time: UnixMs,
    usage: Option<Usage>,
    aborted: bool,
    /// Results with the line of each.
    pub(super) results: Vec<(u64, ToolResultMessage)>,
    /// The tool of every call so far, in the whole session.
    tools: HashMap<String, String>,
}

/// An answer that is over.
pub(super) struct Answered {
    /// Names its lines.
    pub(super) mark: String,
    pub(super) message: AssistantMessage,
    pub(super) results: Vec<(u64, ToolResultMessage)>,
}

impl Gathering {
    /// Whether the next part belongs to another answer: this one has its results, or its price.
    pub(super) fn is_over(&self) -> bool {
        !self.results.is_empty() || self.usage.is_some()
    }

    pub(super) fn add(&mut self, line: u64, time: UnixMs, part: AssistantBlock) {
        if let AssistantBlock::ToolCall(call) = &part {
            self.tools.insert(call.id.as_str().to_owned(), call.name.clone());
        }
        if self.parts.is_empty() {
            self.time = time;
        }
        let first = self.lines.map_or(line, |(first, _)| first);
        self.lines = Some((first, line));
        self.parts.push(part);
    }

    /// The tool that a call was of.
    pub(super) fn tool(&self, call: &str) -> Option<&str> {
        self.tools.get(call).map(String::as_str)
    }

    /// What the answer cost, once: later counts are of something else.
    pub(super) fn spent(&mut self, usage: Usage) {
        if !self.parts.is_empty() && self.usage.is_none() {
            self.usage = Some(usage);
        }
    }

    /// The user stopped it. One that has been paid for was whole.
    pub(super) fn abort(&mut self) {
        self.aborted = self.usage.is_none() && self.results.is_empty();
    }

    /// Takes the answer out, if there is one.
    pub(super) fn take(&mut self, provider: &str, model: &str) -> Option<Answered> {
        let results = std::mem::take(&mut self.results);
        let content = std::mem::take(&mut self.parts);
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
        Some(Answered { mark: format!("lines {first} to {last}"), message, results })
    }
}

/// An answer that failed.
pub(super) fn failed(said: &str, timestamp: UnixMs) -> AssistantMessage {
    AssistantMessage {
        api: API.to_owned(),
        stop_reason: StopReason::Error,
        error_message: Some(said.to_owned()),
        timestamp,
        ..AssistantMessage::default()
    }
}

/// Codex counts what was cached as input too.
pub(super) fn usage(given: &Value) -> Usage {
    let (cached, written) = (count(given, "cached_input_tokens"), count(given, "cache_write_input_tokens"));
    let mut usage = Usage {
        input: Tokens(count(given, "input_tokens").saturating_sub(cached.saturating_add(written))),
        output: Tokens(count(given, "output_tokens")),
        cache_read: Tokens(cached),
        cache_write: Tokens(written),
        total_tokens: Tokens(count(given, "total_tokens")),
        ..Usage::default()
    };
    usage.total_tokens = usage.total();
    usage
}
