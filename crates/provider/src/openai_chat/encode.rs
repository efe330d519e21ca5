//! Encoding of a [`Request`] as a Chat Completions body.
//!
//! Results must directly follow the message with their calls and contain only text; their images follow in a user
//! message after the last result. Thinking isn't sent: the format has no field for it, and DeepSeek refuses it.

use serde_json::{Map, Value, json};
use tiller_core::message::{
    AssistantBlock, AssistantMessage, Message, ThinkingLevel, ToolCall, ToolResultMessage, UserBlock,
    joined_text,
};
use tiller_core::tool_spec::ToolSpec;

use crate::{Request, ToolChoice, placeholders};

/// Maximum length of a call id at OpenAI ("string too long. Expected a string with maximum length 40").
const MAX_ID: usize = 40;

/// The variant of the wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// OpenAI's own server.
    OpenAi,
    /// Another server, with the format as it was before OpenAI's thinking models.
    Compatible,
}

/// Encodes the body of a request.
pub(super) fn body(request: &Request, dialect: Dialect) -> Value {
    let family = match dialect {
        Dialect::OpenAi => Family::from_model(&request.model),
        Dialect::Compatible => Family::Foreign,
    };
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    body.insert("messages".into(), Value::Array(messages(request)));
    body.insert("stream".into(), json!(true));
    body.insert("stream_options".into(), json!({ "include_usage": true }));
    // OpenAI's thinking models refuse `max_tokens`; most other servers support nothing else.
    let limit = match dialect {
        Dialect::OpenAi => "max_completion_tokens",
        Dialect::Compatible => "max_tokens",
    };
    body.insert(limit.into(), json!(request.max_tokens));
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
        let choice = match request.tool_choice {
            ToolChoice::Auto => "auto",
            ToolChoice::None => "none",
        };
        body.insert("tool_choice".into(), json!(choice));
    }
    if let Some(effort) = family.effort(request.thinking) {
        body.insert("reasoning_effort".into(), json!(effort));
    }
    if let Some(temperature) = request.temperature.filter(|_| family.takes_temperature()) {
        body.insert("temperature".into(), json!(temperature));
    }
    Value::Object(body)
}

/// A model's support of `reasoning_effort`. Each family refuses values that others require; see `catalog::table` for
/// the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// Doesn't think, and refuses the parameter: gpt-4.1, gpt-4o, gpt-5-chat-latest.
    Plain,
    /// Always thinks, low to high: o3.
    Always,
    /// Always thinks, minimal to high: gpt-5, gpt-5-mini.
    Minimal,
    /// None to high: gpt-5.1.
    None,
    /// Only `none` together with tools: gpt-5.2 and later, and unknown models.
    NoneOnly,
    /// A model of another server: the parameter is sent only for a model that is known to think.
    Foreign,
}

impl Family {
    fn from_model(model: &str) -> Self {
        if model.contains("-chat") {
            return Self::Plain;
        }
        if model.starts_with('o') && model[1..].starts_with(|c: char| c.is_ascii_digit()) {
            return Self::Always;
        }
        match gpt_version(model) {
            Some((5, 0)) => Self::Minimal,
            Some((5, 1)) => Self::None,
            Some(version) if version > (5, 1) => Self::NoneOnly,
            Some(_) | None => Self::Plain,
        }
    }

    fn effort(self, level: ThinkingLevel) -> Option<&'static str> {
        let name = match level {
            ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High | ThinkingLevel::Xhigh => "high",
        };
        match (self, level) {
            (Self::Plain, _) | (Self::Foreign, ThinkingLevel::Off) => None,
            (Self::NoneOnly, _) | (Self::None, ThinkingLevel::Off) => Some("none"),
            (Self::Minimal, ThinkingLevel::Off | ThinkingLevel::Minimal) => Some("minimal"),
            (Self::Always | Self::Minimal | Self::None | Self::Foreign, _) => Some(name),
        }
    }

    /// A thinking model accepts only the default temperature.
    fn takes_temperature(self) -> bool {
        matches!(self, Self::Plain | Self::NoneOnly | Self::Foreign)
    }
}

