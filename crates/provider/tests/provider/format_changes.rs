//! A conversation that moves from each wire format to each other one: what only the first provider understands stays
//! behind, and the rest is valid in the next one's request.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tiller_core::message::{AssistantBlock, AssistantMessage, Message, StopReason, ThinkingLevel, ToolCall};
use tiller_provider::Request;

use crate::bodies::{
    image, record_anthropic_request, record_open_ai_request, record_responses_request, request, result, text,
    user,
};
use crate::gemini::record_gemini_request;

/// Returns the id in a block or item; null if it has none.
type FindId = fn(&Value) -> &Value;

/// A wire format, with a model that uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Anthropic,
    Chat,
    Responses,
    Gemini,
}

const FORMATS: [Format; 4] = [Format::Anthropic, Format::Chat, Format::Responses, Format::Gemini];

impl Format {
    /// The names of the wire format, the provider and the model.
    const fn names(self) -> [&'static str; 3] {
        match self {
            Self::Anthropic => ["anthropic-messages", "anthropic", "claude-opus-4-5"],
            Self::Chat => ["openai-completions", "openai", "gpt-5.1"],
            Self::Responses => ["openai-responses", "openai", "gpt-5.1"],
            Self::Gemini => ["google-generative-ai", "gemini", "gemini-3-pro-preview"],
        }
    }

    /// Ids of two calls, as its server makes them.
    const fn ids(self) -> [&'static str; 2] {
        match self {
            Self::Anthropic => ["toolu_01A09q90qw90lq917835lq9", "toolu_01B"],
            Self::Chat => ["call_9pw1qnYScqvGrCH58HWCvFH6", "0"],
            Self::Responses => {
                ["call_a|fc_0123456789012345678901234567890123456789012345678901", "call_b|fc_1"]
            }
            Self::Gemini => ["list_files:1/2", "größe"],
        }
    }

    /// An answer with thinking and two calls, signed as its server signs. Each signature contains `SEAL`.
    fn answer(self) -> Message {
        let signature = match self {
            Self::Anthropic | Self::Gemini => "SEAL".to_owned(),
            Self::Chat => json!([{ "type": "reasoning.encrypted", "data": "SEAL" }]).to_string(),
            Self::Responses => {
                json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "SEAL" })
                    .to_string()
            }
        };
        let thought_signature = (self == Self::Gemini).then(|| "SEAL".to_owned());
        let call = |id: &str| {
            AssistantBlock::ToolCall(ToolCall {
                id: id.into(),
                name: "list_files".into(),
                arguments: json!({ "path": "src" }),
                raw_arguments: None,
                thought_signature: thought_signature.clone(),
            })
        };
        let [api, provider, model] = self.names();
        let [first, second] = self.ids();
        let thinking =
            AssistantBlock::Thinking { thinking: "hm".into(), thinking_signature: Some(signature) };
        Message::Assistant(AssistantMessage {
            content: vec![thinking, AssistantBlock::text("I look."), call(first), call(second)],
            api: api.into(),
            provider: provider.into(),
            model: model.into(),
            stop_reason: StopReason::ToolUse,
            ..AssistantMessage::default()
        })
    }

    /// A conversation in which this format's model called tools.
    fn conversation(self) -> Vec<Message> {
        let [first, second] = self.ids();
        vec![
            user(vec![text("look"), image()]),
            self.answer(),
            result(first, vec![text("a"), image()], false),
            result(second, vec![text("b")], true),
            user(vec![text("and now?")]),
        ]
    }

    async fn body(self, messages: Vec<Message>) -> Value {
        let request = Request { thinking: ThinkingLevel::Medium, ..request(self.names()[2], messages) };
        let recorded = match self {
            Self::Anthropic => record_anthropic_request(request).await,
            Self::Chat => record_open_ai_request(request).await,
            Self::Responses => record_responses_request(request).await,
            Self::Gemini => record_gemini_request(request).await,
        };
        recorded.body
    }

    /// The ids of the calls and of the results in a body, in order.
    fn call_and_result_ids(self, body: &Value) -> [Vec<String>; 2] {
        let (list, call, result): (_, FindId, FindId) = match self {
            Self::Anthropic => (
                flattened(&body["messages"], "content"),
                |block| if block["type"] == "tool_use" { &block["id"] } else { &Value::Null },
                |block| &block["tool_use_id"],
            ),
            Self::Chat => (
                [flattened(&body["messages"], "tool_calls"), items(&body["messages"])].concat(),
                |item| if item["type"] == "function" { &item["id"] } else { &Value::Null },
                |item| &item["tool_call_id"],
            ),
            Self::Responses => (
                items(&body["input"]),
                |item| if item["type"] == "function_call" { &item["call_id"] } else { &Value::Null },
                |item| if item["type"] == "function_call_output" { &item["call_id"] } else { &Value::Null },
            ),
            Self::Gemini => (
                flattened(&body["contents"], "parts"),
                |part| &part["functionCall"]["id"],
                |part| &part["functionResponse"]["id"],
            ),
        };
        let ids = |id: FindId| list.iter().filter_map(|item| id(item).as_str()).map(str::to_owned).collect();
        [ids(call), ids(result)]
    }
}

