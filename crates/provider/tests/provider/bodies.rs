//! The request bodies and the relevant headers.

use std::sync::Arc;

use serde_json::{Value, json};
use tiller_core::message::{
    AssistantBlock, AssistantMessage, BashExecutionMessage, Content, Message, StopReason, SystemMessage,
    ThinkingLevel, ToolCall, ToolResultMessage, UserBlock, UserMessage,
};
use tiller_core::tool_spec::ToolSpec;
use tiller_core::unit::{Tokens, UnixMs};
use tiller_provider::compat::{Compat, MaxTokensField, ThinkingField, ThinkingFormat};
use tiller_provider::descriptor::ProviderDescriptor;
use tiller_provider::openai_chat::OpenAiChat;
use tiller_provider::{Endpoint, ModelFacts, Provider, Request, ThinkingControl, ToolChoice, catalog};
use tiller_test_support::mock_server::{AnswerPart, MockServer, RecordedRequest, Reply};

use crate::{anthropic, collect, hello, list_files, open_ai, open_ai_endpoint, open_ai_responses};

const MODEL: &str = "claude-opus-4-5";

pub(super) fn text(text: &str) -> UserBlock {
    UserBlock::Text { text: text.into() }
}

pub(super) fn image() -> UserBlock {
    UserBlock::Image { data: "aW1n".into(), mime_type: "image/png".into() }
}

pub(super) fn user(blocks: Vec<UserBlock>) -> Message {
    Message::User(UserMessage { content: Content::Blocks(blocks), timestamp: UnixMs(0), typed: None })
}

pub(super) fn answer(api: &str, model: &str, content: Vec<AssistantBlock>) -> Message {
    let provider = match api {
        "anthropic-messages" => "anthropic",
        "google-generative-ai" => "gemini",
        _ => "openai",
    };
    Message::Assistant(AssistantMessage {
        content,
        api: api.into(),
        provider: provider.into(),
        model: model.into(),
        stop_reason: StopReason::Stop,
        ..AssistantMessage::default()
    })
}

pub(super) fn thinking(text: &str, signature: Option<&str>) -> AssistantBlock {
    AssistantBlock::Thinking { thinking: text.into(), thinking_signature: signature.map(str::to_owned) }
}

pub(super) fn text_answer(text: &str) -> AssistantBlock {
    AssistantBlock::text(text)
}

pub(super) fn call(id: &str, arguments: Value) -> AssistantBlock {
    let name = "list_files".to_owned();
    AssistantBlock::ToolCall(ToolCall {
        id: id.into(),
        name,
        arguments,
        raw_arguments: None,
        thought_signature: None,
    })
}

pub(super) fn result(id: &str, content: Vec<UserBlock>, is_error: bool) -> Message {
    Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "list_files".into(),
        content,
        details: None,
        is_error,
        timestamp: UnixMs(0),
    })
}

pub(super) fn bash(command: &str, exclude_from_context: bool) -> Message {
    Message::BashExecution(BashExecutionMessage {
        command: command.into(),
        output: "out\n".into(),
        exit_code: Some(0),
        exclude_from_context,
        ..BashExecutionMessage::default()
    })
}

/// A message of every kind, and most kinds of problematic messages.
pub(super) fn conversation() -> Vec<Message> {
    vec![
        Message::System(SystemMessage { content: "another program's".into(), timestamp: UnixMs(0) }),
        user(vec![text("look"), image(), text("  "), UserBlock::Unknown]),
        answer(
            "anthropic-messages",
            MODEL,
            vec![
                thinking("hm", Some("c2Vhb")),
                thinking("", Some("redacted:eHg=")),
                thinking("cut off", None),
                text_answer("I look."),
                text_answer(""),
                call("toolu_1", json!({ "path": "." })),
                call("call|2", Value::Null),
                AssistantBlock::Unknown,
            ],
        ),
        result("toolu_1", vec![text("a\nb"), image()], false),
        bash("make", false),
        result("call|2", vec![text(" "), image()], true),
        user(vec![text("and now?")]),
        bash("secret", true),
        answer("anthropic-messages", MODEL, vec![]),
        answer("openai-completions", "gpt-5", vec![thinking("foreign", Some("x")), text_answer("Done.")]),
        Message::User(UserMessage {
            content: Content::Text(String::new()),
            timestamp: UnixMs(0),
            typed: None,
        }),
        answer("anthropic-messages", "claude-opus-4-1", vec![thinking("alone", Some("x"))]),
        Message::User(UserMessage {
            content: Content::Text("thanks".into()),
            timestamp: UnixMs(0),
            typed: None,
        }),
    ]
}