/// Parses the version in `gpt-5.6-terra`, `gpt-5-2025-08-07`: the text between `gpt-` and the next dash.
fn gpt_version(model: &str) -> Option<(u32, u32)> {
    let version = model.strip_prefix("gpt-")?.split('-').next()?;
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn tool(spec: &ToolSpec) -> Value {
    let function =
        json!({ "name": spec.name, "description": spec.description, "parameters": *spec.parameters });
    json!({ "type": "function", "function": function })
}

fn messages(request: &Request) -> Vec<Value> {
    let mut messages = Vec::new();
    if placeholders::is_text(&request.system) {
        messages.push(json!({ "role": "system", "content": request.system }));
    }
    for message in &request.messages {
        match &**message {
            Message::User(user) => messages.extend(user_message(&placeholders::user_blocks(&user.content))),
            Message::BashExecution(execution) => {
                messages.extend(
                    placeholders::bash_text(execution).map(|text| json!({ "role": "user", "content": text })),
                );
            }
            Message::Assistant(answer) => messages.extend(assistant_message(answer)),
            Message::ToolResult(result) => add_result(&mut messages, result),
            Message::System(_) => {}
        }
    }
    messages
}

/// Encodes a user message. Text alone is sent as a string, which every server supports.
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
            Some(json!({ "type": "image_url", "image_url": { "url": url } }))
        }
        UserBlock::Unknown => None,
    }
}

fn assistant_message(answer: &AssistantMessage) -> Option<Value> {
    let text = |block: &AssistantBlock| match block {
        AssistantBlock::Text { text } => placeholders::is_text(text).then(|| text.clone()),
        AssistantBlock::Thinking { .. } | AssistantBlock::ToolCall(_) | AssistantBlock::Unknown => None,
    };
    let texts: Vec<String> = answer.content.iter().filter_map(text).collect();
    let calls: Vec<Value> = answer.tool_calls().map(tool_call).collect();
    if texts.is_empty() && calls.is_empty() {
        return None;
    }
    let content = if texts.is_empty() { Value::Null } else { json!(texts.join("\n")) };
    let mut message = json!({ "role": "assistant", "content": content });
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    Some(message)
}

fn tool_call(call: &ToolCall) -> Value {
    let arguments = if call.arguments.is_object() { call.arguments.to_string() } else { "{}".to_owned() };
    json!({
        "id": placeholders::call_id(call.id.as_str(), MAX_ID),
        "type": "function",
        "function": { "name": call.name, "arguments": arguments },
    })
}

/// Inserts a result after its call and the other results, before later user messages.
fn add_result(messages: &mut Vec<Value>, result: &ToolResultMessage) {
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
    let id = placeholders::call_id(result.tool_call_id.as_str(), MAX_ID);
    messages.insert(at, json!({ "role": "tool", "tool_call_id": id, "content": text }));
    if !images.is_empty() {
        let intro = UserBlock::Text { text: format!("Images in the result of {}:", result.tool_name) };
        let blocks: Vec<UserBlock> = [intro].into_iter().chain(images).collect();
        messages.extend(user_message(&blocks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_each_family_gets_its_effort_values() {
        use ThinkingLevel::{High, Low, Minimal, Off, Xhigh};
        let cases = [
            ("gpt-4.1", Off, None),
            ("gpt-4o", High, None),
            ("gpt-5-chat-latest", High, None),
            ("o3", Off, Some("low")),
            ("o4-mini", Xhigh, Some("high")),
            ("gpt-5", Off, Some("minimal")),
            ("gpt-5-mini-2025-08-07", Low, Some("low")),
            ("gpt-5.1", Off, Some("none")),
            ("gpt-5.1", Minimal, Some("low")),
            ("gpt-5.6-terra", High, Some("none")),
            ("gpt-6-luna", Off, Some("none")),
            ("gpt-10.2", Off, Some("none")),
            ("omni", Off, None),
            ("o", Off, None),
            ("text-embedding", High, None),
        ];
        for (model, level, effort) in cases {
            assert_eq!(Family::from_model(model).effort(level), effort, "{model} {level:?}");
        }
        assert_eq!(Family::Foreign.effort(Off), None);
        assert_eq!(Family::Foreign.effort(High), Some("high"));
    }
}
