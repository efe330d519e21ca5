//! Encoding of a [`Request`] as a Chat Completions body.
//!
//! Results must directly follow the message with their calls and contain only text; their images follow in a
//! user message after the last result. A [`Compat`] holds the differences between servers.

use serde_json::{Map, Value, json};
use tiller_core::message::{
    AssistantBlock, AssistantMessage, Message, PDF_TYPE, ThinkingLevel, ToolCall, ToolResultMessage,
    UserBlock, joined_text,
};
use tiller_core::tool_spec::ToolSpec;

use super::reasoning_details::from_signature;
use crate::accepted_calls::{call_id, nine_alphanumeric, with_accepted_calls};
use crate::compat::{CallIds, Compat, MaxTokensField, ThinkingField, ThinkingFormat};
use crate::{Request, ToolChoice, placeholders};

/// The name of the wire format in logs.
pub const API: &str = "openai-completions";

/// Maximum length of a call id.
const MAX_ID: usize = 40;

/// The answer between a result and a user message, for servers that need one.
const ANSWER_AFTER_RESULTS: &str = "I have read the result.";

/// Encodes the body of a request to `provider`.
pub(super) fn body(request: &Request, compat: &Compat, provider: &str) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model.id));
    body.insert("messages".into(), Value::Array(MessageEncoder { compat, provider }.messages(request)));
    body.insert("stream".into(), json!(true));
    if compat.streams_usage {
        body.insert("stream_options".into(), json!({ "include_usage": true }));
    }
    let limit = match compat.max_tokens_field {
        MaxTokensField::MaxTokens => "max_tokens",
        MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
    };
    body.insert(limit.into(), json!(request.max_tokens));
    // Without `tool_choice: "none"`, only leaving out the tools keeps the model from calling them.
    if !request.tools.is_empty() && (request.tool_choice == ToolChoice::Auto || compat.tool_choice_none) {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
        let choice = if request.tool_choice == ToolChoice::Auto { "auto" } else { "none" };
        body.insert("tool_choice".into(), json!(choice));
        if compat.tool_stream {
            body.insert("tool_stream".into(), json!(true));
        }
    }
    for (name, value) in thinking(request, compat.thinking_format) {
        body.insert(name.to_owned(), value);
    }
    if let Some(temperature) = request.temperature.filter(|_| takes_temperature(request, compat)) {
        body.insert("temperature".into(), json!(temperature));
    }
    if let Some(key) = request.cache_key.as_ref().filter(|_| compat.cache_key) {
        body.insert("prompt_cache_key".into(), json!(key));
    }
    Value::Object(body)
}

/// Returns the parameters of thinking; none for a model that doesn't think.
fn thinking(request: &Request, format: ThinkingFormat) -> Vec<(&'static str, Value)> {
    let control = request.model.thinking;
    if control.min_level().is_none() {
        return Vec::new();
    }
    let is_on = request.thinking != ThinkingLevel::Off;
    let named = control.effort(request.thinking);
    let effort = named.map(|effort| ("reasoning_effort", json!(effort)));
    let state = if is_on { "enabled" } else { "disabled" };
    let kind = ("thinking", json!({ "type": state }));
    match format {
        ThinkingFormat::None => Vec::new(),
        ThinkingFormat::ReasoningEffort => effort.into_iter().collect(),
        ThinkingFormat::Reasoning => {
            let value = named.map_or(json!({ "enabled": false }), |effort| json!({ "effort": effort }));
            vec![("reasoning", value)]
        }
        ThinkingFormat::ThinkingType => vec![kind],
        ThinkingFormat::ThinkingTypeAndEffort => [kind].into_iter().chain(effort).collect(),
        ThinkingFormat::Zai => {
            let kind = ("thinking", json!({ "type": state, "clear_thinking": false }));
            [kind].into_iter().chain(effort).collect()
        }
        ThinkingFormat::EnableThinking => vec![("enable_thinking", json!(is_on))],
        ThinkingFormat::ChatTemplate => {
            vec![("chat_template_kwargs", json!({ "enable_thinking": is_on }))]
        }
    }
}

fn takes_temperature(request: &Request, compat: &Compat) -> bool {
    let thinks = matches!(request.model.thinking.effort(request.thinking), Some(effort) if effort != "none");
    compat.thinking_temperature || !thinks
}

fn tool(spec: &ToolSpec) -> Value {
    let function =
        json!({ "name": spec.name, "description": spec.description, "parameters": *spec.parameters });
    json!({ "type": "function", "function": function })
}

/// Encodes messages for one server.
struct MessageEncoder<'a> {
    compat: &'a Compat,
    provider: &'a str,
}