pub(super) fn request(model: &str, messages: Vec<Message>) -> Request {
    Request {
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::new([list_files()]),
        temperature: Some(0.5),
        ..hello(model)
    }
}

pub(super) async fn record_request(
    provider: impl Fn(&MockServer) -> Arc<dyn Provider>,
    request: Request,
) -> RecordedRequest {
    let server = MockServer::start([Reply::answer([AnswerPart::text("ok")])]);
    collect(&*provider(&server), request).await.pop().unwrap().unwrap();
    server.requests().remove(0)
}

pub(super) async fn record_anthropic_request(request: Request) -> RecordedRequest {
    record_request(|server| Arc::new(anthropic(server)), request).await
}

pub(super) async fn record_open_ai_request(request: Request) -> RecordedRequest {
    record_request(|server| Arc::new(open_ai(server)), request).await
}

pub(super) async fn record_responses_request(request: Request) -> RecordedRequest {
    record_request(|server| Arc::new(open_ai_responses(server)), request).await
}

#[tokio::test]
async fn anthropic_body_has_every_kind_of_message() {
    let request = Request { thinking: ThinkingLevel::Medium, ..request(MODEL, conversation()) };
    let recorded = record_anthropic_request(request).await;
    let ephemeral = json!({ "type": "ephemeral" });
    let picture =
        json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aW1n" } });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let expected = json!({
        "model": MODEL,
        "max_tokens": 4_000,
        "stream": true,
        "system": [{ "type": "text", "text": "Be brief.", "cache_control": ephemeral }],
        "messages": [
            { "role": "user", "content": [text("look"), picture] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "c2Vhb" },
                { "type": "redacted_thinking", "data": "eHg=" },
                text("I look."),
                { "type": "tool_use", "id": "toolu_1", "name": "list_files", "input": { "path": "." } },
                { "type": "tool_use", "id": "call_2", "name": "list_files", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "toolu_1", "content": [text("a\nb"), picture] },
                { "type": "tool_result", "tool_use_id": "call_2", "content": [text("[image]")], "is_error": true },
                text("Ran `make`\n```\nout\n```\n(exit code 0)"),
                { "type": "text", "text": "and now?", "cache_control": ephemeral },
            ] },
            { "role": "assistant", "content": [text("Done.")] },
            { "role": "user", "content": [{ "type": "text", "text": "thanks", "cache_control": ephemeral }] },
        ],
        "tools": [{
            "name": "list_files",
            "description": "Lists files.",
            "input_schema": { "type": "object", "properties": { "path": { "type": "string" } } },
        }],
        "tool_choice": { "type": "auto" },
        "thinking": { "type": "enabled", "budget_tokens": 3_000 },
    });
    assert_eq!(recorded.body, expected);
    assert_eq!(recorded.path, "/v1/messages");
    assert_eq!(recorded.headers["x-api-key"], "hush-hush-key");
    assert_eq!(recorded.headers["anthropic-version"], "2023-06-01");
    assert_eq!(recorded.headers["content-type"], "application/json");
    assert!(!recorded.headers.contains_key("anthropic-beta"));
}

#[tokio::test]
async fn open_ai_body_has_every_kind_of_message() {
    let request = Request { tool_choice: ToolChoice::None, ..request("some-model", conversation()) };
    let recorded = record_open_ai_request(request).await;
    let picture = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,aW1n" } });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "list_files", "arguments": arguments } });
    let from_result = text("Images in the result of list_files:");
    // Roles alternate, which templates of several models demand.
    let between = [
        from_result.clone(),
        picture.clone(),
        text("Ran `make`\n```\nout\n```\n(exit code 0)"),
        from_result,
        picture.clone(),
        text("and now?"),
    ];
    let expected = json!({
        "model": "some-model",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": [text("look"), picture] },
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [call("toolu_1", r#"{"path":"."}"#), call("call_2", "{}")],
            },
            { "role": "tool", "tool_call_id": "toolu_1", "content": "a\nb" },
            { "role": "tool", "tool_call_id": "call_2", "content": "[image]" },
            { "role": "user", "content": between },
            { "role": "assistant", "content": "Done." },
            { "role": "user", "content": "thanks" },
        ],
        "stream": true,
        "stream_options": { "include_usage": true },
        "max_tokens": 4_000,
        "tools": [{
            "type": "function",
            "function": {
                "name": "list_files",
                "description": "Lists files.",
                "parameters": { "type": "object", "properties": { "path": { "type": "string" } } },
            },
        }],
        "tool_choice": "none",
        "temperature": 0.5,
    });
    assert_eq!(recorded.body, expected);
    assert_eq!(recorded.path, "/v1/chat/completions");
    assert_eq!(recorded.headers["authorization"], "Bearer hush-hush-key");
}

