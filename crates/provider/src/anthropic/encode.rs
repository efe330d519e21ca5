//! From a [`Request`] to the Messages API's body.
//!
//! The API wants user and assistant to alternate, every result right behind its call, and no empty text. So what
//! follows each other in one role becomes one message, results first; what has nothing to say is left out.
//!
//! Thoughts go back only with their seal and to the model that had them: without a seal the API refuses them, sent as
//! text the model would take to writing its thoughts as answers, and other models can't read them.

use serde_json::{Map, Value, json};
use tiller_core::message::{
    AssistantBlock, AssistantMessage, Message, ThinkingLevel, ToolCall, ToolResultMessage, ToolSpec,
    UserBlock, joined_text,
};
use tiller_core::unit::Tokens;

use super::{API, REDACTED};
use crate::catalog::{self, Silence, Thinking};
use crate::{Request, ToolChoice, placeholders};

/// Fewest tokens of thought that the API accepts as a budget.
const MIN_BUDGET: u64 = 1_024;

/// Longest id of a call that is sent.
const MAX_ID: usize = 64;

/// How many of the last user messages end a cached prefix. The API looks 20 blocks back from each mark, and one
/// message of many results may hold more than that; with the system prompt these make three of the four it allows.
const CACHED_MESSAGES: usize = 2;

/// How thinking goes into a request: decided once, from model and level.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    thinking: Option<Value>,
    effort: Option<&'static str>,
    max_tokens: Tokens,
    sends_temperature: bool,
    sends_thoughts: bool,
}

impl Plan {
    pub(super) fn new(request: &Request) -> Self {
        match (catalog::claude_thinking(&request.model), request.thinking) {
            (Thinking::Adaptive { silence, bound, .. }, ThinkingLevel::Off) => {
                Self::silent(request, silence, bound)
            }
            (Thinking::Adaptive { most, bound, .. }, level) => {
                Self::adaptive(request, effort(level, most), bound)
            }
            (Thinking::Budget, level) if level != ThinkingLevel::Off => Self::budget(request, level),
            (Thinking::Never | Thinking::Effort { .. } | Thinking::Budget, _) => {
                Self { sends_temperature: true, ..Self::plain(request) }
            }
        }
    }

    /// Whether the request says what becomes of thoughts that no longer fit.
    pub(super) fn binds_thoughts(&self) -> bool {
        self.thinking.as_ref().is_some_and(|thinking| thinking.get("block_binding").is_some())
    }

    fn plain(request: &Request) -> Self {
        Self {
            thinking: None,
            effort: None,
            max_tokens: request.max_tokens,
            sends_temperature: false,
            sends_thoughts: false,
        }
    }

    fn silent(request: &Request, silence: Silence, bound: bool) -> Self {
        let kind = match silence {
            Silence::LowEffort => return Self::adaptive(request, "low", bound),
            Silence::Omit => None,
            Silence::Disabled => Some("disabled"),
            Silence::BetweenTools => Some("between_tools"),
        };
        Self { thinking: kind.map(|kind| json!({ "type": kind })), ..Self::plain(request) }
    }

    /// The newer models leave thoughts empty unless a summary is asked for. A compaction or a branch changes what
    /// stood before a thought; those that no longer fit are to be dropped.
    fn adaptive(request: &Request, effort: &'static str, bound: bool) -> Self {
        let mut thinking = json!({ "type": "adaptive", "display": "summarized" });
        if bound {
            thinking["block_binding"] = json!({ "prefix_mismatch_behavior": "drop_block" });
        }
        Self { thinking: Some(thinking), effort: Some(effort), sends_thoughts: true, ..Self::plain(request) }
    }

    /// The budget counts towards `max_tokens` and takes at most three quarters of it; where that is less than the API
    /// accepts, the model doesn't think.
    fn budget(request: &Request, level: ThinkingLevel) -> Self {
        let wanted = catalog::budget(level).0;
        let budget = wanted.min(request.max_tokens.0 / 4 * 3);
        if budget < MIN_BUDGET {
            return Self { sends_temperature: true, ..Self::plain(request) };
        }
        let thinking = json!({ "type": "enabled", "budget_tokens": budget });
        Self { thinking: Some(thinking), sends_thoughts: true, ..Self::plain(request) }
    }
}

const fn effort(level: ThinkingLevel, most: &'static str) -> &'static str {
    match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High => "high",
        ThinkingLevel::Xhigh => most,
    }
}

