//! The request bodies of OpenAI's Responses.

use std::sync::Arc;

use serde_json::{Value, json};
use tiller_core::message::{AssistantBlock, ThinkingLevel, UserBlock};
use tiller_core::unit::Tokens;
use tiller_provider::{
    Endpoint, KeyHeader, ModelFacts, OpenAiResponses, Request, ThinkingControl, ToolChoice,
};
use tiller_test_support::mock_server::{AnswerPart, MockServer, Reply};

use super::bodies::{
    answer, bash, call, conversation, record_responses_request, request, result, text, text_answer, thinking,
    user,
};
use crate::{collect, hello, open_ai_endpoint};

/// Returns the item of an answer's text in Responses.
fn output_message(text: &str) -> Value {
    json!({
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }],
    })
}

#[tokio::test]
async fn responses_body_has_every_kind_of_message() {
    let request = Request {
        tool_choice: ToolChoice::None,
        cache_key: Some("k".repeat(65)),
        ..request("some-model", conversation())
    };
    let recorded = record_responses_request(request).await;
    let text = |text: &str| json!({ "type": "input_text", "text": text });
    let picture =
        json!({ "type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aW1n" });
    let call = |id: &str, arguments: &str| json!({ "type": "function_call", "call_id": id, "name": "list_files", "arguments": arguments });
    let output =
        |id: &str, output: Value| json!({ "type": "function_call_output", "call_id": id, "output": output });
    let expected = json!({
        "model": "some-model",
        "instructions": "Be brief.",
        "input": [
            { "role": "user", "content": [text("look"), picture] },
            output_message("I look."),
            call("toolu_1", r#"{"path":"."}"#),
            call("call_2", "{}"),
            output("toolu_1", json!([text("a\nb"), picture])),
            output("call_2", json!([picture])),
            { "role": "user", "content": [text("Ran `make`\n```\nout\n```\n(exit code 0)")] },
            { "role": "user", "content": [text("and now?")] },
            output_message("Done."),
            { "role": "user", "content": [text("thanks")] },
        ],
        "stream": true,
        "store": false,
        "max_output_tokens": 4_000,
        "tools": [{
            "type": "function",
            "name": "list_files",
            "description": "Lists files.",
            "parameters": { "type": "object", "properties": { "path": { "type": "string" } } },
            "strict": false,
        }],
        "tool_choice": "none",
        "temperature": 0.5,
        "prompt_cache_key": "k".repeat(64),
    });
    assert_eq!(recorded.body, expected);
    assert_eq!(recorded.path, "/v1/responses");
    assert_eq!(recorded.headers["authorization"], "Bearer hush-hush-key");
}

#[tokio::test]
async fn responses_body_has_documents_as_files() {
    let document = UserBlock::Image { data: "JVBE".into(), mime_type: "application/pdf".into() };
    let messages = vec![
        user(vec![document.clone()]),
        answer("openai-responses", "m", vec![call("c", json!({}))]),
        result("c", vec![document], false),
    ];
    let input = record_responses_request(request("m", messages)).await.body["input"].clone();
    let file = json!({
        "type": "input_file",
        "filename": "document.pdf",
        "file_data": "data:application/pdf;base64,JVBE",
    });
    assert_eq!(input[0], json!({ "role": "user", "content": [file] }));
    assert_eq!(input[2], json!({ "type": "function_call_output", "call_id": "c", "output": [file] }));
}

#[tokio::test]
async fn responses_reasoning_goes_back_to_its_model_in_order() {
    let item = |id: &str| json!({ "type": "reasoning", "id": id, "summary": [{ "type": "summary_text", "text": "hm" }], "encrypted_content": "gA" });
    let thought = |id: &str| thinking("hm", Some(&item(id).to_string()));
    let turn = |api: &str, model: &str| {
        vec![
            answer(
                api,
                model,
                vec![
                    thought("rs_1"),
                    text_answer("I look."),
                    thought("rs_2"),
                    thinking("cut off", None),
                    call("c", json!({})),
                    thought("rs_3"),
                ],
            ),
            result("c", vec![text("a")], false),
            answer(api, model, vec![thought("rs_4")]),
        ]
    };
    let call = json!({ "type": "function_call", "call_id": "c", "name": "list_files", "arguments": "{}" });
    let output = json!({ "type": "function_call_output", "call_id": "c", "output": "a" });
    let input =
        |messages| async { record_responses_request(request("m", messages)).await.body["input"].clone() };
    let own = input(turn("openai-responses", "m")).await;
    let look = output_message("I look.");
    assert_eq!(own, json!([item("rs_1"), look, item("rs_2"), call, output]));
    for (api, model) in
        [("openai-responses", "other"), ("openai-completions", "m"), ("anthropic-messages", "m")]
    {
        assert_eq!(input(turn(api, model)).await, json!([look, call, output]), "{api} {model}");
    }
}

#[tokio::test]
async fn responses_phase_goes_back_to_its_model() {
    let text_signature = Some(r#"{"v":1,"id":"msg_1","phase":"commentary"}"#.to_owned());
    let marked = AssistantBlock::Text { text: "I look.".into(), text_signature };
    let mut expected = output_message("I look.");
    for (model, phase) in [("other", None), ("m", Some("commentary"))] {
        let messages = vec![answer("openai-responses", model, vec![marked.clone()])];
        let body = record_responses_request(request("m", messages)).await.body;
        if let Some(phase) = phase {
            expected["phase"] = json!(phase);
        }
        assert_eq!(body["input"], json!([expected]));
    }
}

#[tokio::test]
async fn responses_results_precede_the_messages_after_their_calls() {
    let messages = vec![
        answer(
            "openai-responses",
            "m",
            vec![call("a", json!({})), call("b", json!({})), text_answer("both")],
        ),
        bash("make", false),
        result("a", vec![], false),
        user(vec![text("stop")]),
        result("b", vec![text("b")], true),
    ];
    let input = record_responses_request(request("m", messages)).await.body["input"].clone();
    let kinds: Vec<&Value> =
        input.as_array().unwrap().iter().map(|item| item.get("type").unwrap_or(&item["role"])).collect();
    let output = "function_call_output";
    assert_eq!(kinds, ["function_call", "function_call", "message", output, output, "user", "user"]);
    assert_eq!((&input[3]["call_id"], &input[3]["output"]), (&json!("a"), &json!("(no output)")));
    assert_eq!((&input[4]["call_id"], &input[4]["output"]), (&json!("b"), &json!("b")));
}

#[tokio::test]
async fn responses_thinking_parameters_match_the_model() {
    use ThinkingLevel::{High, Low, Minimal, Off, Xhigh};
    let include = json!(["reasoning.encrypted_content"]);
    let effort =
        |effort: &str| json!({ "reasoning": { "effort": effort, "summary": "auto" }, "include": include });
    let names = |min_level, off| ThinkingControl::Effort {
        min_level,
        names: [off, "low", "low", "medium", "high", "max"],
    };
    let cases = [
        (ThinkingControl::Never, Off, json!({ "temperature": 0.5 })),
        (ThinkingControl::Never, High, json!({ "temperature": 0.5 })),
        (names(Off, "none"), Off, json!({ "reasoning": { "effort": "none" }, "temperature": 0.5 })),
        (names(Off, "none"), Minimal, effort("low")),
        (names(Low, "low"), Off, effort("low")),
        (names(Low, "low"), Xhigh, effort("max")),
        (ThinkingControl::LOW_TO_HIGH, Off, json!({ "include": include, "temperature": 0.5 })),
        (ThinkingControl::LOW_TO_HIGH, High, effort("high")),
    ];
    for (control, level, expected) in cases {
        let mut request = Request { thinking: level, ..request("m", vec![]) };
        request.model = Arc::new(ModelFacts { thinking: control, ..(*request.model).clone() });
        let body = record_responses_request(request).await.body;
        let keys = ["reasoning", "include", "temperature"];
        let sent: Value =
            keys.into_iter().filter_map(|key| Some((key.to_owned(), body.get(key)?.clone()))).collect();
        assert_eq!(sent, expected, "{control:?} {level:?}");
    }
}

#[tokio::test]
async fn responses_request_keeps_the_limits_of_the_api() {
    let id = format!("{}-{}", "x".repeat(80), "y".repeat(40));
    let messages = vec![
        answer("openai-responses", "m", vec![call(&id, json!({}))]),
        result(&id, vec![text("a")], false),
    ];
    let request = Request { max_tokens: Tokens(5), ..request("m", messages) };
    let body = record_responses_request(request).await.body;
    assert_eq!(body["max_output_tokens"], 16);
    assert_eq!(body["input"][0]["call_id"].as_str().unwrap().len(), 64);
    assert_eq!(body["input"][0]["call_id"], body["input"][1]["call_id"]);
}

#[tokio::test]
async fn responses_key_is_in_the_header_of_its_server() {
    let server = MockServer::start([Reply::answer([AnswerPart::text("ok")])]);
    let endpoint = Endpoint { key_header: KeyHeader::ApiKey, ..open_ai_endpoint(&server) };
    let provider = OpenAiResponses::new(endpoint).unwrap();
    collect(&provider, hello("m")).await.pop().unwrap().unwrap();
    let headers = &server.requests()[0].headers;
    assert_eq!((&*headers["api-key"], headers.get("authorization")), ("hush-hush-key", None));
}
