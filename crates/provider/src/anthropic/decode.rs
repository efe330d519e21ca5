//! Decoding of the Messages API's events into [`StreamEvent`]s.
//!
//! Unknown event types are ignored and traced. A known type with an unexpected shape, an event out of order
//! and an end with open blocks count as damage: the answer is interrupted, so that none of its tool calls
//! run.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tiller_core::id::CallId;
use tiller_core::message::{StopReason, Usage};
use tiller_core::surrogates::{SurrogateJoiner, Wtf8};
use tiller_core::unit::Tokens;

use super::encode::REDACTED;
use crate::error::{ProviderFault, classify, parse_error_response};
use crate::http::{Damage, Decode, incomplete, trace};
use crate::sse::SseEvent;
use crate::{FailureKind, StreamEvent};

#[derive(Deserialize)]
struct EventType<'a> {
    #[serde(borrow, rename = "type")]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct MessageStart {
    message: MessageInfo,
}

#[derive(Deserialize)]
struct MessageInfo {
    usage: Option<MessageUsage>,
}

#[derive(Deserialize)]
struct BlockStart<'a> {
    index: usize,
    #[serde(borrow)]
    content_block: &'a RawValue,
}

#[derive(Deserialize)]
struct TextStart {
    #[serde(default)]
    text: Wtf8,
}

#[derive(Deserialize)]
struct ThinkingStart {
    #[serde(default)]
    thinking: Wtf8,
    #[serde(default)]
    signature: String,
}

#[derive(Deserialize)]
struct RedactedStart {
    data: String,
}

#[derive(Deserialize)]
struct ToolUseStart {
    id: String,
    name: String,
    #[serde(default)]
    input: Value,
}

#[derive(Deserialize)]
struct BlockDelta<'a> {
    index: usize,
    #[serde(borrow)]
    delta: ContentDelta<'a>,
}

#[derive(Deserialize)]
struct ContentDelta<'a> {
    #[serde(borrow, rename = "type")]
    name: Cow<'a, str>,
    text: Option<Wtf8>,
    thinking: Option<Wtf8>,
    signature: Option<String>,
    partial_json: Option<Wtf8>,
}

#[derive(Deserialize)]
struct BlockStop {
    index: usize,
}

#[derive(Deserialize)]
struct MessageDelta {
    delta: MessageEnd,
    usage: Option<MessageUsage>,
}

#[derive(Deserialize)]
struct MessageEnd {
    stop_reason: Option<String>,
    stop_details: Option<StopDetails>,
}

#[derive(Deserialize)]
struct StopDetails {
    explanation: Option<String>,
}

/// Token counts so far. Each count only grows; a later event may omit some.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct MessageUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl MessageUsage {
    fn merge(&mut self, later: Self) {
        self.input_tokens = self.input_tokens.max(later.input_tokens);
        self.output_tokens = self.output_tokens.max(later.output_tokens);
        self.cache_read_input_tokens = self.cache_read_input_tokens.max(later.cache_read_input_tokens);
        self.cache_creation_input_tokens =
            self.cache_creation_input_tokens.max(later.cache_creation_input_tokens);
    }

    fn usage(self) -> Usage {
        let tokens = |count: Option<u64>| Tokens(count.unwrap_or(0));
        let usage = Usage {
            input: tokens(self.input_tokens),
            output: tokens(self.output_tokens),
            cache_read: tokens(self.cache_read_input_tokens),
            cache_write: tokens(self.cache_creation_input_tokens),
            ..Usage::default()
        };
        Usage { total_tokens: usage.total(), ..usage }
    }
}

/// Decodes one answer.
#[derive(Default)]
pub(super) struct MessagesDecoder {
    has_started: bool,
    /// Indexed by the API's index.
    blocks: Vec<ContentBlock>,
    counts: MessageUsage,
    stop: Option<StopReason>,
}

struct ContentBlock {
    kind: ContentBlockKind,
    is_open: bool,
    joiner: SurrogateJoiner,
}

/// The kind of a block, and its number in [`StreamEvent`]s; blocks of unknown kinds have no number.
#[derive(Clone, Copy)]
enum ContentBlockKind {
    Text(usize),
    Thinking(usize),
    ToolUse(usize),
    Unknown,
}

