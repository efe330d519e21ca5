//! Decoding of Chat Completions' chunks into [`StreamEvent`]s.
//!
//! Servers differ: some omit a call's id or index, some give every call the index 0, some end with `stop`
//! after calls, some omit `[DONE]`. All of that is accepted. A chunk that can't be parsed, a call without a
//! name and an end without a finish reason count as damage: the answer is interrupted, so that none of its
//! tool calls run.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tiller_core::id::CallId;
use tiller_core::message::{Cost, StopReason, Usage};
use tiller_core::surrogates::{SurrogateJoiner, Wtf8};
use tiller_core::unit::{Tokens, Usd};

use super::json_extent::JsonExtent;
use super::reasoning_details::ReasoningDetails;
use crate::answer_blocks::{AnswerBlocks, ProseKind};
use crate::error::{ProviderFault, classify, parse_error_response};
use crate::http::{Damage, Decode, filtered, incomplete, trace};
use crate::sse::SseEvent;
use crate::{FailureKind, StreamEvent};

/// The data of the event after the last chunk.
const DONE: &str = "[DONE]";

/// The `object` of a chunk with choices.
const CHUNK: &str = "chat.completion.chunk";

/// Maximum bytes of arguments that wait for the names of their calls: 1 MiB.
const MAX_UNNAMED_BYTES: usize = 1024 * 1024;

#[derive(Deserialize)]
struct CompletionChunk<'a> {
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    /// `None` if the field is missing: then the event isn't a chunk, or is damaged.
    #[serde(default, borrow, deserialize_with = "null_as_empty")]
    choices: Option<Vec<Choice<'a>>>,
    /// Raw, because servers vary and usage isn't content: counts that can't be parsed are ignored.
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    x_groq: Option<&'a RawValue>,
}

/// Groq's extra field of a chunk: usage in the last one, or the reason the stream ends early.
#[derive(Default, Deserialize)]
#[serde(default)]
struct GroqInfo<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Option<ChoiceDelta<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Cow<'a, str>>,
    /// Moonshot reports usage here.
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChoiceDelta<'a> {
    /// A string; an array of parts from Mistral's thinking models.
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    /// A refusal, shown as the answer's text.
    refusal: Option<Wtf8>,
    /// Thinking, as named by DeepSeek, llama.cpp and vLLM.
    reasoning_content: Option<Wtf8>,
    /// Thinking, as named by OpenRouter, Ollama and Groq.
    reasoning: Option<Wtf8>,
    /// Thinking in the format of the provider behind a router.
    #[serde(borrow)]
    reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CallDelta<'a> {
    index: Option<u64>,
    /// A string; a number from some servers.
    #[serde(deserialize_with = "string_or_number")]
    id: Option<String>,
    #[serde(borrow)]
    function: Option<FunctionDelta<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FunctionDelta<'a> {
    name: Option<String>,
    /// A string; some servers send the JSON object itself.
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// A part of content: text, or thinking as a list of texts.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ContentPart {
    text: Option<Wtf8>,
    thinking: Option<Vec<ThinkingPart>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ThinkingPart {
    text: Option<Wtf8>,
}

fn null_as_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Choice<'de>>>, D::Error> {
    let choices: Option<Vec<Choice<'de>>> = Option::deserialize(deserializer)?;
    Ok(Some(choices.unwrap_or_default()))
}

/// Parses Groq's extra field, ignoring an unexpected shape: it isn't content.
fn parse_groq_info(json: &RawValue) -> GroqInfo<'_> {
    serde_json::from_str(json.get()).unwrap_or_default()
}

