//! Answers reassembled from arbitrarily split streams.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use proptest::prelude::*;
use serde_json::{Value, json};
use tiller_core::message::{StopReason, Usage};
use tiller_core::unit::Tokens;
use tiller_provider::{FailureKind, Provider, ProviderStream, StreamEvent};
use tiller_test_support::mock_server::{AnswerPart, MockServer, Protocol, Reply, ScriptedCall, pieces};

use crate::{anthropic, collect, gemini, hello, open_ai, open_ai_responses, providers, server_for_all};

/// A reassembled block.
#[derive(Debug, Default, PartialEq)]
struct Block {
    text: String,
    thought: String,
    signature: String,
    call: Option<(String, String)>,
    arguments: String,
}

/// A reassembled answer.
#[derive(Debug, Default, PartialEq)]
struct Reassembled {
    blocks: Vec<Block>,
    traces: Vec<Value>,
    usage: Usage,
    finished: Option<StopReason>,
}

async fn reassemble(provider: &dyn Provider) -> Reassembled {
    reassemble_stream(provider.stream(hello("some-model"))).await
}

async fn reassemble_stream(stream: ProviderStream) -> Reassembled {
    let mut answer = Reassembled::default();
    let parts: Vec<_> = stream.collect().await;
    for part in parts {
        let part = part.unwrap();
        if let StreamEvent::Text { block, .. }
        | StreamEvent::Thinking { block, .. }
        | StreamEvent::Signature { block, .. }
        | StreamEvent::Call { block, .. }
        | StreamEvent::Arguments { block, .. } = &part
            && *block >= answer.blocks.len()
        {
            assert_eq!(*block, answer.blocks.len(), "blocks begin in order");
            answer.blocks.push(Block::default());
        }
        match part {
            StreamEvent::Text { block, text } => answer.blocks[block].text += &text,
            StreamEvent::Thinking { block, text } => answer.blocks[block].thought += &text,
            StreamEvent::Signature { block, text } => answer.blocks[block].signature += &text,
            StreamEvent::Call { block, id, name } => answer.blocks[block].call = Some((id.to_string(), name)),
            StreamEvent::Arguments { block, json } => answer.blocks[block].arguments += &json,
            StreamEvent::End { block } => assert!(block < answer.blocks.len()),
            StreamEvent::Usage(usage) => answer.usage = usage,
            StreamEvent::Finished(reason) => answer.finished = Some(reason),
            StreamEvent::Trace { data, .. } => answer.traces.push(data),
        }
    }
    answer
}

const THOUGHT: &str = "Let me see — größer als 😀?";
const SIGNATURE: &str = "c2VhbA==";
const TEXT: &str = "Zwei Dateien: \"a\" und „b“.\r\nReady.";

pub(crate) fn answer_parts() -> Vec<AnswerPart> {
    let call = |id: &str, name: &str, arguments| ScriptedCall { id: id.into(), name: name.into(), arguments };
    vec![
        AnswerPart::thought(THOUGHT, SIGNATURE),
        AnswerPart::text(TEXT),
        AnswerPart::Calls(vec![
            call("call_1", "list_files", json!({ "path": "src/ä" })),
            call("call_2", "grep", json!({ "pattern": "a\\nb", "path": ".", "ignore_case": true })),
        ]),
    ]
}

/// The answer, with the signature of the block of this number.
fn expected(signature: Option<(usize, &str)>) -> Reassembled {
    let call = |id: &str, name: &str, arguments: Value| Block {
        call: Some((id.into(), name.into())),
        arguments: arguments.to_string(),
        ..Block::default()
    };
    let mut blocks = vec![
        Block { thought: THOUGHT.into(), ..Block::default() },
        Block { text: TEXT.into(), ..Block::default() },
        call("call_1", "list_files", json!({ "path": "src/ä" })),
        call("call_2", "grep", json!({ "pattern": "a\\nb", "path": ".", "ignore_case": true })),
    ];
    if let Some((block, signature)) = signature {
        blocks[block].signature = signature.into();
    }
    Reassembled {
        blocks,
        traces: vec![],
        usage: Usage { input: Tokens(10), output: Tokens(5), total_tokens: Tokens(15), ..Usage::default() },
        finished: Some(StopReason::ToolUse),
    }
}

fn check_reply(reply: &Reply) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = server_for_all(reply);
    let summary = json!({ "type": "summary_text", "text": THOUGHT });
    let item =
        json!({ "type": "reasoning", "id": "rs_0", "summary": [summary], "encrypted_content": SIGNATURE });
    let item = item.to_string();
    let signatures = [Some((0, SIGNATURE)), None, Some((0, &*item)), Some((2, SIGNATURE))];
    for (provider, signature) in providers(&server).into_iter().zip(signatures) {
        let answer = runtime.block_on(reassemble(&*provider));
        assert_eq!(answer, expected(signature), "{}", provider.api());
    }
}

#[test]
fn stream_of_whole_events_gives_the_answer() {
    check_reply(&Reply::answer(answer_parts()));
}

