//! Encoding of a [`Request`] as a `generateContent` body.
//!
//! The API requires all results of an answer's calls in the content directly after it, and no empty part.
//! Consecutive messages of one role are merged, results first.
//!
//! Gemini 3 and later sign the first call of each answer and reject a call of the current turn without its
//! signature. A signature is valid only for the model that made it; calls of other models get one that the
//! API always accepts. The API recommends sending back the signature of a text part too, but doesn't check it
//! (ai.google.dev/gemini-api/docs/thought-signatures).

use serde_json::{Map, Value, json};
use tiller_core::message::{
    AssistantBlock, AssistantMessage, Message, ToolCall, ToolResultMessage, UserBlock, joined_text,
};
use tiller_core::tool_spec::ToolSpec;

use crate::accepted_calls::{call_id, with_accepted_calls};
use crate::catalog::{ThinkingControl, is_older_gemini};
use crate::{Request, ToolChoice, placeholders};

/// The name of the wire format in logs.
pub const API: &str = "google-generative-ai";

/// The signature of a call that another model made.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// Maximum length of a call id.
const MAX_ID: usize = 64;

/// Thinking budgets that every Gemini 2.5 accepts, in tokens: from Flash-Lite's minimum to Flash's maximum.
const MIN_BUDGET: u64 = 512;
const MAX_BUDGET: u64 = 24_576;

/// Media types that the API accepts inline.
const INLINE_TYPES: [&str; 6] =
    ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf"];

/// Encodes the body of a request to `provider`.
pub(super) fn body(request: &Request, provider: &str) -> Value {
    let mut body = Map::new();
    if placeholders::is_text(&request.system) {
        body.insert("systemInstruction".into(), json!({ "parts": [text_part(&request.system)] }));
    }
    let accepted = with_accepted_calls(request, |id| call_id(id, MAX_ID));
    body.insert("contents".into(), Value::Array(ContentsEncoder::new(&accepted, provider).contents()));
    if !request.tools.is_empty() {
        let declarations: Value = request.tools.iter().map(declaration).collect();
        body.insert("tools".into(), json!([{ "functionDeclarations": declarations }]));
        let mode = match request.tool_choice {
            ToolChoice::Auto => "AUTO",
            ToolChoice::None => "NONE",
        };
        body.insert("toolConfig".into(), json!({ "functionCallingConfig": { "mode": mode } }));
    }
    let mut generation = Map::new();
    generation.insert("maxOutputTokens".into(), json!(request.max_tokens));
    if let Some(temperature) = request.temperature {
        generation.insert("temperature".into(), json!(temperature));
    }
    if let Some(thinking) = thinking_config(request) {
        generation.insert("thinkingConfig".into(), thinking);
    }
    body.insert("generationConfig".into(), Value::Object(generation));
    Value::Object(body)
}

/// Returns the parameters of thinking, if the model has any. A budget counts towards the tokens of the answer
/// and takes at most three quarters of them.
fn thinking_config(request: &Request) -> Option<Value> {
    let control = request.model.thinking;
    if let ThinkingControl::Budget { .. } = control {
        return Some(match control.budget(request.thinking) {
            None => json!({ "thinkingBudget": 0 }),
            Some(budget) => {
                let budget = budget.0.min(request.max_tokens.0 / 4 * 3).clamp(MIN_BUDGET, MAX_BUDGET);
                json!({ "includeThoughts": true, "thinkingBudget": budget })
            }
        });
    }
    let level = control.effort(request.thinking)?;
    Some(json!({ "includeThoughts": true, "thinkingLevel": level }))
}

/// Encodes a tool. `parametersJsonSchema` accepts JSON Schema except for the key with its version; the older
/// `parameters` rejects many keywords.
fn declaration(spec: &ToolSpec) -> Value {
    let mut schema = (*spec.parameters).clone();
    if let Some(keywords) = schema.as_object_mut() {
        keywords.remove("$schema");
    }
    json!({ "name": spec.name, "description": spec.description, "parametersJsonSchema": schema })
}

/// Encodes messages for one model.
struct ContentsEncoder<'a> {
    request: &'a Request,
    provider: &'a str,
    /// True for Gemini 3 and later: calls have ids and signatures, and results may contain images.
    is_gemini_3: bool,
    contents: Vec<OpenContent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ContentRole {
    User,
    Model,
}

struct OpenContent {
    role: ContentRole,
    /// The number of results, which come first.
    results: usize,
    parts: Vec<Value>,
}

impl<'a> ContentsEncoder<'a> {
    fn new(request: &'a Request, provider: &'a str) -> Self {
        let is_gemini_3 = !is_older_gemini(&request.model.id);
        Self { request, provider, is_gemini_3, contents: Vec::new() }
    }

    fn contents(mut self) -> Vec<Value> {
        for message in &self.request.messages {
            match &**message {
                Message::User(user) => {
                    let blocks = placeholders::user_blocks(&user.content);
                    self.extend(ContentRole::User, blocks.iter().filter_map(part));
                }
                Message::BashExecution(execution) => {
                    let text = placeholders::bash_text(execution);
                    self.extend(ContentRole::User, text.map(|text| text_part(&text)));
                }
                Message::ToolResult(result) => self.add_result(result),
                Message::Assistant(answer) => {
                    let parts = self.answer_parts(answer);
                    self.extend(ContentRole::Model, parts);
                }
                Message::System(_) => {}
            }
        }
        if self.is_gemini_3 {
            self.sign_foreign_calls();
        }
        let content = |content: OpenContent| {
            let role = match content.role {
                ContentRole::User => "user",
                ContentRole::Model => "model",
            };
            json!({ "role": role, "parts": content.parts })
        };
        self.contents.into_iter().map(content).collect()
    }

