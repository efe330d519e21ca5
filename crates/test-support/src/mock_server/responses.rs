//! Scripted answers as events of OpenAI's Responses.

use serde_json::{Value, json};

use super::{AnswerPart, Frame, ScriptedCall, ScriptedStream, fragments, interleaved};

/// Frames under construction.
#[derive(Default)]
struct EventList {
    frames: Vec<Frame>,
    /// The finished items.
    output: Vec<Value>,
}

/// The events of an answer.
pub(super) fn frames(stream: &ScriptedStream) -> Vec<Frame> {
    let mut events = EventList::default();
    let response = |status: &str| json!({ "id": "resp_1", "object": "response", "status": status });
    events.push("response.created", json!({ "response": response("in_progress") }));
    for part in &stream.parts {
        match part {
            AnswerPart::Text(text) => events.push_message(text),
            AnswerPart::Thought { text, signature } => events.push_reasoning(text, signature),
            AnswerPart::Calls(calls) => events.push_calls(calls),
            AnswerPart::Raw(data) => events.frames.push((None, data.clone())),
        }
    }
    let status = if stream.cut_short { "incomplete" } else { "completed" };
    let (input, output) = stream.tokens;
    let mut response = response(status);
    response["incomplete_details"] =
        if stream.cut_short { json!({ "reason": "max_output_tokens" }) } else { Value::Null };
    response["output"] = json!(events.output);
    response["usage"] = json!({
        "input_tokens": input,
        "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": output,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": input + output,
    });
    events.push(&format!("response.{status}"), json!({ "response": response }));
    events.frames
}

impl EventList {
    fn push(&mut self, name: &str, fields: Value) {
        let mut data = json!({ "type": name, "sequence_number": self.frames.len() });
        data.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.frames.push((Some(name.to_owned()), data.to_string()));
    }

    /// Pushes an event of the part of an item.
    fn push_part(&mut self, name: &str, address: &Value, fields: Value) {
        let mut event = address.clone();
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.push(name, event);
    }

    fn add(&mut self, index: usize, item: Value) {
        self.push("response.output_item.added", json!({ "output_index": index, "item": item }));
    }

    fn finish(&mut self, item: Value) {
        let index = self.output.len();
        self.push("response.output_item.done", json!({ "output_index": index, "item": item }));
        self.output.push(item);
    }

    fn push_message(&mut self, text: &str) {
        let index = self.output.len();
        let id = format!("msg_{index}");
        let part = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [] });
        let item = |status: &str, content: &[Value]| json!({ "id": id, "type": "message", "role": "assistant", "status": status, "content": content });
        let address = json!({ "item_id": id, "output_index": index, "content_index": 0 });
        self.add(index, item("in_progress", &[]));
        self.push_part("response.content_part.added", &address, json!({ "part": part("") }));
        for delta in fragments(text) {
            self.push_part("response.output_text.delta", &address, json!({ "delta": delta }));
        }
        self.push_part("response.output_text.done", &address, json!({ "text": text }));
        self.push_part("response.content_part.done", &address, json!({ "part": part(text) }));
        self.finish(item("completed", &[part(text)]));
    }

    fn push_reasoning(&mut self, text: &str, encrypted: &str) {
        let index = self.output.len();
        let id = format!("rs_{index}");
        let part = |text: &str| json!({ "type": "summary_text", "text": text });
        let address = json!({ "item_id": id, "output_index": index, "summary_index": 0 });
        self.add(index, json!({ "id": id, "type": "reasoning", "summary": [] }));
        self.push_part("response.reasoning_summary_part.added", &address, json!({ "part": part("") }));
        for delta in fragments(text) {
            self.push_part("response.reasoning_summary_text.delta", &address, json!({ "delta": delta }));
        }
        self.push_part("response.reasoning_summary_text.done", &address, json!({ "text": text }));
        self.push_part("response.reasoning_summary_part.done", &address, json!({ "part": part(text) }));
        self.finish(
            json!({ "id": id, "type": "reasoning", "summary": [part(text)], "encrypted_content": encrypted }),
        );
    }

    fn push_calls(&mut self, calls: &[ScriptedCall]) {
        let first = self.output.len();
        let id = |at: usize| format!("fc_{}", first + at);
        let address = |at: usize| json!({ "item_id": id(at), "output_index": first + at });
        let item = |at: usize, status: &str, arguments: &str| json!({ "id": id(at), "type": "function_call", "call_id": calls[at].id, "name": calls[at].name, "arguments": arguments, "status": status });
        for at in 0..calls.len() {
            self.add(first + at, item(at, "in_progress", ""));
        }
        for (at, delta) in interleaved(calls) {
            self.push_part("response.function_call_arguments.delta", &address(at), json!({ "delta": delta }));
        }
        for (at, call) in calls.iter().enumerate() {
            let arguments = call.arguments.to_string();
            self.push_part(
                "response.function_call_arguments.done",
                &address(at),
                json!({ "arguments": arguments }),
            );
            self.finish(item(at, "completed", &arguments));
        }
    }
}
