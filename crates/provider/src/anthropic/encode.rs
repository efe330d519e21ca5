//! Encoding of a [`Request`] as the Messages API's body.
//!
//! The API requires alternating user and assistant messages, every result directly after its call, and no
//! empty text. Consecutive messages of one role are merged, results first; empty ones are dropped.
//!
//! Thinking is sent back only with its signature and to the model that produced it: the API rejects it
//! without a signature, other models can't read it, and as plain text it would lead the model to write its
//! thinking into answers.

use serde_json::{Map, Value, json};
use tiller_core::message::{
    AssistantBlock, AssistantMessage, Message, PDF_TYPE, ThinkingLevel, ToolCall, ToolResultMessage,
    UserBlock, joined_text,
};
use tiller_core::tool_spec::ToolSpec;
use tiller_core::unit::Tokens;

use crate::accepted_calls::{call_id, with_accepted_calls};
use crate::catalog::{self, ThinkingControl, ThinkingOff};
use crate::{Request, ToolChoice, placeholders};

/// The name of the wire format in logs.
pub const API: &str = "anthropic-messages";

/// Prefix of a signature that holds the encrypted text of hidden thinking; base64 has no colon.
pub(super) const REDACTED: &str = "redacted:";

/// Minimum thinking budget that the API accepts, in tokens.
const MIN_BUDGET: u64 = 1_024;

/// Maximum length of a call id.
const MAX_ID: usize = 64;

/// Number of the last user messages that are marked as ends of cached prefixes. From each mark, the API looks
/// 20 blocks back, and one message with many results may have more; with the system prompt, these take three
/// of the four marks that the API allows.
const CACHED_MESSAGES: usize = 2;

/// The thinking parameters of a request, derived from model and level.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ThinkingPlan {
    thinking: Option<Value>,
    effort: Option<&'static str>,
    max_tokens: Tokens,
    sends_temperature: bool,
    sends_thinking: bool,
}

impl ThinkingPlan {
    pub(super) fn new(request: &Request, provider: &str) -> Self {
        match (request.model.thinking, request.thinking) {
            (ThinkingControl::Adaptive { off, bound, .. }, ThinkingLevel::Off) => {
                Self::without_thinking(request, off, bound)
            }
            (ThinkingControl::Adaptive { max_effort, bound, .. }, level) => {
                Self::adaptive(request, effort(level, max_effort), bound)
            }
            // Other vendors' models may think without a parameter.
            (ThinkingControl::Never, _) => {
                Self { sends_temperature: true, sends_thinking: true, ..Self::plain(request) }
            }
            (ThinkingControl::Effort { min_level, .. }, level) => {
                Self::by_effort(request, level.max(min_level))
            }
            (ThinkingControl::Budget { .. }, level) => match request.model.thinking.budget(level) {
                // The API rejects thinking in the middle of a loop of calls that began without it.
                Some(_) if is_in_foreign_loop(request, provider) => {
                    Self { sends_temperature: true, ..Self::plain(request) }
                }
                Some(budget) => Self::budget(request, budget),
                None => Self { sends_temperature: true, ..Self::plain(request) },
            },
        }
    }

    /// Returns true if the request makes the server drop thinking that no longer matches.
    pub(super) fn sends_binding(&self) -> bool {
        self.thinking.as_ref().is_some_and(|thinking| thinking.get("block_binding").is_some())
    }

    fn plain(request: &Request) -> Self {
        Self {
            thinking: None,
            effort: None,
            max_tokens: request.max_tokens,
            sends_temperature: false,
            sends_thinking: false,
        }
    }

    fn without_thinking(request: &Request, off: ThinkingOff, bound: bool) -> Self {
        let kind = match off {
            ThinkingOff::LowEffort => return Self::adaptive(request, "low", bound),
            ThinkingOff::Omit => None,
            ThinkingOff::Disabled => Some("disabled"),
            ThinkingOff::BetweenTools => Some("between_tools"),
        };
        Self { thinking: kind.map(|kind| json!({ "type": kind })), ..Self::plain(request) }
    }

    /// Servers that imitate the API support its older parameters: a budget and a switch.
    fn by_effort(request: &Request, level: ThinkingLevel) -> Self {
        if level != ThinkingLevel::Off {
            return Self::budget(request, catalog::usual_budget(level));
        }
        let thinking = Some(json!({ "type": "disabled" }));
        Self { thinking, sends_temperature: true, ..Self::plain(request) }
    }