impl MessageEncoder<'_> {
    fn messages(&self, request: &Request) -> Vec<Value> {
        let request = &with_accepted_calls(request, |id| match self.compat.call_ids {
            CallIds::UpTo40 => call_id(id, MAX_ID),
            CallIds::NineAlphanumeric => nine_alphanumeric(id),
        });
        let mut messages = Vec::new();
        if placeholders::is_text(&request.system) {
            messages.push(json!({ "role": "system", "content": request.system }));
        }
        for message in &request.messages {
            match &**message {
                Message::User(user) => {
                    messages.extend(user_message(&placeholders::user_blocks(&user.content)));
                }
                Message::BashExecution(execution) => {
                    messages.extend(
                        placeholders::bash_text(execution)
                            .map(|text| json!({ "role": "user", "content": text })),
                    );
                }
                Message::Assistant(answer) => {
                    let is_own = answer.api == API
                        && answer.provider == self.provider
                        && answer.model == request.model.id;
                    messages.extend(self.assistant_message(answer, is_own));
                }
                Message::ToolResult(result) => self.add_result(&mut messages, result),
                Message::System(_) => {}
            }
        }
        if self.compat.answer_after_results {
            messages = with_answers_after_results(messages);
        }
        let mut messages = merge_user_messages(messages);
        if self.compat.cache_marks.iter().any(|start| request.model.id.starts_with(start)) {
            mark_cached(&mut messages);
        }
        messages
    }

    /// Encodes an answer. Its thinking is sent back only to the model that produced it, if the server has a
    /// field for it.
    fn assistant_message(&self, answer: &AssistantMessage, is_own: bool) -> Option<Value> {
        let texts: Vec<&str> = answer.content.iter().filter_map(text_of).collect();
        let calls: Vec<Value> = answer.tool_calls().map(tool_call).collect();
        if texts.is_empty() && calls.is_empty() {
            return None;
        }
        let content = if texts.is_empty() { Value::Null } else { json!(texts.join("\n")) };
        let mut message = json!({ "role": "assistant", "content": content });
        let thinking: Vec<&str> = answer.content.iter().filter(|_| is_own).filter_map(thinking_of).collect();
        let thinking = thinking.join("\n");
        match self.compat.thinking_field {
            ThinkingField::None => {}
            ThinkingField::ContentPart if thinking.is_empty() => {}
            ThinkingField::ContentPart => {
                let thought = json!({ "type": "thinking", "thinking": into_parts(json!(thinking)) });
                let text = message["content"].take();
                let text = if text.is_null() { Vec::new() } else { into_parts(text) };
                message["content"] = [thought].into_iter().chain(text).collect();
            }
            // Servers with this field reject an answer that has calls but lacks it.
            ThinkingField::ReasoningContent if thinking.is_empty() && calls.is_empty() => {}
            ThinkingField::Reasoning if thinking.is_empty() => {}
            ThinkingField::ReasoningContent => message["reasoning_content"] = json!(thinking),
            ThinkingField::Reasoning => message["reasoning"] = json!(thinking),
        }
        let mut blocks = answer.content.iter().filter(|_| is_own && self.compat.reasoning_details);
        if let Some(details) = blocks.find_map(details_of) {
            message["reasoning_details"] = details;
        }
        if !calls.is_empty() {
            message["tool_calls"] = Value::Array(calls);
        }
        Some(message)
    }

    /// Inserts a result after its call and the other results, before later user messages.
    fn add_result(&self, messages: &mut Vec<Value>, result: &ToolResultMessage) {
        let is_user = |message: &Value| message["role"] == "user";
        let after_results = messages.iter().rposition(|message| !is_user(message)).map_or(0, |at| at + 1);
        let follows_call = after_results > 0
            && (messages[after_results - 1]["role"] == "tool"
                || messages[after_results - 1].get("tool_calls").is_some());
        let at = if follows_call { after_results } else { messages.len() };
        let images: Vec<UserBlock> = result
            .content
            .iter()
            .filter(|block| matches!(block, UserBlock::Image { .. }) && placeholders::is_sendable(block))
            .cloned()
            .collect();
        let has_text = placeholders::is_text(&joined_text(&result.content));
        let text = if images.is_empty() || has_text {
            placeholders::result_text(&result.content)
        } else {
            placeholders::IMAGE.to_owned()
        };
        let mut value = json!({ "role": "tool", "tool_call_id": result.tool_call_id, "content": text });
        if self.compat.result_name {
            value["name"] = json!(result.tool_name);
        }
        messages.insert(at, value);
        if !images.is_empty() {
            let intro = UserBlock::Text { text: format!("Images in the result of {}:", result.tool_name) };
            let blocks: Vec<UserBlock> = [intro].into_iter().chain(images).collect();
            messages.extend(user_message(&blocks));
        }
    }
}

