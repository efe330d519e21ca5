//! Gemini's request bodies, and its recorded answers.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tiller_core::message::{AssistantBlock, Message, StopReason, ThinkingLevel, ToolCall, Usage, UserBlock};
use tiller_core::tool_spec::ToolSpec;
use tiller_core::unit::Tokens;
use tiller_provider::{
    Endpoint, Gemini, ModelFacts, ProviderError, Request, StreamEvent, ThinkingControl, ToolChoice, catalog,
};
use tiller_test_support::mock_server::RecordedRequest;

use super::bodies::{
    answer, call, conversation, image, record_request, request, result, text, text_answer, thinking, user,
};
use crate::{gemini, list_files};

const API: &str = "google-generative-ai";
const MODEL: &str = "gemini-4-carbon";
const OLDER_MODEL: &str = "gemini-2.5-flash";

pub(super) async fn record_gemini_request(request: Request) -> RecordedRequest {
    record_request(|server| Arc::new(gemini(server)), request).await
}

fn text_part(text: &str) -> Value {
    json!({ "text": text })
}

fn picture() -> Value {
    json!({ "inlineData": { "mimeType": "image/png", "data": "aW1n" } })
}

#[tokio::test]
async fn gemini_body_has_every_kind_of_message() {
    let request = Request { thinking: ThinkingLevel::Medium, ..request(MODEL, conversation()) };
    let recorded = record_gemini_request(request).await;
    let call =
        |id: &str, args: Value| json!({ "functionCall": { "id": id, "name": "list_files", "args": args } });
    let response = |id: &str, response: Value| json!({ "functionResponse": { "id": id, "name": "list_files", "response": response, "parts": [picture()] } });
    let expected = json!({
        "systemInstruction": { "parts": [text_part("Be brief.")] },
        "contents": [
            { "role": "user", "parts": [text_part("look"), picture()] },
            { "role": "model", "parts": [
                text_part("I look."),
                call("toolu_1", json!({ "path": "." })),
                call("call_2", json!({})),
            ] },
            { "role": "user", "parts": [
                response("toolu_1", json!({ "output": "a\nb" })),
                response("call_2", json!({ "error": "[image]" })),
                text_part("Ran `make`\n```\nout\n```\n(exit code 0)"),
                text_part("and now?"),
            ] },
            { "role": "model", "parts": [text_part("Done.")] },
            { "role": "user", "parts": [text_part("thanks")] },
        ],
        "tools": [{ "functionDeclarations": [{
            "name": "list_files",
            "description": "Lists files.",
            "parametersJsonSchema": { "type": "object", "properties": { "path": { "type": "string" } } },
        }] }],
        "toolConfig": { "functionCallingConfig": { "mode": "AUTO" } },
        "generationConfig": {
            "maxOutputTokens": 4_000,
            "temperature": 0.5,
            "thinkingConfig": { "includeThoughts": true, "thinkingLevel": "medium" },
        },
    });
    assert_eq!(recorded.body, expected);
    assert_eq!(recorded.path, "/v1beta/models/gemini-4-carbon:streamGenerateContent?alt=sse");
    assert_eq!(recorded.headers["x-goog-api-key"], "hush-hush-key");
    assert!(!recorded.headers.contains_key("authorization"));
}