/// The body of a request to `provider`.
pub(super) fn body(request: &Request, plan: &Plan, provider: &str) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
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

fn messages(request: &Request, plan: &Plan, provider: &str) -> Vec<Value> {
    let mut turns = Turns::default();
    for message in &request.messages {
        match &**message {
            Message::User(user) => {
                turns.extend(Role::User, placeholders::user_blocks(&user.content).iter().filter_map(block));
            }
            Message::BashExecution(ran) => {
                turns.extend(Role::User, placeholders::bash_text(ran).map(|text| text_block(&text)));
            }
            Message::ToolResult(result) => turns.add_result(tool_result(result)),
            Message::Assistant(answer) => {
                let reads_thoughts = plan.sends_thoughts
                    && answer.api == API
                    && answer.provider == provider
                    && answer.model == request.model;
                turns.extend(Role::Assistant, assistant_blocks(answer, reads_thoughts));
            }
            Message::System(_) => {}
        }
    }
    turns.into_messages()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

/// Messages under construction: each one role's blocks, roles alternating.
#[derive(Default)]
struct Turns(Vec<Turn>);

struct Turn {
    role: Role,
    /// How many results stand at its beginning.
    results: usize,
    blocks: Vec<Value>,
}

impl Turns {
    fn extend(&mut self, role: Role, blocks: impl IntoIterator<Item = Value>) {
        let blocks: Vec<Value> = blocks.into_iter().collect();
        if !blocks.is_empty() {
            self.turn(role).blocks.extend(blocks);
        }
    }

    /// Puts a result behind the others: text between calls and results is refused.
    fn add_result(&mut self, result: Value) {
        let turn = self.turn(Role::User);
        turn.blocks.insert(turn.results, result);
        turn.results += 1;
    }

    fn turn(&mut self, role: Role) -> &mut Turn {
        if self.0.last().is_none_or(|turn| turn.role != role) {
            self.0.push(Turn { role, results: 0, blocks: Vec::new() });
        }
        self.0.last_mut().expect("a turn was pushed above")
    }

    fn into_messages(mut self) -> Vec<Value> {
        let asked = self.0.iter_mut().rev().filter(|turn| turn.role == Role::User);
        for block in asked.take(CACHED_MESSAGES).filter_map(|turn| turn.blocks.last_mut()) {
            block["cache_control"] = ephemeral();
        }
        let message = |turn: Turn| {
            let role = match turn.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            json!({ "role": role, "content": turn.blocks })
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
            Some(json!({ "type": "image", "source": source }))
        }
        UserBlock::Unknown => None,
    }
}

/// A failed result may hold text only, and neither kind may be empty.
fn tool_result(result: &ToolResultMessage) -> Value {
    let id = placeholders::call_id(result.tool_call_id.as_str(), MAX_ID);
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
    let mut value = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    if result.is_error {
        value["is_error"] = json!(true);
    }
    value
}

fn assistant_blocks(answer: &AssistantMessage, reads_thoughts: bool) -> Vec<Value> {
    let block = |block: &AssistantBlock| match block {
        AssistantBlock::Text { text } => placeholders::is_text(text).then(|| text_block(text)),
        AssistantBlock::Thinking { thinking, thinking_signature } => {
            let signature =
                thinking_signature.as_deref().filter(|seal| reads_thoughts && !seal.is_empty())?;
            Some(match signature.strip_prefix(REDACTED) {
                Some(data) => json!({ "type": "redacted_thinking", "data": data }),
                None => json!({ "type": "thinking", "thinking": thinking, "signature": signature }),
            })
        }
        AssistantBlock::ToolCall(call) => Some(tool_use(call)),
        AssistantBlock::Unknown => None,
    };
    let blocks: Vec<Value> = answer.content.iter().filter_map(block).collect();
    // A message of thoughts alone is refused; it was cut off before it said anything.
    let is_thought = |block: &Value| block["type"] == "thinking" || block["type"] == "redacted_thinking";
    if blocks.iter().all(is_thought) { Vec::new() } else { blocks }
}

fn tool_use(call: &ToolCall) -> Value {
    let id = placeholders::call_id(call.id.as_str(), MAX_ID);
    let input = if call.arguments.is_object() { call.arguments.clone() } else { json!({}) };
    json!({ "type": "tool_use", "id": id, "name": call.name, "input": input })
}