fn tool_call(call: &ToolCall) -> Value {
    let arguments = if call.arguments.is_object() { call.arguments.to_string() } else { "{}".to_owned() };
    let function = json!({ "name": call.name, "arguments": arguments });
    json!({ "id": call.id, "type": "function", "function": function })
}

/// Encodes a user message. Text without images is sent as a string, which every server supports.
fn user_message(blocks: &[UserBlock]) -> Option<Value> {
    if blocks.is_empty() {
        return None;
    }
    let has_image = blocks.iter().any(|block| matches!(block, UserBlock::Image { .. }));
    let content =
        if has_image { blocks.iter().filter_map(part).collect() } else { json!(joined_text(blocks)) };
    Some(json!({ "role": "user", "content": content }))
}

fn part(block: &UserBlock) -> Option<Value> {
    match block {
        UserBlock::Text { text } => Some(json!({ "type": "text", "text": text })),
        UserBlock::Image { data, mime_type } => {
            let url = format!("data:{mime_type};base64,{data}");
            Some(if mime_type == PDF_TYPE {
                json!({ "type": "file", "file": { "filename": "document.pdf", "file_data": url } })
            } else {
                json!({ "type": "image_url", "image_url": { "url": url } })
            })
        }
        UserBlock::Unknown => None,
    }
}

fn text_of(block: &AssistantBlock) -> Option<&str> {
    match block {
        AssistantBlock::Text { text, .. } => placeholders::is_text(text).then_some(text),
        AssistantBlock::Thinking { .. } | AssistantBlock::ToolCall(_) | AssistantBlock::Unknown => None,
    }
}

fn thinking_of(block: &AssistantBlock) -> Option<&str> {
    match block {
        AssistantBlock::Thinking { thinking, .. } => placeholders::is_text(thinking).then_some(thinking),
        AssistantBlock::Text { .. } | AssistantBlock::ToolCall(_) | AssistantBlock::Unknown => None,
    }
}

fn details_of(block: &AssistantBlock) -> Option<Value> {
    match block {
        AssistantBlock::Thinking { thinking_signature, .. } => from_signature(thinking_signature.as_ref()?),
        AssistantBlock::Text { .. } | AssistantBlock::ToolCall(_) | AssistantBlock::Unknown => None,
    }
}

/// Inserts a short answer between a result and the user message after it.
fn with_answers_after_results(messages: Vec<Value>) -> Vec<Value> {
    let mut separated: Vec<Value> = Vec::with_capacity(messages.len());
    for message in messages {
        let follows_result = separated.last().is_some_and(|last| last["role"] == "tool");
        if follows_result && message["role"] == "user" {
            separated.push(json!({ "role": "assistant", "content": ANSWER_AFTER_RESULTS }));
        }
        separated.push(message);
    }
    separated
}

/// Merges consecutive user messages: the chat templates of several models reject roles that don't alternate.
fn merge_user_messages(messages: Vec<Value>) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::with_capacity(messages.len());
    for mut message in messages {
        match merged.last_mut() {
            Some(last) if last["role"] == "user" && message["role"] == "user" => {
                let content = (last["content"].take(), message["content"].take());
                last["content"] = match content {
                    (Value::String(first), Value::String(second)) => json!(format!("{first}\n\n{second}")),
                    (first, second) => [first, second].into_iter().flat_map(into_parts).collect(),
                };
            }
            _ => merged.push(message),
        }
    }
    merged
}

fn into_parts(content: Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts,
        text => vec![json!({ "type": "text", "text": text })],
    }
}

/// Marks the system prompt and the last two ends of the user's turns as ends of cached prefixes, as in the
/// Messages API, where results belong to the user's turn.
fn mark_cached(messages: &mut [Value]) {
    let system = messages.iter().position(|message| message["role"] == "system");
    let is_of_user = |at: &usize| {
        messages.get(*at).is_some_and(|message| message["role"] == "user" || message["role"] == "tool")
    };
    let ends = (0..messages.len()).rev().filter(|at| is_of_user(at) && !is_of_user(&(at + 1))).take(2);
    let marked: Vec<usize> = system.into_iter().chain(ends).collect();
    for at in marked {
        let content = &mut messages[at]["content"];
        if let Value::String(text) = content {
            *content = json!([{ "type": "text", "text": text }]);
        }
        let text =
            content.as_array_mut().and_then(|parts| parts.iter_mut().rfind(|part| part["type"] == "text"));
        if let Some(text) = text {
            text["cache_control"] = json!({ "type": "ephemeral" });
        }
    }
}