    fn extend(&mut self, role: ContentRole, parts: impl IntoIterator<Item = Value>) {
        let parts: Vec<Value> = parts.into_iter().collect();
        if !parts.is_empty() {
            self.open_content(role).parts.extend(parts);
        }
    }

    fn open_content(&mut self, role: ContentRole) -> &mut OpenContent {
        if self.contents.last().is_none_or(|content| content.role != role) {
            self.contents.push(OpenContent { role, results: 0, parts: Vec::new() });
        }
        self.contents.last_mut().expect("a content was pushed above")
    }

    /// Inserts a result after the other results. Its images are part of it; for older models they follow all
    /// results.
    fn add_result(&mut self, result: &ToolResultMessage) {
        let is_image = |block: &&UserBlock| block.as_image().is_some() && placeholders::is_sendable(block);
        let has_images = result.content.iter().any(|block| is_image(&block));
        let images = result.content.iter().filter(is_image).filter_map(part);
        let images: Vec<Value> = images.filter(|part| part.get("inlineData").is_some()).collect();
        let has_text = placeholders::is_text(&joined_text(&result.content));
        let text = if has_text || !has_images {
            placeholders::result_text(&result.content)
        } else {
            placeholders::IMAGE.to_owned()
        };
        let key = if result.is_error { "error" } else { "output" };
        let mut response = json!({ "name": result.tool_name, "response": { key: text } });
        if self.is_gemini_3 {
            response["id"] = json!(result.tool_call_id);
            if !images.is_empty() {
                response["parts"] = json!(images);
            }
        }
        let content = self.open_content(ContentRole::User);
        content.parts.insert(content.results, json!({ "functionResponse": response }));
        content.results += 1;
        if !self.is_gemini_3 && !images.is_empty() {
            let intro = text_part(&format!("Images in the result of {}:", result.tool_name));
            self.extend(ContentRole::User, [intro].into_iter().chain(images));
        }
    }

    /// Encodes an answer. Thinking is sent back only with its signature.
    fn answer_parts(&self, answer: &AssistantMessage) -> Vec<Value> {
        let is_own =
            answer.api == API && answer.provider == self.provider && answer.model == self.request.model.id;
        let own = |signature: &Option<String>| signature.clone().filter(|text| is_own && !text.is_empty());
        let part = |block: &AssistantBlock| match block {
            AssistantBlock::Text { text, text_signature } => {
                placeholders::is_text(text).then(|| with_signature(text_part(text), own(text_signature)))
            }
            AssistantBlock::Thinking { thinking, thinking_signature } => own(thinking_signature)
                .map(|signature| json!({ "text": thinking, "thought": true, "thoughtSignature": signature })),
            AssistantBlock::ToolCall(call) => Some(self.call_part(call, own(&call.thought_signature))),
            AssistantBlock::Unknown => None,
        };
        let parts: Vec<Value> = answer.content.iter().filter_map(part).collect();
        // An answer with only thinking was cut off before any text.
        if parts.iter().all(|part| part.get("thought").is_some()) { Vec::new() } else { parts }
    }

    fn call_part(&self, call: &ToolCall, signature: Option<String>) -> Value {
        let arguments = if call.arguments.is_object() { call.arguments.clone() } else { json!({}) };
        let mut function = json!({ "name": call.name, "args": arguments });
        if self.is_gemini_3 {
            function["id"] = json!(call.id);
        }
        with_signature(json!({ "functionCall": function }), signature)
    }

    /// Signs the first call of each answer of the current turn, if it has no signature. The turn begins with
    /// the last user content that has no results.
    fn sign_foreign_calls(&mut self) {
        let is_prompt = |content: &OpenContent| content.role == ContentRole::User && content.results == 0;
        let turn = self.contents.iter().rposition(is_prompt).unwrap_or(0);
        for content in &mut self.contents[turn..] {
            let first = content.parts.iter_mut().find(|part| part.get("functionCall").is_some());
            if let Some(call) = first.filter(|call| call.get("thoughtSignature").is_none()) {
                call["thoughtSignature"] = json!(FOREIGN_SIGNATURE);
            }
        }
    }
}

fn with_signature(mut part: Value, signature: Option<String>) -> Value {
    if let Some(signature) = signature {
        part["thoughtSignature"] = json!(signature);
    }
    part
}

fn text_part(text: &str) -> Value {
    json!({ "text": text })
}

/// Encodes a block; an image of a type that the API rejects becomes text.
fn part(block: &UserBlock) -> Option<Value> {
    match block {
        UserBlock::Text { text } => Some(text_part(text)),
        UserBlock::Image { data, mime_type } if INLINE_TYPES.contains(&mime_type.as_str()) => {
            Some(json!({ "inlineData": { "mimeType": mime_type, "data": data } }))
        }
        UserBlock::Image { .. } => Some(text_part(placeholders::IMAGE)),
        UserBlock::Unknown => None,
    }
}
