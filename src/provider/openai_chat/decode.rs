//! From Chat Completions' chunks to [`Part`]s.
//!
//! Servers differ: some give a call no id or no index, some the index 0 to every call, some end with `stop` though
//! they called, some without `[DONE]`. What makes sense is taken.

use serde::Deserialize;
use serde_json::Value;

use crate::id::CallId;
use crate::message::{StopReason, Usage};
use crate::provider::error::{Fault, classify, refusal_in};
use crate::provider::http::{Decode, trace};
use crate::provider::sse::Event;
use crate::provider::{Failure, Part};
use crate::unit::Tokens;

/// The data of the event behind the last chunk.
const DONE: &str = "[DONE]";

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Counts>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta {
    content: Option<String>,
    /// A refusal in words; shown as the answer it is.
    refusal: Option<String>,
    /// DeepSeek's, llama.cpp's and vLLM's name for thoughts.
    reasoning_content: Option<String>,
    /// OpenRouter's, Ollama's and Groq's name for them.
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FunctionDelta {
    name: Option<String>,
    /// A string; some servers forget to make one of the object.
    arguments: Option<Value>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Counts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptCounts>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptCounts {
    cached_tokens: Option<u64>,
    /// Where writing to the cache is billed.
    cache_write_tokens: Option<u64>,
}

impl Counts {
    /// `prompt_tokens` includes what the cache had.
    fn usage(&self) -> Usage {
        let (prompt, output) = (self.prompt_tokens.unwrap_or(0), self.completion_tokens.unwrap_or(0));
        let details = self.prompt_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens).unwrap_or(0).min(prompt);
        let written =
            details.and_then(|details| details.cache_write_tokens).unwrap_or(0).min(prompt - cached);
        Usage {
            input: Tokens(prompt - cached - written),
            output: Tokens(output),
            cache_read: Tokens(cached),
            cache_write: Tokens(written),
            total_tokens: Tokens(self.total_tokens.unwrap_or(prompt.saturating_add(output))),
            ..Usage::default()
        }
    }
}

/// Decodes one answer.
pub(super) struct Decoder {
    /// Goes into the ids of calls that come without.
    stamp: String,
    /// How many blocks have begun.
    blocks: usize,
    /// The block of prose being written.
    prose: Option<(Prose, usize)>,
    calls: Vec<Call>,
    stop: Option<StopReason>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Prose {
    Text,
    Thinking,
}

/// A call as far as it has come.
struct Call {
    index: Option<u64>,
    id: String,
    begun: Begun,
}

/// A call begins when its name is known.
enum Begun {
    /// Not yet; its arguments so far.
    No(String),
    /// As this block.
    As(usize),
}

impl Decode for Decoder {
    fn take(&mut self, event: &Event, parts: &mut Vec<Result<Part, Fault>>) {
        if event.data.trim() == DONE {
            parts.extend(self.end_blocks().into_iter().map(Ok));
            parts.push(Ok(Part::Finished(self.stop_reason())));
            return;
        }
        match serde_json::from_str::<Chunk>(&event.data) {
            Ok(Chunk { error: Some(error), .. }) if !error.is_null() => {
                parts.push(Err(classify(&refusal_in(0, &event.data))));
            }
            Ok(Chunk { choices: None, usage: None, .. }) => parts.push(Ok(trace("unknown_event", event))),
            Ok(chunk) => self.take_chunk(chunk, parts),
            Err(_) => parts.push(Ok(trace("unparsable_chunk", event))),
        }
    }

    fn end(&mut self) -> Option<Part> {
        self.stop.map(|_| Part::Finished(self.stop_reason()))
    }
}

impl Decoder {
    pub(super) fn new(stamp: String) -> Self {
        Self { stamp, blocks: 0, prose: None, calls: Vec::new(), stop: None }
    }

    fn take_chunk(&mut self, chunk: Chunk, parts: &mut Vec<Result<Part, Fault>>) {
        // Only one choice is ever asked for. Usage comes with none.
        for choice in chunk.choices.into_iter().flatten().take(1) {
            let delta = choice.delta;
            let mut told = Vec::new();
            self.write(Prose::Thinking, delta.reasoning_content.or(delta.reasoning), &mut told);
            self.write(Prose::Text, delta.content, &mut told);
            self.write(Prose::Text, delta.refusal, &mut told);
            for call in delta.tool_calls.into_iter().flatten() {
                self.take_call(call, &mut told);
            }
            parts.extend(told.into_iter().map(Ok));
            if let Some(reason) = choice.finish_reason.as_deref().filter(|reason| !reason.is_empty()) {
                parts.extend(self.take_reason(reason));
            }
        }
        if let Some(counts) = chunk.usage {
            parts.push(Ok(Part::Usage(counts.usage())));
        }
    }

    fn next_block(&mut self) -> usize {
        self.blocks += 1;
        self.blocks - 1
    }

    fn write(&mut self, kind: Prose, text: Option<String>, parts: &mut Vec<Part>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return };
        let block = match self.prose {
            Some((current, block)) if current == kind => block,
            _ => {
                self.end_prose(parts);
                self.next_block()
            }
        };
        self.prose = Some((kind, block));
        parts.push(match kind {
            Prose::Text => Part::Text { block, text },
            Prose::Thinking => Part::Thinking { block, text },
        });
    }

    fn end_prose(&mut self, parts: &mut Vec<Part>) {
        parts.extend(self.prose.take().map(|(_, block)| Part::End { block }));
    }

    fn take_call(&mut self, delta: CallDelta, parts: &mut Vec<Part>) {
        let at = self.call_of(&delta).unwrap_or_else(|| {
            self.end_prose(parts);
            let id = delta.id.clone().filter(|id| !id.is_empty());
            let id = id.unwrap_or_else(|| format!("call_{}_{}", self.stamp, self.calls.len()));
            self.calls.push(Call { index: delta.index, id, begun: Begun::No(String::new()) });
            self.calls.len() - 1
        });
        let function = delta.function.unwrap_or_default();
        let name = function.name.filter(|name| !name.is_empty());
        let mut arguments = match function.arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(json)) => json,
            Some(other) => other.to_string(),
        };
        if let (Begun::No(held), Some(name)) = (&mut self.calls[at].begun, name) {
            arguments.insert_str(0, held);
            let block = self.next_block();
            self.calls[at].begun = Begun::As(block);
            parts.push(Part::Call { block, id: CallId::new(&self.calls[at].id), name });
        }
        match &mut self.calls[at].begun {
            Begun::No(held) => held.push_str(&arguments),
            Begun::As(_) if arguments.is_empty() => {}
            Begun::As(block) => parts.push(Part::Arguments { block: *block, json: arguments }),
        }
    }

    /// The call that a delta goes on with: the last of its index, of its id, or of all. A new id together with a name
    /// begins another, whatever the index.
    fn call_of(&self, delta: &CallDelta) -> Option<usize> {
        let id = delta.id.as_deref().filter(|id| !id.is_empty());
        let names = delta.function.as_ref().and_then(|function| function.name.as_deref());
        let begins = names.is_some_and(|name| !name.is_empty());
        let at = match (delta.index, id) {
            (Some(index), _) => self.calls.iter().rposition(|call| call.index == Some(index)),
            (None, Some(id)) => self.calls.iter().rposition(|call| call.id == id),
            (None, None) if begins => None,
            (None, None) => self.calls.len().checked_sub(1),
        }?;
        let is_other = begins && id.is_some_and(|id| id != self.calls[at].id);
        (!is_other).then_some(at)
    }

    /// Ends what is open. A call that never got a name is told all the same, to be answered with an error.
    fn end_blocks(&mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        self.end_prose(&mut parts);
        for call in std::mem::take(&mut self.calls) {
            let block = match call.begun {
                Begun::As(block) => block,
                Begun::No(json) => {
                    let block = self.next_block();
                    parts.push(Part::Call { block, id: CallId::new(&call.id), name: String::new() });
                    parts.push(Part::Arguments { block, json });
                    block
                }
            };
            parts.push(Part::End { block });
            self.stop =
                Some(self.stop.filter(|stop| *stop != StopReason::Stop).unwrap_or(StopReason::ToolUse));
        }
        parts
    }

    fn take_reason(&mut self, reason: &str) -> Vec<Result<Part, Fault>> {
        let meaning = match reason {
            "length" | "max_tokens" => StopReason::Length,
            "tool_calls" | "function_call" => StopReason::ToolUse,
            "content_filter" => {
                let fault = Fault::new(Failure::Fatal, "the provider's content filter stopped the answer");
                return vec![Err(fault.with_hint("put it differently, or ask another model"))];
            }
            "error" => {
                return vec![Err(Fault::new(Failure::Interrupted, "the provider broke off the answer"))];
            }
            _ => StopReason::Stop,
        };
        self.stop = Some(meaning);
        self.end_blocks().into_iter().map(Ok).collect()
    }

    fn stop_reason(&self) -> StopReason {
        self.stop.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(datas: &[&str]) -> Vec<Result<Part, Fault>> {
        let mut decoder = Decoder::new("T".into());
        let mut parts = Vec::new();
        for data in datas {
            let event = Event { data: (*data).to_owned(), ..Event::default() };
            decoder.take(&event, &mut parts);
        }
        parts
    }

    fn call(block: usize, id: &str, name: &str) -> Result<Part, Fault> {
        Ok(Part::Call { block, id: id.into(), name: name.into() })
    }

    fn arguments(block: usize, json: &str) -> Result<Part, Fault> {
        Ok(Part::Arguments { block, json: json.into() })
    }

    const END_0: Result<Part, Fault> = Ok(Part::End { block: 0 });
    const END_1: Result<Part, Fault> = Ok(Part::End { block: 1 });

    #[test]
    fn calls_are_told_apart_by_index() {
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
                Ok(Part::Finished(StopReason::ToolUse)),
            ]
        );
    }

    #[test]
    fn calls_without_index_or_with_the_same_one_are_told_apart_by_id() {
        for index in ["", r#""index":0,"#] {
            let delta = |id: &str, name: &str| {
                format!(
                    r#"{{"choices":[{{"delta":{{"tool_calls":[{{{index}"id":"{id}","function":{{"name":"{name}","arguments":"{{}}"}}}}]}}}}]}}"#
                )
            };
            let parts = decode(&[&delta("a", "ls"), &delta("b", "rg"), "[DONE]"]);
            let expected = [
                call(0, "a", "ls"),
                arguments(0, "{}"),
                call(1, "b", "rg"),
                arguments(1, "{}"),
                END_0,
                END_1,
            ];
            assert_eq!(parts[..6], expected);
            assert_eq!(parts[6], Ok(Part::Finished(StopReason::ToolUse)));
        }
    }

    #[test]
    fn a_call_without_id_gets_one_that_no_other_answer_has() {
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
    fn a_name_may_come_late_or_never() {
        let parts = decode(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{\"x\""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"ls","arguments":":1}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b"}]},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ]);
        let expected = [
            call(0, "a", "ls"),
            arguments(0, r#"{"x":1}"#),
            END_0,
            call(1, "b", ""),
            arguments(1, ""),
            END_1,
            Ok(Part::Finished(StopReason::ToolUse)),
        ];
        assert_eq!(parts, expected);
    }

    #[test]
    fn arguments_that_are_an_object_are_taken_as_its_text() {
        let parts = decode(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"ls","arguments":{"path":"."}}}]}}]}"#,
        ]);
        assert_eq!(parts, [call(0, "a", "ls"), arguments(0, r#"{"path":"."}"#)]);
    }

    #[test]
    fn thoughts_come_under_two_names() {
        for name in ["reasoning", "reasoning_content"] {
            let thought = format!(r#"{{"choices":[{{"delta":{{"{name}":"hm","content":null}}}}]}}"#);
            let parts = decode(&[&thought, r#"{"choices":[{"delta":{"content":"yes"}}]}"#]);
            assert_eq!(
                parts,
                [
                    Ok(Part::Thinking { block: 0, text: "hm".into() }),
                    END_0,
                    Ok(Part::Text { block: 1, text: "yes".into() }),
                ]
            );
        }
    }

    #[test]
    fn usage_is_told_without_what_the_cache_had() {
        let parts = decode(&[
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"total_tokens":107,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}"#,
        ]);
        let usage = |counts: [u64; 5]| {
            let [input, output, cache_read, cache_write, total_tokens] = counts.map(Tokens);
            Ok(Part::Usage(Usage {
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
    fn every_finish_reason_has_its_meaning() {
        let finish = |reason: &str| {
            let chunk = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
            decode(&[&chunk, "[DONE]"]).remove(0)
        };
        assert_eq!(finish("stop"), Ok(Part::Finished(StopReason::Stop)));
        assert_eq!(finish("length"), Ok(Part::Finished(StopReason::Length)));
        assert_eq!(finish("tool_calls"), Ok(Part::Finished(StopReason::ToolUse)));
        assert_eq!(finish("content_filter").unwrap_err().failure, Failure::Fatal);
        assert_eq!(finish("error").unwrap_err().failure, Failure::Interrupted);
    }

    #[test]
    fn an_end_without_done_is_one_if_the_reason_was_told() {
        let mut decoder = Decoder::new("T".into());
        assert_eq!(decoder.end(), None);
        let data = r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#.to_owned();
        decoder.take(&Event { data, ..Event::default() }, &mut Vec::new());
        assert_eq!(decoder.end(), Some(Part::Finished(StopReason::Length)));
    }

    #[test]
    fn errors_and_oddities_in_the_stream() {
        let parts = decode(&[
            r#"{"error":{"message":"Rate limit reached","code":429}}"#,
            "{\"choices\":[{\"del",
            r#"{"object":"keep-alive"}"#,
        ]);
        let Err(fault) = &parts[0] else { panic!("an error") };
        assert_eq!(fault.failure, Failure::Transient { retry_after: None });
        assert!(matches!(&parts[1], Ok(Part::Trace { name: "unparsable_chunk", .. })));
        assert!(matches!(&parts[2], Ok(Part::Trace { name: "unknown_event", .. })));
    }
}
