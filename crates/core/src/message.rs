//! What user, model and tools say to each other, in no provider's dialect.
//!
//! The JSON forms are those of the session log (docs/session-format.md); providers encode their own from them.
//! Unknown keys are ignored and unknown blocks read as `Unknown`; whoever copies a log copies its bytes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ansi::StyleRun;
use crate::id::CallId;
use crate::skill_message::typed_skill;
use crate::unit::{Tokens, UnixMs, Usd};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// What the user typed, steered with or queued.
    User(UserMessage),
    /// One answer of the model.
    Assistant(AssistantMessage),
    /// What one tool call came to.
    ToolResult(ToolResultMessage),
    /// A command that the user ran with `!` or `!!`.
    BashExecution(BashExecutionMessage),
    /// A system prompt that another program wrote into the log; tiller builds its own.
    System(SystemMessage),
}

/// What the user says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Text, or text and images.
    pub content: Content,
    /// When it was said.
    #[serde(default, deserialize_with = "lenient")]
    pub timestamp: UnixMs,
    /// The text as typed, where the content was made from a template or has files attached.
    #[serde(
        default,
        deserialize_with = "lenient",
        rename = "tillerTyped",
        skip_serializing_if = "Option::is_none"
    )]
    pub typed: Option<String>,
}

/// An image that somebody shows the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Base64, standard alphabet with padding.
    pub data: String,
    /// `image/png` and the like.
    pub mime_type: String,
}

impl UserMessage {
    /// A message of text, and of images after it.
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

    /// A message of text alone.
    pub fn text(text: impl Into<String>, timestamp: UnixMs) -> Self {
        Self { content: Content::Blocks(vec![UserBlock::Text { text: text.into() }]), timestamp, typed: None }
    }

    /// The same, made of what was typed, if that reads otherwise.
    #[must_use]
    pub fn typed_as(self, typed: Option<String>) -> Self {
        Self { typed, ..self }
    }

    /// What was typed: `/skill:name` or `/template` with its arguments where one of them made the message, and else its text.
    #[must_use]
    pub fn as_typed(&self) -> String {
        let text = || self.content.joined_text();
        self.short().unwrap_or_else(text)
    }

    /// The same where it isn't the message's own text.
    #[must_use]
    pub fn short(&self) -> Option<String> {
        self.typed.clone().or_else(|| typed_skill(&self.content.joined_text()))
    }
}

/// Content of a user's message: a bare string, or blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Text and images in order.
    Blocks(Vec<UserBlock>),
}

impl Content {
    /// All text of it, blocks joined by newlines.
    #[must_use]
    pub fn joined_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => joined_text(blocks),
        }
    }

    /// The images of it.
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

    /// The content as blocks.
    #[must_use]
    pub fn to_blocks(&self) -> Vec<UserBlock> {
        match self {
            Self::Text(text) => vec![UserBlock::Text { text: text.clone() }],
            Self::Blocks(blocks) => blocks.clone(),
        }
    }
}

/// All text in `blocks`, joined by newlines.
#[must_use]
pub fn joined_text(blocks: &[UserBlock]) -> String {
    let texts: Vec<&str> = blocks.iter().filter_map(UserBlock::as_text).collect();
    texts.join("\n")
}

/// A block that a user or a tool may say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum UserBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    #[serde(rename_all = "camelCase")]
    Image {
        /// Base64, standard alphabet with padding.
        data: String,
        /// `image/png` and the like.
        mime_type: String,
    },
    /// A block of a kind that tiller doesn't know; no model sees it.
    #[serde(other)]
    Unknown,
}

impl UserBlock {
    /// The block's text, if it is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image { .. } | Self::Unknown => None,
        }
    }

    /// The block's kind of image and its data, if it is an image.
    #[must_use]
    pub fn as_image(&self) -> Option<(&str, &str)> {
        match self {
            Self::Image { data, mime_type } => Some((mime_type, data)),
            Self::Text { .. } | Self::Unknown => None,
        }
    }
}

/// What stands in an [`AssistantMessage::error_message`] between what happened and what to do about it, both in one line.
pub const ADVICE: &str = " → ";