fn string_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let json: Option<&RawValue> = Option::deserialize(deserializer)?;
    let text = |json: &RawValue| match serde_json::from_str::<u64>(json.get()) {
        Ok(number) => Ok(number.to_string()),
        Err(_) => serde_json::from_str(json.get()),
    };
    json.map(text).transpose().map_err(D::Error::custom)
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct CompletionUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// Cached tokens, from Moonshot.
    cached_tokens: Option<u64>,
    /// The cost in US dollars, from OpenRouter.
    cost: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    /// Set by servers that bill cache writes.
    cache_write_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl CompletionUsage {
    /// Converts the counts; `prompt_tokens` includes cache reads.
    fn usage(&self) -> Usage {
        let prompt = self.prompt_tokens.unwrap_or(0);
        let output = self.completion_tokens.unwrap_or(0).saturating_add(self.uncounted_reasoning());
        let details = self.prompt_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens).or(self.cached_tokens);
        let cached = cached.unwrap_or(0).min(prompt);
        let written =
            details.and_then(|details| details.cache_write_tokens).unwrap_or(0).min(prompt - cached);
        Usage {
            input: Tokens(prompt - cached - written),
            output: Tokens(output),
            cache_read: Tokens(cached),
            cache_write: Tokens(written),
            total_tokens: Tokens(self.total_tokens.unwrap_or(prompt.saturating_add(output))),
            cost: Cost { total: Usd(self.cost.unwrap_or_default()), ..Cost::default() },
        }
    }

    /// Returns the thinking tokens that `completion_tokens` excludes, as with xAI: only the total includes
    /// them.
    fn uncounted_reasoning(&self) -> u64 {
        let counted = self.prompt_tokens.unwrap_or(0).saturating_add(self.completion_tokens.unwrap_or(0));
        let reasoning = self.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens);
        let is_missing = |count: &u64| self.total_tokens == Some(counted.saturating_add(*count));
        reasoning.filter(is_missing).unwrap_or(0)
    }
}

/// Decodes one answer.
pub(super) struct ChatDecoder {
    /// Part of the generated ids of calls without one.
    stamp: String,
    blocks: AnswerBlocks,
    details: ReasoningDetails,
    calls: Vec<StreamedCall>,
    /// Bytes of arguments that wait for the names of their calls, plus 1 KiB for each call.
    unnamed_bytes: usize,
    has_calls: bool,
    stop: Option<StopReason>,
}

/// A call that is being received.
struct StreamedCall {
    index: Option<u64>,
    id: String,
    state: StreamedCallState,
    joiner: SurrogateJoiner,
    extent: JsonExtent,
}

/// A call's state. It starts when its name is known.
enum StreamedCallState {
    /// Not started; its arguments so far.
    Unnamed(String),
    /// Started; the number of its block.
    Block(usize),
}

impl Decode for ChatDecoder {
    fn decode_event(&mut self, event: &SseEvent, parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault> {
        if event.data.trim() == DONE {
            return self.finish(parts).map_err(|damage| damage.report(event, parts));
        }
        let chunk = match serde_json::from_str::<CompletionChunk<'_>>(&event.data) {
            Ok(chunk) => chunk,
            Err(error) => return Err(Damage::from(error).report(event, parts)),
        };
        if chunk.error.is_some() {
            return Err(classify(&parse_error_response(0, &event.data)));
        }
        if let Some(info) = chunk.x_groq.filter(|info| parse_groq_info(info).error.is_some()) {
            return Err(classify(&parse_error_response(0, info.get())));
        }
        if chunk.choices.is_none() && chunk.usage.is_none() {
            let is_chunk =
                chunk.object.and_then(|object| serde_json::from_str::<Cow<'_, str>>(object.get()).ok());
            if is_chunk.is_some_and(|object| object == CHUNK) {
                return Err(Damage::Order("a chunk has no choices").report(event, parts));
            }
            parts.push(trace("unknown_event", event));
            return Ok(());
        }
        match self.decode_chunk(chunk, parts) {
            Ok(reason) => self.decode_finish_reason(reason.as_deref().unwrap_or_default()),
            Err(damage) => Err(damage.report(event, parts)),
        }
    }

    fn end_stream(&mut self, parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault> {
        self.finish(parts).map_err(|_| incomplete())
    }
}

impl ChatDecoder {
    pub(super) fn new(stamp: String) -> Self {
        Self {
            stamp,
            blocks: AnswerBlocks::default(),
            details: ReasoningDetails::default(),
            calls: Vec::new(),
            unnamed_bytes: 0,
            has_calls: false,
            stop: None,
        }
    }

    /// Decodes a chunk and returns its finish reason, if it has one.
    fn decode_chunk<'a>(
        &mut self,
        chunk: CompletionChunk<'a>,
        parts: &mut Vec<StreamEvent>,
    ) -> Result<Option<Cow<'a, str>>, Damage> {
        let groq_usage = chunk.x_groq.and_then(|info| parse_groq_info(info).usage);
        let (mut reason, mut usage) = (None, chunk.usage.or(groq_usage));
        // Only one choice is requested. The chunk with usage has none.
        for choice in chunk.choices.into_iter().flatten().take(1) {
            usage = usage.or(choice.usage);
            let delta = choice.delta.unwrap_or_default();
            if let Some(details) = delta.reasoning_details {
                self.details.add(details);
            }
            let thinking = delta.reasoning_content.filter(|text| !text.is_empty()).or(delta.reasoning);
            self.blocks.write(ProseKind::Thinking, thinking, parts);
            if let Some(content) = delta.content {
                self.decode_content(content, parts)?;
            }
            self.blocks.write(ProseKind::Text, delta.refusal, parts);
            let calls = delta.tool_calls.unwrap_or_default();
            let is_list = calls.len() > 1;
            for (position, call) in calls.into_iter().enumerate() {
                self.decode_call(call, is_list.then_some(position), parts)?;
            }
            reason = choice.finish_reason.filter(|reason| !reason.is_empty());
            if reason.is_some() {
                self.end_blocks(parts)?;
            }
        }
        let counts = usage.and_then(|usage| serde_json::from_str::<CompletionUsage>(usage.get()).ok());
        parts.extend(counts.map(|counts| StreamEvent::Usage(counts.usage())));
        Ok(reason)
    }

