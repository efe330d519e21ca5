//! Streamed answers of the wire formats.

use std::sync::LazyLock;

use bytes::Bytes;
use futures_util::StreamExt;
use tiller_core::message::StopReason;
use tiller_provider::compat::Compat;
use tiller_provider::{
    Anthropic, Endpoint, Gemini, OpenAiChat, OpenAiResponses, ProviderError, ProviderStream, StreamEvent,
};
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().unwrap());

static ANTHROPIC: LazyLock<Anthropic> =
    LazyLock::new(|| Anthropic::new(Endpoint::new("anthropic", "http://localhost", "KEY")).unwrap());

static GEMINI: LazyLock<Gemini> =
    LazyLock::new(|| Gemini::new(Endpoint::new("gemini", "http://localhost", "KEY")).unwrap());

static OPENAI_CHAT: LazyLock<OpenAiChat> = LazyLock::new(|| {
    OpenAiChat::new(Endpoint::new("openai", "http://localhost", "KEY"), Compat::COMMON).unwrap()
});

static OPENAI_RESPONSES: LazyLock<OpenAiResponses> =
    LazyLock::new(|| OpenAiResponses::new(Endpoint::new("openai", "http://localhost", "KEY")).unwrap());

/// Decodes the body of an Anthropic Messages answer; see `check`.
///
/// # Panics
/// If a property doesn't hold.
pub fn anthropic_answer(data: &[u8]) {
    check(data, |pieces| ANTHROPIC.decode(pieces));
}

/// Decodes the body of a Gemini answer; see `check`.
///
/// # Panics
/// If a property doesn't hold.
pub fn gemini_answer(data: &[u8]) {
    check(data, |pieces| GEMINI.decode(pieces));
}

/// Decodes the body of an OpenAI Chat Completions answer; see `check`.
///
/// # Panics
/// If a property doesn't hold.
pub fn openai_chat_answer(data: &[u8]) {
    check(data, |pieces| OPENAI_CHAT.decode(pieces));
}

/// Decodes the body of an OpenAI Responses answer; see `check`.
///
/// # Panics
/// If a property doesn't hold.
pub fn openai_responses_answer(data: &[u8]) {
    check(data, |pieces| OPENAI_RESPONSES.decode(pieces));
}

/// Decodes the body of an answer, split into two pieces at every position; `target` is the name of one of the functions
/// above.
///
/// # Panics
/// If `target` has no decoder, or the pieces give other events than the whole.
pub fn answer_split_everywhere(target: &str, data: &[u8]) {
    let decode = |pieces: Vec<Bytes>| match target {
        "anthropic_answer" => ANTHROPIC.decode(pieces),
        "gemini_answer" => GEMINI.decode(pieces),
        "openai_chat_answer" => OPENAI_CHAT.decode(pieces),
        "openai_responses_answer" => OPENAI_RESPONSES.decode(pieces),
        other => panic!("no decoder is named {other}"),
    };
    let collect = |pieces: Vec<Bytes>| -> Vec<Item> { RUNTIME.block_on(decode(pieces).collect()) };
    let bytes = Bytes::copy_from_slice(data);
    let whole = collect(vec![bytes.clone()]);
    for at in 0..=bytes.len() {
        assert_eq!(collect(vec![bytes.slice(..at), bytes.slice(at..)]), whole, "split at {at}");
    }
}

type Item = Result<StreamEvent, ProviderError>;

/// Checks what a wire format decodes from a body.
///
/// - Pieces give the same events as the whole.
/// - The stream ends with `Finished` or an error, and nothing follows either.
/// - Blocks begin in order, keep their kind, and receive nothing after their end.
/// - An answer that stops for tool calls has a call.
fn check(data: &[u8], decode: impl Fn(Vec<Bytes>) -> ProviderStream) {
    let collect = |pieces: Vec<&[u8]>| -> Vec<Item> {
        let pieces = pieces.into_iter().map(Bytes::copy_from_slice).collect();
        RUNTIME.block_on(decode(pieces).collect())
    };
    let items = collect(vec![data]);
    assert_eq!(collect(super::cut(data)), items, "pieces differ from the whole");
    assert_eq!(collect(data.chunks(1).collect()), items, "bytes differ from the whole");
    let is_last = |item: &Item| matches!(item, Err(_) | Ok(StreamEvent::Finished(_)));
    let ends = items.iter().filter(|item| is_last(item)).count();
    assert!(ends == 1 && items.last().is_some_and(is_last), "not one end, at the end: {items:?}");
    check_blocks(&items);
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Text,
    Thinking,
    Call,
}

fn check_blocks(items: &[Item]) {
    // Each block's kind, and whether it may continue.
    let mut blocks: Vec<(Kind, bool)> = Vec::new();
    for part in items.iter().flatten() {
        let (block, kind) = match part {
            StreamEvent::Text { block, .. } => (*block, Kind::Text),
            StreamEvent::Thinking { block, .. } => (*block, Kind::Thinking),
            // Every kind of block may be signed; a block that begins with its signature is thinking.
            StreamEvent::Signature { block, .. } => {
                (*block, blocks.get(*block).map_or(Kind::Thinking, |(kind, _)| *kind))
            }
            StreamEvent::Call { block, id, name } => {
                assert_eq!(*block, blocks.len(), "a call begins within a block: {items:?}");
                assert!(!id.as_str().is_empty() && !name.is_empty(), "a call without id or name");
                (*block, Kind::Call)
            }
            StreamEvent::Arguments { block, .. } => {
                assert!(*block < blocks.len(), "arguments without a call: {items:?}");
                (*block, Kind::Call)
            }
            StreamEvent::End { block } => {
                assert!(blocks[*block].1, "a block ends twice: {items:?}");
                blocks[*block].1 = false;
                continue;
            }
            StreamEvent::Finished(StopReason::ToolUse) => {
                assert!(blocks.iter().any(|(kind, _)| *kind == Kind::Call), "no call: {items:?}");
                continue;
            }
            StreamEvent::Finished(_) | StreamEvent::Usage(_) | StreamEvent::Trace { .. } => continue,
        };
        if block == blocks.len() {
            blocks.push((kind, true));
        }
        assert_eq!(blocks.get(block), Some(&(kind, true)), "{part:?} doesn't fit: {items:?}");
    }
}