/// The two parts of an error message: what happened, and what to do about it, where that is said.
#[must_use]
pub fn advice_in(error_message: &str) -> (&str, Option<&str>) {
    match error_message.rsplit_once(ADVICE) {
        Some((what, advice)) => (what, Some(advice)),
        None => (error_message, None),
    }
}

/// One answer of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls in the order they came.
    pub content: Vec<AssistantBlock>,
    /// The protocol spoken: `anthropic-messages`, `openai-completions`, `scripted`.
    #[serde(default, deserialize_with = "lenient")]
    pub api: String,
    /// The provider's name: `anthropic`, `openai`.
    #[serde(default, deserialize_with = "lenient")]
    pub provider: String,
    /// The model's id as it was asked for.
    #[serde(default, deserialize_with = "lenient")]
    pub model: String,
    /// What the answer cost.
    #[serde(default, deserialize_with = "lenient")]
    pub usage: Usage,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// What went wrong, with `error` and `aborted`; secrets removed.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// When the request was sent.
    #[serde(default, deserialize_with = "lenient")]
    pub timestamp: UnixMs,
}

impl AssistantMessage {
    /// The calls it makes, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall(call) => Some(call),
            AssistantBlock::Text { .. } | AssistantBlock::Thinking { .. } | AssistantBlock::Unknown => None,
        })
    }

    /// Its text without thinking and calls, blocks joined by newlines.
    #[must_use]
    pub fn joined_text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|block| match block {
                AssistantBlock::Text { text } => Some(text.as_str()),
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
    Text {
        /// The text.
        text: String,
    },
    /// What the model thought before it spoke.
    #[serde(rename_all = "camelCase")]
    Thinking {
        /// The thought, or a summary of it; empty when the provider hides it.
        thinking: String,
        /// The provider's seal, sent back unchanged so that it can go on from the thought.
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        thinking_signature: Option<String>,
    },
    /// A call of a tool.
    ToolCall(ToolCall),
    /// A block of a kind that tiller doesn't know; it is not sent back.
    #[serde(other)]
    Unknown,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The provider's id for the call.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// The arguments, an object unless the model erred.
    #[serde(default)]
    pub arguments: Value,
    /// The arguments as they came, when they weren't a JSON object; `arguments` is then empty and the call is
    /// answered with an error.
    #[serde(default, rename = "tillerRawArguments", skip_serializing_if = "Option::is_none")]
    pub raw_arguments: Option<String>,
}

impl ToolCall {
    /// Makes a call from arguments as they streamed in. No text at all means no arguments.
    #[must_use]
    pub fn from_streamed(id: CallId, name: String, arguments: &str) -> Self {
        if arguments.trim().is_empty() {
            return Self { id, name, arguments: Value::Object(Map::new()), raw_arguments: None };
        }
        match serde_json::from_str::<Value>(arguments) {
            Ok(value @ Value::Object(_)) => Self { id, name, arguments: value, raw_arguments: None },
            Ok(_) | Err(_) => Self {
                id,
                name,
                arguments: Value::Object(Map::new()),
                raw_arguments: Some(arguments.to_owned()),
            },
        }
    }
}

/// Arguments that say what a call is about, the most telling first.
const TELLING: [&str; 6] = ["command", "pattern", "path", "url", "query", "name"];

impl ToolCall {
    /// What the call is about, on one line without control characters: a path, a pattern and where, a command's first
    /// line. Empty when no argument tells.
    #[must_use]
    pub fn summary(&self) -> String {
        let text = |name: &str| self.arguments.get(name).and_then(Value::as_str).map(one_line);
        match (text("pattern"), text("path")) {
            (Some(pattern), Some(path)) => format!("{pattern} {path}"),
            (Some(_), None) | (None, Some(_) | None) => TELLING
                .iter()
                .find_map(|name| text(name))
                .or_else(|| self.arguments.as_object()?.values().find_map(Value::as_str).map(one_line))
                .unwrap_or_default(),
        }
    }
}

/// The first line that isn't blank, and `…` if more follow.
fn one_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default().replace(char::is_control, " ");
    if lines.next().is_some() { format!("{first} …") } else { first }
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The model had said what it wanted.
    #[default]
    Stop,
    /// The limit of output tokens was reached; its calls, if any, may be cut off.
    Length,
    /// It waits for the results of its calls.
    ToolUse,
    /// The provider failed; `errorMessage` says how.
    Error,
    /// The user stopped it.
    Aborted,
}