    /// Newer models leave thinking empty unless a summary is requested. A compaction or a branch changes the
    /// messages before a thinking block, so blocks that no longer match must be dropped.
    fn adaptive(request: &Request, effort: &'static str, bound: bool) -> Self {
        let mut thinking = json!({ "type": "adaptive", "display": "summarized" });
        if bound {
            thinking["block_binding"] = json!({ "prefix_mismatch_behavior": "drop_block" });
        }
        Self { thinking: Some(thinking), effort: Some(effort), sends_thinking: true, ..Self::plain(request) }
    }

    /// The budget counts towards `max_tokens` and takes at most three quarters of it; if that is below the
    /// API's minimum, thinking is off.
    fn budget(request: &Request, requested: Tokens) -> Self {
        let budget = requested.0.min(request.max_tokens.0 / 4 * 3);
        if budget < MIN_BUDGET {
            return Self { sends_temperature: true, ..Self::plain(request) };
        }
        let thinking = json!({ "type": "enabled", "budget_tokens": budget });
        Self { thinking: Some(thinking), sends_thinking: true, ..Self::plain(request) }
    }
}

/// Returns true if the request continues a loop of tool calls in which this model hasn't thought: another
/// model began it, or thinking was off.
fn is_in_foreign_loop(request: &Request, provider: &str) -> bool {
    let newest_first = request.messages.iter().rev();
    let in_loop = newest_first
        .skip_while(|message| !matches!(&***message, Message::Assistant(_)))
        .take_while(|message| matches!(&***message, Message::Assistant(_) | Message::ToolResult(_)));
    let mut answers = in_loop.filter_map(|message| match &**message {
        Message::Assistant(answer) => Some(answer),
        _ => None,
    });
    let has_thought = |answer: &AssistantMessage| {
        is_from_same_model(answer, request, provider)
            && answer.content.iter().any(|block| {
                matches!(block, AssistantBlock::Thinking { thinking_signature: Some(signature), .. }
                    if !signature.is_empty())
            })
    };
    match answers.next() {
        Some(last) if last.tool_calls().next().is_some() => !has_thought(last) && !answers.any(has_thought),
        _ => false,
    }
}

/// Returns true if the model of the request wrote the answer.
fn is_from_same_model(answer: &AssistantMessage, request: &Request, provider: &str) -> bool {
    answer.api == API && answer.provider == provider && answer.model == request.model.id
}

const fn effort(level: ThinkingLevel, max_effort: &'static str) -> &'static str {
    match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High => "high",
        ThinkingLevel::Xhigh => max_effort,
    }
}

/// Encodes the body of a request to `provider`.
pub(super) fn body(request: &Request, plan: &ThinkingPlan, provider: &str) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model.id));
    body.insert("max_tokens".into(), json!(plan.max_tokens));
    body.insert("stream".into(), json!(true));
    if placeholders::is_text(&request.system) {
        let text = json!({ "type": "text", "text": request.system, "cache_control": ephemeral() });
        body.insert("system".into(), json!([text]));
    }
    body.insert("messages".into(), Value::Array(messages(request, plan, provider)));
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
        let choice = match request.tool_choice {
            ToolChoice::Auto => "auto",
            ToolChoice::None => "none",
        };
        body.insert("tool_choice".into(), json!({ "type": choice }));
    }
    if let Some(thinking) = &plan.thinking {
        body.insert("thinking".into(), thinking.clone());
    }
    if let Some(effort) = plan.effort {
        body.insert("output_config".into(), json!({ "effort": effort }));
    }
    if let Some(temperature) = request.temperature.filter(|_| plan.sends_temperature) {
        body.insert("temperature".into(), json!(temperature));
    }
    Value::Object(body)
}

fn ephemeral() -> Value {
    json!({ "type": "ephemeral" })
}

fn tool(spec: &ToolSpec) -> Value {
    json!({ "name": spec.name, "description": spec.description, "input_schema": *spec.parameters })
}