/// Decodes the stream of a short answer, split into two pieces at every place.
async fn check_every_split(protocol: Protocol, decode: impl Fn(Vec<Bytes>) -> ProviderStream) {
    let parts = [
        AnswerPart::thought("ä😀", SIGNATURE),
        AnswerPart::text("„b“\r\n"),
        AnswerPart::call("call_1", "ls", json!({ "p": "\\é" })),
    ];
    let Reply::Stream(stream) = Reply::answer(parts) else { unreachable!("an answer is a stream") };
    let body = Bytes::from(pieces(&stream, protocol).concat());
    let whole = reassemble_stream(decode(vec![body.clone()])).await;
    assert_eq!((whole.blocks.len(), whole.finished), (3, Some(StopReason::ToolUse)));
    for at in 1..body.len() {
        let answer = reassemble_stream(decode(vec![body.slice(..at), body.slice(at..)])).await;
        assert_eq!(answer, whole, "split at {at}");
    }
}

#[tokio::test]
async fn stream_split_at_every_place_gives_the_answer() {
    let server = MockServer::start([]);
    let (messages, chat) = (anthropic(&server), open_ai(&server));
    check_every_split(Protocol::Anthropic, |body| messages.decode(body)).await;
    check_every_split(Protocol::OpenAi, |body| chat.decode(body)).await;
    let (responses, gemini) = (open_ai_responses(&server), gemini(&server));
    check_every_split(Protocol::OpenAiResponses, |body| responses.decode(body)).await;
    check_every_split(Protocol::Gemini, |body| gemini.decode(body)).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn stream_split_anywhere_gives_the_answer(seed: u64, crlf: bool, with_noise: bool) {
        let reply = Reply::answer(answer_parts()).split_at_random(seed);
        let reply = if crlf { reply.crlf() } else { reply };
        check_reply(&if with_noise { reply.with_noise() } else { reply });
    }
}

#[tokio::test]
async fn stream_event_of_unknown_type_is_traced() {
    let server = server_for_all(&Reply::answer([
        AnswerPart::text("before"),
        AnswerPart::Raw("{\"type\":\"new hush-hush-key\"}".into()),
        AnswerPart::text("after"),
    ]));
    for provider in providers(&server) {
        let answer = reassemble(&*provider).await;
        let text: String = answer.blocks.iter().map(|block| block.text.as_str()).collect();
        assert_eq!(text, "beforeafter");
        assert_eq!(answer.finished, Some(StopReason::Stop));
        assert_eq!(answer.traces, [json!({ "event": "", "raw": "{\"type\":\"new [key]\"}" })]);
    }
}

#[tokio::test]
async fn stream_event_that_is_no_json_interrupts_the_answer() {
    let garbage = r#"{"type": "content_block_del hush-hush-key"#;
    let server = server_for_all(&Reply::answer([
        AnswerPart::text("before"),
        AnswerPart::Raw(garbage.into()),
        AnswerPart::text("after"),
    ]));
    for provider in providers(&server) {
        let mut parts = collect(&*provider, hello("some-model")).await;
        let error = parts.pop().unwrap().unwrap_err();
        assert_eq!(error.failure, FailureKind::Interrupted);
        assert!(error.message.starts_with("the answer is damaged: "), "{error}");
        let Some(Ok(StreamEvent::Trace { data, .. })) = parts.pop() else {
            panic!("the damaged event is traced")
        };
        assert_eq!(data["raw"], r#"{"type": "content_block_del [key]"#);
        let text: String = parts.into_iter().filter_map(|part| text_of(part.unwrap())).collect();
        assert_eq!(text, "before");
    }
}

fn text_of(part: StreamEvent) -> Option<String> {
    match part {
        StreamEvent::Text { text, .. } => Some(text),
        _ => None,
    }
}

#[tokio::test]
async fn stream_cut_short_is_interrupted() {
    let server = server_for_all(&Reply::answer([AnswerPart::text("and")]).cut_short());
    for provider in providers(&server) {
        assert_eq!(reassemble(&*provider).await.finished, Some(StopReason::Length));
    }
}

#[tokio::test]
async fn stream_that_lasts_is_read_in_batches() {
    const PROMPT_MS: u128 = 500;
    let text = "many small pieces ".repeat(300);
    let fast = Reply::answer([AnswerPart::text(&text)]).with_interval(Duration::from_millis(1));
    let server = server_for_all(&fast);
    for provider in providers(&server) {
        let start = Instant::now();
        let batches: Vec<_> = provider.stream(hello("some-model")).ready_chunks(1_000).collect().await;
        let parts: usize = batches.iter().map(Vec::len).sum();
        assert!(parts > 1_000, "{parts}");
        // Piece by piece in the first half second, then one batch per ten milliseconds at most, however slow the
        // machine.
        let max_batches = PROMPT_MS + start.elapsed().as_millis().saturating_sub(PROMPT_MS) / 10 + 20;
        assert!(batches.len() as u128 <= max_batches, "{} bunches, {max_batches} at most", batches.len());
    }
}
