//! Decoding of `streamGenerateContent`'s chunks into [`StreamEvent`]s.
//!
//! A chunk has pieces of text, complete calls or pieces of calls. There is no final event: the answer is
//! complete when the stream ends after a finish reason. A chunk that can't be parsed, a call without a name
//! and an end without a finish reason count as damage: the answer is interrupted, so that none of its tool
//! calls run.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use tiller_core::id::CallId;
use tiller_core::message::{StopReason, Usage};
use tiller_core::surrogates::{Wtf8, replace_lone};
use tiller_core::unit::Tokens;

use super::partial_arguments::{PartialArgument, PartialArguments};
use crate::answer_blocks::{AnswerBlocks, ProseKind};
use crate::error::{ProviderFault, classify, parse_error_response};
use crate::http::{Damage, Decode, incomplete, trace};
use crate::sse::SseEvent;
use crate::{FailureKind, StreamEvent};

/// Finish reasons of refused content and refused requests, which no retry changes.
const REFUSALS: [&str; 12] = [
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "NO_IMAGE",
    "MISSING_THOUGHT_SIGNATURE",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseChunk<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<ResponseCandidate<'a>>>,
    #[serde(borrow)]
    prompt_feedback: Option<PromptFeedback<'a>>,
    /// Raw, because usage isn't content: counts that can't be parsed are ignored.
    #[serde(borrow)]
    usage_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseCandidate<'a> {
    #[serde(borrow)]
    content: Option<CandidateContent<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct CandidateContent<'a> {
    #[serde(borrow)]
    parts: Option<Vec<ResponsePart<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponsePart<'a> {
    text: Option<Wtf8>,
    /// True if the text is a summary of thinking.
    thought: Option<bool>,
    thought_signature: Option<String>,
    #[serde(borrow)]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCall<'a> {
    id: Option<String>,
    name: Option<String>,
    /// An object; absent if there are no arguments.
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    /// Pieces of the arguments. Only the first part of such a call has the name.
    #[serde(borrow)]
    partial_args: Option<&'a RawValue>,
    /// True if later parts belong to this call.
    will_continue: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback<'a> {
    #[serde(borrow)]
    block_reason: Option<Cow<'a, str>>,
}

/// Token counts so far.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct UsageMetadata {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    total_token_count: Option<u64>,
}

impl UsageMetadata {
    /// Converts the counts; the prompt's includes cache reads, the candidates' excludes thinking.
    fn usage(&self) -> Usage {
        let prompt = self.prompt_token_count.unwrap_or(0);
        let cached = self.cached_content_token_count.unwrap_or(0).min(prompt);
        let tool_use = self.tool_use_prompt_token_count.unwrap_or(0);
        let thoughts = self.thoughts_token_count.unwrap_or(0);
        let usage = Usage {
            input: Tokens((prompt - cached).saturating_add(tool_use)),
            output: Tokens(self.candidates_token_count.unwrap_or(0).saturating_add(thoughts)),
            cache_read: Tokens(cached),
            total_tokens: Tokens(self.total_token_count.unwrap_or(0)),
            ..Usage::default()
        };
        Usage { total_tokens: usage.total(), ..usage }
    }
}

/// Decodes one answer.
pub(super) struct GeminiDecoder {
    /// Part of the generated ids of calls without one.
    stamp: String,
    blocks: AnswerBlocks,
    /// The number of calls so far.
    calls: usize,
    /// The call whose arguments arrive in pieces.
    open_call: Option<OpenCall>,
    stop: Option<StopReason>,
}

/// A call whose arguments are being received.
struct OpenCall {
    block: usize,
    arguments: PartialArguments,
    signature: Option<String>,
}

impl OpenCall {
    fn end(self, parts: &mut Vec<StreamEvent>) {
        let Self { block, arguments, signature } = self;
        parts.extend(arguments.json().map(|json| StreamEvent::Arguments { block, json }));
        parts.extend(signature.map(|text| StreamEvent::Signature { block, text }));
        parts.push(StreamEvent::End { block });
    }
}

/// Distinguishes parts of known kinds from ignored ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DecodedPart {
    Known,
    Unknown,
}