    fn decode_content(&mut self, json: &RawValue, parts: &mut Vec<StreamEvent>) -> Result<(), Damage> {
        if !json.get().starts_with('[') {
            self.blocks.write(ProseKind::Text, Some(Wtf8::parse(json)?), parts);
            return Ok(());
        }
        for part in serde_json::from_str::<Vec<ContentPart>>(json.get())? {
            for thinking in part.thinking.into_iter().flatten() {
                self.blocks.write(ProseKind::Thinking, thinking.text, parts);
            }
            self.blocks.write(ProseKind::Text, part.text, parts);
        }
        Ok(())
    }

    /// Decodes a delta of a call; `position` is its position in the chunk, if that has several.
    fn decode_call(
        &mut self,
        delta: CallDelta<'_>,
        position: Option<usize>,
        parts: &mut Vec<StreamEvent>,
    ) -> Result<(), Damage> {
        let at = self.find_call(&delta, position).unwrap_or_else(|| self.add_call(&delta, parts));
        let function = delta.function.unwrap_or_default();
        let name = function.name.filter(|name| !name.is_empty());
        let call = &mut self.calls[at];
        let mut arguments = match function.arguments {
            None => String::new(),
            Some(json) if json.get().starts_with('"') => call.joiner.push(Wtf8::parse(json)?),
            Some(object) => object.get().to_owned(),
        };
        call.extent.push(&arguments);
        if let (StreamedCallState::Unnamed(waiting), Some(name)) = (&mut call.state, name) {
            arguments.insert_str(0, waiting);
            let block = self.blocks.begin();
            call.state = StreamedCallState::Block(block);
            parts.push(StreamEvent::Call { block, id: CallId::new(&call.id), name });
        }
        match &mut call.state {
            StreamedCallState::Unnamed(waiting) => {
                self.unnamed_bytes += arguments.len();
                waiting.push_str(&arguments);
                if self.unnamed_bytes > MAX_UNNAMED_BYTES {
                    return Err(Damage::Order("too many arguments came before the name of their call"));
                }
            }
            StreamedCallState::Block(_) if arguments.is_empty() => {}
            StreamedCallState::Block(block) => {
                parts.push(StreamEvent::Arguments { block: *block, json: arguments })
            }
        }
        Ok(())
    }