#[tokio::test]
async fn gemini_body_for_an_older_model_has_images_after_results() {
    let request = Request {
        tools: Arc::new([]),
        system: String::new(),
        temperature: None,
        ..request(OLDER_MODEL, conversation())
    };
    let body = record_gemini_request(request).await.body;
    let call = |args: Value| json!({ "functionCall": { "name": "list_files", "args": args } });
    let response =
        |response: Value| json!({ "functionResponse": { "name": "list_files", "response": response } });
    let intro = text_part("Images in the result of list_files:");
    let expected = json!({
        "contents": [
            { "role": "user", "parts": [text_part("look"), picture()] },
            { "role": "model", "parts": [
                text_part("I look."), call(json!({ "path": "." })), call(json!({})),
            ] },
            { "role": "user", "parts": [
                response(json!({ "output": "a\nb" })),
                response(json!({ "error": "[image]" })),
                intro,
                picture(),
                text_part("Ran `make`\n```\nout\n```\n(exit code 0)"),
                intro,
                picture(),
                text_part("and now?"),
            ] },
            { "role": "model", "parts": [text_part("Done.")] },
            { "role": "user", "parts": [text_part("thanks")] },
        ],
        "generationConfig": { "maxOutputTokens": 4_000, "thinkingConfig": { "thinkingBudget": 0 } },
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn gemini_body_for_an_older_model_needs_no_thinking() {
    let model = ModelFacts { thinking: ThinkingControl::Never, ..catalog::assumed("gemini", OLDER_MODEL) };
    let request = Request { model: Arc::new(model), ..request(OLDER_MODEL, conversation()) };
    let body = record_gemini_request(request).await.body;
    let call = json!({ "functionCall": { "name": "list_files", "args": { "path": "." } } });
    assert_eq!(body["contents"][1]["parts"][1], call, "without an id");
}

fn signed_call(id: &str, signature: &str) -> AssistantBlock {
    AssistantBlock::ToolCall(ToolCall {
        thought_signature: Some(signature.into()),
        ..ToolCall::from_streamed(id.into(), "list_files".into(), "")
    })
}

/// Two turns. The second starts with an answer by [`MODEL`], is steered, and continues with answers by other models.
fn turns() -> Vec<Message> {
    let result = |id: &str| result(id, vec![text("a")], false);
    let plain_call = |id: &str| call(id, json!({}));
    vec![
        user(vec![text("first")]),
        answer("openai-completions", "gpt-5", vec![plain_call("a")]),
        result("a"),
        answer(API, MODEL, vec![text_answer("done")]),
        user(vec![text("second")]),
        answer(API, MODEL, vec![thinking("hm", Some("dGg=")), signed_call("b", "c2Vh"), plain_call("c")]),
        result("b"),
        result("c"),
        user(vec![text("faster")]),
        answer(API, "gemini-3.8-flash", vec![signed_call("d", "b3RoZXI="), signed_call("e", "b3RoZXI=")]),
        result("d"),
        result("e"),
        answer("openai-completions", "gpt-5", vec![plain_call("f")]),
        result("f"),
    ]
}

/// Returns the ids of the calls in a body, or their names, with their signatures.
fn signatures(body: &Value) -> Vec<(String, Option<String>)> {
    let contents = body["contents"].as_array().unwrap().iter();
    let parts = contents.flat_map(|content| content["parts"].as_array().unwrap());
    let signature = |part: &Value| part.get("thoughtSignature").map(|text| text.as_str().unwrap().to_owned());
    parts
        .filter_map(|part| {
            let id =
                part["functionCall"]["id"].as_str().or_else(|| part["thought"].as_bool()?.then_some("hm"))?;
            Some((id.to_owned(), signature(part)))
        })
        .collect()
}

#[tokio::test]
async fn gemini_body_signs_the_first_call_of_each_step() {
    let foreign = Some("skip_thought_signature_validator");
    let body = record_gemini_request(request(MODEL, turns())).await.body;
    let expected = [
        ("a", None),
        ("hm", Some("dGg=")),
        ("b", Some("c2Vh")),
        ("c", None),
        ("d", foreign),
        ("e", None),
        ("f", foreign),
    ];
    let expected = expected.map(|(id, signature)| (id.to_owned(), signature.map(str::to_owned)));
    assert_eq!(signatures(&body), expected);
    let body = record_gemini_request(request(OLDER_MODEL, turns())).await.body;
    assert!(!body.to_string().contains("thoughtSignature"), "{body:#}");
}

#[tokio::test]
async fn gemini_signature_of_text_goes_back_to_its_model() {
    let signed = AssistantBlock::Text { text: "done".into(), text_signature: Some("c2Vh".into()) };
    for (model, signature) in [(MODEL, Some("c2Vh")), ("gemini-3.8-flash", None)] {
        let body =
            record_gemini_request(request(MODEL, vec![answer(API, model, vec![signed.clone()])])).await.body;
        let part = &body["contents"][0]["parts"][0];
        assert_eq!((&part["text"], part["thoughtSignature"].as_str()), (&json!("done"), signature));
    }
}

#[tokio::test]
async fn gemini_body_without_content_has_no_parts() {
    let alone = answer(API, MODEL, vec![thinking("alone", Some("dGg="))]);
    for messages in [vec![], vec![alone], vec![user(vec![text(" ")])]] {
        let body = record_gemini_request(request(MODEL, messages)).await.body;
        assert_eq!(body["contents"], json!([]));
    }
    let orphans = vec![result("x", vec![], true), answer(API, MODEL, vec![call("y", json!([1]))])];
    let body = record_gemini_request(request(MODEL, orphans)).await.body;
    let parts = |at: usize| &body["contents"][at]["parts"][0];
    assert_eq!(parts(0)["functionResponse"]["response"], json!({ "error": "(no output)" }));
    assert_eq!(parts(1)["functionCall"]["args"], json!({}));
}

#[tokio::test]
async fn gemini_body_replaces_images_of_refused_types() {
    let gif = || UserBlock::Image { data: "aW1n".into(), mime_type: "image/gif".into() };
    let pdf = UserBlock::Image { data: "cGRm".into(), mime_type: "application/pdf".into() };
    let messages = vec![
        user(vec![gif(), pdf]),
        answer(API, MODEL, vec![signed_call("a", "c2Vh")]),
        result("a", vec![gif()], false),
        user(vec![image()]),
    ];
    let body = record_gemini_request(request(MODEL, messages)).await.body;
    let pdf = json!({ "inlineData": { "mimeType": "application/pdf", "data": "cGRm" } });
    assert_eq!(body["contents"][0]["parts"], json!([text_part("[image]"), pdf]));
    let response = json!({ "functionResponse": { "id": "a", "name": "list_files", "response": { "output": "[image]" } } });
    assert_eq!(body["contents"][2]["parts"], json!([response, picture()]));
}

#[tokio::test]
async fn gemini_thinking_parameters_match_the_model() {
    use ThinkingLevel::{High, Low, Minimal, Off, Xhigh};
    let level = |level: &str| json!({ "includeThoughts": true, "thinkingLevel": level });
    let budget = |budget: u64| json!({ "includeThoughts": true, "thinkingBudget": budget });
    let cases = [
        (MODEL, Low, 60_000, level("low")),
        (MODEL, Xhigh, 60_000, level("high")),
        ("gemini-4-hydrogen", Xhigh, 60_000, level("xhigh")),
        ("gemini-9-pro", High, 60_000, level("high")),
        (OLDER_MODEL, Off, 60_000, json!({ "thinkingBudget": 0 })),
        (OLDER_MODEL, High, 60_000, budget(20_480)),
        (OLDER_MODEL, Xhigh, 60_000, budget(24_576)),
        (OLDER_MODEL, High, 8_000, budget(6_000)),
        (OLDER_MODEL, Minimal, 400, budget(512)),
        ("gemini-2.5-pro", Off, 60_000, budget(1_024)),
        ("gemini-2.0-flash", High, 60_000, Value::Null),
        ("gemma-4", High, 60_000, Value::Null),
    ];
    for (model, thinking, max_tokens, expected) in cases {
        let messages = vec![user(vec![text("a")])];
        let request = Request { thinking, max_tokens: Tokens(max_tokens), ..request(model, messages) };
        let body = record_gemini_request(request).await.body;
        assert_eq!(body["generationConfig"]["thinkingConfig"], expected, "{model} {thinking:?}");
    }
}

#[tokio::test]
async fn gemini_body_has_tools_with_json_schema() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": { "n": { "type": ["integer", "null"], "exclusiveMinimum": 0 }, "$schema": { "$ref": "#/$defs/a" } },
        "additionalProperties": false,
        "$defs": { "a": { "const": 1 } },
    });
    let mut sent = schema.clone();
    sent.as_object_mut().unwrap().remove("$schema");
    let request = Request {
        tools: Arc::new([ToolSpec { parameters: Arc::new(schema), ..list_files() }]),
        tool_choice: ToolChoice::None,
        ..request(MODEL, vec![user(vec![text("a")])])
    };
    let body = record_gemini_request(request).await.body;
    let tool = json!({ "name": "list_files", "description": "Lists files.", "parametersJsonSchema": sent });
    assert_eq!(body["tools"], json!([{ "functionDeclarations": [tool] }]));
    assert_eq!(body["toolConfig"], json!({ "functionCallingConfig": { "mode": "NONE" } }));
}

