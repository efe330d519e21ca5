//! Scripted answers as chunks of Gemini's `streamGenerateContent`.

use serde_json::{Value, json};

use super::{AnswerPart, Frame, ScriptedStream, fragments};

/// The chunks of an answer.
pub(super) fn frames(stream: &ScriptedStream) -> Vec<Frame> {
    let (input, output) = stream.tokens;
    let chunk = |part: Value, reason: Option<&str>| {
        let mut candidate = json!({ "content": { "parts": [part], "role": "model" }, "index": 0 });
        let mut usage = json!({ "promptTokenCount": input, "totalTokenCount": input });
        if let Some(reason) = reason {
            candidate["finishReason"] = json!(reason);
            usage["candidatesTokenCount"] = json!(output);
            usage["totalTokenCount"] = json!(input + output);
        }
        let chunk = json!({ "candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r" });
        (None, chunk.to_string())
    };
    let mut frames = Vec::new();
    let mut signature = None;
    for part in &stream.parts {
        match part {
            AnswerPart::Text(text) => {
                frames.extend(fragments(text).into_iter().map(|text| chunk(json!({ "text": text }), None)));
            }
            AnswerPart::Thought { text, signature: later } => {
                let delta = |text| chunk(json!({ "text": text, "thought": true }), None);
                frames.extend(fragments(text).into_iter().map(delta));
                signature = Some(later);
            }
            AnswerPart::Calls(calls) => frames.extend(calls.iter().map(|call| {
                let function = json!({ "id": call.id, "name": call.name, "args": call.arguments });
                chunk(signed(json!({ "functionCall": function }), signature.take()), None)
            })),
            AnswerPart::Raw(data) => frames.push((None, data.clone())),
        }
    }
    let reason = if stream.cut_short { "MAX_TOKENS" } else { "STOP" };
    frames.push(chunk(signed(json!({ "text": "" }), signature), Some(reason)));
    frames
}

fn signed(mut part: Value, signature: Option<&String>) -> Value {
    if let Some(signature) = signature {
        part["thoughtSignature"] = json!(signature);
    }
    part
}