/// What is read if it is what it should be, and else left at its default: a count that is no number must not cost the answer.
pub fn lenient<'de, D, T>(source: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::de::DeserializeOwned + Default,
{
    Value::deserialize(source).map(|value| serde_json::from_value(value).unwrap_or_default())
}

/// Tokens and money of one answer, or of many added up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Input tokens neither read from nor written to the provider's cache.
    pub input: Tokens,
    /// Output tokens, thinking included.
    pub output: Tokens,
    /// Input tokens read from the cache.
    pub cache_read: Tokens,
    /// Input tokens written to the cache.
    pub cache_write: Tokens,
    /// The provider's own total, or the sum of the four.
    pub total_tokens: Tokens,
    /// What they cost.
    pub cost: Cost,
}

impl Usage {
    /// The total, or where that is 0 the sum of the four counts.
    #[must_use]
    pub fn total(&self) -> Tokens {
        match self.total_tokens {
            Tokens(0) => self.input + self.output + self.cache_read + self.cache_write,
            total => total,
        }
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
}

/// Money by kind of token.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// All four.
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

/// What one tool call came to. Every call gets exactly one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    /// The call it answers.
    pub tool_call_id: CallId,
    /// The called tool's name.
    #[serde(default, deserialize_with = "lenient")]
    pub tool_name: String,
    /// What the model reads.
    pub content: Vec<UserBlock>,
    /// What only people and programs read: a diff, an exit code, the reason of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the call failed, was refused or was skipped.
    #[serde(default, deserialize_with = "lenient")]
    pub is_error: bool,
    /// When it ended.
    #[serde(default, deserialize_with = "lenient")]
    pub timestamp: UnixMs,
}

/// A command that the user ran with `!` or `!!`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecutionMessage {
    /// The command as typed.
    pub command: String,
    /// Both of its streams as a terminal shows them, cut to the output limits.
    pub output: String,
    /// Its exit code; absent when it was killed.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether the user, or tiller's own end, stopped it.
    #[serde(default, deserialize_with = "lenient")]
    pub cancelled: bool,
    /// Whether `output` is less than the whole.
    #[serde(default, deserialize_with = "lenient")]
    pub truncated: bool,
    /// The file with the whole output, when `truncated`.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// True for `!!`: logged and shown, never sent to a model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclude_from_context: bool,
    /// Where `output` is coloured.
    #[serde(
        default,
        rename = "tillerStrokes",
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient"
    )]
    pub strokes: Vec<StyleRun>,
    /// When it ended.
    #[serde(default, deserialize_with = "lenient")]
    pub timestamp: UnixMs,
}

/// Whether a tool of this name is tiller's own for commands, so that its results are what they printed. An extension's or a server's tool
/// may have any other name.
#[must_use]
pub fn runs_commands(tool: &str) -> bool {
    tool == "bash"
}

/// Whether a tool of this name runs commands in another program whose sessions are imported. Others may have such a tool too: nothing
/// in a text is obeyed because of it.
#[must_use]
pub fn runs_commands_elsewhere(tool: &str) -> bool {
    matches!(tool, "Bash" | "shell" | "local_shell" | "exec_command")
}

/// A system prompt in a log. Other programs write these; tiller keeps them and sends its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemMessage {
    /// Its text, whatever blocks it came in; may be empty.
    #[serde(default, deserialize_with = "text_of_content")]
    pub content: String,
    /// When it was written.
    #[serde(default, deserialize_with = "lenient")]
    pub timestamp: UnixMs,
}

fn text_of_content<'de, D: serde::Deserializer<'de>>(source: D) -> Result<String, D::Error> {
    Content::deserialize(source).map(|content| content.joined_text())
}

/// How much a model thinks before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// Not at all.
    #[default]
    Off,
    /// As little as the provider allows.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as the provider allows.
    Xhigh,
}

impl ThinkingLevel {
    /// All levels, least first.
    pub const ALL: [Self; 6] = [Self::Off, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh];