impl Decode for GeminiDecoder {
    fn decode_event(&mut self, event: &SseEvent, parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault> {
        let chunk = match serde_json::from_str::<ResponseChunk<'_>>(&event.data) {
            Ok(chunk) if chunk.error.is_none() => chunk,
            Err(error) if !is_error_list(&event.data) => return Err(Damage::from(error).report(event, parts)),
            Ok(_) | Err(_) => return Err(classify(&parse_error_response(0, &event.data))),
        };
        if chunk.candidates.is_none() && chunk.usage_metadata.is_none() && chunk.prompt_feedback.is_none() {
            parts.push(trace("unknown_event", event));
        }
        let usage =
            chunk.usage_metadata.and_then(|usage| serde_json::from_str::<UsageMetadata>(usage.get()).ok());
        let usage = usage.map(|usage| usage.usage()).filter(|usage| *usage != Usage::default());
        parts.extend(usage.map(StreamEvent::Usage));
        if let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            return Err(refusal(&format!("the provider refused the prompt ({reason})")));
        }
        // Only one candidate is requested.
        let Some(candidate) = chunk.candidates.into_iter().flatten().next() else { return Ok(()) };
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            match self.decode_part(part, parts) {
                Ok(DecodedPart::Known) => {}
                Ok(DecodedPart::Unknown) => parts.push(trace("unknown_event", event)),
                Err(damage) => return Err(damage.report(event, parts)),
            }
        }
        self.decode_finish_reason(candidate.finish_reason.as_deref().unwrap_or_default())
    }

    fn end_stream(&mut self, parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault> {
        self.blocks.end_prose(parts);
        let open_call = self.open_call.take();
        if open_call.is_some() && self.stop != Some(StopReason::Length) {
            return Err(incomplete());
        }
        open_call.into_iter().for_each(|call| call.end(parts));
        let reason = match (self.stop, self.calls) {
            (None, _) => return Err(incomplete()),
            (Some(StopReason::Stop), 1..) => StopReason::ToolUse,
            (Some(reason), _) => reason,
        };
        parts.push(StreamEvent::Finished(reason));
        Ok(())
    }
}

impl GeminiDecoder {
    pub(super) fn new(stamp: String) -> Self {
        Self { stamp, blocks: AnswerBlocks::default(), calls: 0, open_call: None, stop: None }
    }

    fn decode_part(
        &mut self,
        part: ResponsePart<'_>,
        parts: &mut Vec<StreamEvent>,
    ) -> Result<DecodedPart, Damage> {
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        if let Some(call) = part.function_call {
            self.decode_call(call, signature, parts)?;
            return Ok(DecodedPart::Known);
        }
        if part.text.is_none() && signature.is_none() {
            return Ok(DecodedPart::Unknown);
        }
        if part.thought != Some(true) {
            self.blocks.write(ProseKind::Text, part.text, parts);
            signature.into_iter().for_each(|signature| self.blocks.sign_text(signature));
            return Ok(DecodedPart::Known);
        }
        self.blocks.write(ProseKind::Thinking, part.text, parts);
        if let Some(signature) = signature {
            self.blocks.sign_thinking(signature, parts);
        }
        Ok(DecodedPart::Known)
    }

    fn decode_call(
        &mut self,
        call: FunctionCall<'_>,
        signature: Option<String>,
        parts: &mut Vec<StreamEvent>,
    ) -> Result<(), Damage> {
        let name = call.name.filter(|name| !name.is_empty());
        let id = call.id.filter(|id| !id.is_empty());
        let mut open_call = match (name, self.open_call.take()) {
            (Some(name), open_call) => {
                open_call.into_iter().for_each(|call| call.end(parts));
                self.begin_call(id, name, parts)
            }
            (None, Some(open_call)) => open_call,
            (None, None) => return Err(Damage::Order("a tool call has no name")),
        };
        if let Some(args) = call.args.map(RawValue::get) {
            let json = replace_lone(args).unwrap_or_else(|| args.to_owned());
            parts.push(StreamEvent::Arguments { block: open_call.block, json });
        }
        if let Some(pieces) = call.partial_args {
            for piece in serde_json::from_str::<Vec<PartialArgument>>(pieces.get())? {
                open_call.arguments.add(piece)?;
            }
        }
        open_call.signature = open_call.signature.or(signature);
        if call.will_continue == Some(true) {
            self.open_call = Some(open_call);
        } else {
            open_call.end(parts);
        }
        Ok(())
    }

    fn begin_call(&mut self, id: Option<String>, name: String, parts: &mut Vec<StreamEvent>) -> OpenCall {
        self.blocks.end_prose(parts);
        let block = self.blocks.begin();
        let id = id.unwrap_or_else(|| format!("call_{}_{}", self.stamp, self.calls));
        self.calls += 1;
        parts.push(StreamEvent::Call { block, id: CallId::new(id), name });
        OpenCall { block, arguments: PartialArguments::default(), signature: None }
    }

    fn decode_finish_reason(&mut self, reason: &str) -> Result<(), ProviderFault> {
        self.stop = match reason {
            "" | "FINISH_REASON_UNSPECIFIED" => self.stop,
            "STOP" => Some(StopReason::Stop),
            "MAX_TOKENS" => Some(StopReason::Length),
            reason if REFUSALS.contains(&reason) => {
                return Err(refusal(&format!("the provider stopped the answer ({reason})")));
            }
            // Usually a mistake of the model, such as MALFORMED_FUNCTION_CALL, which a retry may avoid.
            reason => {
                return Err(ProviderFault::new(
                    FailureKind::Interrupted,
                    format!("the model failed to complete its answer ({reason})"),
                ));
            }
        };
        Ok(())
    }
}

