//! Realistic streams of OpenAI's Responses, cut into pieces of every length up to 64 bytes. They are
//! the seeds of the fuzz target.

use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::json;
use tiller_core::message::{StopReason, Usage};
use tiller_core::unit::Tokens;
use tiller_provider::{Endpoint, FailureKind, OpenAiResponses, ProviderError, StreamEvent};

type Item = Result<StreamEvent, ProviderError>;

/// Returns the events of a stream, which are the same wherever it is cut.
async fn decode(stream: &'static str) -> Vec<Item> {
    let endpoint = Endpoint::new("openai", "http://localhost", "OPENAI_API_KEY");
    let provider = OpenAiResponses::new(endpoint).unwrap();
    let bytes = Bytes::from_static(stream.as_bytes());
    let whole: Vec<Item> = provider.decode(vec![bytes.clone()]).collect().await;
    for length in 1..=64 {
        let pieces = bytes.chunks(length).map(Bytes::copy_from_slice).collect();
        let items: Vec<Item> = provider.decode(pieces).collect().await;
        assert_eq!(items, whole, "pieces of {length} bytes");
    }
    whole
}

fn text(block: usize, text: &str) -> Item {
    Ok(StreamEvent::Text { block, text: text.into() })
}

fn thinking(block: usize, text: &str) -> Item {
    Ok(StreamEvent::Thinking { block, text: text.into() })
}

fn call(block: usize, id: &str, name: &str) -> Item {
    Ok(StreamEvent::Call { block, id: id.into(), name: name.into() })
}

fn arguments(block: usize, json: &str) -> Item {
    Ok(StreamEvent::Arguments { block, json: json.into() })
}

fn end(block: usize) -> Item {
    Ok(StreamEvent::End { block })
}

fn finished(reason: StopReason) -> Item {
    Ok(StreamEvent::Finished(reason))
}

fn usage() -> Item {
    Ok(StreamEvent::Usage(Usage {
        input: Tokens(76),
        output: Tokens(90),
        cache_read: Tokens(1_024),
        cache_write: Tokens(100),
        total_tokens: Tokens(1_290),
        ..Usage::default()
    }))
}

const SUMMARY: [&str; 2] = ["**Looking for the file**\n\nI should list the folder.", "**Größe** 😀"];
const TEXT: &str = "Ich sehe nach: „src“.";

fn signature() -> Item {
    let summary = SUMMARY.map(|text| json!({ "type": "summary_text", "text": text }));
    let item = json!({ "type": "reasoning", "id": "rs_0a1", "summary": summary, "encrypted_content": "gAAAAABqX1a78BDqk" });
    Ok(StreamEvent::Signature { block: 0, text: item.to_string() })
}

fn commentary(block: usize) -> Item {
    let text = r#"{"v":1,"id":"msg_0a1","phase":"commentary"}"#.into();
    Ok(StreamEvent::Signature { block, text })
}

#[tokio::test]
async fn responses_turn_has_reasoning_text_and_calls() {
    let expected = [
        thinking(0, ""),
        thinking(0, "**Looking for the file**"),
        thinking(0, "\n\nI should list the folder."),
        thinking(0, "\n\n"),
        thinking(0, "**Grö"),
        thinking(0, "ße** 😀"),
        signature(),
        end(0),
        text(1, ""),
        text(1, "Ich sehe "),
        text(1, "nach: „src“."),
        commentary(1),
        end(1),
        call(2, "call_2Xy", "list_files"),
        arguments(2, r#"{"pa"#),
        arguments(2, r#"th":"src/ä"}"#),
        end(2),
        call(3, "call_3Xy", "grep"),
        arguments(3, r#"{"pa"#),
        arguments(3, r#"ttern":"a\\nb"}"#),
        end(3),
        usage(),
        finished(StopReason::ToolUse),
    ];
    let stream = include_str!("../../../../fuzz/corpus/openai_responses_answer/turn.sse");
    assert_eq!(decode(stream).await, expected);
}

#[tokio::test]
async fn responses_without_deltas_have_every_text_once() {
    let reasoning = [thinking(0, ""), thinking(0, SUMMARY[0]), thinking(0, "\n\n"), thinking(0, SUMMARY[1])];
    let message = [signature(), end(0), text(1, ""), text(1, TEXT), commentary(1), end(1)];
    let beginning = reasoning.into_iter().chain(message);
    let call = [call(2, "call_2Xy", "list_files"), arguments(2, r#"{"path":"src/ä"}"#), end(2), usage()];
    let stream = include_str!("../../../../fuzz/corpus/openai_responses_answer/no-deltas.sse");
    let expected = beginning.clone().chain(call).chain([finished(StopReason::ToolUse)]);
    assert_eq!(decode(stream).await, expected.collect::<Vec<_>>());
    let stream = include_str!("../../../../fuzz/corpus/openai_responses_answer/final-only.sse");
    let usage_first: Vec<Item> =
        [usage()].into_iter().chain(beginning).chain([finished(StopReason::Stop)]).collect();
    assert_eq!(decode(stream).await, usage_first);
}

#[tokio::test]
async fn responses_without_ids_have_generated_ones() {
    let content = json!([{ "type": "reasoning_text", "text": "Hm, two." }]);
    let item = json!({ "type": "reasoning", "summary": [], "content": content });
    let counts = Usage { input: Tokens(7), output: Tokens(3), total_tokens: Tokens(10), ..Usage::default() };
    let expected = [
        thinking(0, ""),
        thinking(0, "Hm, "),
        thinking(0, "two."),
        Ok(StreamEvent::Signature { block: 0, text: item.to_string() }),
        end(0),
        call(1, "call_decoded_1", "ls"),
        arguments(1, r#"{"path":"."}"#),
        end(1),
        text(2, ""),
        text(2, "Gleich."),
        Ok(StreamEvent::Usage(counts)),
        end(2),
        finished(StopReason::ToolUse),
    ];
    let stream = include_str!("../../../../fuzz/corpus/openai_responses_answer/no-ids.sse");
    assert_eq!(decode(stream).await, expected);
}

#[tokio::test]
async fn responses_incomplete_answer_has_the_stop_reason_length() {
    let expected = [
        text(0, ""),
        text(0, "I can"),
        text(0, "'t."),
        commentary(0),
        end(0),
        call(1, "call_2Xy", "grep"),
        arguments(1, r#"{"pat"#),
        usage(),
        end(1),
        finished(StopReason::Length),
    ];
    let stream = include_str!("../../../../fuzz/corpus/openai_responses_answer/incomplete.sse");
    assert_eq!(decode(stream).await, expected);
}

#[tokio::test]
async fn responses_failed_answer_is_classified() {
    let mut items = decode(include_str!("../../../../fuzz/corpus/openai_responses_answer/failed.sse")).await;
    let error = items.pop().unwrap().unwrap_err();
    let retry_after = Some(std::time::Duration::from_secs(2));
    assert_eq!(error.failure, FailureKind::Transient { retry_after });
    assert_eq!(error.message, "Rate limit reached, try again in 2s");
    assert_eq!(items, [text(0, ""), text(0, "half")]);

    let mut items =
        decode(include_str!("../../../../fuzz/corpus/openai_responses_answer/surrogates.sse")).await;
    let error = items.pop().unwrap().unwrap_err();
    assert_eq!(error.failure, FailureKind::Transient { retry_after: None });
    assert_eq!(items, [text(0, ""), text(0, "a"), text(0, "😀")]);
}
