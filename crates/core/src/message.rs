//! Messages between user, model and tools, independent of any provider's wire format.
//!
//! The JSON forms are the session log's (docs/session-format.md); providers encode their own from them.
//! Unknown keys are ignored and unknown blocks read as `Unknown`; a log is copied byte by byte, so nothing is
//! lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use crate::setting::ThinkingLevel;

use crate::ansi::StyleRun;
use crate::id::CallId;
use crate::skill_message::typed_skill;
use crate::unit::{Tokens, UnixMs, Usd};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// A message that the user typed, steered with or queued.
    User(UserMessage),
    /// An answer from the model.
    Assistant(AssistantMessage),
    /// The result of one tool call.
    ToolResult(ToolResultMessage),
    /// A command that the user ran with `!` or `!!`.
    BashExecution(BashExecutionMessage),
    /// A system prompt that another program wrote into the log; tiller builds its own.
    System(SystemMessage),
}

/// A user message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Text, or text and images.
    pub content: Content,
    /// The time at which it was sent.
    #[serde(default, deserialize_with = "lenient")]
    pub timestamp: UnixMs,
    /// The text as typed, if the content was made from a template or has files attached.
    #[serde(
        default,
        deserialize_with = "lenient",
        rename = "tillerTyped",
        skip_serializing_if = "Option::is_none"
    )]
    pub typed: Option<String>,
}

/// An image, or a PDF file, for the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Base64, standard alphabet with padding.
    pub data: String,
    /// MIME type, such as `image/png`.
    pub mime_type: String,
}

impl UserMessage {
    /// Creates a message of text, followed by images.
    pub fn with_images(text: impl Into<String>, images: &[Image], timestamp: UnixMs) -> Self {
        let text = UserBlock::Text { text: text.into() };
        let images =
            images.iter().cloned().map(|Image { data, mime_type }| UserBlock::Image { data, mime_type });
        Self {
            content: Content::Blocks(std::iter::once(text).chain(images).collect()),
            timestamp,
            typed: None,
        }
    }

    /// Creates a message of text.
    pub fn text(text: impl Into<String>, timestamp: UnixMs) -> Self {
        Self { content: Content::Blocks(vec![UserBlock::Text { text: text.into() }]), timestamp, typed: None }
    }

    /// Sets the text as typed, if it differs from the content.
    #[must_use]
    pub fn typed_as(self, typed: Option<String>) -> Self {
        Self { typed, ..self }
    }

    /// Returns the text as typed: `/skill:name` or `/template` with its arguments if the message was made
    /// from one, else its text.
    #[must_use]
    pub fn as_typed(&self) -> String {
        let text = || self.content.joined_text();
        self.short().unwrap_or_else(text)
    }

    /// Returns the text as typed if it differs from the message's text.
    #[must_use]
    pub fn short(&self) -> Option<String> {
        self.typed.clone().or_else(|| typed_skill(&self.content.joined_text()))
    }
}

/// Content of a user's message: a plain string, or blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Text and images in order.
    Blocks(Vec<UserBlock>),
}

impl Content {
    /// Returns all text, with blocks joined by newlines.
    #[must_use]
    pub fn joined_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => joined_text(blocks),
        }
    }

    /// Iterates over the images.
    pub fn images(&self) -> impl Iterator<Item = Image> {
        let blocks = match self {
            Self::Text(_) => &[],
            Self::Blocks(blocks) => blocks.as_slice(),
        };
        let image = |(mime_type, data): (&str, &str)| Image {
            data: data.to_owned(),
            mime_type: mime_type.to_owned(),
        };
        blocks.iter().filter_map(UserBlock::as_image).map(image)
    }

    /// Converts the content to blocks.
    #[must_use]
    pub fn to_blocks(&self) -> Vec<UserBlock> {
        match self {
            Self::Text(text) => vec![UserBlock::Text { text: text.clone() }],
            Self::Blocks(blocks) => blocks.clone(),
        }
    }
}

