//! From the Messages API's events to [`Part`]s.

use serde::Deserialize;
use serde_json::Value;

use super::REDACTED;
use crate::id::CallId;
use crate::message::{StopReason, Usage};
use crate::provider::error::{Fault, Refusal, classify};
use crate::provider::http::{Decode, trace};
use crate::provider::sse::Event;
use crate::provider::{Failure, Part};
use crate::unit::Tokens;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Told {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: End,
        usage: Option<Counts>,
    },
    MessageStop,
    Ping,
    Error {
        error: Trouble,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<Counts>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct End {
    stop_reason: Option<String>,
    stop_details: Option<StopDetails>,
}

#[derive(Deserialize)]
struct StopDetails {
    explanation: Option<String>,
}

#[derive(Deserialize)]
struct Trouble {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
}

/// Tokens counted so far. Each count only grows; a later event may leave some out.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl Counts {
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
pub(super) struct Decoder {
    /// The API's numbers of the blocks begun and understood; the place in here is ours.
    blocks: Vec<u64>,
    counts: Counts,
    stop: Option<StopReason>,
}

impl Decode for Decoder {
    fn take(&mut self, event: &Event, parts: &mut Vec<Result<Part, Fault>>) {
        match serde_json::from_str(&event.data) {
            Ok(told) => {
                if !self.take_told(told, parts) {
                    parts.push(Ok(trace("unknown_event", event)));
                }
            }
            Err(_) => parts.push(Ok(trace("unparsable_chunk", event))),
        }
    }

    fn end(&mut self) -> Option<Part> {
        self.stop.map(Part::Finished)
    }
}

impl Decoder {
    /// Whether what was told is understood.
    fn take_told(&mut self, told: Told, parts: &mut Vec<Result<Part, Fault>>) -> bool {
        match told {
            Told::MessageStart { message } => self.count(message.usage, parts),
            Told::ContentBlockStart { index, content_block } => {
                return self.begin_block(index, content_block, parts);
            }
            Told::ContentBlockDelta { index, delta } => {
                let part = self.block(index).and_then(|block| part_of(block, delta));
                let understood = part.is_some();
                parts.extend(part.map(Ok));
                return understood;
            }
            Told::ContentBlockStop { index } => {
                parts.extend(self.block(index).map(|block| Ok(Part::End { block })));
            }
            Told::MessageDelta { delta, usage } => {
                self.count(usage, parts);
                return self.take_end(delta, parts);
            }
            Told::MessageStop => parts.push(Ok(Part::Finished(self.stop.unwrap_or_default()))),
            Told::Ping => {}
            Told::Error { error } => {
                let refusal = Refusal { kind: error.kind, message: error.message, ..Refusal::default() };
                parts.push(Err(classify(&refusal)));
            }
            Told::Unknown => return false,
        }
        true
    }

    fn block(&self, index: u64) -> Option<usize> {
        self.blocks.iter().position(|known| *known == index)
    }

    fn begin_block(&mut self, index: u64, begun: Block, parts: &mut Vec<Result<Part, Fault>>) -> bool {
        let block = self.blocks.len();
        let first: Vec<Part> = match begun {
            Block::Text { text } => vec![Part::Text { block, text }],
            Block::Thinking { thinking, signature } => {
                let seal = (!signature.is_empty()).then_some(Part::Signature { block, text: signature });
                [Part::Thinking { block, text: thinking }].into_iter().chain(seal).collect()
            }
            Block::RedactedThinking { data } => vec![
                Part::Thinking { block, text: String::new() },
                Part::Signature { block, text: format!("{REDACTED}{data}") },
            ],
            Block::ToolUse { id, name, input } => {
                // The arguments stream after this; servers that imitate the API may put them here at once.
                let json =
                    input.as_object().is_some_and(|input| !input.is_empty()).then(|| input.to_string());
                let arguments = json.map(|json| Part::Arguments { block, json });
                [Part::Call { block, id: CallId::new(id), name }].into_iter().chain(arguments).collect()
            }
            Block::Unknown => return false,
        };
        self.blocks.push(index);
        parts.extend(first.into_iter().map(Ok));
        true
    }

    fn count(&mut self, counts: Option<Counts>, parts: &mut Vec<Result<Part, Fault>>) {
        if let Some(counts) = counts {
            self.counts.merge(counts);
            parts.push(Ok(Part::Usage(self.counts.usage())));
        }
    }

    /// A refusal is an error: what was said up to it isn't to be built upon, and a person should see why.
    fn take_end(&mut self, end: End, parts: &mut Vec<Result<Part, Fault>>) -> bool {
        self.stop = match end.stop_reason.as_deref() {
            None => self.stop,
            Some("max_tokens" | "model_context_window_exceeded") => Some(StopReason::Length),
            Some("tool_use") => Some(StopReason::ToolUse),
            Some("refusal") => {
                let why = end.stop_details.and_then(|details| details.explanation);
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                let fault = Fault::new(Failure::Fatal, format!("the model declined to answer{why}"));
                parts.push(Err(fault.with_hint("put it differently, or ask another model")));
                None
            }
            // `pause_turn` comes only with tools that run at the provider, of which tiller asks for none.
            Some("end_turn" | "stop_sequence" | "pause_turn") => Some(StopReason::Stop),
            Some(_) => {
                self.stop = Some(StopReason::Stop);
                return false;
            }
        };
        true
    }
}

fn part_of(block: usize, delta: Delta) -> Option<Part> {
    match delta {
        Delta::Text { text } => Some(Part::Text { block, text }),
        Delta::Thinking { thinking } => Some(Part::Thinking { block, text: thinking }),
        Delta::Signature { signature } => Some(Part::Signature { block, text: signature }),
        Delta::InputJson { partial_json } => Some(Part::Arguments { block, json: partial_json }),
        Delta::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(datas: &[&str]) -> Vec<Result<Part, Fault>> {
        let mut decoder = Decoder::default();
        let mut parts = Vec::new();
        for data in datas {
            let event = Event { data: (*data).to_owned(), ..Event::default() };
            decoder.take(&event, &mut parts);
        }
        parts
    }

    fn stop(reason: &str) -> Vec<Result<Part, Fault>> {
        let end = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#);
        decode(&[&end, r#"{"type":"message_stop"}"#])
    }

    #[test]
    fn every_stop_reason_has_its_meaning() {
        let cases = [
            ("end_turn", StopReason::Stop),
            ("stop_sequence", StopReason::Stop),
            ("pause_turn", StopReason::Stop),
            ("max_tokens", StopReason::Length),
            ("model_context_window_exceeded", StopReason::Length),
            ("tool_use", StopReason::ToolUse),
        ];
        for (reason, meaning) in cases {
            assert_eq!(stop(reason), [Ok(Part::Finished(meaning))], "{reason}");
        }
        assert!(matches!(
            &stop("novelty")[..],
            [Ok(Part::Trace { .. }), Ok(Part::Finished(StopReason::Stop))]
        ));
        let Err(refused) = &stop("refusal")[0] else { panic!("an error") };
        assert_eq!(refused.failure, Failure::Fatal);
    }

    #[test]
    fn counts_only_grow_and_are_told_whole() {
        let parts = decode(&[
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
        assert_eq!(parts, [Ok(Part::Usage(usage(1, 18))), Ok(Part::Usage(usage(20, 37)))]);
    }

    #[test]
    fn blocks_of_unknown_kinds_are_traced_and_cost_no_number() {
        let parts = decode(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"x"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"hi"}}"#,
        ]);
        let texts: Vec<_> = parts.iter().filter(|part| matches!(part, Ok(Part::Text { .. }))).collect();
        assert_eq!(
            texts,
            [
                &Ok(Part::Text { block: 0, text: String::new() }),
                &Ok(Part::Text { block: 0, text: "hi".into() })
            ]
        );
        assert_eq!(parts.len(), 5);
    }

    #[test]
    fn a_hidden_thought_keeps_its_seal() {
        let parts = decode(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"abc="}}"#,
        ]);
        assert_eq!(parts[1], Ok(Part::Signature { block: 0, text: "redacted:abc=".into() }));
    }

    #[test]
    fn arguments_given_at_once_are_taken() {
        let parts = decode(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"ls","input":{"path":"."}}}"#,
        ]);
        assert_eq!(parts[1], Ok(Part::Arguments { block: 0, json: r#"{"path":"."}"#.into() }));
    }

    #[test]
    fn an_error_in_the_stream_is_classified() {
        let parts =
            decode(&[r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#]);
        let fault = Fault::new(Failure::Transient { retry_after: None }, "Overloaded")
            .with_hint("wait a little, or ask another model (/model, --model)");
        assert_eq!(parts, [Err(fault)]);
    }
}
