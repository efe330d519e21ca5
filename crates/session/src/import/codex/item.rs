//! Parsing of items in the model's history. Pure.

use serde_json::{Map, Value};
use tiller_core::message::{AssistantBlock, ToolCall, UserBlock};

use super::super::blocks;
use super::super::source::{LineSpan, items, text};
use super::super::warning::ImportWarnings;

/// Prefixes of user messages that the program injects.
const INJECTED: [&str; 8] = [
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<skill>",
    "<subagent_notification>",
];

/// An item of the model's history.
pub(super) enum Item {
    /// A user message.
    Prompt(Vec<UserBlock>),
    /// A block of an answer.
    Answer(AssistantBlock),
    /// A call's result.
    Output { call: String, content: Vec<UserBlock>, is_error: bool },
    /// An item that is not imported.
    Nothing,
}

/// Parses an item; adds a warning if data is dropped.
pub(super) fn read_item(item: &Value, span: LineSpan, warnings: &mut ImportWarnings) -> Vec<Item> {
    match text(item, "type").unwrap_or_default() {
        "message" => message(item, span, warnings),
        "reasoning" => vec![reasoning(item)],
        "function_call" | "custom_tool_call" | "local_shell_call" => vec![call(item, span, warnings)],
        "function_call_output" | "custom_tool_call_output" => vec![output(item, span, warnings)],
        "web_search_call" => {
            warnings.add(span.number, "web searches as text");
            vec![Item::Answer(text_block(format!("[web search: {}]", search_query(item))))]
        }
        // Internal to Codex.
        "ghost_snapshot" => Vec::new(),
        kind => {
            warnings.add(span.number, format!("skipped items ({kind})"));
            Vec::new()
        }
    }
}

fn text_block(text: String) -> AssistantBlock {
    AssistantBlock::text(text)
}

fn message(item: &Value, span: LineSpan, warnings: &mut ImportWarnings) -> Vec<Item> {
    let parts = items(item, "content");
    match text(item, "role").unwrap_or_default() {
        "assistant" => {
            let texts = parts.iter().filter_map(|part| text(part, "text")).filter(|text| !text.is_empty());
            texts.map(|text| Item::Answer(text_block(text.to_owned()))).collect()
        }
        "user" if !is_injected(item) => vec![Item::Prompt(content(parts, span, warnings))],
        _ => {
            warnings.add(span.number, "skipped injected text");
            Vec::new()
        }
    }
}

/// Returns true for a user message that the program injected.
fn is_injected(item: &Value) -> bool {
    let kinds = item.pointer("/internal_chat_message_metadata_passthrough/content_item_kinds");
    if let Some(kinds) = kinds.and_then(Value::as_array).filter(|kinds| !kinds.is_empty()) {
        let is_users =
            |kind: &Value| kind.as_str().is_none_or(|kind| kind.starts_with("user") || kind == "unknown");
        if !kinds.iter().any(is_users) {
            return true;
        }
    }
    let first = items(item, "content").iter().find_map(|part| text(part, "text")).unwrap_or_default();
    INJECTED.iter().any(|beginning| first.trim_start().starts_with(beginning))
}

/// Returns the content of a user message or a tool result.
fn content(parts: &[Value], span: LineSpan, warnings: &mut ImportWarnings) -> Vec<UserBlock> {
    let mut blocks = Vec::new();
    for part in parts {
        match text(part, "type").unwrap_or_default() {
            "input_text" | "output_text" | "text" => {
                let content_text = text(part, "text").filter(|text| !text.is_empty());
                blocks.extend(content_text.map(|text| UserBlock::Text { text: text.to_owned() }));
            }
            "input_image" => {
                let url = text(part, "image_url").unwrap_or_default();
                blocks.extend(blocks::image_url(url, span, warnings));
            }
            kind => warnings.add(span.number, format!("skipped blocks ({kind})")),
        }
    }
    blocks
}

/// Returns the summary or text of a reasoning item. The signature is the complete item, as in tiller's own
/// sessions with OpenAI.
fn reasoning(item: &Value) -> Item {
    let texts =
        |key: &str| -> Vec<&str> { items(item, key).iter().filter_map(|part| text(part, "text")).collect() };
    let (summary, full_texts) = (texts("summary"), texts("content"));
    let thinking = if summary.is_empty() { full_texts.join("\n\n") } else { summary.join("\n\n") };
    let thinking_signature = text(item, "encrypted_content").map(|_| {
        let keys = ["type", "id", "summary", "encrypted_content"];
        let entries = keys.into_iter().filter_map(|key| Some((key.to_owned(), item.get(key)?.clone())));
        Value::Object(entries.collect::<Map<_, _>>()).to_string()
    });
    if thinking.is_empty() && thinking_signature.is_none() {
        return Item::Nothing;
    }
    Item::Answer(AssistantBlock::Thinking { thinking, thinking_signature })
}

fn call(item: &Value, span: LineSpan, warnings: &mut ImportWarnings) -> Item {
    let id = text(item, "call_id").or_else(|| text(item, "id"));
    let (name, arguments) = match text(item, "type") {
        Some("custom_tool_call") => {
            let input = item.get("input").cloned().unwrap_or(Value::Null);
            (text(item, "name"), Value::Object(Map::from_iter([("input".to_owned(), input)])))
        }
        Some("local_shell_call") => (Some("local_shell"), item.get("action").cloned().unwrap_or(Value::Null)),
        _ => (text(item, "name"), item.get("arguments").cloned().unwrap_or(Value::Null)),
    };
    let call: Option<ToolCall> = blocks::tool_call(id, name, arguments, span, warnings);
    call.map_or(Item::Nothing, |call| Item::Answer(AssistantBlock::ToolCall(call)))
}

fn output(item: &Value, span: LineSpan, warnings: &mut ImportWarnings) -> Item {
    let output = item.get("output").unwrap_or(&Value::Null);
    let content = match output {
        Value::String(text) => vec![UserBlock::Text { text: text.clone() }],
        Value::Array(parts) => content(parts, span, warnings),
        // Older versions write an object.
        other => match other.get("content") {
            Some(Value::String(text)) => vec![UserBlock::Text { text: text.clone() }],
            _ => content(items(other, "content_items"), span, warnings),
        },
    };
    let is_error = output.get("success") == Some(&Value::Bool(false));
    Item::Output { call: text(item, "call_id").unwrap_or_default().to_owned(), content, is_error }
}

fn search_query(item: &Value) -> String {
    let action = item.get("action").unwrap_or(&Value::Null);
    let detail = ["query", "url", "pattern"].into_iter().find_map(|key| text(action, key));
    detail.unwrap_or("?").to_owned()
}

/// Returns the texts of a compaction's new history: user messages, the last of which is the summary.
pub(super) fn replacement(history: &[Value]) -> Vec<String> {
    let users = history.iter().filter(|item| {
        text(item, "type") == Some("message") && text(item, "role") == Some("user") && !is_injected(item)
    });
    users
        .map(|item| {
            let texts: Vec<&str> =
                items(item, "content").iter().filter_map(|part| text(part, "text")).collect();
            texts.join("\n")
        })
        .filter(|text| !text.trim().is_empty())
        .collect()
}