/// Returns all text in `blocks`, joined by newlines.
#[must_use]
pub fn joined_text(blocks: &[UserBlock]) -> String {
    let texts: Vec<&str> = blocks.iter().filter_map(UserBlock::as_text).collect();
    texts.join("\n")
}

/// MIME type of a PDF file.
pub const PDF_TYPE: &str = "application/pdf";

/// A block of a user message or a tool result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum UserBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image, or a PDF file.
    #[serde(rename_all = "camelCase")]
    Image {
        /// Base64, standard alphabet with padding.
        data: String,
        /// MIME type, such as `image/png` or [`PDF_TYPE`].
        mime_type: String,
    },
    /// A block of an unknown kind; it is not sent to models.
    #[serde(other)]
    Unknown,
}

impl UserBlock {
    /// Returns the block's text, if it is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image { .. } | Self::Unknown => None,
        }
    }

    /// Returns the MIME type and data, if the block is an image.
    #[must_use]
    pub fn as_image(&self) -> Option<(&str, &str)> {
        match self {
            Self::Image { data, mime_type } => Some((mime_type, data)),
            Self::Text { .. } | Self::Unknown => None,
        }
    }
}

/// Separator between an error and its advice in [`AssistantMessage::error_message`], both on one line.
pub const ADVICE: &str = " → ";

/// Splits an error message into the error and its advice, if it has one.
#[must_use]
pub fn split_advice(error_message: &str) -> (&str, Option<&str>) {
    match error_message.rsplit_once(ADVICE) {
        Some((message, advice)) => (message, Some(advice)),
        None => (error_message, None),
    }
}

/// An answer from the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls, in order.
    pub content: Vec<AssistantBlock>,
    /// The wire format: `anthropic-messages`, `openai-completions`, `scripted`.
    #[serde(default, deserialize_with = "lenient")]
    pub api: String,
    /// The provider's name: `anthropic`, `openai`.
    #[serde(default, deserialize_with = "lenient")]
    pub provider: String,
    /// The model's id, as requested.
    #[serde(default, deserialize_with = "lenient")]
    pub model: String,
    /// Tokens and cost of the answer.
    #[serde(default, deserialize_with = "lenient")]
    pub usage: Usage,
    /// The reason the answer ended.
    pub stop_reason: StopReason,
    /// The error message, if the stop reason is `error` or `aborted`; secrets removed.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The time at which the request was sent.
    #[serde(default, deserialize_with = "lenient")]
    pub timestamp: UnixMs,
}

impl AssistantMessage {
    /// Iterates over the tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall(call) => Some(call),
            AssistantBlock::Text { .. } | AssistantBlock::Thinking { .. } | AssistantBlock::Unknown => None,
        })
    }

    /// Returns its text without thinking and calls, with blocks joined by newlines.
    #[must_use]
    pub fn joined_text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|block| match block {
                AssistantBlock::Text { text, .. } => Some(text.as_str()),
                AssistantBlock::Thinking { .. } | AssistantBlock::ToolCall(_) | AssistantBlock::Unknown => {
                    None
                }
            })
            .collect();
        texts.join("\n")
    }
}

/// A block of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum AssistantBlock {
    /// Text, in Markdown.
    #[serde(rename_all = "camelCase")]
    Text {
        /// The text.
        text: String,
        /// The provider's signature or mark, sent back unchanged.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        text_signature: Option<String>,
    },
    /// The model's thinking before its answer.
    #[serde(rename_all = "camelCase")]
    Thinking {
        /// The thinking, or a summary of it; empty when the provider hides it.
        thinking: String,
        /// The provider's signature, sent back unchanged so that the model can continue the thinking.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        thinking_signature: Option<String>,
    },
    /// A tool call.
    ToolCall(ToolCall),
    /// A block of an unknown kind; it is not sent back.
    #[serde(other)]
    Unknown,
}