fn items(list: &Value) -> Vec<Value> {
    list.as_array().cloned().unwrap_or_default()
}

/// The items of this field of all messages.
fn flattened(messages: &Value, field: &str) -> Vec<Value> {
    items(messages).iter().flat_map(|message| items(&message[field])).collect()
}

#[tokio::test]
async fn conversation_is_valid_in_every_other_format() {
    for (from, to) in FORMATS.into_iter().flat_map(|from| FORMATS.map(|to| (from, to))) {
        let body = to.body(from.conversation()).await;
        let written = body.to_string();
        // Chat Completions has no place for reasoning, except at routers.
        let keeps_signatures = from == to && to != Format::Chat;
        assert_eq!(written.contains("SEAL"), keeps_signatures, "{from:?} to {to:?}: signatures, {body:#}");
        assert_eq!(written.matches("aW1n").count(), 2, "{from:?} to {to:?}: images, {body:#}");

        let [calls, results] = to.call_and_result_ids(&body);
        assert_eq!((calls.len(), &calls), (2, &results), "{from:?} to {to:?}: {body:#}");
        assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), 2, "{from:?} to {to:?}: {calls:?}");
        let is_valid = |id: &String| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
            to == Format::Gemini || (id.len() <= 64 && id.chars().all(is_plain))
        };
        assert!(calls.iter().all(is_valid), "{from:?} to {to:?}: {calls:?}");
    }
}

/// A conversation in which a server gave each call the same id, and its model called a tool that doesn't exist.
fn repeated_calls() -> Vec<Message> {
    let call = || {
        AssistantBlock::ToolCall(ToolCall {
            id: "call_0".into(),
            name: "functions.bash<|channel|>json".into(),
            arguments: json!({}),
            raw_arguments: None,
            thought_signature: None,
        })
    };
    let answer = || {
        Message::Assistant(AssistantMessage {
            content: vec![call()],
            stop_reason: StopReason::ToolUse,
            ..AssistantMessage::default()
        })
    };
    let mut result = result("call_0", vec![text("unknown tool")], true);
    if let Message::ToolResult(result) = &mut result {
        result.tool_name = "functions.bash<|channel|>json".into();
    }
    vec![user(vec![text("look")]), answer(), result.clone(), answer(), result, user(vec![text("go on")])]
}

#[tokio::test]
async fn repeated_call_ids_become_unique() {
    for format in FORMATS {
        let body = format.body(repeated_calls()).await;
        let ids = ["call_0", "call_0-2"].map(str::to_owned).to_vec();
        assert_eq!(format.call_and_result_ids(&body), [ids.clone(), ids], "{format:?}: {body:#}");
    }
}

#[tokio::test]
async fn made_up_tool_names_become_accepted_ones() {
    for format in FORMATS {
        let written = format.body(repeated_calls()).await.to_string();
        let count = written.matches(r#""name":"functions_bash__channel__json""#).count();
        // Gemini repeats the name in each result.
        assert_eq!(count, if format == Format::Gemini { 4 } else { 2 }, "{format:?}: {written}");
        assert!(!written.contains("channel|"), "{format:?}: {written}");
    }
}