impl ContentBlockKind {
    fn number(self) -> Option<usize> {
        match self {
            Self::Text(number) | Self::Thinking(number) | Self::ToolUse(number) => Some(number),
            Self::Unknown => None,
        }
    }
}

/// Distinguishes events of known types from ignored ones.
enum EventClass {
    Known,
    Unknown,
}

impl Decode for MessagesDecoder {
    fn decode_event(&mut self, event: &SseEvent, parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault> {
        match self.decode(&event.data, parts) {
            Ok(Ok(EventClass::Known)) => Ok(()),
            Ok(Ok(EventClass::Unknown)) => {
                parts.push(trace("unknown_event", event));
                Ok(())
            }
            Ok(Err(fault)) => Err(fault),
            Err(damage) => Err(damage.report(event, parts)),
        }
    }

    /// An answer is complete only after `message_stop`, which ends the stream before this is called.
    fn end_stream(&mut self, _parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault> {
        Err(incomplete())
    }
}

impl MessagesDecoder {
    /// Decodes an event. The inner error was reported by the provider; the outer one is damage.
    fn decode(
        &mut self,
        data: &str,
        parts: &mut Vec<StreamEvent>,
    ) -> Result<Result<EventClass, ProviderFault>, Damage> {
        let EventType { name } = serde_json::from_str(data)?;
        if matches!(&*name, "content_block_start" | "content_block_delta" | "content_block_stop")
            && (!self.has_started || self.stop.is_some())
        {
            return Err(Damage::Order("content outside the message"));
        }
        let decoded = match &*name {
            "message_start" => self.start_message(serde_json::from_str(data)?, parts)?,
            "content_block_start" => self.start_block(&serde_json::from_str(data)?, parts)?,
            "content_block_delta" => self.decode_delta(serde_json::from_str(data)?, parts)?,
            "content_block_stop" => self.stop_block(&serde_json::from_str(data)?, parts)?,
            "message_delta" => {
                let MessageDelta { delta, usage } = serde_json::from_str(data)?;
                self.count(usage, parts);
                return Ok(self.decode_end(delta));
            }
            "message_stop" => {
                parts.push(StreamEvent::Finished(self.stop_message()?));
                EventClass::Known
            }
            "ping" => EventClass::Known,
            "error" => return Ok(Err(classify(&parse_error_response(0, data)))),
            _ => EventClass::Unknown,
        };
        Ok(Ok(decoded))
    }

    fn start_message(
        &mut self,
        event: MessageStart,
        parts: &mut Vec<StreamEvent>,
    ) -> Result<EventClass, Damage> {
        // Some gateways send the event twice.
        if self.stop.is_some() || !self.blocks.is_empty() {
            return Err(Damage::Order("a message began within another"));
        }
        self.has_started = true;
        self.count(event.message.usage, parts);
        Ok(EventClass::Known)
    }

    fn start_block(
        &mut self,
        event: &BlockStart<'_>,
        parts: &mut Vec<StreamEvent>,
    ) -> Result<EventClass, Damage> {
        if event.index != self.blocks.len() {
            return Err(Damage::Order("a content block is missing"));
        }
        let block = self.blocks.iter().filter(|block| block.kind.number().is_some()).count();
        let mut joiner = SurrogateJoiner::default();
        let json = event.content_block.get();
        let EventType { name } = serde_json::from_str(json)?;
        let kind = match &*name {
            "text" => {
                let TextStart { text } = serde_json::from_str(json)?;
                parts.push(StreamEvent::Text { block, text: joiner.push(text) });
                ContentBlockKind::Text(block)
            }
            "thinking" => {
                let ThinkingStart { thinking, signature } = serde_json::from_str(json)?;
                parts.push(StreamEvent::Thinking { block, text: joiner.push(thinking) });
                if !signature.is_empty() {
                    parts.push(StreamEvent::Signature { block, text: signature });
                }
                ContentBlockKind::Thinking(block)
            }
            "redacted_thinking" => {
                let RedactedStart { data } = serde_json::from_str(json)?;
                parts.push(StreamEvent::Thinking { block, text: String::new() });
                parts.push(StreamEvent::Signature { block, text: format!("{REDACTED}{data}") });
                ContentBlockKind::Thinking(block)
            }
            "tool_use" => {
                let ToolUseStart { id, name, input } = parse_value(json)?;
                if id.is_empty() || name.is_empty() {
                    return Err(Damage::Order("a tool call has no id or no name"));
                }
                parts.push(StreamEvent::Call { block, id: CallId::new(id), name });
                // The arguments stream after this event; compatible servers may include them in it.
                if input.as_object().is_some_and(|input| !input.is_empty()) {
                    parts.push(StreamEvent::Arguments { block, json: input.to_string() });
                }
                ContentBlockKind::ToolUse(block)
            }
            _ => ContentBlockKind::Unknown,
        };
        self.blocks.push(ContentBlock { kind, is_open: true, joiner });
        Ok(if kind.number().is_some() { EventClass::Known } else { EventClass::Unknown })
    }

    fn decode_delta(
        &mut self,
        event: BlockDelta<'_>,
        parts: &mut Vec<StreamEvent>,
    ) -> Result<EventClass, Damage> {
        const MISFIT: Damage = Damage::Order("a delta does not fit its content block");
        let ContentBlock { kind, joiner, .. } = self.open_block(event.index)?;
        let ContentDelta { name, text, thinking, signature, partial_json } = event.delta;
        let part = match (*kind, &*name) {
            (ContentBlockKind::Text(block), "text_delta") => {
                StreamEvent::Text { block, text: joiner.push(text.ok_or(MISFIT)?) }
            }
            (ContentBlockKind::Thinking(block), "thinking_delta") => {
                StreamEvent::Thinking { block, text: joiner.push(thinking.ok_or(MISFIT)?) }
            }
            (ContentBlockKind::Thinking(block), "signature_delta") => {
                StreamEvent::Signature { block, text: signature.ok_or(MISFIT)? }
            }
            (ContentBlockKind::ToolUse(block), "input_json_delta") => {
                StreamEvent::Arguments { block, json: joiner.push(partial_json.ok_or(MISFIT)?) }
            }
            (
                ContentBlockKind::Text(_) | ContentBlockKind::Thinking(_) | ContentBlockKind::ToolUse(_),
                name,
            ) if is_known_delta(name) => {
                return Err(MISFIT);
            }
            (_, _) => return Ok(EventClass::Unknown),
        };
        parts.push(part);
        Ok(EventClass::Known)
    }

    fn stop_block(&mut self, event: &BlockStop, parts: &mut Vec<StreamEvent>) -> Result<EventClass, Damage> {
        let block = self.open_block(event.index)?;
        block.is_open = false;
        let last_half = block.joiner.finish();
        match (block.kind, last_half) {
            (ContentBlockKind::Text(block), Some(text)) => parts.push(StreamEvent::Text { block, text }),
            (ContentBlockKind::Thinking(block), Some(text)) => {
                parts.push(StreamEvent::Thinking { block, text })
            }
            (ContentBlockKind::ToolUse(block), Some(json)) => {
                parts.push(StreamEvent::Arguments { block, json })
            }
            (ContentBlockKind::Unknown, Some(_)) | (_, None) => {}
        }
        parts.extend(block.kind.number().map(|block| StreamEvent::End { block }));
        Ok(EventClass::Known)
    }

    fn open_block(&mut self, index: usize) -> Result<&mut ContentBlock, Damage> {
        let block = self.blocks.get_mut(index).filter(|block| block.is_open);
        block.ok_or(Damage::Order("an event belongs to no open content block"))
    }

    fn stop_message(&self) -> Result<StopReason, Damage> {
        if self.blocks.iter().any(|block| block.is_open) {
            return Err(Damage::Order("the message ended within a content block"));
        }
        let has_calls = self.blocks.iter().any(|block| matches!(block.kind, ContentBlockKind::ToolUse(_)));
        match self.stop {
            None => Err(Damage::Order("the message ended without a stop reason")),
            Some(StopReason::ToolUse) if !has_calls => {
                Err(Damage::Order("the message stopped for tool calls but has none"))
            }
            Some(stop) => Ok(stop),
        }
    }

    fn count(&mut self, counts: Option<MessageUsage>, parts: &mut Vec<StreamEvent>) {
        if let Some(counts) = counts {
            self.counts.merge(counts);
            parts.push(StreamEvent::Usage(self.counts.usage()));
        }
    }

    /// Decodes the end of the message. A refusal is an error: the conversation can't continue from its text,
    /// and the user should see the reason.
    fn decode_end(&mut self, end: MessageEnd) -> Result<EventClass, ProviderFault> {
        self.stop = match end.stop_reason.as_deref() {
            None => self.stop,
            Some("max_tokens" | "model_context_window_exceeded") => Some(StopReason::Length),
            Some("tool_use") => Some(StopReason::ToolUse),
            Some("refusal") => {
                let reason = end.stop_details.and_then(|details| details.explanation);
                let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                let fault =
                    ProviderFault::new(FailureKind::Fatal, format!("the model declined to answer{reason}"));
                return Err(fault.with_hint("rephrase the request, or choose another model"));
            }
            // `pause_turn` comes only with tools that run at the provider, and tiller requests none.
            Some("end_turn" | "stop_sequence" | "pause_turn") => Some(StopReason::Stop),
            Some(_) => {
                self.stop = Some(StopReason::Stop);
                return Ok(EventClass::Unknown);
            }
        };
        Ok(EventClass::Known)
    }
}

fn is_known_delta(name: &str) -> bool {
    matches!(name, "text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta")
}

/// Parses JSON whose strings may have unpaired surrogates; no later event completes the pairs.
fn parse_value<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(json).or_else(|error| match tiller_core::surrogates::replace_lone(json) {
        Some(json) => serde_json::from_str(&json),
        None => Err(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = r#"{"type":"message_start","message":{}}"#;
    const STOP: &str = r#"{"type":"message_stop"}"#;

    /// Decodes an answer's events after `message_start`, up to its error.
    fn decode(datas: &[&str]) -> Vec<Result<StreamEvent, ProviderFault>> {
        decode_all(&[&[START], datas].concat())
    }

    fn decode_all(datas: &[&str]) -> Vec<Result<StreamEvent, ProviderFault>> {
        let mut decoder = MessagesDecoder::default();
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

    fn end_of(reason: &str) -> String {
        format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#)
    }

    fn stop(reason: &str) -> Vec<Result<StreamEvent, ProviderFault>> {
        decode(&[TOOL, INPUT, STOP_0, &end_of(reason), STOP]).split_off(3)
    }

    const TEXT: &str =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    const TOOL: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"ls","input":{}}}"#;
    const INPUT: &str =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#;
    const STOP_0: &str = r#"{"type":"content_block_stop","index":0}"#;

    fn text(piece: &str) -> String {
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{piece}"}}}}"#
        )
    }

    #[test]
    fn decode_damaged_or_misplaced_event_is_interrupted() {
        let (hi, end_turn, tool_use) = (text("hi"), end_of("end_turn"), end_of("tool_use"));
        let cases: &[&[&str]] = &[
            &[TEXT, &hi, STOP_0, &end_turn, STOP],
            &[START, TEXT, START],
            &[START, &end_turn, START],
            &[START, TEXT, &hi[..hi.len() - 9]],
            &[START, TEXT, "{}"],
            &[START, TEXT, "[]"],
            &[START, TEXT, r#"{"type":"content_block_delta","index":0}"#],
            &[START, TEXT, r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}"#],
            &[
                START,
                TEXT,
                r#"{"type":"content_block_delta","index":"0","delta":{"type":"text_delta","text":"a"}}"#,
            ],
            &[
                START,
                TEXT,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}"#,
            ],
            &[START, TEXT, INPUT],
            &[START, TOOL, &hi],
            &[START, &hi],
            &[START, STOP_0],
            &[START, TEXT, STOP_0, STOP_0],
            &[START, TEXT, STOP_0, &hi],
            &[START, TEXT, TEXT],
            &[START, r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#],
            &[
                START,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t"}}"#,
            ],
            &[
                START,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"","name":"ls"}}"#,
            ],
            &[START, TEXT, &hi, &end_turn, STOP],
            &[START, TEXT, &hi, STOP_0, STOP],
            &[START, TEXT, &hi, STOP_0, &tool_use, STOP],
            &[START, TEXT, &hi, STOP_0, &end_turn, TEXT],
        ];
        for case in cases {
            let parts = decode_all(case);
            let Some(Err(fault)) = parts.last() else { panic!("{case:?}: {parts:?}") };
            assert_eq!(fault.failure, FailureKind::Interrupted, "{case:?}");
            assert!(fault.message.starts_with("the answer is damaged: "), "{fault:?}");
        }
    }

    #[test]
    fn decode_halves_of_surrogate_pair_are_joined() {
        let joined = |pieces: &[&str]| {
            let pieces: Vec<String> = pieces.iter().map(|piece| text(piece)).collect();
            let mut datas = vec![TEXT];
            datas.extend(pieces.iter().map(String::as_str));
            datas.push(STOP_0);
            let parts = decode(&datas);
            let texts = parts.into_iter().filter_map(|part| match part.unwrap() {
                StreamEvent::Text { text, .. } => Some(text),
                _ => None,
            });
            texts.collect::<String>()
        };
        assert_eq!(joined(&[r"a\ud83d", r"\ude00b"]), "a😀b");
        assert_eq!(joined(&[r"a\ud83d", "b"]), "a\u{fffd}b");
        assert_eq!(joined(&[r"a\ud83d"]), "a\u{fffd}");
    }

    #[test]
    fn decode_without_message_stop_is_incomplete() {
        let mut decoder = MessagesDecoder::default();
        for data in [START, TEXT, &text("hi"), STOP_0, &end_of("end_turn")] {
            let event = SseEvent { data: data.to_owned(), ..SseEvent::default() };
            decoder.decode_event(&event, &mut Vec::new()).unwrap();
        }
        assert_eq!(decoder.end_stream(&mut Vec::new()).unwrap_err().failure, FailureKind::Interrupted);
    }

    #[test]
    fn decode_each_stop_reason_is_mapped() {
        let cases = [
            ("end_turn", StopReason::Stop),
            ("stop_sequence", StopReason::Stop),
            ("pause_turn", StopReason::Stop),
            ("max_tokens", StopReason::Length),
            ("model_context_window_exceeded", StopReason::Length),
            ("tool_use", StopReason::ToolUse),
        ];
        for (reason, meaning) in cases {
            assert_eq!(stop(reason), [Ok(StreamEvent::Finished(meaning))], "{reason}");
        }
        assert!(matches!(
            &stop("novelty")[..],
            [Ok(StreamEvent::Trace { .. }), Ok(StreamEvent::Finished(StopReason::Stop))]
        ));
        let Err(fault) = &stop("refusal")[0] else { panic!("an error") };
        assert_eq!(fault.failure, FailureKind::Fatal);
    }

    #[test]
    fn decode_usage_only_grows_and_is_reported_whole() {
        let parts = decode_all(&[
            r#"{"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":4,"cache_creation_input_tokens":3}}}"#,
            r#"{"type":"message_delta","delta":{},"usage":{"input_tokens":0,"output_tokens":20}}"#,
        ]);
        let usage = |output, total| Usage {
            input: Tokens(10),
            output: Tokens(output),
            cache_read: Tokens(4),
            cache_write: Tokens(3),
            total_tokens: Tokens(total),
            ..Usage::default()
        };
        assert_eq!(parts, [Ok(StreamEvent::Usage(usage(1, 18))), Ok(StreamEvent::Usage(usage(20, 37)))]);
    }

    #[test]
    fn decode_unknown_block_is_traced_and_not_numbered() {
        let parts = decode(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"x"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"hi"}}"#,
        ]);
        let texts: Vec<_> =
            parts.iter().filter(|part| matches!(part, Ok(StreamEvent::Text { .. }))).collect();
        assert_eq!(
            texts,
            [
                &Ok(StreamEvent::Text { block: 0, text: String::new() }),
                &Ok(StreamEvent::Text { block: 0, text: "hi".into() })
            ]
        );
        assert_eq!(parts.len(), 5);
    }

    #[test]
    fn decode_hidden_thinking_keeps_its_signature() {
        let parts = decode(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"abc="}}"#,
        ]);
        assert_eq!(parts[1], Ok(StreamEvent::Signature { block: 0, text: "redacted:abc=".into() }));
    }

    #[test]
    fn decode_arguments_at_block_start_are_used() {
        let parts = decode(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"ls","input":{"path":"."}}}"#,
        ]);
        assert_eq!(parts[1], Ok(StreamEvent::Arguments { block: 0, json: r#"{"path":"."}"#.into() }));
    }

    #[test]
    fn decode_error_in_the_stream_is_classified() {
        let parts =
            decode(&[r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#]);
        let fault = ProviderFault::new(FailureKind::Transient { retry_after: None }, "Overloaded")
            .with_hint("wait, or choose another model (/model, --model)");
        assert_eq!(parts, [Err(fault)]);
    }
}