    /// The level's name, as typed and logged.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
        }
    }

    /// The level of that name, if there is one.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// A model, named the way a request and the log name it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRef {
    /// The provider's name.
    pub provider: String,
    /// The provider's id for the model.
    pub id: String,
}

impl ModelRef {
    /// Both names joined for a person to read. An id that is a path brings its own slash; what is typed needs both, see `Display`.
    #[must_use]
    pub fn shown(&self) -> String {
        let Self { provider, id } = self;
        if id.starts_with('/') { format!("{provider}{id}") } else { self.to_string() }
    }
}

impl std::fmt::Display for ModelRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.id)
    }
}

/// What a model is told of a tool, and what the policy may ask about it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name the model calls it by.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments: an object.
    pub parameters: Arc<Value>,
    /// What it may do to the world.
    pub access: Access,
}

/// What a tool may do to the world, by its own declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Looks only; may run beside others of its kind.
    Reads,
    /// Changes files beneath the working directory.
    Writes,
    /// Runs anything at all.
    Executes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_is_a_path_is_shown_with_one_slash_and_named_with_both() {
        let model = |id: &str| ModelRef { provider: "scripted".into(), id: id.into() };
        assert_eq!(model("/tmp/a.jsonl").shown(), "scripted/tmp/a.jsonl");
        assert_eq!(model("/tmp/a.jsonl").to_string(), "scripted//tmp/a.jsonl");
        assert_eq!(model("a.jsonl").shown(), "scripted/a.jsonl");
    }

    #[test]
    fn arguments_that_are_no_object_are_kept_as_they_came() {
        let call = ToolCall::from_streamed("c1".into(), "bash".into(), r#"{"command": "l"#);
        assert_eq!(call.arguments, serde_json::json!({}));
        assert_eq!(call.raw_arguments.as_deref(), Some(r#"{"command": "l"#));
    }

    #[test]
    fn a_call_without_argument_text_has_no_arguments() {
        let call = ToolCall::from_streamed("c1".into(), "list_files".into(), "");
        assert_eq!(call.arguments, serde_json::json!({}));
        assert_eq!(call.raw_arguments, None);
    }

    #[test]
    fn a_call_is_summed_up_by_the_argument_that_tells() {
        for (arguments, expected) in [
            (r#"{"command": "\n cargo test\u001b[1m\nls", "timeout": 3}"#, "cargo test [1m …"),
            (r#"{"path": "src/a.rs", "content": "x"}"#, "src/a.rs"),
            (r#"{"pattern": "fn main", "path": "src"}"#, "fn main src"),
            (r#"{"pattern": "*.rs"}"#, "*.rs"),
            (r#"{"count": 3, "city": "Oslo"}"#, "Oslo"),
            ("{}", ""),
        ] {
            assert_eq!(ToolCall::from_streamed("c".into(), "x".into(), arguments).summary(), expected);
        }
    }

    #[test]
    fn a_message_is_written_in_the_logs_form() {
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
    fn a_system_prompt_in_blocks_is_read_too() {
        let text =
            r#"{"role":"system","content":[{"type":"text","text":"Be kind."}],"sections":{},"timestamp":7}"#;
        let said = SystemMessage { content: "Be kind.".into(), timestamp: UnixMs(7) };
        assert_eq!(serde_json::from_str::<Message>(text).unwrap(), Message::System(said));
    }

    #[test]
    fn an_unknown_block_does_not_cost_its_message() {
        let text = r#"{"role":"assistant","content":[{"type":"hologram","x":1},{"type":"text","text":"hi"}],"stopReason":"stop"}"#;
        let Message::Assistant(message) = serde_json::from_str(text).unwrap() else {
            panic!("an assistant message")
        };
        assert_eq!(message.content[0], AssistantBlock::Unknown);
        assert_eq!(message.joined_text(), "hi");
    }

    #[test]
    fn usage_without_a_total_adds_up_its_parts() {
        let mut sum = Usage { input: Tokens(5), output: Tokens(2), ..Usage::default() };
        assert_eq!(sum.total(), Tokens(7));
        sum.add(&Usage { input: Tokens(1), total_tokens: Tokens(9), ..Usage::default() });
        assert_eq!((sum.input, sum.total()), (Tokens(6), Tokens(16)));
    }
}
