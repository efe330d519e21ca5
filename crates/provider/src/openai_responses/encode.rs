//! Encoding of a [`Request`] as the body of Responses.
//!
//! The input is a list of items: messages, calls, results and reasoning. Results follow the answer with their
//! calls, before later user messages. Responses aren't stored, so the items of earlier answers are sent in
//! full, without the ids that refer to stored ones; only reasoning keeps its id. It is sent back only to the
//! provider and model that produced it, and only before a message or a call: the API rejects it alone
//! ("provided without its required following item").

use serde_json::{Map, Value, json};
use tiller_core::message::{
    AssistantBlock, AssistantMessage, Message, PDF_TYPE, ToolCall, ToolResultMessage, UserBlock,
};
use tiller_core::tool_spec::ToolSpec;

use super::message_signature::MessageSignature;
use super::reasoning_item::ReasoningItem;
use crate::accepted_calls::{call_id, with_accepted_calls};
use crate::{Request, ToolChoice, placeholders};

/// The name of the wire format in logs.
pub const API: &str = "openai-responses";

/// Maximum length of a call id ("string too long. Expected a string with maximum length 64").
const MAX_ID: usize = 64;

/// Maximum characters of a cache key.
const MAX_CACHE_KEY: usize = 64;

/// Minimum value that the API accepts for `max_output_tokens`.
const MIN_OUTPUT: u64 = 16;

/// Encodes the body of a request to `provider`.
pub(super) fn body(request: &Request, provider: &str) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model.id));
    if placeholders::is_text(&request.system) {
        body.insert("instructions".into(), json!(request.system));
    }
    body.insert("input".into(), Value::Array(input(request, provider)));
    body.insert("stream".into(), json!(true));
    body.insert("store".into(), json!(false));
    body.insert("max_output_tokens".into(), json!(request.max_tokens.0.max(MIN_OUTPUT)));
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
        let choice = match request.tool_choice {
            ToolChoice::Auto => "auto",
            ToolChoice::None => "none",
        };
        body.insert("tool_choice".into(), json!(choice));
    }
    add_thinking(&mut body, request);
    if let Some(key) = &request.cache_key {
        body.insert("prompt_cache_key".into(), json!(key.chars().take(MAX_CACHE_KEY).collect::<String>()));
    }
    Value::Object(body)
}

/// Adds the parameters of thinking, and the temperature, which is accepted only without thinking. Models
/// that don't think reject the request for encrypted reasoning.
fn add_thinking(body: &mut Map<String, Value>, request: &Request) {
    let effort = request.model.thinking.effort(request.thinking);
    match effort {
        None => {}
        Some("none") => _ = body.insert("reasoning".into(), json!({ "effort": "none" })),
        Some(effort) => {
            body.insert("reasoning".into(), json!({ "effort": effort, "summary": "auto" }));
        }
    }
    if request.model.thinks() && effort != Some("none") {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    if let Some(temperature) = request.temperature.filter(|_| matches!(effort, None | Some("none"))) {
        body.insert("temperature".into(), json!(temperature));
    }
}

/// Encodes a tool. Without `strict`, the API would require schemas without optional parameters.
fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": *spec.parameters,
        "strict": false,
    })
}

fn input(request: &Request, provider: &str) -> Vec<Value> {
    let request = &with_accepted_calls(request, |id| call_id(id, MAX_ID));
    let mut input = InputList::default();
    for message in &request.messages {
        match &**message {
            Message::User(user) => input.add_user(&placeholders::user_blocks(&user.content)),
            Message::BashExecution(execution) => {
                let text = placeholders::bash_text(execution).map(|text| UserBlock::Text { text });
                input.add_user(text.as_slice());
            }
            Message::Assistant(answer) => {
                let is_own =
                    answer.api == API && answer.provider == provider && answer.model == request.model.id;
                input.add_answer(answer, is_own);
            }
            Message::ToolResult(result) => input.add_result(result),
            Message::System(_) => {}
        }
    }
    input.items
}

/// Items being built.
#[derive(Default)]
struct InputList {
    items: Vec<Value>,
    /// The position for the next result, if the last answer has calls.
    next_result: Option<usize>,
}

impl InputList {
    fn add_user(&mut self, blocks: &[UserBlock]) {
        if !blocks.is_empty() {
            let content: Vec<Value> = blocks.iter().filter_map(content_part).collect();
            self.items.push(json!({ "role": "user", "content": content }));
        }
    }

    fn add_answer(&mut self, answer: &AssistantMessage, is_own: bool) {
        let mut items: Vec<Value> =
            answer.content.iter().filter_map(|block| assistant_item(block, is_own)).collect();
        let end = items.iter().rposition(|item| item["type"] != "reasoning").map_or(0, |last| last + 1);
        items.truncate(end);
        if !items.is_empty() {
            self.items.append(&mut items);
            self.next_result = answer.tool_calls().next().map(|_| self.items.len());
        }
    }

    /// Inserts a result after its call and the other results, before later user messages.
    fn add_result(&mut self, result: &ToolResultMessage) {
        let output = result_output(&result.content);
        let item =
            json!({ "type": "function_call_output", "call_id": result.tool_call_id, "output": output });
        match &mut self.next_result {
            Some(at) => {
                self.items.insert(*at, item);
                *at += 1;
            }
            None => self.items.push(item),
        }
    }
}

/// Encodes the content of a result: as a string, which every server supports, unless it has images.
fn result_output(blocks: &[UserBlock]) -> Value {
    let parts = || blocks.iter().filter(|block| placeholders::is_sendable(block));
    if parts().any(|block| matches!(block, UserBlock::Image { .. })) {
        return parts().filter_map(content_part).collect();
    }
    json!(placeholders::result_text(blocks))
}

fn content_part(block: &UserBlock) -> Option<Value> {
    match block {
        UserBlock::Text { text } => Some(json!({ "type": "input_text", "text": text })),
        UserBlock::Image { data, mime_type } => {
            let url = format!("data:{mime_type};base64,{data}");
            Some(if mime_type == PDF_TYPE {
                json!({ "type": "input_file", "filename": "document.pdf", "file_data": url })
            } else {
                json!({ "type": "input_image", "detail": "auto", "image_url": url })
            })
        }
        UserBlock::Unknown => None,
    }
}

fn assistant_item(block: &AssistantBlock, is_own: bool) -> Option<Value> {
    match block {
        AssistantBlock::Text { text, text_signature } => {
            let signature = text_signature.as_deref().filter(|_| is_own);
            placeholders::is_text(text)
                .then(|| output_message(text, signature.and_then(MessageSignature::phase)))
        }
        AssistantBlock::Thinking { thinking_signature, .. } => {
            let signature = thinking_signature.as_deref().filter(|_| is_own)?;
            Some(json!(ReasoningItem::from_signature(signature)?))
        }
        AssistantBlock::ToolCall(call) => Some(function_call(call)),
        AssistantBlock::Unknown => None,
    }
}

fn output_message(text: &str, phase: Option<String>) -> Value {
    let content = json!({ "type": "output_text", "text": text, "annotations": [] });
    let mut item =
        json!({ "type": "message", "role": "assistant", "status": "completed", "content": [content] });
    if let Some(phase) = phase {
        item["phase"] = json!(phase);
    }
    item
}

fn function_call(call: &ToolCall) -> Value {
    let arguments = if call.arguments.is_object() { call.arguments.to_string() } else { "{}".to_owned() };
    json!({ "type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments })
}