impl AssistantBlock {
    /// Creates a block of text without a signature.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), text_signature: None }
    }
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The provider's id for the call.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// The arguments, an object unless the model made an error.
    #[serde(default)]
    pub arguments: Value,
    /// The raw arguments, if they weren't a JSON object; `arguments` is then empty and the call gets an error
    /// result.
    #[serde(default, rename = "tillerRawArguments", skip_serializing_if = "Option::is_none")]
    pub raw_arguments: Option<String>,
    /// Gemini's signature of the thinking that led to the call, sent back unchanged with it.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
}

impl ToolCall {
    /// Creates a call from streamed arguments. Empty text means no arguments.
    #[must_use]
    pub fn from_streamed(id: CallId, name: String, arguments: &str) -> Self {
        if arguments.trim().is_empty() {
            return Self {
                id,
                name,
                arguments: Value::Object(Map::new()),
                raw_arguments: None,
                thought_signature: None,
            };
        }
        match serde_json::from_str::<Value>(arguments) {
            Ok(value @ Value::Object(_)) => {
                Self { id, name, arguments: value, raw_arguments: None, thought_signature: None }
            }
            Ok(_) | Err(_) => Self {
                id,
                name,
                arguments: Value::Object(Map::new()),
                raw_arguments: Some(arguments.to_owned()),
                thought_signature: None,
            },
        }
    }
}

/// The reason an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The answer is complete.
    #[default]
    Stop,
    /// The output token limit was reached; its calls, if any, may be truncated.
    Length,
    /// The model is waiting for the results of its calls.
    ToolUse,
    /// The provider failed; `errorMessage` has the error.
    Error,
    /// The user stopped it.
    Aborted,
}

/// Deserializes a value, or the default if it has the wrong type: an invalid token count must not lose the
/// answer.
pub fn lenient<'de, D, T>(source: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::de::DeserializeOwned + Default,
{
    Value::deserialize(source).map(|value| serde_json::from_value(value).unwrap_or_default())
}

/// Tokens and cost of one answer, or a sum of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Input tokens neither read from nor written to the provider's cache.
    pub input: Tokens,
    /// Output tokens, including thinking.
    pub output: Tokens,
    /// Input tokens read from the cache.
    pub cache_read: Tokens,
    /// Input tokens written to the cache.
    pub cache_write: Tokens,
    /// The provider's own total, or the sum of the four.
    pub total_tokens: Tokens,
    /// The cost.
    pub cost: Cost,
}

impl Usage {
    /// Returns the provider's total, or the sum of the four counts if that is 0.
    #[must_use]
    pub fn total(&self) -> Tokens {
        match self.total_tokens {
            Tokens(0) => self.input + self.output + self.cache_read + self.cache_write,
            total => total,
        }
    }

    /// Returns the share of the input tokens that came from the cache, from 0 to 1; `None` without input.
    #[must_use]
    pub fn cache_hit_rate(&self) -> Option<f64> {
        let input = self.input + self.cache_read + self.cache_write;
        // Counts of tokens are far below 2^52, above which f64 isn't exact.
        #[expect(clippy::cast_precision_loss)]
        (input.0 > 0).then(|| self.cache_read.0 as f64 / input.0 as f64)
    }

    /// Adds another answer's counts and costs.
    pub fn add(&mut self, other: &Self) {
        self.total_tokens = self.total() + other.total();
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cost.add(&other.cost);
    }

    /// Returns the difference from an earlier state of the same sums.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let count = |now: Tokens, before: Tokens| Tokens(now.0.saturating_sub(before.0));
        let dollars = |now: Usd, before: Usd| Usd((now.0 - before.0).max(0.0));
        Self {
            input: count(self.input, earlier.input),
            output: count(self.output, earlier.output),
            cache_read: count(self.cache_read, earlier.cache_read),
            cache_write: count(self.cache_write, earlier.cache_write),
            total_tokens: count(self.total(), earlier.total()),
            cost: Cost {
                input: dollars(self.cost.input, earlier.cost.input),
                output: dollars(self.cost.output, earlier.cost.output),
                cache_read: dollars(self.cost.cache_read, earlier.cost.cache_read),
                cache_write: dollars(self.cost.cache_write, earlier.cost.cache_write),
                total: dollars(self.cost.total, earlier.cost.total),
            },
        }
    }
}