#[tokio::test]
async fn gemini_path_escapes_the_model() {
    let recorded = record_gemini_request(request("tuned/ö?:1", vec![user(vec![text("a")])])).await;
    assert_eq!(recorded.path, "/v1beta/models/tuned%2F%C3%B6%3F%3A1:streamGenerateContent?alt=sse");
}

const TEXT: &[u8] = include_bytes!("../../../../fuzz/corpus/gemini_answer/text.sse");
const CALLS: &[u8] = include_bytes!("../../../../fuzz/corpus/gemini_answer/calls.sse");

type Item = Result<StreamEvent, ProviderError>;

async fn decode(pieces: &[&'static [u8]]) -> Vec<Item> {
    static PROVIDER: LazyLock<Gemini> =
        LazyLock::new(|| Gemini::new(Endpoint::new("gemini", "http://localhost", "KEY")).unwrap());
    PROVIDER.decode(pieces.iter().map(|piece| Bytes::from_static(piece)).collect()).collect().await
}

fn thought_event(block: usize, text: &str) -> StreamEvent {
    StreamEvent::Thinking { block, text: text.into() }
}

fn text_event(block: usize, text: &str) -> StreamEvent {
    StreamEvent::Text { block, text: text.into() }
}

fn call_event(block: usize, id: &str, name: &str) -> StreamEvent {
    StreamEvent::Call { block, id: id.into(), name: name.into() }
}

fn arguments_event(block: usize, json: &str) -> StreamEvent {
    StreamEvent::Arguments { block, json: json.into() }
}

fn usage_event(input: u64, cache_read: u64, output: u64) -> StreamEvent {
    StreamEvent::Usage(Usage {
        input: Tokens(input),
        output: Tokens(output),
        cache_read: Tokens(cache_read),
        total_tokens: Tokens(input + cache_read + output),
        ..Usage::default()
    })
}

#[tokio::test]
async fn gemini_recorded_answers_are_decoded_whole() {
    let text = [
        usage_event(9, 0, 31),
        thought_event(0, "**Greeting**\n\nThe user says hello — 😀."),
        usage_event(9, 0, 35),
        StreamEvent::End { block: 0 },
        text_event(1, "Hello! How can"),
        usage_event(9, 0, 41),
        text_event(1, " I help — größer?"),
        usage_event(9, 0, 41),
        StreamEvent::Signature { block: 1, text: "EjQKMgEMOdbHyzZMKtO9Zsck3Q==".into() },
        StreamEvent::End { block: 1 },
        StreamEvent::Finished(StopReason::Stop),
    ];
    assert_eq!(decode(&[TEXT]).await, text.map(Ok));
    let calls = [
        usage_event(904, 4_096, 60),
        thought_event(0, "**Looking**\n\nTwo folders."),
        usage_event(904, 4_096, 65),
        StreamEvent::End { block: 0 },
        text_event(1, "I look into both."),
        usage_event(904, 4_096, 100),
        StreamEvent::End { block: 1 },
        call_event(2, "8f2b1a90", "list_files"),
        arguments_event(2, r#"{"path": "src/ä"}"#),
        StreamEvent::Signature { block: 2, text: "CiQBcsjafM3yVGOnGF+8/A==".into() },
        StreamEvent::End { block: 2 },
        call_event(3, "c41d77e2", "grep"),
        arguments_event(3, r#"{"pattern": "a\\nb", "ignore_case": true}"#),
        StreamEvent::End { block: 3 },
        usage_event(904, 4_096, 100),
        StreamEvent::Finished(StopReason::ToolUse),
    ];
    assert_eq!(decode(&[CALLS]).await, calls.map(Ok));
}

#[tokio::test]
async fn gemini_recorded_answers_may_be_split_anywhere() {
    for recorded in [TEXT, CALLS] {
        let whole = decode(&[recorded]).await;
        for at in 0..=recorded.len() {
            let (start, end) = recorded.split_at(at);
            assert_eq!(decode(&[start, end]).await, whole, "split at {at}");
        }
    }
}
