//! The log: appending one entry, and going on with a long session.
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use divan::{Bencher, black_box};
use tempfile::TempDir;
use tiller::message::{
    AssistantBlock, AssistantMessage, Message, StopReason, ToolCall, ToolResultMessage, UserBlock,
    UserMessage,
};
use tiller::session::{EntryBody, Placement, Reader, SessionManager, Writer, context};
use tiller::unit::UnixMs;

/// Entries of the long session: a quarter each of prompts, calls, results and answers.
const LONG: usize = 10_000;

/// When everything happens.
const NOW: UnixMs = UnixMs(1_795_231_018_249);

fn main() {
    divan::main();
}

fn create(folder: &TempDir) -> Writer {
    SessionManager::new(Placement::Flat(folder.path().into()), "/home/dev/project".into()).create(NOW)
}

fn text(text: &str) -> AssistantBlock {
    AssistantBlock::Text { text: text.into() }
}

/// The entry at this place of the long session.
fn body(at: usize) -> EntryBody {
    let (prompt, id) = (at / 4, format!("call_{}", at / 4));
    let message = match at % 4 {
        0 => Message::User(UserMessage::text(format!("Prompt {prompt}: please look at this too."), NOW)),
        1 => {
            let call =
                ToolCall::from_streamed(id.as_str().into(), "bash".into(), r#"{"command":"cargo test"}"#);
            let content = vec![text("I'll run the tests."), AssistantBlock::ToolCall(call)];
            Message::Assistant(AssistantMessage {
                content,
                stop_reason: StopReason::ToolUse,
                ..AssistantMessage::default()
            })
        }
        2 => Message::ToolResult(ToolResultMessage {
            tool_call_id: id.as_str().into(),
            tool_name: "bash".into(),
            content: vec![UserBlock::Text { text: "test a_line_of_output ... ok\n".repeat(20) }],
            details: None,
            is_error: false,
            timestamp: NOW,
        }),
        _ => Message::Assistant(AssistantMessage {
            content: vec![text(&"All of them pass. ".repeat(10))],
            ..AssistantMessage::default()
        }),
    };
    EntryBody::message(Arc::new(message))
}

fn long_log(folder: &TempDir) -> std::path::PathBuf {
    let mut writer = create(folder);
    for at in 0..LONG {
        writer.append(body(at), NOW).unwrap();
    }
    writer.reader().path().unwrap().to_owned()
}

fn context_of(path: &Path) -> usize {
    let reader = Reader::open(path).unwrap();
    let (entries, _) = reader.branch(&reader.leaf().unwrap()).unwrap();
    context::project(&entries).messages.len()
}

#[divan::bench]
fn append_one_entry(bencher: Bencher) {
    let folder = TempDir::new().unwrap();
    let mut writer = create(&folder);
    writer.append(body(0), NOW).unwrap();
    bencher.bench_local(|| writer.append(black_box(body(2)), NOW).unwrap());
}

#[divan::bench]
fn open_10_000_entries(bencher: Bencher) {
    let folder = TempDir::new().unwrap();
    let path = long_log(&folder);
    bencher.bench_local(|| Reader::open(black_box(&path)).unwrap().entry_count());
}

#[divan::bench]
fn open_and_context_of_10_000_entries(bencher: Bencher) {
    let folder = TempDir::new().unwrap();
    let path = long_log(&folder);
    bencher.bench_local(|| assert_eq!(context_of(black_box(&path)), LONG));
}