/// Cost by kind of token.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    /// For `input`.
    pub input: Usd,
    /// For `output`.
    pub output: Usd,
    /// For `cacheRead`.
    pub cache_read: Usd,
    /// For `cacheWrite`.
    pub cache_write: Usd,
    /// The sum.
    pub total: Usd,
}

impl Cost {
    fn add(&mut self, other: &Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.total += other.total;
    }
}

/// The result of one tool call. Every call gets exactly one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    /// The call's id.
    pub tool_call_id: CallId,
    /// The called tool's name.
    #[serde(default, deserialize_with = "lenient")]
    pub tool_name: String,
    /// The content for the model.
    pub content: Vec<UserBlock>,
    /// Data for people and programs only: a diff, an exit code, the reason for a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// True if the call failed, was refused or was skipped.
    #[serde(default, deserialize_with = "lenient")]
    pub is_error: bool,
    /// The time at which it ended.
    #[serde(default, deserialize_with = "lenient")]
    pub timestamp: UnixMs,
}

/// A command that the user ran with `!` or `!!`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BashExecutionMessage {
    /// The command as typed.
    pub command: String,
    /// Both output streams as a terminal shows them, cut to the output limits.
    pub output: String,
    /// Its exit code; absent if it was killed.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// True if the user or tiller's exit stopped it.
    #[serde(default, deserialize_with = "lenient")]
    pub cancelled: bool,
    /// True if `output` is not the full output.
    #[serde(default, deserialize_with = "lenient")]
    pub truncated: bool,
    /// The file with the full output, if `truncated`.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// True for `!!`: logged and shown, never sent to a model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclude_from_context: bool,
    /// The styles of `output`.
    #[serde(
        default,
        rename = "tillerStrokes",
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient"
    )]
    pub style_runs: Vec<StyleRun>,
    /// The time at which it ended.
    #[serde(default, deserialize_with = "lenient")]
    pub timestamp: UnixMs,
}

/// A system prompt in a log. Other programs write these; tiller keeps them and sends its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemMessage {
    /// Its text, joined from its blocks; may be empty.
    #[serde(default, deserialize_with = "text_of_content")]
    pub content: String,
    /// The time at which it was written.
    #[serde(default, deserialize_with = "lenient")]
    pub timestamp: UnixMs,
}

fn text_of_content<'de, D: serde::Deserializer<'de>>(source: D) -> Result<String, D::Error> {
    Content::deserialize(source).map(|content| content.joined_text())
}

/// A reference to a model, as in requests and logs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelRef {
    /// The provider's name.
    pub provider: String,
    /// The provider's id for the model.
    pub id: String,
}

impl ModelRef {
    /// Returns the display name, `provider/id`. If the id is a path, its leading slash is the only separator;
    /// `Display` returns the form that can be typed, with both slashes.
    #[must_use]
    pub fn display_name(&self) -> String {
        let Self { provider, id } = self;
        if id.starts_with('/') { format!("{provider}{id}") } else { self.to_string() }
    }
}