/// Checks for an error as a list, which the API returns outside event streams.
fn is_error_list(data: &str) -> bool {
    let list = serde_json::from_str::<Vec<ResponseChunk<'_>>>(data);
    list.is_ok_and(|chunks| chunks.first().is_some_and(|chunk| chunk.error.is_some()))
}

fn refusal(message: &str) -> ProviderFault {
    ProviderFault::new(FailureKind::Fatal, message).with_hint("rephrase the request, or choose another model")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Item = Result<StreamEvent, ProviderFault>;

    /// Decodes an answer up to its error or its end.
    fn decode(datas: &[&str]) -> Vec<Item> {
        let mut decoder = GeminiDecoder::new("T".into());
        let mut all = Vec::new();
        let mut add = |parts: Vec<StreamEvent>, result: Result<(), ProviderFault>| {
            all.extend(parts.into_iter().map(Ok));
            all.extend(result.err().map(Err));
            all.last().is_some_and(Result::is_err)
        };
        for data in datas {
            let event = SseEvent { data: (*data).to_owned(), ..SseEvent::default() };
            let mut parts = Vec::new();
            let result = decoder.decode_event(&event, &mut parts);
            if add(parts, result) {
                return all;
            }
        }
        let mut parts = Vec::new();
        let result = decoder.end_stream(&mut parts);
        add(parts, result);
        all
    }

    fn parts(parts: &str) -> String {
        format!(r#"{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}}}}]}}"#)
    }

    fn finish(reason: &str) -> String {
        format!(r#"{{"candidates":[{{"finishReason":"{reason}"}}]}}"#)
    }

    fn failure(items: &[Item]) -> &ProviderFault {
        match items.last() {
            Some(Err(fault)) => fault,
            _ => panic!("an error: {items:?}"),
        }
    }

    const CALL: &str = r#"{"functionCall":{"name":"ls"}}"#;
    const END_0: Item = Ok(StreamEvent::End { block: 0 });
    const STOPPED: Item = Ok(StreamEvent::Finished(StopReason::Stop));

    fn call(block: usize, id: &str, name: &str) -> Item {
        Ok(StreamEvent::Call { block, id: id.into(), name: name.into() })
    }

    #[test]
    fn decode_damaged_chunk_is_interrupted() {
        let hi = parts(r#"{"text":"hi"}"#);
        let cases: &[&[&str]] = &[
            &[&hi, &hi[..hi.len() - 4]],
            &[&hi, ""],
            &[&hi, "[]"],
            &[&hi, "[DONE]"],
            &[&hi, r#"{"candidates":{}}"#],
            &[&hi, &parts(r#"{"text":7}"#)],
            &[&hi, &parts(r#"{"functionCall":{}}"#)],
            &[&hi, &parts(r#"{"functionCall":{"name":""}}"#)],
            &[&hi, &parts(r#"{"functionCall":"ls"}"#)],
        ];
        for case in cases {
            let items = decode(case);
            let fault = failure(&items);
            assert_eq!(fault.failure, FailureKind::Interrupted, "{case:?}");
            assert!(fault.message.starts_with("the answer is damaged: "), "{fault:?}");
        }
    }

    #[test]
    fn decode_end_without_finish_reason_is_incomplete() {
        for case in [&[] as &[&str], &[&parts(CALL)], &[&finish("FINISH_REASON_UNSPECIFIED")]] {
            assert_eq!(failure(&decode(case)), &incomplete(), "{case:?}");
        }
    }

    #[test]
    fn decode_call_without_id_gets_a_unique_one() {
        let items = decode(&[&parts(&format!("{CALL},{CALL}")), &finish("STOP")]);
        let expected = [
            call(0, "call_T_0", "ls"),
            END_0,
            call(1, "call_T_1", "ls"),
            Ok(StreamEvent::End { block: 1 }),
            Ok(StreamEvent::Finished(StopReason::ToolUse)),
        ];
        assert_eq!(items, expected);
    }

    #[test]
    fn decode_lone_surrogate_in_arguments_is_replaced() {
        let items = decode(&[&parts(r#"{"functionCall":{"name":"ls","args":{"a":"\ud83d"}}}"#)]);
        assert_eq!(items[1], Ok(StreamEvent::Arguments { block: 0, json: r#"{"a":"\uFFFD"}"#.into() }));
    }

    #[test]
    fn decode_halves_of_surrogate_pair_are_joined() {
        let items = decode(&[&parts(r#"{"text":"a\ud83d"}"#), &parts(r#"{"text":"\ude00b"}"#)]);
        let texts = items.iter().filter_map(|item| match item {
            Ok(StreamEvent::Text { text, .. }) => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(texts.collect::<String>(), "a😀b");
    }

    #[test]
    fn decode_signature_of_thinking_ends_its_block() {
        let signed = r#"{"text":"","thought":true,"thoughtSignature":"s"}"#;
        let thought = r#"{"text":"hm","thought":true}"#;
        let items = decode(&[&parts(thought), &parts(signed), &parts(thought), &finish("STOP")]);
        let thinking = |block| Ok(StreamEvent::Thinking { block, text: "hm".into() });
        let expected = [
            thinking(0),
            Ok(StreamEvent::Signature { block: 0, text: "s".into() }),
            END_0,
            thinking(1),
            Ok(StreamEvent::End { block: 1 }),
            STOPPED,
        ];
        assert_eq!(items, expected);
    }

    #[test]
    fn decode_signature_of_text_ends_with_its_block() {
        let text = r#"{"text":"hi"}"#;
        let signed = r#"{"text":"","thoughtSignature":"r"},{"thoughtSignature":"s"}"#;
        let items = decode(&[&parts(text), &parts(signed), &parts(text), &finish("STOP")]);
        let hi = || Ok(StreamEvent::Text { block: 0, text: "hi".into() });
        let signature = Ok(StreamEvent::Signature { block: 0, text: "s".into() });
        assert_eq!(items, [hi(), hi(), signature, END_0, STOPPED]);
        assert_eq!(decode(&[&parts(signed), &finish("STOP")]), [STOPPED], "no text");
    }

    #[test]
    fn decode_unknown_parts_and_events_are_traced() {
        let is_trace = |item: &Item| matches!(item, Ok(StreamEvent::Trace { name: "unknown_event", .. }));
        let code = parts(r#"{"executableCode":{"language":"PYTHON","code":"1"}}"#);
        let items = decode(&["{}", r#"{"modelVersion":"m"}"#, &code, &finish("STOP")]);
        assert!(items[..3].iter().all(is_trace), "{items:?}");
        assert_eq!(items[3..], [STOPPED]);
    }

    #[test]
    fn decode_each_finish_reason_is_mapped() {
        let hi = parts(r#"{"text":"hi"}"#);
        let last = |reason: &str| decode(&[&hi, &finish(reason)]).pop().unwrap();
        assert_eq!(last("STOP"), STOPPED);
        assert_eq!(last("MAX_TOKENS"), Ok(StreamEvent::Finished(StopReason::Length)));
        for reason in REFUSALS {
            let fault = last(reason).unwrap_err();
            let message = format!("the provider stopped the answer ({reason})");
            assert_eq!((fault.failure, fault.message), (FailureKind::Fatal, message));
            assert!(fault.hint.is_some());
        }
        for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER", "NOVELTY"] {
            assert_eq!(last(reason).unwrap_err().failure, FailureKind::Interrupted, "{reason}");
        }
    }

    #[test]
    fn decode_refused_prompt_is_an_error() {
        let items = decode(&[r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#]);
        assert_eq!(items, [Err(refusal("the provider refused the prompt (SAFETY)"))]);
        let items = decode(&[r#"{"promptFeedback":{"safetyRatings":[]}}"#, &finish("STOP")]);
        assert_eq!(items, [STOPPED]);
    }

    #[test]
    fn decode_usage_counts_each_token_once() {
        let items = decode(&[
            r#"{"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":60,"toolUsePromptTokenCount":3,"candidatesTokenCount":7,"thoughtsTokenCount":5,"totalTokenCount":115}}"#,
            r#"{"usageMetadata":{"promptTokenCount":5}}"#,
            r#"{"usageMetadata":{"promptTokenCount":"many"}}"#,
        ]);
        let usage = |counts: [u64; 4]| {
            let [input, output, cache_read, total_tokens] = counts.map(Tokens);
            Ok(StreamEvent::Usage(Usage { input, output, cache_read, total_tokens, ..Usage::default() }))
        };
        assert_eq!(items[..2], [usage([43, 12, 60, 115]), usage([5, 0, 0, 5])]);
        assert_eq!(items.len(), 3, "{items:?}");
    }

    #[test]
    fn decode_errors_in_the_stream_are_classified() {
        let transient = FailureKind::Transient { retry_after: None };
        let cases = [
            (
                r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#,
                transient,
            ),
            (r#"[{"error":{"code":500,"message":"oh","status":"INTERNAL"}}]"#, transient),
            (r#"{"error":{"code":400,"message":"oh","status":"INVALID_ARGUMENT"}}"#, FailureKind::Fatal),
            (r#"[{"error":{"code":403,"message":"oh","status":"PERMISSION_DENIED"}}]"#, FailureKind::Auth),
        ];
        for (data, expected) in cases {
            assert_eq!(failure(&decode(&[data])).failure, expected, "{data}");
        }
    }
}