fn messages(request: &Request, plan: &ThinkingPlan, provider: &str) -> Vec<Value> {
    let request = &with_accepted_calls(request, |id| call_id(id, MAX_ID));
    let mut list = MessageList::default();
    for message in &request.messages {
        match &**message {
            Message::User(user) => {
                list.extend(ApiRole::User, placeholders::user_blocks(&user.content).iter().filter_map(block));
            }
            Message::BashExecution(execution) => {
                list.extend(ApiRole::User, placeholders::bash_text(execution).map(|text| text_block(&text)));
            }
            Message::ToolResult(result) => list.add_result(tool_result(result)),
            Message::Assistant(answer) => {
                let reads_thinking = plan.sends_thinking && is_from_same_model(answer, request, provider);
                list.extend(ApiRole::Assistant, assistant_blocks(answer, reads_thinking));
            }
            Message::System(_) => {}
        }
    }
    list.into_messages()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ApiRole {
    User,
    Assistant,
}

/// Messages being built, with alternating roles.
#[derive(Default)]
struct MessageList(Vec<OpenMessage>);

struct OpenMessage {
    role: ApiRole,
    /// The number of results, which come first.
    results: usize,
    blocks: Vec<Value>,
}

impl MessageList {
    fn extend(&mut self, role: ApiRole, blocks: impl IntoIterator<Item = Value>) {
        let blocks: Vec<Value> = blocks.into_iter().collect();
        if !blocks.is_empty() {
            self.open_message(role).blocks.extend(blocks);
        }
    }

    /// Inserts a result after the other results: the API rejects text between calls and results.
    fn add_result(&mut self, result: Value) {
        let open_message = self.open_message(ApiRole::User);
        open_message.blocks.insert(open_message.results, result);
        open_message.results += 1;
    }

    fn open_message(&mut self, role: ApiRole) -> &mut OpenMessage {
        if self.0.last().is_none_or(|open_message| open_message.role != role) {
            self.0.push(OpenMessage { role, results: 0, blocks: Vec::new() });
        }
        self.0.last_mut().expect("a turn was pushed above")
    }

    fn into_messages(mut self) -> Vec<Value> {
        let user_messages = self.0.iter_mut().rev().filter(|open_message| open_message.role == ApiRole::User);
        for block in
            user_messages.take(CACHED_MESSAGES).filter_map(|open_message| open_message.blocks.last_mut())
        {
            block["cache_control"] = ephemeral();
        }
        let message = |open_message: OpenMessage| {
            let role = match open_message.role {
                ApiRole::User => "user",
                ApiRole::Assistant => "assistant",
            };
            json!({ "role": role, "content": open_message.blocks })
        };
        self.0.into_iter().map(message).collect()
    }
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn block(block: &UserBlock) -> Option<Value> {
    match block {
        UserBlock::Text { text } => Some(text_block(text)),
        UserBlock::Image { data, mime_type } => {
            let source = json!({ "type": "base64", "media_type": mime_type, "data": data });
            let kind = if mime_type == PDF_TYPE { "document" } else { "image" };
            Some(json!({ "type": kind, "source": source }))
        }
        UserBlock::Unknown => None,
    }
}

/// Encodes a tool result. A failed one may contain only text, and none may be empty.
fn tool_result(result: &ToolResultMessage) -> Value {
    let sendable = || result.content.iter().filter(|block| placeholders::is_sendable(block));
    let mut content: Vec<Value> = if result.is_error {
        let has_image = sendable().any(|block| matches!(block, UserBlock::Image { .. }));
        let text = joined_text(&result.content);
        let texts =
            [placeholders::is_text(&text).then_some(text.as_str()), has_image.then_some(placeholders::IMAGE)];
        texts.into_iter().flatten().map(text_block).collect()
    } else {
        sendable().filter_map(block).collect()
    };
    if content.is_empty() {
        content.push(text_block(placeholders::NO_OUTPUT));
    }
    let mut value = json!({ "type": "tool_result", "tool_use_id": result.tool_call_id, "content": content });
    if result.is_error {
        value["is_error"] = json!(true);
    }
    value
}

fn assistant_blocks(answer: &AssistantMessage, reads_thinking: bool) -> Vec<Value> {
    let block = |block: &AssistantBlock| match block {
        AssistantBlock::Text { text, .. } => placeholders::is_text(text).then(|| text_block(text)),
        AssistantBlock::Thinking { thinking, thinking_signature } => {
            let signature =
                thinking_signature.as_deref().filter(|signature| reads_thinking && !signature.is_empty())?;
            Some(match signature.strip_prefix(REDACTED) {
                Some(data) => json!({ "type": "redacted_thinking", "data": data }),
                None => json!({ "type": "thinking", "thinking": thinking, "signature": signature }),
            })
        }
        AssistantBlock::ToolCall(call) => Some(tool_use(call)),
        AssistantBlock::Unknown => None,
    };
    let blocks: Vec<Value> = answer.content.iter().filter_map(block).collect();
    // The API rejects a message with only thinking; such an answer was cut off before any text.
    let is_thinking = |block: &Value| block["type"] == "thinking" || block["type"] == "redacted_thinking";
    if blocks.iter().all(is_thinking) { Vec::new() } else { blocks }
}

fn tool_use(call: &ToolCall) -> Value {
    let input = if call.arguments.is_object() { call.arguments.clone() } else { json!({}) };
    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
}