impl std::fmt::Display for ModelRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_ref_path_id_is_shown_with_one_slash() {
        let model = |id: &str| ModelRef { provider: "scripted".into(), id: id.into() };
        assert_eq!(model("/tmp/a.jsonl").display_name(), "scripted/tmp/a.jsonl");
        assert_eq!(model("/tmp/a.jsonl").to_string(), "scripted//tmp/a.jsonl");
        assert_eq!(model("a.jsonl").display_name(), "scripted/a.jsonl");
    }

    #[test]
    fn from_streamed_non_object_is_kept_raw() {
        let call = ToolCall::from_streamed("c1".into(), "bash".into(), r#"{"command": "l"#);
        assert_eq!(call.arguments, serde_json::json!({}));
        assert_eq!(call.raw_arguments.as_deref(), Some(r#"{"command": "l"#));
    }

    #[test]
    fn from_streamed_empty_text_is_no_arguments() {
        let call = ToolCall::from_streamed("c1".into(), "list_files".into(), "");
        assert_eq!(call.arguments, serde_json::json!({}));
        assert_eq!(call.raw_arguments, None);
    }

    #[test]
    fn tool_call_signature_is_serialized_if_present() {
        let signed =
            |signature| r#"{"id":"c1","name":"ls","arguments":{}SIGNATURE}"#.replace("SIGNATURE", signature);
        let call = ToolCall::from_streamed("c1".into(), "ls".into(), "");
        let signed_call = ToolCall { thought_signature: Some("c2Vhb".into()), ..call.clone() };
        for (json, call) in
            [(signed(r#","thoughtSignature":"c2Vhb""#), signed_call), (signed(""), call.clone())]
        {
            assert_eq!(serde_json::to_string(&call).unwrap(), json);
            assert_eq!(serde_json::from_str::<ToolCall>(&json).unwrap(), call);
        }
        assert_eq!(serde_json::from_str::<ToolCall>(&signed(r#","thoughtSignature":7"#)).unwrap(), call);
    }

    #[test]
    fn text_signature_is_serialized_if_present() {
        let text_signature = Some("c2Vhb".to_owned());
        let signed = AssistantBlock::Text { text: "hi".into(), text_signature };
        let json = r#"{"type":"text","text":"hi","textSignature":"c2Vhb"}"#;
        assert_eq!(serde_json::to_string(&signed).unwrap(), json);
        assert_eq!(serde_json::from_str::<AssistantBlock>(json).unwrap(), signed);
        let plain = r#"{"type":"text","text":"hi"}"#;
        assert_eq!(serde_json::to_string(&AssistantBlock::text("hi")).unwrap(), plain);
    }

    #[test]
    fn message_is_serialized_in_the_log_format() {
        let message = Message::ToolResult(ToolResultMessage {
            tool_call_id: "c1".into(),
            tool_name: "bash".into(),
            content: vec![UserBlock::Text { text: "t0\n".into() }],
            details: None,
            is_error: false,
            timestamp: UnixMs(7),
        });
        assert_eq!(
            serde_json::to_string(&message).unwrap(),
            r#"{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"t0\n"}],"isError":false,"timestamp":7}"#
        );
    }

    #[test]
    fn system_message_in_blocks_is_parsed() {
        let text =
            r#"{"role":"system","content":[{"type":"text","text":"Be kind."}],"sections":{},"timestamp":7}"#;
        let message = SystemMessage { content: "Be kind.".into(), timestamp: UnixMs(7) };
        assert_eq!(serde_json::from_str::<Message>(text).unwrap(), Message::System(message));
    }

    #[test]
    fn message_with_unknown_block_is_parsed() {
        let text = r#"{"role":"assistant","content":[{"type":"hologram","x":1},{"type":"text","text":"hi"}],"stopReason":"stop"}"#;
        let Message::Assistant(message) = serde_json::from_str(text).unwrap() else {
            panic!("an assistant message")
        };
        assert_eq!(message.content[0], AssistantBlock::Unknown);
        assert_eq!(message.joined_text(), "hi");
    }

    #[test]
    fn usage_without_total_is_the_sum_of_parts() {
        let mut sum = Usage { input: Tokens(5), output: Tokens(2), ..Usage::default() };
        assert_eq!(sum.total(), Tokens(7));
        sum.add(&Usage { input: Tokens(1), total_tokens: Tokens(9), ..Usage::default() });
        assert_eq!((sum.input, sum.total()), (Tokens(6), Tokens(16)));
    }
}