    fn add_call(&mut self, delta: &CallDelta<'_>, parts: &mut Vec<StreamEvent>) -> usize {
        self.blocks.end_prose(parts);
        self.unnamed_bytes += 1024;
        let id = delta.id.clone().filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| format!("call_{}_{}", self.stamp, self.calls.len()));
        let state = StreamedCallState::Unnamed(String::new());
        let (joiner, extent) = (SurrogateJoiner::default(), JsonExtent::default());
        self.calls.push(StreamedCall { index: delta.index, id, state, joiner, extent });
        self.calls.len() - 1
    }

    /// Finds the call that a delta continues: the last one with its index, with its id, or of all. Without an
    /// index, several deltas of a chunk continue the calls at their positions. A name with a new id, or with
    /// arguments after complete ones, starts another call, regardless of the index.
    fn find_call(&self, delta: &CallDelta<'_>, position: Option<usize>) -> Option<usize> {
        let id = delta.id.as_deref().filter(|id| !id.is_empty());
        let names = delta.function.as_ref().and_then(|function| function.name.as_deref());
        let starts_call = names.is_some_and(|name| !name.is_empty());
        let at = match (delta.index, id) {
            (Some(index), _) => {
                let found = self.calls.iter().rposition(|call| call.index == Some(index));
                found.or_else(|| self.find_unindexed(index).filter(|_| id.is_none() && !starts_call))
            }
            (None, Some(id)) => self.calls.iter().rposition(|call| call.id == id),
            (None, None) if starts_call => None,
            (None, None) => position.or(self.calls.len().checked_sub(1)).filter(|at| *at < self.calls.len()),
        }?;
        let arguments = delta.function.as_ref().and_then(|function| function.arguments);
        let has_arguments = arguments.is_some_and(|json| json.get() != r#""""#);
        let call = &self.calls[at];
        let is_other = match id {
            Some(id) => id != call.id,
            None => has_arguments && call.extent.is_complete(),
        };
        (!(starts_call && is_other)).then_some(at)
    }

    /// Returns the position of a call that began without an index, but whose later deltas have its position
    /// as the index.
    fn find_unindexed(&self, index: u64) -> Option<usize> {
        let at = usize::try_from(index).ok()?;
        self.calls.get(at).filter(|call| call.index.is_none()).map(|_| at)
    }

    /// Ends all open blocks. A call without a name is damaged: its first delta was lost.
    fn end_blocks(&mut self, parts: &mut Vec<StreamEvent>) -> Result<(), Damage> {
        self.blocks.end_prose(parts);
        for mut call in std::mem::take(&mut self.calls) {
            let StreamedCallState::Block(block) = call.state else {
                return Err(Damage::Order("a tool call has no name"));
            };
            parts.extend(call.joiner.finish().map(|json| StreamEvent::Arguments { block, json }));
            parts.push(StreamEvent::End { block });
            self.has_calls = true;
        }
        Ok(())
    }

    fn decode_finish_reason(&mut self, reason: &str) -> Result<(), ProviderFault> {
        self.stop = match reason {
            "" => self.stop,
            "length" | "max_tokens" => Some(StopReason::Length),
            "tool_calls" | "function_call" => Some(StopReason::ToolUse),
            "content_filter" => return Err(filtered()),
            "error" => {
                return Err(ProviderFault::new(
                    FailureKind::Interrupted,
                    "the provider interrupted the answer",
                ));
            }
            _ => Some(StopReason::Stop),
        };
        Ok(())
    }

    /// Completes the answer.
    fn finish(&mut self, parts: &mut Vec<StreamEvent>) -> Result<(), Damage> {
        self.end_blocks(parts)?;
        if let Some(signature) = self.details.signature() {
            self.blocks.sign_thinking(signature, parts);
        }
        let reason = match (self.stop, self.has_calls) {
            (None, _) => return Err(Damage::Order("the answer ended without a finish reason")),
            (Some(StopReason::ToolUse), false) => {
                return Err(Damage::Order("the answer stopped for tool calls but has none"));
            }
            (Some(StopReason::Stop), true) => StopReason::ToolUse,
            (Some(reason), _) => reason,
        };
        parts.push(StreamEvent::Finished(reason));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(datas: &[&str]) -> Vec<Result<StreamEvent, ProviderFault>> {
        let mut decoder = ChatDecoder::new("T".into());
        let mut all = Vec::new();
        for data in datas {
            let event = SseEvent { data: (*data).to_owned(), ..SseEvent::default() };
            let mut parts = Vec::new();
            let result = decoder.decode_event(&event, &mut parts);
            all.extend(parts.into_iter().map(Ok));
            if let Err(fault) = result {
                all.push(Err(fault));
                break;
            }
        }
        all
    }

    const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    const TOOL_CALLS: &str = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;

    fn text(piece: &str) -> String {
        format!(r#"{{"choices":[{{"delta":{{"content":"{piece}"}}}}]}}"#)
    }

    #[test]
    fn decode_damaged_or_misplaced_chunk_is_interrupted() {
        let nameless =
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#;
        let long = format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"function":{{"arguments":"{}"}}}}]}}}}]}}"#,
            "x".repeat(MAX_UNNAMED_BYTES)
        );
        let hi = text("hi");
        let cases: &[&[&str]] = &[
            &[&hi, &hi[..hi.len() - 4]],
            &[&hi, ""],
            &[&hi, "[]"],
            &[&hi, r#"{"choices":[{"delta":{"content":7}}]}"#],
            &[&hi, r#"{"choices":{}}"#],
            &[&hi, r#"{"choices":[{"delta":{"content":[7]}}]}"#],
            &[&hi, r#"{"choices":[{"delta":{"tool_calls":[{"id":[],"function":{"name":"ls"}}]}}]}"#],
            &[&hi, r#"{"object":"chat.completion.chunk","choicez":[]}"#],
            &[&hi, "[DONE]"],
            &["[DONE]"],
            &[&hi, TOOL_CALLS, "[DONE]"],
            &[nameless, STOP],
            &[nameless, "[DONE]"],
            &[STOP, nameless, "[DONE]"],
            &[&long],
        ];
        for case in cases {
            let parts = decode(case);
            let Some(Err(fault)) = parts.last() else { panic!("{case:?}: {parts:?}") };
            assert_eq!(fault.failure, FailureKind::Interrupted, "{case:?}");
            assert!(fault.message.starts_with("the answer is damaged: "), "{fault:?}");
        }
    }

    #[test]
    fn decode_halves_of_surrogate_pair_are_joined() {
        for key in ["content", "reasoning", "refusal"] {
            let half = |half: &str| text(half).replace("content", key);
            let parts = decode(&[&half(r"a\ud83d"), &half(r"\ude00b\ud83d"), STOP]);
            let texts = parts.into_iter().filter_map(|part| match part.unwrap() {
                StreamEvent::Text { text, .. } | StreamEvent::Thinking { text, .. } => Some(text),
                _ => None,
            });
            assert_eq!(texts.collect::<String>(), "a😀b\u{fffd}", "{key}");
        }
        let call = |json: &str, name: &str| {
            format!(
                r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"a","function":{{"name":"{name}","arguments":"{json}"}}}}]}}}}]}}"#
            )
        };
        let parts = decode(&[&call(r#"{\"a\":\"\ud83d"#, ""), &call(r#"\ude00\"}"#, "ls"), TOOL_CALLS]);
        assert_eq!(parts[1], arguments(0, r#"{"a":"😀"}"#));
    }

    fn call(block: usize, id: &str, name: &str) -> Result<StreamEvent, ProviderFault> {
        Ok(StreamEvent::Call { block, id: id.into(), name: name.into() })
    }

    fn arguments(block: usize, json: &str) -> Result<StreamEvent, ProviderFault> {
        Ok(StreamEvent::Arguments { block, json: json.into() })
    }

    const END_0: Result<StreamEvent, ProviderFault> = Ok(StreamEvent::End { block: 0 });
    const END_1: Result<StreamEvent, ProviderFault> = Ok(StreamEvent::End { block: 1 });

    #[test]
    fn decode_calls_are_distinguished_by_index() {
        let parts = decode(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":""}},{"index":1,"id":"b","function":{"name":"rg","arguments":"{"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
            "[DONE]",
        ]);
        assert_eq!(
            parts,
            [
                call(0, "a", "ls"),
                call(1, "b", "rg"),
                arguments(1, "{"),
                arguments(1, "}"),
                arguments(0, "{}"),
                END_0,
                END_1,
                Ok(StreamEvent::Finished(StopReason::ToolUse)),
            ]
        );
    }

    #[test]
    fn decode_calls_without_index_are_distinguished_by_id() {
        for index in ["", r#""index":0,"#] {
            let delta = |id: &str, name: &str| {
                format!(
                    r#"{{"choices":[{{"delta":{{"tool_calls":[{{{index}"id":"{id}","function":{{"name":"{name}","arguments":"{{}}"}}}}]}}}}]}}"#
                )
            };
            let parts = decode(&[&delta("a", "ls"), &delta("b", "rg"), STOP, "[DONE]"]);
            let expected = [
                call(0, "a", "ls"),
                arguments(0, "{}"),
                call(1, "b", "rg"),
                arguments(1, "{}"),
                END_0,
                END_1,
            ];
            assert_eq!(parts[..6], expected);
            assert_eq!(parts[6], Ok(StreamEvent::Finished(StopReason::ToolUse)));
        }
    }

    #[test]
    fn decode_whole_calls_without_id_are_told_apart() {
        let delta = |id: &str, name: &str, json: &str| {
            format!(
                r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"{id}","function":{{"name":"{name}","arguments":"{json}"}}}}]}}}}]}}"#
            )
        };
        let parts = decode(&[&delta("", "ls", r#"{\"a\":\"}\"}"#), &delta("", "ls", "{}"), STOP]);
        let expected = [
            call(0, "call_T_0", "ls"),
            arguments(0, r#"{"a":"}"}"#),
            call(1, "call_T_1", "ls"),
            arguments(1, "{}"),
            END_0,
            END_1,
        ];
        assert_eq!(parts, expected);
        // Some servers repeat the name, in each piece or at the end.
        let pieces = [r#"{\"a\":"#, r#"\"b\"}"#, ""].map(|piece| delta("", "ls", piece));
        let parts = decode(&[&pieces[0], &pieces[1], &pieces[2], STOP]);
        let expected = [call(0, "call_T_0", "ls"), arguments(0, r#"{"a":"#), arguments(0, r#""b"}"#), END_0];
        assert_eq!(parts, expected);
    }

    #[test]
    fn decode_call_without_id_gets_a_unique_one() {
        let parts = decode(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"ls","arguments":"{"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"rg"}}]}}]}"#,
        ]);
        let expected =
            [call(0, "call_T_0", "ls"), arguments(0, "{"), arguments(0, "}"), call(1, "call_T_1", "rg")];
        assert_eq!(parts, expected);
    }

    #[test]
    fn decode_call_name_may_come_late() {
        let parts = decode(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{\"x\""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"ls","arguments":":1}"}}]}}]}"#,
            STOP,
            "[DONE]",
        ]);
        let expected = [
            call(0, "a", "ls"),
            arguments(0, r#"{"x":1}"#),
            END_0,
            Ok(StreamEvent::Finished(StopReason::ToolUse)),
        ];
        assert_eq!(parts, expected);
    }

    #[test]
    fn decode_calls_without_index_continue_at_their_positions() {
        let begin = r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"ls","arguments":""}},{"id":"b","function":{"name":"rg","arguments":"{"}}]}}]}"#;
        let continued = [
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{}"}},{"function":{"arguments":"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}},{"index":1,"function":{"arguments":"}"}}]}}]}"#,
        ];
        for deltas in continued {
            let expected = [
                call(0, "a", "ls"),
                call(1, "b", "rg"),
                arguments(1, "{"),
                arguments(0, "{}"),
                arguments(1, "}"),
                END_0,
                END_1,
            ];
            assert_eq!(decode(&[begin, deltas, STOP]), expected, "{deltas}");
        }
        // A position without a call is damage, because the delta has no name.
        let lost = decode(&[continued[0], STOP]);
        assert!(matches!(lost.last(), Some(Err(_))), "{lost:?}");
    }

    #[test]
    fn decode_arguments_as_object_become_text() {
        let parts = decode(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"ls","arguments":{"path":"."}}}]}}]}"#,
        ]);
        assert_eq!(parts, [call(0, "a", "ls"), arguments(0, r#"{"path":"."}"#)]);
    }

    #[test]
    fn decode_thinking_under_both_names() {
        for name in ["reasoning", "reasoning_content"] {
            let thought = format!(r#"{{"choices":[{{"delta":{{"{name}":"hm","content":null}}}}]}}"#);
            let parts = decode(&[&thought, r#"{"choices":[{"delta":{"content":"yes"}}]}"#]);
            assert_eq!(
                parts,
                [
                    Ok(StreamEvent::Thinking { block: 0, text: "hm".into() }),
                    END_0,
                    Ok(StreamEvent::Text { block: 1, text: "yes".into() }),
                ]
            );
        }
    }

    #[test]
    fn decode_empty_thinking_does_not_hide_the_other_name() {
        let parts = decode(&[r#"{"choices":[{"delta":{"reasoning_content":"","reasoning":"hm"}}]}"#]);
        assert_eq!(parts, [Ok(StreamEvent::Thinking { block: 0, text: "hm".into() })]);
    }

    #[test]
    fn decode_groq_info_has_usage_and_errors() {
        let parts = decode(&[
            r#"{"choices":[],"x_groq":{"id":"r","usage":{"prompt_tokens":5,"completion_tokens":1}}}"#,
            r#"{"choices":[],"x_groq":{"id":"r","error":"over capacity, try again later"}}"#,
        ]);
        let [Ok(StreamEvent::Usage(usage)), Err(fault)] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!((usage.input, usage.output), (Tokens(5), Tokens(1)));
        assert_eq!(fault.message, "over capacity, try again later");
        assert_eq!(fault.failure, FailureKind::Transient { retry_after: None });
    }

    #[test]
    fn decode_content_may_be_a_list_of_parts() {
        let parts = decode(&[
            r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h\ud83d"}]}]}}]}"#,
            r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"\ude00m"}]},{"type":"text","text":"ye"}]}}]}"#,
            r#"{"choices":[{"delta":{"content":[{"type":"reference","reference_ids":[1]},{"type":"text","text":"s"}]}}]}"#,
            r#"{"choices":[{"delta":{"content":"!"}}]}"#,
        ]);
        let thinking = |text: &str| Ok(StreamEvent::Thinking { block: 0, text: text.into() });
        let text = |text: &str| Ok(StreamEvent::Text { block: 1, text: text.into() });
        assert_eq!(
            parts,
            [thinking("h"), thinking("😀m"), END_0, text("ye"), text("s"), text("!")],
            "{parts:?}"
        );
    }

    #[test]
    fn decode_call_id_may_be_a_number() {
        let parts = decode(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"id":7,"function":{"name":"ls","arguments":"{"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":7,"function":{"arguments":"}"}}]}}]}"#,
        ]);
        assert_eq!(parts, [call(0, "7", "ls"), arguments(0, "{"), arguments(0, "}")]);
    }

    #[test]
    fn decode_null_in_place_of_choices_or_delta_is_empty() {
        let parts = decode(&[
            r#"{"object":"chat.completion.chunk","choices":null}"#,
            r#"{"object":"chat.completion.chunk","choices":[{"delta":null,"finish_reason":"stop"}]}"#,
            "[DONE]",
        ]);
        assert_eq!(parts, [Ok(StreamEvent::Finished(StopReason::Stop))]);
    }

    #[test]
    fn decode_reasoning_details_sign_the_thinking() {
        let delta = |fields: &str| format!(r#"{{"choices":[{{"delta":{{{fields}}}}}]}}"#);
        let summary = |text: &str| format!(r#"{{"type":"reasoning.summary","summary":"{text}","index":0}}"#);
        let encrypted = r#"{"type":"reasoning.encrypted","data":"eA==","index":0}"#;
        let thinking =
            |text: &str| delta(&format!(r#""reasoning":"{text}","reasoning_details":[{}]"#, summary(text)));
        let late = delta(&format!(r#""reasoning_details":[{encrypted}]"#));
        let parts = decode(&[&thinking("a"), &thinking("b"), &text("yes"), &late, STOP, "[DONE]"]);
        let thinking_part = |text: &str| Ok(StreamEvent::Thinking { block: 0, text: text.into() });
        let signature = |block, text| Ok(StreamEvent::Signature { block, text });
        let expected = [
            thinking_part("a"),
            thinking_part("b"),
            END_0,
            Ok(StreamEvent::Text { block: 1, text: "yes".into() }),
            END_1,
            signature(2, r#"[{"type":"reasoning.summary","summary":"ab","index":0},{"type":"reasoning.encrypted","data":"eA==","index":0}]"#.to_owned()),
            Ok(StreamEvent::End { block: 2 }),
            Ok(StreamEvent::Finished(StopReason::Stop)),
        ];
        assert_eq!(parts, expected);

        let parts = decode(&[&text("yes"), &late, STOP, "[DONE]"]);
        let hidden = r#"[{"type":"reasoning.encrypted","data":"eA==","index":0}]"#.to_owned();
        assert_eq!(parts[2..4], [signature(1, hidden), END_1]);
    }

    #[test]
    fn decode_usage_input_excludes_cache_reads() {
        let parts = decode(&[
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"total_tokens":107,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}"#,
        ]);
        let usage = |counts: [u64; 5]| {
            let [input, output, cache_read, cache_write, total_tokens] = counts.map(Tokens);
            Ok(StreamEvent::Usage(Usage {
                input,
                output,
                cache_read,
                cache_write,
                total_tokens,
                ..Usage::default()
            }))
        };
        assert_eq!(parts, [usage([10, 7, 60, 30, 107]), usage([5, 1, 0, 0, 6])]);
    }

    #[test]
    fn decode_usage_output_includes_thinking() {
        let output = |total: u64| {
            let usage = format!(
                r#"{{"prompt_tokens":10,"completion_tokens":5,"total_tokens":{total},"completion_tokens_details":{{"reasoning_tokens":3}}}}"#
            );
            match decode(&[&format!(r#"{{"choices":[],"usage":{usage}}}"#)]).pop() {
                Some(Ok(StreamEvent::Usage(usage))) => usage.output,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(output(15), Tokens(5), "the count of the answer includes thinking");
        assert_eq!(output(18), Tokens(8), "only the total includes thinking");
    }

    #[test]
    fn decode_usage_of_a_choice_and_reported_cost_count() {
        let parts = decode(&[
            r#"{"choices":[{"delta":{},"usage":{"prompt_tokens":100,"completion_tokens":7,"cached_tokens":60}}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1,"cost":0.25}}"#,
        ]);
        let [Ok(StreamEvent::Usage(moonshot)), Ok(StreamEvent::Usage(router))] = &parts[..] else {
            panic!("{parts:?}")
        };
        assert_eq!(
            (moonshot.input, moonshot.cache_read, moonshot.output),
            (Tokens(40), Tokens(60), Tokens(7))
        );
        assert_eq!(router.cost.total, Usd(0.25));
        let facts = crate::catalog::assumed("openrouter", "x/new");
        assert_eq!(facts.cost(router).total, Usd(0.25), "what the provider says counts without a price");
    }

    #[test]
    fn decode_each_finish_reason_is_mapped() {
        let finish = |reason: &str| {
            let call = r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"ls","arguments":"{}"}}]}}]}"#;
            let chunk = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
            let first = if reason == "tool_calls" { call } else { r#"{"choices":[]}"# };
            decode(&[first, &chunk, "[DONE]"]).pop().unwrap()
        };
        assert_eq!(finish("stop"), Ok(StreamEvent::Finished(StopReason::Stop)));
        assert_eq!(finish("length"), Ok(StreamEvent::Finished(StopReason::Length)));
        assert_eq!(finish("tool_calls"), Ok(StreamEvent::Finished(StopReason::ToolUse)));
        assert_eq!(finish("content_filter").unwrap_err().failure, FailureKind::Fatal);
        assert_eq!(finish("error").unwrap_err().failure, FailureKind::Interrupted);
    }

    #[test]
    fn decode_end_without_done_needs_a_finish_reason() {
        let mut decoder = ChatDecoder::new("T".into());
        assert_eq!(decoder.end_stream(&mut Vec::new()).unwrap_err().failure, FailureKind::Interrupted);
        let data = r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#.to_owned();
        decoder.decode_event(&SseEvent { data, ..SseEvent::default() }, &mut Vec::new()).unwrap();
        let mut parts = Vec::new();
        decoder.end_stream(&mut parts).unwrap();
        assert_eq!(parts, [StreamEvent::Finished(StopReason::Length)]);
    }

    #[test]
    fn decode_errors_and_unknown_events_in_the_stream() {
        let parts = decode(&[
            r#"{"object":"keep-alive"}"#,
            r#"{"choices":[{"delta":null}],"usage":"none","error":null}"#,
            r#"{"error":{"message":"Rate limit reached","code":429}}"#,
        ]);
        assert!(matches!(&parts[0], Ok(StreamEvent::Trace { name: "unknown_event", .. })));
        let Err(fault) = &parts[1] else { panic!("an error: {parts:?}") };
        assert_eq!(fault.failure, FailureKind::Transient { retry_after: None });
    }
}