#[tokio::test]
async fn body_of_empty_conversation_is_sent_unchanged() {
    for messages in [vec![], vec![answer("", "", vec![])], vec![user(vec![])]] {
        let recorded = record_anthropic_request(request(MODEL, messages.clone())).await;
        assert_eq!(recorded.body["messages"], json!([]));
        let empty = Request { system: String::new(), tools: Arc::new([]), ..request("m", messages) };
        let recorded = record_open_ai_request(empty.clone()).await;
        assert_eq!(recorded.body["messages"], json!([]));
        assert!(recorded.body.get("tools").is_none() && recorded.body.get("tool_choice").is_none());
        let body = record_responses_request(empty).await.body;
        let expected = json!({ "model": "m", "input": [], "stream": true, "store": false, "max_output_tokens": 4_000, "temperature": 0.5 });
        assert_eq!(body, expected);
    }
}

#[tokio::test]
async fn body_of_unpaired_calls_and_results_is_no_panic() {
    let messages = vec![
        result("orphan", vec![], true),
        answer("openai-completions", "m", vec![call("unanswered", json!([1]))]),
        answer("openai-completions", "m", vec![text_answer("again")]),
        result("late", vec![], false),
    ];
    let body = record_anthropic_request(request(MODEL, messages.clone())).await.body;
    let roles: Vec<_> = body["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(body["messages"][0]["content"][0]["content"][0]["text"], "(no output)");
    let body = record_open_ai_request(request("m", messages.clone())).await.body;
    assert_eq!(body["messages"].as_array().unwrap().len(), 5);
    let body = record_responses_request(request("m", messages)).await.body;
    assert_eq!(body["input"].as_array().unwrap().len(), 4);
}

/// Returns the parameters of thinking, temperature and tokens in a Claude's request, if a thinking block is sent back,
/// and the beta header.
async fn thinking_sent(model: &str, level: ThinkingLevel) -> (Value, bool, Option<String>) {
    let messages = vec![
        user(vec![text("a")]),
        answer("anthropic-messages", model, vec![thinking("hm", Some("x")), text_answer("b")]),
        user(vec![text("c")]),
    ];
    let request = Request { thinking: level, max_tokens: Tokens(60_000), ..request(model, messages) };
    let recorded = record_anthropic_request(request).await;
    let keys = ["max_tokens", "thinking", "output_config", "temperature"];
    let parameters =
        keys.into_iter().filter_map(|key| Some((key.to_owned(), recorded.body.get(key)?.clone()))).collect();
    let has_thinking = recorded.body["messages"][1]["content"][0]["type"] == "thinking";
    (Value::Object(parameters), has_thinking, recorded.headers.get("anthropic-beta").cloned())
}

#[tokio::test]
async fn anthropic_thinking_parameters_match_the_model() {
    let binding = "thinking-binding-controls-2026-08-01".to_owned();
    let bound = json!({ "type": "adaptive", "display": "summarized", "block_binding": { "prefix_mismatch_behavior": "drop_block" } });
    let free = json!({ "type": "adaptive", "display": "summarized" });
    let adaptive = |thinking: &Value, effort: &str| json!({ "max_tokens": 60_000, "thinking": thinking, "output_config": { "effort": effort } });
    let off = |kind: &str| json!({ "max_tokens": 60_000, "thinking": { "type": kind } });
    let budget = |budget: u64, max: u64| json!({ "max_tokens": max, "thinking": { "type": "enabled", "budget_tokens": budget } });
    use ThinkingLevel::{High, Low, Minimal, Off, Xhigh};
    let cases = [
        ("claude-opus-5-5", Off, (adaptive(&bound, "low"), true, Some(binding.clone()))),
        ("claude-opus-5-5", Xhigh, (adaptive(&bound, "max"), true, Some(binding.clone()))),
        ("claude-sonnet-5-5", Off, (off("between_tools"), false, None)),
        ("claude-haiku-5-5", High, (adaptive(&bound, "high"), true, Some(binding))),
        ("claude-opus-5", Off, (off("disabled"), false, None)),
        ("claude-opus-4-8", Off, (json!({ "max_tokens": 60_000 }), false, None)),
        ("claude-opus-4-8", Minimal, (adaptive(&free, "low"), true, None)),
        ("claude-opus-9", Xhigh, (adaptive(&free, "high"), true, None)),
        ("claude-haiku-4-5", Off, (json!({ "max_tokens": 60_000, "temperature": 0.5 }), false, None)),
        ("claude-haiku-4-5-20251001", Low, (budget(4_096, 60_000), true, None)),
        ("claude-haiku-4-5", Xhigh, (budget(32_768, 60_000), true, None)),
    ];
    for (model, level, expected) in cases {
        assert_eq!(thinking_sent(model, level).await, expected, "{model} {level:?}");
    }
}

#[tokio::test]
async fn anthropic_thinking_of_other_models_goes_back_to_them() {
    let sent = async |control, level| {
        let answer = answer("anthropic-messages", "glm", vec![thinking("hm", Some("x")), text_answer("b")]);
        let messages = vec![user(vec![text("a")]), answer, user(vec![text("c")])];
        let model = ModelFacts { thinking: control, ..catalog::assumed("anthropic", "glm") };
        let request = Request {
            model: Arc::new(model),
            thinking: level,
            max_tokens: Tokens(60_000),
            ..request("glm", messages)
        };
        let body = record_anthropic_request(request).await.body;
        let thinking = body.get("thinking").cloned().unwrap_or_default();
        (thinking, body["messages"][1]["content"][0]["type"] == "thinking", body.get("temperature").is_some())
    };
    let effort = ThinkingControl::LOW_TO_HIGH;
    let enabled = json!({ "type": "enabled", "budget_tokens": 20_480 });
    assert_eq!(sent(ThinkingControl::Never, ThinkingLevel::Off).await, (Value::Null, true, true));
    assert_eq!(sent(effort, ThinkingLevel::High).await, (enabled, true, false));
    let disabled = json!({ "type": "disabled" });
    assert_eq!(sent(effort, ThinkingLevel::Off).await, (disabled, false, true));
}

#[tokio::test]
async fn anthropic_thinking_budget_is_limited_by_max_tokens() {
    let with_max_tokens = |max_tokens: u64| Request {
        thinking: ThinkingLevel::High,
        max_tokens: Tokens(max_tokens),
        ..request("claude-haiku-4-5", vec![user(vec![text("a")])])
    };
    let body = record_anthropic_request(with_max_tokens(64_000)).await.body;
    assert_eq!((&body["max_tokens"], &body["thinking"]["budget_tokens"]), (&json!(64_000), &json!(20_480)));
    let body = record_anthropic_request(with_max_tokens(8_000)).await.body;
    assert_eq!((&body["max_tokens"], &body["thinking"]["budget_tokens"]), (&json!(8_000), &json!(6_000)));
    let body = record_anthropic_request(with_max_tokens(1_000)).await.body;
    assert_eq!((&body["max_tokens"], body.get("thinking")), (&json!(1_000), None));
}

#[tokio::test]
async fn open_ai_body_merges_user_messages_of_text() {
    let messages = vec![user(vec![text("a")]), user(vec![text("b")])];
    let body = record_open_ai_request(request("m", messages)).await.body;
    assert_eq!(body["messages"][1], json!({ "role": "user", "content": "a\n\nb" }));
}

#[tokio::test]
async fn anthropic_budget_waits_for_the_end_of_a_foreign_loop() {
    let thinks = async |calls: Vec<Message>| {
        let messages = [vec![user(vec![text("a")])], calls].concat();
        let request = Request { thinking: ThinkingLevel::High, ..request(MODEL, messages) };
        record_anthropic_request(Request { max_tokens: Tokens(60_000), ..request })
            .await
            .body
            .get("thinking")
            .is_some()
    };
    let foreign = answer("openai-completions", "gpt-5", vec![call("c", json!({}))]);
    let own = |content| answer("anthropic-messages", MODEL, content);
    let (done, more) = (result("c", vec![text("x")], false), own(vec![call("c", json!({}))]));
    let thought = own(vec![thinking("hm", Some("x")), call("c", json!({}))]);
    assert!(!thinks(vec![foreign.clone(), done.clone()]).await, "another model began the loop");
    assert!(!thinks(vec![more.clone(), done.clone(), user(vec![text("steer")])]).await, "thinking was off");
    assert!(thinks(vec![thought, done.clone(), more, done.clone()]).await, "it has thought in this loop");
    let end = own(vec![text_answer("b")]);
    assert!(thinks(vec![foreign, done, end, user(vec![text("c")])]).await, "the loop is over");
}

#[tokio::test]
async fn pdf_file_is_a_document_or_a_file() {
    let pdf = || UserBlock::Image { data: "JVBE".into(), mime_type: "application/pdf".into() };
    let messages = |api: &str, model: &str| {
        let call = answer(api, model, vec![call("call_1", json!({}))]);
        vec![user(vec![pdf()]), call, result("call_1", vec![pdf()], false)]
    };
    let body = record_anthropic_request(request(MODEL, messages("anthropic-messages", MODEL))).await.body;
    let source = json!({ "type": "base64", "media_type": "application/pdf", "data": "JVBE" });
    let document = &body["messages"][0]["content"][0];
    assert_eq!((&document["type"], &document["source"]), (&json!("document"), &source));
    assert_eq!(
        body["messages"][2]["content"][0]["content"][0],
        json!({ "type": "document", "source": source })
    );
    let body =
        record_open_ai_request(request("gpt-5.1", messages("openai-completions", "gpt-5.1"))).await.body;
    let data = "data:application/pdf;base64,JVBE";
    let file = json!({ "type": "file", "file": { "filename": "document.pdf", "file_data": data } });
    assert_eq!(body["messages"][1], json!({ "role": "user", "content": [file] }));
    assert_eq!(body["messages"][4]["content"][1], file, "results have only text");
}

/// The blocks of a request as Anthropic caches them, each with true if it ends a cached prefix.
async fn cached_blocks(messages: Vec<Message>) -> Vec<(Value, bool)> {
    let body = record_anthropic_request(request(MODEL, messages)).await.body;
    let system = body["system"].as_array().unwrap().iter().map(|block| ("system", block));
    let messages = body["messages"].as_array().unwrap().iter().flat_map(|message| {
        let role = message["role"].as_str().unwrap();
        message["content"].as_array().unwrap().iter().map(move |block| (role, block))
    });
    let unmarked = |(role, block): (&str, &Value)| {
        let mut block = block.clone();
        let is_marked = block.as_object_mut().unwrap().remove("cache_control").is_some();
        (json!([role, block]), is_marked)
    };
    system.chain(messages).map(unmarked).collect()
}

#[tokio::test]
async fn open_ai_cache_marks_move_with_the_results() {
    let server = MockServer::start([Reply::answer([])]);
    let endpoint = Endpoint::new("openrouter", &server.url, "X_KEY");
    let compat = ProviderDescriptor::find("openrouter").unwrap().compat;
    let step = |id: &str| {
        let calls = answer("openai-completions", "claude", vec![call(id, json!({}))]);
        [calls, result(id, vec![text("a")], false)]
    };
    let messages =
        [vec![user(vec![text("look")])], step("1").into(), step("2").into(), step("3").into()].concat();
    let provider = OpenAiChat::new(endpoint, compat).unwrap();
    collect(&provider, request("anthropic/claude-x", messages)).await;
    let body = &server.requests()[0].body;
    let is_marked = |message: &Value| message.to_string().contains("cache_control");
    let marked: Vec<bool> = body["messages"].as_array().unwrap().iter().map(is_marked).collect();
    assert_eq!(marked, [true, false, false, false, false, true, false, true], "{body:#}");
    let ephemeral = json!({ "type": "ephemeral" });
    let content = json!([{ "type": "text", "text": "a", "cache_control": ephemeral }]);
    assert_eq!(body["messages"][7]["content"], content);
}

#[tokio::test]
async fn anthropic_growing_conversation_hits_the_previous_cache() {
    let api = "anthropic-messages";
    let calls = |ids: std::ops::Range<u32>| {
        answer(api, MODEL, ids.map(|id| call(&format!("call_{id}"), json!({}))).collect())
    };
    let results =
        |ids: std::ops::Range<u32>| ids.map(|id| result(&format!("call_{id}"), vec![text("a")], false));
    let mut conversation = vec![user(vec![text("look")])];
    let mut previous = cached_blocks(conversation.clone()).await;
    let mut steps: Vec<Vec<Message>> = Vec::new();
    // A single call; more calls than the 20 blocks that the API looks back; a message while the tools ran.
    for ids in [0..1, 1..31, 31..33] {
        steps.push([calls(ids.clone())].into_iter().chain(results(ids)).collect());
    }
    steps[2].push(user(vec![text("be quick")]));
    steps.push(vec![answer(api, MODEL, vec![text_answer("Done.")]), user(vec![text("and now?")])]);
    for step in steps {
        conversation.extend(step);
        let blocks = cached_blocks(conversation.clone()).await;
        let written = previous.iter().rposition(|(_, is_marked)| *is_marked).unwrap();
        let unmarked = |blocks: &[(Value, bool)]| -> Vec<Value> {
            blocks.iter().map(|(block, _)| block.clone()).collect()
        };
        assert_eq!(unmarked(&blocks[..=written]), unmarked(&previous[..=written]), "the prefix is the same");
        let is_found =
            (written..=written + 20).any(|at| blocks.get(at).is_some_and(|(_, is_marked)| *is_marked));
        assert!(is_found, "a mark within 20 blocks after block {written}");
        assert!(blocks.iter().filter(|(_, is_marked)| *is_marked).count() <= 4);
        previous = blocks;
    }
}

#[tokio::test]
async fn gpt_over_chat_completions_has_its_parameters() {
    // gpt-9 isn't listed.
    for (model, limit) in
        [("gpt-5.1", "max_completion_tokens"), ("gpt-9", "max_completion_tokens"), ("m", "max_tokens")]
    {
        let request =
            Request { cache_key: Some("session".into()), ..request(model, vec![user(vec![text("a")])]) };
        let body = record_open_ai_request(request).await.body;
        assert_eq!(body[limit], 4_000, "{model}");
        let cache_key = (model != "m").then(|| json!("session"));
        assert_eq!(body.get("prompt_cache_key"), cache_key.as_ref(), "{model}");
    }
}

#[tokio::test]
async fn temperature_while_thinking_is_sent_where_accepted() {
    let sent = async |thinking_temperature, thinking| {
        let connect = |server: &MockServer| -> Arc<dyn Provider> {
            let max_tokens_field = MaxTokensField::MaxCompletionTokens;
            let compat = Compat { max_tokens_field, thinking_temperature, ..Compat::COMMON };
            Arc::new(OpenAiChat::new(open_ai_endpoint(server), compat).unwrap())
        };
        let request = Request { thinking, ..request("gpt-5.1", vec![user(vec![text("a")])]) };
        let model = Arc::new(ModelFacts { compat: None, ..(*request.model).clone() });
        let request = Request { model, ..request };
        record_request(connect, request).await.body.get("temperature").cloned()
    };
    let temperature = Some(json!(0.5));
    assert_eq!(sent(true, ThinkingLevel::High).await, temperature);
    assert_eq!(sent(false, ThinkingLevel::High).await, None);
    assert_eq!(sent(false, ThinkingLevel::Off).await, temperature);
}

#[tokio::test]
async fn thinking_parameters_have_the_format_of_the_server() {
    let sent = async |thinking_format, thinking| {
        let connect = |server: &MockServer| -> Arc<dyn Provider> {
            let compat = Compat { thinking_format, ..Compat::COMMON };
            Arc::new(OpenAiChat::new(open_ai_endpoint(server), compat).unwrap())
        };
        let request = Request { thinking, ..request("gpt-5.1", vec![user(vec![text("a")])]) };
        let model = Arc::new(ModelFacts { compat: None, ..(*request.model).clone() });
        let body = record_request(connect, Request { model, ..request }).await.body;
        let names = ["reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs"];
        let values = names.map(|name| Some((name, body.get(name)?.clone())));
        values.into_iter().flatten().collect::<Vec<_>>()
    };
    let formats = [
        (ThinkingFormat::None, json!([]), json!([])),
        (
            ThinkingFormat::ReasoningEffort,
            json!([["reasoning_effort", "high"]]),
            json!([["reasoning_effort", "none"]]),
        ),
        (
            ThinkingFormat::Reasoning,
            json!([["reasoning", { "effort": "high" }]]),
            json!([["reasoning", { "effort": "none" }]]),
        ),
        (
            ThinkingFormat::ThinkingType,
            json!([["thinking", { "type": "enabled" }]]),
            json!([["thinking", { "type": "disabled" }]]),
        ),
        (
            ThinkingFormat::ThinkingTypeAndEffort,
            json!([["reasoning_effort", "high"], ["thinking", { "type": "enabled" }]]),
            json!([["reasoning_effort", "none"], ["thinking", { "type": "disabled" }]]),
        ),
        (
            ThinkingFormat::Zai,
            json!([["reasoning_effort", "high"], ["thinking", { "type": "enabled", "clear_thinking": false }]]),
            json!([["reasoning_effort", "none"], ["thinking", { "type": "disabled", "clear_thinking": false }]]),
        ),
        (
            ThinkingFormat::EnableThinking,
            json!([["enable_thinking", true]]),
            json!([["enable_thinking", false]]),
        ),
        (
            ThinkingFormat::ChatTemplate,
            json!([["chat_template_kwargs", { "enable_thinking": true }]]),
            json!([["chat_template_kwargs", { "enable_thinking": false }]]),
        ),
    ];
    for (format, high, off) in formats {
        assert_eq!(json!(sent(format, ThinkingLevel::High).await), high, "{format:?}");
        assert_eq!(json!(sent(format, ThinkingLevel::Off).await), off, "{format:?}");
    }
}

#[tokio::test]
async fn streamed_arguments_are_requested_where_needed() {
    let sent = async |tool_stream, tools: Arc<[ToolSpec]>| {
        let connect = |server: &MockServer| -> Arc<dyn Provider> {
            let compat = Compat { tool_stream, ..Compat::COMMON };
            Arc::new(OpenAiChat::new(open_ai_endpoint(server), compat).unwrap())
        };
        let request = Request { tools, ..request("m", vec![user(vec![text("a")])]) };
        record_request(connect, request).await.body.get("tool_stream").cloned()
    };
    assert_eq!(sent(true, Arc::new([list_files()])).await, Some(json!(true)));
    assert_eq!(sent(true, Arc::new([])).await, None);
    assert_eq!(sent(false, Arc::new([list_files()])).await, None);
}

#[tokio::test]
async fn reasoning_details_go_back_to_their_model_where_accepted() {
    let details = json!([{"type": "reasoning.encrypted", "data": "eA==", "index": 0}]);
    let answer = |model, signature: &str| {
        answer("openai-completions", model, vec![thinking("hm", Some(signature)), text_answer("b")])
    };
    let messages =
        vec![answer("m", &details.to_string()), answer("n", &details.to_string()), answer("m", "x")];
    let sent = async |reasoning_details| {
        let connect = |server: &MockServer| -> Arc<dyn Provider> {
            let compat = Compat { reasoning_details, ..Compat::COMMON };
            Arc::new(OpenAiChat::new(open_ai_endpoint(server), compat).unwrap())
        };
        let body = record_request(connect, request("m", messages.clone())).await.body;
        let answers = body["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "assistant");
        answers.map(|answer| answer.get("reasoning_details").cloned()).collect::<Vec<_>>()
    };
    assert_eq!(sent(true).await, [Some(details), None, None]);
    assert_eq!(sent(false).await, [None, None, None]);
}

#[tokio::test]
async fn thinking_goes_back_in_the_field_of_the_server() {
    let thought = answer("openai-completions", "m", vec![thinking("hm", None), text_answer("b")]);
    let only_calls = answer("openai-completions", "m", vec![thinking("hm", None), call("c", json!({}))]);
    let messages = vec![thought, user(vec![text("go on")]), only_calls];
    let sent = async |thinking_field| {
        let connect = |server: &MockServer| -> Arc<dyn Provider> {
            let compat = Compat { thinking_field, ..Compat::COMMON };
            Arc::new(OpenAiChat::new(open_ai_endpoint(server), compat).unwrap())
        };
        let body = record_request(connect, request("m", messages.clone())).await.body;
        let answers = body["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "assistant");
        let fields = |answer: &Value| {
            ["content", "reasoning_content", "reasoning"].map(|name| answer.get(name).cloned())
        };
        answers.map(fields).collect::<Vec<_>>()
    };
    let (hm, b, null) = (Some(json!("hm")), Some(json!("b")), Some(Value::Null));
    let none = [[b.clone(), None, None], [null.clone(), None, None]];
    assert_eq!(sent(ThinkingField::None).await, none);
    let content = [[b.clone(), hm.clone(), None], [null.clone(), hm.clone(), None]];
    assert_eq!(sent(ThinkingField::ReasoningContent).await, content);
    assert_eq!(sent(ThinkingField::Reasoning).await, [[b, None, hm.clone()], [null, None, hm]]);
    let part = json!({ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] });
    let with_text = json!([part, { "type": "text", "text": "b" }]);
    let parts = [[Some(with_text), None, None], [Some(json!([part])), None, None]];
    assert_eq!(sent(ThinkingField::ContentPart).await, parts);
}

#[tokio::test]
async fn tools_are_left_out_where_only_that_forces_an_answer() {
    for (name, choice) in [("openrouter", Some("none")), ("zai", None)] {
        let provider = ProviderDescriptor::find(name).unwrap();
        let connect = |server: &MockServer| -> Arc<dyn Provider> {
            let endpoint = provider.endpoint(Some(&format!("{}/v1", server.url)));
            Arc::new(OpenAiChat::new(endpoint, provider.compat).unwrap())
        };
        let request = Request { tool_choice: ToolChoice::None, ..request("m", conversation()) };
        let body = record_request(connect, request).await.body;
        let sent = (body.get("tool_choice").and_then(Value::as_str), body.get("tools").is_some());
        assert_eq!(sent, (choice, choice.is_some()), "{name}");
    }
}

#[tokio::test]
async fn thinking_goes_back_to_each_provider() {
    let fields = [
        ("openrouter", None),
        ("deepseek", Some("reasoning_content")),
        ("groq", Some("reasoning")),
        ("moonshot", Some("reasoning_content")),
        ("zai", Some("reasoning_content")),
        ("cerebras", None),
        ("together", Some("reasoning_content")),
        ("fireworks", Some("reasoning_content")),
        ("ollama", Some("reasoning")),
        ("lmstudio", None),
        ("llamacpp", Some("reasoning_content")),
        ("vllm", Some("reasoning")),
    ];
    for (name, field) in fields {
        let provider = ProviderDescriptor::find(name).unwrap();
        let by_provider = |content| match answer("openai-completions", "m", content) {
            Message::Assistant(answer) => {
                Message::Assistant(AssistantMessage { provider: name.into(), ..answer })
            }
            other => other,
        };
        let messages = vec![
            by_provider(vec![thinking("hm", None), call("c", json!({}))]),
            result("c", vec![text("1")], false),
            by_provider(vec![call("d", json!({}))]),
        ];
        let connect = |server: &MockServer| -> Arc<dyn Provider> {
            let endpoint = provider.endpoint(Some(&format!("{}/v1", server.url)));
            Arc::new(OpenAiChat::new(endpoint, provider.compat).unwrap())
        };
        let body = record_request(connect, request("m", messages)).await.body;
        let calls = |id: &str| {
            let function = json!({ "name": "list_files", "arguments": "{}" });
            let calls = json!([{ "id": id, "type": "function", "function": function }]);
            json!({ "role": "assistant", "content": null, "tool_calls": calls })
        };
        let (mut first, mut second) = (calls("c"), calls("d"));
        if let Some(field) = field {
            first[field] = json!("hm");
        }
        // Where the field is required, it may be empty.
        if field == Some("reasoning_content") {
            second["reasoning_content"] = json!("");
        }
        let answers: Vec<&Value> =
            body["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "assistant").collect();
        assert_eq!(answers, [&first, &second], "{name}");
    }
}
