//! The shapes of Responses' events, items and responses.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use tiller_core::message::Usage;
use tiller_core::surrogates::{SurrogateJoiner, Wtf8};
use tiller_core::unit::Tokens;

use super::output_item::OutputItemKind;

/// The type of an event, parsed before its other fields.
#[derive(Deserialize)]
pub(super) struct TypedEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) name: Option<Cow<'a, str>>,
    /// An error without a type, as some proxies send.
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// An event of an item or of a part of one.
#[derive(Deserialize)]
pub(super) struct ItemEvent<'a> {
    pub(super) output_index: Option<u64>,
    pub(super) item_id: Option<String>,
    pub(super) content_index: Option<u64>,
    pub(super) summary_index: Option<u64>,
    pub(super) delta: Option<Wtf8>,
    pub(super) text: Option<Wtf8>,
    pub(super) refusal: Option<Wtf8>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
}

/// The fields that all items have, and the name of a call.
#[derive(Deserialize)]
pub(super) struct ItemHead<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    pub(super) id: Option<String>,
    pub(super) call_id: Option<String>,
    pub(super) name: Option<String>,
}

impl ItemHead<'_> {
    pub(super) fn known_kind(&self) -> Option<OutputItemKind> {
        match &*self.kind {
            "message" => Some(OutputItemKind::Message),
            "reasoning" => Some(OutputItemKind::Reasoning),
            "function_call" => Some(OutputItemKind::Call),
            _ => None,
        }
    }
}

/// The content of a complete item.
#[derive(Deserialize)]
pub(super) struct CompleteItem<'a> {
    pub(super) summary: Option<Vec<CompletePart>>,
    pub(super) content: Option<Vec<CompletePart>>,
    /// Of a message: `commentary` or `final_answer`.
    pub(super) phase: Option<String>,
    /// A string; some servers send the JSON object itself.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// A part of an item's content or summary.
#[derive(Deserialize)]
pub(super) struct CompletePart {
    pub(super) text: Option<Wtf8>,
    pub(super) refusal: Option<Wtf8>,
}

#[derive(Deserialize)]
pub(super) struct ResponseEvent<'a> {
    #[serde(borrow)]
    pub(super) response: &'a RawValue,
}

/// The response at the end of a stream.
#[derive(Deserialize)]
pub(super) struct FinalResponse<'a> {
    #[serde(borrow)]
    pub(super) status: Option<Cow<'a, str>>,
    pub(super) incomplete_details: Option<IncompleteDetails>,
    #[serde(borrow)]
    pub(super) output: Option<Vec<&'a RawValue>>,
    /// Raw, because servers vary and usage isn't content: counts that can't be parsed are ignored.
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

/// The reason a response is incomplete.
#[derive(Deserialize)]
pub(super) struct IncompleteDetails {
    pub(super) reason: Option<String>,
}

/// Token counts.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseUsage {
    pub(super) input_tokens: Option<u64>,
    pub(super) input_tokens_details: Option<InputDetails>,
    pub(super) output_tokens: Option<u64>,
    pub(super) total_tokens: Option<u64>,
}

/// Parts of the input tokens.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct InputDetails {
    pub(super) cached_tokens: Option<u64>,
    /// Set by models that bill cache writes.
    pub(super) cache_write_tokens: Option<u64>,
}

impl ResponseUsage {
    /// Converts the counts; `input_tokens` includes cache reads and writes.
    pub(super) fn usage(&self) -> Usage {
        let (input, output) = (self.input_tokens.unwrap_or(0), self.output_tokens.unwrap_or(0));
        let details = self.input_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens).unwrap_or(0).min(input);
        let written = details.and_then(|details| details.cache_write_tokens).unwrap_or(0).min(input - cached);
        Usage {
            input: Tokens(input - cached - written),
            output: Tokens(output),
            cache_read: Tokens(cached),
            cache_write: Tokens(written),
            total_tokens: Tokens(self.total_tokens.unwrap_or(input.saturating_add(output))),
            ..Usage::default()
        }
    }
}

/// Returns a complete text as a string; unpaired surrogates become U+FFFD.
pub(super) fn complete_text(text: Wtf8) -> String {
    let mut joiner = SurrogateJoiner::default();
    let mut whole = joiner.push(text);
    whole.extend(joiner.finish());
    whole
}

/// Returns the text of arguments: a string; some servers send the JSON object itself.
pub(super) fn arguments_text(json: Option<&RawValue>) -> serde_json::Result<Option<String>> {
    match json {
        Some(json) if json.get().starts_with('"') => Ok(Some(complete_text(Wtf8::parse(json)?))),
        Some(object) => Ok(Some(object.get().to_owned())),
        None => Ok(None),
    }
}
